"""The kinds of result of the room."""

from trueval.probes import noise_summary, prediction, summary
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

PREDICTION = Kind(
    prediction.KIND,
    format=prediction.FORMAT_VERSION,
    order=72,
    text={
        "table": late("trueval.probes.views.prediction:table"),
        "json": to_json,
        "csv": late("trueval.probes.views.prediction:to_csv"),
        "markdown": late("trueval.probes.views.prediction:to_markdown"),
        "latex": late("trueval.probes.views.prediction:to_latex"),
    },
    files={
        "probe-join.json": "json",
        "probe-join.csv": "csv",
        "probe-join.md": "markdown",
        "probe-join.tex": "latex",
    },
    page=late("trueval.probes.views.prediction_page:build"),
    figures=late("trueval.probes.views.prediction_page:write_figures"),
)

NOISE = Kind(
    noise_summary.KIND,
    format=noise_summary.FORMAT_VERSION,
    order=71,
    text={
        "table": late("trueval.probes.views.noise:table"),
        "json": to_json,
        "csv": late("trueval.probes.views.noise:to_csv"),
        "markdown": late("trueval.probes.views.noise:to_markdown"),
        "latex": late("trueval.probes.views.noise:to_latex"),
    },
    files={
        "probe-noise.json": "json",
        "probe-noise.csv": "csv",
        "probe-noise.md": "markdown",
        "probe-noise.tex": "latex",
    },
    page=late("trueval.probes.views.noise_page:build"),
    figures=late("trueval.probes.views.noise_page:write_figures"),
)
