"""Pareto sets of cost, latency and quality, of one set of values or of many resamples at once."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from trueval.errors import PolicyError, nearest
from trueval.standings.standings import Bools, Floats

PARETO: Final = "pareto"
PAPER: Final = "paper"
RULES: Final = (PARETO, PAPER)


class Objectives(NamedTuple):
    """What configurations cost, take and are worth; NaN where that is not known.

    Attributes:
        cost: [configuration] or [configuration, resample], less is better.
        latency: the same, in seconds, less is better.
        quality: the same, more is better.
    """

    cost: Floats
    latency: Floats
    quality: Floats

    @property
    def known(self) -> tuple[str, ...]:
        """Names of those that at least one configuration knows; the others decide nothing."""
        return tuple(name for name, values in self._asdict().items() if not np.isnan(values).all())

    def select(self, some: Bools) -> Objectives:
        """Those of some configurations."""
        return Objectives(*(values[some] for values in self))


def on_frontier(points: Objectives, *, rule: str = PARETO, band: float = 0.0) -> Bools:
    """Which configurations no other one removes.

    By the rule `pareto` j goes if some i is no worse in cost, latency and quality and better in one of them; by `paper`
    (P-B section 3.3) only if some i is better in all three. Latencies that differ by the band or less are ties: then
    neither is worse, and neither is better. Equal configurations stay together. An objective that no configuration
    knows is left out. Where one of two configurations alone knows an objective, neither removes the other.

    With a band "is removed by" is not transitive, but it has no circles, so somebody always stays: around a circle cost
    and quality could not change, and each latency had to be less than the one before.

    Args:
        points: of the configurations, [configuration], or [configuration, resample] in some or all objectives.
        rule: "pareto" or "paper".
        band: seconds, at least 0.

    Returns:
        [configuration], or [configuration, resample] where an objective has resamples.

    Example:
        >>> costs, seconds, worth = np.array([1.0, 1.0, 2.0]), np.array([0.1, 0.2, 0.3]), np.array([0.5, 0.5, 0.4])
        >>> on_frontier(Objectives(costs, seconds, worth)).tolist()
        [True, False, False]
        >>> on_frontier(Objectives(costs, seconds, worth), rule="paper").tolist()
        [True, True, False]
    """
    compared = _Compared.of(points, rule, band)
    out = np.ones((len(points.cost), max(values.shape[1] for values in compared.points)), dtype=bool)
    if any(compared.known):
        for place in range(len(out)):
            out[place] = ~compared.removers(place)[1].any(axis=0)
    return out if any(values.ndim > 1 for values in points) else out[:, 0]


def removers(points: Objectives, place: int, *, rule: str = PARETO, band: float = 0.0) -> Bools:
    """Which configurations remove one of them.

    Args:
        points: [configuration].
        place: of the one that may go.
        rule: as in `on_frontier`.
        band: as there.

    Returns:
        [configuration].

    Example:
        >>> costs, seconds, worth = np.array([1.0, 1.0, 2.0]), np.array([0.1, 0.2, 0.3]), np.array([0.5, 0.5, 0.4])
        >>> removers(Objectives(costs, seconds, worth), 1).tolist()
        [True, False, False]
    """
    some, found = _Compared.of(points, rule, band).removers(place)
    out = np.zeros(len(points.cost), dtype=bool)
    out[some] = found.all(axis=1)
    return out


def check_rule(rule: str) -> None:
    """Refuses a rule that there is not.

    Raises:
        PolicyError: naming those that there are.
    """
    if rule not in RULES:
        raise PolicyError(f"rule must be {' or '.join(RULES)}. Got {rule!r}.{nearest(rule, RULES)}")


class _Compared(NamedTuple):
    """Objectives of one shape, [configuration, resample], and how they are compared.

    Attributes:
        points: constants in place of an objective that nobody knows.
        known: whether each objective is known to somebody.
        rule: "pareto" or "paper".
        band: seconds.
    """

    points: Objectives
    known: tuple[bool, ...]
    rule: str
    band: float

    @classmethod
    def of(cls, points: Objectives, rule: str, band: float) -> _Compared:
        check_rule(rule)
        known = tuple(name in points.known for name in points._fields)
        used = (np.where(here, each, 0.0).reshape(len(each), -1) for each, here in zip(points, known, strict=True))
        return cls(Objectives(*used), known, rule, band)

    def removers(self, place: int) -> tuple[Bools, Bools]:
        """Those that cost no more than one of the configurations in some resample, and where each of them removes it."""
        cost, latency, quality = self.points
        some: Bools = (cost <= cost[place]).any(axis=1)
        c, s, q = cost[some], latency[some], quality[some]
        better = (c < cost[place], s < latency[place] - self.band, q > quality[place])
        if self.rule == PAPER:
            asked = np.broadcast_arrays(*(each for each, here in zip(better, self.known, strict=True) if here))
            return some, np.logical_and.reduce(asked)
        no_worse = (c <= cost[place]) & (s <= latency[place] + self.band) & (q >= quality[place])
        return some, no_worse & (better[0] | better[1] | better[2])
