"""The result of `trueval answers brittle`, in the form of its JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from trueval.answers.generation.generation_result import BoundedMean, TokenTimes
from trueval.golden.validation.robustness_result import CallUsage
from trueval.report.result import Result

ALL: str = "all"


@dataclass(frozen=True)
class DosePoint:
    """What answers are worth with so many distractors.

    Attributes:
        kind: of distractors.
        place: of the gold documents among them; "all" for the mean over places.
        dose: number of distractors.
        value: mean over questions.
        abstained: share of questions without an answer.
    """

    kind: str
    place: str
    dose: int
    value: BoundedMean
    abstained: BoundedMean


@dataclass(frozen=True)
class DoseSlope:
    """Change per distractor.

    Attributes:
        value: of the value of answers.
        abstained: of the share of questions without an answer.
    """

    kind: str
    place: str
    value: BoundedMean
    abstained: BoundedMean


@dataclass(frozen=True)
class PlaceEffect:
    """Value with the gold documents first minus that with them at a place, over doses above 0."""

    kind: str
    place: str
    value: BoundedMean


@dataclass(frozen=True)
class HarmThreshold:
    """Where distractors begin to harm.

    Attributes:
        dose: the least number of distractors whose harm is sure at all doses at once; None if none is.
        drop: what is lost at that dose, or at the highest.
        k: the largest K whose lists hold fewer than so many documents without the answer, in the mean; None without
            a dose.
    """

    kind: str
    dose: int | None
    drop: BoundedMean | None
    k: int | None


@dataclass(frozen=True)
class QuestionUtility:
    """What documents are worth to a generator for one question: the middle where not all is known.

    Attributes:
        query: id of the question.
        gold: ids of the documents judged to hold the answer.
        helps: value of the answer from gold documents alone.
        harms: what each distractor takes away: minus the least-squares slope over doses, the mean over kinds and
            places; None where the question has fewer than two doses.
    """

    query: str
    gold: tuple[str, ...]
    helps: float
    harms: float | None


@dataclass(frozen=True)
class BrittleGenerator:
    """How a generator answers among distractors.

    Attributes:
        name: of the generator.
        model: as the plan names it; the name of a generator of the caller.
        utilities: of each question with gold documents.
    """

    name: str
    points: tuple[DosePoint, ...]
    slopes: tuple[DoseSlope, ...]
    places: tuple[PlaceEffect, ...]
    thresholds: tuple[HarmThreshold, ...]
    times: tuple[TokenTimes, ...]
    usage: CallUsage
    model: str = ""
    utilities: tuple[QuestionUtility, ...] = ()


@dataclass(frozen=True)
class SlopeDifference:
    """Slope of one generator minus that of another, paired by question."""

    first: str
    second: str
    kind: str
    value: BoundedMean


@dataclass(frozen=True, repr=False)
class BrittleAnswers(Result):
    """Dose and response of generators to distractors.

    Attributes:
        judge: name of the judge; "" where answers are compared with references by words.
        measure: of answers.
        questions: number of questions.
        gold: number of these with documents judged to hold the answer: the others are in no number.
        doses: numbers of distractors.
        differences: of slopes, for each pair of generators.
        notes: one-line remarks.
    """

    KIND: ClassVar = "brittle-answers"
    # 1: first version.
    FORMAT: ClassVar = 1

    judge: str
    measure: str
    level: float
    questions: int
    gold: int
    doses: tuple[int, ...]
    generators: tuple[BrittleGenerator, ...]
    differences: tuple[SlopeDifference, ...]
    notes: tuple[str, ...]

    def slope(self, generator: str, kind: str, place: str = "all") -> BoundedMean:
        """Change of the value per distractor.

        Raises:
            KeyError: it was not measured.
        """
        for each in self.generators:
            for found in each.slopes:
                if (each.name, found.kind, found.place) == (generator, kind, place):
                    return found.value
        raise KeyError((generator, kind, place))
