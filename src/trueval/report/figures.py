"""What figures for papers share: size, colors, and SVG and PNG that are the same bytes for the same results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueval.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 6.9  # inches, the text of a two-column page
DOTS = 200  # per inch of the PNG
RANGE, EXPECTED, TIE_BROKEN = "#9db7d5", "#0b3d91", "#b3261e"
# Okabe & Ito 2008, colors that most color-blind readers distinguish; black and yellow last.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#F0E442")
# The salt of element ids and the date are all that differs between two drawings.
STYLE: Any = {"svg.hashsalt": "trueval", "font.size": 8, "axes.spines.top": False, "axes.spines.right": False}


@contextmanager
def canvas(size: tuple[float, float]) -> Iterator[Figure]:
    """An empty figure in our style, whatever the user's settings are.

    Args:
        size: width and height in inches.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("Figures", "report") from error
    with mpl.rc_context({**mpl.rcParamsDefault, **STYLE}):
        yield Figure(figsize=size, layout="constrained")


def draw_panels(
    names: Sequence[str], draw: Callable[[Axes, str], None], stem: Path, *, row: float, head: float, title: str = ""
) -> tuple[Path, Path]:
    """Draws a panel for each name, two beside each other, under one legend.

    Args:
        names: of the panels, at least one.
        draw: draws the panel of a name; all panels label the same things.
        stem: path without suffix.
        row: inches of a row of panels.
        head: inches of the legend.
        title: of the legend.
    """
    rows = (len(names) + 1) // 2
    with canvas((WIDTH, rows * row + head)) as figure:
        grid = figure.subplots(rows, min(2, len(names)), squeeze=False).ravel()
        for axes, name in zip(grid, names, strict=False):
            draw(axes, name)
        for axes in grid[len(names) :]:  # an odd number leaves an empty panel
            axes.set_visible(False)
        handles, labels = grid[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False, title=title or None)
        return write_figure(figure, stem)


def write_figure(figure: Figure, stem: Path) -> tuple[Path, Path]:
    """Writes a figure as SVG and as PNG.

    Args:
        figure: drawn on a `canvas`.
        stem: path without suffix, in a folder that exists.
    """
    vector, pixels = (stem.with_name(f"{stem.name}.{suffix}") for suffix in ("svg", "png"))
    figure.savefig(vector, metadata={"Date": None, "Creator": None})
    figure.savefig(pixels, dpi=DOTS, metadata={"Software": None})
    return vector, pixels
