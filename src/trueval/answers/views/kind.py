"""The result kinds of this package: values of answers."""

from trueval.report.kinds import kind_of_view

ANSWERS = kind_of_view(
    "answers",
    "trueval.answers.answers_evaluation:AnswersEvaluation",
    "trueval.answers.views.answers:view",
    format=1,
    order=15,
    stem="answers",
)
GENERATED = kind_of_view(
    "generated-answers",
    "trueval.answers.generation.generation_result:GeneratedAnswers",
    "trueval.answers.views.generation:view",
    format=1,
    order=16,
    stem="generated-answers",
)
BRITTLE = kind_of_view(
    "brittle-answers",
    "trueval.answers.generation.brittle_result:BrittleAnswers",
    "trueval.answers.views.brittle:view",
    format=1,
    order=17,
    stem="brittle-answers",
)
STRESS = kind_of_view(
    "answer-stress",
    "trueval.answers.validation.answer_stress_result:AnswerStress",
    "trueval.answers.views.answer_stress:view",
    format=1,
    order=18,
    stem="answer-stress",
)
