"""The kinds of result that `trueval compare`, `trueval power` and `trueval golden correct` give."""

from trueval.comparison.comparison import FORMAT_VERSION, KIND
from trueval.comparison.gate import published_means
from trueval.comparison.labels import correction
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
PUBLISHED = Kind(
    published_means.KIND,
    format=published_means.FORMAT_VERSION,
    order=26,
    text=forms_of("trueval.comparison.views.published"),
    files={"published.json": "json"},
    page=late("trueval.comparison.views.published:build"),
    console=late("trueval.comparison.views.published:console"),
)

# `trueval golden correct`.
CORRECTION = Kind(
    correction.KIND,
    format=correction.FORMAT_VERSION,
    order=22,
    text=forms_of("trueval.comparison.views.correction"),
    files=files_of("corrected"),
    page=late("trueval.comparison.views.correction_page:build"),
    console=late("trueval.comparison.views.correction:console"),
    notebook=late("trueval.comparison.views.correction:html"),
)
