"""Mean and standard deviation of interpolated precision over the orders of one query, at some levels of recall.

At a level that c relevant documents reach, the value is the largest precision at a relevant document from the c-th on.
It is at most v if that holds in every tie group, so its probability F(v) is the product of those from
best_precision.py, a step function with steps at the possible precisions. With all of them the mean is exact. Where that
would take too long, some values v_0 < v_1 < .. bound it::

    sum of f_i u_i <= mean <= sum of f_i v_i,   f_i = F(v_i) - F(v_{i-1}), u_i the smallest precision above v_{i-1}

Values are added where a step leaves the most uncertainty, f_i (v_i - v_{i-1}), until the budget of steps is used.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trueval.measures.orders.best_precision import HitGroup, chances_at_most
from trueval.measures.orders.group_draws import moments
from trueval.measures.orders.precision_sums import RelevantGroups
from trueval.standings.standings import Floats, Ints

# Maximum steps for one query, about a third of a second: ranks times relevant documents, summed over values; above it,
# bounds.
MOST_STEPS = 1 << 26
# Maximum number of precisions of one query that are listed; otherwise this many values between the extremes are used.
MOST_VALUES = 1 << 20
# Rounds of adding values, number of values in the first, and share of the steps that one value may use.
ROUNDS = 12
FIRST = 64
LEAST = 16


class Levels(NamedTuple):
    """Levels of recall of one query at which orders differ.

    Attributes:
        needed: [level] number of relevant documents that reach it.
        lowest: [level] lowest value over all orders.
        highest: [level] highest value over all orders.
    """

    needed: Ints
    lowest: Floats
    highest: Floats


class CurveMoments(NamedTuple):
    """The moments over all orders at each level.

    Attributes:
        mean: [level] mean, or the middle of its bounds.
        width: [level] distance of the bounds, 0 if the mean is exact.
        sd: [level] standard deviation; NaN if the mean is only bounded.
    """

    mean: Floats
    width: Floats
    sd: Floats


class LevelGroup(NamedTuple):
    """A tie group that affects some level.

    Attributes:
        firsts: for the levels, the number of the first relevant document of the group that counts, ascending.
        of_level: [level] index into `firsts`; -1 if the group cannot raise the level above its lowest value.
        floor: values up to this one need not be distinguished.
    """

    group: HitGroup
    firsts: Ints
    of_level: Ints
    floor: float

    @property
    def places(self) -> int:
        """Number of pairs of a rank and a relevant document that count."""
        ranks = int(self.group.ranks_above(np.array([self.floor]))[0])
        return ranks * (self.group.relevant - int(self.firsts[0]) + 1)

    def at_most(self, values: Floats) -> Floats:
        """[level that depends on it, value] probability that no precision in the group exceeds a value."""
        chances = np.ones((len(self.firsts), len(values)))
        begin = int(np.searchsorted(values, self.floor))
        chances[:, begin:] = chances_at_most(self.group, self.firsts, values[begin:])
        return np.asarray(chances[self.of_level[self.of_level >= 0]])

    def steps(self, values: Floats) -> Floats:
        """[value] number of steps to compute its probability."""
        begin = int(np.searchsorted(values, self.floor))
        return np.append(np.zeros(begin), self.group.steps(int(self.firsts[0]), values[begin:]))


def curve_moments(groups: RelevantGroups, levels: Levels) -> CurveMoments:
    """Moments over all orders at each level.

    Args:
        groups: tie groups of the query with a relevant document.
    """
    parts = _parts(groups, levels)
    if sum(part.places for part in parts) > MOST_VALUES:
        return _bounds(parts, levels, _grid(levels), complete=False)
    own = [np.append(part.floor, part.group.candidates(int(part.firsts[0]), part.floor)) for part in parts]
    if sum(float(part.steps(values).sum()) for part, values in zip(parts, own, strict=True)) <= MOST_STEPS:
        return _exact(parts, own, levels)
    return _bounds(parts, levels, np.unique(np.concatenate((*own, levels.lowest))), complete=True)


def _parts(groups: RelevantGroups, levels: Levels) -> list[LevelGroup]:
    """The groups in which a precision can exceed the lowest value of a level."""
    parts = []
    for above, tied, relevant, before, within in zip(*(column.tolist() for column in groups[1:]), strict=True):
        most = before + relevant
        # No precision here exceeds most / above; one that does not exceed a level's lowest value cannot raise it.
        depends = (levels.needed <= most) & (most > levels.lowest * above)
        if within > 0 and relevant < tied and depends.any():
            firsts = np.maximum(levels.needed - before, 1)
            own = np.unique(firsts[depends])
            of_level = np.where(depends, np.searchsorted(own, firsts), -1)
            floor = float(levels.lowest[depends].min())
            parts.append(LevelGroup(HitGroup(above, tied, relevant, before, within), own, of_level, floor))
    return parts


def _exact(parts: list[LevelGroup], own: list[Floats], levels: Levels) -> CurveMoments:
    """The exact moments, from the probability of every possible value; a group's changes only at its own values."""
    values = np.unique(np.concatenate((*own, levels.lowest)))
    at_most = (values >= levels.lowest[:, None]).astype(float)
    for part, steps in zip(parts, own, strict=True):
        # Between two of its own values, the probability of a group equals that at the lower one.
        at = np.maximum(np.searchsorted(steps, values, side="right") - 1, 0)
        at_most[part.of_level >= 0] *= part.at_most(steps)[:, at]
    chance = np.diff(at_most, axis=1, prepend=0.0)
    found = [moments(values, each) for each in chance]
    return CurveMoments(np.array([mean for mean, _ in found]), np.zeros(len(found)), np.array([sd for _, sd in found]))


def _grid(levels: Levels) -> Floats:
    """Values between the extremes, evenly spaced on linear and logarithmic scales."""
    low, high = float(levels.lowest.min()), float(levels.highest.max())
    even = np.linspace(low, high, MOST_VALUES // 64)
    return np.unique(np.concatenate((even, np.geomspace(max(low, high * 1e-9), high, len(even)), levels.lowest)))


def _bounds(parts: list[LevelGroup], levels: Levels, values: Floats, *, complete: bool) -> CurveMoments:
    """Bounds of the mean from some of the values; `complete` tells that these are all possible values."""
    at, at_most = _choose_values(parts, levels, values)
    chance = np.diff(at_most, axis=1, prepend=0.0)
    # A maximum precision above one chosen value is at least the next possible value; if not all values are listed, it
    # is only known to exceed the chosen one.
    lower = np.append(0, at[:-1] + complete) if len(at) else at
    least, most = np.maximum(values[lower], levels.lowest[:, None]), np.minimum(values[at], levels.highest[:, None])
    rest = 1 - chance.sum(axis=1)
    low = (chance * np.minimum(least, most)).sum(axis=1) + rest * levels.lowest
    high = (chance * most).sum(axis=1) + rest * levels.highest
    low, high = np.clip(low, levels.lowest, levels.highest), np.clip(high, levels.lowest, levels.highest)
    return CurveMoments((low + high) / 2, high - low, np.full(len(low), np.nan))


def _choose_values(parts: list[LevelGroup], levels: Levels, values: Floats) -> tuple[Ints, Floats]:
    """Indices of the values worth their steps, ascending, and [level, value] the probability of at most each."""
    steps = np.sum([part.steps(values) for part in parts], axis=0)
    # Smaller values can be exceeded on more ranks and take more steps, so begin where the steps suffice.
    first = int(np.argmax(steps <= MOST_STEPS / LEAST))
    if steps[first] > MOST_STEPS / LEAST:
        return np.zeros(0, dtype=np.int64), np.zeros((len(levels.lowest), 0))
    at = _spread(values, first, min(FIRST, int(MOST_STEPS / 2 / max(steps[first], 1.0))))
    at_most, left = _at_most(parts, levels, values[at]), MOST_STEPS - float(steps[at].sum())
    for rest in range(ROUNDS, 0, -1):
        added = _choose_midpoints(values, at, at_most, steps, left / rest)
        if not len(added):
            break
        left -= float(steps[added].sum())
        at, at_most = np.append(at, added), np.append(at_most, _at_most(parts, levels, values[added]), axis=1)
        order = np.argsort(at)
        at, at_most = at[order], at_most[:, order]
    return at, at_most


def _spread(values: Floats, first: int, count: int) -> Ints:
    """Indices of about this many values, evenly spaced in size, from a first one to the last."""
    wanted = np.linspace(values[first], values[-1], count)
    return np.unique(np.append(first, np.minimum(np.searchsorted(values, wanted), len(values) - 1)))


def _choose_midpoints(values: Floats, at: Ints, at_most: Floats, steps: Floats, most: float) -> Ints:
    """Indices that halve the intervals with the most uncertainty, within a number of steps."""
    low, high = at[:-1], at[1:]
    opened = np.where(high - low > 1, np.diff(at_most).sum(axis=0) * (values[high] - values[low]), 0.0)
    some = np.argsort(-opened)
    some = some[opened[some] > 0]
    middle = np.searchsorted(values, (values[low[some]] + values[high[some]]) / 2)
    middle = np.clip(middle, low[some] + 1, high[some] - 1)
    return np.sort(middle[np.cumsum(steps[middle]) <= most])


def _at_most(parts: list[LevelGroup], levels: Levels, values: Floats) -> Floats:
    """[level, value] probability that the level is at most a value."""
    at_most = (values >= levels.lowest[:, None]).astype(float)
    for part in parts:
        at_most[part.of_level >= 0] *= part.at_most(values)
    return at_most
