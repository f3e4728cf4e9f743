"""Figures of a sweep for papers: frontier, quality over K, headroom, latency, memory."""

from __future__ import annotations

from pathlib import Path

from trueval.report.figures import NARROW, write_figure
from trueval.report.result_directory import Directory, ResultFile
from trueval.tradeoff.runner.sweep_result import SweepResult
from trueval.tradeoff.views import expense, quality_blocks
from trueval.tradeoff.views import points as drawn
from trueval.tradeoff.views.frontier import chart_figure
from trueval.tradeoff.views.frontier_chart import frontier_chart
from trueval.tradeoff.views.sweep_points import points_of_sweep


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
    sweep = SweepResult.from_dict(file.data)
    typed, points = drawn.points_of_sweep(sweep), points_of_sweep(file.data)
    stem = folder / Path(file.name).stem
    written: list[Path] = []
    if chart_figure(typed, sweep.quality, "", "") is not None:
        chart = frontier_chart(typed, drawn.percentile_of(sweep), drawn.currency_of(sweep), live=False)
        written = [*write_figure(chart, stem.with_name(f"{stem.name}-frontier"))]
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
