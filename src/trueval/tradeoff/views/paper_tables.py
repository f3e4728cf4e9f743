"""P-B's tables for the systems of a sweep, and what those without data lack."""

from __future__ import annotations

from trueval.tradeoff.runner.sweep_result import SweepResult
from trueval.tradeoff.views.cost_tables import of_efficiency, of_latency, of_prices, of_scenarios, of_tokens
from trueval.tradeoff.views.paper_cells import MissingTable, PaperTable
from trueval.tradeoff.views.pipelines import pipelines_of
from trueval.tradeoff.views.quality_tables import (
    of_ceilings,
    of_depths,
    of_embedders,
    of_indexes,
    of_methods,
    of_pool_ceilings,
    of_top,
)


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
    return [
        *of_prices(sweep, pipelines),
        *of_embedders(pipelines),
        *of_methods(pipelines),
        *of_ceilings(pipelines),
        *of_top(pipelines),
        *of_indexes(pipelines),
        *of_scenarios(sweep, pipelines),
        *of_efficiency(pipelines),
        *of_tokens(pipelines),
        *of_latency(pipelines),
        *of_depths(pipelines),
        *of_pool_ceilings(pipelines),
    ]
