"""Bootstrap intervals over queries: of the expected difference, and of a realized one.

Expected difference: the mean over the population of queries of E[A] - E[B]. Its interval resamples queries.
Realized difference: that mean plus the accident of one order of ties for each system on as many queries as were
measured, what a tool that breaks ties in some order reports in its place. Its interval resamples queries and gives
every drawn query fresh tie noise of its own variance, Var_ties(A) + Var_ties(B).
Where such a variance is not known, the ends are bounds: the lower end is that of an interval of the mean of
L = lowest(A) - highest(B), the upper end that of H = highest(A) - lowest(B).

    Coverage: whatever breaks the ties, the population mean m of the differences that it leaves lies in [E L, E H], so
    P(low > m) <= P(low > E L) <= (1 - level) / 2, and likewise above: at least the level, as far as a bootstrapped
    mean keeps its own. In each resample mean L <= mean E[A] - E[B] <= mean H, so the bounds hold the expected interval.

Percentile intervals of a mean are too short by the factor sqrt((n-1)/n) and by normal instead of t quantiles. Both are
made good by taking other quantiles (Hesterberg 2015, "What teachers should know about the bootstrap", section 5.3):

    tail = Phi(-sqrt(n / (n-1)) * t_{n-1}(1 - alpha/2))
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from trueval.decisions.resampling import blocks, bootstrap_sums, in_threads, normal_noise, to_grid
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
    out = Intervals(ends, ends.copy(), np.zeros(len(first), dtype=bool))
    if queries < 2:
        return out
    known: Bools = np.logical_not(np.isnan(variance).any(axis=0))
    sums = bootstrap_sums(to_grid(expected), resamples, seed, threads)
    spread = bootstrap_sums(to_grid(np.where(known, variance, 0.0)), resamples, seed, threads)
    noise, share = normal_noise(resamples, seed), tail(queries, level)
    parts = blocks(len(first), WIDTH)

    def work(index: int) -> None:
        part = parts[index]
        a, b = first[part], second[part]
        means = (sums[a] - sums[b]) / queries
        out.expected[part] = np.quantile(means, [share, 1 - share], axis=1).T
        out.realized[part] = out.expected[part]
        out.realized[part[~(known[a] & known[b])]] = np.nan
        tied = np.flatnonzero(known[a] & known[b] & (spread[a].any(axis=1) | spread[b].any(axis=1)))
        means[tied] += noise * np.sqrt(spread[a[tied]] + spread[b[tied]]) / queries
        if len(tied):
            out.realized[part[tied]] = np.quantile(means[tied], [share, 1 - share], axis=1).T

    in_threads(work, len(parts), threads)
    unknown = np.flatnonzero(~(known[first] & known[second]))
    if extremes is not None and len(unknown):
        draws = _Draws(resamples, seed, threads, share)
        out.realized[unknown] = _bounds(extremes, first[unknown], second[unknown], draws)
        out.bounded[unknown] = ~np.isnan(out.realized[unknown, 0])
    return out


def _bounds(extremes: Extremes, first: Ints, second: Ints, draws: _Draws) -> Floats:
    """[comparison, 2] ends that no order of ties moves the mean difference past; NaN where extremes are not known."""
    columns, place = np.unique(np.concatenate([first, second]), return_inverse=True)
    one, other = np.split(place.ravel(), 2)
    values = np.hstack([extremes.lowest[:, columns], extremes.highest[:, columns]])
    finite = np.isfinite(values)
    sums = bootstrap_sums(to_grid(np.where(finite, values, 0.0)), draws.resamples, draws.seed, draws.threads)
    lowest, highest = np.split(sums, 2)
    known: Bools = np.logical_and(*np.split(finite.all(axis=0), 2))
    out, parts = np.full((len(first), 2), np.nan), blocks(len(first), WIDTH)

    def work(index: int) -> None:
        part = parts[index][(known[one] & known[other])[parts[index]]]
        a, b = one[part], other[part]
        if len(part):
            out[part, 0] = np.quantile((lowest[a] - highest[b]) / len(values), draws.share, axis=1)
            out[part, 1] = np.quantile((highest[a] - lowest[b]) / len(values), 1 - draws.share, axis=1)

    in_threads(work, len(parts), draws.threads)
    return out
