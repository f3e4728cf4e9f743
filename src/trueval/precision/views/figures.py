"""Figures of precision audits: curves over the cutoff with tie ranges (P-A, Figures 2, 4, 5), and tie-group sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trueval.precision.views.formats import formats
from trueval.report.figures import PALETTE, WIDTH, canvas, draw_panels, write_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from trueval.report.directory import Directory, ResultFile

DRAWN = ("lowest", "expected", "highest", "tie_broken")
ROW = 2.3  # inches of a row of panels


def draw_precision(file: ResultFile, directory: Directory, folder: Path) -> tuple[Path, ...]:
    """Draws the curves of every model, and the tie groups of all.

    Args:
        file: the audit.
        directory: not needed; an audit needs no other file.
        folder: exists.

    Returns:
        SVG and PNG files.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    audit, prefix = file.data, Path(file.name).stem  # "precision", unless someone renamed the file
    written: list[Path] = []
    models = list(dict.fromkeys(regime["model"] for regime in audit["regimes"]))
    for number, model in enumerate(models, start=1):
        regimes = [regime for regime in audit["regimes"] if regime["model"] == model]
        suffix = f"-{number}" if len(models) > 1 else ""
        if any(len(curve["k"]) > 1 for curve in regimes[0]["curves"].values()):
            written += draw_curves(regimes, model, folder / f"{prefix}-curves{suffix}")
        written += draw_group_sizes(regimes, model, folder / f"{prefix}-ties{suffix}")
    return tuple(written)


def draw_curves(regimes: Sequence[Mapping[str, Any]], title: str, stem: Path) -> tuple[Path, Path]:
    """Draws one panel for each measure: bands from lowest to highest, circles expected, crosses tie-broken.

    Args:
        regimes: of one model.
        title: above the panels.
        stem: path without suffix.

    Returns:
        The SVG and the PNG.
    """

    def draw(axes: Axes, measure: str) -> None:
        for index, regime in enumerate(regimes):
            curve, color = regime["curves"][measure], PALETTE[index % len(PALETTE)]
            # Cutoffs are apart by their place and not by their size: 1, 5 and 100 would leave the first two in one.
            places = range(len(curve["k"]))
            # NaN leaves a gap where a value is not known.
            low, middle, high, plain = (np.array(curve[name], dtype=np.float64) for name in DRAWN)
            axes.fill_between(places, low, high, color=color, alpha=0.18, linewidth=0)
            axes.plot(places, middle, "o-", color=color, markersize=3.5, linewidth=1, label=formats(regime))
            axes.plot(places, plain, "x", color=color, markersize=4.5)
        axes.set_xticks(list(places), [str(k) for k in curve["k"]])
        axes.set_xlabel("k")
        axes.set_title(f"{measure.rpartition('@')[0]}@k", loc="left", fontweight="bold", parse_math=False)
        axes.grid(color="#dddddd", linewidth=0.6)
        axes.set_axisbelow(True)

    return draw_panels(list(regimes[0]["curves"]), draw, stem, row=ROW, head=0.6, title=title)


def draw_group_sizes(regimes: Sequence[Mapping[str, Any]], title: str, stem: Path) -> tuple[Path, Path]:
    """Draws, for each size of tie group, the share of documents in groups of that size or larger.

    Args:
        regimes: of one model.
        title: above the panel.
        stem: path without suffix.

    Returns:
        The SVG and the PNG.
    """
    with canvas((WIDTH, 2.8)) as figure:
        axes = figure.subplots()
        for index, regime in enumerate(regimes):
            sizes, shares = reach(regime["ties"]["group_sizes"])
            color = PALETTE[index % len(PALETTE)]
            axes.step(sizes, shares, where="mid", color=color, linewidth=1.4, marker=".", label=formats(regime))
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.set_xlabel("documents in the tie group, at least")
        axes.set_ylabel("share of documents")
        axes.grid(color="#dddddd", linewidth=0.6)
        figure.legend(loc="outside upper center", ncols=3, frameon=False, title=title)
        return write_figure(figure, stem)


def reach(rows: Sequence[Mapping[str, int]]) -> tuple[list[int], list[float]]:
    """The share of documents in groups of at least each size.

    >>> reach([{"size": 1, "groups": 6}, {"size": 2, "groups": 2}])
    ([1, 2], [1.0, 0.4])
    """
    documents = [row["size"] * row["groups"] for row in rows]
    total = sum(documents)
    shares = [sum(documents[index:]) / total for index in range(len(documents))]
    return [row["size"] for row in rows], shares
