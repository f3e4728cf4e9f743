"""The difference of two runs as a sum over passages, and its verdict for every judge inside the bounds of an audit."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from trueval.comparison.judges.error_bounds import AuditCounts, classes_by_system
from trueval.comparison.judges.judge_result import DEPENDS, EQUAL, ROBUST, BoundedVerdict
from trueval.comparison.judges.worst_labels import ErrorBounds, labels_to_turn, worst_difference
from trueval.comparison.labels.both_labels import Sides
from trueval.comparison.labels.contributions import ADDITIVE, NORMALIZED, contributions
from trueval.comparison.labels.gain_weights import ROUNDING, GainWeights, weigh_gains
from trueval.comparison.verdict import NO_DIFFERENCE
from trueval.measures import Measure
from trueval.standings.standings import Floats, Ints


def gain_weights(side: Sides, measure: Measure, grades: Floats) -> GainWeights | str:
    """The worth of passages to a run; or why the measure has none.

    Args:
        side: the run under both labels.
        measure: a sum over passages.
        grades: [grade] the scale, ascending.
    """
    if measure.name in NORMALIZED:
        return f"its norm depends on the labels too, so that it is no sum over them; take {NORMALIZED[measure.name]}"
    if measure.name not in ADDITIVE:
        return f"it is no sum over passages; take one of {', '.join(ADDITIVE)}, nDCG, R"
    added = contributions(side, measure)
    return added if isinstance(added, str) else weigh_gains(side, measure, grades, added, unjudged=False)


class PairBounds(NamedTuple):
    """The difference of two runs as a sum over passages, in the direction of the leading run.

    Attributes:
        measure: the measure.
        weights: [row] a_d, expected over tie orders; of the leading run less the other.
        least: [row] a_d at the worst orders of ties.
        gains: [grade] gains.
        own: [row] gain of the judge's grade.
        classes: [row] index of the judge's grade; below 0 where it gave none.
        constant: part of the difference that does not depend on labels.
        difference: first - second by the judge's labels.
        direction: 1 where this is the difference of the sum, -1 where it is of the other sign.
    """

    measure: Measure
    weights: Floats
    least: Floats
    gains: Floats
    own: Floats
    classes: Ints
    constant: float
    difference: float
    direction: float

    @classmethod
    def of(cls, measure: Measure, first: GainWeights, second: GainWeights, classes: Ints) -> PairBounds:
        """The pair, with the run in the lead first."""
        there = first.there & second.there
        number = max(int(there.sum()), 1)
        counted = there[first.owner] & (classes >= 0)
        gains = first.gains if np.abs(first.gains).any() else second.gains
        own = np.where(classes >= 0, gains[classes], 0.0)
        constant = float((first.constant - second.constant)[there].sum()) / number
        apart = np.where(counted, first.expected - second.expected, 0.0) / number
        difference = float(apart @ own) + constant
        direction = -1.0 if difference < 0 else 1.0
        lead, other = (first, second) if direction > 0 else (second, first)
        least = np.where(counted, lead.lowest - other.highest, 0.0) / number
        return cls(measure, direction * apart, least, gains, own, classes, direction * constant, difference, direction)

    def by_system(self) -> Ints:
        """[row] classes by grade and by the run that a passage favors, or none."""
        return classes_by_system(self.weights, self.classes)

    def verdict(
        self, first: str, second: str, classes: Ints, bounds: ErrorBounds, counts: AuditCounts
    ) -> BoundedVerdict:
        """Whether the leading run leads for all label tables inside the bounds.

        Args:
            first: name of the first run.
            second: name of the second run.
            classes: [row] index of its class; below 0 for rows of no class.
            bounds: how many passages of each class have each grade.
            counts: people's labels, which every table keeps.
        """
        open_bounds = counts.open_bounds(bounds, classes)
        classes, said = classes.copy(), self.gains[counts.grade]
        classes[counts.rows] = -1

        def worst_of(weights: Floats) -> float:
            return worst_difference(weights, classes, self.gains, open_bounds) + float(weights[counts.rows] @ said)

        worst = worst_of(self.weights) + self.constant
        best = self.constant - worst_of(-self.weights)
        with_ties = worst
        if (self.least < self.weights - ROUNDING * np.abs(self.weights)).any():
            # Gains below 0 would ask for the greatest weights.
            with_ties = worst_of(self.least) + self.constant if (self.gains >= 0).all() else math.nan
        judged, margin = self.classes >= 0, abs(self.difference)
        verdict = EQUAL if margin <= NO_DIFFERENCE else ROBUST if worst > NO_DIFFERENCE else DEPENDS
        turning = None
        if verdict != EQUAL:
            turning = labels_to_turn(self.weights[judged], self.own[judged], self.gains, margin)
        low, high = sorted((self.direction * worst, self.direction * best))
        return BoundedVerdict(
            str(self.measure),
            first,
            second,
            self.difference,
            low,
            high,
            self.direction * with_ties,
            turning,
            int(judged.sum()),
            verdict,
        )
