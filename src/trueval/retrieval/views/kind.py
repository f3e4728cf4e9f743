"""The kinds of result of `trueval retrieve` and `trueval cuts`: the manifest of a run, and the audit of a cut."""

from typing import Final

from trueval.report.kinds import Kind, forms_of, late
from trueval.retrieval.cuts import cut_audit
from trueval.retrieval.pipeline.pipeline_result import FORMAT_VERSION, KIND

RETRIEVE: Final = Kind(
    KIND,
    format=FORMAT_VERSION,
    order=12,  # what a run is worth comes before how it was made
    text=forms_of("trueval.retrieval.views.stages"),
    files={"retrieval.json": "json"},
    page=late("trueval.retrieval.views.stages:build"),
)

CUTS: Final = Kind(
    cut_audit.KIND,
    format=cut_audit.FORMAT_VERSION,
    order=6,
    text=forms_of("trueval.retrieval.views.cuts"),
    files={"cuts.json": "json", "cuts.csv": "csv"},
    page=late("trueval.retrieval.views.cuts_page:build"),
)
