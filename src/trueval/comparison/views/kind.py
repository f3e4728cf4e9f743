"""The kind of result that `trueval compare` gives."""

from trueval.comparison.comparison import FORMAT_VERSION, KIND
from trueval.report.formats import to_json
from trueval.report.kinds import Kind, late

COMPARE = Kind(
    KIND,
    format=FORMAT_VERSION,
    order=20,
    text={
        "table": late("trueval.comparison.views.formats:table"),
        "json": to_json,
        "csv": late("trueval.comparison.views.formats:to_csv"),
        "markdown": late("trueval.comparison.views.formats:to_markdown"),
        "latex": late("trueval.comparison.views.formats:to_latex"),
    },
    files={"comparison.json": "json", "comparison.csv": "csv", "comparison.md": "markdown", "comparison.tex": "latex"},
    page=late("trueval.comparison.views.page:build"),
)
