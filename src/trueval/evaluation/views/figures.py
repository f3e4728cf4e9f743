"""Figures of evaluations for papers: tie ranges, and sizes of tie groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueval.evaluation.views.verdicts import by_merit
from trueval.report.figures import EXPECTED, PALETTE, RANGE, TIE_BROKEN, WIDTH, canvas, draw_panels, write_figure
from trueval.report.tie_sizes import size_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROW = 0.2  # inches of a run in a tie-range plot
HEAD = 0.55  # inches of title and axis around the rows


def draw_tie_ranges(results: Mapping[str, Any], stem: Path) -> tuple[Path, Path]:
    """Draws each measure's runs from best to worst: bar from lowest to highest, dot expected, cross tie-broken.

    Args:
        results: of an evaluation, with at least one run.
        stem: path without suffix.

    Returns:
        The SVG and the PNG.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    measures = [measure for measure in results["runs"][0]["measures"] if by_merit(results, measure)]

    def draw(axes: Axes, measure: str) -> None:
        _tie_range(axes, by_merit(results, measure), measure)

    return draw_panels(measures, draw, stem, row=HEAD + ROW * len(results["runs"]), head=0.3)


def draw_tie_groups(runs: Sequence[Mapping[str, Any]], stem: Path) -> tuple[Path, Path]:
    """Draws the share of documents in tie groups of each size.

    Args:
        runs: entries of details.json with name and tie_groups.
        stem: path without suffix.

    Returns:
        The SVG and the PNG.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    sizes = [size_name(row) for row in max((run["tie_groups"] for run in runs), key=len)[1:]]
    wide = 0.8 / len(runs)
    with canvas((WIDTH, 2.8)) as figure:
        axes = figure.subplots()
        for index, run in enumerate(runs):
            shares = [row["share"] for row in run["tie_groups"][1:]]
            places = [place + (index - (len(runs) - 1) / 2) * wide for place in range(len(shares))]
            hatch = "" if index < len(PALETTE) else "//"
            axes.bar(places, shares, wide, label=run["name"], color=PALETTE[index % len(PALETTE)], hatch=hatch)
        axes.set_xticks(range(len(sizes)), sizes)
        axes.set_xlabel("documents in the tie group")
        axes.set_ylabel("share of documents")
        for text in figure.legend(loc="outside upper center", ncols=4, frameon=False).get_texts():
            text.set_parse_math(False)  # a run may be named "a$b$", which is not a formula
        return write_figure(figure, stem)


def _tie_range(axes: Axes, ranked: Sequence[Mapping[str, Any]], measure: str) -> None:
    places = list(range(len(ranked)))
    values = [run["measures"][measure] for run in ranked]
    lowest, highest = ([value[name] for value in values] for name in ("lowest", "highest"))
    axes.hlines(places, lowest, highest, color=RANGE, linewidth=5, label="lowest to highest")
    axes.plot([value["expected"] for value in values], places, "o", color=EXPECTED, markersize=4, label="expected")
    known = [(value["tie_broken"], place) for place, value in enumerate(values) if value["tie_broken"] is not None]
    if known:
        axes.plot(*zip(*known, strict=True), "x", color=TIE_BROKEN, markersize=4.5, label="tie-broken")
    axes.set_yticks(places, [run["name"] for run in ranked])
    axes.set_ylim(len(ranked) - 0.4, -0.6)
    axes.margins(x=0.06)
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_title(measure, loc="left", fontweight="bold", parse_math=False)
    for label in axes.get_yticklabels():
        label.set_parse_math(False)
