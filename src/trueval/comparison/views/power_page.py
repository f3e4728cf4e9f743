"""The page of power: what the queries can detect, how many a difference needs, and the curve between the two."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from trueval.comparison.views.power import legend, measure_heading, middle_pair, near, select_pairs
from trueval.report.figures import NARROW, Chart, panels, tone, write_figure
from trueval.report.number_texts import attainable, format_difference, format_value
from trueval.report.page_content import Block, Figure, Number, PageColumn, Part, Table, Words, row_of
from trueval.report.page_footer import choice_block
from trueval.report.result_directory import Directory, ResultFile, pointer

MOST = 4  # measures that the summary speaks of, and that a figure for papers shows
MOST_ROWS = 40  # of the table that is open from the beginning
MOST_LINES = 12  # pairs of which a plot draws the curve
KEY = (
    ("thin", "least difference of the pair in the middle, expected values"),
    ("bar", "of the other pairs"),
    ("dot", "with these queries"),
)
DASHED = ("lying", "dashed: tie-broken values")
WANTED = ("bracket", "the difference that was asked about")
DIFFERS = 0.01  # share of a least difference from which on a second line can be told from the first
STEPS = tuple(lead * 10.0**power for power in range(-6, 1) for lead in (1, 2, 5))


def build(file: ResultFile, directory: Directory) -> Part:
    """The part of the page for one result of `trueval power`.

    Args:
        file: the result.
        directory: unused.

    Returns:
        What each measure can find, curves, every pair and the choices behind them.
    """
    told = [*_describe_findings(file)] or [("No differences that these queries could find are known.",)]
    block = Block(
        "power",
        "What these queries can find",
        words=(_lead(file.data["choices"]),),
        figures=tuple(_figures(file.data)),
        tables=(_table(file),),
        place="decisions",
    )
    return Part(
        verdict=told[0],
        summary=tuple(told[1:MOST]),
        findings=tuple(told[MOST:]),
        blocks=(block,),
        closing=(choice_block(file, "power"),),
    )


def write_figures(file: ResultFile, directory: Directory, folder: Path) -> tuple[Path, ...]:
    """Write the curves of the first measures as figures for a paper.

    Args:
        file: the result.
        directory: unused.
        folder: existing folder to write to.

    Returns:
        Their paths; none where nothing is known.
    """
    wanted = file.data["choices"]["difference"]
    charts = [
        curve_plot(found, middle, pairs, wanted, title=found["measure"])
        for found, pairs in ((found, select_pairs(file.data, found)) for found in file.data["measures"])
        if (middle := middle_pair(pairs)) is not None
    ][:MOST]
    return write_figure(panels(charts), folder / "power") if charts else ()


def curve_plot(
    found: Mapping[str, Any],
    middle: Mapping[str, Any],
    pairs: Sequence[Mapping[str, Any]],
    difference: float | None,
    *,
    title: str = "",
) -> Chart:
    """Plot of the least difference over the number of queries, both logarithmic: one pair in front, others behind it.

    Args:
        found: an entry of "measures".
        middle: the pair in front; it has a least difference.
        pairs: all pairs that may be drawn.
        difference: difference to mark; None for none.
        title: title of the plot.
    """
    import altair as alt

    points = near(found)
    others = [pair for pair in pairs if pair is not middle and pair["expected"]["least_difference"] is not None]
    leasts = [
        pair["curve"][kind][at]
        for pair in (middle, *others[:MOST_LINES])
        for kind in ("expected", "tie_broken")
        for at in points
        if pair["curve"][kind][at] is not None
    ]
    ends = [min([*leasts, difference or leasts[0]]), max([*leasts, difference or leasts[0]])]
    queries = [found["curve"]["queries"][at] for at in points]
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

    def line(pair: Mapping[str, Any], kind: str, **mark: Any) -> Chart:
        rows = [
            {"queries": found["curve"]["queries"][at], "least": pair["curve"][kind][at]}
            for at in points
            if pair["curve"][kind][at] is not None
        ]
        return alt.Chart(alt.InlineData(values=rows)).mark_line(**mark).encode(x=x, y=y)

    layers = [line(pair, "expected", color=tone("range"), strokeWidth=1.5) for pair in others[:MOST_LINES]]
    layers += [line(middle, "expected", color=tone("expected"), strokeWidth=2.2)]
    if _ties_show(middle):
        layers += [line(middle, "tie_broken", color=tone("text"), strokeWidth=1.2, strokeDash=[4, 3])]
    here = [{"queries": found["queries"], "least": middle["expected"]["least_difference"]}]
    layers += [
        alt.Chart(alt.InlineData(values=here)).mark_point(filled=True, size=52, color=tone("expected")).encode(x=x, y=y)
    ]
    if difference is not None:
        wanted = alt.Chart(alt.InlineData(values=[{"least": difference}]))
        layers += [wanted.mark_rule(color=tone("quiet"), strokeWidth=1.2).encode(y=y)]
    plot = alt.layer(*layers).properties(width=NARROW - 70, height=200)
    return plot.properties(title=title) if title else plot


def _lead(choices: Mapping[str, Any]) -> Words:
    return (
        f"Differences from a curve on are separated by trueval compare at level {choices['level']:.4g} with a chance "
        f"of {choices['power']:.4g}, all pairs of a measure decided together, on other queries like these.",
    )


def _ties_show(pair: Mapping[str, Any]) -> bool:
    """Whether the curve of tie-broken values differs from that of expected ones."""
    expected, tie_broken = (pair[kind]["least_difference"] for kind in ("expected", "tie_broken"))
    return tie_broken is not None and bool(tie_broken > (1 + DIFFERS) * expected)


def _describe_findings(file: ResultFile) -> Iterator[Words]:
    for at, found in enumerate(file.data["measures"]):
        pair = middle_pair(select_pairs(file.data, found))
        if pair is None:
            continue
        least = pair["expected"]["least_difference"]
        source = file.source("measures", at, "pairs", found["pairs"].index(pair), "expected", "least_difference")
        counted = Number(f"{found['queries']:,}", found["queries"], file.source("measures", at, "queries"))
        yield (
            f"{found['measure']}: these ",
            counted,
            " queries find a difference from ",
            Number(format_value(least), least, source),
            f" on, where runs vary as {pair['first']} and {pair['second']} do.",
        )


def _figures(data: Mapping[str, Any]) -> Iterator[Figure]:
    for index, found in enumerate(data["measures"]):
        pairs = select_pairs(data, found)
        middle = middle_pair(pairs)
        if middle is None:
            continue
        wanted = data["choices"]["difference"]
        description = f"{found['measure']}: the least difference that is found, against the number of queries."
        chart = curve_plot(found, middle, pairs, wanted)
        marks = [DASHED] * _ties_show(middle) + [WANTED] * (wanted is not None)
        yield Figure(f"power-{index}", found["measure"], description, chart, key=(*KEY, *marks))


def _table(file: ResultFile) -> Table:
    columns = (
        PageColumn("measure"),
        PageColumn("first", "/first"),
        PageColumn("second", "/second"),
        PageColumn("difference", "/expected/difference", numeric=True, show=format_difference),
        PageColumn("± queries", "/sampling/half_width", numeric=True, show=format_value),
        PageColumn("± ties", "/ties/half_width", numeric=True, show=format_value),
        PageColumn("share of ties", "/ties/share", numeric=True, show=format_value),
        PageColumn(
            "least, expected", "/expected/least_difference", numeric=True, show=format_value, strong=lambda _: True
        ),
        PageColumn("least, tie-broken", "/tie_broken/least_difference", numeric=True, show=format_value),
        PageColumn("needed, expected", "/expected/queries_needed", numeric=True, show=attainable),
        PageColumn("needed, tie-broken", "/tie_broken/queries_needed", numeric=True, show=attainable),
    )
    rows = tuple(
        row_of(pointer("measures", at, "pairs", place), columns, pair, found["measure"])
        for at, found in enumerate(file.data["measures"])
        for place, pair in enumerate(found["pairs"])
    )
    notes = (*map(measure_heading, file.data["measures"]), *legend(file.data), *file.data["notes"])
    caption = ("Least differences and queries needed.",)
    return Table("power-table", caption, file.name, columns, rows, notes, folded=len(rows) > MOST_ROWS)
