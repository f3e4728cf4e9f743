"""The kind of result that `trueval precision` gives."""

from trueval.precision.audited import FORMAT_VERSION, KIND
from trueval.report.formats import to_json
from trueval.report.kinds import Kind, late

PRECISION = Kind(
    KIND,
    format=FORMAT_VERSION,
    order=5,
    text={
        "table": late("trueval.precision.views.formats:table"),
        "json": to_json,
        "csv": late("trueval.precision.views.formats:to_csv"),
        "markdown": late("trueval.precision.views.formats:to_markdown"),
        "latex": late("trueval.precision.views.formats:to_latex"),
    },
    files={"precision.json": "json", "precision.csv": "csv", "precision.md": "markdown", "precision.tex": "latex"},
    page=late("trueval.precision.views.page:build"),
    figures=late("trueval.precision.views.figures:draw_precision"),
)
