"""Capped sums: mean and variance of the excess (L - l)+ of the value L that a cut admits over a threshold l.

Documents of three kinds have values v1 > v2 > v3; L = v1 x1 + v2 x2 + v3 x3. Given s = x2 + x3, the number x1 is
independent of x2 (group_draws.py), so for each x2 there remains (v1 x1 - rest)+. That needs three sums over the tail of
x1, of P(x), (x - k) P(x) and (x - k)^2 P(x) over x >= k, computed once for all k by adding from the end, so nothing
cancels.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from trueval.measures.orders.group_draws import LikelyCounts, Three, mixture_moments, splits
from trueval.standings.standings import Floats


class _Tail(NamedTuple):
    """Tail sums over the numbers from k on, for consecutive k.

    Attributes:
        first: smallest k.
        chance: [k - first] probability of a number >= k.
        excess: [k - first] sum of (x - k) P(x).
        squares: [k - first] sum of (x - k)^2 P(x).
    """

    first: int
    chance: Floats
    excess: Floats
    squares: Floats

    @classmethod
    def of(cls, drawn: LikelyCounts) -> _Tail:
        chance = np.append(drawn.chance[::-1].cumsum()[::-1], 0.0)
        # Decreasing k by 1 adds 1 to every x - k, and 2 (x - k) + 1 to its square.
        excess = np.append(chance[::-1].cumsum()[::-1][1:], 0.0)
        squares = np.append((2 * excess + chance)[::-1].cumsum()[::-1][1:], 0.0)
        return cls(drawn.first, chance, excess, squares)

    def beyond(self, thresholds: Floats) -> tuple[Floats, Floats]:
        """[threshold] mean and variance of (x - threshold)+."""
        place = np.clip(np.floor(thresholds) + 1 - self.first, 0, len(self.chance) - 1).astype(np.int64)
        over = place + self.first - thresholds
        chance, excess, squares = self.chance[place], self.excess[place], self.squares[place]
        mean = excess + over * chance
        return mean, np.maximum(squares + 2 * over * excess + over**2 * chance - mean**2, 0)


# Cached, since a query recurs under many single orders, as for win probabilities, with the same group.
@lru_cache(maxsize=64)
def excess_moments(values: Three, tied: Three, population: int, drawn: int, threshold: float) -> tuple[float, float]:
    """Mean and variance of (L - l)+ over the outcomes of a cut.

    Args:
        values: value of a document of each kind, descending, the first above 0.
        tied: [kind] number of documents in the group that is cut.
        population: number of documents in that group, m.
        drawn: number of documents in that group that are admitted, t.
        threshold: threshold l.

    >>> excess_moments((1.0, 0.0, 0.0), (1.0, 0.0, 0.0), 2, 1, 0.5)
    (0.25, 0.0625)
    """
    value, first, second = values
    one, two, three = map(int, tied)
    chance, means, variances = [], [], []
    for split in splits((two, three, one), population, drawn):
        x = split.one.numbers
        rest = threshold - first * x - second * (split.both - x)
        left, open_still = _Tail.of(split.third).beyond(rest / value)
        mean, variance = mixture_moments(value * left, value**2 * open_still, split.one.chance)
        chance.append(split.chance)
        means.append(mean)
        variances.append(variance)
    return mixture_moments(np.array(means), np.array(variances), np.array(chance))
