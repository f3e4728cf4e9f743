"""Simultaneous intervals of many differences: all contain their true values together, at the level.

For a family of pairs, with mean difference D, resampled mean D*, and scale s:

    D -+ c s,   c = quantile(max over the family of |D* - D| / s, level) f

s is the standard error of D, so that pairs that vary little do not get intervals as wide as those that vary most
(Romano & Wolf 2005). f corrects the bootstrap of few units, as in bootstrap_intervals.py:

    f = sqrt(n / (n-1)) t_{n-1}((1 + level) / 2) / z((1 + level) / 2)

A pair's individual interval may reach farther on one side, because it follows the skew of its differences. The
simultaneous one always contains it. A realized difference has tie noise: each run's own, the same in all pairs of the
run.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from trueval.comparison.resampling.bootstrap_intervals import (
    WIDTH,
    Extremes,
    Intervals,
    ResampledColumns,
    ResampleDraws,
    Sizes,
)
from trueval.comparison.resampling.resampled_sums import RUN_NOISE, blocks, family_blocks, in_threads, normal_noise
from trueval.standings.standings import Floats, Ints


class Family(NamedTuple):
    """Pairs of columns whose intervals hold simultaneously.

    Attributes:
        first: [comparison] column of system A.
        second: [comparison] column of system B.
        number: [comparison] index of its family.
        run: [column] index of the run whose tie noise it has.
    """

    first: Ints
    second: Ints
    number: Ints
    run: Ints


class Simultaneous(NamedTuple):
    """Ends of the simultaneous intervals.

    Attributes:
        expected: [comparison, 2] interval of the expected difference; NaN below two units.
        realized: [comparison, 2] interval of a realized difference; NaN also where neither tie variances nor extremes
            are known.
    """

    expected: Floats
    realized: Floats


class Deviations(NamedTuple):
    """Deviations of resampled differences from the measured ones, in units of their scales.

    Attributes:
        expected: [family, resample] the largest deviation of expected differences.
        realized: [family, resample] the largest deviation of realized differences, with tie noise.
        scales: [comparison] scale of both; 0 where nothing but rounding varies.
    """

    expected: Floats
    realized: Floats
    scales: tuple[Floats, Floats]

    def join(self, others: Iterable[Deviations]) -> Deviations:
        """Join the deviations of one family whose comparisons count different queries, each resampled separately.

        They are treated as independent, which is conservative (Sidak 1967).
        """
        several = list(others)
        expected, realized = (np.maximum.reduce([each[at] for each in several]) for at in (0, 1))
        return Deviations(expected, realized, self.scales)


def deviations(resampled: ResampledColumns, family: Family, draws: ResampleDraws) -> Deviations:
    """The largest deviations of each family.

    Args:
        resampled: the columns, of at least two units.
        draws: how the units were resampled.
    """
    first, second, sizes = family.first, family.second, resampled.sizes
    moved = resampled.sums / sizes.drawn - resampled.grid.values.sum(axis=0)[:, None] / sizes.total
    noisy = np.sqrt(resampled.spread)
    for column, run in enumerate(family.run.tolist()):  # in place: of many runs each array is large
        noisy[column] *= normal_noise(draws.resamples, draws.seed, RUN_NOISE + run)
    noisy /= sizes.drawn
    noisy += moved
    variance, ties = _variances(resampled, first, second), resampled.ties.values.sum(axis=0)
    rounding = 4 * (resampled.grid.step[first] + resampled.grid.step[second])
    scales = np.sqrt(variance), np.sqrt(variance + (ties[first] + ties[second]) / sizes.total**2)
    for scale in scales:
        scale[scale <= rounding] = 0.0
    expected, realized = (
        _largest(each, family, scale, draws) for each, scale in zip((moved, noisy), scales, strict=True)
    )
    return Deviations(expected, realized, scales)


def simultaneous_intervals(
    resampled: ResampledColumns,
    family: Family,
    found: Deviations,
    alone: Intervals,
    draws: ResampleDraws,
    extremes: Extremes | None = None,
) -> Simultaneous:
    """The simultaneous interval ends of each family; each interval contains that of the pair alone.

    Args:
        found: deviations of the pairs.
        alone: individual intervals of the same pairs, each at the level.
        draws: how the units were resampled.
        extremes: as `bootstrap_intervals` takes them.
    """
    first, second, total = family.first, family.second, resampled.sizes.total
    sums = resampled.grid.values.sum(axis=0)
    middle, wider = (sums[first] - sums[second]) / total, few_units(len(resampled.grid.values), draws.level)
    expected, realized = (
        _around(middle - away, middle + away, single)
        for largest, scale, single in zip(found[:2], found.scales, (alone.expected, alone.realized), strict=True)
        for away in [np.quantile(largest, draws.level, axis=1)[family.number] * scale * wider]
    )
    known = resampled.known[first] & resampled.known[second]
    realized[~known] = np.nan
    if extremes is not None and not known.all():
        # As in bootstrap_intervals.py: the lowest and the highest difference, as far away as the ends of the expected
        # one are.
        lowest, highest = (each.sum(axis=0) / total for each in extremes)
        away = expected - middle[:, None]
        low, high = lowest[first] - highest[second] + away[:, 0], highest[first] - lowest[second] + away[:, 1]
        realized[~known] = _around(low, high, alone.realized)[~known]
    rounding = (resampled.grid.step[first] + resampled.grid.step[second])[:, None]
    return Simultaneous(*(np.where(np.abs(each) <= rounding, 0.0, each) for each in (expected, realized)))


def _around(low: Floats, high: Floats, single: Floats) -> Floats:
    """[comparison, 2] ends that also contain the individual interval of each pair."""
    return np.stack([np.minimum(low, single[:, 0]), np.maximum(high, single[:, 1])], axis=1)


def _largest(columns: Floats, family: Family, scale: Floats, draws: ResampleDraws) -> Floats:
    """[family, resample] the largest distance of two columns, in units of the scale."""
    parts = family_blocks(family.number, WIDTH)
    found = np.empty((len(parts), draws.resamples))
    inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)

    def work(index: int) -> None:
        part = parts[index]
        apart = np.abs(columns[family.first[part]] - columns[family.second[part]])
        apart *= inverse[part, None]
        found[index] = apart.max(axis=0)

    in_threads(work, len(parts), draws.threads)
    largest = np.zeros((int(family.number.max(initial=0)) + 1, draws.resamples))
    for part, values in zip(parts, found, strict=True):
        of_family = largest[family.number[part[0]]]
        np.maximum(of_family, values, out=of_family)
    return largest


def _variances(resampled: ResampledColumns, first: Ints, second: Ints) -> Floats:
    """[comparison] squared standard error of the mean difference over units."""
    values, sizes = resampled.grid.values, resampled.sizes
    out = np.empty(len(first))
    for part in blocks(len(first), WIDTH):
        # Rows, since NumPy's sum of a row does not depend on the other rows, but that of a column depends on the other
        # columns.
        apart = np.ascontiguousarray((values[:, first[part]] - values[:, second[part]]).T)
        out[part] = squared_standard_errors(apart, sizes)
    return out


def squared_standard_errors(apart: Floats, sizes: Sizes) -> Floats:
    """[comparison] squared standard error of the mean of [comparison, unit] differences."""
    units = apart.shape[1]
    residuals = apart - np.outer(apart.sum(axis=1) / sizes.total, sizes.units)
    found: Floats = (residuals**2).sum(axis=1) * units / (units - 1) / sizes.total**2
    return found


def few_units(units: int, level: float) -> float:
    """The factor by which a bootstrap of few units is too narrow.

    >>> round(few_units(12, 0.95), 3), round(few_units(10_000, 0.95), 3)
    (1.173, 1.0)
    """
    from scipy.special import ndtri, stdtrit

    share = (1 + level) / 2
    return float(math.sqrt(units / (units - 1)) * stdtrit(units - 1, share) / ndtri(share))
