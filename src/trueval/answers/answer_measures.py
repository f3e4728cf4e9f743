"""The measures of answers: names, directions and formulas, and their values per question as `Scores`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np

from trueval.answers import claim_measures as formulas
from trueval.answers.answer import AnswerLog
from trueval.answers.claim_measures import AnswerValues
from trueval.answers.claim_table import ClaimTable
from trueval.answers.reference_measures import best_of_references, exact_match, number_recall, token_f1
from trueval.errors import MeasureError, nearest
from trueval.evaluation.scores import Scores
from trueval.evaluation.ties import TieSummary
from trueval.measures.measure import Definition, Measure, Values, declare
from trueval.measures.span import ValueRange
from trueval.policy.policy import Policy
from trueval.standings.standings import Standings

RAGCHECKER: Final = "RAGChecker, Ru et al. 2024 (arXiv 2408.08067)"
NUGGETS: Final = "TREC RAG 2024, Pradeep et al. 2024 (arXiv 2411.09607)"
SUPPORT: Final = "TREC RAG 2024, Thakur et al. 2025 (arXiv 2504.15205)"
SQUAD: Final = "SQuAD, Rajpurkar et al. 2016 (arXiv 1606.05250)"
DEEPEVAL: Final = "DeepEval, AnswerRelevancyMetric; halves are ours"
OURS: Final = "trueval, docs/answers.md"
FRACTIONS: Final = ValueRange(0.0, 1.0)
MISSING_AS_TIES: Final = (
    "some labels are missing: what tables call ties are all ways to fill these, and lowest and highest their extremes."
)
RELEVANCE: Final = "answer-relevance"  # asked for alone: judge_answers(relevance=True)
_ENDS: Final = ("lowest", "highest")


class AnswerMeasure(NamedTuple):
    """A measure of answers.

    Attributes:
        measure: its name and direction, as comparisons and gates take it.
        values: from a log and its table to values.
        judged: whether it needs the judged table.
    """

    measure: Measure
    values: Callable[[AnswerLog, ClaimTable], AnswerValues]
    judged: bool

    @property
    def name(self) -> str:
        """Its name."""
        return self.measure.name


def _refuse(_: Standings, measure: Measure) -> Values:
    raise MeasureError(f"{measure} is a measure of answers, and runs have none. Use trueval answers evaluate.")


def _measure(
    name: str,
    summary: str,
    formula: str,
    source: str,
    values: Callable[[AnswerLog, ClaimTable], AnswerValues],
    *,
    better: str = "higher",
    judged: bool = True,
) -> AnswerMeasure:
    definition = Definition(name, summary, formula, source, _refuse, "none", better=better, empty="na", span=FRACTIONS)
    return AnswerMeasure(declare(definition), values, judged)


def _of_table(formula: Callable[[ClaimTable], AnswerValues]) -> Callable[[AnswerLog, ClaimTable], AnswerValues]:
    return lambda _, table: formula(table)


def _of_texts(formula: Callable[[str, str], float]) -> Callable[[AnswerLog, ClaimTable], AnswerValues]:
    return lambda log, _: best_of_references(log, formula)


def _recalls() -> list[AnswerMeasure]:
    weights = {"all": "nugget-recall", "vital": "vital-recall", "weighted": "weighted-recall"}
    about = {
        "all": "the reference's claims that the answer makes",
        "vital": "the vital ones among them",
        "weighted": "all of them, vital ones with weight 1 and okay ones with .5",
    }
    return [
        _measure(
            name + ("-strict" if strict else ""),
            f"Share of {about[of]}; claims made in part count {'0' if strict else '.5'}.",
            "sum of w s / sum of w over reference claims",
            NUGGETS,
            _of_table(partial(formulas.nugget_recall, strict=strict, of=of)),
        )
        for of, name in weights.items()
        for strict in (False, True)
    ]


def _supports() -> list[AnswerMeasure]:
    precision, recall = formulas.support_precision, formulas.support_recall
    return [
        _measure(
            f"support-{name}" + ("-first" if first else ""),
            summary + (", of first citations alone." if first else "."),
            "sum of weights 1, .5, 0 / number of " + of,
            SUPPORT,
            _of_table(partial(formula, first=first)),
        )
        for name, summary, of, formula in (
            ("precision", "How far cited passages support the claims that cite them", "citations", precision),
            ("recall", "How far claims are supported by what they cite", "claims", recall),
        )
        for first in (False, True)
    ]


MEASURES: Final[Mapping[str, AnswerMeasure]] = MappingProxyType(
    {
        each.name: each
        for each in (
            _measure(
                "correctness",
                "Share of the answer's claims that the reference supports.",
                "mean over a of [a < reference]",
                RAGCHECKER,
                _of_table(formulas.correctness),
            ),
            _measure(
                "reference-relevance",
                "Share of the answer's claims of which the reference says something, also against them.",
                "mean over a of [reference supports, supports in part, or contradicts a]",
                OURS,
                _of_table(formulas.reference_relevance),
            ),
            _measure(
                RELEVANCE,
                "Share of the answer's claims that address the question; claims that do so in part count .5.",
                "mean over a of s(a); s = 1, .5, 0",
                DEEPEVAL,
                _of_table(formulas.answer_relevance),
            ),
            *_recalls(),
            _measure(
                "claim-F1",
                "Harmonic mean of correctness and nugget-recall-strict.",
                "2 P R / (P + R)",
                RAGCHECKER,
                _of_table(formulas.claim_f1),
            ),
            _measure(
                "claim-recall",
                "Share of the reference's claims that the context supports.",
                "mean over r of [r < C]",
                RAGCHECKER,
                _of_table(formulas.claim_recall),
            ),
            _measure(
                "context-precision",
                "Share of passages that support some claim of the reference.",
                "mean over p of [some r < p]",
                RAGCHECKER,
                _of_table(formulas.context_precision),
            ),
            _measure(
                "faithfulness",
                "Share of the answer's claims that the context supports.",
                "mean over a of [a < C]",
                RAGCHECKER,
                _of_table(formulas.faithfulness),
            ),
            _measure(
                "context-utilization",
                "Share of the reference's claims in the context that the answer makes.",
                "sum of [r < C] [r < answer] / sum of [r < C]",
                RAGCHECKER,
                _of_table(formulas.context_utilization),
            ),
            _measure(
                "noise-relevant",
                "Share of the answer's claims that are wrong and in a relevant passage.",
                "mean over a of [not a < reference] [a < some relevant p]",
                RAGCHECKER,
                _of_table(partial(formulas.noise_sensitivity, relevant=True)),
                better="lower",
            ),
            _measure(
                "noise-irrelevant",
                "Share of the answer's claims that are wrong and in an irrelevant passage.",
                "mean over a of [not a < reference] [a < some irrelevant p]",
                RAGCHECKER,
                _of_table(partial(formulas.noise_sensitivity, relevant=False)),
                better="lower",
            ),
            _measure(
                "hallucination",
                "Share of the answer's claims that are wrong and in no passage.",
                "mean over a of [not a < reference] [not a < C]",
                RAGCHECKER,
                _of_table(formulas.hallucination),
                better="lower",
            ),
            _measure(
                "self-knowledge",
                "Share of the answer's claims that are right and in no passage.",
                "mean over a of [a < reference] [not a < C]",
                RAGCHECKER,
                _of_table(formulas.self_knowledge),
            ),
            *_supports(),
            _measure(
                "abstention-right",
                "Share of questions without an answer on which the system abstains.",
                "mean of [abstained] where not answerable",
                OURS,
                _of_table(partial(formulas.abstention, answerable=False)),
                judged=False,
            ),
            _measure(
                "abstention-wrong",
                "Share of questions with an answer on which the system abstains.",
                "mean of [abstained] where answerable",
                OURS,
                _of_table(partial(formulas.abstention, answerable=True)),
                better="lower",
                judged=False,
            ),
            _measure(
                "exact-match",
                "Whether answer and reference are equal after normalization.",
                "[answer = reference]",
                SQUAD,
                _of_texts(exact_match),
                judged=False,
            ),
            _measure(
                "token-F1",
                "Harmonic mean of the shares of common tokens.",
                "2 c / (tokens of answer + of reference)",
                SQUAD,
                _of_texts(token_f1),
                judged=False,
            ),
            _measure(
                "number-recall",
                "Share of the reference's numbers that the answer has.",
                "common numbers / numbers of the reference",
                OURS,
                _of_texts(number_recall),
                judged=False,
            ),
        )
    }
)


def find_measures(names: Sequence[str] | None, *, judged: bool) -> tuple[AnswerMeasure, ...]:
    """The measures of some names.

    Args:
        names: None for all that can be computed.
        judged: whether there is a judged table.

    Raises:
        MeasureError: a name is unknown, or needs a judged table.
    """
    if names is None:
        return tuple(each for each in MEASURES.values() if judged or not each.judged)
    for name in names:
        if name not in MEASURES:
            raise MeasureError(
                f"{name!r} is no measure of answers. There are: {', '.join(MEASURES)}.{nearest(name, MEASURES)}"
            )
        if MEASURES[name].judged and not judged:
            raise MeasureError(f"{name} needs a judged table. Make one: trueval answers judge LOG --judge MODEL.")
    return tuple(MEASURES[name] for name in dict.fromkeys(names))


def scores_of(log: AnswerLog, values: Mapping[str, AnswerValues]) -> Scores:
    """The values as scores, which comparisons and gates take.

    What ties are to a ranked list, missing labels are to an answer: lowest and highest are the values over all ways to
    fill them, and expected is the middle.

    Args:
        values: by name of the measure.
    """
    low, high = (np.stack([getattr(each.bounds, end) for each in values.values()], axis=1) for end in _ENDS)
    middle = (low + high) / 2
    return Scores(
        log.name,
        log.query_ids,
        tuple(MEASURES[name].measure for name in values),
        middle,
        low,
        high,
        np.where(high > low, np.nan, middle),
        (high - low) / 2,  # the greatest standard deviation of values within these ends
        tuple(bool(np.array_equal(one, other, equal_nan=True)) for one, other in zip(low.T, high.T, strict=True)),
        TieSummary(None, None, ()),
        (),
        (),
        Policy(missing="skip"),
        (*log.notes, *((MISSING_AS_TIES,) if (high > low).any() else ())),
    )
