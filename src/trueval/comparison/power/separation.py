"""Separation: the least differences that `compare` separates with a given power, by simulation of its own rule.

A world is a sample, with replacement, of the measured units (queries, or clusters of them), as many as requested. No
run is better in it: the mean of the run is subtracted from the values x of every unit, and the rest is scaled by sqrt(n
/ (n - 1)), since the spread of n values around their own mean is too small by that factor. With S the sum of the
differences x of a pair, N the number of queries, n_u those of a unit and d a difference that is added to each query,
`compare` separates the pair from the largest of three d on:

    test       (S + d N)^2 = c^2 sum (x_u + d n_u)^2, c the bar of MaxT: alpha of the sign patterns have a pair above it
    interval   - low, with low the end of the simultaneous interval where d is 0, which moves with d
    ties       (z sqrt(V) - S) / N, V the variance of S over tie orders: fewer orders than the level let the run win

The least difference that is found with a power is that quantile over worlds; infinite where no difference is separated,
as with five queries, of which no sign pattern is rarer than 1 in 16. The bar is that of the world without d, which
differs little from that with it (docs/power.md has the figures).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from trueval.comparison.resampling.bootstrap_intervals import ResampledColumns, ResampleDraws, intervals_of
from trueval.comparison.resampling.clusters import QueryUnits
from trueval.comparison.resampling.paired_tests import RandomizationResult, randomization_test
from trueval.comparison.resampling.resampled_sums import ALL_SIGNS_UP_TO, WORLDS, SignPatterns, generator
from trueval.comparison.resampling.simultaneous import Family, deviations, simultaneous_intervals
from trueval.standings.standings import Floats, Ints

# Number of worlds per seed of the rule. It has few resamples, whose errors average out over seeds.
BATCH: Final = 40

# Resamples and sign patterns beyond an end: this number divided by alpha is drawn.
BEYOND: Final = 40

# Maximum pairs over all worlds, and minimum number of worlds.
MOST_PAIRS: Final = 20_000
FEWEST_WORLDS: Final = 100


class SeparationRise(NamedTuple):
    """How much larger the least difference of a pair is than that of a t test of the pair alone.

    Attributes:
        units: [point] simulated numbers of units, ascending.
        ratio: [point] the least difference over that of the t test; infinite where the pair is never separated.
    """

    units: tuple[int, ...]
    ratio: tuple[float, ...]

    def at(self, units: float) -> float:
        """The ratio at a number of units: interpolated on the logarithm of the number, constant beyond the last point.

        >>> rise = SeparationRise((6, 8, 32), (float("inf"), 1.2, 1.0))
        >>> rise.at(7), round(rise.at(16), 6), rise.at(1000)
        (inf, 1.1, 1.0)
        """
        above = bisect_left(self.units, units)
        if above == len(self.units):
            return self.ratio[-1] if self.ratio else math.inf
        if self.units[above] == units:
            return self.ratio[above]
        low, high = (self.ratio[above - 1] if above else math.inf), self.ratio[above]
        if math.isinf(low) or math.isinf(high):
            return math.inf
        share = math.log(units / self.units[above - 1]) / math.log(self.units[above] / self.units[above - 1])
        return low + share * (high - low)


class _Pairs(NamedTuple):
    """The pairs of a batch of worlds, world by world; columns of values have the same order.

    Attributes:
        family: first and second column of each pair, its world, and the run of each column.
        direction: [world and pair] 1 where the first run is the better one, -1 where the second is.
    """

    family: Family
    direction: Floats


@dataclass(frozen=True, eq=False)
class UnitPopulation:
    """The units of queries that worlds are drawn from.

    Attributes:
        values: [unit, run] sums over its queries, minus the mean of each run.
        ties: [unit, run] sums of variances over tie orders; 0 where not known.
        sizes: [unit] number of queries.
        pairs: [pair, 2] runs, one family.
        direction: [pair] 1 where the first of the runs is the better one, -1 where the second is.
    """

    values: Floats
    ties: Floats
    sizes: Floats
    pairs: Ints
    direction: Floats

    @classmethod
    def of(cls, expected: Floats, variances: Floats, codes: Ints, pairs: Ints) -> UnitPopulation:
        """Build the population from the measured values.

        Args:
            expected: [query, run] expected values.
            variances: [query, run] over tie orders; NaN if unknown.
            codes: [query] index of its unit; at least two units.
            pairs: [pair, 2] runs.
        """
        units = QueryUnits.of(codes)
        sums, sizes = units.sums(expected), units.sizes
        means = sums.sum(axis=0) / sizes.sum()
        values = (sums - means * sizes[:, None]) * math.sqrt(len(sizes) / (len(sizes) - 1))
        gain = means[pairs[:, 0]] - means[pairs[:, 1]]
        return cls(values, np.nan_to_num(units.sums(variances)), sizes, pairs, np.where(gain < 0, -1.0, 1.0))

    def least_differences(self, units: int, *, level: float, power: float, worlds: int) -> Floats:
        """[pair] the least difference that a number of units separates with the power; infinite where none is.

        Args:
            units: number of units, two or more.
            level: level of the rule.
            power: share of the worlds in which the pair is separated.
            worlds: number of worlds to draw, fewer where pairs are many.
        """
        found = self.critical_differences(units, level=level, worlds=worlds)
        return np.asarray(np.quantile(found, power, axis=0, method="higher"))

    def critical_differences(self, units: int, *, level: float, worlds: int) -> Floats:
        """[world, pair] the least difference at which each pair is separated; infinite where none is."""
        if SignPatterns(units, BEYOND, 0).least_p >= round(1 - level, 12) and units <= ALL_SIGNS_UP_TO:
            return np.full((1, len(self.pairs)), np.inf)
        # Columns of one call have units of equal sizes, so worlds with other sizes need separate calls.
        alike = bool((self.sizes == self.sizes[0]).all())
        most, size = (worlds, BATCH) if alike else (worlds // 3, 1)
        count = max(min(most, MOST_PAIRS // len(self.pairs)), min(worlds, FEWEST_WORLDS))
        return np.concatenate(
            [self._batch(units, min(size, count - start), level, start) for start in range(0, count, size)]
        )

    def _batch(self, units: int, worlds: int, level: float, seed: int) -> Floats:
        """[world, pair] the least difference at which each pair is separated, for a batch of worlds."""
        drawn = generator(seed, WORLDS, units).integers(0, len(self.sizes), (units, worlds))
        values, ties = (each[drawn].reshape(units, -1) for each in (self.values, self.ties))
        runs = self.values.shape[1]
        begin = np.repeat(np.arange(worlds) * runs, len(self.pairs))
        first, second = (begin + np.tile(self.pairs[:, side], worlds) for side in (0, 1))
        family = Family(first, second, begin // runs, np.tile(np.arange(runs), worlds))
        pairs = _Pairs(family, np.tile(self.direction, worlds))
        draws = ResampleDraws(math.ceil(BEYOND / (1 - level)), seed, 1, level)
        found = _critical(values, ties, self.sizes[drawn[:, 0]], pairs, draws)
        return found.reshape(worlds, -1)


def _critical(values: Floats, ties: Floats, sizes: Floats, pairs: _Pairs, draws: ResampleDraws) -> Floats:
    """[world and pair] the least difference at which the pair is separated."""
    from scipy.special import ndtri

    family, sign = pairs
    flipped = randomization_test(
        values,
        family.first,
        family.second,
        resamples=draws.resamples,
        seed=draws.seed,
        threads=draws.threads,
        family=family.number,
    )
    columns = ResampledColumns.of(values, np.zeros_like(values), draws, sizes)
    alone = intervals_of(columns, family.first, family.second, draws)
    together = simultaneous_intervals(columns, family, deviations(columns, family, draws), alone, draws).expected
    apart = sign * (values[:, family.first] - values[:, family.second])
    by_test = _beyond(_bar(flipped, draws.level)[family.number], apart, sizes)
    by_interval = np.where(sign > 0, -together[:, 0], together[:, 1])
    variance = (ties[:, family.first] + ties[:, family.second]).sum(axis=0)
    by_ties = (float(ndtri(draws.level)) * np.sqrt(variance) - apart.sum(axis=0)) / sizes.sum()
    return np.maximum(np.maximum(by_test, by_interval), np.where(variance > 0, by_ties, -np.inf))


def _bar(flipped: RandomizationResult, level: float) -> Floats:
    """[family] the threshold of the statistic for an adjusted p below alpha; infinite where it is unreachable."""
    signs, alpha = flipped.signs, round(1 - level, 12)
    # p = share(k) of the k patterns that reach it.
    most = int(np.searchsorted(signs.share(np.arange(signs.count + 1)), alpha, side="left")) - 1
    if most < 0 or most >= signs.count:
        return np.full(len(flipped.largest), np.inf)
    return np.asarray(flipped.largest[:, signs.count - 1 - most])


def _beyond(bar: Floats, apart: Floats, sizes: Floats) -> Floats:
    """[comparison] the d above which |S + d N| / sqrt(sum (x + d n)^2) exceeds a bar: the larger root.

    Args:
        bar: [comparison] c.
        apart: [unit, comparison] x.
        sizes: [unit] n.
    """
    square = np.where(np.isfinite(bar), bar, 0.0) ** 2
    total, count = apart.sum(axis=0), sizes.sum()
    lead = count**2 - square * (sizes**2).sum()
    half = total * count - square * (apart * sizes[:, None]).sum(axis=0)
    last = total**2 - square * (apart**2).sum(axis=0)
    # As d grows the statistic approaches N / sqrt(sum n^2); a bar beyond that is never passed.
    passes = np.isfinite(bar) & (lead > 1e-12 * count**2)
    root = np.sqrt(np.maximum(half**2 - lead * last, 0.0))
    return np.where(passes, np.divide(root - half, lead, out=np.zeros_like(lead), where=passes), np.inf)
