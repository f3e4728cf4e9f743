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


def worst_ratio(
    sums: RatioSums, bounds: ErrorBounds, steps: int = STEPS, intervals: NormIntervals | None = None
) -> WorstRatio:
    """Bound the least difference over all label tables inside the bounds, from below and from above.

    Args:
        sums: passages and their weights.
        bounds: how many passages without people's labels have each grade, by class.
        steps: steps of the prices; more of them bring the lower bound nearer.
        intervals: those of the norms, where they are known from other weights of the same passages.

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
    dual = _Dual.of(sums, bounds, intervals or NormIntervals.of(sums))
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


class NormIntervals(NamedTuple):
    """Intervals of the norms, and how many labels must change for a norm to lie in each.

    Attributes:
        ends: [query, interval + 1] ends of the intervals of Z, ascending.
        own: [query] index of the interval of the norm by the grades that there are, in which no label must change.
        raised: [query, interval] least number of gains to raise, for Z above the lower end.
        lowered: [query, interval] least number of gains to lower, for Z up to the upper end.
    """

    ends: Floats
    own: Ints
    raised: Ints
    lowered: Ints

    @classmethod
    def of(cls, sums: RatioSums) -> NormIntervals:
        """The intervals of some passages, whatever their weights.

        Args:
            sums: passages, their grades, and the weights of ranks.
        """
        rows = _Rows.of(sums.query, sums.query >= 0)
        own = np.where(rows.there, sums.gains[rows.fill(sums.grade, 0)], 0.0)
        free = rows.there & (rows.fill(sums.classes, -1) >= 0)
        positive = sums.gains[sums.gains > 0]
        top = float((sums.ranks[: own.shape[1]] * sums.gains.max()).sum())
        grid = np.geomspace(positive.min() * sums.ranks[0] * (1 - ROUNDING), top * (1 + ROUNDING), INTERVALS + 1)
        # Most queries keep their norm, so that it has an interval of its own, of no width.
        norms = sums.norms(sums.grade)
        around = np.clip(norms[:, None] * (1 + ROUNDING * np.array([-1, 1])), grid[0], grid[-1])
        ends = np.sort(np.concatenate([np.tile(grid, (len(norms), 1)), around], axis=1), axis=1)
        place = np.minimum((ends < around[:, :1]).sum(axis=1), ends.shape[1] - 2)
        return cls(ends, place, *(_changes(own, free, sums, ends, raising) for raising in (True, False)))


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
    target = sums.gains.max() if raising else sums.gains.min()
    # The lowest gains are raised first, the highest lowered first; a change of a gain that has the target is none.
    order = np.argsort(np.where(free, own if raising else -own, np.inf), axis=1, kind="stable")
    gains = np.take_along_axis(own, order, axis=1)
    changed = np.take_along_axis(free & (own != target), order, axis=1)
    wanted = ends[:, :-1] * (1 - ROUNDING) if raising else ends[:, 1:] * (1 + ROUNDING)
    found = np.full(wanted.shape, places + 1)
    for number in range(int(changed.sum(axis=1).max(initial=0)) + 1):
        if number:
            gains[:, number - 1] = np.where(changed[:, number - 1], target, gains[:, number - 1])
        norms = -np.sort(-gains, axis=1) @ weights
        reached = norms[:, None] > wanted if raising else norms[:, None] <= wanted
        found = np.where(reached & (found > number), number, found)
        # More of the highest gain than ranks count change nothing.
        if raising and number >= len(sums.ranks):
            break
    return found


class _Rows(NamedTuple):
    """Places of passages in a table with a row for each query.

    Attributes:
        query: [passage] row.
        place: [passage] column.
        taken: [passage] whether the passage has a place.
        there: [query, place] whether a passage is there.
    """

    query: Ints
    place: Ints
    taken: Bools
    there: Bools

    @classmethod
    def of(cls, query: Ints, taken: Bools) -> _Rows:
        """Passages in their own order.

        Args:
            query: [passage] index of its query.
            taken: [passage] whether it has a place.
        """
        queries = int(query.max(initial=-1)) + 1
        sizes = np.bincount(query[taken], minlength=queries)
        order = np.argsort(query[taken], kind="stable")
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        there = np.arange(int(sizes.max(initial=0)))[None, :] < sizes[:, None]
        return cls(query[taken], place, taken, there)

    def fill(self, values: Floats | Ints, empty: float) -> np.ndarray:
        """[query, place] values of the passages.

        Args:
            values: [passage] values.
            empty: value of the other places.
        """
        table = np.full(self.there.shape, empty, dtype=values.dtype)
        table[self.query, self.place] = values[self.taken]
        return table


class _Dual(NamedTuple):
    """Lagrange's dual, with the passages of each query in a row.

    Passages of a class that no run ranks are alike, and so one place with their number. Passages that no run ranks and
    people have labeled cost nothing, and have no place.

    Attributes:
        sums: passages and their weights.
        bounds: how many passages have each grade, by class.
        intervals: intervals of the norms.
        weights: [query, place] a_d.
        lead: [query, place] weight in the leading run.
        classes: [query, place] index of the class; below 0 where the label is kept.
        number: [query, place] number of passages that are alike.
        changes: [grade, query, place] 1 where the grade raises the gain, -1 where it lowers it.
        kept: [grade, query, place] whether people's label excludes the grade.
    """

    sums: RatioSums
    bounds: ErrorBounds
    intervals: NormIntervals
    weights: Floats
    lead: Floats
    classes: Ints
    number: Ints
    changes: Ints
    kept: Bools

    @classmethod
    def of(cls, sums: RatioSums, bounds: ErrorBounds, intervals: NormIntervals) -> _Dual:
        """The dual of a difference."""
        ranked = (sums.weights != 0) | (sums.lead != 0)
        alike, free = np.flatnonzero(~ranked & (sums.classes >= 0)), sums.classes >= 0
        # The grade belongs to the key: people's label of a passage is not of its class.
        keys = np.stack([sums.query[alike], sums.classes[alike], sums.grade[alike]])
        _, first, counts = np.unique(keys, axis=1, return_index=True, return_counts=True)
        number = ranked.astype(np.int64)
        number[alike[first]] = counts
        rows = _Rows.of(sums.query, number > 0)
        nothing = int(sums.gains.argmin())
        grade = rows.fill(sums.grade, nothing)
        own = np.where(rows.there, sums.gains[grade], 0.0)
        changes = np.sign(sums.gains[:, None, None] - own).astype(np.int64)
        fixed = rows.fill(free.astype(np.int64), 0) == 0
        kept = fixed & (np.arange(len(sums.gains))[:, None, None] != grade)
        weights, lead = rows.fill(sums.weights, 0.0), rows.fill(sums.lead, 0.0)
        classes, number = rows.fill(sums.classes, -1), rows.fill(number, 0)
        return cls(sums, bounds, intervals, weights, lead, classes, number, changes, kept)

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
        paid = np.where(self.kept, NEVER, np.where(self.classes >= 0, prices.T[:, self.classes], 0.0))
        # No gain at all, and so no difference.
        nothing = np.where(self.sums.gains[:, None, None] > 0, NEVER, paid)
        best = (nothing.min(axis=0) * self.number).sum(axis=1)
        every, own = np.arange(len(best)), self.intervals.own
        found, kind = self._bounds(paid, every, own)
        better = found < best
        best, interval, kind = np.where(better, found, best), np.where(better, own, -1), np.where(better, kind, LOWER)
        # Without the changes that an interval takes its sum is lower still: most intervals are left out by that.
        open_queries, open_intervals = np.nonzero(self._least_without_changes(paid) < best[:, None])
        found, kinds = self._bounds(paid, open_queries, open_intervals)
        order = np.lexsort((-open_intervals, -found, open_queries))  # the last of a query is its least, and first
        chosen = order[np.append(np.diff(open_queries[order]) > 0, True)[: len(order)]]
        chosen = chosen[found[chosen] < best[open_queries[chosen]]]
        rows = open_queries[chosen]
        best[rows], interval[rows], kind[rows] = found[chosen], open_intervals[chosen], kinds[chosen]
        counts = self._counts(paid, nothing.argmin(axis=0), interval, kind, prices.shape)
        limit = np.where(prices > 0, self.bounds.most, self.bounds.least)
        inside = (prices == 0) & (counts >= self.bounds.least) & (counts <= self.bounds.most)
        limit = np.where((prices == 0) & (counts > self.bounds.most), self.bounds.most, limit)
        slope = np.where(inside, 0.0, counts - limit)
        return float(best.sum() - (prices * np.where(prices > 0, self.bounds.most, self.bounds.least)).sum()), slope

    def _least_without_changes(self, paid: Floats) -> Floats:
        """[query, interval] sums that are at most those of `_bounds`: each passage takes its least grade.

        Args:
            paid: [grade, query, place] prices of the grades.
        """
        ends = self.intervals.ends

        def least(weights: Floats, divisors: Floats) -> Floats:
            each = weights[:, None, :] / divisors[:, :, None]
            found = np.full(each.shape, np.inf)
            for at, gain in enumerate(self.sums.gains.tolist()):
                np.minimum(found, each * gain + paid[at][:, None], out=found)
            return np.asarray(np.einsum("qip,qp->qi", found, self.number))

        by_end = least(self.weights, ends)
        return np.maximum(np.minimum(by_end[:, :-1], by_end[:, 1:]), least(self.lead, ends[:, 1:]) - 1)

    def _bounds(self, paid: Floats, rows: Ints, interval: Ints) -> tuple[Floats, Ints]:
        """[row] the least sum inside an interval of Z, and by which of the bounds.

        Args:
            paid: [grade, query, place] prices of the grades.
            rows: [row] index of the query.
            interval: [row] index of the interval.
        """
        sums = [self._least(paid, rows, interval, np.full(len(rows), which)).least for which in (LOWER, UPPER, ALONE)]
        which, found = np.where(sums[LOWER] <= sums[UPPER], LOWER, UPPER), np.minimum(sums[LOWER], sums[UPPER])
        return np.maximum(sums[ALONE], found), np.where(sums[ALONE] > found, ALONE, which)

    def _least(self, paid: Floats, rows: Ints, interval: Ints, kind: Ints) -> _LeastSums:
        """The least sums inside intervals of Z.

        Args:
            paid: [grade, query, place] prices of the grades.
            rows: [row] index of the query.
            interval: [row] index of the interval.
            kind: [row] by which of the bounds.
        """
        gains, alike = self.sums.gains, self.number[rows]
        upper = self.intervals.ends[rows, interval + 1]
        divisor = np.where(kind == LOWER, self.intervals.ends[rows, interval], upper)
        each = np.where((kind == ALONE)[:, None], self.lead[rows], self.weights[rows]) / divisor[:, None]
        never = gains[:, None] * self.sums.ranks[0] > upper * (1 + ROUNDING)
        cost = np.where(never[:, :, None], NEVER, each * gains[:, None, None] + paid[:, rows])
        raising = self.intervals.raised[rows, interval] > 0
        number = np.where(raising, self.intervals.raised[rows, interval], self.intervals.lowered[rows, interval])
        forced = self.changes[:, rows] == np.where(raising, 1, -1)[:, None]
        first, other = np.where(forced, cost, NEVER), np.where(forced, NEVER, cost)
        other_least = other.min(axis=0)
        apart = first.min(axis=0) - other_least
        order = np.argsort(apart, axis=1, kind="stable")
        ascending, of_each = np.take_along_axis(apart, order, axis=1), np.take_along_axis(alike, order, axis=1)
        before = np.cumsum(of_each, axis=1) - of_each
        taken = np.where(ascending < 0, of_each, np.clip(number[:, None] - before, 0, of_each))
        found = (other_least * alike).sum(axis=1) + (ascending * taken).sum(axis=1)
        found = np.where(number > alike.sum(axis=1), NEVER, found) - (kind == ALONE)
        changed = np.zeros_like(alike)
        np.put_along_axis(changed, order, taken, axis=1)
        return _LeastSums(found, changed, first, other)

    def _counts(self, paid: Floats, nothing: Ints, interval: Ints, kind: Ints, shape: tuple[int, ...]) -> Floats:
        """[class, grade] number of passages that have the grade, where the least sums are.

        Args:
            paid: [grade, query, place] prices of the grades.
            nothing: [query, place] grades without a gain.
            interval: [query] index of the interval; below 0 where no passage has a gain.
            kind: [query] by which of the bounds.
            shape: number of classes and of grades.
        """
        counts = np.zeros(shape)

        def add(classes: Ints, grades: Ints, number: Ints) -> None:
            free = classes >= 0
            np.add.at(counts, (classes[free], grades[free]), number[free])

        some, none = np.flatnonzero(interval >= 0), interval < 0
        add(self.classes[none], nothing[none], self.number[none])
        found = self._least(paid, some, interval[some], kind[some])
        add(self.classes[some], found.first.argmin(axis=0), found.changed)
        add(self.classes[some], found.other.argmin(axis=0), self.number[some] - found.changed)
        return counts


class _LeastSums(NamedTuple):
    """The least sums of some queries inside intervals of their norms.

    Attributes:
        least: [row] the sum.
        changed: [row, place] number of passages that take a grade which changes the norm as it must.
        first: [grade, row, place] costs of such grades.
        other: [grade, row, place] costs of the other grades.
    """

    least: Floats
    changed: Ints
    first: Floats
    other: Floats
