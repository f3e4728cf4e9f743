"""Power as a terminal table of 80 columns, Markdown, LaTeX and CSV."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from trueval.comparison.power.power_result import rows
from trueval.report import formats
from trueval.report.number_texts import (
    FRACTIONS,
    MANY_QUERIES,
    NOT_AVAILABLE,
    ValueUnit,
    attainable,
    count_phrase,
    format_difference,
    format_value,
    percent,
    unit,
)
from trueval.report.sheets import TextSheet, as_markdown, as_one_tabular
from trueval.report.terminal import grid, render_text

Entry = Mapping[str, Any]

# Runs of which all pairs are shown in a terminal; of more, those next to each other in the ranking.
MOST_RUNS = 6
# The curve is shown from a fifth of these queries to twenty times as many: seven points or eight.
NEAR, FAR = 0.2, 20

HEAD = (
    "diff",
    "± queries",
    "± ties",
    "least,\nexpected",
    "least,\ntie-broken",
    "needed,\nexpected",
    "needed,\ntie-broken",
)


def table(result: Entry, *, scale: ValueUnit = FRACTIONS) -> Group:
    """Power for a terminal: runs, pairs and one curve per measure, then the legend.

    Args:
        result: what `Power.to_dict` returns, the JSON of `trueval power`.
        scale: scale of the printed values.

    Returns:
        A renderable for a rich console of 80 columns or more.
    """
    parts: list[RenderableType] = []
    for found in result["measures"]:
        ranking = grid(("#", "run", "expected"), "rLr")
        for number, row in enumerate(found["ranking"], start=1):
            note = " (baseline)" if row["run"] == result["baseline"] else ""
            ranking.add_row(str(number), Text(row["run"] + note), format_value(row["expected"], scale))
        place = {row["run"]: index for index, row in enumerate(found["ranking"], start=1)}
        pairs = grid(("pair", *HEAD), "l" + "r" * len(HEAD))
        for pair in select_pairs(result, found):
            pairs.add_row(f"{place[pair['first']]} - {place[pair['second']]}", *_numbers(pair, scale))
        parts += [
            Text(measure_heading(found), style="bold"),
            ranking,
            Text(),
            pairs,
            *map(Text, _shares(found)),
            Text(),
        ]
        middle = middle_pair(select_pairs(result, found))
        if middle is not None:
            about = f"{place[middle['first']]} - {place[middle['second']]}"
            parts += [*_curve(found, middle, about, scale), Text()]
    return Group(*parts, *map(Text, [*legend(result), *unit(scale)]))


def to_text(result: Entry) -> str:
    """The table as plain text, and the notes.

    Args:
        result: the JSON of `trueval power`.
    """
    return "\n".join([render_text(table(result)), *(f"note: {note}" for note in result["notes"])])


def measure_heading(found: Entry) -> str:
    """The heading of a measure: numbers of queries and clusters.

    Args:
        found: an entry of "measures".
    """
    counts = count_phrase(found["queries"], "query", "queries")
    if found["clusters"] is not None:
        counts += f" in {count_phrase(found['clusters'], 'cluster', 'clusters')}"
        if found["effective_clusters"] < found["clusters"] * (1 - 1e-9):
            counts += f", as good as {found['effective_clusters']:.1f} of one size"
    left_out = f", {len(found['left_out'])} left out" if found["left_out"] else ""
    return f"{found['measure']}: {found['better']} is better, {counts}{left_out}"


def legend(result: Entry) -> Iterator[str]:
    """Explanation of the columns.

    Args:
        result: the JSON of `trueval power`.

    Yields:
        Sentences.
    """
    choices, most = result["choices"], max((len(each["pairs"]) for each in result["measures"]), default=0)
    level, wanted = f"{choices['level']:.4g}", choices["difference"]
    family = f", deciding all {most} pairs of a measure together" if most > 1 else ""
    yield (
        "diff: of expected means, first - second. ± queries: half width of its interval over queries, level "
        f"{level}. ± ties: what the orders of tied documents add to a tie-broken difference; squares add up."
    )
    yield (
        f"least: the difference that trueval compare separates at level {level} with a chance of "
        f"{choices['power']:.4g} on other queries like these{family}; of expected values, and of tie-broken ones."
    )
    if wanted is None:
        yield (
            "needed: queries that find the measured difference with that chance. It is itself uncertain; name the "
            "difference that matters with --difference."
        )
    else:
        yield f"needed: queries that find a difference of {wanted:g} with that chance."
    if any(
        NOT_AVAILABLE in _numbers(pair, FRACTIONS) for each in result["measures"] for pair in select_pairs(result, each)
    ):
        yield f"{NOT_AVAILABLE}: not known, or no number of queries is enough."
    if any(
        MANY_QUERIES in _numbers(pair, FRACTIONS) for each in result["measures"] for pair in select_pairs(result, each)
    ):
        yield f"{MANY_QUERIES}: more than a million queries; --format json has the number."
    if any(len(select_pairs(result, each)) < len(each["pairs"]) for each in result["measures"]):
        yield f"Shown are neighbors in the ranking; --format csv and json hold all {most} pairs of a measure."


def select_pairs(result: Entry, found: Entry) -> Sequence[Entry]:
    """The pairs of a measure to show: all of few runs, neighbors in the ranking of many.

    Args:
        result: the JSON of `trueval power`.
        found: an entry of its "measures".
    """
    pairs: Sequence[Entry] = found["pairs"]
    if result["baseline"] is not None or len(found["ranking"]) <= MOST_RUNS:
        return pairs
    names = [row["run"] for row in found["ranking"]]
    neighbors = set(pairwise(names))
    return [pair for pair in pairs if (pair["first"], pair["second"]) in neighbors]


def middle_pair(pairs: Sequence[Entry]) -> Entry | None:
    """The pair with the median least difference; None where none has one.

    Args:
        pairs: pairs of one measure.
    """
    known = [pair for pair in pairs if _least(pair) is not None]
    return sorted(known, key=_least)[(len(known) - 1) // 2] if known else None


def near(found: Entry) -> list[int]:
    """The points of a curve to show.

    Args:
        found: an entry of "measures".
    """
    return [at for at, number in enumerate(found["curve"]["queries"]) if NEAR <= number / found["queries"] <= FAR]


def to_csv(result: Entry) -> str:
    """One line per measure and pair, in full precision, without the curves.

    Args:
        result: the JSON of `trueval power`.

    Returns:
        Comma-separated values under a line of names; a number that is not available is empty.
    """
    found = list(rows(result))
    return formats.to_csv(list(found[0]), found)


def to_markdown(result: Entry, *, scale: ValueUnit = FRACTIONS) -> str:
    """One table of pairs per measure.

    Args:
        result: the JSON of `trueval power`.
        scale: scale of the printed values.

    Returns:
        Pipe tables, then what the columns mean.
    """
    return as_markdown(_sheets(result, scale), [*legend(result), *unit(scale)])


def to_latex(result: Entry, *, scale: ValueUnit = FRACTIONS) -> str:
    """A LaTeX tabular of pairs, one part per measure; it needs the package booktabs.

    Args:
        result: the JSON of `trueval power`.
        scale: scale of the printed values.

    Returns:
        The environment, with what the columns mean in comments.
    """
    return as_one_tabular(_sheets(result, scale), [*legend(result), *unit(scale)])


def _sheets(result: Entry, scale: ValueUnit) -> list[TextSheet]:
    """The pairs of each measure, their runs by name."""
    columns = "LL" + "r" * len(HEAD)
    return [
        TextSheet(
            measure_heading(found),
            ("A", "B", *HEAD),
            columns,
            tuple((pair["first"], pair["second"], *_numbers(pair, scale)) for pair in found["pairs"]),
        )
        for found in result["measures"]
    ]


def _numbers(pair: Entry, scale: ValueUnit) -> Iterator[str]:
    yield format_difference(pair["expected"]["difference"], scale)
    yield from (format_value(pair[noise]["half_width"], scale) for noise in ("sampling", "ties"))
    yield from (format_value(pair[kind]["least_difference"], scale) for kind in ("expected", "tie_broken"))
    for kind in ("expected", "tie_broken"):
        yield attainable(pair[kind]["queries_needed"])


def _shares(found: Entry) -> Iterator[str]:
    """Share of the noise due to ties."""
    known = [pair["ties"]["share"] for pair in found["pairs"] if pair["ties"]["share"] is not None]
    if any(known):
        ends = dict.fromkeys(map(percent, (min(known), max(known))))
        yield f"Ties make {' to '.join(ends)} of the variance of a tie-broken difference, queries the rest."


def _curve(found: Entry, pair: Entry, about: str, scale: ValueUnit) -> Iterator[RenderableType]:
    queries, points = found["curve"]["queries"], near(found)
    curve = grid((f"least difference of {about} with", *(f"{queries[at]:,}" for at in points)), "l" + "r" * len(points))
    if found["curve"]["clusters"] is not None:
        curve.add_row("clusters", *(f"{found['curve']['clusters'][at]:,}" for at in points))
    for name, values in (("expected", pair["curve"]["expected"]), ("tie-broken", pair["curve"]["tie_broken"])):
        curve.add_row(name, *(format_value(values[at], scale) for at in points))
    yield curve


def _least(pair: Entry) -> Any:
    return pair["expected"]["least_difference"]
