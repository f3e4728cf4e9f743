"""The result kinds of this package: golden sets, label agreement, and judges under stress."""

from trueval.golden.build import golden_set
from trueval.report.kinds import Kind, forms_of, kind_of_view, late

GOLDEN = Kind(
    golden_set.KIND,
    format=golden_set.FORMAT_VERSION,
    order=55,
    text=forms_of("trueval.golden.views.golden"),
    files={golden_set.ABOUT: "json"},
    page=late("trueval.golden.views.golden_page:build"),
)


AGREE = kind_of_view(
    "golden-agree",
    "trueval.golden.validation.agreement_result:LabelAgreement",
    "trueval.golden.views.agree:view",
    format=1,
    order=56,
    stem="agree",
)
STRESS = kind_of_view(
    "golden-stress",
    "trueval.golden.validation.stress_result:Stress",
    "trueval.golden.views.stress:view",
    format=1,
    order=57,
    stem="stress",
)
GULLIBILITY = kind_of_view(
    "golden-gullibility",
    "trueval.golden.validation.robustness_result:Robustness",
    "trueval.golden.views.gullibility:view",
    format=1,
    order=58,
    stem="gullibility",
)
