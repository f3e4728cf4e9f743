"""Groups of configurations whose differences are inside noise: of near duplicates nobody can say which one it is.

The probability that one of several near duplicates is on the frontier is small for each of them, and says too much of
the one that happens to look best; that some of them is there can be said.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from trueval.standings.standings import Bools, Floats, Ints
from trueval.tradeoff.pareto import Objectives, band_to

COST: Final = 0.01  # costs closer than this part of the larger are alike
# Part of the tails of an interval of the level: each of many is compared with a leader, in two objectives.
STRICTER: Final = 10.0


class Group(NamedTuple):
    """Configurations that differ from their leader inside noise.

    Attributes:
        leader: the one most probably on the frontier.
        members: places, ascending, the leader's among them.
        probability: that at least one member is on the frontier.
    """

    leader: int
    members: tuple[int, ...]
    probability: float


def group(
    points: Objectives, there: Bools, *, level: float, band: float | Floats, cost: float = COST
) -> tuple[Group, ...]:
    """Put configurations into groups: the most probable one leads, and takes those that are alike; then the next.

    Two are alike if their costs are, if 0 or the band is inside the interval of the difference of their latencies, and
    0 inside that of their qualities, intervals with a tenth of the tails, 99.5 % for a level of .95: at 95 % one of
    twenty duplicates would be told apart by chance. What neither knows is alike; what one knows is not.

    Args:
        points: cost [configuration]; latency and quality [configuration, resample], draws of true values.
        there: [configuration, resample] on the frontier.
        level: of intervals elsewhere, 0.95.
        band: of latencies, as in `on_frontier`.
        cost: part of the larger cost by which costs may differ.

    Returns:
        Groups of all configurations, in the order of their leaders' places.

    Example:
        >>> same = np.array([[0.5, 0.6], [0.6, 0.5], [0.9, 0.9]])
        >>> points = Objectives(np.ones(3), np.ones((3, 2)), same)
        >>> there = np.array([[False, True], [True, False], [True, True]])
        >>> [each.members for each in group(points, there, level=0.95, band=0.0)]
        [(0, 1), (2,)]
    """
    probability = there.mean(axis=1)
    free, found = np.ones(len(there), dtype=bool), []
    for leader in np.argsort(-probability, kind="stable"):
        if free[leader]:
            members = _alike(points, np.flatnonzero(free), int(leader), level, band, cost)
            free[members] = False
            share = float(there[members].any(axis=0).mean())
            found.append(Group(int(leader), tuple(map(int, members)), share))
    return tuple(sorted(found))


def _alike(points: Objectives, some: Ints, leader: int, level: float, band: float | Floats, cost: float) -> Ints:
    """Those of some configurations that are like the leader, the leader among them."""
    costs, own = points.cost[some], points.cost[leader]
    close = np.abs(costs - own) <= cost * np.maximum(costs, own)
    some = some[np.where(np.isnan(costs), np.isnan(own), close) | (some == leader)]
    between = band_to(band, leader)
    width = between[some] if isinstance(between, np.ndarray) else between
    some_in_time = _inside(points.latency, some, leader, level, width)
    found: Ints = some[(some_in_time & _inside(points.quality, some, leader, level, 0.0)) | (some == leader)]
    return found


def _inside(draws: Floats, some: Ints, leader: int, level: float, band: float | Floats) -> Bools:
    """Whether the interval of a difference from the leader reaches into the band around 0."""
    apart = draws[some] - draws[leader]
    unknown, tail = np.isnan(draws[some, 0]), (1 - level) / 2 / STRICTER
    low, high = np.quantile(apart, [tail, 1 - tail], axis=1)
    found: Bools = np.where(unknown, np.isnan(draws[leader, 0]), (low <= band) & (high >= -band))
    return found
