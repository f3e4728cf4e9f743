"""Draws from one tie group: how many documents of each kind a cut inside the group admits.

The first t of m tied documents are a random subset, so the numbers of each kind among them are multivariate
hypergeometric. A set measure depends on nothing else in the group. The number of outcomes of three kinds grows with the
cube of their documents, but given that s documents of the first two kinds are drawn together, their split is
independent of the number of the third: a sum over both sides then costs as much as the outcomes of two kinds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np

from trueval.standings.standings import Floats, Ints

# Numbers of documents are left out if their probability relative to the most likely one is at most this: far below
# rounding.
NEGLIGIBLE = 1e-20
# Numbers kept without checking their probability: a multiple of the standard deviation plus a constant; more where
# those are not enough.
SPREADS, BESIDES = 10, 24
# Draws from groups up to this size are cached, since thousands of queries share them.
MOST_KEPT = 1024


# One number for each of three kinds.
Three: TypeAlias = tuple[float, float, float]


class LikelyCounts(NamedTuple):
    """The distribution of the number of marked documents drawn, without negligible outcomes.

    Attributes:
        first: smallest number.
        chance: [number - first] probability, sums to 1.
    """

    first: int
    chance: Floats

    @property
    def end(self) -> int:
        """One more than the largest number."""
        return self.first + len(self.chance)

    @property
    def numbers(self) -> Ints:
        """The numbers of marked documents."""
        return np.arange(self.first, self.end)


class DrawOutcomes(NamedTuple):
    """Every possible outcome of a draw.

    Attributes:
        counts: [outcome, kind] number of documents drawn of each kind.
        chance: [outcome] probability, sums to 1.
    """

    counts: Floats
    chance: Floats


class Split(NamedTuple):
    """A total number of documents drawn of the first two of three kinds, and the distributions that remain given it.

    The two remaining numbers are independent of each other.

    Attributes:
        both: total number of documents of the first two kinds.
        chance: probability of that number.
        one: distribution of the number of the first kind among them.
        third: distribution of the number of documents of the third kind.
    """

    both: int
    chance: float
    one: LikelyCounts
    third: LikelyCounts


def hypergeometric(population: int, marked: int, drawn: int) -> Floats:
    """[x] probability of x = 0 .. marked marked documents among those drawn without replacement.

    Computed outward from the most likely number by the ratios of neighbors, then normalized.

    >>> hypergeometric(4, 2, 2).round(12).tolist() == [round(x / 6, 12) for x in (1, 4, 1)]
    True
    """
    least, most = max(0, drawn - (population - marked)), min(marked, drawn)
    chance = np.zeros(marked + 1)
    chance[least : most + 1] = _outward(population, marked, drawn, least, most)
    return chance


def likely(population: int, marked: int, drawn: int) -> LikelyCounts:
    """The distribution of the number of marked documents drawn without replacement, without negligible outcomes.

    >>> likely(4, 2, 2).numbers.tolist(), likely(4, 2, 4).numbers.tolist()
    ([0, 1, 2], [2])
    """
    return _likely_kept(population, marked, drawn) if population <= MOST_KEPT else _likely(population, marked, drawn)


def _likely(population: int, marked: int, drawn: int) -> LikelyCounts:
    least, most = max(0, drawn - (population - marked)), min(marked, drawn)
    mean = drawn * marked / max(population, 1)
    spread = np.sqrt(mean * (1 - marked / max(population, 1)))
    reach = int(SPREADS * spread) + BESIDES
    while True:
        low, high = max(least, int(mean) - reach), min(most, int(mean) + reach)
        chance = _outward(population, marked, drawn, low, high)
        some = np.flatnonzero(chance > NEGLIGIBLE * chance.max())
        enough = (low == least or some[0] > 0) and (high == most or some[-1] < high - low)
        if enough:
            kept = chance[some[0] : some[-1] + 1]
            kept /= kept.sum()
            kept.flags.writeable = False
            return LikelyCounts(low + int(some[0]), kept)
        reach *= 2


_likely_kept = lru_cache(maxsize=4096)(_likely)


def _outward(population: int, marked: int, drawn: int, low: int, high: int) -> Floats:
    """[x = low .. high] probabilities, which sum to 1; the most likely number must be in the range."""
    x = np.arange(low, high)
    ratios = (marked - x) * (drawn - x) / ((x + 1) * (population - marked - drawn + x + 1.0))
    # From the largest probability outward, so that products of ratios only shrink.
    mode = min(max((drawn + 1) * (marked + 1) // (population + 2), low), high) - low
    up, down = np.cumprod(ratios[mode:]), np.cumprod(1 / ratios[:mode][::-1])[::-1]
    inside = np.concatenate((down, [1.0], up))
    return np.asarray(inside / inside.sum())


def splits(sizes: tuple[int, int, int], population: int, drawn: int) -> Iterator[Split]:
    """Iterate over the total numbers of documents of the first two kinds, ascending.

    Args:
        sizes: [kind] number of documents; the rest of the population is of no kind.
        population: total number of documents, m.
        drawn: number of documents drawn, t.

    >>> [(each.both, round(each.chance, 12), each.third.numbers.tolist()) for each in splits((1, 1, 1), 3, 2)]
    [(1, 0.666666666667, [1]), (2, 0.333333333333, [0])]
    """
    one, other, third = sizes
    both = likely(population, one + other, drawn)
    for number, chance in enumerate(both.chance.tolist(), both.first):
        yield Split(
            number,
            chance,
            likely(one + other, one, number),
            likely(population - one - other, third, drawn - number),
        )


def draw(sizes: Sequence[int], population: int, drawn: int) -> DrawOutcomes:
    """Every outcome of drawing without replacement, with its probability.

    Args:
        sizes: [kind] number of documents; the rest of the population is of no kind.
        population: total number of documents, m.
        drawn: number of documents drawn, t.

    >>> outcomes = draw([1, 1], 2, 1)
    >>> outcomes.counts.tolist(), outcomes.chance.tolist()
    ([[0.0, 1.0], [1.0, 0.0]], [0.5, 0.5])
    """
    counts, chance = np.zeros((1, 0)), np.ones(1)
    left = np.array([drawn])
    for size in sizes:
        table = np.array([hypergeometric(population, size, t) for t in range(int(left.max()) + 1)])
        joint = chance[:, None] * table[left]
        number = np.arange(size + 1)
        # The remaining draws must fit into the documents of the other kinds.
        possible = (number <= left[:, None]) & (left[:, None] - number <= population - size)
        row, number = np.nonzero(possible)
        counts, chance = np.column_stack((counts[row], number)), joint[row, number]
        left, population = left[row] - number, population - size
    return DrawOutcomes(counts, chance)


class GradeKinds(NamedTuple):
    """Grades grouped by value: at most three kinds with a positive value.

    Attributes:
        values: value of each kind, descending; 0 for absent kinds.
        members: [kind, grade] 1 where the grade is of the kind, else 0.
    """

    values: Three
    members: Floats

    def documents(self, by_grade: Floats) -> Three:
        """Number of documents of each kind, from those of each grade."""
        one, two, three = (self.members @ by_grade).tolist()
        return one, two, three


def three_kinds(values: Floats) -> GradeKinds:
    """Merge grades of equal value, and leave out those of value 0.

    Args:
        values: [grade] value of a document, 0 or more; at most three distinct values above 0.

    >>> three_kinds(np.array([0.0, 0.5, 1.0, 1.0])).documents(np.array([2.0, 3.0, 4.0, 5.0]))
    (9.0, 3.0, 0.0)
    """
    one, two, three = (*sorted({*values.tolist()} - {0.0}, reverse=True), 0.0, 0.0, 0.0)[:3]
    worth = np.array([[one], [two], [three]])
    return GradeKinds((one, two, three), ((worth == values) & (worth > 0)).astype(float))


def moments(values: Floats, chance: Floats) -> tuple[float, float]:
    """Mean and standard deviation of a discrete distribution; the deviation is exactly 0 if the values are equal."""
    low, high = float(values.min()), float(values.max())
    if low == high:
        return low, 0.0
    mean = min(max(float(values @ chance), low), high)
    return mean, float(np.sqrt(((values - mean) ** 2) @ chance))


def mixture_moments(mean: Floats, variance: Floats, chance: Floats) -> tuple[float, float]:
    """Mean and variance of a mixture, from those of its components and their probabilities.

    >>> mixture_moments(np.array([0.0, 2.0]), np.array([0.0, 2.0]), np.array([0.5, 0.5]))
    (1.0, 2.0)
    """
    center = float(mean @ chance)
    return center, float((variance + (mean - center) ** 2) @ chance)
