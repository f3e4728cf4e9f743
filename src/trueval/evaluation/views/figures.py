"""Figures for papers: SVG and PNG that are the same bytes for the same results and libraries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueval.errors import MissingExtraError
from trueval.evaluation.views.page import size_name
from trueval.evaluation.views.verdicts import by_merit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 6.9  # inches, the text of a two-column page
ROW = 0.2  # inches of a run in a tie-range plot
HEAD = 0.55  # inches of title and axis around the rows
DOTS = 200  # per inch of the PNG
RANGE, EXPECTED, OBLIVIOUS = "#9db7d5", "#0b3d91", "#b3261e"
# Okabe & Ito 2008, told apart by most color-blind readers; black first, yellow last.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#F0E442")
# The salt of element ids and the date are all that differs between two drawings.
STYLE: Any = {"svg.hashsalt": "trueval", "font.size": 8, "axes.spines.top": False, "axes.spines.right": False}


def draw_tie_ranges(results: Mapping[str, Any], stem: Path) -> tuple[Path, Path]:
    """Draws each measure's runs from best to worst: bar from lowest to highest, dot expected, cross oblivious.

    Args:
        results: of an evaluation, with at least one run.
        stem: path without suffix.

    Returns:
        The SVG and the PNG.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    measures = [measure for measure in results["runs"][0]["measures"] if by_merit(results, measure)]
    rows = (len(measures) + 1) // 2
    height = rows * (HEAD + ROW * len(results["runs"])) + 0.3
    with _canvas((WIDTH, height)) as figure:
        grid = figure.subplots(rows, min(2, len(measures)), squeeze=False).ravel()
        for axes, measure in zip(grid, measures, strict=False):
            _tie_range(axes, by_merit(results, measure), measure)
        for axes in grid[len(measures) :]:
            axes.set_visible(False)
        handles, labels = grid[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False)
        return _write(figure, stem)


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
    with _canvas((WIDTH, 2.8)) as figure:
        axes = figure.subplots()
        for index, run in enumerate(runs):
            shares = [100 * row["share"] for row in run["tie_groups"][1:]]
            places = [place + (index - (len(runs) - 1) / 2) * wide for place in range(len(shares))]
            hatch = "" if index < len(PALETTE) else "//"
            axes.bar(places, shares, wide, label=run["name"], color=PALETTE[index % len(PALETTE)], hatch=hatch)
        axes.set_xticks(range(len(sizes)), sizes)
        axes.set_xlabel("documents in the tie group")
        axes.set_ylabel("share of documents, %")
        for text in figure.legend(loc="outside upper center", ncols=4, frameon=False).get_texts():
            text.set_parse_math(False)
        return _write(figure, stem)


def _tie_range(axes: Axes, ranked: Sequence[Mapping[str, Any]], measure: str) -> None:
    places = list(range(len(ranked)))
    values = [run["measures"][measure] for run in ranked]
    lowest, highest = ([value[name] for value in values] for name in ("lowest", "highest"))
    axes.hlines(places, lowest, highest, color=RANGE, linewidth=5, label="lowest to highest")
    axes.plot([value["expected"] for value in values], places, "o", color=EXPECTED, markersize=4, label="expected")
    known = [(value["oblivious"], place) for place, value in enumerate(values) if value["oblivious"] is not None]
    if known:
        axes.plot(*zip(*known, strict=True), "x", color=OBLIVIOUS, markersize=4.5, label="oblivious")
    axes.set_yticks(places, [run["name"] for run in ranked])
    axes.set_ylim(len(ranked) - 0.4, -0.6)
    axes.margins(x=0.06)
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_title(measure, loc="left", fontweight="bold", parse_math=False)
    for label in axes.get_yticklabels():
        label.set_parse_math(False)


@contextmanager
def _canvas(size: tuple[float, float]) -> Iterator[Figure]:
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("Figures", "report") from error
    with mpl.rc_context({**mpl.rcParamsDefault, **STYLE}):
        yield Figure(figsize=size, layout="constrained")


def _write(figure: Figure, stem: Path) -> tuple[Path, Path]:
    vector, pixels = (stem.with_name(f"{stem.name}.{suffix}") for suffix in ("svg", "png"))
    figure.savefig(vector, metadata={"Date": None, "Creator": None})
    figure.savefig(pixels, dpi=DOTS, metadata={"Software": None})
    return vector, pixels
