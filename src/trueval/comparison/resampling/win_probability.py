"""Win probability: that one system beats another when only the order of tied documents is random.

    w = P(D > 0) + P(D = 0) / 2,   D = mean of A - mean of B over the queries, tie orders of both independent

Four methods, most exact first, each with bounds [low, high]:

- certain: no order makes D change sign, so w is 0, 1/2 or 1.
- exact: every order of every query is listed and the distributions are convolved.
- sampled: orders are drawn until the bounds leave the level of the verdict on one side, or a budget is spent. They hold
  at every number of orders at once with a chance of 99.9 %, so that looking after each batch costs nothing: a mean m
  is inside while

      B(1/2 + s, 1/2 + n - s) / B(1/2, 1/2) < 1000 m^s (1 - m)^(n - s),   s the sum of n values of 0, 1/2 or 1

  (the mixture of Robbins 1970; Howard, Ramdas, McAuliffe & Sekhon 2021; for values that are not 0 or 1 the likelihood
  ratio inside it is convex in the value, so its mean is at most 1).
- normal: Phi(E[D] / sd[D]). D is a sum of independent X_i with known variance and range, so |w - value| is at most the
  Berry-Esseen bound 0.56 sum E|X_i - EX_i|^3 / (sum Var X_i)^(3/2) (Shevtsova 2010), with E|X - EX|^3 <= reach Var X,
  reach the largest |X - EX|; and P(D <= 0) <= exp(-E[D]^2 / 2 / (Var D + reach E[D] / 3)) (Bernstein). The bounds are
  the narrower of both, and hold for certain.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from trueval.comparison.resampling.tie_order_values import Atoms
from trueval.standings.standings import Floats

# Shevtsova 2010, Doklady Mathematics 82(3): the Lyapunov fraction's constant for sums of different distributions.
BERRY_ESSEEN: Final = 0.56

# Sums of a measure over queries closer than this are equal.
EQUAL: Final = 1e-9

# Probability that sampled bounds ever miss, at any look.
MISSED: Final = 1e-3


@dataclass(frozen=True)
class WinProbability:
    """The probability over tie orders that the first system is the better one.

    Attributes:
        value: P(better) + P(equal) / 2; NaN if not available.
        low: lower bound.
        high: upper bound.
        method: "certain", "exact", "sampled", "normal" or "none".
    """

    value: float
    low: float
    high: float
    method: str

    def is_open(self, level: float) -> bool:
        """Whether neither system wins with a probability known to be at least the level."""
        return self.low < level and self.high > round(1 - level, 12)

    def is_settled(self, level: float) -> bool:
        """Whether narrower bounds could not change `is_open`."""
        return not self.is_open(level) or (self.high < level and self.low > round(1 - level, 12))


UNKNOWN: Final = WinProbability(math.nan, 0.0, 1.0, "none")


class TieMoments(NamedTuple):
    """Moments over tie orders of one system's values on the queries of a comparison, higher being better.

    Attributes:
        expected: [query] expected value.
        variance: [query] variance over tie orders; NaN if unknown.
        reach: [query] largest distance of a value from the expected one.
    """

    expected: Floats
    variance: Floats
    reach: Floats


def certain(lowest: float, highest: float) -> WinProbability | None:
    """The probability where no order changes the sign of the difference; None elsewhere.

    Args:
        lowest: lowest sum or mean of differences over tie orders.
        highest: highest sum or mean.

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


def sample_win_probability(
    batches: Iterable[tuple[Floats, Floats]], known: WinProbability, level: float, least: int
) -> WinProbability:
    """Estimate the probability from sums under random orders, drawing as many as the verdict at a level needs.

    Args:
        batches: [sample] sums of the first and of the second system, drawn independently.
        known: bounds that hold in any case.
        level: level of the verdict.
        least: minimum number of samples.
    """
    score, count, found = 0.0, 0, known
    for first, second in batches:
        difference = first - second
        if np.isnan(difference).any():
            return UNKNOWN
        score += float(np.sum((difference > EQUAL) + 0.5 * (np.abs(difference) <= EQUAL)))
        count += len(difference)
        ends = bounds_of_mean(score, count)
        low, high = max(found.low, ends[0]), min(found.high, ends[1])
        if low > high:  # with probability .001 the samples are atypical
            return known
        found = WinProbability(min(max(score / count, low), high), low, high, "sampled")
        if count >= least and found.is_settled(level):
            break
    return found


def bounds_of_mean(score: float, count: int) -> tuple[float, float]:
    """Bounds of the mean of values between 0 and 1, valid at every count simultaneously with probability 1 - MISSED.

    Args:
        score: sum of the values.

    >>> [round(end, 3) for end in bounds_of_mean(95.0, 100)]
    [0.799, 0.997]
    """
    share = score / count
    mixed = math.lgamma(0.5 + score) + math.lgamma(0.5 + count - score) - math.lgamma(1 + count) - math.log(math.pi)

    def is_inside(mean: float) -> bool:
        at = (score * math.log(mean) if score else 0.0) + (
            (count - score) * math.log1p(-mean) if score < count else 0.0
        )
        return mixed - at < -math.log(MISSED)

    def end(inside: float, outside: float) -> float:
        for _ in range(50):
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if is_inside(middle) else (inside, middle)
        return outside

    return end(share, 0.0) if score else 0.0, end(share, 1.0) if score < count else 1.0


def normal(first: TieMoments, second: TieMoments) -> WinProbability:
    """The probability by the normal approximation, with bounds that always hold."""
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
