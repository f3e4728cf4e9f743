"""Figures of a sweep for papers: frontier, quality over K, headroom, latency, memory."""

from __future__ import annotations

from pathlib import Path

from trueval.report.figures import NARROW, write_figure
from trueval.report.result_directory import Directory, ResultFile
from trueval.tradeoff.views import expense, quality_blocks
from trueval.tradeoff.views.frontier_chart import frontier_chart
from trueval.tradeoff.views.page import frontier_beside
from trueval.tradeoff.views.points import currency_of, percentile_of, points_of_sweep


def draw_sweep(file: ResultFile, directory: Directory, folder: Path) -> tuple[Path, ...]:
    """Write the figures of the page, one file per figure and format.

    Args:
        file: the sweep.
        directory: may contain its frontier.
        folder: exists.

    Returns:
        SVG, PNG and PDF files.

    Raises:
        MissingExtraError: Altair or vl-convert is not installed.
    """
    beside = frontier_beside(file, directory)
    points = points_of_sweep(file.data, None if beside is None else beside.data)
    chart = frontier_chart(points, percentile_of(file.data), currency_of(file.data), live=False)
    stem = folder / Path(file.name).stem
    written = [] if chart is None else [*write_figure(chart, stem.with_name(f"{stem.name}-frontier"))]
    blocks = (
        *quality_blocks.contexts_block(file, points),
        *quality_blocks.headroom_block(file, points),
        *quality_blocks.ladder_block(file),
        *expense.latency_block(file, points),
        *expense.memory_block(file),
        *expense.price_block(file, points),
    )
    for figure in (figure for block in blocks for figure in block.figures):
        written += write_figure(
            figure.draw(NARROW).properties(title=figure.title), stem.with_name(f"{stem.name}-{figure.id}")
        )
    return tuple(written)
