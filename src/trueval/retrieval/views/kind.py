"""The kinds of result of `trueval retrieve` and `trueval cuts`: manifests of runs, live ones, and audits of cuts."""

from typing import Final

from trueval.report.kinds import kind_of_view

RETRIEVE: Final = kind_of_view(
    "retrieve",
    "trueval.retrieval.pipeline.retrieve_result:Retrieval",
    "trueval.retrieval.views.stages:view",
    format=1,
    order=12,  # what a run is worth comes before how it was made
    stem="retrieval",
)

CUTS: Final = kind_of_view(
    "cuts",
    "trueval.retrieval.cuts.cuts_result:CutAudit",
    "trueval.retrieval.views.cuts:view",
    format=1,
    order=6,
    stem="cuts",
)

LIVE: Final = kind_of_view(
    "live",
    "trueval.retrieval.live.live_result:LiveResult",
    "trueval.retrieval.views.live:view",
    format=1,
    order=11,
    stem="live",
)
