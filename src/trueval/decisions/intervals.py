"""Bootstrap intervals over queries: of the expected difference, and of a realized one.

Expected difference: the mean over the population of queries of E[A] - E[B]. Its interval resamples queries.
Realized difference: that mean plus the accident of one order of ties for each system on as many queries as were
measured, what a tool that breaks ties in some order reports in its place. Its interval resamples queries and gives
every drawn query fresh tie noise of its own variance, Var_ties(A) + Var_ties(B).
Where such a variance is not known, the ends are bounds from L = lowest(A) - highest(B) and H = highest(A) - lowest(B).
With D = E[A] - E[B], E of the population of queries, means over the measured ones and percentiles of resampled means:

    low = min(percentile(L), mean(L) - (mean(D) - percentile(D))), high likewise from H

    Coverage, low end: a rule that breaks ties leaves differences of population mean m >= E L, so
    P(low > m) <= P(percentile(L) > E L) <= (1 - level) / 2. A realized difference is r = E D + mean(x - D), x >= L
    being what the orders left on the measured queries, so r >= E D + mean(L - D) and
    P(low > r) <= P(percentile(D) > E D) <= (1 - level) / 2. Likewise above. So both are covered at the level or more,
    whoever chooses the orders, as far as a bootstrapped mean keeps its own level and the expected values are exact.
    As mean(L) <= mean(D) <= mean(H), the bounds hold the expected interval.

Percentile intervals of a mean are too short by the factor sqrt((n-1)/n) and by normal instead of t quantiles. Both are
made good by taking other quantiles (Hesterberg 2015, "What teachers should know about the bootstrap", section 5.3):

    tail = Phi(-sqrt(n / (n-1)) * t_{n-1}(1 - alpha/2))
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from trueval.decisions.resampling import Grid, blocks, bootstrap_sums, in_threads, normal_noise, to_grid
from trueval.standings import Bools, Floats, Ints

# Comparisons whose resampled differences stand in memory at once, for each thread: 10,000 resamples make 5 MB.
WIDTH = 64


class Intervals(NamedTuple):
    """Ends of the intervals of every comparison.

    Attributes:
        expected: [comparison, 2] of the expected difference; NaN below two queries.
        realized: [comparison, 2] of a realized difference; NaN also where neither a tie variance nor its stand-in, the
            extremes, is known.
        bounded: [comparison] whether the ends of realized are bounds made from extremes.
    """

    expected: Floats
    realized: Floats
    bounded: Bools


class Extremes(NamedTuple):
    """What the orders of ties can make of every query.

    Attributes:
        lowest: [query, column] least values, or less; NaN where not known.
        highest: [query, column] greatest values, or more; NaN where not known.
    """

    lowest: Floats
    highest: Floats


class _Draws(NamedTuple):
    """How queries are resampled, and the share of resamples to leave out at each end."""

    resamples: int
    seed: int
    threads: int
    share: float

    def sums(self, columns: Grid) -> Floats:
        return bootstrap_sums(columns, self.resamples, self.seed, self.threads)

    def ends(self, means: Callable[[Ints], Floats], rounding: Floats) -> Floats:
        """Low and high percentiles of resampled mean differences.

        Args:
            means: [some, resample] of some comparisons.
            rounding: [comparison] how far from 0 an end can be that rounding to two different grids has made.

        Returns:
            [comparison, 2] ends.
        """
        out, parts = np.empty((len(rounding), 2)), blocks(len(rounding), WIDTH)

        def work(index: int) -> None:
            part = parts[index]
            out[part] = np.quantile(means(part), [self.share, 1 - self.share], axis=1).T

        in_threads(work, len(parts), self.threads)
        return np.where(np.abs(out) <= rounding[:, None], 0.0, out)


def tail(queries: int, level: float) -> float:
    """The share of resamples to leave out at each end, of an interval of some level.

    >>> round(tail(50, 0.95), 4), round(tail(10**6, 0.95), 4)
    (0.0212, 0.025)
    """
    from scipy.special import ndtr, stdtrit

    quantile = float(stdtrit(queries - 1, (1 + level) / 2))
    return float(ndtr(-math.sqrt(queries / (queries - 1)) * quantile))


def bootstrap_intervals(
    expected: Floats,
    variance: Floats,
    first: Ints,
    second: Ints,
    *,
    level: float,
    resamples: int,
    seed: int,
    threads: int,
    extremes: Extremes | None = None,
) -> Intervals:
    """Bootstrap the mean difference of columns, the same resamples for all.

    Args:
        expected: [query, column] expected values, finite.
        variance: [query, column] variances over tie orders; NaN where not known.
        first: [comparison] column of system A.
        second: [comparison] column of system B.
        level: of the intervals, 0.95.
        resamples: how often the queries are drawn.
        seed: of the draws.
        threads: that share the work.
        extremes: that bound a realized difference where a variance is not known; None where they are not known.
    """
    queries = len(expected)
    ends = np.full((len(first), 2), np.nan)
    if queries < 2:
        return Intervals(ends, ends.copy(), np.zeros(len(first), dtype=bool))
    draws = _Draws(resamples, seed, threads, tail(queries, level))
    known: Bools = np.logical_not(np.isnan(variance).any(axis=0))
    grid = to_grid(expected)
    sums, spread = draws.sums(grid), draws.sums(to_grid(np.where(known, variance, 0.0)))
    rounding = grid.step[first] + grid.step[second]
    noise = normal_noise(resamples, seed)
    blurred: Bools = np.any(spread, axis=1)

    def means(some: Ints) -> Floats:
        return (sums[first[some]] - sums[second[some]]) / queries

    def noisy_means(some: Ints) -> Floats:
        pairs = tied[some]
        return means(pairs) + noise * np.sqrt(spread[first[pairs]] + spread[second[pairs]]) / queries

    ends = draws.ends(means, rounding)
    sure: Bools = np.logical_and(known[first], known[second])
    tied, unknown = np.flatnonzero(sure & (blurred[first] | blurred[second])), np.flatnonzero(~sure)
    realized = np.where(sure[:, None], ends, np.nan)
    realized[tied] = draws.ends(noisy_means, rounding[tied])
    if extremes is not None and len(unknown):
        middle = grid.values.mean(axis=0)
        reach = ends - (middle[first] - middle[second])[:, None]
        realized[unknown] = _bounds(extremes, reach[unknown], first[unknown], second[unknown], draws)
    return Intervals(ends, realized, ~sure & ~np.isnan(realized[:, 0]))


def _bounds(extremes: Extremes, reach: Floats, first: Ints, second: Ints, draws: _Draws) -> Floats:
    """Ends that no order of ties moves a mean difference past.

    Args:
        extremes: of every column.
        reach: [comparison, 2] ends of the interval of the expected difference, less the measured mean.
        first: [comparison] column of system A.
        second: [comparison] column of system B.
        draws: the resamples.

    Returns:
        [comparison, 2] bounds; NaN where extremes are not known.
    """
    columns, place = np.unique(np.concatenate([first, second]), return_inverse=True)
    one, other = np.split(place.ravel(), 2)
    values = np.hstack([extremes.lowest[:, columns], extremes.highest[:, columns]])
    finite = np.isfinite(values)
    grid = to_grid(np.where(finite, values, 0.0))
    sums, measured = draws.sums(grid), grid.values.mean(axis=0)
    known: Bools = np.logical_and(*np.split(finite.all(axis=0), 2))

    def side(a: Ints, b: Ints) -> tuple[Floats, Floats]:
        ends = draws.ends(lambda some: (sums[a[some]] - sums[b[some]]) / len(values), grid.step[a] + grid.step[b])
        return ends, (measured[a] - measured[b])[:, None] + reach

    # Highest values stand behind all the lowest.
    low = np.minimum(*side(one, other + len(columns)))[:, 0]
    high = np.maximum(*side(one + len(columns), other))[:, 1]
    return np.where((known[one] & known[other])[:, None], np.stack([low, high], axis=1), np.nan)
