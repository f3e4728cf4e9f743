"""The result kinds of this package."""

from trueval.probes import margin_summary, noise_summary, prediction
from trueval.report.kinds import Kind, files_of, forms_of, late

NAMES = Kind(
    margin_summary.KIND,
    format=margin_summary.FORMAT_VERSION,
    order=70,
    text=forms_of("trueval.probes.views.names"),
    files=files_of("probe-names"),
    page=late("trueval.probes.views.names_page:build"),
    figures=late("trueval.probes.views.names_page:write_figures"),
)

PREDICTION = Kind(
    prediction.KIND,
    format=prediction.FORMAT_VERSION,
    order=72,
    text=forms_of("trueval.probes.views.prediction"),
    files=files_of("probe-join"),
    page=late("trueval.probes.views.prediction_page:build"),
    figures=late("trueval.probes.views.prediction_page:write_figures"),
)

NOISE = Kind(
    noise_summary.KIND,
    format=noise_summary.FORMAT_VERSION,
    order=71,
    text=forms_of("trueval.probes.views.noise"),
    files=files_of("probe-noise"),
    page=late("trueval.probes.views.noise_page:build"),
    figures=late("trueval.probes.views.noise_page:write_figures"),
)
