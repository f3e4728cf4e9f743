"""Configuration groups: configurations whose differences are within noise, so that none can be singled out.

For near duplicates, the probability of being on the frontier is small for each of them, and overstated for the one that
happens to look best; the probability that at least one of the group is on it is meaningful.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from trueval.standings.standings import Bools, Floats, Ints
from trueval.tradeoff.quality.pareto import Objectives

COST: Final = 0.01  # relative difference up to which costs are alike
# Factor on the tail probability, since many configurations are compared with a leader.
STRICTER: Final = 10.0


class ConfigurationGroup(NamedTuple):
    """Configurations that do not differ significantly from their leader.

    Attributes:
        leader: index of the configuration most probably on the frontier.
        members: indices in ascending order, the leader included.
        probability: probability that at least one member is on the frontier.
    """

    leader: int
    members: tuple[int, ...]
    probability: float


def group(
    points: Objectives, there: Bools, apart: Bools, *, level: float, cost: float = COST
) -> tuple[ConfigurationGroup, ...]:
    """Group configurations greedily: the most probable one leads and takes those not separated from it; then the next.

    Two are alike if their costs are, if their latencies tie, and if 0 is inside the interval of the difference of their
    qualities, an interval with a tenth of the tails, 99.5 % for a level of .95: at 95 % one of twenty duplicates would
    be separated from noise. Two configurations are alike in an objective that both lack, and differ in one that only
    one of them has.

    Args:
        points: measured cost and latency [configuration], and quality [configuration, resample].
        there: [configuration, resample] whether it is on the frontier.
        apart: [configuration, configuration] whether two latencies differ.
        level: confidence level of other intervals, such as 0.95.
        cost: maximum relative difference of alike costs.

    Returns:
        Groups of all configurations, in the order of their leaders' places.

    Example:
        >>> same = np.array([[0.5, 0.6], [0.6, 0.5], [0.9, 0.9]])
        >>> points = Objectives(np.ones(3), np.ones(3), same)
        >>> there = np.array([[False, True], [True, False], [True, True]])
        >>> [each.members for each in group(points, there, np.zeros((3, 3), dtype=bool), level=0.95)]
        [(0, 1), (2,)]
    """
    probability = there.mean(axis=1)
    free, found = np.ones(len(there), dtype=bool), []
    for leader in np.argsort(-probability, kind="stable"):
        if free[leader]:
            members = _alike(points, np.flatnonzero(free & ~apart[leader]), int(leader), level, cost)
            free[members] = False
            share = float(there[members].any(axis=0).mean())
            found.append(ConfigurationGroup(int(leader), tuple(map(int, members)), share))
    return tuple(sorted(found))


def _alike(points: Objectives, some: Ints, leader: int, level: float, cost: float) -> Ints:
    """Configurations not separated from the leader, including the leader."""
    costs, own = points.cost[some], points.cost[leader]
    close = np.where(np.isnan(costs), np.isnan(own), np.abs(costs - own) <= cost * np.maximum(costs, own))
    timed = np.isnan(points.latency[some]) == np.isnan(points.latency[leader])
    some = some[(close & timed) | (some == leader)]
    found: Ints = some[_inside(points.quality, some, leader, level) | (some == leader)]
    return found


def _inside(draws: Floats, some: Ints, leader: int, level: float) -> Bools:
    """Whether the interval of the difference from the leader contains 0."""
    apart = draws[some] - draws[leader]
    unknown, tail = np.isnan(draws[some, 0]), (1 - level) / 2 / STRICTER
    low, high = np.quantile(apart, [tail, 1 - tail], axis=1)
    found: Bools = np.where(unknown, np.isnan(draws[leader, 0]), (low <= 0) & (high >= 0))
    return found
