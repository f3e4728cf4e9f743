"""Bounds on the least difference over label tables, for measures whose norm depends on the labels: nDCG and recall.

    D = sum over queries q of N_q(h) / Z_q(h),   N_q = sum of a_d g(h_d),   Z_q = sum over ranks i <= k of w_i g_(i)

a_d is what the rank of a passage is worth to the leading run, less to the other; g_(i) the i-th largest gain of the
query's passages, w_i the weight of rank i (for recall 1, without an end). Z_q = 0 gives 0. The least D over all tables
inside the bounds of an audit (error_bounds.py) has no closed form; it lies between

    from above  D of tables that are inside: those with the least sum of a_d g(h_d) / Z_q, Z_q of the table before
    from below  Lagrange's dual: for any prices p_ch of a passage of class c with the grade h,
                sum over q of min over h of (N_q / Z_q + sum of p) - sum of (p_ch most_ch, or p_ch least_ch below 0)

In a query the minimum is bounded for Z in each of a number of intervals (s, s']. There N / Z is at least the smaller of
N / s and N / s', and at least A / s' - 1, A the leading run's part of N, since the other run's part is at most Z. Each
of these is a sum over passages, to be minimized apart, with at least as many gains raised as Z > s takes and at least
as many lowered as Z <= s' takes. Prices are raised and lowered by the subgradient (Polyak 1969), toward the least D
known. Where D of a table is 0 or less a judge inside the bounds turns the lead; where the dual is above 0 none does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trueval.comparison.judges.worst_labels import ErrorBounds, worst_labels
from trueval.standings.standings import Bools, Floats, Ints, sum_by

# Intervals of the norm, and steps of the prices.
INTERVALS, STEPS = 20, 24

# Part of the least difference known below which the rest is not sought.
CLOSE = 0.02

# Steps from one table to the next.
TABLES = 4

# Costs of what cannot be; above those of all that can, and small enough that sums with them stay exact to 1e-9.
NEVER = 1e6

# Bounds of a quotient in an interval of its norm: over the lower end, over the upper one, or of the leading run alone.
LOWER, UPPER, ALONE = 0, 1, 2

# Rounding error of a norm, as a part of it.
ROUNDING = 1e-9


class RatioSums(NamedTuple):
    """Passages of all queries, and what their gains are worth.

    Attributes:
        weights: [passage] a_d for a gain of 1; of the leading run less the other.
        lead: [passage] weight in the leading run alone, >= 0.
        query: [passage] index of its query.
        grade: [passage] index of its grade by people, or else the judge.
        classes: [passage] index of its class; below 0 where people gave the grade, which every table keeps.
        gains: [grade] gains >= 0 of the scale.
        ranks: [rank] weights of the ranks of the norm, descending.
    """

    weights: Floats
    lead: Floats
    query: Ints
    grade: Ints
    classes: Ints
    gains: Floats
    ranks: Floats

    def norms(self, grade: Ints) -> Floats:
        """[query] Z by labels.

        Args:
            grade: [passage] index of its grade.
        """
        gains = self.gains[grade]
        order = np.lexsort((-gains, self.query))
        sizes = np.bincount(self.query)
        place = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        weights = np.where(place < len(self.ranks), self.ranks[np.minimum(place, len(self.ranks) - 1)], 0.0)
        return np.asarray(np.bincount(self.query[order], gains[order] * weights, len(sizes)))

    def values(self, grade: Ints, queries: int = 0) -> Floats:
        """[query] N / Z by labels; 0 where Z is 0.

        Args:
            grade: [passage] index of its grade.
            queries: number of queries, where the last have no passage.
        """
        norms = self.norms(grade)
        sums = sum_by(self.query, self.weights * self.gains[grade], max(len(norms), queries))
        norms = np.pad(norms, (0, len(sums) - len(norms)))
        return np.asarray(np.divide(sums, norms, out=np.zeros_like(sums), where=norms > 0))

    def difference(self, grade: Ints) -> float:
        """D by labels.

        Args:
            grade: [passage] index of its grade.
        """
        return float(self.values(grade).sum())


class WorstRatio(NamedTuple):
    """Between what the least difference lies.

    Attributes:
        low: no table has a difference below it.
        reached: difference of a table that is inside the bounds.
    """

    low: float
    reached: float


def worst_ratio(sums: RatioSums, bounds: ErrorBounds, steps: int = STEPS) -> WorstRatio:
    """Bound the least difference over all label tables inside the bounds, from below and from above.

    Args:
        sums: passages and their weights.
        bounds: how many passages without people's labels have each grade, by class.
        steps: steps of the prices; more of them bring the lower bound nearer.

    Raises:
        InputError: no table is inside the bounds.

    >>> one = RatioSums(np.array([1.0, -0.6]), np.array([1.0, 0.0]), np.zeros(2, dtype=np.int64), np.array([1, 0]),
    ...                 np.array([0, 0]), np.array([0.0, 1.0]), np.array([1.0, 0.6]))
    >>> bounds = ErrorBounds(np.array([0.0, 1.0]), np.array([[1, 0]]), np.array([[2, 1]]))
    >>> found = worst_ratio(one, bounds)
    >>> round(found.reached, 9), found.low <= found.reached
    (-0.6, True)
    """
    reached, grade = np.inf, sums.grade
    for _ in range(TABLES):
        norms = sums.norms(grade)
        scaled = sums.weights / np.where(norms > 0, norms, 1.0)[sums.query]
        grade = np.where(sums.classes >= 0, worst_labels(scaled, sums.classes, sums.gains, bounds), sums.grade)
        found = sums.difference(grade)
        if found >= reached:
            break
        reached = found
    # There is one table, or no grade has a gain.
    if (bounds.most > 0).sum(axis=1).max(initial=0) <= 1 or not (sums.gains > 0).any():
        return WorstRatio(reached, reached)
    dual = _Dual.of(sums, bounds)
    prices = dual.first_prices()
    low, patience = -np.inf, 0
    for step in range(steps):
        value, slope = dual.value(prices)
        patience = 0 if value > low + 1e-3 * abs(reached - low) else patience + 1
        low = max(low, value)
        # A table has no lead, or none can lose it and little is left to gain.
        if reached <= 0 or (low > 0 and step >= STEPS // 2) or patience > 3 or reached - low <= CLOSE * reached:
            break
        if not slope.any():
            break
        prices = prices + (reached - value) / float((slope**2).sum()) * slope
    return WorstRatio(min(low, reached), reached)


class _Dual(NamedTuple):
    """Lagrange's dual, with the passages of each query in a row; rows are filled up with passages of no gain.

    Attributes:
        sums: passages and their weights.
        bounds: how many passages have each grade, by class.
        weights: [query, place] a_d.
        lead: [query, place] weight in the leading run.
        classes: [query, place] index of the class; below 0 where the label is kept.
        changes: [query, place, grade] 1 where the grade raises the gain, -1 where it lowers it.
        kept: [query, place, grade] whether people's label excludes the grade.
        ends: [query, interval + 1] ends of the intervals of Z, ascending.
        raised: [query, interval] least number of gains to raise, for Z above the lower end.
        lowered: [query, interval] least number of gains to lower, for Z up to the upper end.
    """

    sums: RatioSums
    bounds: ErrorBounds
    weights: Floats
    lead: Floats
    classes: Ints
    changes: Ints
    kept: Bools
    ends: Floats
    raised: Ints
    lowered: Ints

    @classmethod
    def of(cls, sums: RatioSums, bounds: ErrorBounds) -> _Dual:
        """The dual of a difference."""
        sizes = np.bincount(sums.query)
        order = np.argsort(sums.query, kind="stable")
        place = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        shape = (len(sizes), int(sizes.max(initial=1)))

        def rows(values: Floats | Ints, empty: float) -> np.ndarray:
            table = np.full(shape, empty, dtype=values.dtype)
            table[sums.query[order], place] = values[order]
            return table

        nothing = int(sums.gains.argmin())
        classes, grade = rows(sums.classes, -1), rows(sums.grade, nothing)
        there = rows(np.ones(len(order), dtype=np.int64), 0) > 0
        own = np.where(there, sums.gains[grade], 0.0)
        changes = np.sign(sums.gains - own[:, :, None]).astype(np.int64)
        kept = (classes < 0)[:, :, None] & (np.arange(len(sums.gains)) != grade[:, :, None])
        positive = sums.gains[sums.gains > 0]
        top = float((sums.ranks[: shape[1]] * sums.gains.max()).sum())
        grid = np.geomspace(positive.min() * sums.ranks[0] * (1 - ROUNDING), top * (1 + ROUNDING), INTERVALS + 1)
        # Most queries keep their norm, so that it has an interval of its own, of no width.
        norms = sums.norms(sums.grade)
        around = np.clip(norms[:, None] * (1 + ROUNDING * np.array([-1, 1])), grid[0], grid[-1])
        ends = np.sort(np.concatenate([np.tile(grid, (len(norms), 1)), around], axis=1), axis=1)
        counts = [_changes(own, there & (classes >= 0), sums, ends, raising) for raising in (True, False)]
        return cls(sums, bounds, rows(sums.weights, 0.0), rows(sums.lead, 0.0), classes, changes, kept, ends, *counts)

    def first_prices(self) -> Floats:
        """[class, grade] what the last change that the bounds allow takes off, with the norms of the judge."""
        sums, bounds = self.sums, self.bounds
        norms = sums.norms(sums.grade)
        scaled = sums.weights / np.where(norms > 0, norms, 1.0)[sums.query]
        prices = np.zeros(bounds.most.shape)
        for at, grade in np.argwhere(bounds.most > 0).tolist():
            inside = sums.classes == at
            taken = np.sort((scaled * (sums.gains[sums.grade] - sums.gains[grade]))[inside])[::-1]
            if bounds.most[at, grade] < len(taken):
                prices[at, grade] = max(float(taken[bounds.most[at, grade]]), 0.0)
        return prices

    def value(self, prices: Floats) -> tuple[float, Floats]:
        """The dual, and its slope.

        Args:
            prices: [class, grade] prices.
        """
        paid = np.where(self.kept, NEVER, np.where((self.classes >= 0)[:, :, None], prices[self.classes], 0.0))
        # No gain at all, and so no difference.
        best = np.where(self.sums.gains > 0, NEVER, paid).min(axis=2).sum(axis=1)
        interval, kind = np.full(len(best), -1), np.zeros(len(best), dtype=np.int64)
        for at in range(self.ends.shape[1] - 1):
            every = np.full(len(best), at)
            sums = [self._least(paid, every, np.full(len(best), which))[0] for which in (LOWER, UPPER, ALONE)]
            which = np.where(sums[LOWER] <= sums[UPPER], LOWER, UPPER)
            found = np.minimum(sums[LOWER], sums[UPPER])
            which, found = np.where(sums[ALONE] > found, ALONE, which), np.maximum(sums[ALONE], found)
            better = found < best
            best, interval, kind = (
                np.where(better, new, old) for new, old in ((found, best), (at, interval), (which, kind))
            )
        grades = np.where(self.sums.gains > 0, NEVER, paid).argmin(axis=2)
        some = interval >= 0
        grades[some] = self._least(paid, interval, kind)[1][some]
        counts = np.zeros(prices.shape)
        free = self.classes >= 0
        np.add.at(counts, (self.classes[free], grades[free]), 1.0)
        limit = np.where(prices > 0, self.bounds.most, self.bounds.least)
        inside = (prices == 0) & (counts >= self.bounds.least) & (counts <= self.bounds.most)
        limit = np.where((prices == 0) & (counts > self.bounds.most), self.bounds.most, limit)
        slope = np.where(inside, 0.0, counts - limit)
        return float(best.sum() - (prices * np.where(prices > 0, self.bounds.most, self.bounds.least)).sum()), slope

    def _least(self, paid: Floats, interval: Ints, kind: Ints) -> tuple[Floats, Ints]:
        """[query] the least sum inside an interval of Z, and [query, place] the grades that have it.

        Args:
            paid: [query, place, grade] prices of the grades.
            interval: [query] index of the interval.
            kind: [query] by which of the bounds.
        """
        queries, gains = np.arange(len(interval)), self.sums.gains
        upper = self.ends[queries, interval + 1]
        divisor = np.where(kind == LOWER, self.ends[queries, interval], upper)
        each = np.where((kind == ALONE)[:, None], self.lead, self.weights) / divisor[:, None]
        never = gains * self.sums.ranks[0] > upper[:, None] * (1 + ROUNDING)
        cost = np.where(never[:, None, :], NEVER, each[:, :, None] * gains + paid)
        raising = self.raised[queries, interval] > 0
        number = np.where(raising, self.raised[queries, interval], self.lowered[queries, interval])
        forced = self.changes == np.where(raising, 1, -1)[:, None, None]
        first, other = np.where(forced, cost, NEVER), np.where(forced, NEVER, cost)
        apart = first.min(axis=2) - other.min(axis=2)
        order = np.argsort(apart, axis=1, kind="stable")
        sorted_apart = np.take_along_axis(apart, order, axis=1)
        taken = (np.arange(apart.shape[1]) < number[:, None]) | (sorted_apart < 0)
        found = other.min(axis=2).sum(axis=1) + np.where(taken, sorted_apart, 0.0).sum(axis=1)
        found = np.where(number > apart.shape[1], NEVER, found) - (kind == ALONE)
        changed = np.zeros(apart.shape, dtype=bool)
        np.put_along_axis(changed, order, taken, axis=1)
        return found, np.where(changed, first.argmin(axis=2), other.argmin(axis=2))


def _changes(own: Floats, free: Bools, sums: RatioSums, ends: Floats, raising: bool) -> Ints:
    """[query, interval] the least number of gains to raise for Z above an interval's lower end, or to lower.

    Args:
        own: [query, place] gains.
        free: [query, place] whether the gain can change.
        sums: passages and their weights.
        ends: [query, interval + 1] ends of the intervals.
        raising: whether gains are raised, for Z above the lower ends, or lowered, for Z up to the upper ones.
    """
    places = own.shape[1]
    weights = np.zeros(places)
    weights[: min(places, len(sums.ranks))] = sums.ranks[:places]
    # The lowest gains are raised first, the highest lowered first.
    keys = np.where(free, own if raising else -own, np.inf)
    rank = np.argsort(np.argsort(keys, axis=1, kind="stable"), axis=1, kind="stable")
    wanted = ends[:, :-1] * (1 - ROUNDING) if raising else ends[:, 1:] * (1 + ROUNDING)
    found = np.full(wanted.shape, places + 1)
    for number in range(places, -1, -1):
        gains = np.where(free & (rank < number), sums.gains.max() if raising else sums.gains.min(), own)
        norms = -np.sort(-gains, axis=1) @ weights
        reached = norms[:, None] > wanted if raising else norms[:, None] <= wanted
        found = np.where(reached, number, found)
    return found
