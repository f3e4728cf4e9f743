"""Pareto sets by cost, latency and quality, for one set of values or many resamples at once."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from trueval.comparison.limits import ROUNDING
from trueval.errors import PolicyError, nearest
from trueval.standings.standings import Bools, Floats, Ints

PARETO: Final = "pareto"
PAPER: Final = "paper"
RULES: Final = (PARETO, PAPER)
# Maximum configurations times resamples per block.
CELLS: Final = 1 << 20


class Objectives(NamedTuple):
    """Cost, latency and quality of configurations; NaN if unknown.

    Attributes:
        cost: [configuration] or [configuration, resample]; lower is better.
        latency: the same shape, in seconds; lower is better.
        quality: the same shape; higher is better.
    """

    cost: Floats
    latency: Floats
    quality: Floats

    @property
    def known(self) -> tuple[str, ...]:
        """Names of the objectives known for at least one configuration; the others are ignored."""
        return tuple(name for name, values in self._asdict().items() if not np.isnan(values).all())

    def select(self, some: Bools | Ints) -> Objectives:
        """The objectives of a subset of configurations."""
        return Objectives(*(values[some] for values in self))

    @property
    def merged(self) -> Objectives:
        """The objectives with values that differ only by rounding made equal, so that neither dominates."""
        return Objectives(*map(merge_rounding_differences, self))


def merge_rounding_differences(values: Floats) -> Floats:
    """Replace each value by the smallest one in its chain of values that differ only by rounding.

    >>> merge_rounding_differences(np.array([0.1 + 0.2, 0.5, 0.3])).tolist()
    [0.3, 0.5, 0.3]
    """
    columns = values[:, None] if values.ndim == 1 else values
    out = np.empty_like(columns)
    step = max(CELLS // max(len(columns), 1), 1)
    for begin in range(0, columns.shape[1], step):
        some = columns[:, begin : begin + step]
        order = np.argsort(some, axis=0)
        ordered = np.take_along_axis(some, order, axis=0)
        alike = np.diff(ordered, axis=0) <= ROUNDING * np.maximum(np.abs(ordered[1:]), 1)
        first = np.zeros(some.shape, dtype=np.intp)
        first[1:] = np.maximum.accumulate(np.where(alike, 0, np.arange(1, len(some))[:, None]), axis=0)
        np.put_along_axis(out[:, begin : begin + step], order, np.take_along_axis(ordered, first, axis=0), axis=0)
    return out.reshape(values.shape)


def on_frontier(points: Objectives, *, rule: str = PARETO, apart: Bools | None = None) -> Bools:
    """Whether each configuration is on the frontier, that is, not dominated.

    By the rule `pareto`, j is removed if some i is no worse in cost, latency and quality and better in one of them; by
    `paper` (P-B section 3.3) only if some i is better in all three. Of tied latencies neither is worse or better. Equal
    configurations stay together, and values that differ only by rounding are equal. An objective that no configuration
    knows is left out. Where only one of two configurations knows an objective, neither removes the other.

    With ties, "is removed by" is not transitive, but it is acyclic, so the frontier is never empty: around a cycle cost
    and quality could not change, and each latency would have to be less than the one before.

    Args:
        points: objectives, [configuration], or [configuration, resample] in some or all of them.
        rule: "pareto" or "paper".
        apart: [configuration, configuration] whether two measured latencies differ; None if all do.

    Returns:
        [configuration], or [configuration, resample] where an objective has resamples.

    Example:
        >>> costs, seconds, worth = np.array([1.0, 1.0, 2.0]), np.array([0.1, 0.2, 0.3]), np.array([0.5, 0.5, 0.4])
        >>> on_frontier(Objectives(costs, seconds, worth)).tolist()
        [True, False, False]
        >>> on_frontier(Objectives(costs, seconds, worth), rule="paper").tolist()
        [True, True, False]
    """
    compared = _Comparison.of(points, rule, apart)
    size = len(points.cost)
    out: Bools = np.ones((size, compared.draws), dtype=bool)
    if any(compared.known) and size and apart is not None:
        for place in range(size):
            out[place] = ~compared.removers(place, np.arange(size)).any(axis=0)
    elif any(compared.known) and size:
        step = max(CELLS // size, 1)
        for begin in range(0, compared.draws, step):
            end = min(begin + step, compared.draws)
            out[:, begin:end] = compared.sweep(begin, end)
    if all(values.ndim == 1 for values in points):
        out = out.reshape(len(out))
    return out


def removers(points: Objectives, place: int, *, rule: str = PARETO, apart: Bools | None = None) -> Bools:
    """Configurations that dominate a given one.

    Args:
        points: objectives, [configuration].
        place: index of the configuration that may be dominated.

    Returns:
        [configuration].

    Example:
        >>> costs, seconds, worth = np.array([1.0, 1.0, 2.0]), np.array([0.1, 0.2, 0.3]), np.array([0.5, 0.5, 0.4])
        >>> removers(Objectives(costs, seconds, worth), 1).tolist()
        [True, False, False]
    """
    every = np.arange(len(points.cost))
    found = _Comparison.of(points, rule, apart).removers(place, every)
    return found.reshape(len(every))


def check_rule(rule: str) -> None:
    """Refuse an unknown rule.

    Raises:
        PolicyError: naming those that there are.
    """
    if rule not in RULES:
        raise PolicyError(f"rule must be {' or '.join(RULES)}. Got {rule!r}.{nearest(rule, RULES)}")


class _Comparison(NamedTuple):
    """Objectives of one shape, [configuration, resample], with the rule of comparison.

    Attributes:
        points: objectives; constant where an objective is unknown for all.
        known: whether each objective is known for any configuration.
        rule: "pareto" or "paper".
        apart: [configuration, configuration] whether two latencies differ; None if all do.
    """

    points: Objectives
    known: tuple[bool, ...]
    rule: str
    apart: Bools | None

    @classmethod
    def of(cls, points: Objectives, rule: str, apart: Bools | None) -> _Comparison:
        check_rule(rule)
        known = tuple(name in points.known for name in points._fields)
        filled = (each if here else np.zeros_like(each) for each, here in zip(points.merged, known, strict=True))
        used = (each[:, None] if each.ndim == 1 else each for each in filled)
        return cls(Objectives(*used), known, rule, apart)

    @property
    def draws(self) -> int:
        """Number of resamples."""
        return int(max(values.shape[1] for values in self.points))

    def removers(self, place: int, others: Ints) -> Bools:
        """[other, resample] whether each of some configurations dominates a given one."""
        c, s, q = (values[others] for values in self.points)
        cost, latency, quality = (values[place] for values in self.points)
        faster, no_slower = s < latency, s <= latency
        if self.apart is not None:
            differ = self.apart[others, place][:, None]
            faster, no_slower = faster & differ, no_slower | (~differ & ~np.isnan(s) & ~np.isnan(latency))
        better = (c < cost, faster, q > quality)
        if not any(self.known):  # no configuration dominates another
            return np.zeros((len(others), self.draws), dtype=bool)
        if self.rule == PAPER:
            asked = np.broadcast_arrays(*(each for each, here in zip(better, self.known, strict=True) if here))
            found: Bools = np.logical_and.reduce(asked)
            return found
        no_worse = (c <= cost) & no_slower & (q >= quality)
        at_all: Bools = no_worse & (better[0] | better[1] | better[2])
        return at_all

    def sweep(self, begin: int, end: int) -> Bools:
        """[configuration, resample] undominated ones where all latencies differ, in O(n log n) per resample.

        Configurations are processed by latency, and equal ones so that no later one removes an earlier one. The best
        quality so far at every cost up to the current one is kept in a tree of prefixes (Fenwick 1994, "A new data
        structure for cumulative frequency tables", Software: Practice and Experience 24: 327-336), without removed
        ones, since whatever they remove, their removers remove too.

        Args:
            begin: first resample.
            end: index after the last resample.
        """
        shape, strict = (len(self.points.cost), end - begin), self.rule == PAPER
        used = [each if each.shape[1] == 1 else each[:, begin:end] for each in self._signed_objectives()]
        rank = np.broadcast_to(_ranks(used[0]), shape)
        cost, latency, quality = (np.broadcast_to(each, shape) for each in used)
        order = np.lexsort((-quality, -rank if strict else rank, latency), axis=0)
        cost, latency, quality = (np.take_along_axis(each, order, axis=0) for each in (cost, latency, quality))
        rank = np.take_along_axis(rank, order, axis=0)
        known = ~(np.isnan(cost) | np.isnan(latency) | np.isnan(quality))
        # Configurations equal in all three are removed or kept together.
        same = np.zeros(shape, dtype=bool)
        if not strict:
            same[1:] = (np.diff(latency, axis=0) == 0) & (np.diff(rank, axis=0) == 0) & (np.diff(quality, axis=0) == 0)
        kept, stays, tree = np.ones(shape[1], dtype=bool), np.ones(shape, dtype=bool), _Greatest.of(*shape)
        for place in range(shape[0]):
            best = tree.up_to(rank[place] - strict)
            free = best <= quality[place] if strict else best < quality[place]
            kept = np.where(same[place], kept, free | ~known[place])
            tree.keep(np.flatnonzero(kept & known[place]), rank[place], quality[place])
            stays[place] = kept
        found = np.empty(shape, dtype=bool)
        np.put_along_axis(found, order, stays, axis=0)
        return found

    def _signed_objectives(self) -> tuple[Floats, Floats, Floats]:
        """Cost, latency and quality; an objective unknown for all is replaced by a known one, which then decides."""
        less = (self.points.cost, self.points.latency, -self.points.quality)
        known = next(each for each, here in zip(less, self.known, strict=True) if here)
        cost, latency, worse = (each if here else known for each, here in zip(less, self.known, strict=True))
        return cost, latency, -worse


def _ranks(cost: Floats) -> Ints:
    """[configuration, resample] 1 for the lowest cost, 2 for the next; unknown ones last."""
    order = np.argsort(cost, axis=0, kind="stable")
    rises = np.diff(np.take_along_axis(cost, order, axis=0), axis=0) != 0
    found = np.ones(cost.shape, dtype=np.intp)
    np.put_along_axis(found, order[1:], 1 + np.cumsum(rises, axis=0), axis=0)
    return found


class _Greatest(NamedTuple):
    """Running maximum over ranks from 1, separately for each resample.

    Attributes:
        cells: [rank, resample]; row 0 stays empty.
        resample: [resample] 0, 1, 2 ...
    """

    cells: Floats
    resample: Ints

    @classmethod
    def of(cls, ranks: int, resamples: int) -> _Greatest:
        return cls(np.full((ranks + 1, resamples), -np.inf), np.arange(resamples))

    def up_to(self, rank: Ints) -> Floats:
        """[resample] maximum over ranks up to the given one; -inf without any."""
        found = self.cells[rank, self.resample]
        while (rank := rank & (rank - 1)).any():
            np.maximum(found, self.cells[rank, self.resample], out=found)
        return found

    def keep(self, some: Ints, rank: Ints, values: Floats) -> None:
        """Insert numbers; all arguments are [resample]."""
        rank, values = rank[some], values[some]
        while len(some):
            self.cells[rank, some] = np.maximum(self.cells[rank, some], values)
            rank = rank + (rank & -rank)
            inside = rank < len(self.cells)
            some, rank, values = some[inside], rank[inside], values[inside]
