"""The result kinds of this package."""

from trueval.report.kinds import kind_of_view

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

NOISE = kind_of_view(
    "probe-noise",
    "trueval.probes.noise_result:NoiseSummary",
    "trueval.probes.views.noise:view",
    format=1,
    order=71,
    stem="probe-noise",
)
