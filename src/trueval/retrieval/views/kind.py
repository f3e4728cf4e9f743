"""The kinds of result of `trueval retrieve` and `trueval cuts`: manifests of runs, live ones, and audits of cuts."""

from typing import Final

from trueval.report.kinds import Kind, forms_of, kind_of_view, late
from trueval.retrieval.pipeline.pipeline_result import FORMAT_VERSION, KIND

RETRIEVE: Final = Kind(
    KIND,
    format=FORMAT_VERSION,
    order=12,  # what a run is worth comes before how it was made
    text=forms_of("trueval.retrieval.views.stages"),
    files={"retrieval.json": "json"},
    page=late("trueval.retrieval.views.stages:build"),
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
