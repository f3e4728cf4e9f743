"""The kinds of result of `trueval retrieve` and `trueval cuts`: the manifest of a run, and the audit of a cut."""

from typing import Final

from trueval.report.formats import to_json
from trueval.report.kinds import Kind, late
from trueval.retrieval import cuts
from trueval.retrieval.stages.retrieved import FORMAT_VERSION, KIND

RETRIEVE: Final = Kind(
    KIND,
    format=FORMAT_VERSION,
    order=12,  # what a run is worth comes before how it was made
    text={
        "table": late("trueval.retrieval.views.stages:table"),
        "json": to_json,
        "csv": late("trueval.retrieval.views.stages:to_csv"),
        "markdown": late("trueval.retrieval.views.stages:to_markdown"),
        "latex": late("trueval.retrieval.views.stages:to_latex"),
    },
    files={"retrieval.json": "json"},
    page=late("trueval.retrieval.views.stages:build"),
)

CUTS: Final = Kind(
    cuts.KIND,
    format=cuts.FORMAT_VERSION,
    order=6,
    text={
        "table": late("trueval.retrieval.views.cuts:table"),
        "json": to_json,
        "csv": late("trueval.retrieval.views.cuts:to_csv"),
        "markdown": late("trueval.retrieval.views.cuts:to_markdown"),
        "latex": late("trueval.retrieval.views.cuts:to_latex"),
    },
    files={"cuts.json": "json", "cuts.csv": "csv"},
    page=late("trueval.retrieval.views.cuts_page:build"),
)
