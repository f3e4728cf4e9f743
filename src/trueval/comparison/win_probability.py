"""The probability that one system beats another when nothing but the order of tied documents is random.

    w = P(D > 0) + P(D = 0) / 2,   D = mean of A - mean of B over the queries, tie orders of both independent

Four ways to know it, best first, each with bounds [low, high]:

- certain: no order makes D change sign, so w is 0, 1/2 or 1.
- exact: every order of every query is listed and the distributions are convolved.
- sampled: orders are drawn; the bounds are Wilson's 95 % interval.
- normal: Phi(E[D] / sd[D]). D is a sum of independent X_i with known variance and range, so |w - value| is at most the
  Berry-Esseen bound 0.56 sum E|X_i - EX_i|^3 / (sum Var X_i)^(3/2) (Shevtsova 2010), with E|X - EX|^3 <= reach Var X,
  reach the largest |X - EX|; and P(D <= 0) <= exp(-E[D]^2 / 2 / (Var D + reach E[D] / 3)) (Bernstein). The bounds are
  the narrower of both, and hold for certain.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from trueval.comparison.orders import Atoms
from trueval.standings.standings import Floats

# Shevtsova 2010, Doklady Mathematics 82(3): the Lyapunov fraction's constant for sums of different distributions.
BERRY_ESSEEN: Final = 0.56

# Sums of a measure over queries closer than this are equal.
EQUAL: Final = 1e-9

# Two-sided 95 %.
Z: Final = 1.959963984540054


class WinProbability(NamedTuple):
    """The probability that the first system is the better one, over tie orders.

    Attributes:
        value: P(better) + P(equal) / 2; NaN where not available.
        low: lower bound.
        high: upper bound.
        method: "certain", "exact", "sampled", "normal" or "none".
    """

    value: float
    low: float
    high: float
    method: str


UNKNOWN: Final = WinProbability(math.nan, 0.0, 1.0, "none")


class Tied(NamedTuple):
    """What ties do to one system on the queries of a comparison, higher being better.

    Attributes:
        expected: [query] expected value.
        variance: [query] over tie orders; NaN where not known.
        reach: [query] largest distance of a value from the expected one.
    """

    expected: Floats
    variance: Floats
    reach: Floats


def certain(lowest: float, highest: float) -> WinProbability | None:
    """The probability where no order changes the sign of the difference.

    Args:
        lowest: least sum or mean of differences over tie orders.
        highest: greatest.

    >>> certain(0.1, 0.2).value, certain(0.0, 0.0).value, certain(-0.1, 0.1)
    (1.0, 0.5, None)
    """
    if lowest > EQUAL:
        return WinProbability(1.0, 1.0, 1.0, "certain")
    if highest < -EQUAL:
        return WinProbability(0.0, 0.0, 0.0, "certain")
    if highest - lowest <= EQUAL:
        return WinProbability(0.5, 0.5, 0.5, "certain")
    return None


def exact(first: Atoms, second: Atoms) -> WinProbability:
    """The probability from the distributions of both sums.

    >>> coin = Atoms(np.array([0.0, 1.0]), np.array([0.5, 0.5]))
    >>> exact(coin, Atoms(np.array([0.5]), np.array([1.0]))).value
    0.5
    """
    below = np.concatenate(([0.0], np.cumsum(second.probabilities)))
    less = below[np.searchsorted(second.values, first.values - EQUAL, side="left")]
    less_or_equal = below[np.searchsorted(second.values, first.values + EQUAL, side="right")]
    value = min(max(float(first.probabilities @ (less + less_or_equal)) / 2, 0.0), 1.0)
    return WinProbability(value, value, value, "exact")


def sampled(first: Floats, second: Floats) -> WinProbability:
    """The probability from sums under random orders, pair by pair, with Wilson's interval.

    Args:
        first: [sample] sums of the first system.
        second: [sample] sums of the second, drawn independently.
    """
    difference = first - second
    if np.isnan(difference).any():
        return UNKNOWN
    count, value = len(difference), float(np.mean((difference > EQUAL) + 0.5 * (np.abs(difference) <= EQUAL)))
    center = (value + Z**2 / (2 * count)) / (1 + Z**2 / count)
    half = Z * math.sqrt(value * (1 - value) / count + Z**2 / (4 * count**2)) / (1 + Z**2 / count)
    return WinProbability(value, max(center - half, 0.0), min(center + half, 1.0), "sampled")


def normal(first: Tied, second: Tied) -> WinProbability:
    """The probability from the normal distribution, with bounds that hold for certain."""
    variance = np.concatenate((first.variance, second.variance))
    reach = np.concatenate((first.reach, second.reach))
    total = float(variance.sum())
    if not total > 0:
        return UNKNOWN
    distance = float((first.expected - second.expected).sum())
    value = 0.5 * math.erfc(-distance / math.sqrt(2 * total))
    error = BERRY_ESSEEN * float((variance * reach).sum()) / total**1.5
    tail = math.exp(-(distance**2) / 2 / (total + float(reach.max()) * abs(distance) / 3))
    low = max(value - error, 1 - tail if distance > 0 else 0.0)
    high = min(value + error, tail if distance < 0 else 1.0, 1.0)
    return WinProbability(min(max(value, low), high), low, high, "normal")
