"""Consistency: where a judge contradicts itself or its own grades, and which documents it cannot separate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from trueval.golden.refine.judge_orders import OrderBatch
from trueval.golden.refine.posterior import Posterior
from trueval.standings.standings import Floats, Ints

# Neighbors whose order is less certain than this share a band.
SURE: Final = 0.75
# An inversion of grades is regraded where its probability under the orders is at least this.
SURE_INVERSION: Final = 0.9


@dataclass(frozen=True)
class Inconsistency:
    """Counts of contradictory orders.

    Attributes:
        pairs: number of document pairs judged together at least once.
        repeated: number of pairs judged at least twice.
        both_ways: number of repeated pairs judged in both orders.
        disagreement: probability that two judgments of one pair differ, over all repeated pairs; None without any.
        triads: number of triples of documents in which every pair has a majority winner.
        cycles: number of triads with a above b above c above a.
    """

    pairs: int
    repeated: int
    both_ways: int
    disagreement: float | None
    triads: int
    cycles: int

    def to_dict(self) -> dict[str, object]:
        """The entry of a refinement's JSON."""
        return dict(vars(self))


def inconsistency(orders: OrderBatch) -> Inconsistency:
    """Count contradictions. None is dropped: the likelihood treats them as data.

    The disagreement of a pair judged n times, w of them one way: 2w(n−w)/(n(n−1)), weighted by its n(n−1)/2 pairs of
    judgments. The cycles among T triads: T minus those in which one document beats both others (Kendall and
    Smith 1940).

    >>> from trueval.golden.refine.judge_orders import JudgeOrder
    >>> orders = OrderBatch.of([JudgeOrder(pair, pair) for pair in ((0, 1), (1, 2), (2, 0), (0, 2), (2, 0))], 3)
    >>> found = inconsistency(orders)
    >>> found.both_ways, found.cycles, round(found.disagreement, 3)
    (1, 1, 0.667)
    """
    wins = orders.wins()
    upper = np.triu_indices(orders.pool, 1)
    first, second = wins[upper], wins.T[upper]
    times = first + second
    compared = int((times * (times - 1) // 2).sum())
    beats = (wins > wins.T).astype(np.int64)
    settled = beats + beats.T
    # A triad with three majority winners is acyclic if and only if one document beats both others, and then exactly one
    # does.
    triads = int((settled @ settled * settled).sum()) // 6
    transitive = int(((beats @ settled * beats).sum(axis=1)).sum()) // 2
    return Inconsistency(
        pairs=int((times > 0).sum()),
        repeated=int((times > 1).sum()),
        both_ways=int(((first > 0) & (second > 0)).sum()),
        disagreement=float((first * second).sum() / compared) if compared else None,
        triads=triads,
        cycles=triads - transitive,
    )


class Inversion(NamedTuple):
    """Two documents that orders and grades rank in opposite directions.

    Attributes:
        above: document with the higher score and the lower grade.
        below: document with the lower score and the higher grade.
        chance: probability that their scores are in this order.
        grades: difference of their grades.
    """

    above: int
    below: int
    chance: float
    grades: float


def inversions(posterior: Posterior, grades: Floats, sure: float = SURE_INVERSION) -> tuple[Inversion, ...]:
    """Pairs whose order contradicts their grades, for regrading: the widest first, then the most certain.

    Args:
        grades: [document] grades.
        sure: minimum probability of the order.

    >>> found = Posterior(np.array([[0.0, 4.0], [1.0, 5.0]]), np.zeros((2, 0)))
    >>> inversions(found, np.array([5.0, 3.0]))[0][:2]
    (1, 0)
    """
    above = posterior.above()
    steps = grades - grades[:, None]  # [i, j] grade of j minus grade of i
    firsts, seconds = np.nonzero((steps > 0) & (above >= sure))
    found = [
        Inversion(int(i), int(j), float(above[i, j]), float(steps[i, j])) for i, j in zip(firsts, seconds, strict=True)
    ]
    return tuple(sorted(found, key=lambda each: (-each.grades, -each.chance, each.above, each.below)))


def bands(posterior: Posterior, ranking: Ints, sure: float = SURE) -> Ints:
    """The tie band of each rank: adjacent documents whose order is less certain than requested share a band.

    Args:
        ranking: [rank] documents.
        sure: probability above 1/2 at which an order counts as known.

    Returns:
        [rank] index of the band, from 0. The ends of a long band may be distinguishable, though adjacent documents are
        not.

    >>> found = Posterior(np.array([[9.0, 5.0, 4.9, 1.0], [8.0, 4.9, 5.0, 2.0]]), np.zeros((2, 0)))
    >>> bands(found, found.ranking()).tolist()
    [0, 1, 1, 2]
    """
    above = posterior.above()
    apart = above[ranking[:-1], ranking[1:]] >= sure
    return np.concatenate([[0], np.cumsum(apart)]).astype(np.int64)
