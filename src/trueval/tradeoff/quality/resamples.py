"""Resamples of a sweep's measurements: queries for quality; queries and repeats for latency.

Quality: every resample draws as many queries as there are, with replacement, the same for all configurations, so that
effects common to all of them cancel. The mean leaves out queries without a value, as the measured one does. Noise from
tie orders is added with the variance of the drawn queries, the sum of their v_i: independent between configurations,
and the same for those whose values and variances agree query by query up to rounding. So the orders of one system at
several K are treated as independent. They are if each cutoff falls into a tie group of its own; if one group contains
both cutoffs, the noise of their difference is overestimated. Errors are scaled by sqrt(n / (n-1)), since those of a
bootstrap are too small by that factor (Hesterberg 2015, section 5.3).

Latency: every resample draws queries, and repeats, the same ones for all queries, since a busy machine slows a whole
repeat, and takes the percentile of their totals. Systems that share stages have the same times in them, by query and
repeat, and every resample draws the same queries and repeats for all systems, so what they share cancels in their
difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from trueval.comparison.resampling.resampled_sums import (
    CHUNK,
    RUN_NOISE,
    bootstrap_sums,
    generator,
    in_threads,
    normal_noise,
    to_grid,
)
from trueval.standings.standings import Floats, Ints
from trueval.tradeoff.quality.empirical_bayes import Shrunk, shrink, shrink_covariance
from trueval.tradeoff.quality.pareto import merge_rounding_differences

# Random streams of the seed, distinct from those of comparison/resampling/resampled_sums.py.
TIMES: Final = 4 << 32
PRIOR: Final = 5 << 32
FOLDS: Final = 6 << 32


class QualityResamples(NamedTuple):
    """Resamples of the quality of each configuration.

    Attributes:
        measured: [configuration] means over the queries with a value; NaN without any.
        plain: [configuration, resample] means of the resampled queries.
        values: [configuration, resample] samples of the true means (empirical_bayes.py).
        same: [configuration] first configuration with the same values for every query.
        shrunk: result of the shrinkage, with one row per distinct configuration.
    """

    measured: Floats
    plain: Floats
    values: Floats
    same: Ints
    shrunk: Shrunk


class MeanResamples(NamedTuple):
    """Bootstrap resamples of the means of the distinct columns, without shrinkage.

    Attributes:
        values: [configuration] measured means; NaN without values.
        errors: [configuration, resample] means of the resampled queries minus the measured means.
        first: [configuration] index among all columns.
        same: [column] index among the distinct columns.
        residuals: [query, configuration] contribution of the query to the error.
        ties: [configuration] variance of the mean over tie orders.
        counts: [configuration] number of queries with a value.
    """

    values: Floats
    errors: Floats
    first: Ints
    same: Ints
    residuals: Floats
    ties: Floats
    counts: Floats

    @property
    def plain(self) -> Floats:
        """[column, resample] means of the resampled queries."""
        return _of_all(self.values[:, None] + self.errors, self.same)


def resample_means(values: Floats, variances: Floats, *, resamples: int, seed: int, threads: int = 1) -> MeanResamples:
    """Resample queries, identically for all columns, and for all calls with the same number of queries and seed.

    Args:
        values: [query, column] expected values; NaN where a query has none.
        variances: [query, column] variances over tie orders; NaN counts as 0.
        seed: seed of all random numbers.
    """
    known = ~np.isnan(values)
    values, variances = np.where(known, values, 0.0), np.where(known & ~np.isnan(variances), variances, 0.0)
    first, same = _same_columns(known, values, variances)
    known, values, variances = known[:, first], values[:, first], variances[:, first]
    counts = known.sum(axis=0).astype(float)
    with np.errstate(invalid="ignore", divide="ignore"):
        measured = to_grid(values).values.sum(axis=0) / counts
        # Not drawn where the sum is the same in all resamples, without variance and with a value for every query.
        varied, partly = np.flatnonzero(variances.any(axis=0)), np.flatnonzero(~known.all(axis=0))
        asked = np.hstack([values, variances[:, varied], known[:, partly].astype(float)])
        sums = bootstrap_sums(to_grid(asked), resamples, seed, threads)
        errors, spread, some = np.split(sums, [len(first), len(first) + len(varied)])
        drawn = np.broadcast_to(float(len(values)), errors.shape)
        if len(partly):
            drawn = drawn.copy()
            drawn[partly] = some
        errors /= drawn
        for place, variance in zip(varied.tolist(), spread, strict=True):
            noise = normal_noise(resamples, seed, RUN_NOISE + int(first[place]))
            errors[place] += np.sqrt(variance) / drawn[place] * noise
    errors -= measured[:, None]
    # A resample may miss all the few queries with values of a configuration: then it is undefined there.
    np.nan_to_num(errors, copy=False)
    errors *= _bessel_factors(counts)[:, None]
    residuals, ties = _residuals(values, variances, known, measured, counts)
    return MeanResamples(measured, errors, first, same, residuals, ties, counts)


def draw_qualities(
    values: Floats, variances: Floats, features: Floats, *, resamples: int, seed: int, threads: int = 1
) -> QualityResamples:
    """Resample queries, and sample true means from their posterior.

    Args:
        values: [query, configuration] expected values; NaN where a query has none.
        variances: [query, configuration] variances over tie orders; NaN counts as 0.
        features: [configuration, feature] similarity features, from `features_of`.
        seed: seed of all random numbers.

    Example:
        >>> values = np.array([[0.2, 0.2], [0.4, 0.4]])
        >>> found = draw_qualities(values, np.zeros((2, 2)), np.empty((2, 0)), resamples=4, seed=0)
        >>> found.measured.tolist(), bool((found.values[0] == found.values[1]).all())
        ([0.30000000000000004, 0.30000000000000004], True)
    """
    found = resample_means(values, variances, resamples=resamples, seed=seed, threads=threads)
    known = found.counts > 0
    # A slice takes no copy of what is as large as all resamples.
    usable = slice(None) if known.all() else np.flatnonzero(known)
    rng = generator(seed, PRIOR, 0)
    covariance = shrink_covariance(found.residuals[:, usable], found.ties[usable])
    features = _drop_constant_features(features[found.first][usable])
    shrunk = shrink(found.values[usable], found.errors[usable], covariance, features, rng)
    out = shrunk.values
    if not known.all():
        out = np.full((len(found.first), resamples), np.nan)
        out[usable] = shrunk.values
    return QualityResamples(
        found.values[found.same], found.plain, _of_all(out, found.same), found.first[found.same], shrunk
    )


def _of_all(rows: Floats, same: Ints) -> Floats:
    """Rows of distinct columns expanded to all columns; the same rows where all are distinct."""
    return rows if len(same) == len(rows) else rows[same]


def _same_columns(*columns: Floats) -> tuple[Ints, Ints]:
    """Indices of the distinct columns, and for each column its index among them.

    Columns that differ only by rounding count as the same: equal lists from other batches, or sums in another order.
    """
    found: dict[bytes, int] = {}
    stacked = np.ascontiguousarray(np.vstack([merge_rounding_differences(each.T + 0.0).T for each in columns]).T)
    same = np.array([found.setdefault(column.tobytes(), len(found)) for column in stacked], dtype=np.intp)
    return np.unique(same, return_index=True)[1], same


def _bessel_factors(counts: Floats) -> Floats:
    widened: Floats = np.sqrt(counts / np.maximum(counts - 1, 1))
    return widened


def _residuals(
    values: Floats, variances: Floats, known: Floats, measured: Floats, counts: Floats
) -> tuple[Floats, Floats]:
    """Linearized contribution of each query to the error of a mean, and its variance over tie orders."""
    at_least_one = np.maximum(counts, 1)
    apart: Floats = np.where(known, values - np.nan_to_num(measured), 0.0) / at_least_one * _bessel_factors(counts)
    return apart, variances.sum(axis=0) / at_least_one**2


def features_of(*columns: Floats) -> Floats:
    """Similarity features of configurations: standardized logs; unknown values count as the mean.

    Args:
        columns: [configuration] cost, latency and K, at least 0; NaN if unknown.

    Returns:
        [configuration, feature], without constant ones.

    Example:
        >>> features_of(np.array([1.0, 10.0, 100.0]), np.array([5.0, 5.0, 5.0])).round(4).ravel().tolist()
        [-1.2247, 0.0, 1.2247]
    """
    kept = []
    for column in columns:
        positive = column[column > 0]
        if len(positive):
            # A cost of 0 counts as a tenth of the lowest positive cost.
            logs = np.log(np.maximum(column, positive.min() / 10))
            spread = float(np.nanstd(logs))
            if spread > 1e-9:
                kept.append(np.nan_to_num((logs - np.nanmean(logs)) / spread))
    return np.stack(kept, axis=1) if kept else np.empty((len(columns[0]), 0))


def _drop_constant_features(features: Floats) -> Floats:
    """The features that vary among some configurations."""
    return features[:, np.ptp(features, axis=0) > 0] if len(features) else features


def draw_latencies(totals: Floats, shares: Sequence[float], *, resamples: int, seed: int, threads: int = 1) -> Floats:
    """Resample queries and repeats.

    Args:
        totals: [system, query, repeat] seconds; NaN without a sample.
        shares: percentiles as fractions: 0.5 is the median.
        seed: seed of all random numbers.

    Returns:
        [share, system, resample] seconds; NaN for a system without samples.
    """
    systems, queries, repeats = totals.shape
    out = np.full((len(shares), systems, resamples), np.nan)
    if not totals.size:
        return out

    def work(chunk: int) -> None:
        start, rng = chunk * CHUNK, generator(seed, TIMES, chunk)
        query = rng.integers(0, queries, size=(CHUNK, queries))
        repeat = rng.integers(0, repeats, size=(CHUNK, repeats))
        places = (query[:, :, None] * repeats + repeat[:, None]).reshape(CHUNK, -1)[: resamples - start]
        for system in range(systems):
            drawn = np.sort(totals[system].ravel()[places], axis=1)
            out[:, system, start : start + len(places)] = percentiles(drawn, shares)

    in_threads(work, -(-resamples // CHUNK), threads)
    return out


def percentiles(ordered: Floats, shares: Sequence[float]) -> Floats:
    """Percentiles of rows, interpolated as NumPy does by default.

    Args:
        ordered: [row, sample] ascending, NaN last.
        shares: from 0 to 1.

    Returns:
        [share, row]; NaN for a row without samples.

    Example:
        >>> percentiles(np.array([[1.0, 2.0, 4.0, np.nan]]), [0.5, 0.75]).ravel().tolist()
        [2.0, 3.0]
    """
    counts = (~np.isnan(ordered)).sum(axis=1)
    last = np.maximum(counts - 1, 0)
    out = np.empty((len(shares), len(ordered)))
    for number, share in enumerate(shares):
        below = np.floor(last * share).astype(np.intp)
        low = np.take_along_axis(ordered, below[:, None], axis=1)[:, 0]
        high = np.take_along_axis(ordered, np.minimum(below + 1, last)[:, None], axis=1)[:, 0]
        out[number] = low + (high - low) * (last * share - below)
    return out
