"""Bootstrap intervals over queries, for the expected difference and for a realized one.

Expected difference: the mean over the population of queries of E[A] - E[B]. Its interval resamples queries. Realized
difference: that mean plus the deviation due to one tie order per system on as many queries as were measured; it is what
a tool that breaks ties in some order reports. Its interval resamples queries and gives every drawn query fresh tie
noise of its own variance, Var_ties(A) + Var_ties(B). Where such a variance is not known, the ends are bounds from L =
lowest(A) - highest(B) and H = highest(A) - lowest(B). With D = E[A] - E[B], E over the population of queries, means
over the measured ones and percentiles of resampled means:

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

Below 30 queries these too are too short where differences are skewed: at 12 skewed, heavily tied queries they held the
true difference in 92 % of simulated worlds instead of 95 %. So each end is then the farther one of the percentile's and
of the studentized bootstrap's (Efron & Tibshirani 1993, section 12.5). With mean* of a resample, and e* made from it as
e is made from the measured queries:

    low = mean - e quantile(t*, (1 + level) / 2),   high = mean - e quantile(t*, (1 - level) / 2)
    t* = (mean* - mean) / e*,   e^2 = (variance over queries + mean tie variance of a realized difference) / n

With clusters a unit is the sum over the queries of one, of size c, and a mean is a ratio, sum of sums / sum of sizes.
Its residuals sum - mean c take the place of the differences, and the number of clusters that of the queries.

Neither is enough alone: the studentized ends are the shorter ones where differences are few values and mostly 0. BCa
ends were shorter than both. docs/compare.md has the figures.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from trueval.comparison.resampling.resampled_sums import (
    ValueGrid,
    blocks,
    bootstrap_sums,
    in_threads,
    normal_noise,
    to_grid,
)
from trueval.standings.standings import Bools, Floats, Ints

# Comparisons per thread whose resampled differences are in memory at once: 10,000 resamples take 5 MB.
WIDTH = 64

# Number of queries from which percentiles alone have the nominal coverage.
FEW = 30

# Floor of the squared standard error of a resample, as a share of the measured one, since a resample of equal queries
# has 0. In simulations a smaller share made intervals of rare differences up to 1.9 times as wide without better
# coverage; a larger one lost coverage for skewed differences.
LEAST_ERROR = 0.1

# Differences closer together than this have squares out of range, and count as equal.
NOTHING = 1e-100


class Intervals(NamedTuple):
    """Ends of the intervals of every comparison.

    Attributes:
        expected: [comparison, 2] interval of the expected difference; NaN below two queries.
        realized: [comparison, 2] interval of a realized difference; NaN also where neither the tie variance nor the
            extremes are known.
        bounded: [comparison] whether the ends of realized are bounds made from extremes.
    """

    expected: Floats
    realized: Floats
    bounded: Bools


class Extremes(NamedTuple):
    """The lowest and highest values of every query over tie orders.

    Attributes:
        lowest: [unit, column] lowest values, or lower bounds of them; NaN if unknown.
        highest: [unit, column] highest values, or upper bounds of them; NaN if unknown.
    """

    lowest: Floats
    highest: Floats


class ResampleDraws(NamedTuple):
    """How units are resampled, and the level of the intervals."""

    resamples: int
    seed: int
    threads: int
    level: float

    def sums(self, columns: ValueGrid) -> Floats:
        """[column, resample] sums over the drawn units."""
        return bootstrap_sums(columns, self.resamples, self.seed, self.threads)


class Sizes(NamedTuple):
    """Numbers of queries in the units.

    Attributes:
        units: [unit] number of queries.
        drawn: [resample] the sum over drawn units; [1] where all units have the same size.
    """

    units: Floats
    total: float
    drawn: Floats

    @classmethod
    def of(cls, units: Floats, draws: ResampleDraws) -> Sizes:
        """Resample the sizes; nothing is drawn where all are equal."""
        sizes = cls(units, float(units.sum()), np.array([float(units.sum())]))
        return sizes if sizes.alike else sizes._replace(drawn=draws.sums(to_grid(units[:, None]))[0])

    @property
    def alike(self) -> bool:
        """Whether all units have equally many queries."""
        return bool((self.units == self.units[0]).all())


class _Ends(NamedTuple):
    """Computes the ends of intervals from the same resamples."""

    draws: ResampleDraws
    sizes: Sizes

    def __call__(
        self, means: Callable[[Ints], Floats], differences: Floats, rounding: Floats, ties: _Ties | None = None
    ) -> Floats:
        """[comparison, 2] low and high ends of intervals.

        Args:
            means: [some, resample] resampled mean differences of some comparisons, without tie noise.
            differences: [unit, comparison] differences on the grid of the means, so that their sums are exact too.
            rounding: [comparison] how far rounding to two different grids can move an end from 0.
            ties: noise from tie orders; None for none.
        """
        units, count = differences.shape
        share, parts, out = tail(units, self.draws.level), blocks(count, WIDTH), np.empty((count, 2))

        def work(index: int) -> None:
            part = parts[index]
            found = means(part)
            noisy, added = (found, np.zeros((1, 1))) if ties is None else ties.add(found, part)
            ends = np.quantile(noisy, [share, 1 - share], axis=1).T
            if units < FEW:
                measured = np.zeros(len(part)) if ties is None else ties.measured[part]
                low, high = self._studentized_ends(differences[:, part], found, noisy, measured, added).T
                ends = np.stack([np.minimum(ends[:, 0], low), np.maximum(ends[:, 1], high)], axis=1)
            out[part] = ends

        in_threads(work, len(parts), self.draws.threads)
        return np.where(np.abs(out) <= rounding[:, None], 0.0, out)

    def _studentized_ends(
        self, differences: Floats, means: Floats, noisy: Floats, ties: Floats, added: Floats
    ) -> Floats:
        """[some, 2] ends by the studentized bootstrap; the mean itself where nothing varies.

        Args:
            differences: [unit, some] differences.
            means: [some, resample] means of resampled units.
            noisy: [some, resample] these means with tie noise.
            ties: [some] tie variance of the mean.
            added: [some, resample] tie variance of a resampled mean.
        """
        count, total = len(differences), self.sizes.total
        middle = (differences.sum(axis=0) / total)[:, None]
        apart = differences.T - middle * self.sizes.units
        # Scaled by the largest: no square overflows, and the grid of squares does not depend on other comparisons.
        unit = np.abs(apart).max(axis=1)[:, None]
        unit[unit < NOTHING] = 1.0
        residuals = (apart / unit).T
        squares = to_grid(residuals**2)
        freedom = count / (count - 1)
        error = squares.values.sum(axis=0)[:, None] * freedom / total**2 + ties[:, None] / unit**2
        # The residuals of a resample are about its own mean: r - (mean* - mean) c, whose squares expand into three
        # sums.
        moved = (means - middle) / unit
        alone = ResampleDraws(self.draws.resamples, self.draws.seed, 1, self.draws.level)
        about = alone.sums(squares) + self._shift(alone, residuals, moved)
        resampled = np.maximum(about * freedom / self.sizes.drawn**2 + added / unit**2, LEAST_ERROR * error)
        resampled[resampled == 0] = 1.0  # nothing varies, and t* is 0
        t = (noisy - middle) / unit / np.sqrt(resampled)
        far = (1 - self.draws.level) / 2
        ends: Floats = middle - unit * np.sqrt(error) * np.quantile(t, [1 - far, far], axis=1).T
        return ends

    def _shift(self, alone: ResampleDraws, residuals: Floats, moved: Floats) -> Floats:
        """[some, resample] change of the sum of squares as the mean moves, -2 m sum(r c) + m^2 sum(c^2)."""
        units: Floats = self.sizes.units
        if self.sizes.alike:  # sum(r) is the shift times the number of queries
            gone: Floats = -(moved**2) * units[0] * self.sizes.total
            return gone
        crossed, squared = alone.sums(to_grid(residuals * units[:, None])), alone.sums(to_grid(units[:, None] ** 2))
        shift: Floats = -2 * moved * crossed + moved**2 * squared
        return shift


class _Ties(NamedTuple):
    """The noise that tie orders add to some mean differences.

    Attributes:
        measured: [comparison] tie variance of the mean over the measured queries.
        spread: [some, resample] tie variance of resampled means.
        noise: [resample] standard normal numbers.
    """

    measured: Floats
    spread: Callable[[Ints], Floats]
    noise: Floats

    def add(self, means: Floats, some: Ints) -> tuple[Floats, Floats]:
        """[some, resample] means with noise, and the variance of that noise."""
        spread = self.spread(some)
        return means + self.noise * np.sqrt(spread), spread


def tail(queries: int, level: float) -> float:
    """The share of resamples to leave out at each end for an interval of a given level.

    >>> round(tail(50, 0.95), 4), round(tail(10**6, 0.95), 4)
    (0.0212, 0.025)
    """
    from scipy.special import ndtr, stdtrit

    quantile = float(stdtrit(queries - 1, (1 + level) / 2))
    return float(ndtr(-math.sqrt(queries / (queries - 1)) * quantile))


class ResampledColumns(NamedTuple):
    """Columns and their sums over resampled units, from which intervals of any pair of them are made.

    Attributes:
        grid: [unit, column] values.
        ties: [unit, column] variances over tie orders; 0 where not known.
        known: [column] whether all variances of the column are known.
        sums: [column, resample] sums of values.
        spread: [column, resample] sums of variances.
        sizes: sizes of the units.
    """

    grid: ValueGrid
    ties: ValueGrid
    known: Bools
    sums: Floats
    spread: Floats
    sizes: Sizes

    @classmethod
    def of(
        cls, expected: Floats, variance: Floats, draws: ResampleDraws, sizes: Floats | None = None
    ) -> ResampledColumns:
        """Resample columns.

        Args:
            expected: [unit, column] sums of expected values, finite.
            variance: [unit, column] sums of variances over tie orders; NaN if unknown.
            draws: how units are resampled.
            sizes: [unit] number of queries; None where each unit is a query.
        """
        known: Bools = np.logical_not(np.isnan(variance).any(axis=0))
        grid, ties = to_grid(expected), to_grid(np.where(known, variance, 0.0))
        counted = Sizes.of(np.ones(len(expected)) if sizes is None else sizes, draws)
        sums = draws.sums(grid)
        return cls(grid, ties, known, sums, draws.sums(ties) if ties.values.any() else np.zeros_like(sums), counted)


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
    sizes: Floats | None = None,
) -> Intervals:
    """Bootstrap the mean differences of columns, with the same resamples for all.

    Args:
        expected: [unit, column] expected values, or their sums over the queries of a cluster; finite.
        variance: [unit, column] variances over tie orders, or their sums; NaN if unknown.
        first: [comparison] column of system A.
        second: [comparison] column of system B.
        level: level of the intervals, 0.95 for example.
        seed: seed of the draws.
        extremes: extremes that bound a realized difference where a variance is not known; None where they are not known
            either.
        sizes: [unit] number of queries; None where each unit is a query.
    """
    if len(expected) < 2:
        ends = np.full((len(first), 2), np.nan)
        return Intervals(ends, ends.copy(), np.zeros(len(first), dtype=bool))
    draws = ResampleDraws(resamples, seed, threads, level)
    return intervals_of(ResampledColumns.of(expected, variance, draws, sizes), first, second, draws, extremes)


def intervals_of(
    resampled: ResampledColumns, first: Ints, second: Ints, draws: ResampleDraws, extremes: Extremes | None = None
) -> Intervals:
    """The individual intervals of pairs of resampled columns; as `bootstrap_intervals`."""
    grid, sizes, sums, spread = resampled.grid, resampled.sizes, resampled.sums, resampled.spread
    known, find = resampled.known, _Ends(draws, sizes)
    rounding = grid.step[first] + grid.step[second]
    blurred: Bools = np.any(spread, axis=1)
    differences = grid.values[:, first] - grid.values[:, second]

    def means(some: Ints) -> Floats:
        return (sums[first[some]] - sums[second[some]]) / sizes.drawn

    ends = find(means, differences, rounding)
    sure: Bools = np.logical_and(known[first], known[second])
    tied, unknown = np.flatnonzero(sure & (blurred[first] | blurred[second])), np.flatnonzero(~sure)
    realized = np.where(sure[:, None], ends, np.nan)
    a, b, total = first[tied], second[tied], resampled.ties.values.sum(axis=0)
    ties = _Ties(
        (total[a] + total[b]) / sizes.total**2,
        lambda some: (spread[a[some]] + spread[b[some]]) / sizes.drawn**2,
        normal_noise(draws.resamples, draws.seed),
    )
    realized[tied] = find(lambda some: means(tied[some]), differences[:, tied], rounding[tied], ties)
    if extremes is not None and len(unknown):
        reach = ends - (differences.sum(axis=0) / sizes.total)[:, None]
        realized[unknown] = _bounds(extremes, reach[unknown], first[unknown], second[unknown], find)
    return Intervals(ends, realized, ~sure & ~np.isnan(realized[:, 0]))


def realized_intervals(
    columns: ValueGrid, sums: Floats, ties: Floats, spread: Floats, draws: ResampleDraws, sizes: Sizes
) -> Floats:
    """[comparison, 2] individual intervals of realized differences, each difference a column of its own.

    Args:
        columns: [unit, comparison] differences.
        sums: [comparison, resample] sums of the differences.
        ties: [unit, comparison] variances over tie orders, known.
        spread: [comparison, resample] sums of these variances.
        draws: how the units were resampled.
        sizes: sizes of the units.
    """
    noise = _Ties(
        ties.sum(axis=0) / sizes.total**2,
        lambda some: spread[some] / sizes.drawn**2,
        normal_noise(draws.resamples, draws.seed),
    )
    return _Ends(draws, sizes)(lambda some: sums[some] / sizes.drawn, columns.values, columns.step, noise)


def _bounds(extremes: Extremes, reach: Floats, first: Ints, second: Ints, find: _Ends) -> Floats:
    """Ends beyond which no tie order moves a mean difference.

    Args:
        extremes: extremes of every column.
        reach: [comparison, 2] ends of the interval of the expected difference, less the measured mean.
        first: [comparison] column of system A.
        second: [comparison] column of system B.
        find: computes the ends.

    Returns:
        [comparison, 2] bounds; NaN where extremes are not known.
    """
    columns, place = np.unique(np.concatenate([first, second]), return_inverse=True)
    one, other = np.split(place.ravel(), 2)
    values = np.hstack([extremes.lowest[:, columns], extremes.highest[:, columns]])
    finite = np.isfinite(values)
    grid = to_grid(np.where(finite, values, 0.0))
    sums, measured = find.draws.sums(grid), grid.values.sum(axis=0) / find.sizes.total
    known: Bools = np.logical_and(*np.split(finite.all(axis=0), 2))

    def side(a: Ints, b: Ints) -> tuple[Floats, Floats]:
        apart, rounding = grid.values[:, a] - grid.values[:, b], grid.step[a] + grid.step[b]
        ends = find(lambda some: (sums[a[some]] - sums[b[some]]) / find.sizes.drawn, apart, rounding)
        return ends, (measured[a] - measured[b])[:, None] + reach

    # The highest values follow all the lowest.
    low = np.minimum(*side(one, other + len(columns)))[:, 0]
    high = np.maximum(*side(one + len(columns), other))[:, 1]
    return np.where((known[one] & known[other])[:, None], np.stack([low, high], axis=1), np.nan)
