"""Best of draws: the value of the best K documents that a cut admits, and of the run's own top documents.

The kinds of documents have values v1 >= v2 >= v3 > 0, and S_i of each surely come before the tie group. When x_i of
each kind are drawn from it, the best K of all of them have the value a + b::

    a = v1 min(S1 + x1, K) + v2 min(S2 + x2, K - min(S1 + x1, K))
    b = v3 min(S3 + x3, R),   R = max(0, K - S1 - S2 - (x1 + x2))

R is known from s = x1 + x2, and given s, x1 and x3 are independent (group_draws.py), so mean and variance of the sum
are computed over s and then separately over x1 and x3. A ratio to it needs both jointly, up to the x3 that fills R.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from trueval.measures.orders.group_draws import Split, Three, likely, mixture_moments, splits
from trueval.measures.rarity import best_counts
from trueval.standings.standings import Floats

# Maximum number of outcomes of one query for a ratio, a few seconds; above it, bounds.
MOST_OUTCOMES = 1 << 26


class CandidatePool(NamedTuple):
    """The candidates of one query, from which an ideal takes the best.

    Attributes:
        values: value of a document of each kind, descending; 0 for absent kinds.
        surely: [kind] number of documents that are candidates in every order.
        tied: [kind] number of documents in the tie group that the pool cuts.
        population: number of documents in that group, m.
        drawn: number of documents in that group that are candidates, t.
        best: number of documents the ideal takes, K.
    """

    values: Three
    surely: Three
    tied: Three
    population: int
    drawn: int
    best: int

    @property
    def sizes(self) -> tuple[int, int, int]:
        """The number of documents of each kind in the tie group."""
        one, two, three = (int(size) for size in self.tied)
        return one, two, three

    def outcomes(self) -> int:
        """Approximate maximum number of outcomes that a ratio sums over."""
        one, two, three = self.sizes
        together = likely(self.population, one + two, self.drawn)
        middle = together.first + len(together.chance) // 2
        room = max(0, int(self.best - sum(self.surely)) - together.first)
        third = likely(self.population - one - two, three, self.drawn - middle)
        columns = min(max(room - third.first, 0) + 1, len(third.chance))
        return len(together.chance) * len(likely(one + two, one, middle).chance) * columns


class RunTop(NamedTuple):
    """The top documents of the run itself.

    Attributes:
        mean: mean of their value; if the cutoff and the pool cut the same group, the value of those that are candidates
            in every order.
        variance: variance of that value.
        places: number of further documents drawn at random from the candidates in the group that the pool cuts.
    """

    mean: float
    variance: float
    places: int


class _Side(NamedTuple):
    """One side of a split: the first two kinds, or the third.

    Attributes:
        chance: [number] probability of each number of documents drawn.
        ideal: [number] value of those in the ideal.
        total: [number] value of all drawn documents; the mean where several numbers are merged.
        variance: [number] variance of that value.
        squares: [number] sum of the squared values.
    """

    chance: Floats
    ideal: Floats
    total: Floats
    variance: Floats
    squares: Floats

    def up_to_full(self) -> _Side:
        """The side with all numbers from the first that fills the ideal merged into one."""
        first = int(self.ideal.searchsorted(self.ideal[-1]))
        if first == len(self.ideal) - 1:
            return self
        chance = self.chance[first:]
        share = chance / chance.sum()
        total, variance = mixture_moments(self.total[first:], self.variance[first:], share)
        joined = (chance.sum(), self.ideal[-1], total, variance, self.squares[first:] @ share)
        return _Side(*(np.append(column[:first], value) for column, value in zip(self, joined, strict=True)))


def _first_two(pool: CandidatePool, split: Split) -> _Side:
    v1, v2, _ = pool.values
    x1 = split.one.numbers
    x2, of_first = split.both - x1, np.minimum(pool.surely[0] + x1, pool.best)
    ideal = v1 * of_first + v2 * np.minimum(pool.surely[1] + x2, pool.best - of_first)
    return _side(split.one.chance, ideal, v1 * x1 + v2 * x2, v1**2 * x1 + v2**2 * x2)


def _third(pool: CandidatePool, split: Split) -> _Side:
    v3, x3 = pool.values[2], split.third.numbers.astype(np.float64)
    room = max(0.0, pool.best - pool.surely[0] - pool.surely[1] - split.both)
    return _side(split.third.chance, v3 * np.minimum(pool.surely[2] + x3, room), v3 * x3, v3**2 * x3)


def _side(chance: Floats, ideal: Floats, total: Floats, squares: Floats) -> _Side:
    """The side with one entry per number."""
    return _Side(chance, ideal, total, np.zeros(len(chance)), squares)


# Cached, since a query recurs under many single orders, as for win probabilities, with the same candidates.
@lru_cache(maxsize=64)
def best_moments(pool: CandidatePool) -> tuple[float, float]:
    """Mean and variance of the value of the best K candidates."""
    return _less_part_of_total(pool, 0.0)


@lru_cache(maxsize=64)
def lead_variance(pool: CandidatePool, chosen: RunTop) -> float:
    """Variance of the value of the best K candidates minus that of the documents the run puts first."""
    n, t, m = chosen.places, pool.drawn, pool.population
    _, variance = _less_part_of_total(pool, n / t)
    # The remaining randomness: n of t documents, whose values vary on average as in the whole group.
    mean = float(np.dot(pool.values, pool.tied)) / m
    squares = sum((value - mean) ** 2 * size for value, size in zip(pool.values, pool.tied, strict=True))
    squares += mean**2 * (m - sum(pool.tied))
    return variance + n * (t - n) / t * squares / (m - 1) + chosen.variance


def _less_part_of_total(pool: CandidatePool, part: float) -> tuple[float, float]:
    """Mean and variance of the value of the best K candidates, minus a share of the value of all drawn documents."""
    chance, means, variances = [], [], []
    for split in splits(pool.sizes, pool.population, pool.drawn):
        first, third = _first_two(pool, split), _third(pool, split)
        mean, variance = mixture_moments(first.ideal - part * first.total, first.variance, first.chance)
        other, more = mixture_moments(third.ideal - part * third.total, third.variance, third.chance)
        chance.append(split.chance)
        means.append(mean + other)
        variances.append(variance + more)
    return mixture_moments(np.array(means), np.array(variances), np.array(chance))


@lru_cache(maxsize=64)
def share_moments(pool: CandidatePool, chosen: RunTop) -> tuple[float, float]:
    """Mean and variance of the run's top documents as a share of the best K candidates.

    The candidates must have a positive value in every order.
    """
    about = _share_on_average(pool, chosen)
    chance, means, variances = [], [], []
    for split in splits(pool.sizes, pool.population, pool.drawn):
        mean, variance = _share_apart(pool, chosen, about, _first_two(pool, split), _third(pool, split).up_to_full())
        chance.append(split.chance)
        means.append(mean)
        variances.append(variance)
    mean, variance = mixture_moments(np.array(means), np.array(variances), np.array(chance))
    return about + mean, variance


def _share_on_average(pool: CandidatePool, chosen: RunTop) -> float:
    """The share if every kind were drawn at its mean number: close to the mean share."""
    values, drawn = np.array(pool.values), np.array(pool.tied) * (pool.drawn / pool.population)
    ideal = best_counts(pool.surely + drawn, values, pool.best) @ values
    return float((chosen.mean + drawn @ values * (chosen.places / pool.drawn)) / ideal)


def _share_apart(pool: CandidatePool, chosen: RunTop, about: float, first: _Side, third: _Side) -> tuple[float, float]:
    """Mean and variance, within one split, of the difference of the share from a reference value.

    With w = 1 / (a + b) of the ideal, the difference is (A + B) w, A from one side and B from the other. So the means
    of it and of its square are products of a matrix, w or w^2, with a column for one side and a row for the other.
    """
    n, t = chosen.places, pool.drawn
    per_ideal = 1 / np.add.outer(first.ideal, third.ideal)
    a = chosen.mean + n / t * first.total - about * first.ideal
    b = n / t * third.total - about * third.ideal
    once = per_ideal @ (third.chance[:, None] * np.column_stack((np.ones(len(b)), b)))
    mean = float(first.chance @ (a * once[:, 0] + once[:, 1]))
    # Variance of n out of t documents without replacement: n (t - n) / (t - 1) times their mean square minus their
    # squared mean.
    spread = n * (t - n) / max(t - 1, 1)
    of_first = chosen.variance + spread * (first.squares / t - (first.total / t) ** 2)
    of_third = spread * (third.squares / t - (third.total**2 + third.variance) / t**2) + (n / t) ** 2 * third.variance
    columns = np.column_stack((np.ones(len(b)), b, b**2 + of_third, third.total))
    rows = np.column_stack((a**2 + of_first, 2 * a, np.ones(len(a)), -2 * spread / t**2 * first.total))
    twice = (rows * (per_ideal**2 @ (third.chance[:, None] * columns))).sum(axis=1)
    return mean, max(float(first.chance @ twice) - mean**2, 0.0)
