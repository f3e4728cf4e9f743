"""The result of `trueval answers stress`, in the form of its JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from trueval.answers.generation.generation_result import BoundedMean
from trueval.golden.validation.robustness_result import CallUsage
from trueval.report.result import Result

OWN: str = "own model"


@dataclass(frozen=True)
class MeasureShift:
    """What an edit does to a measure.

    Attributes:
        measure: name of the measure.
        clean: mean without the edit; of `own model`, judge minus people on answers of other models.
        edited: mean with it; of `own model`, judge minus people on answers of the judge's.
        change: mean of edited minus clean, paired by question.
        lifted: number of questions (clusters, where given) whose value rises.
        lowered: number whose value falls.
        p: p of the exact sign test, two-sided.
        p_holm: p adjusted by Holm over all edits and measures where some question differs.
        moved: whether p_holm is below 1 - level.
    """

    measure: str
    clean: BoundedMean
    edited: BoundedMean
    change: BoundedMean
    lifted: int
    lowered: int
    p: float
    p_holm: float = 1.0
    moved: bool = False


@dataclass(frozen=True)
class AnswerEdit:
    """What an edit does to a judge.

    Attributes:
        kind: name of the edit.
        about: what it is.
        answers: number of answers that were edited so.
        missing: cells of these that the judge gave no label.
        shifts: one for each measure.
    """

    kind: str
    about: str
    answers: int
    missing: int
    shifts: tuple[MeasureShift, ...]

    @property
    def moved(self) -> tuple[MeasureShift, ...]:
        """The measures that it moves."""
        return tuple(each for each in self.shifts if each.moved)


@dataclass(frozen=True, repr=False)
class AnswerStress(Result):
    """How a judge of claims takes answers that differ in what should not count.

    Attributes:
        judge: name of the judge.
        logs: names of the logs.
        level: of the intervals and the test.
        seed: of the draws.
        answers: number of answers that were edited.
        exchanged: how many of these were put to another question.
        own: how the name of a model begins that counts as the judge's own.
        edits: in the order of the page.
        usage: of the calls, of earlier runs too.
        notes: one-line remarks.
    """

    KIND: ClassVar = "answer-stress"
    # 1: first version.
    FORMAT: ClassVar = 1

    judge: str
    logs: tuple[str, ...]
    level: float
    seed: int
    answers: int
    exchanged: int
    own: str
    edits: tuple[AnswerEdit, ...]
    usage: CallUsage
    notes: tuple[str, ...]

    def __getitem__(self, kind: str) -> AnswerEdit:
        """What an edit does.

        Raises:
            KeyError: it was not tried.
        """
        return {each.kind: each for each in self.edits}[kind]
