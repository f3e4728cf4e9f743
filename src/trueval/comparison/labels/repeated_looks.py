"""Levels of intervals that are looked at after every batch, so that together they hold at one level.

Look t sees an estimate with variance v_t of which earlier looks are noisier versions: Cov(look s, look t) = v_t for
s < t, as of estimates that weigh batches by their precision. Of alpha, the share

    alpha_share(x) = ln(1 + (e - 1) x)

is spent until the share x of the budget is labeled, whatever the variances turn out to be; the bound z_t of look t is
such that the chance that it is the first to be passed is what it spends. Intervals of the levels 1 - 2 (1 - Phi(z_t))
hold at all looks together with a chance of 1 - alpha, also at the look after which people stop.

Sources: Armitage, McPherson & Rowe 1969 (the recursion); Lan & DeMets 1983 (spending); Jennison & Turnbull 1989
(repeated confidence intervals).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from trueval.standings.standings import Floats

# Points of the grid of the recursion.
POINTS: Final = 401

# Greatest correlation of successive looks. A smaller one than the true one only makes intervals wider (Slepian 1962).
CLOSEST: Final = 0.998

# Bounds beyond this are never passed.
FARTHEST: Final = 12.0


def alpha_share(share: float) -> float:
    """Share of alpha that is spent until a share of the budget is labeled.

    >>> alpha_share(0.0), round(alpha_share(0.5), 3), alpha_share(1.0)
    (0.0, 0.62, 1.0)
    """
    return math.log1p((math.e - 1) * min(max(share, 0.0), 1.0))


def look_levels(variances: Sequence[float], shares: Sequence[float], alpha: float) -> list[float]:
    """[look] levels of the intervals.

    Args:
        variances: [look] variances of the estimate; 0 where everything is labeled.
        shares: [look] share of the budget that is labeled, ascending.
        alpha: chance that some interval misses.

    >>> [round(each, 4) for each in look_levels([1.0], [1.0], 0.05)]
    [0.95]
    >>> [round(each, 4) for each in look_levels([4.0, 2.0], [0.5, 1.0], 0.05)]
    [0.969, 0.9723]
    """
    from scipy.special import ndtr

    found: list[float] = []
    grid = np.zeros(1)  # places of the statistic of the last look where no bound was passed
    mass = np.ones(1)  # and their probabilities
    before, last = 0.0, math.inf
    for variance, share in zip(variances, shares, strict=True):
        correlation = 0.0 if math.isinf(last) else _correlation(last, variance)
        spread = math.sqrt(1 - correlation**2)
        now = alpha * alpha_share(share)
        bound = _bound(correlation * grid, mass, spread, max(now - before, 0.0))
        found.append(1 - 2 * float(ndtr(-bound)))
        half = min(bound, FARTHEST / 1.5)
        places = np.linspace(-half, half, POINTS)
        weights = np.full(POINTS, places[1] - places[0])
        weights[[0, -1]] /= 2
        apart = (places[:, None] - correlation * grid) / spread
        density = np.exp(-(apart**2) / 2) @ mass / (spread * math.sqrt(2 * math.pi))
        grid, mass, before, last = places, density * weights, max(now, before), variance
    return found


def _correlation(last: float, variance: float) -> float:
    """Correlation of an estimate with the one of the look before, whose variance was larger."""
    return CLOSEST if last <= variance or not last else min(CLOSEST, math.sqrt(variance / last))


def _bound(centers: Floats, mass: Floats, spread: float, chance: float) -> float:
    """The bound that a statistic passes on either side with a given chance, by halving."""
    from scipy.special import ndtr

    low, high = 0.0, FARTHEST
    for _ in range(60):
        middle = (low + high) / 2
        passed = float(mass @ (ndtr((centers - middle) / spread) + ndtr((-middle - centers) / spread)))
        low, high = (middle, high) if passed > chance else (low, middle)
    return high
