"""Paired tests over queries, and effect sizes.

The randomization test asks how often the mean difference would be as far from 0 if, query by query, the names of the
two systems were exchanged by the toss of a coin (Fisher 1935; Smucker, Allan & Carterette 2007).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from trueval.comparison.resampling import SignPatterns, blocks, family_blocks, in_threads, to_grid
from trueval.standings.standings import Floats, Ints

# Per-query differences are rounded to this many decimals before they are ranked or called equal: 2/3 - 1/3 is 1/3.
DECIMALS = 12

# Up to so many differences scipy lists all signs of Wilcoxon's test where ranks are shared.
LISTED_RANKS = 13

# Comparisons looked at at once by a thread.
WIDTH = 64


class Flipped(NamedTuple):
    """What the randomization test says of each comparison.

    Attributes:
        p: [comparison] of each alone; NaN without queries.
        statistic: [comparison] what MaxT compares: |sum of differences| / sqrt(sum of their squares).
        family: [comparison] number of its family.
        largest: [family, pattern] the largest statistic of the family under each pattern, ascending.
        signs: the patterns.
    """

    p: Floats
    statistic: Floats
    family: Ints
    largest: Floats
    signs: SignPatterns

    def maxt(self) -> Floats:
        """[comparison] p adjusted for its family by the single-step MaxT; NaN without queries."""
        out = np.full(len(self.statistic), np.nan)
        for number in range(len(self.largest)):
            mine = self.family == number
            out[mine] = self._share(number, self.statistic[mine])
        return out

    def _share(self, number: int, bars: Floats) -> Floats:
        """The share of patterns in which the largest statistic of a family reaches each bar."""
        if not self.signs.units:
            return np.full(len(bars), np.nan)
        reached = self.signs.count - np.searchsorted(self.largest[number], bars, side="left")
        share: Floats = self.signs.share(reached)
        return share


def joint_maxt(groups: Sequence[Flipped]) -> list[Floats]:
    """[group][comparison] p adjusted by MaxT for one family of comparisons that count different queries.

    Each group has patterns of its own queries. Together, with p_g of each group for the same statistic,

        p = 1 - product over groups of (1 - p_g)

    which is conservative, because measures of the same runs do not contradict each other (Sidak 1967).

    Args:
        groups: each one family.
    """
    found = []
    for each in groups:
        shares = [other._share(0, each.statistic) for other in groups if other.signs.units]
        found.append(1 - np.prod([1 - share for share in shares], axis=0) if each.signs.units else each.p.copy())
    return [each.maxt() for each in groups] if len(groups) == 1 else found


def randomization_test(
    expected: Floats,
    first: Ints,
    second: Ints,
    *,
    resamples: int,
    seed: int,
    threads: int,
    family: Ints | None = None,
) -> Flipped:
    """The two-sided paired randomization test of mean differences, of each comparison alone and for families at once.

    A pattern gives every unit (a query, or a cluster of queries) one random sign, the same for every system. Alone: the
    share of patterns with |mean| >= |observed mean|. MaxT (Westfall & Young 1993; Boytsov 2013; Sakai 2018): the share
    of patterns in which the largest |mean| / sqrt(sum of squared differences) of the family is as large as the pair's.
    That bounds the chance of any false claim as Holm does, without its price for many pairs, because all pairs share
    the patterns. No sign changes the sum of squares; without it the pairs that vary most would decide for all others
    (docs/design/compare.md has the figures).

    Exact where all 2^(n-1) patterns are listed, up to 18 units. Beyond, drawn patterns: (1 + those as extreme) /
    (1 + drawn), which is never 0 (Phipson & Smyth 2010).

    Args:
        expected: [unit, column] finite values.
        first: [comparison] column of system A.
        second: [comparison] column of system B.
        resamples: how many sign patterns are drawn.
        seed: of the signs.
        threads: that share the work.
        family: [comparison] number of its family; None for one family.
    """
    signs = SignPatterns(len(expected), resamples, seed)
    families = np.zeros(len(first), dtype=np.int64) if family is None else family
    if not len(expected):
        missing = np.full(len(first), np.nan)
        return Flipped(missing, missing.copy(), families, np.empty((int(families.max(initial=0)) + 1, 0)), signs)
    grid = to_grid(expected)
    observed = np.abs(grid.values[:, first].sum(axis=0) - grid.values[:, second].sum(axis=0))
    # What rounding to the grids, and rounding before it, can do to a sum of differences.
    bar = observed - len(expected) * 2 * (grid.step[first] + grid.step[second])
    inverse = 1 / _scale(grid.values, first, second)
    parts = family_blocks(families, WIDTH)
    largest = np.zeros((int(families.max(initial=0)) + 1, signs.count))
    extreme = np.zeros((signs.chunks, len(first)), dtype=np.uint16)  # a part holds fewer than 2^16 patterns

    def work(chunk: int) -> None:
        place, rows = signs.rows(chunk)
        sums = (rows @ grid.values).T
        for part in parts:
            apart = np.abs(sums[first[part]] - sums[second[part]])
            extreme[chunk, part] = (apart >= bar[part, None]).sum(axis=1)
            of_family = largest[families[part[0]], place]
            apart *= inverse[part, None]
            np.maximum(of_family, apart.max(axis=0), out=of_family)

    in_threads(work, signs.chunks, threads)
    largest.sort(axis=1)
    return Flipped(signs.share(extreme.sum(axis=0, dtype=np.int64)), bar * inverse, families, largest, signs)


def _scale(values: Floats, first: Ints, second: Ints) -> Floats:
    """[comparison] square root of the sum of squared differences, which no sign changes; 1 where they are all 0."""
    out = np.ones(len(first))
    for part in blocks(len(first), WIDTH):
        apart = np.round(values[:, first[part]] - values[:, second[part]], DECIMALS)
        size = np.abs(apart).max(axis=0)
        unit = np.where(size > 0, size, 1.0)  # squares of the largest do not overflow
        out[part] = np.where(size > 0, unit * np.sqrt(((apart / unit) ** 2).sum(axis=0)), 1.0)
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

    Zeros are left out (Wilcoxon's way). Where zeros or equal sizes are among up to 13 differences, scipy lists all
    signs of every comparison by itself, a second each; here they are listed once for all, with the same p.

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
    tied = ~distinct & (sizes[-1] > 0)
    out = np.ones(differences.shape[1])
    # scipy chooses one method for a whole array: exact only if no column has zeros or equal sizes.
    for chosen in (distinct, tied):
        if chosen.any():
            listed = chosen is tied and len(rounded) <= LISTED_RANKS
            found = _wilcoxon_over_all_signs if listed else lambda columns: wilcoxon(columns, axis=0).pvalue
            out[chosen] = found(rounded[:, chosen])
    return out


def _wilcoxon_over_all_signs(differences: Floats) -> Floats:
    """The share of all sign patterns whose rank sums are as far apart as the observed ones.

    >>> _wilcoxon_over_all_signs(np.array([[1.0], [1.0], [2.0], [0.0]])).tolist()
    [0.25]
    """
    from scipy.stats import rankdata

    sizes = np.where(differences == 0, np.nan, np.abs(differences))
    ranks = np.nan_to_num(rankdata(sizes, axis=0, nan_policy="omit"))
    signs = SignPatterns(len(differences), 0, 0)
    observed = np.abs((ranks * np.sign(differences)).sum(axis=0))
    # Ranks are halves at the finest, so these sums are exact.
    reached = sum((np.abs(signs.rows(chunk)[1] @ ranks) >= observed).sum(axis=0) for chunk in range(signs.chunks))
    return signs.share(np.asarray(reached))


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
