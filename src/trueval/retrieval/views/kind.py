"""The kind of result that `trueval retrieve` gives: the manifest of a run."""

from typing import Final

from trueval.report.formats import to_json
from trueval.report.kinds import Kind, late
from trueval.retrieval.retrieved import FORMAT_VERSION, KIND

RETRIEVE: Final = Kind(
    KIND,
    format=FORMAT_VERSION,
    order=5,
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
