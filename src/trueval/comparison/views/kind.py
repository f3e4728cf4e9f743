"""The kinds of result that `trueval compare`, `trueval power` and `trueval golden correct` give."""

from trueval.comparison.comparison import FORMAT_VERSION, KIND
from trueval.report.kinds import Kind, files_of, forms_of, kind_of_view, late

COMPARE = Kind(
    KIND,
    format=FORMAT_VERSION,
    order=20,
    text=forms_of("trueval.comparison.views.tables"),
    files=files_of("comparison"),
    page=late("trueval.comparison.views.page:build"),
    console=late("trueval.comparison.views.printed:console"),
    notebook=late("trueval.comparison.views.printed:html"),
)

POWER = kind_of_view(
    "power",
    "trueval.comparison.power.power_result:Power",
    "trueval.comparison.views.power:view",
    format=1,
    order=25,
    stem="power",
)

# `trueval power --value`, without runs.
PUBLISHED = kind_of_view(
    "published",
    "trueval.comparison.gate.published_means:PublishedMean",
    "trueval.comparison.views.published:view",
    format=1,
    order=26,
    stem="published",
)

# `trueval golden correct`.
CORRECTION = kind_of_view(
    "corrected",
    "trueval.comparison.labels.correction:Corrected",
    "trueval.comparison.views.correction:view",
    format=1,
    order=22,
    stem="corrected",
)
