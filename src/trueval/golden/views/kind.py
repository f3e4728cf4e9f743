"""The result kinds of this package: golden sets, label agreement, judges under stress, and labels where they decide."""

from trueval.report.kinds import kind_of_view, late

GOLDEN = kind_of_view(
    "golden",
    "trueval.golden.build.golden_result:GoldenResult",
    "trueval.golden.views.golden:view",
    format=1,
    order=55,
    stem="golden",
)._replace(files={"golden.json": "json"}, page=late("trueval.golden.views.golden_page:build"))
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
    "trueval.golden.views.robustness:view",
    format=1,
    order=58,
    stem="gullibility",
)
QUESTIONS = kind_of_view(
    "golden-questions",
    "trueval.golden.questions.written_questions:WrittenQuestions",
    "trueval.golden.views.questions:view",
    format=1,
    order=59,
    stem="questions",
)
FLATTERY = kind_of_view(
    "golden-flattery",
    "trueval.golden.questions.flattery_result:Flattery",
    "trueval.golden.views.flattery:view",
    format=1,
    order=60,
    stem="flattery",
)
NEXT = kind_of_view(
    "next-labels",
    "trueval.golden.audit.sampling.next_labels_result:NextLabels",
    "trueval.golden.views.next_labels:view",
    format=1,
    order=61,
    stem="next-labels",
)
