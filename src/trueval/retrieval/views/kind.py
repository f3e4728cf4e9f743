"""The kinds of result of `trueval retrieve` and `trueval cuts`: the manifest of a run, and the audit of a cut."""

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
