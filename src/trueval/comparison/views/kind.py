"""The kinds of result that `trueval compare`, `trueval power` and `trueval golden correct` give."""

from trueval.comparison import corrected, detection, published
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

POWER = Kind(
    detection.KIND,
    format=detection.FORMAT_VERSION,
    order=25,
    text={
        "table": late("trueval.comparison.views.power:table"),
        "json": to_json,
        "csv": late("trueval.comparison.views.power:to_csv"),
        "markdown": late("trueval.comparison.views.power:to_markdown"),
        "latex": late("trueval.comparison.views.power:to_latex"),
    },
    files={"power.json": "json", "power.csv": "csv", "power.md": "markdown", "power.tex": "latex"},
    page=late("trueval.comparison.views.power_page:build"),
    figures=late("trueval.comparison.views.power_page:write_figures"),
)

# `trueval power --value`, without runs.
PUBLISHED = Kind(
    published.KIND,
    format=published.FORMAT_VERSION,
    order=26,
    text={
        "table": late("trueval.comparison.views.published:table"),
        "json": to_json,
        "csv": late("trueval.comparison.views.published:to_csv"),
        "markdown": late("trueval.comparison.views.published:to_markdown"),
        "latex": late("trueval.comparison.views.published:to_latex"),
    },
    files={"published.json": "json"},
    page=late("trueval.comparison.views.published:build"),
)

# `trueval golden correct`.
CORRECTION = Kind(
    corrected.KIND,
    format=corrected.FORMAT_VERSION,
    order=22,
    text={
        "table": late("trueval.comparison.views.correction:table"),
        "json": to_json,
        "csv": late("trueval.comparison.views.correction:to_csv"),
        "markdown": late("trueval.comparison.views.correction:to_markdown"),
        "latex": late("trueval.comparison.views.correction:to_latex"),
    },
    files={"corrected.json": "json", "corrected.csv": "csv", "corrected.md": "markdown", "corrected.tex": "latex"},
    page=late("trueval.comparison.views.correction_page:build"),
)
