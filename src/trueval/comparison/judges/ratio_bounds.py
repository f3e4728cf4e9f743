"""The difference of two runs in nDCG or recall, and its verdict for every judge inside the bounds of an audit."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np

from trueval.comparison.judges.error_bounds import AuditCounts, classes_by_system
from trueval.comparison.judges.judge_result import DEPENDS, EQUAL, ROBUST, UNDECIDED, BoundedVerdict
from trueval.comparison.judges.pair_bounds import gain_weights
from trueval.comparison.judges.worst_labels import ErrorBounds
from trueval.comparison.judges.worst_ratios import NormIntervals, RatioSums, worst_ratio
from trueval.comparison.labels.both_labels import Sides
from trueval.comparison.labels.gain_weights import ROUNDING, GainWeights
from trueval.comparison.verdict import NO_DIFFERENCE
from trueval.measures import Measure, parse
from trueval.measures.parameters import gains_of
from trueval.standings.input_rules import whole_grades
from trueval.standings.standings import Floats, Ints

# Measures that are bounded, and the sum over passages that their norm divides.
SUMS: Final[Mapping[str, str]] = MappingProxyType({"nDCG": "DCG", "R": "Hits"})

# Steps for ends that decide no verdict.
FEW_STEPS: Final = 6


class RatioWeights(NamedTuple):
    """What passages are worth to a run, and the norm of a query.

    Attributes:
        sums: weights of the sum over passages.
        ranks: [rank] weights of the norm, for gains of which the greatest is 1.
    """

    sums: GainWeights
    ranks: Floats


def ratio_weights(side: Sides, measure: Measure, grades: Floats) -> RatioWeights | str:
    """The worth of passages to a run before its values are divided by their norm; or why there is none.

    Args:
        side: the run under both labels.
        measure: nDCG or recall.
        grades: the scale.
    """
    policy = side.labels.policy.of(measure.name)
    settled = measure.under(policy)
    if settled["base"] == "list":
        return "base='list' makes its norm one of the list, which other labels change in other ways"
    if policy.empty != "zero":
        return f"empty={policy.empty!r} makes labels decide which queries count. Choose empty='zero'"
    key = "gain" if measure.name == "nDCG" else "rel"
    sum_over_passages = parse(SUMS[measure.name])(**{key: settled[key]})
    if measure.cutoff is not None:
        sum_over_passages = sum_over_passages @ measure.cutoff
    found = gain_weights(side, sum_over_passages, grades)
    if isinstance(found, str):
        return found
    if (found.gains < 0).any():
        return "gains below 0 have no best order"
    most = int(np.bincount(found.owner).max(initial=1))
    length = most if measure.cutoff is None else min(most, measure.cutoff)
    ranks = np.ones(most)
    if measure.name == "nDCG":
        top = float(gains_of(whole_grades(grades, policy.float_grades, side.labels.judge.source), settled).max())
        ranks = top / np.log2(np.arange(2, length + 2))
    # The formula of this room must give what the measure gives.
    grade = side.labels.judge.frame["grade"].to_numpy()
    judged = grade >= 0
    place = np.searchsorted(grades, grade[judged])
    sums = RatioSums(
        found.expected[judged], found.expected[judged], found.owner[judged], place, place, found.gains, ranks
    )
    values = side.values(measure).judge
    if not np.allclose(np.nan_to_num(values)[found.there], sums.values(place, len(values))[found.there], atol=ROUNDING):
        return "with these parameters it is no sum over passages divided by the sum of the best order"
    return RatioWeights(found, ranks)


class RatioBounds(NamedTuple):
    """The difference of two runs as a sum of quotients, in the direction of the leading run.

    Attributes:
        measure: the measure.
        lead: weights of the leading run.
        other: weights of the other run.
        grade: [row] index of the judge's grade; below 0 where it gave none.
        number: number of queries that count.
        difference: first - second by the judge's labels.
        direction: 1 where the first run leads, -1 where the second does.
    """

    measure: Measure
    lead: RatioWeights
    other: RatioWeights
    grade: Ints
    number: int
    difference: float
    direction: float

    @classmethod
    def of(cls, measure: Measure, first: RatioWeights, second: RatioWeights, grade: Ints) -> RatioBounds:
        """The pair, with the run in the lead first, by the judge's labels."""
        number = max(int((first.sums.there & second.sums.there).sum()), 1)
        pair = cls(measure, first, second, grade, number, 0.0, 1.0)
        difference = pair._quotients(first.sums.expected, second.sums.expected, grade, grade).difference(
            grade[pair._rows()]
        )
        lead, other = (first, second) if difference >= 0 else (second, first)
        return cls(measure, lead, other, grade, number, difference / number, -1.0 if difference < 0 else 1.0)

    def by_system(self) -> Ints:
        """[row] classes by grade and by the run that a passage favors, or none."""
        return classes_by_system(self.lead.sums.expected - self.other.sums.expected, self.grade)

    def verdict(
        self, first: str, second: str, classes: Ints, bounds: ErrorBounds, counts: AuditCounts
    ) -> BoundedVerdict:
        """Whether the leading run leads for all label tables inside the bounds, as far as bounds on quotients tell.

        Args:
            first: name of the first run.
            second: name of the second run.
            classes: [row] index of its class; below 0 for rows of no class.
            bounds: how many passages of each class have each grade.
            counts: people's labels, which every table keeps.
        """
        counted, open_bounds = self._rows(), counts.open_bounds(bounds, classes)
        audited = counted[counts.rows]
        # Errors may all be in queries that do not count, or in those that do.
        outside = np.bincount(classes[~counted & (classes >= 0)], minlength=len(bounds.least))
        known = np.bincount(classes[counts.rows[~audited]], minlength=len(bounds.least))
        left = (outside - known)[:, None]
        free = np.bincount(classes[counted & (classes >= 0)], minlength=len(bounds.least))
        free = free - np.bincount(classes[counts.rows[audited]], minlength=len(bounds.least))
        open_bounds = open_bounds._replace(
            least=np.maximum(open_bounds.least - left, 0), most=np.minimum(open_bounds.most, free[:, None])
        )
        grade, classes = self.grade.copy(), classes.copy()
        grade[counts.rows], classes[counts.rows] = counts.grade, -1
        lead, other = self.lead.sums, self.other.sums
        sums = self._quotients(lead.expected, other.expected, grade, classes)
        intervals = NormIntervals.of(sums) if sums.gains.any() else None
        worst = worst_ratio(sums, open_bounds, intervals=intervals)
        turned = sums._replace(weights=-sums.weights, lead=sums.lead - sums.weights)
        best = -worst_ratio(turned, open_bounds, FEW_STEPS, intervals).low / self.number
        with_ties = worst.low
        least = self._quotients(lead.lowest, other.highest, grade, classes)
        if (least.weights < sums.weights - ROUNDING * np.abs(sums.weights)).any():
            with_ties = worst_ratio(least, open_bounds, FEW_STEPS, intervals).low
        low, reached = worst.low / self.number, worst.reached / self.number
        verdict = ROBUST if low > NO_DIFFERENCE else DEPENDS if reached <= NO_DIFFERENCE else UNDECIDED
        if abs(self.difference) <= NO_DIFFERENCE:
            verdict = EQUAL
        begin, end = sorted((self.direction * low + 0.0, self.direction * best + 0.0))  # + 0: no minus zero
        with_ties = self.direction * min(with_ties, worst.low) / self.number
        judged = int((self.grade >= 0).sum())
        return BoundedVerdict(
            str(self.measure), first, second, self.difference, begin, end, with_ties, None, judged, verdict
        )

    def _rows(self) -> np.ndarray:
        """[row] whether a passage has a grade by the judge, in a query that counts for both runs."""
        there = self.lead.sums.there & self.other.sums.there
        return np.asarray(there[self.lead.sums.owner] & (self.grade >= 0))

    def _quotients(self, lead: Floats, other: Floats, grade: Ints, classes: Ints) -> RatioSums:
        counted = self._rows()
        _, query = np.unique(self.lead.sums.owner[counted], return_inverse=True)
        gains = self.lead.sums.gains if self.lead.sums.gains.any() else self.other.sums.gains
        ranks = self.lead.ranks
        return RatioSums((lead - other)[counted], lead[counted], query, grade[counted], classes[counted], gains, ranks)
