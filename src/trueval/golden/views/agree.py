"""The view of label agreement: coefficients with intervals, tables of grade pairs, biases side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final, NamedTuple

from trueval.golden.validation.agreement_intervals import ValueWithInterval
from trueval.golden.validation.agreement_result import (
    AuditDesign,
    GroupBias,
    LabelAgreement,
    LengthBias,
    NeighborOrder,
    PopulationAgreement,
    RaterGroup,
    RaterPair,
    SampleAgreement,
    StratumSample,
)
from trueval.report.figures import Chart, tone
from trueval.report.number_texts import NOT_AVAILABLE, count_phrase, format_difference, format_value, interval, percent
from trueval.report.page_content import Figure
from trueval.report.plots import TieInterval, plot_dots, shorten_name
from trueval.report.units import COUNT, FRACTION, INTERVAL, NAME, TEXT, interval_of, number, unscaled_unit
from trueval.report.view import Answer, Column, Quantity, Section, Sheet, View, columns_of

TITLES: Final = {
    "kappa": "κ",
    "kappa_linear": "κ linear",
    "kappa_quadratic": "κ quadratic",
    "alpha_nominal": "α nominal",
    "alpha_ordinal": "α ordinal",
    "alpha_interval": "α interval",
}
LEAVE: Final = ("kappa_linear", "alpha_nominal", "alpha_interval")  # a narrow terminal, the first first
FEW: Final = 3  # pairs up to which tables of grades and biases are printed too
ALL, SAMPLE = "all judged", "sample"
CELL: Final = 44  # CSS pixels of a row of a heat map
SHOWN: Final = 24  # pairs whose heat maps and biases are drawn
KEY: Final = (("bar", "interval over queries"), ("dot", "the value"))
GRADES: Final = unscaled_unit(format_difference)
SIZE: Final = unscaled_unit(lambda value: format_value(None if value is None else abs(value)))

Words = tuple[str | Quantity, ...]


class _PairPart(NamedTuple):
    """The agreement of a pair over all judged items, or over those of the sample."""

    pair: RaterPair
    over: str
    found: SampleAgreement | PopulationAgreement


class _Bias(NamedTuple):
    """The bias of a pair in a group of items."""

    pair: RaterPair
    group: str
    found: ValueWithInterval | GroupBias | LengthBias


class _CoefficientRow(NamedTuple):
    """A line of the CSV file."""

    pair: RaterPair
    over: str
    coefficient: str
    found: ValueWithInterval


class _GradeRow(NamedTuple):
    """How often a grade of the first rater was given with each grade of the second."""

    grade: float
    counts: tuple[float, ...]


def view(result: LabelAgreement) -> View:
    """What `trueval golden agree` shows.

    Args:
        result: of the command.
    """
    return View(
        title="Agreement of labels",
        answer=_answer(result),
        sections=[
            _agreement(result),
            _grade_tables(result),
            _biases(result),
            *([] if result.order is None else [_order(result.order)]),
            *([] if result.design is None or not result.design.strata else [_design(result.design)]),
        ],
        csv=_csv(result),
        findings=[*_describe_pairs(result), *_describe_order(result), *_describe_answers(result)],
        legend=list(_legend(result)),
        notes=result.notes,
    )


def _answer(result: LabelAgreement) -> Answer:
    question = "Do these labels agree with people's?"
    of_judges = [pair for pair in result.pairs if pair.between == "judge and people"]
    known = [(value.value, pair, value) for pair in of_judges if (value := _quadratic(pair)).value is not None]
    if not known:
        none = "No coefficient of agreement can be given: see the reasons below."
        return Answer(none, question, change="More passages that people and a judge both graded.")
    _, pair, value = max(known, key=lambda each: each[0])
    kappa = Quantity(value, "value")
    if len(of_judges) == 1:
        words: Words = (f"{pair.second} agrees with people with a quadratic κ of ", kappa)
    else:
        words = (f"Of {len(of_judges)} judges {_name(pair)} agrees most with people: quadratic κ ", kappa)
    bias = pair.bias.all
    if bias.value is not None:
        way = "higher" if bias.value >= 0 else "lower"
        words = (*words, ", and grades ", Quantity(bias, "value", SIZE), f" {way} than they do")
    sure: Words = (f"{count_phrase(pair.items, 'item', 'items')} of {count_phrase(pair.queries, 'query', 'queries')}.",)
    if value.low is not None:
        interval = (
            "The interval of κ over queries is [",
            Quantity(value, "low"),
            ", ",
            Quantity(value, "high"),
            "], of ",
        )
        sure = (*interval, *sure)
    change = "People's grades of more queries would narrow the interval."
    command = "trueval golden stress --people PEOPLE JUDGE --runs RUN --runs RUN"
    return Answer((*words, "."), question, sure, change, "trueval golden correct DIR RUN" if result.design else command)


def _parts(pair: RaterPair) -> list[_PairPart]:
    """What is known of a pair, the most important first."""
    sample = _PairPart(pair, SAMPLE, pair.sample)
    return [sample] if pair.population is None else [_PairPart(pair, ALL, pair.population), sample]


def _quadratic(pair: RaterPair) -> ValueWithInterval:
    return _parts(pair)[0].found.coefficients["kappa_quadratic"]


def _name(pair: RaterPair) -> str:
    """The judge's name alone where the other side is people."""
    return pair.second if pair.between == "judge and people" else f"{pair.first} – {pair.second}"


def _agreement(result: LabelAgreement) -> Section:
    dots = [
        TieInterval(_name(pair), value.value, value.low, value.high)
        for pair in result.pairs
        if (value := _quadratic(pair)).value is not None and value.low is not None and value.high is not None
    ]
    dots.sort(key=lambda dot: -dot.expected)
    about = "Quadratic κ of each pair with its interval over queries, highest first."
    figures = [Figure("agree-kappa", "Quadratic κ", about, partial(plot_dots, dots), key=KEY)] if dots else []
    few = result.pairs if len(result.pairs) <= FEW else ()
    texts = [sheet for pair in few for sheet in (_grades(pair), _bias_sheet(pair))]
    return Section(
        "Agreement", [_coefficients(result), *_together(result), *texts], figures=figures, id="agree-coefficients"
    )


def _coefficients(result: LabelAgreement) -> Sheet[_PairPart]:
    designed = result.design is not None

    def coefficient(name: str) -> Column[_PairPart]:
        leaves = LEAVE.index(name) + 1 if name in LEAVE else 0
        strong = name == "kappa_quadratic"
        return Column(TITLES[name], lambda row: row.found.coefficients[name].value, FRACTION, leaves, strong)

    columns: list[Column[_PairPart]] = [
        Column("labels", lambda row: _name(row.pair), NAME),
        *([Column[_PairPart]("over", lambda row: row.over)] if designed else []),
        Column("items", lambda row: row.pair.items, COUNT, leaves=5),
        # The share of equal grades is that of the sample; the bias that of all judged items, where there is a design.
        Column("same", lambda row: "" if row.over == ALL else row.pair.same, FRACTION, leaves=4),
        *map(coefficient, TITLES),
        Column("interval", lambda row: row.found.coefficients["kappa_quadratic"], INTERVAL, only="page"),
        Column("bias", lambda row: "" if designed and row.over == SAMPLE else row.pair.bias.all.value, GRADES),
    ]
    rows = [part for pair in result.pairs for part in _parts(pair)]
    reasons = {value.reason for row in rows for value in row.found.coefficients.values() if value.reason}
    notes = [*_legend(result), *(f"{NOT_AVAILABLE}: {reason}." for reason in sorted(reasons))]
    caption = "Agreement of labels; low and high are of quadratic κ."
    return Sheet("Agreement of labels", rows, columns, caption=caption, notes=notes, id="agree-pairs")


def _together(result: LabelAgreement) -> list[Sheet[RaterGroup]]:
    def alpha(name: str) -> Column[RaterGroup]:
        return Column(TITLES[name], lambda row: row.coefficients[name].value, FRACTION)

    columns: list[Column[RaterGroup]] = [
        Column("raters", lambda row: f"{len(row.raters)} {row.between}", NAME),
        Column("items", lambda row: row.items, COUNT),
        *(alpha(name) for name in TITLES if name.startswith("alpha")),
    ]
    sheet = Sheet("Krippendorff's α of all at once", result.together, columns, only="page", id="agree-together")
    return [sheet] if result.together else []


def _grades(pair: RaterPair) -> Sheet[_GradeRow]:
    part = _parts(pair)[0]

    def count(place: int) -> Callable[[_GradeRow], float]:
        return lambda row: row.counts[place]

    columns: list[Column[_GradeRow]] = [
        Column("grade", lambda row: f"{row.grade:g}"),
        *(Column[_GradeRow](f"{grade:g}", count(place), COUNT) for place, grade in enumerate(pair.grades)),
    ]
    rows = [_GradeRow(grade, counts) for grade, counts in zip(pair.grades, part.found.table, strict=True)]
    title = f"{pair.first} (rows) and {pair.second} (columns), {part.over} passages"
    return Sheet(title, rows, columns, only="text")


def _grade_tables(result: LabelAgreement) -> Section:
    figures = [
        Figure(f"agree-table-{at}", shorten_name(_name(pair), 44), _describe_table(pair), partial(heat_map, pair))
        for at, pair in enumerate(result.pairs[:SHOWN])
        if pair.items
    ]
    more = f" The first {SHOWN} of {len(result.pairs)} pairs are drawn." if len(result.pairs) > SHOWN else ""
    words = (
        "How often each pair of grades was given. A cell is as dark as its share of its row: of what the first graded "
        f"so, where the second put it.{more}"
    )
    return Section("Grade against grade", words=words, figures=figures, id="agree-tables")


def _describe_table(pair: RaterPair) -> str:
    return f"How often {pair.first} (rows) and {pair.second} (columns) gave each pair of grades."


def heat_map(pair: RaterPair, width: int) -> Chart:
    """Heat map of grade pairs by two raters: counts, colored by their share of the row.

    Args:
        pair: two raters.
        width: CSS pixels of the whole figure.
    """
    import altair as alt

    grades = [f"{grade:g}" for grade in pair.grades]
    rows = [
        {"first": first, "second": second, "shown": f"{count:,.0f}" if count else "", "share": count / (sum(line) or 1)}
        for first, line in zip(grades, _parts(pair)[0].found.table, strict=True)
        for second, count in zip(grades, line, strict=True)
    ]
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("second:N", title=shorten_name(pair.second, 40), sort=grades, axis=alt.Axis(labelAngle=0)),
        y=alt.Y("first:N", title=shorten_name(pair.first, 24), sort=grades[::-1]),
    )
    # Tones are variables of the page, which no scale of colors can mix.
    depth = alt.FillOpacity("share:Q", legend=None, scale=alt.Scale(domain=[0, 1], range=[0, 1]))
    cells = base.mark_rect(stroke=tone("line"), fill=tone("range")).encode(fillOpacity=depth)
    text = base.mark_text(color=tone("text")).encode(text="shown:N")
    return alt.layer(cells, text).properties(width=width - 60, height=CELL * len(grades))


def _groups(pair: RaterPair) -> Iterator[_Bias]:
    """The biases of a pair, over all items and by group."""
    bias = pair.bias
    yield _Bias(pair, "all", bias.all)
    for of, found in ((pair.first, bias.by_first), (pair.second, bias.by_second), ("slot", bias.by_slot)):
        for each in found:
            yield _Bias(pair, f"{of} {each.group:g}", each)
    for length in bias.by_length:
        yield _Bias(pair, f"{length.shortest:,}–{length.longest:,} characters", length)


def _count_items(row: _Bias) -> int:
    return row.pair.items if isinstance(row.found, ValueWithInterval) else row.found.items


BIAS: Final[tuple[Column[_Bias], ...]] = (
    Column("group", lambda row: row.group, NAME),
    Column("items", _count_items, number("d"), leaves=1),
    Column("mean", lambda row: row.found.value, GRADES, strong=True),
    Column("interval", lambda row: row.found, interval_of(GRADES)),
)


def _bias_sheet(pair: RaterPair) -> Sheet[_Bias]:
    return Sheet(f"{pair.second} less {pair.first}, in grades", list(_groups(pair)), BIAS, only="text")


def _biases(result: LabelAgreement) -> Section:
    figures = []
    for at, pair in enumerate(result.pairs[:SHOWN]):
        dots = [
            TieInterval(_shorten_group(row), row.found.value, row.found.low, row.found.high)
            for row in _groups(pair)
            if row.found.value is not None and row.found.low is not None and row.found.high is not None
        ]
        if dots:
            about = f"Mean grade of {pair.second} less that of {pair.first}, over all and by groups."
            figures.append(
                Figure(f"agree-bias-{at}", shorten_name(_name(pair), 44), about, partial(plot_dots, dots), key=KEY)
            )
    words = (
        "By how much the second grades higher, in grades. By the grade of the one side a bias falls and by the grade "
        "of the other it rises, even where nobody is biased: who errs is nearer to the middle. Look at all, at slots "
        "and at lengths, and at what both sides show."
    )
    rows = [row for pair in result.pairs for row in _groups(pair)]
    columns: list[Column[_Bias]] = [Column("labels", lambda row: _name(row.pair)), *BIAS]
    sheet = Sheet("Every mean difference", rows, columns, folded=True, only="page", id="agree-biases")
    return Section("Bias", [sheet], words=words, figures=figures, id="agree-bias")


def _shorten_group(row: _Bias) -> str:
    """A group's label for plots."""
    for rater, side in ((row.pair.first, "first"), (row.pair.second, "second")):
        if row.group.startswith(f"{rater} ") and len(rater) > 14:
            return f"{side}: {row.group.removeprefix(rater).strip()}"
    return row.group


def _order(order: NeighborOrder) -> Section:
    columns: list[Column[NeighborOrder]] = [
        Column("pairs", lambda row: row.pairs, COUNT),
        Column("same order", lambda row: row.agree, FRACTION, strong=True),
        Column("equal", lambda row: row.equal, FRACTION, strong=True),
        Column("other order", lambda row: row.disagree, FRACTION, strong=True),
    ]
    sheet = Sheet("What people say of neighbors in the ranked lists", [order], columns, only="page", id="agree-order")
    return Section("Order of neighbors", [sheet], id="agree-orders")


def _design(design: AuditDesign) -> Section:
    columns: list[Column[StratumSample]] = [
        Column("stratum", lambda row: row.name, TEXT),
        Column("passages", lambda row: row.population, COUNT),
        Column("answered", lambda row: row.answered, COUNT),
    ]
    title = "Passages of each stratum, and how many of them people graded"
    return Section(
        "The sample", [Sheet(title, design.strata, columns, only="page", id="agree-strata")], id="agree-design"
    )


def _csv(result: LabelAgreement) -> Sheet[_CoefficientRow]:
    rows = [
        _CoefficientRow(pair, over, name, value)
        for each in result.pairs
        for pair, over, found in _parts(each)
        for name, value in found.coefficients.items()
    ]
    of_pair = ("pair.between", "pair.first", "pair.second", "over", "pair.items", "pair.queries", "coefficient")
    return Sheet("", rows, columns_of(*of_pair, "found.value", "found.low", "found.high", "found.reason"))


def _describe_pairs(result: LabelAgreement) -> Iterator[str]:
    pairs = result.pairs
    for pair in pairs if len(pairs) <= FEW else ():
        kappa, over = _quadratic(pair), _parts(pair)[0].over
        if kappa.value is None:
            yield f"{pair.first} and {pair.second}: no coefficient, because {kappa.reason}."
            continue
        about = "" if over == SAMPLE else " over all judged passages, as the sample estimates them"
        yield (
            f"{pair.first} and {pair.second} gave the same grade to {percent(pair.same)} of "
            f"{count_phrase(pair.items, 'item', 'items')}{about and ' of the sample'}; quadratic κ is "
            f"{format_value(kappa.value)} {interval(kappa.low, kappa.high)}{about}."
        )
    values = [(pair.sample.coefficients["kappa_quadratic"].value, _name(pair)) for pair in pairs]
    known = sorted((value, name) for value, name in values if value is not None)
    if len(pairs) > FEW and known:
        (least, of_least), (most, of_most) = known[0], known[-1]
        yield (
            f"Quadratic κ goes from {format_value(least)} ({of_least}) to {format_value(most)} ({of_most}), "
            f"over {len(pairs)} pairs."
        )
    for each in result.together:
        value = each.coefficients["alpha_ordinal"].value
        yield f"{len(each.raters)} {each.between} together: ordinal α {format_value(value)}."


def _describe_order(result: LabelAgreement) -> Iterator[str]:
    order = result.order
    if order is not None:
        yield (
            f"Of {count_phrase(order.pairs, 'pair', 'pairs')} of neighbors in the ranked lists people put "
            f"{percent(order.agree)} in the same order, {percent(order.disagree)} in the other, and call "
            f"{percent(order.equal)} equal."
        )


def _describe_answers(result: LabelAgreement) -> Iterator[str]:
    found = []
    for each in result.answers:
        span = "" if each.low is None else f" [{each.low:.2f}, {each.high:.2f}]"
        answers = count_phrase(each.answers, "answer", "answers")
        found.append(f"{each.system or 'the system'} {each.value:.2f}{span} of {answers}")
    if found:
        yield f"Answers that people rated from 1 to 5, means: {', '.join(found)}."


def _legend(result: LabelAgreement) -> Iterator[str]:
    yield f"Intervals at {result.level:g} are over queries. bias: mean of the second less the first, in grades."
    design = result.design
    if design is not None:
        what = "queries" if design.name == "queries" else "passages"
        yield (
            f"{ALL}: each item weighs what it stands for in the sample of {design.answered:,} of "
            f"{design.population:,} {what}; {SAMPLE}: each item counts once."
        )
        lost = [pair.population.covered for pair in result.pairs if pair.population and pair.population.covered < 1]
        if lost:
            yield f"Strata without an answer are not in it: at least {percent(min(lost))} of the passages are."
    if any(value.value is None for pair in result.pairs for value in pair.sample.coefficients.values()):
        yield f"{NOT_AVAILABLE}: nothing can be said; the JSON has the reason."
