"""The result kinds of this package."""

from trueval.probes import noise_summary, prediction
from trueval.report.kinds import Kind, files_of, forms_of, kind_of_view, late

NAMES = kind_of_view(
    "probe-names",
    "trueval.probes.names_result:NamesSummary",
    "trueval.probes.views.names:view",
    format=1,
    order=70,
    stem="probe-names",
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
