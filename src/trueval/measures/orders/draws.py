"""Draws from one tie group: how many documents of each kind a cut inside the group lets through.

The first t of m tied documents are a random subset, so the numbers of each kind among them are multivariate
hypergeometric. A measure of a set needs nothing else of the group.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from trueval.standings.standings import Floats


class Draws(NamedTuple):
    """Every possible outcome of a draw.

    Attributes:
        counts: [outcome, kind] documents drawn of each kind.
        chance: [outcome] probability, sums to 1.
    """

    counts: Floats
    chance: Floats


def hypergeometric(population: int, marked: int, drawn: int) -> Floats:
    """[x] chance of x = 0 .. marked marked documents among those drawn without replacement.

    Found outward from the most likely number by the ratios of neighbors, then divided by the sum.

    >>> hypergeometric(4, 2, 2).round(12).tolist() == [round(x / 6, 12) for x in (1, 4, 1)]
    True
    """
    least, most = max(0, drawn - (population - marked)), min(marked, drawn)
    x = np.arange(least, most)
    ratios = (marked - x) * (drawn - x) / ((x + 1) * (population - marked - drawn + x + 1.0))
    # From the largest chance outward, so that products of ratios only shrink.
    mode = min(max((drawn + 1) * (marked + 1) // (population + 2), least), most) - least
    up, down = np.cumprod(ratios[mode:]), np.cumprod(1 / ratios[:mode][::-1])[::-1]
    inside = np.concatenate((down, [1.0], up))
    chance = np.zeros(marked + 1)
    chance[least : most + 1] = inside / inside.sum()
    return chance


def draw(sizes: Sequence[int], population: int, drawn: int) -> Draws:
    """Every outcome of drawing without replacement, with its chance.

    Args:
        sizes: [kind] documents of each kind; the rest of the population is of no kind.
        population: documents in all, m.
        drawn: documents drawn, t.

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
        # What is left to draw must fit into the documents of the other kinds.
        possible = (number <= left[:, None]) & (left[:, None] - number <= population - size)
        row, number = np.nonzero(possible)
        counts, chance = np.column_stack((counts[row], number)), joint[row, number]
        left, population = left[row] - number, population - size
    return Draws(counts, chance)


def sizes_by_value(sizes: Floats, values: Floats) -> list[int]:
    """Join kinds of equal value, and leave out those of value 0: the fewer kinds, the fewer outcomes.

    >>> sizes_by_value(np.array([2.0, 3.0, 4.0]), np.array([0.0, 1.0, 1.0]))
    [0, 7, 0]
    """
    first = [int(np.flatnonzero(values == value)[0]) for value in values]
    joined = np.bincount(first, weights=np.where(values == 0, 0, sizes), minlength=len(sizes))
    return [int(size) for size in joined]


def moments(values: Floats, chance: Floats) -> tuple[float, float]:
    """Mean and standard deviation of values with their chances; no spread at all where the values are equal."""
    low, high = float(values.min()), float(values.max())
    if low == high:
        return low, 0.0
    mean = min(max(float(values @ chance), low), high)
    return mean, float(np.sqrt(((values - mean) ** 2) @ chance))
