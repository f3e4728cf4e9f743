"""Contributions: what each judged passage adds to a measure that is a sum over passages.

    M = sum over d of w(d) g(grade of d),   w(d) the expected weight of its rank under ties

The contribution of a passage is the measure of a list in which it is the only judged one, at its own ranks and in its
own tie group: expected weights, gains and norms are the measure's own, and no formula is written twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np

from trueval.comparison.labels.both_labels import Sides
from trueval.comparison.labels.prediction_powered import rounding_tolerance
from trueval.measures import Measure
from trueval.standings.standings import Bools, Floats, Ints, Standings, sum_by

# Measures that are sums over passages, over a norm that does not depend on labels.
ADDITIVE: Final = ("P", "Hits", "DCG", "RBP", "P4+", "Harm")

# Measures that are such a sum over a norm that depends on labels, and the sum to correct instead. The norm can be
# estimated and the ratio linearized, but its bias does not shrink with more queries, while intervals do:
# tests/comparison/test_normalized_simulation.py measures that they miss far more often than their level.
NORMALIZED: Final = MappingProxyType(
    {
        "nDCG": "DCG",
        "R": "Hits",
        "F1": "P",
        "RA-nWG": "P4+",
        "nWG": "P4+",
        "N-Recall4+": "P4+",
        "N-Recall5": "P4+",
    }
)

# Bound of the rounding error in a sum of contributions.
ROUNDING: Final = 1e-9


@dataclass(frozen=True, eq=False)
class Contributions:
    """Contributions of passages to a measure, by both labels.

    Attributes:
        judge: [row of the judgments] by the judge's grade; 0 where the run does not list the passage.
        people: [row of the judgments] by people's grade, or the judge's where they gave none.
        constant: [query] value of the query independent of its labels: the worst value where the run lacks it.
        there: [query] whether the query counts.
        rounding: contributions by the judge's grades that differ by at most this are equal.
    """

    judge: Floats
    people: Floats
    constant: Floats
    there: Bools
    rounding: float = 0.0

    def less(self, other: Contributions) -> Contributions:
        """The differences from another run, on the queries that count for both.

        Args:
            other: contributions to subtract.
        """
        return Contributions(
            self.judge - other.judge,
            self.people - other.people,
            self.constant - other.constant,
            self.there & other.there,
            max(self.rounding, other.rounding),
        )


def contributions(side: Sides, measure: Measure) -> Contributions | str:
    """Compute the contribution of each judged passage to a measure of a run.

    Args:
        side: the run under both labels.
        measure: the measure as requested.

    Returns:
        The contributions, or why there are none.
    """
    if measure.name in NORMALIZED:
        return (
            "its norm depends on people's grades of all judged passages of a query; estimated from some of them, "
            "intervals miss too often, with 10 or with 40 labels a query (docs/audit.md). Draw whole queries (design "
            f"queries), or correct {NORMALIZED[measure.name]}, a sum over passages"
        )
    if measure.name not in ADDITIVE:
        return (
            "single passages do not tell it: it is not a sum over passages whose norm is the same under all labels, as "
            "P, Hits, DCG and RBP are. Draw whole queries (design queries)"
        )
    policy = side.labels.policy.of(measure.innermost.name)
    if measure.definition.empty != "na" and policy.empty != "zero":
        return (
            f"empty={policy.empty!r} asks which queries have a relevant passage, and single passages do not tell that. "
            "Choose empty='zero', or draw whole queries (design queries)"
        )
    both = side.values(measure)
    settled, rows, queries = measure.under(policy), len(side.labels.judge.frame), len(both.there)
    found = [alone(count(policy), settled, rows) for count in (side.judge, side.people)]
    constant = np.where(side.absent, both.judge, 0.0)
    owner = side.labels.owner
    for added, values in zip(found, (both.judge, both.people), strict=True):
        gap = np.abs(sum_by(owner, added, queries) + constant - values)[both.there]
        if not (gap <= ROUNDING * (1 + np.abs(values[both.there]))).all():
            return "with these parameters it is not a sum over passages. Draw whole queries (design queries)"
    return Contributions(found[0], found[1], np.nan_to_num(constant), both.there, rounding_tolerance(found[0]))


def alone(standings: Standings, measure: Measure, rows: int) -> Floats:
    """[row of the judgments] the measure of a list in which this passage is the only judged one.

    Args:
        standings: standings of a run.
        measure: the measure with all parameters resolved by the policy.
        rows: rows of the judgments.
    """
    found = np.zeros(rows)
    if len(standings.query):
        found[standings.item] = measure.evaluate(single_lists(standings)).expected
    return found


def single_lists(standings: Standings) -> Standings:
    """Standings of as many lists as there are rows: in each, this passage is the only judged one.

    Args:
        standings: standings of a run.
    """
    number = np.arange(len(standings.query))
    place: Ints = np.zeros(int(standings.pool_item.max(initial=-1)) + 1, dtype=np.int64)
    place[standings.pool_item] = np.arange(len(standings.pool_item))
    return standings.select(
        number,
        place[standings.item],
        standings.query,
        query=number,
        pool_query=number,
        judged=np.ones(len(number), dtype=np.int64),
        ahead=np.maximum(standings.ahead, 0),  # no tie order is considered
    )
