"""Pareto sets of cost, latency and quality, of one set of values or of many resamples at once."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from trueval.comparison.limits import ROUNDING
from trueval.errors import PolicyError, nearest
from trueval.standings.standings import Bools, Floats, Ints

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

    def select(self, some: Bools | Ints) -> Objectives:
        """Those of some configurations."""
        return Objectives(*(values[some] for values in self))

    @property
    def joined(self) -> Objectives:
        """The same, with values that differ by rounding alone made equal: neither of two such is better."""
        return Objectives(*map(_joined, self))


def _joined(values: Floats) -> Floats:
    """[configuration] or [configuration, resample]: each the least of those that steps of rounding lead to."""
    order = np.argsort(values, axis=0)
    ordered = np.take_along_axis(values, order, axis=0)
    alike = np.diff(ordered, axis=0) <= ROUNDING * np.maximum(np.abs(ordered[1:]), 1)
    rows = np.arange(1, len(values)).reshape(-1, *[1] * (values.ndim - 1))
    first = np.zeros(values.shape, dtype=np.intp)
    first[1:] = np.maximum.accumulate(np.where(alike, 0, rows), axis=0)
    out = np.empty_like(ordered)
    np.put_along_axis(out, order, np.take_along_axis(ordered, first, axis=0), axis=0)
    return out


def on_frontier(points: Objectives, *, rule: str = PARETO, apart: Bools | None = None) -> Bools:
    """Which configurations no other one removes.

    By the rule `pareto` j goes if some i is no worse in cost, latency and quality and better in one of them; by `paper`
    (P-B section 3.3) only if some i is better in all three. Of latencies that tie neither is worse, and neither is
    better. Equal configurations stay together, and values that rounding alone takes apart are equal. An objective that
    no configuration knows is left out. Where one of two configurations alone knows an objective, neither removes the
    other.

    With ties "is removed by" is not transitive, but it has no circles, so somebody always stays: around a circle cost
    and quality could not change, and each latency had to be less than the one before.

    Args:
        points: of the configurations, [configuration], or [configuration, resample] in some or all objectives.
        rule: "pareto" or "paper".
        apart: [configuration, configuration] whether two latencies do not tie, of measured values; None: all differ.

    Returns:
        [configuration], or [configuration, resample] where an objective has resamples.

    Example:
        >>> costs, seconds, worth = np.array([1.0, 1.0, 2.0]), np.array([0.1, 0.2, 0.3]), np.array([0.5, 0.5, 0.4])
        >>> on_frontier(Objectives(costs, seconds, worth)).tolist()
        [True, False, False]
        >>> on_frontier(Objectives(costs, seconds, worth), rule="paper").tolist()
        [True, True, False]
    """
    compared = _Compared.of(points, rule, apart)
    out: Bools = np.ones((len(points.cost), compared.draws), dtype=bool)
    if any(compared.known):
        middle = Objectives(*(values.mean(axis=1, keepdims=True) for values in compared.points))
        for place in range(len(out)):
            out[place] = compared.stays(place, middle)
    if all(values.ndim == 1 for values in points):
        out = out.reshape(len(out))
    return out


def removers(points: Objectives, place: int, *, rule: str = PARETO, apart: Bools | None = None) -> Bools:
    """Which configurations remove one of them.

    Args:
        points: [configuration].
        place: of the one that may go.
        rule: as in `on_frontier`.
        apart: as there.

    Returns:
        [configuration].

    Example:
        >>> costs, seconds, worth = np.array([1.0, 1.0, 2.0]), np.array([0.1, 0.2, 0.3]), np.array([0.5, 0.5, 0.4])
        >>> removers(Objectives(costs, seconds, worth), 1).tolist()
        [True, False, False]
    """
    every = np.arange(len(points.cost))
    found = _Compared.of(points, rule, apart).removers(place, every, slice(None))
    return found.reshape(len(every))


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
        apart: [configuration, configuration] whether two latencies do not tie; None: all differ.
    """

    points: Objectives
    known: tuple[bool, ...]
    rule: str
    apart: Bools | None

    @classmethod
    def of(cls, points: Objectives, rule: str, apart: Bools | None) -> _Compared:
        check_rule(rule)
        known = tuple(name in points.known for name in points._fields)
        filled = (each if here else np.zeros_like(each) for each, here in zip(points.joined, known, strict=True))
        used = (each[:, None] if each.ndim == 1 else each for each in filled)
        return cls(Objectives(*used), known, rule, apart)

    @property
    def draws(self) -> int:
        """Resamples."""
        return int(max(values.shape[1] for values in self.points))

    def removers(self, place: int, others: Ints, some: slice | Ints) -> Bools:
        """[other, resample] whether each of some configurations removes one, in some resamples."""
        wide = [some if values.shape[1] > 1 else slice(None) for values in self.points]
        # Rows first: of few others these are small, whatever the resamples.
        c, s, q = (values[others][:, part] for values, part in zip(self.points, wide, strict=True))
        cost, latency, quality = (values[place][part] for values, part in zip(self.points, wide, strict=True))
        faster, no_slower = s < latency, s <= latency
        if self.apart is not None:
            differ = self.apart[others, place][:, None]
            faster, no_slower = faster & differ, no_slower | (~differ & ~np.isnan(s) & ~np.isnan(latency))
        better = (c < cost, faster, q > quality)
        if not any(self.known):  # nothing is better or worse than anything
            return np.zeros((len(others), self.draws if isinstance(some, slice) else len(some)), dtype=bool)
        if self.rule == PAPER:
            asked = np.broadcast_arrays(*(each for each, here in zip(better, self.known, strict=True) if here))
            found: Bools = np.logical_and.reduce(asked)
            return found
        no_worse = (c <= cost) & no_slower & (q >= quality)
        at_all: Bools = no_worse & (better[0] | better[1] | better[2])
        return at_all

    def stays(self, place: int, middle: Objectives) -> Bools:
        """[resample] where nobody removes a configuration.

        Those that remove it at the means of all resamples are tried first, so most resamples need not look at others.
        """
        others = np.flatnonzero((self.points.cost <= self.points.cost[place]).any(axis=1))
        at_means = _Compared(middle, self.known, self.rule, self.apart).removers(place, others, slice(None))[:, 0]
        order = np.concatenate([others[at_means], others[~at_means]])
        alive, begin = np.arange(self.draws), 0
        for size in (4, 16, len(order)):
            part, begin = order[begin : begin + size], begin + size
            if len(part) and len(alive):
                some = slice(None) if len(alive) == self.draws else alive
                removed = np.broadcast_to(self.removers(place, part, some).any(axis=0), len(alive))
                alive = alive[~removed]
        found = np.zeros(self.draws, dtype=bool)
        found[alive] = True
        return found
