"""Bootstrap intervals over queries: of the expected difference, and of a realized one.

Expected difference: the mean over the population of queries of E[A] - E[B]. Its interval resamples queries.
Realized difference: that mean plus the accident of one order of ties for each system on as many queries as were
measured, what a tool that breaks ties in some order reports in its place. Its interval resamples queries and gives
every drawn query fresh tie noise of its own variance, Var_ties(A) + Var_ties(B).

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
        realized: [comparison, 2] of a realized difference; NaN also where a tie variance is not known.
    """

    expected: Floats
    realized: Floats


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
    """
    queries = len(expected)
    out = Intervals(np.full((len(first), 2), np.nan), np.full((len(first), 2), np.nan))
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
    return out
