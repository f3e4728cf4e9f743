"""Replays of `trueval golden next` over labels that are all known: batch by batch, until every contrast is decided."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trueval.comparison.labels.audit_batches import AuditBatches
from trueval.comparison.labels.audit_sample import AuditSample
from trueval.comparison.labels.both_labels import LabelSets
from trueval.comparison.labels.gain_weights import scale_of
from trueval.comparison.labels.label_choice import batch_chances
from trueval.comparison.labels.label_decision import OPEN, Contrast, ContrastState, LabelDecision
from trueval.comparison.labels.poisson_design import BatchLabels
from trueval.judgments import Judgments
from trueval.measures import parse
from trueval.policy.policy import OURS
from trueval.run import Run

NOTHING = pl.DataFrame(schema={"query_id": pl.String, "doc_id": pl.String, "chance": pl.Float64, "batch": pl.Int64})


class Outcome(NamedTuple):
    """What a replay ends with.

    Attributes:
        states: of the contrasts, at the end.
        labels: how many passages people graded.
        reachable: how many weigh in any run.
    """

    states: tuple[ContrastState, ...]
    labels: int
    reachable: int

    @property
    def share(self) -> float:
        return self.labels / self.reachable


def decision_of(
    runs: Sequence[Run], judge: Judgments, scale: tuple[float, float], measure: str, target: str, level: float = 0.95
) -> LabelDecision:
    """A decision before its first label; every passage of the judgments can be drawn."""
    members = judge.frame.select("query_id", "doc_id")
    batches = AuditBatches(NOTHING, (1.0,), members, 0)
    nobody = AuditSample(
        "poisson",
        members.head(0).with_columns(stratum=pl.lit("passages")),
        members.head(0).with_columns(grade=pl.lit(0.0)),
        {"passages": len(members)},
        scale,
        batches=batches,
    )
    return LabelDecision.of(runs, LabelSets(judge, nobody, OURS), parse(measure), target, level)


def replay(
    decision: LabelDecision,
    contrasts: Sequence[Contrast],
    people: NDArray[np.float64],
    rng: np.random.Generator,
    *,
    batches: int = 10,
    budget: float | None = None,
    sizes: NDArray[np.float64] | None = None,
    stops: bool = True,
) -> Outcome:
    """Label batch by batch.

    Args:
        decision: runs, measure and judge.
        contrasts: to be decided.
        people: [row of the judgments] people's grade.
        rng: of the draws.
        batches: planned number of batches.
        budget: expected number of labels; all that weigh by default.
        sizes: [row] fixed sizes to which chances are proportional, in place of the decision's own choice.
        stops: whether to stop when nothing is open; else all batches are drawn.
    """
    judge, scale = decision.labels.judge.frame["grade"].to_numpy(), scale_of(decision.labels)
    classes = np.where(judge < 0, len(scale), np.searchsorted(scale, judge)).astype(np.int64)
    grade = np.searchsorted(scale, people)
    reached = decision.members()
    total = float(reached.sum()) if budget is None else budget
    expected = [total / batches] * batches
    precision = tuple(decision.precision(contrasts, expected).tolist())
    plan = AuditBatches(NOTHING, precision, decision.labels.judge.frame.filter(pl.Series(reached)), 0)
    none = np.zeros(0, dtype=np.int64)
    known = BatchLabels(plan, 0, reached, classes, none, none, np.zeros(0), none)
    states: tuple[ContrastState, ...] = ()
    open_contrasts, left = list(contrasts), reached.copy()
    for batch in range(batches):
        size = (total - len(known.rows)) / (batches - batch)
        if sizes is None:
            chances = decision.chances(open_contrasts, known, left, size)
        else:
            chances = batch_chances(np.where(left, sizes, 0.0), size)
        new = np.flatnonzero(rng.random(len(left)) < chances)
        left[new] = False
        known = BatchLabels(
            plan,
            batch + 1,
            reached,
            classes,
            np.concatenate((known.rows, new)),
            np.concatenate((known.batch, np.full(len(new), batch))),
            np.concatenate((known.chance, chances[new])),
            np.concatenate((known.grade, grade[new])),
        )
        states = decision.follow(contrasts, known)
        open_contrasts = [contrast for contrast, state in zip(contrasts, states, strict=True) if state.verdict == OPEN]
        if stops and not open_contrasts:
            break
        open_contrasts = open_contrasts or list(contrasts)
    return Outcome(states, len(known.rows), int(reached.sum()))
