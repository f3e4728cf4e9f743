"""Paired tests over queries, and effect sizes.

The randomization test asks how often the mean difference would be at least as far from 0 if the names of the two
systems were exchanged at random per query (Fisher 1935; Smucker, Allan & Carterette 2007).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from trueval.comparison.resampling.resampled_sums import SignPatterns, blocks, family_blocks, in_threads, to_grid
from trueval.standings.standings import Floats, Ints

# Per-query differences are rounded to this many decimals before they are ranked or called equal: 2/3 - 1/3 is 1/3.
DECIMALS = 12

# Maximum number of differences for the exact Wilcoxon test, as in scipy: without shared ranks, and with them.
EXACT_RANKS, LISTED_RANKS = 50, 13

# Comparisons per block of a thread.
WIDTH = 64


class RandomizationResult(NamedTuple):
    """Result of the randomization test for each comparison.

    Attributes:
        p: [comparison] unadjusted p; NaN without queries.
        statistic: [comparison] statistic of MaxT: |sum of differences| / sqrt(sum of their squares).
        family: [comparison] index of its family.
        largest: [family, pattern] the largest statistic of the family under each pattern, ascending.
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
        """The share of patterns in which the largest statistic of a family reaches each threshold."""
        if not self.signs.units:
            return np.full(len(bars), np.nan)
        reached = self.signs.count - np.searchsorted(self.largest[number], bars, side="left")
        share: Floats = self.signs.share(reached)
        return share


def joint_maxt(groups: Sequence[RandomizationResult]) -> list[Floats]:
    """[group][comparison] p adjusted by MaxT for one family of comparisons that count different queries.

    Each group has patterns of its own queries. Together, with p_g of each group for the same statistic,

        p = 1 - product over groups of (1 - p_g)

    which is conservative, because measures of the same runs do not contradict each other (Sidak 1967).

    Args:
        groups: test results, each of one family.
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
) -> RandomizationResult:
    """The two-sided paired randomization test of mean differences, per comparison and per family.

    A pattern assigns every unit (a query, or a cluster of queries) one random sign, the same for every system.
    Unadjusted p: the share of patterns with |mean| >= |observed mean|. MaxT (Westfall & Young 1993; Boytsov 2013; Sakai
    2018): the share of patterns in which the largest |mean| / sqrt(sum of squared differences) of the family is at
    least the pair's. It controls the probability of any false claim as Holm does, but is less conservative for many
    pairs, because all pairs share the patterns. Signs do not affect the sum of squares; without this scaling the pairs
    that vary most would dominate all others (docs/design/compare.md has the figures).

    Exact where all 2^(n-1) patterns are enumerated, up to 18 units. Beyond, from drawn patterns: (1 + number at least
    as extreme) / (1 + number drawn), which is never 0 (Phipson & Smyth 2010).

    Args:
        expected: [unit, column] finite values.
        first: [comparison] column of system A.
        second: [comparison] column of system B.
        resamples: number of sign patterns to draw.
        seed: seed of the signs.
        family: [comparison] index of its family; None for a single family.
    """
    signs = SignPatterns(len(expected), resamples, seed)
    families = np.zeros(len(first), dtype=np.int64) if family is None else family
    if not len(expected):
        missing = np.full(len(first), np.nan)
        return RandomizationResult(
            missing, missing.copy(), families, np.empty((int(families.max(initial=0)) + 1, 0)), signs
        )
    grid = to_grid(expected)
    observed = np.abs(grid.values[:, first].sum(axis=0) - grid.values[:, second].sum(axis=0))
    # Bound of the rounding error in a sum of differences, by and before rounding to the grids.
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
    return RandomizationResult(
        signs.share(extreme.sum(axis=0, dtype=np.int64)), bar * inverse, families, largest, signs
    )


def _scale(values: Floats, first: Ints, second: Ints) -> Floats:
    """[comparison] square root of the sum of squared differences, which signs do not affect; 1 where all are 0."""
    out = np.ones(len(first))
    for part in blocks(len(first), WIDTH):
        apart = np.round(values[:, first[part]] - values[:, second[part]], DECIMALS)
        size = np.abs(apart).max(axis=0)
        unit = np.where(size > 0, size, 1.0)  # squares of the largest do not overflow
        out[part] = np.where(size > 0, unit * np.sqrt(((apart / unit) ** 2).sum(axis=0)), 1.0)
    return out


def t_test(differences: Floats) -> Floats:
    """The p of Student's paired t test; 1 where every difference is 0, 0 where all equal one other value.

    Args:
        differences: [query, comparison] differences.

    Returns:
        [comparison] p; NaN below two queries.

    >>> t_test(np.array([[1.0], [2.0], [3.0]])).round(4).tolist()
    [0.0742]
    """
    from scipy.special import stdtr  # scipy.stats, which has the test, takes half a second to import

    queries = len(differences)
    if queries < 2:
        return np.full(differences.shape[1], np.nan)
    rounded = np.round(differences, DECIMALS)
    out = np.where(rounded[0] == 0, 1.0, 0.0)
    varied = np.ptp(rounded, axis=0) > 0
    rows = _rows(differences)[varied]
    t = rows.mean(axis=1) / np.sqrt(rows.var(axis=1, ddof=1) / queries)
    out[varied] = 2 * stdtr(queries - 1, -np.abs(t))
    return out


def wilcoxon_test(differences: Floats) -> Floats:
    """The p of Wilcoxon's signed rank test; each comparison uses the method that scipy.stats.wilcoxon would choose.

    Zeros are left out (Wilcoxon's way). The p is exact up to 50 differences without zeros and equal sizes, and up to 13
    with them; beyond, it is that of the normal approximation with variance corrected for ties.

    Args:
        differences: [query, comparison] differences.

    Returns:
        [comparison] p, 1 where every difference is 0; NaN without queries.
    """
    if not len(differences):
        return np.full(differences.shape[1], np.nan)
    rounded = np.round(differences, DECIMALS)
    sizes = np.sort(np.abs(rounded), axis=0)
    distinct = (np.diff(sizes, axis=0, prepend=0.0) > 0).all(axis=0)
    tied = ~distinct & (sizes[-1] > 0)
    out = np.ones(differences.shape[1])
    for chosen, most, exact in (
        (distinct, EXACT_RANKS, _exact_wilcoxon),
        (tied, LISTED_RANKS, _wilcoxon_over_all_signs),
    ):
        if chosen.any():
            found = exact if len(rounded) <= most else _wilcoxon_by_normal
            out[chosen] = found(rounded[:, chosen])
    return out


def _exact_wilcoxon(differences: Floats) -> Floats:
    """The p from the distribution of the rank sum, where no two sizes are equal."""
    from scipy.stats import wilcoxon

    return np.asarray(wilcoxon(differences, axis=0, method="exact").pvalue)


def _wilcoxon_over_all_signs(differences: Floats) -> Floats:
    """The share of all sign patterns whose rank sums differ at least as much as the observed ones.

    scipy enumerates the patterns again for every comparison, at a second each; here they are enumerated once for all,
    with the same p.

    >>> _wilcoxon_over_all_signs(np.array([[1.0], [1.0], [2.0], [0.0]])).tolist()
    [0.25]
    """
    ranks = _ranks(differences).ranks
    signs = SignPatterns(len(differences), 0, 0)
    observed = np.abs((ranks * np.sign(differences)).sum(axis=0))
    # Ranks are multiples of 1/2, so these sums are exact.
    reached = sum((np.abs(signs.rows(chunk)[1] @ ranks) >= observed).sum(axis=0) for chunk in range(signs.chunks))
    return signs.share(np.asarray(reached))


def _wilcoxon_by_normal(differences: Floats) -> Floats:
    """The p from the normal approximation, with n nonzero differences and groups of t equal sizes.

        z = (R+ - n (n + 1) / 4) / sqrt((n (n + 1) (2n + 1) - sum of (t^3 - t) / 2) / 24)

    (Hollander & Wolfe 1973; R+ is the sum of the ranks of positive differences.)
    """
    from scipy.special import ndtr

    ranks, ties = _ranks(differences)
    count = (differences != 0).sum(axis=0).astype(np.float64)
    above = np.where(differences > 0, ranks, 0.0).sum(axis=0)
    sd = np.sqrt((count * (count + 1) * (2 * count + 1) - ties / 2) / 24)
    found: Floats = 2 * ndtr(-np.abs((above - count * (count + 1) * 0.25) / sd))
    return found


class _Ranks(NamedTuple):
    """Ranks of the absolute values of nonzero differences.

    Attributes:
        ranks: [query, comparison] from 1, the mean rank for equal sizes; 0 where the difference is 0.
        ties: [comparison] sum of t^3 - t over groups of t equal sizes.
    """

    ranks: Floats
    ties: Floats


def _ranks(differences: Floats) -> _Ranks:
    """Rank the absolute differences of each comparison.

    >>> _ranks(np.array([[1.0], [-1.0], [2.0], [0.0]])).ranks.ravel().tolist()
    [1.5, 1.5, 3.0, 0.0]
    """
    sizes = np.abs(differences)
    order = np.argsort(sizes, axis=0, kind="stable")
    ascending = np.take_along_axis(sizes, order, axis=0)
    place = np.arange(len(sizes))[:, None]
    differs = np.diff(ascending, axis=0) != 0
    edge = np.ones((1, sizes.shape[1]), dtype=bool)
    first = np.maximum.accumulate(np.where(np.concatenate((edge, differs)), place, 0), axis=0)
    backwards = np.where(np.concatenate((differs, edge)), place, len(sizes))[::-1]
    last = np.minimum.accumulate(backwards, axis=0)[::-1]
    counted = ascending > 0
    mean = (first + last) / 2 + 1 - (~counted).sum(axis=0)
    ranks = np.empty(sizes.shape)
    np.put_along_axis(ranks, order, np.where(counted, mean, 0.0), axis=0)
    tied = (last - first + 1).astype(np.float64)
    return _Ranks(ranks, np.where(counted, tied**2 - 1, 0.0).sum(axis=0))


class Effects(NamedTuple):
    """Standardized mean differences.

    Attributes:
        cohen_d: [comparison] mean / standard deviation of the paired differences (d_z); NaN where all are equal.
        hedges_g: [comparison] Cohen's d corrected for its small-sample bias (Hedges 1981).
    """

    cohen_d: Floats
    hedges_g: Floats


def effect_sizes(differences: Floats) -> Effects:
    """Cohen's d of paired differences, and Hedges' g.

        g = J(n - 1) d,   J(m) = Gamma(m/2) / (sqrt(m/2) Gamma((m-1)/2))

    Args:
        differences: [query, comparison] differences.

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
    """The columns as rows: NumPy's sum of a row does not depend on the other rows, but a sum of columns may."""
    return np.ascontiguousarray(columns.T)
