"""The page section with the frontier chart of a sweep."""

from __future__ import annotations

from trueval.report.page_content import Block, Table
from trueval.report.result_directory import ResultFile
from trueval.tradeoff.runner.sweep_result import SweepResult
from trueval.tradeoff.views.frontier import chart_figure, chart_words
from trueval.tradeoff.views.points import currency_of, percentile_of, points_of_sweep


def frontier_block(file: ResultFile, tables: tuple[Table, ...], *, drawn: bool) -> Block:
    """The frontier chart with its notes.

    Args:
        file: the sweep.
        tables: under the chart.
        drawn: whether to draw it.
    """
    sweep = SweepResult.from_dict(file.data)
    points = points_of_sweep(sweep)
    figure = chart_figure(points, sweep.quality, percentile_of(sweep), currency_of(sweep)) if drawn else None
    words = ((chart_words(points, figure),),) if drawn else ()
    return Block("frontier", "Frontier", words, (figure,) if figure else (), tables, place="decisions")
