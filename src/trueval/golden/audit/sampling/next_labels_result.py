"""The result of `trueval golden next`: what people's labels decide so far, and how many passages wait for a grade."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from trueval.evaluation.corrected_values import EstimateWithInterval
from trueval.report.result import Result

WAITING: Final = "waiting"
DECIDED: Final = "decided"
SPENT: Final = "spent"


@dataclass(frozen=True)
class PairDecision:
    """What labels say of a pair of runs.

    Attributes:
        first: name of the first run.
        second: name of the run that is subtracted.
        limit: the difference is decided when it is surely above or below, in the direction where higher is better.
        judge: difference by the judge's labels, first - second.
        corrected: difference corrected by people's labels; null before 30 of them.
        level: level of its interval, so that all pairs and looks together have the level of the decision.
        of_labels: standard error from what is not labeled.
        of_queries: standard error from the queries, which no label removes.
        batch: batch after which it was decided; the last one that counts where it is open.
        labels: number of people's labels behind it.
        verdict: "first" where the difference is above the limit, "second" where it is below, "questions" where labels
            cannot decide, "equal" where none changes the difference, which is 0, else "open".
    """

    first: str
    second: str
    limit: float
    judge: float
    corrected: EstimateWithInterval | None
    level: float | None
    of_labels: float | None
    of_queries: float | None
    batch: int
    labels: int
    verdict: str


@dataclass(frozen=True)
class LabelBatch:
    """A batch of passages.

    Attributes:
        batch: its number, from 1.
        expected: expected number of passages when it was planned.
        passages: number of passages drawn; null where it was not drawn yet.
        open: number of them without an answer.
        precision: planned weight in estimates, relative to the first.
    """

    batch: int
    expected: float
    passages: int | None
    open: int
    precision: float


@dataclass(frozen=True, repr=False)
class NextLabels(Result):
    """What people's labels decide between runs, and the passages to label next.

    Attributes:
        state: "waiting" where passages wait for a grade, "decided" where no pair is open, "spent" where the budget is.
        measure: the measure's text form.
        better: "higher" or "lower".
        decide: the decision as asked for: "a>b", "ranking" or "gate".
        target: "new queries" or "these queries".
        level: level of the decision.
        budget: expected number of labels, fixed before the first.
        labels: number of people's labels that count: of batches that are answered as a whole.
        open: number of passages that wait for a grade.
        queries: number of queries.
        reachable: number of passages that weigh in any run.
        unjudged: number of these without a grade of the judge.
        folder: folder of the audit, without its parents.
        runs: names of the runs.
        pairs: the pairs that are decided together.
        batches: all planned batches.
        policy: policy of the evaluation.
        labelers: who labeled so far: "people" where a person did, and the names of judges.
    """

    KIND: ClassVar = "next-labels"
    FORMAT: ClassVar = 1

    state: str
    measure: str
    better: str
    decide: str
    target: str
    level: float
    budget: int
    labels: int
    open: int
    queries: int
    reachable: int
    unjudged: int
    folder: str
    runs: tuple[str, ...]
    pairs: tuple[PairDecision, ...]
    batches: tuple[LabelBatch, ...]
    policy: Mapping[str, object]
    labelers: tuple[str, ...] = ()
