"""Rank correlation over queries, in one stratum or within several, with bootstrap intervals.

    Spearman   Pearson's correlation of midranks
    Kendall    tau-b: (C - D) / sqrt((pairs not tied in x) (pairs not tied in y)) (Kendall 1945)

A stratum is what ranks are taken within: a model under a condition. Of several strata numerators and both parts of the
denominator are summed before they are divided, so a difference between strata plays no part:

    Spearman = sum cov_s / sqrt(sum var_x,s  sum var_y,s), of midranks divided by the queries of the stratum
    Kendall  = sum (C - D)_s / n_s^2 / sqrt(sum X_s / n_s^2  sum Y_s / n_s^2)

Intervals are percentiles of resamples that draw queries, each with its values in all strata: one query under nine
conditions is one observation. A query drawn twice counts twice; pairs of its copies are not compared in tau-b. The
percentiles are widened for few queries, as those of means are (comparison/resampling/bootstrap_intervals.py).
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from trueval.comparison.resampling.bootstrap_intervals import tail
from trueval.comparison.resampling.resampled_sums import bootstrap_sums, thread_count, to_grid
from trueval.probes.prediction_result import CorrelationEntry
from trueval.standings.standings import Bools, Floats, Ints

# Minimum number of queries for a correlation: of five, one order in 60 agrees fully by chance.
LEAST: Final = 6
# Minimum share of resamples with a defined correlation for a percentile interval.
ENOUGH: Final = 0.9
# Number of query pairs held in memory at once.
MOST_CELLS: Final = 1 << 22


class Correlation(NamedTuple):
    """A rank correlation with its interval; NaN where undefined.

    Attributes:
        value: from -1 to 1.
        low: end of the interval.
        high: end of the interval.
    """

    value: float
    low: float
    high: float

    def entry(self) -> CorrelationEntry:
        """The correlation in a result."""
        return CorrelationEntry(*self)


NOTHING: Final = Correlation(np.nan, np.nan, np.nan)


class Correlations(NamedTuple):
    """Spearman's and Kendall's correlation.

    Attributes:
        kendall: tau-b.
        queries: number of queries with both values in some stratum.
        reason: why a value or an interval is missing; empty if none is.
    """

    spearman: Correlation
    kendall: Correlation
    queries: int
    reason: str = ""

    def entry(self) -> dict[str, Any]:
        """The fields of a row of a result."""
        return {
            "spearman": self.spearman.value,
            "low": self.spearman.low,
            "high": self.spearman.high,
            "kendall": self.kendall.entry(),
            "queries": self.queries,
            "reason": self.reason or None,
        }


class CorrelationStratum(NamedTuple):
    """Paired values of one model's queries under one condition.

    Attributes:
        x: [query] signal; NaN if unknown.
        y: [query] change; NaN if unknown.
    """

    x: Floats
    y: Floats

    @property
    def known(self) -> Bools:
        """[query] whether both values are known."""
        return ~(np.isnan(self.x) | np.isnan(self.y))

    @property
    def lacks(self) -> str:
        """The variable without variation, for which no correlation is defined; "" where both vary."""
        for name in ("x", "y"):
            values = getattr(self, name)[self.known]
            if len(values) == 0 or np.ptp(values) == 0:
                return name
        return ""


def correlate(
    strata: list[CorrelationStratum],
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    threads: int | None = None,
    names: tuple[str, str] = ("x", "y"),
) -> Correlations:
    """Compute rank correlations within strata.

    Args:
        strata: strata over the same queries, in the same order; those in which x or y is constant are left out.
        threads: number of threads; does not affect the result.
        names: names of x and y, for reasons.

    >>> x = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    >>> found = correlate([CorrelationStratum(x, x ** 2)], resamples=100)
    >>> found.spearman.value, found.kendall.value, found.queries
    (1.0, 1.0, 6)
    >>> correlate([CorrelationStratum(x, np.zeros(6))], names=("drop", "loss")).reason
    'loss is the same for every query, so there is no order to compare.'
    """
    told = [each for each in strata if not each.lacks]
    if not told:
        same = names[0] if not strata or strata[0].lacks == "x" else names[1]
        queries = int(np.any([each.known for each in strata], axis=0).sum()) if strata else 0
        reason = f"{same} is the same for every query, so there is no order to compare."
        if not queries:
            reason = "no query has both values: each stays as it is, or nothing is known of it."
        return Correlations(NOTHING, NOTHING, queries, reason)
    anywhere = np.any([each.known for each in told], axis=0)
    told = [CorrelationStratum(each.x[anywhere], each.y[anywhere]) for each in told]
    queries = int(anywhere.sum())
    if queries < LEAST:
        return Correlations(NOTHING, NOTHING, queries, f"{queries} queries are too few: {LEAST} are the least.")
    once = np.ones((1, queries))
    measured = [float(each[0]) for each in _both(told, once)]
    # Integers, so that every sum is exact and does not depend on the number of threads.
    counts = bootstrap_sums(to_grid(np.eye(queries)), resamples, seed, thread_count(threads)).T
    drawn = _both(told, counts)
    share = tail(queries, level)
    ends = [_ends(each, share) for each in drawn]
    reason = "" if all(np.isfinite(each).all() for each in ends) else _rare(drawn[0], names)
    pair = [Correlation(value, *each) for value, each in zip(measured, ends, strict=True)]
    return Correlations(pair[0], pair[1], queries, reason)


def across(
    strata: list[CorrelationStratum],
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    threads: int | None = None,
) -> Correlation:
    """Spearman's correlation over all strata pooled, whatever differs between them.

    Args:
        strata: strata over the same queries; a query is drawn with its values in all of them.

    >>> low, high = np.arange(6.0), np.arange(6.0) + 10
    >>> strata = [CorrelationStratum(low, -low), CorrelationStratum(high, 20 - low)]  # each alone has -1
    >>> across(strata, resamples=50).value.__round__(3)
    0.51
    """
    anywhere = np.any([each.known for each in strata], axis=0)
    queries = int(anywhere.sum())
    whole = CorrelationStratum(
        *(np.concatenate([getattr(each, name)[anywhere] for each in strata]) for name in ("x", "y"))
    )
    if queries < LEAST or whole.lacks:
        return NOTHING
    counts = bootstrap_sums(to_grid(np.eye(queries)), resamples, seed, thread_count(threads)).T
    known = np.tile(np.arange(queries), len(strata))[whole.known]
    one = CorrelationStratum(whole.x[whole.known], whole.y[whole.known])
    drawn = [_spearman(one, each[:, known]) for each in (np.ones((1, queries)), counts)]
    return Correlation(float(drawn[0][0]), *_ends(drawn[1], tail(queries, level)))


def _spearman(stratum: CorrelationStratum, counts: Floats) -> Floats:
    return _ratio(_products(_center_ranks(stratum.x, counts), _center_ranks(stratum.y, counts), counts))


def _ratio(sums: Floats) -> Floats:
    """[resample] from [3, resample] sums: the first over the root of the product of the others; NaN where one is 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        # Square roots one by one: a product of the two could be too small for a float64.
        found = np.clip(sums[0] / (np.sqrt(sums[1]) * np.sqrt(sums[2])), -1, 1)
    ratio: Floats = np.where((sums[1] > 0) & (sums[2] > 0), found, np.nan)
    return ratio


def _rare(drawn: Floats, names: tuple[str, str]) -> str:
    lost = np.isnan(drawn).mean()
    return f"No interval: in {lost:.0%} of the resamples {names[0]} or {names[1]} does not vary. Take more queries."


def _ends(drawn: Floats, share: float) -> tuple[float, float]:
    known = drawn[~np.isnan(drawn)]
    if len(known) < ENOUGH * len(drawn):
        return np.nan, np.nan
    low, high = np.quantile(known, [share, 1 - share])
    return float(low), float(high)


def _both(strata: list[CorrelationStratum], counts: Floats) -> tuple[Floats, Floats]:
    """[resample] Spearman's and Kendall's correlation of weighted queries; NaN without variance."""
    sums = np.zeros((2, 3, len(counts)))
    for each in strata:
        known = each.known
        own = np.ascontiguousarray(counts[:, known])
        total = own.sum(axis=1)
        scale = 1 / np.maximum(total, 1)  # a resample may have none of the queries of a stratum
        sums[0] += _products(_center_ranks(each.x[known], own), _center_ranks(each.y[known], own), own) * scale**2
        sums[1] += _pairs(each.x[known], each.y[known], own) * scale**2
    return _ratio(sums[0]), _ratio(sums[1])


def _center_ranks(values: Floats, counts: Floats) -> Floats:
    """[resample, query] weighted midranks minus their mean, (n + 1) / 2."""
    group, sizes = _groups(values, counts)
    below = np.cumsum(sizes, axis=1) - sizes
    middle = below + (sizes + 1) / 2
    found: Floats = (middle - (counts.sum(axis=1, keepdims=True) + 1) / 2)[:, group]
    return found


def _groups(values: Floats, counts: Floats) -> tuple[Ints, Floats]:
    """[query] index of its group of equal values, in value order, and [resample, group] weight of each group."""
    _, group = np.unique(values, return_inverse=True)
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(group.max() + 1))
    return group, np.add.reduceat(counts[:, order], starts, axis=1)


def _products(x: Floats, y: Floats, counts: Floats) -> Floats:
    """[3, resample] sums of products x·y, x·x and y·y; multiples of 1/4, hence exact."""
    return np.stack([(counts * one * other).sum(axis=1) for one, other in ((x, y), (x, x), (y, y))])


def _pairs(x: Floats, y: Floats, counts: Floats) -> Floats:
    """[3, resample] concordant minus discordant pairs, pairs not tied in x, and in y; each pair counts twice."""
    agreed = np.zeros(len(counts))
    size = max(1, MOST_CELLS // len(x))
    for start in range(0, len(x), size):
        some = slice(start, start + size)
        signs = np.sign(x[:, None] - x[some]) * np.sign(y[:, None] - y[some])
        agreed += ((counts @ signs) * counts[:, some]).sum(axis=1)
    # Of n queries n^2 pairs, less those within a group of equal values.
    untied = (counts.sum(axis=1) ** 2 - (_groups(each, counts)[1] ** 2).sum(axis=1) for each in (x, y))
    return np.stack([agreed, *untied])
