"""Paired tests over queries, and effect sizes.

The randomization test asks how often the mean difference would be as far from 0 if, query by query, the names of the
two systems were exchanged by the toss of a coin (Fisher 1935; Smucker, Allan & Carterette 2007).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from trueval.comparison.resampling import blocks, in_threads, lists_all_signs, sign_flip_sums, to_grid
from trueval.standings.standings import Floats, Ints

# Per-query differences are rounded to this many decimals before they are ranked or called equal: 2/3 - 1/3 is 1/3.
DECIMALS = 12

# Comparisons looked at at once by a thread.
WIDTH = 64


def randomization_test(
    expected: Floats, first: Ints, second: Ints, *, resamples: int, seed: int, threads: int
) -> Floats:
    """The p of the two-sided paired randomization test of mean differences.

    Exact: the share of all 2^n sign patterns with |mean| >= |observed mean|, up to 16 queries. Beyond, drawn patterns:
    (1 + those as extreme) / (1 + drawn), which is never 0 (Phipson & Smyth 2010).

    Args:
        expected: [query, column] finite values.
        first: [comparison] column of system A.
        second: [comparison] column of system B.
        resamples: how many sign patterns are drawn.
        seed: of the signs.
        threads: that share the work.

    Returns:
        [comparison] p; NaN without queries.
    """
    out = np.full(len(first), np.nan)
    queries = len(expected)
    if not queries:
        return out
    grid = to_grid(expected)
    sums, observed = sign_flip_sums(grid, resamples, seed, threads), grid.values.sum(axis=0)
    # What rounding to the grids, and rounding before it, can do to a sum of differences.
    slack = queries * 2 * (grid.step[first] + grid.step[second])
    added = 0 if lists_all_signs(queries) else 1
    parts = blocks(len(first), WIDTH)

    def work(index: int) -> None:
        a, b = first[parts[index]], second[parts[index]]
        bar = np.abs(observed[a] - observed[b]) - slack[parts[index]]
        extreme = (np.abs(sums[a] - sums[b]) >= bar[:, None]).sum(axis=1)
        out[parts[index]] = (extreme + added) / (sums.shape[1] + added)

    in_threads(work, len(parts), threads)
    return out


def t_test(differences: Floats) -> Floats:
    """The p of Student's paired t test, by scipy; 1 where every difference is 0, 0 where all are one other value.

    Args:
        differences: [query, comparison].

    Returns:
        [comparison] p; NaN below two queries.
    """
    from scipy.stats import ttest_1samp

    if len(differences) < 2:
        return np.full(differences.shape[1], np.nan)
    rounded = np.round(differences, DECIMALS)
    out = np.where(rounded[0] == 0, 1.0, 0.0)
    varied = np.ptp(rounded, axis=0) > 0
    if varied.any():
        out[varied] = ttest_1samp(_rows(differences)[varied], 0.0, axis=1).pvalue
    return out


def wilcoxon_test(differences: Floats) -> Floats:
    """The p of Wilcoxon's signed rank test, by scipy as it chooses for each comparison; 1 where every difference is 0.

    Args:
        differences: [query, comparison].

    Returns:
        [comparison] p; NaN without queries.
    """
    from scipy.stats import wilcoxon

    if not len(differences):
        return np.full(differences.shape[1], np.nan)
    rounded = np.round(differences, DECIMALS)
    sizes = np.sort(np.abs(rounded), axis=0)
    distinct = (np.diff(sizes, axis=0, prepend=0.0) > 0).all(axis=0)
    out = np.ones(differences.shape[1])
    # scipy chooses one method for a whole array: exact only if no column has zeros or equal sizes.
    for chosen in (distinct, ~distinct & (sizes[-1] > 0)):
        if chosen.any():
            out[chosen] = wilcoxon(rounded[:, chosen], axis=0).pvalue
    return out


class Effects(NamedTuple):
    """Standardized mean differences.

    Attributes:
        cohen_d: [comparison] mean / standard deviation of the paired differences (d_z); NaN where all are equal.
        hedges_g: [comparison] the same without its bias in small samples (Hedges 1981).
    """

    cohen_d: Floats
    hedges_g: Floats


def effect_sizes(differences: Floats) -> Effects:
    """Cohen's d of paired differences, and Hedges' g.

        g = J(n - 1) d,   J(m) = Gamma(m/2) / (sqrt(m/2) Gamma((m-1)/2))

    Args:
        differences: [query, comparison].

    >>> effect_sizes(np.array([[1.0], [2.0], [3.0]])).cohen_d.tolist()
    [2.0]
    """
    queries, missing = len(differences), np.full(differences.shape[1], np.nan)
    if queries < 2:
        return Effects(missing, missing)
    varied = np.ptp(np.round(differences, DECIMALS), axis=0) > 0
    rows = _rows(differences)
    d = np.divide(rows.mean(axis=1), rows.std(axis=1, ddof=1), out=missing.copy(), where=varied)
    if queries < 3:
        return Effects(d, missing)
    m = queries - 1
    return Effects(d, d * math.exp(math.lgamma(m / 2) - math.lgamma((m - 1) / 2)) / math.sqrt(m / 2))


def _rows(columns: Floats) -> Floats:
    """The columns as rows: NumPy adds up a row the same whatever is beside it, but many columns otherwise than one."""
    return np.ascontiguousarray(columns.T)
