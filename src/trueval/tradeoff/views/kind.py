"""The result kinds of `trueval sweep` and `trueval frontier`."""

from typing import Final

from trueval.report.formats import to_json
from trueval.report.kinds import Kind, files_of, kind_of_view, late

SWEEP: Final = Kind(
    "sweep",
    format=1,
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

FRONTIER: Final = kind_of_view(
    "frontier",
    "trueval.tradeoff.frontier.frontier_result:FrontierResult",
    "trueval.tradeoff.views.frontier:view",
    format=1,
    order=3,  # the recommendation comes before the quality of each configuration
    stem="frontier",
)
