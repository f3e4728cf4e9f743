"""The result kinds of `trueval sweep` and `trueval frontier`."""

from typing import Final

from trueval.report.formats import to_json
from trueval.report.kinds import Kind, files_of, forms_of, late
from trueval.tradeoff.frontier.frontier_result import FrontierResult
from trueval.tradeoff.runner.sweep_result import SweepResult

SWEEP: Final = Kind(
    SweepResult.KIND,
    format=SweepResult.FORMAT,
    order=4,
    text={
        "table": late("trueval.tradeoff.views.table:table"),
        "json": to_json,
        "csv": late("trueval.tradeoff.views.paper_tables:to_csv"),
        "markdown": late("trueval.tradeoff.views.paper_tables:to_markdown"),
        "latex": late("trueval.tradeoff.views.paper_tables:to_latex"),
    },
    files=files_of("sweep"),
    page=late("trueval.tradeoff.views.page:build"),
    figures=late("trueval.tradeoff.views.figures:draw_sweep"),
)

FRONTIER: Final = Kind(
    FrontierResult.KIND,
    format=FrontierResult.FORMAT,
    order=3,  # the recommendation comes before the quality of each configuration
    text=forms_of("trueval.tradeoff.views.frontier"),
    files=files_of("frontier"),
    page=late("trueval.tradeoff.views.page:build_frontier"),
)
