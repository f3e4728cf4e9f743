"""The result kinds of this package."""

from trueval.probes import noise_summary
from trueval.report.kinds import Kind, files_of, forms_of, kind_of_view, late

NAMES = kind_of_view(
    "probe-names",
    "trueval.probes.names_result:NamesSummary",
    "trueval.probes.views.names:view",
    format=1,
    order=70,
    stem="probe-names",
)
PREDICTION = kind_of_view(
    "probe-prediction",
    "trueval.probes.prediction_result:PredictionSummary",
    "trueval.probes.views.prediction:view",
    format=1,
    order=72,
    stem="probe-join",
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
