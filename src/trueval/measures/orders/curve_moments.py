"""Mean and standard deviation of interpolated precision over the orders of one query, at some levels of recall.

At a level that c relevant documents reach, the value is the largest precision at a relevant document from the c-th on.
It is at most v if that holds in every tie group, so its chance F(v) is the product of those of best_precision.py, a
step function with steps at the precisions there can be. With all of them the mean is exact. Where that would take too
long, some values v_0 < v_1 < .. are enough to bound it::

    sum of f_i u_i <= mean <= sum of f_i v_i,   f_i = F(v_i) - F(v_{i-1}), u_i the least precision above v_{i-1}

Values are added where a step leaves most open, f_i (v_i - v_{i-1}), until the steps are spent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trueval.measures.orders.best_precision import HitGroup, chances_at_most
from trueval.measures.orders.group_draws import moments
from trueval.measures.orders.precision_sums import RelevantGroups
from trueval.standings.standings import Floats, Ints

# Steps for one query, about a third of a second: ranks times relevant documents for each value. Past it, bounds.
MOST_STEPS = 1 << 26
# Precisions of one query that are listed; of more, this many values between the extremes are taken.
MOST_VALUES = 1 << 20
# Rounds in which values are added, the values of the first, and the part of the steps that one value may take.
ROUNDS = 12
FIRST = 64
LEAST = 16


class Levels(NamedTuple):
    """Levels of recall of one query at which orders differ.

    Attributes:
        needed: [level] relevant documents that reach it.
        lowest: [level] least value over all orders.
        highest: [level] greatest.
    """

    needed: Ints
    lowest: Floats
    highest: Floats


class CurveMoments(NamedTuple):
    """What all orders give at each level.

    Attributes:
        mean: [level] the mean, or the middle of its bounds.
        width: [level] distance of the bounds, 0 where the mean is exact.
        sd: [level] standard deviation; NaN where the mean is bounded.
    """

    mean: Floats
    width: Floats
    sd: Floats


class LevelGroup(NamedTuple):
    """A tie group on which some level depends.

    Attributes:
        firsts: numbers of its relevant documents from which on some level counts them, ascending.
        of_level: [level] which of these is its; -1 where nothing here can raise the level above its lowest value.
        floor: values up to this one need not be told apart.
    """

    group: HitGroup
    firsts: Ints
    of_level: Ints
    floor: float

    @property
    def places(self) -> int:
        """Pairs of a rank and a relevant document that count."""
        ranks = int(self.group.ranks_above(np.array([self.floor]))[0])
        return ranks * (self.group.relevant - int(self.firsts[0]) + 1)

    def at_most(self, values: Floats) -> Floats:
        """[level that depends on it, value] the chance that no precision here is above a value."""
        chances = np.ones((len(self.firsts), len(values)))
        begin = int(np.searchsorted(values, self.floor))
        chances[:, begin:] = chances_at_most(self.group, self.firsts, values[begin:])
        return np.asarray(chances[self.of_level[self.of_level >= 0]])

    def steps(self, values: Floats) -> Floats:
        """[value] steps that its chance takes."""
        begin = int(np.searchsorted(values, self.floor))
        return np.append(np.zeros(begin), self.group.steps(int(self.firsts[0]), values[begin:]))


def curve_moments(groups: RelevantGroups, levels: Levels) -> CurveMoments:
    """Mean over all orders at each level.

    Args:
        groups: the tie groups of the query with a relevant document.
    """
    parts = _parts(groups, levels)
    if sum(part.places for part in parts) > MOST_VALUES:
        return _bounds(parts, levels, _grid(levels), complete=False)
    own = [np.append(part.floor, part.group.candidates(int(part.firsts[0]), part.floor)) for part in parts]
    if sum(float(part.steps(values).sum()) for part, values in zip(parts, own, strict=True)) <= MOST_STEPS:
        return _exact(parts, own, levels)
    return _bounds(parts, levels, np.unique(np.concatenate((*own, levels.lowest))), complete=True)


def _parts(groups: RelevantGroups, levels: Levels) -> list[LevelGroup]:
    """The groups in which a precision can be above the lowest value of a level."""
    parts = []
    for above, tied, relevant, before, within in zip(*(column.tolist() for column in groups[1:]), strict=True):
        most = before + relevant
        # No precision here is above most / above: what is not above a level's lowest value cannot raise it.
        depends = (levels.needed <= most) & (most > levels.lowest * above)
        if within > 0 and relevant < tied and depends.any():
            firsts = np.maximum(levels.needed - before, 1)
            own = np.unique(firsts[depends])
            of_level = np.where(depends, np.searchsorted(own, firsts), -1)
            floor = float(levels.lowest[depends].min())
            parts.append(LevelGroup(HitGroup(above, tied, relevant, before, within), own, of_level, floor))
    return parts


def _exact(parts: list[LevelGroup], own: list[Floats], levels: Levels) -> CurveMoments:
    """From the chance of every value there can be; that of a group only changes at its own."""
    values = np.unique(np.concatenate((*own, levels.lowest)))
    at_most = (values >= levels.lowest[:, None]).astype(float)
    for part, steps in zip(parts, own, strict=True):
        # Between two of its own values the chance of a group stays what it is at the lower one.
        at = np.maximum(np.searchsorted(steps, values, side="right") - 1, 0)
        at_most[part.of_level >= 0] *= part.at_most(steps)[:, at]
    chance = np.diff(at_most, axis=1, prepend=0.0)
    found = [moments(values, each) for each in chance]
    return CurveMoments(np.array([mean for mean, _ in found]), np.zeros(len(found)), np.array([sd for _, sd in found]))


def _grid(levels: Levels) -> Floats:
    """Values between the extremes, even in size and in ratio."""
    low, high = float(levels.lowest.min()), float(levels.highest.max())
    even = np.linspace(low, high, MOST_VALUES // 64)
    return np.unique(np.concatenate((even, np.geomspace(max(low, high * 1e-9), high, len(even)), levels.lowest)))


def _bounds(parts: list[LevelGroup], levels: Levels, values: Floats, *, complete: bool) -> CurveMoments:
    """Bounds of the mean from some of the values, of which `complete` says that they are all there can be."""
    at, at_most = _choose_values(parts, levels, values)
    chance = np.diff(at_most, axis=1, prepend=0.0)
    # A best precision above one chosen value is at least the next value there can be; where not all of them are
    # listed, no more is known than that it is above the chosen one.
    lower = np.append(0, at[:-1] + complete) if len(at) else at
    least, most = np.maximum(values[lower], levels.lowest[:, None]), np.minimum(values[at], levels.highest[:, None])
    rest = 1 - chance.sum(axis=1)
    low = (chance * np.minimum(least, most)).sum(axis=1) + rest * levels.lowest
    high = (chance * most).sum(axis=1) + rest * levels.highest
    low, high = np.clip(low, levels.lowest, levels.highest), np.clip(high, levels.lowest, levels.highest)
    return CurveMoments((low + high) / 2, high - low, np.full(len(low), np.nan))


def _choose_values(parts: list[LevelGroup], levels: Levels, values: Floats) -> tuple[Ints, Floats]:
    """Indices of the values that justify their steps, ascending, and [level, value] the probability of at most each."""
    steps = np.sum([part.steps(values) for part in parts], axis=0)
    # The smaller a value, the more ranks can pass it and the more steps it takes: begin where one leaves enough.
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
    """Places of about so many values, even in size, from a first one to the last."""
    wanted = np.linspace(values[first], values[-1], count)
    return np.unique(np.append(first, np.minimum(np.searchsorted(values, wanted), len(values) - 1)))


def _choose_midpoints(values: Floats, at: Ints, at_most: Floats, steps: Floats, most: float) -> Ints:
    """Places that halve the intervals which leave most open, for so many steps."""
    low, high = at[:-1], at[1:]
    opened = np.where(high - low > 1, np.diff(at_most).sum(axis=0) * (values[high] - values[low]), 0.0)
    some = np.argsort(-opened)
    some = some[opened[some] > 0]
    middle = np.searchsorted(values, (values[low[some]] + values[high[some]]) / 2)
    middle = np.clip(middle, low[some] + 1, high[some] - 1)
    return np.sort(middle[np.cumsum(steps[middle]) <= most])


def _at_most(parts: list[LevelGroup], levels: Levels, values: Floats) -> Floats:
    """[level, value] the chance that the level is at most a value."""
    at_most = (values >= levels.lowest[:, None]).astype(float)
    for part in parts:
        at_most[part.of_level >= 0] *= part.at_most(values)
    return at_most
