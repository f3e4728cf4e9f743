"""P-B's tables for the systems of a sweep, and what those without data lack."""

from __future__ import annotations

from trueval.tradeoff.runner.sweep_result import SweepResult
from trueval.tradeoff.views.cost_tables import EFFICIENCY, LATENCIES, TOKENS, price_sources, scenario_source
from trueval.tradeoff.views.paper_cells import MissingTable, PaperTable
from trueval.tradeoff.views.pipelines import pipelines_of
from trueval.tradeoff.views.quality_tables import BY_DEPTH, QUALITY


def paper_tables(sweep: SweepResult) -> list[PaperTable | MissingTable]:
    """Every table of the paper that a sweep has data for, in the paper's order, and what the others lack.

    Args:
        sweep: of `trueval sweep`.
    """
    pipelines = pipelines_of(sweep)
    if not pipelines:
        return [
            MissingTable("Every table", "of the paper", "no configuration could be measured; see failed and left_out.")
        ]
    costs = (scenario_source(sweep.prices), EFFICIENCY, TOKENS, *LATENCIES)
    sources = (*price_sources(sweep.prices), *QUALITY, *costs, *BY_DEPTH)
    return [table for source in sources for table in source.make(pipelines)]
