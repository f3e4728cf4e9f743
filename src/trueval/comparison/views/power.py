"""The view of power: what the queries can detect, how many a difference needs, and the curve between the two."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from operator import itemgetter
from typing import Final, NamedTuple

from trueval.comparison.power.power_result import (
    LeastDifferences,
    MeasurePower,
    PairPower,
    Power,
    RankedRun,
    SharedNoise,
    rows,
)
from trueval.measures import parse
from trueval.report.figures import NARROW, Chart, panels, tone
from trueval.report.number_texts import MANY_QUERIES, NOT_AVAILABLE, attainable, count_phrase, percent
from trueval.report.page_content import Figure
from trueval.report.units import COUNT, DIFFERENCE, FRACTION, NAME, unscaled_unit
from trueval.report.view import (
    Answer,
    AnySheet,
    Column,
    Mark,
    PaperFigure,
    Quantity,
    Section,
    Sentence,
    Sheet,
    View,
    choices_section,
)

MOST_RUNS: Final = 6  # of which all pairs are shown; of more, those next to each other in the ranking
# The curve is shown from a fifth of these queries to twenty times as many: seven points or eight.
NEAR, FAR = 0.2, 20
MOST_FIGURES: Final = 4  # measures that a figure for papers shows
MOST_ROWS: Final = 40  # of the table that is open from the beginning
MOST_LINES: Final = 12  # pairs of which a plot draws the curve
QUERIES_NEEDED: Final = unscaled_unit(attainable)
KEY: Final = (
    ("thin", "least difference of the pair in the middle, expected values"),
    ("bar", "of the other pairs"),
    ("dot", "with these queries"),
)
DASHED: Final = ("lying", "dashed: tie-broken values")
WANTED: Final = ("bracket", "the difference that was asked about")
MARKS: Final = (
    Mark(NOT_AVAILABLE, "not known, more than the measure can differ, or no number of queries is enough."),
    Mark(MANY_QUERIES, "more than a million queries; --format json has the number."),
)
DIFFERS: Final = 0.01  # share of a least difference from which on a second line can be told from the first
STEPS: Final = tuple(lead * 10.0**power for power in range(-6, 1) for lead in (1, 2, 5))


class _PairRow(NamedTuple):
    """A pair, and the measure that it was asked about."""

    measure: MeasurePower
    pair: PairPower


class _CurveRow(NamedTuple):
    """A line of the curve."""

    name: str
    values: Sequence[float]


def view(result: Power) -> View:
    """What `trueval power` shows.

    Args:
        result: of the command.
    """
    findings = [*_findings(result)]
    shares = [f"{found.measure}: {share}" for found in result.measures for share in _describe_shares(found)]
    texts = [sheet for found in result.measures for sheet in _text_sheets(result, found)]
    figures = [figure for at, found in enumerate(result.measures) for figure in _figures(result, found, at)]
    return View(
        title="Power",
        answer=_answer(result),
        lead=figures[0] if figures else None,
        sections=[
            Section("Least differences and queries needed", [*texts, _all_pairs(result)], _explanation(result)),
            *([Section("Other measures", figures=figures[1:])] if figures[1:] else []),
            choices_section("power", result.choices),
        ],
        csv=_csv(result),
        findings=[*findings[1:], *shares],
        marks=MARKS,
        legend=list(legend(result)),
        notes=result.notes,
        paper=[PaperFigure("power", lambda: _paper(result))] if figures else [],
    )


def _answer(result: Power) -> Answer:
    """The first measure: the least difference that is found, or whether the wanted one is."""
    wanted, choices = result.choices["difference"], result.choices
    question = "How small a difference can these queries find?"
    if wanted is not None:
        question = f"Can these queries find a difference of {wanted:g}?"
    known = [(found, pair) for found in result.measures if (pair := middle_pair(select_pairs(result, found)))]
    if not known:
        same = "The runs do not differ on any query, so how much they vary is not known: give runs that differ."
        equal = all(pair.expected.difference == 0 for found in result.measures for pair in found.pairs)
        return Answer((same if equal else "No differences that these queries could find are known.",), question)
    found, pair = known[0]
    commands, files = _commands(result)
    sure = (
        f"A difference is found where {commands} compare separates it at level {choices['level']:.4g}, all pairs of a "
        f"measure decided together; the chance of that is {choices['power']:.4g} on other queries like these."
    )
    runs, sentence = f'{files} -m "{found.measure}"', _finding(found, pair, wanted)
    if wanted is not None:
        enough = pair.expected.queries_needed is not None and pair.expected.queries_needed <= found.queries
        return Answer(sentence, question, sure, next=f"{commands} compare {runs}" if enough else "")
    measured = (
        f"{pair.first} - {pair.second} was measured as ",
        Quantity(pair.expected, "difference", DIFFERENCE),
        ", which takes ",
        Quantity(pair.expected, "queries_needed", QUERIES_NEEDED),
        " queries, and is itself uncertain: name the difference that matters.",
    )
    return Answer(sentence, question, sure, measured, f"{commands} power {runs} --difference X")


def _commands(result: Power) -> tuple[str, str]:
    """How the commands begin that take what was analyzed, and its files: runs, or logs of answers."""
    if result.choices.get("of") == "answers":
        return "trueval answers", "LOG LOG --judged TABLE --judged TABLE"
    return "trueval", "QRELS RUN RUN"


def _findings(result: Power) -> Iterator[Sentence]:
    for found in result.measures:
        pair = middle_pair(select_pairs(result, found))
        if pair is not None:
            yield _finding(found, pair, result.choices["difference"])
            if pair.shared is not None:
                yield from _describe_shared(pair, pair.shared)


def _describe_shared(pair: PairPower, shared: SharedNoise) -> Iterator[Sentence]:
    """What repeats and judges add, of the same pair."""
    yield (
        f"With other repeats and judges (what the budget has for {shared.pair[0]} and {shared.pair[1]}) they find a "
        f"difference of {pair.first} and {pair.second} from ",
        Quantity(shared, "least_difference"),
        " on.",
    )


def _finding(found: MeasurePower, pair: PairPower, wanted: float | None) -> Sentence:
    """What the queries find by a measure, by its pair in the middle."""
    middle = ", the pair in the middle" if len(found.pairs) > 1 else ""
    vary, queries = f"where runs vary as {pair.first} and {pair.second} do{middle}.", Quantity(found, "queries", COUNT)
    if wanted is None:
        most = largest_difference(found)
        if pair.expected.least_difference > most:
            return (
                f"{found.measure}: these ",
                queries,
                f" queries find no difference up to {most:g}, the largest, {vary}",
            )
        least = Quantity(pair.expected, "least_difference")
        return (f"{found.measure}: these ", queries, " queries find a difference from ", least, f" on, {vary}")
    difference, needed = Quantity(pair, "wanted"), pair.expected.queries_needed
    if needed is None:
        return (f"{found.measure}: no number of queries finds a difference of ", difference, f", {vary}")
    find = "find" if needed <= found.queries else "are too few to find"
    take = Quantity(pair.expected, "queries_needed", QUERIES_NEEDED)
    return (
        f"{found.measure}: these ",
        queries,
        f" queries {find} a difference of ",
        difference,
        ", which takes ",
        take,
        f", {vary}",
    )


def _describe_shares(found: MeasurePower) -> Iterator[str]:
    """Share of the noise due to ties."""
    known = [pair.ties.share for pair in found.pairs if _is_known(pair.ties.share)]
    if any(known):
        ends = dict.fromkeys(map(percent, (min(known), max(known))))
        yield f"ties make {' to '.join(ends)} of the variance of a tie-broken difference, queries the rest."


def _explanation(result: Power) -> str:
    choices = result.choices
    return (
        f"Differences from a curve on are separated by {_commands(result)[0]} compare at level "
        f"{choices['level']:.4g} with a chance of {choices['power']:.4g}, all pairs of a measure decided together, "
        "on other queries like these."
    )


def measure_heading(found: MeasurePower) -> str:
    """The heading of a measure: numbers of queries and clusters."""
    counts = count_phrase(found.queries, "query", "queries")
    if found.clusters is not None:
        counts += f" in {count_phrase(found.clusters, 'cluster', 'clusters')}"
        if found.effective_clusters < found.clusters * (1 - 1e-9):
            counts += f", as good as {found.effective_clusters:.1f} of one size"
    left_out = f", {len(found.left_out)} left out" if found.left_out else ""
    return f"{found.measure}: {found.better} is better, {counts}{left_out}"


def select_pairs(result: Power, found: MeasurePower) -> Sequence[PairPower]:
    """The pairs of a measure to show: all of few runs, neighbors in the ranking of many.

    Args:
        result: that the measure is of.
        found: a measure.
    """
    if result.baseline is not None or len(found.ranking) <= MOST_RUNS:
        return found.pairs
    neighbors = set(pairwise(row.run for row in found.ranking))
    return [pair for pair in found.pairs if (pair.first, pair.second) in neighbors]


def middle_pair(pairs: Sequence[PairPower]) -> PairPower | None:
    """The pair with the median least difference; None where none has one."""
    known = [pair for pair in pairs if _is_known(pair.expected.least_difference)]
    known.sort(key=lambda pair: pair.expected.least_difference)
    return known[(len(known) - 1) // 2] if known else None


def near(found: MeasurePower) -> list[int]:
    """The points of a curve to show."""
    return [at for at, number in enumerate(found.curve.queries) if NEAR <= number / found.queries <= FAR]


def largest_difference(found: MeasurePower) -> float:
    """The largest difference that two means of a measure can have; infinite where it has no end."""
    measure = parse(found.measure)
    span = measure.definition.span.at(measure.cutoff)
    return span.high - span.low


def _possible(row: _PairRow, value: float) -> float:
    """A least difference; NaN where no two means can differ by so much."""
    return value if value <= largest_difference(row.measure) else math.nan


def _is_known(value: float) -> bool:
    return value == value


def _text_sheets(result: Power, found: MeasurePower) -> Iterator[AnySheet]:
    ranking: list[Column[RankedRun]] = [
        Column("run", lambda row: row.run + (" (baseline)" if row.run == result.baseline else ""), NAME),
        Column("expected", lambda row: row.expected, FRACTION),
    ]
    yield Sheet(measure_heading(found), found.ranking, ranking, only="text")
    rows = [_PairRow(found, pair) for pair in select_pairs(result, found)]
    pairs: list[Column[_PairRow]] = [
        Column("A", lambda row: row.pair.first, NAME),
        Column("B", lambda row: row.pair.second, NAME),
        *_numbers(result),
    ]
    yield Sheet(f"{found.measure}: differences", rows, pairs, only="text")
    middle = middle_pair([row.pair for row in rows])
    if middle is not None:
        yield _curve(found, middle)


def _curve(found: MeasurePower, pair: PairPower) -> Sheet[_CurveRow]:
    def point(at: int) -> Callable[[_CurveRow], float]:
        return lambda row: row.values[at]

    clusters = [] if found.curve.clusters is None else [_CurveRow("clusters", found.curve.clusters)]
    most = largest_difference(found)
    lines = (("expected", pair.curve.expected), ("tie-broken", pair.curve.tie_broken))
    rows = [_CurveRow(name, [value if value <= most else math.nan for value in values]) for name, values in lines]
    columns: list[Column[_CurveRow]] = [
        Column("queries", lambda row: row.name),
        *(Column[_CurveRow](f"{found.curve.queries[at]:,}", point(at), FRACTION) for at in near(found)),
    ]
    title = f"{found.measure}: least difference of {pair.first} - {pair.second}"
    return Sheet(title, [*rows, *clusters], columns, only="text")


NUMBERS: Final[tuple[Column[_PairRow], ...]] = (
    Column("diff", lambda row: row.pair.expected.difference, DIFFERENCE),
    Column("± queries", lambda row: row.pair.sampling.half_width, FRACTION),
    Column("± ties", lambda row: row.pair.ties.half_width, FRACTION),
    Column("share of ties", lambda row: row.pair.ties.share, FRACTION, only="page"),
    Column("least,\nexpected", lambda row: _possible(row, row.pair.expected.least_difference), FRACTION, strong=True),
    Column("least,\ntie-broken", lambda row: _possible(row, row.pair.tie_broken.least_difference), FRACTION),
    Column("needed,\nexpected", lambda row: row.pair.expected.queries_needed, QUERIES_NEEDED),
    Column("needed,\ntie-broken", lambda row: row.pair.tie_broken.queries_needed, QUERIES_NEEDED),
)
SHARED: Final[tuple[Column[_PairRow], ...]] = (
    Column(
        "least,\nwith budget",
        lambda row: _possible(row, row.pair.shared.least_difference) if row.pair.shared else None,
        FRACTION,
    ),
    Column(
        "needed,\nwith budget",
        lambda row: row.pair.shared.queries_needed if row.pair.shared else None,
        QUERIES_NEEDED,
    ),
)


def _numbers(result: Power) -> tuple[Column[_PairRow], ...]:
    """The columns of numbers; with a budget those of other repeats and judges too."""
    return (*NUMBERS, *(SHARED if _has_budget(result) else ()))


def _has_budget(result: Power) -> bool:
    return any(pair.shared is not None for found in result.measures for pair in found.pairs)


def _all_pairs(result: Power) -> Sheet[_PairRow]:
    columns: list[Column[_PairRow]] = [
        Column("measure", lambda row: row.measure.measure),
        Column("first", lambda row: row.pair.first),
        Column("second", lambda row: row.pair.second),
        *_numbers(result),
    ]
    pairs = [_PairRow(found, pair) for found in result.measures for pair in found.pairs]
    notes = [*map(measure_heading, result.measures), *legend(result), *result.notes]
    folded = len(pairs) > MOST_ROWS
    return Sheet(
        "Least differences and queries needed",
        pairs,
        columns,
        notes=notes,
        folded=folded,
        only="page",
        id="power-table",
    )


def _csv(result: Power) -> Sheet[dict[str, object]]:
    found = list(rows(result.to_dict()))
    return Sheet("", found, [Column(name, itemgetter(name)) for name in (found[0] if found else ())])


def legend(result: Power) -> Iterator[str]:
    """Explanation of the columns.

    Args:
        result: of the command.
    """
    choices, most = result.choices, max((len(each.pairs) for each in result.measures), default=0)
    level, wanted = f"{choices['level']:.4g}", choices["difference"]
    family = f", deciding all {most} pairs of a measure together" if most > 1 else ""
    yield (
        "diff: of expected means, first - second. ± queries: half width of its interval over queries, level "
        f"{level}. ± ties: what the orders of tied documents add to a tie-broken difference; squares add up."
    )
    yield (
        f"least: the difference that {_commands(result)[0]} compare separates at level {level} with a chance of "
        f"{choices['power']:.4g} on other queries like these{family}; of expected values, and of tie-broken ones."
    )
    if wanted is None:
        yield (
            "needed: queries that find the measured difference with that chance. It is itself uncertain; name the "
            "difference that matters with --difference."
        )
    else:
        yield f"needed: queries that find a difference of {wanted:g} with that chance."
    if _has_budget(result):
        yield "with budget: what repeats of the systems and judges vary by, and more queries do not average out, added."
    if any(len(select_pairs(result, each)) < len(each.pairs) for each in result.measures):
        yield f"Shown are neighbors in the ranking; --format csv and json hold all {most} pairs of a measure."


def _figures(result: Power, found: MeasurePower, at: int) -> Iterator[Figure]:
    pairs = select_pairs(result, found)
    middle = middle_pair(pairs)
    if middle is not None:
        wanted = result.choices["difference"]
        description = f"{found.measure}: the least difference that is found, against the number of queries."
        chart = partial(curve_plot, found, middle, pairs, wanted)
        marks = [DASHED] * _ties_show(middle) + [WANTED] * (wanted is not None)
        yield Figure(f"power-{at}", found.measure, description, chart, key=(*KEY, *marks))


def _paper(result: Power) -> Chart:
    """The curves of the first measures side by side."""
    shown = ((found, select_pairs(result, found)) for found in result.measures)
    known = ((found, pairs, middle) for found, pairs in shown if (middle := middle_pair(pairs)) is not None)
    wanted = result.choices["difference"]
    charts = [curve_plot(found, middle, pairs, wanted, title=found.measure) for found, pairs, middle in known]
    return panels(charts[:MOST_FIGURES])


def _ties_show(pair: PairPower) -> bool:
    """Whether the curve of tie-broken values differs from that of expected ones."""
    return pair.tie_broken.least_difference > (1 + DIFFERS) * pair.expected.least_difference


def curve_plot(
    found: MeasurePower,
    middle: PairPower,
    pairs: Sequence[PairPower],
    difference: float | None,
    width: int = NARROW,
    *,
    title: str = "",
) -> Chart:
    """Plot of the least difference over the number of queries, both logarithmic: one pair in front, others behind it.

    Args:
        found: a measure.
        middle: the pair in front; it has a least difference.
        pairs: all pairs that may be drawn.
        difference: difference to mark; None for none.
        width: CSS pixels of the whole figure.
        title: title of the plot.
    """
    import altair as alt

    points = near(found)
    others = [pair for pair in pairs if pair is not middle and _is_known(pair.expected.least_difference)]
    leasts = [
        values[at]
        for pair in (middle, *others[:MOST_LINES])
        for values in (pair.curve.expected, pair.curve.tie_broken)
        for at in points
        if _is_known(values[at])
    ]
    ends = [min([*leasts, difference or leasts[0]]), max([*leasts, difference or leasts[0]])]
    queries = [found.curve.queries[at] for at in points]
    x = alt.X(
        "queries:Q",
        title="queries",
        scale=alt.Scale(type="log", domain=[queries[0], queries[-1]], nice=False),
        axis=alt.Axis(values=queries, format=",d", labelOverlap=True, grid=False),
    )
    y = alt.Y(
        "least:Q",
        title="least difference",
        scale=alt.Scale(type="log", domain=ends, nice=False),
        axis=alt.Axis(values=[step for step in STEPS if ends[0] <= step <= ends[1]], format="~g"),
    )

    def line(values: Sequence[float], **mark: object) -> Chart:
        rows = [{"queries": found.curve.queries[at], "least": values[at]} for at in points if _is_known(values[at])]
        return alt.Chart(alt.InlineData(values=rows)).mark_line(**mark).encode(x=x, y=y)

    def draw_curve(curve: LeastDifferences, color: str, width: float) -> Chart:
        return line(curve.expected, color=tone(color), strokeWidth=width)

    layers = [draw_curve(pair.curve, "range", 1.5) for pair in others[:MOST_LINES]]
    layers += [draw_curve(middle.curve, "expected", 2.2)]
    if _ties_show(middle):
        layers += [line(middle.curve.tie_broken, color=tone("text"), strokeWidth=1.2, strokeDash=[4, 3])]
    here = [{"queries": found.queries, "least": middle.expected.least_difference}]
    layers += [
        alt.Chart(alt.InlineData(values=here)).mark_point(filled=True, size=52, color=tone("expected")).encode(x=x, y=y)
    ]
    if difference is not None:
        wanted = alt.Chart(alt.InlineData(values=[{"least": difference}]))
        layers += [wanted.mark_rule(color=tone("quiet"), strokeWidth=1.2).encode(y=y)]
    plot = alt.layer(*layers).properties(width=width - 70, height=200 if width <= NARROW else 280)
    return plot.properties(title=title) if title else plot
