"""Intervals by betting: for the mean of bounded differences, valid for any distribution and any number of queries.

Whoever bets on differences d of a measure with values between two ends, b apart, bets on x = (d / b + 1) / 2 in [0, 1].
If their mean is m, no bet gains in expectation, so capital stays below 1/alpha with probability at least 1 - alpha, and
a mean at which the bets gain more is rejected (Waudby-Smith & Ramdas 2024, "Estimating means of bounded random
variables by betting", JRSS B 86(1)):

    K+(m) = prod(1 + l_i (x_i - m)),  l_i <= 1 / (2 m)          falls with m
    K-(m) = prod(1 - l_i (x_i - m)),  l_i <= 1 / (2 (1 - m))    rises with m
    the interval holds every m with (K+(m) + K-(m)) / 2 < 1 / alpha

The ends are those of max(K+, K-) < 2 / alpha, which holds that set: where one of the two is 2 / alpha, the other is
below alpha / 2. A bet is fixed before its x is seen ("predictable plug-in"):

    l_i = sqrt(2 ln(2 / alpha) / (s_i^2 N)),  s_i^2 = (1/4 + sum over j < i of (x_j - m_j)^2) / i,
    m_j = (1/2 + x_1 + .. + x_j) / (j + 1)

One look, at an n that was fixed before: N = n, and the capital is the mean over 64 random orders, because a mean of
such capitals gains nothing in expectation either, and the result hardly depends on an order. Repeated looks: the
queries in the order of arrival, N = i ln(i + 1), and the largest capital so far: all looks hold together (Ville 1939).

Clusters: the sum T of x over the n_c queries of a cluster is bet on as (T - m n_c) / n_max, n_max the largest size that
was possible. Several intervals together: each at the level that 1 - level, divided by their number, leaves.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from trueval.comparison.resampling.resampled_sums import BETS, blocks, generator, in_threads
from trueval.standings.standings import Floats, Ints

# Orders over which the capital of one look is averaged.
ORDERS: Final = 64
# Maximum share of capital that a bet may risk: the limit of a bet is 1 / m.
PART: Final = 0.5
# Precision of the ends, in units of their range, and maximum number of steps.
EXACT: Final = 1e-10
STEPS: Final = 100
SMALL: Final = 1e-300
# Numbers in a block of a table: half a MB of float64.
AT_ONCE: Final = 1 << 16
# Factors multiplied before taking the logarithm; they lie between 1/2 and 100.
FACTORS: Final = 32
# Points at which the growth of capital over many queries is evaluated.
POINTS: Final = 512
# Maximum number of queries; no collection has more.
MOST: Final = 10**9


class Bets(NamedTuple):
    """Settings of intervals by betting.

    Attributes:
        alpha: 1 - level of one interval.
        repeated: whether the interval must hold at every look, in the order of arrival.
        largest: the largest possible number of queries in a unit.
        seed: seed of the random orders.
    """

    alpha: float
    repeated: bool = False
    largest: float = 1.0
    seed: int = 0
    threads: int = 1

    @property
    def target(self) -> float:
        """Logarithm of the capital at which a mean is excluded."""
        return math.log(2 / self.alpha)

    def orders(self, units: int) -> Ints:
        """[order, unit] the orders in which units are bet on."""
        if self.repeated:
            return np.arange(units)[None]
        rng = generator(self.seed, BETS, 0)
        return np.stack([rng.permutation(units) for _ in range(ORDERS)])

    def horizon(self, units: float, number: Floats) -> Floats:
        """The horizon N of each bet, number 1, 2, ..."""
        return number * np.log1p(number) if self.repeated else np.full_like(number, units)


def lower_ends(sums: Floats, sizes: Floats, reach: Floats, bets: Bets) -> Floats:
    """The lower ends of intervals of mean differences; upper ends are those of negated differences, negated.

    Args:
        sums: [unit, comparison] sums of the differences of the queries of a unit, units in the order of arrival.
        sizes: [unit] number of queries.
        reach: [comparison] b, the largest possible difference of a query.
        bets: settings of the bets.

    Returns:
        [comparison] ends, -b or more.

    >>> lower_ends(np.zeros((50, 1)), np.ones(50), np.ones(1), Bets(0.05)).round(3).tolist()
    [-0.134]
    """
    units, count = sums.shape
    shares = sizes / bets.largest
    values = np.clip(((sums / reach + sizes[:, None]) / 2 / bets.largest).T, 0.0, shares)
    orders = bets.orders(units)
    parts = blocks(count, max(1, AT_ONCE // orders.size))
    found = np.empty(count)

    def work(index: int) -> None:
        part = parts[index]
        found[part] = _lower(values[part], shares, orders, bets)

    in_threads(work, len(parts), bets.threads)
    ends: Floats = (2 * found - 1) * reach
    return ends


def _lower(values: Floats, shares: Floats, orders: Ints, bets: Bets) -> Floats:
    """[comparison] the largest mean that upward bets exclude, 0 where they exclude none.

    Args:
        values: [comparison, unit] between 0 and the share.
        shares: [unit] sizes as shares of the largest possible one.
        orders: [order, unit] random orders of units.
        bets: settings of the bets.
    """
    ordered, held = values[:, orders], shares[orders]
    sizes = _bet_sizes(ordered, held, bets)

    def beyond(mean: Floats) -> Floats:
        return _capital(mean[:, None, None], ordered, held, sizes, repeated=bets.repeated) - bets.target

    return _find_roots(beyond, len(values))


def _find_roots(falling: Callable[[Floats], Floats], count: int) -> Floats:
    """[comparison] the last point of [0, 1] at which a falling function is at least 0, or 0 where there is none.

    Regula falsi; the value of an end that stays twice is halved (Illinois), and every eighth step halves the bracket.
    The place returned is never beyond the true one.
    """
    low, high = np.zeros(count), np.ones(count)
    above, below, side = falling(low), falling(high), np.zeros(count)
    high[above < 0] = 0.0
    for step in range(STEPS):
        if (high - low).max(initial=0.0) <= EXACT:
            break
        secant = low + (high - low) * above / np.maximum(above - below, SMALL)
        nudge = np.minimum(EXACT / 4, (high - low) / 2)  # so that the bracket closes from both sides
        middle = (low + high) / 2 if step % 8 == 7 else np.clip(secant, low + nudge, high - nudge)
        found = falling(middle)
        up = found >= 0
        above = np.where(up, found, np.where(side < 0, above / 2, above))
        below = np.where(up, np.where(side > 0, below / 2, below), found)
        low, high = np.where(up, middle, low), np.where(up, high, middle)
        side = np.where(up, 1.0, -1.0)
    return low


def _bet_sizes(ordered: Floats, held: Floats, bets: Bets) -> Floats:
    """[comparison, order, unit] the bets before they are clipped to what m allows; each is fixed before its value."""
    units = ordered.shape[-1]
    middle = (0.5 + np.cumsum(ordered, axis=-1)) / (1 + np.cumsum(held, axis=-1))
    squares = 0.25 + np.cumsum((ordered - middle * held) ** 2, axis=-1)
    before = np.concatenate([np.full((*squares.shape[:-1], 1), 0.25), squares[..., :-1]], axis=-1)
    number = np.arange(1.0, units + 1)
    found: Floats = np.sqrt(2 * bets.target * number / (before * bets.horizon(units, number)))
    return found


def _capital(mean: Floats, ordered: Floats, held: Floats, sizes: Floats, *, repeated: bool) -> Floats:
    """[comparison] logarithm of the capital of upward bets if the mean is that of [comparison, 1, 1]."""
    with np.errstate(divide="ignore"):
        factors = 1 + np.minimum(sizes, PART / mean) * (ordered - mean * held)
    if repeated:
        found: Floats = np.cumsum(np.log(factors), axis=-1).max(axis=(1, 2), initial=0.0)
        return found
    whole = factors.shape[-1] // FACTORS * FACTORS
    grouped = factors[..., :whole].reshape(*factors.shape[:-1], -1, FACTORS).prod(axis=-1)
    logs = np.log(grouped).sum(axis=-1) + np.log(factors[..., whole:].prod(axis=-1))
    top = logs.max(axis=1)
    mixed: Floats = top + np.log(np.exp(logs - top[:, None]).mean(axis=1))
    return mixed


def units_needed(sums: Floats, sizes: Floats, reach: float, least: float, bets: Bets, *, power: float) -> int | None:
    """Number of units that decide, with some power, whether the mean difference is above or below a value.

    The logarithm of the capital against that value is approximated by the sum over i of the mean over the measured
    units of ln(1 + l_i (x - m)), with all x moved towards the value by as many standard errors as the power requires.

    Args:
        sums: [unit] sums of differences.
        sizes: [unit] number of queries.
        reach: the largest possible difference of a query.
        least: the value to compare the mean difference with.
        bets: settings of the bets.
        power: probability of deciding.

    Returns:
        More units than were measured; None where the measured mean is the value itself, or billions would be needed.

    >>> nothing = np.zeros(20), np.ones(20), 1.0
    >>> [units_needed(*nothing, -0.01, Bets(0.05, repeated), power=0.8) for repeated in (False, True)]
    [741, 733]
    """
    from scipy.special import ndtri

    if sums.sum() / sizes.sum() < least:
        sums, least = -sums, -least
    shares, mean = sizes / bets.largest, (least / reach + 1) / 2
    values = (sums / reach + sizes) / 2 / bets.largest
    if not 0 < mean < 1:
        return None
    spread = float(np.std(values - values.sum() / shares.sum() * shares))

    def decides(units: int) -> bool:
        number = np.unique(np.geomspace(1, units, POINTS).round())
        squares = (0.25 + (number - 1) * spread**2) / number
        made = np.minimum(np.sqrt(2 * bets.target / (squares * bets.horizon(units, number))), PART / mean)
        nearer = np.clip(values - float(ndtri(power)) * spread / math.sqrt(units), 0.0, shares) - mean * shares
        growth = np.log1p(made[:, None] * nearer).mean(axis=1)
        return float(np.diff(number, prepend=0.0) @ growth) >= bets.target

    return _first(decides, len(sums) + 1, MOST)


def _first(holds: Callable[[int], bool], low: int, high: int) -> int | None:
    """The first number from low to high for which a monotone condition holds."""
    if not holds(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low
