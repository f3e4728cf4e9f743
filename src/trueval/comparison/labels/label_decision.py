"""Label decisions: what people's labels decide between runs, after each batch of passages, and which to label next.

A contrast is the difference of two runs, and on which side of a limit it lies: 0 for "a > b" and for neighbors of a
ranking, minus the allowed drop for a gate. It is decided at the first batch after which the interval of the difference
excludes the limit, at a level that holds over all contrasts (Bonferroni) and all batches (repeated_looks.py) together.

Labels cannot decide where the queries alone leave too much open: as far as labels may still move the difference, it is
nearer to the limit than the interval of new queries would reach if everything were labeled.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from trueval.comparison.labels.both_labels import LabelSets, Sides
from trueval.comparison.labels.contributions import contributions
from trueval.comparison.labels.gain_weights import GainWeights, scale_of, weigh_gains
from trueval.comparison.labels.label_choice import (
    batch_chances,
    batch_precision,
    grade_posterior,
    passage_sizes,
    spread_of_gains,
)
from trueval.comparison.labels.poisson_design import BatchEstimate, BatchLabels, mean_estimate
from trueval.comparison.labels.repeated_looks import look_levels
from trueval.comparison.verdict import NO_DIFFERENCE
from trueval.errors import PolicyError, nearest
from trueval.evaluation.corrected_values import EstimateWithInterval
from trueval.measures import Measure
from trueval.run import Run
from trueval.standings.standings import Bools, Floats, sum_by

FIRST: Final = "first"
SECOND: Final = "second"
OPEN: Final = "open"
QUESTIONS: Final = "questions"
EQUAL: Final = "equal"

RANKING, GATE = "ranking", "gate"

# Minimum number of labels before anything is decided: the variance of fewer is not known.
FEWEST_LABELS: Final = 30


class Contrast(NamedTuple):
    """A difference of two runs that labels are to decide.

    Attributes:
        first: name of the first run.
        second: name of the run that is subtracted.
        limit: the difference, first - second where higher is better, is decided when it is surely above or below.
    """

    first: str
    second: str
    limit: float = 0.0


@dataclass(frozen=True)
class ContrastState:
    """What labels say of a contrast.

    Attributes:
        first: name of the first run.
        second: name of the run that is subtracted.
        limit: limit of the difference.
        judge: difference by the judge's labels, first - second.
        corrected: difference corrected by people's labels; None before there are enough.
        level: level of its interval, of which all contrasts and batches together have the level of the decision.
        of_labels: standard error from what is not labeled.
        of_queries: standard error from the queries, which no label removes.
        batch: batch after which it was decided; the last one where it is open.
        verdict: "first" where the difference is above the limit, "second" where it is below, "questions" where labels
            cannot decide, "equal" where none changes the difference, which is 0 as the limit, else "open".
    """

    first: str
    second: str
    limit: float
    judge: float
    corrected: EstimateWithInterval | None
    level: float
    of_labels: float
    of_queries: float
    batch: int
    verdict: str


def read_contrasts(
    decide: str, judge: Mapping[str, float], *, baseline: str | None = None, max_drop: float | None = None
) -> tuple[Contrast, ...]:
    """The contrasts of a decision.

    Args:
        decide: "a>b", "ranking" (each run and the next by the judge's labels), or "gate" (each run and the baseline).
        judge: run → mean by the judge's labels, negated where lower is better.
        baseline: name of the baseline of a gate.
        max_drop: how much worse than the baseline a run may be.

    Raises:
        PolicyError: the decision is none of these, names a run that is not there, or lacks a baseline.

    >>> read_contrasts("ranking", {"a": 0.1, "b": 0.3})
    (Contrast(first='b', second='a', limit=0.0),)
    """
    names = list(judge)
    if decide != GATE and (baseline is not None or max_drop is not None):
        raise PolicyError(f"A baseline and a largest drop belong to the decision {GATE!r}. Got {decide!r}.")
    if decide == RANKING:
        order = sorted(names, key=lambda name: (-judge[name], name))
        return tuple(Contrast(first, second) for first, second in pairwise(order))
    if decide == GATE:
        if baseline not in names:
            raise PolicyError(f"A gate needs a baseline, one of {', '.join(names)}. Got {baseline!r}.")
        if not 0 <= (max_drop or 0.0) < math.inf:
            raise PolicyError(f"The largest drop must be 0 or more, such as 0.01. Got {max_drop!r}.")
        return tuple(Contrast(name, str(baseline), -(max_drop or 0.0)) for name in names if name != baseline)
    first, sign, second = (part.strip() for part in decide.partition(">"))
    for name in (first, second) if sign else ():
        if name not in names:
            raise PolicyError(f"{name!r} is not one of the runs {', '.join(names)}.{nearest(name, names)}")
    if not sign or first == second:
        raise PolicyError(f"A decision must be 'a>b' with the names of two runs, ranking, or gate. Got {decide!r}.")
    return (Contrast(first, second),)


@dataclass(frozen=True, eq=False)
class LabelDecision:
    """A decision between runs by one measure.

    Attributes:
        labels: labels of judge and people; every passage that a run lists is in the judge's.
        measure: the measure.
        weights: run → what passages are worth to it.
        judge: run → contributions by the judge's grades, summed over queries that count.
        target: target of the intervals.
        level: level of the decision.
    """

    labels: LabelSets
    measure: Measure
    weights: Mapping[str, GainWeights]
    judge: Mapping[str, Floats]
    target: str
    level: float

    @classmethod
    def of(cls, runs: Sequence[Run], labels: LabelSets, measure: Measure, target: str, level: float) -> LabelDecision:
        """Count what passages are worth to each run.

        Args:
            runs: two or more, with different names.
            labels: labels of judge and people; every passage that a run lists is in the judge's.
            measure: a sum over passages.
            target: one of TARGETS.
            level: level of the decision.

        Raises:
            PolicyError: the measure is no sum over passages.
        """
        weights, judge = {}, {}
        for run in runs:
            side = Sides.of(run, labels)
            added = contributions(side, measure)
            found = added if isinstance(added, str) else weigh_gains(side, measure, scale_of(labels), added)
            if isinstance(found, str) or isinstance(added, str):
                raise PolicyError(f"{measure}: {found}.")
            weights[run.name] = found
            judge[run.name] = sum_by(labels.owner, added.judge, len(added.there)) + added.constant
        return cls(labels, measure, weights, judge, target, level)

    @property
    def sign(self) -> float:
        """1 where higher values are better, -1 where lower are."""
        return 1.0 if self.measure.better == "higher" else -1.0

    def judge_means(self) -> dict[str, float]:
        """Run → mean by the judge's labels, negated where lower is better."""
        there = np.all([each.there for each in self.weights.values()], axis=0)
        return {name: self.sign * float(values[there].mean()) for name, values in self.judge.items()}

    @cached_property
    def worth(self) -> Floats:
        """[run, row] what passages are worth."""
        return np.array([np.where(each.there[each.owner], each.expected, 0.0) for each in self.weights.values()])

    @cached_property
    def gains(self) -> Floats:
        """[grade] gains of the scale."""
        return next((each.gains for each in self.weights.values() if each.gains.any()), np.zeros(1))

    def members(self) -> Bools:
        """[row of the judgments] whether the passage weighs in any run."""
        return np.asarray((self.worth != 0).any(axis=0))

    def follow(self, contrasts: Sequence[Contrast], known: BatchLabels) -> tuple[ContrastState, ...]:
        """The state of each contrast after the batches that are answered as a whole.

        Args:
            contrasts: contrasts that are decided together.
            known: labels and chances.
        """
        planned = len(known.batches.precision)
        alpha = (1 - self.level) / max(len(contrasts), 1)
        return tuple(self._state(contrast, known, planned, alpha) for contrast in contrasts)

    def _state(self, contrast: Contrast, known: BatchLabels, planned: int, alpha: float) -> ContrastState:
        worth = self.weights[contrast.first].less(self.weights[contrast.second])
        there = worth.there
        judge = float((self.judge[contrast.first] - self.judge[contrast.second])[there].mean())
        about = (contrast.first, contrast.second, contrast.limit, judge)
        if self.is_equal(contrast):
            same = EstimateWithInterval(0.0, 0.0, 0.0, 0.0, math.nan)
            return ContrastState(*about, same, 1 - alpha, 0.0, 0.0, 0, EQUAL if not contrast.limit else FIRST)
        state = ContrastState(*about, None, math.nan, math.nan, math.nan, 0, OPEN)
        variances: list[float] = []
        shares: list[float] = []
        span = self.measure.span.of_differences
        for look in range(1, known.number + 1):
            sample = known.sample(worth, look)
            if len(sample.gains) < FEWEST_LABELS:
                continue
            found = mean_estimate(sample, sample.prediction, self.target)
            variances.append(found.variance)
            shares.append(look / planned)
            level = look_levels(variances, shares, alpha)[-1]
            corrected = found.with_interval(level, span)
            verdict = self._verdict(contrast, found, corrected, alpha)
            errors = math.sqrt(found.of_labels), math.sqrt(found.of_queries)
            state = ContrastState(*about, corrected, level, *errors, look, verdict)
            if verdict in (FIRST, SECOND):
                break
        return state

    def is_equal(self, contrast: Contrast) -> bool:
        """Whether no labels make a difference between the two runs, as their lists differ only where nothing counts."""
        worth = self.weights[contrast.first].less(self.weights[contrast.second])
        counts = worth.there[worth.owner]
        none = np.abs(worth.expected[counts]).max(initial=0.0) <= NO_DIFFERENCE
        return bool(none and np.abs(worth.constant[worth.there]).max(initial=0.0) <= NO_DIFFERENCE)

    def _verdict(self, contrast: Contrast, found: BatchEstimate, corrected: EstimateWithInterval, alpha: float) -> str:
        from scipy.special import stdtrit

        ends = sorted((self.sign * corrected.low, self.sign * corrected.high))
        if ends[0] > contrast.limit:
            return FIRST
        if ends[1] < contrast.limit:
            return SECOND
        factor = float(stdtrit(found.degrees, 1 - alpha / 2))
        apart = abs(self.sign * found.mean - contrast.limit)
        all_labels = factor * math.sqrt(found.of_queries)
        return QUESTIONS if apart + factor * math.sqrt(found.of_labels) < all_labels else OPEN

    def gain_spread(self, known: BatchLabels | None) -> Floats:
        """[row of the judgments] standard deviation of the gain of people's grade.

        Args:
            known: labels so far; None before the first.
        """
        scale, given = scale_of(self.labels), self.labels.judge.frame["grade"].to_numpy()
        number = len(scale)
        classes = np.where(given < 0, number, np.searchsorted(scale, given)).astype(np.int64)
        none = np.zeros(0, dtype=np.int64)
        said = (none, none) if known is None else (classes[known.rows], known.grade)
        posterior = grade_posterior(*said, [*range(number), 0], number)
        return spread_of_gains(posterior, self.gains)[classes]

    def chances(self, contrasts: Sequence[Contrast], known: BatchLabels | None, left: Bools, expected: float) -> Floats:
        """[row of the judgments] chances of the next batch.

        Args:
            contrasts: contrasts that are open.
            known: labels so far; None before the first.
            left: [row of the judgments] whether the passage can be drawn and was not.
            expected: expected number of passages.
        """
        sizes = passage_sizes(self.worth, self._places(contrasts), self.gain_spread(known))
        return batch_chances(np.where(left, sizes, 0.0), expected)

    def precision(self, contrasts: Sequence[Contrast], batches: Sequence[float]) -> Floats:
        """[batch] weights of the batches in estimates, before the first label.

        Args:
            contrasts: all contrasts.
            batches: [batch] expected numbers of passages.
        """
        pairs, spread = self._places(contrasts), self.gain_spread(None)
        squares = sum(((self.worth[first] - self.worth[second]) ** 2 for first, second in pairs), np.zeros(len(spread)))
        some = self.members()
        sizes = passage_sizes(self.worth, pairs, spread)
        return batch_precision(sizes[some], (spread * np.sqrt(squares))[some], batches)

    def _places(self, contrasts: Sequence[Contrast]) -> list[tuple[int, int]]:
        names = list(self.weights)
        return [(names.index(contrast.first), names.index(contrast.second)) for contrast in contrasts]
