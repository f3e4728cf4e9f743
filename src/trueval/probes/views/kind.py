"""The kinds of result of the room."""

from trueval.probes import summary
from trueval.report.formats import to_json
from trueval.report.kinds import Kind, late

NAMES = Kind(
    summary.KIND,
    format=summary.FORMAT_VERSION,
    order=70,
    text={
        "table": late("trueval.probes.views.names:table"),
        "json": to_json,
        "csv": late("trueval.probes.views.names:to_csv"),
        "markdown": late("trueval.probes.views.names:to_markdown"),
        "latex": late("trueval.probes.views.names:to_latex"),
    },
    files={
        "probe-names.json": "json",
        "probe-names.csv": "csv",
        "probe-names.md": "markdown",
        "probe-names.tex": "latex",
    },
    page=late("trueval.probes.views.names_page:build"),
    figures=late("trueval.probes.views.names_page:write_figures"),
)
