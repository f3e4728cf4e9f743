"""The worst case of a difference over label tables: exact for sums over passages.

    D = constant + sum over passages d of a_d g(h_d)

a_d is what the rank of a passage is worth to the first run, less to the second; g the gain of a grade; h_d the true
grade. Of the N_c passages of a class c (those with one grade by the judge, say) at least L_ch and at most U_ch have the
true grade h. With grades by gain, g_1 <= g_2 <= ..., and M_t passages of grade t or more,

    min D = constant + sum over classes of (g_1 sum of a + sum over t > 1 of (g_t - g_{t-1}) F(M_t))

where F(M) is the sum of the M smallest a: the passages of the highest grades are those with the smallest a, for all t
at once. F is convex, so that the M_t with L_t <= M_t - M_{t+1} <= U_t are found by dynamic programming over grades,
with one pass over the passages each (tests/comparison/judges hold it against linear programming and enumeration).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trueval.errors import InputError
from trueval.standings.standings import Floats, Ints

# Bounds of a sum that differ by less are equal.
ROUNDING = 1e-12


class ErrorBounds(NamedTuple):
    """How many passages of each class have each true grade.

    Attributes:
        grades: [grade] the scale, ascending.
        least: [class, grade] at least so many.
        most: [class, grade] at most so many.
    """

    grades: Floats
    least: Ints
    most: Ints


def worst_difference(weights: Floats, classes: Ints, gains: Floats, bounds: ErrorBounds) -> float:
    """The least value of the sum of weight times gain over all label tables inside the bounds.

    Args:
        weights: [passage] a_d.
        classes: [passage] index of its class.
        gains: [grade] gain of each grade of the scale.
        bounds: how many passages of each class have each grade.

    Raises:
        InputError: no table is inside the bounds.

    >>> bounds = ErrorBounds(np.array([0.0, 1.0]), np.array([[0, 1]]), np.array([[2, 2]]))
    >>> float(worst_difference(np.array([3.0, -1.0]), np.array([0, 0]), np.array([0.0, 1.0]), bounds))
    -1.0
    """
    return sum(
        _ClassTable.of(np.sort(weights[classes == at]), gains, bounds.least[at], bounds.most[at]).least()
        for at in range(len(bounds.least))
    )


def worst_labels(weights: Floats, classes: Ints, gains: Floats, bounds: ErrorBounds) -> Ints:
    """[passage] grades of a table with the least sum of weight times gain; of equal gains the first grade.

    Args:
        weights: as in worst_difference.
        classes: as there; passages of no class get the lowest gain.
        gains: as there.
        bounds: as there.

    Raises:
        InputError: no table is inside the bounds.
    """
    _, first = np.unique(gains, return_index=True)
    found = np.full(len(weights), first[0])
    for at in range(len(bounds.least)):
        inside = np.flatnonzero(classes == at)
        inside = inside[np.argsort(weights[inside], kind="stable")]
        above = _ClassTable.of(weights[inside], gains, bounds.least[at], bounds.most[at]).counts()
        found[inside] = first[(np.arange(len(inside))[:, None] < above[1:]).sum(axis=1)]
    return found


class _ClassTable(NamedTuple):
    """The least sums of one class, by dynamic programming from the highest gain down.

    Attributes:
        levels: [level] different gains, ascending.
        low: [level] at least so many passages have it.
        high: [level] at most so many.
        first: [level] least number of passages of this level or more.
        best: [level] least sum of this level and all above, by the number of passages in them less the first; convex.
        number: number of passages.
        total: sum of their weights.
    """

    levels: Floats
    low: Ints
    high: Ints
    first: Ints
    best: list[Floats]
    number: int
    total: float

    @classmethod
    def of(cls, ascending: Floats, gains: Floats, least: Ints, most: Ints) -> _ClassTable:
        """The table of a class, its passages' weights ascending."""
        number = len(ascending)
        levels, which = np.unique(gains, return_inverse=True)
        low = np.bincount(which, least, len(levels)).astype(np.int64)
        high = np.minimum(np.bincount(which, most, len(levels)).astype(np.int64), number)
        if (low > high).any() or low.sum() > number or high.sum() < number:
            raise InputError("No labels are inside the bounds on the judge's errors. Check the counts of the audit.")
        sums = np.concatenate(([0.0], np.cumsum(ascending)))  # F
        # M_t can be as low as the least of the levels above, or what the most of those below leave.
        above_least, above_most = np.cumsum(low[::-1])[::-1], np.cumsum(high[::-1])[::-1]
        below_least, below_most = np.cumsum(low) - low, np.cumsum(high) - high
        first, last = np.maximum(above_least, number - below_most), np.minimum(above_most, number - below_least)
        best, start = [np.zeros(1)], 0
        for level in range(len(levels) - 1, 0, -1):
            places = np.arange(first[level], last[level] + 1)
            step = (levels[level] - levels[level - 1]) * sums[places]
            best.insert(0, _window(best[0], places - high[level] - start, places - low[level] - start) + step)
            start = int(first[level])
        return cls(levels, low, high, np.append(first, 0), [np.zeros(0), *best], number, float(sums[-1]))

    def _choices(self, level: int, number: int) -> tuple[int, int]:
        """First and last index into `best` of the level above, with so many passages of this level or more."""
        start, size = int(self.first[level + 1]), len(self.best[level + 1])
        begin, end = number - int(self.high[level]) - start, number - int(self.low[level]) - start
        return max(begin, 0), min(end, size - 1)

    def least(self) -> float:
        """The least sum."""
        begin, end = self._choices(0, self.number)
        return float(self.levels[0] * self.total + self.best[1][begin : end + 1].min())

    def counts(self) -> Ints:
        """[level] number of passages of this level or more, in a table with the least sum."""
        found = [self.number]
        for level in range(len(self.levels) - 1):
            begin, end = self._choices(level, found[-1])
            found.append(int(self.first[level + 1]) + begin + int(self.best[level + 1][begin : end + 1].argmin()))
        return np.array(found)


def _window(values: Floats, first: Ints, last: Ints) -> Floats:
    """[window] the least of values[first] to values[last], where values are convex and each window holds some."""
    lowest, end = int(values.argmin()), len(values) - 1
    found: Floats = values[np.clip(lowest, np.maximum(first, 0), np.minimum(last, end))]
    return found


def labels_to_turn(weights: Floats, own: Floats, gains: Floats, difference: float) -> int | None:
    """The least number of labels whose change makes a positive difference 0 or less; None where no number does.

    Each label can become any grade; the changes that take off most come first.

    Args:
        weights: [passage] a_d.
        own: [passage] gain of the judge's grade.
        gains: [grade] gains of the scale.
        difference: D by the judge's labels, > 0.

    >>> labels_to_turn(np.array([0.5, 0.3, -0.1]), np.array([1.0, 1.0, 0.0]), np.array([0.0, 1.0]), 0.8)
    2
    """
    worst = np.minimum(weights * gains.min(), weights * gains.max())
    taken = np.cumsum(np.sort(weights * own - worst)[::-1])
    enough = np.flatnonzero(taken >= difference - ROUNDING)
    return int(enough[0]) + 1 if len(enough) else None
