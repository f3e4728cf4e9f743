"""Rank weights of linear measures, with their mean and deviation over the ranks of a tie group.

Deep in the list neighboring ranks have nearly equal weights, so that differences of running sums would lose every
digit: mean and deviation are computed from differences to the weight of the group's first rank.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple, Protocol

import numpy as np

from trueval.standings.standings import Floats, Ints

# Tables of up to this many ranks are cached, at most KEPT_TABLES of them: 4 MiB.
KEPT = 1 << 10
KEPT_TABLES = 128
# Ranks of groups per block: 1 MiB per array.
BLOCK = 1 << 17
# Relative difference of two ranks below which the difference of their discounts is computed from its logarithm.
NEAR = 2.0**-14
# Weights below this are scaled by the first of their group, so that no square underflows.
TINY = 2.0**-400


class WeightSpans(NamedTuple):
    """Statistics of the weights over the ranks of tie groups.

    Attributes:
        mean: [group] mean weight.
        deviation: [group] root of the sum of (w - mean)^2.
    """

    mean: Floats
    deviation: Floats


class Weights(Protocol):
    """A non-increasing weight w of ranks 1, 2, ...; `query` selects the query where weights differ by query."""

    def at(self, rank: Ints, query: Ints) -> Floats:
        """w(rank)."""

    def spans(self, above: Ints, tied: Ints, query: Ints) -> WeightSpans:
        """Mean and deviation over the ranks above + 1 .. above + tied of each group; w(above + 1) > 0."""


class Top(NamedTuple):
    """w(r) = 1[r <= k]: the first k ranks count equally.

    Args:
        last: k, one for all queries or [query].
    """

    last: int | Ints

    def at(self, rank: Ints, query: Ints) -> Floats:
        """w(rank)."""
        return (rank <= self._last(query)).astype(float)

    def spans(self, above: Ints, tied: Ints, query: Ints) -> WeightSpans:
        """Mean and deviation over the ranks of each group, some of weight 1 and the others 0."""
        within = np.clip(self._last(query) - above, 0, tied)
        return WeightSpans(within / tied, np.sqrt(within * ((tied - within) / tied)))

    def _last(self, query: Ints) -> int | Ints:
        return self.last if isinstance(self.last, int) else self.last[query]


@dataclass(frozen=True, eq=False)
class WeightTable:
    """Weights given as a table of ranks 1 .. n, and 0 past it.

    Args:
        weights: [rank] w(1) .. w(n).
    """

    weights: Floats

    @cached_property
    def _padded_weights(self) -> Floats:
        return _make_read_only(np.concatenate(([0.0], self.weights, [0.0])))

    def at(self, rank: Ints, query: Ints) -> Floats:
        """w(rank)."""
        return self._padded_weights[np.minimum(rank, len(self.weights) + 1)]

    def spans(self, above: Ints, tied: Ints, query: Ints) -> WeightSpans:
        """Mean and deviation over the ranks of each group; a large group forms its own block."""
        within = np.minimum(len(self.weights) - above, tied)
        ends = within.cumsum()
        if ends[-1] <= BLOCK:
            return self._block_spans(above, tied, within, ends - within)
        mean, deviation = np.zeros(len(above)), np.zeros(len(above))
        begin = 0
        while begin < len(within):
            left = BLOCK + (int(ends[begin - 1]) if begin else 0)
            end = max(begin + 1, int(np.searchsorted(ends, left, side="right")))
            own, starts = slice(begin, end), (ends - within)[begin:end]
            of_block = self._block_spans(above[own], tied[own], within[own], starts - starts[0])
            mean[own], deviation[own] = of_block
            begin = end
        return WeightSpans(mean, deviation)

    def _block_spans(self, above: Ints, tied: Ints, within: Ints, starts: Ints) -> WeightSpans:
        """Mean and deviation where the first rank has a weight; `within` ranks are in the table, others weigh 0."""
        first = above + 1
        rank = np.arange(starts[-1] + within[-1]) + (first - starts).repeat(within)
        head = unit = self._padded_weights[first]
        lost = self._weight_loss(head.repeat(within), first, rank, within)
        if self.weights[-1] < TINY:
            lost, unit = lost / head.repeat(within), np.ones_like(head)
        mean_lost = np.add.reduceat(lost, starts) / within
        lost -= mean_lost.repeat(within)
        lost *= lost
        mean, share = unit - mean_lost, within / tied
        deviation = np.sqrt(np.add.reduceat(lost, starts) + mean * mean * (within * (1 - share)))
        mean *= share
        return WeightSpans(mean, deviation) if unit is head else WeightSpans(head * mean, head * deviation)

    def _weight_loss(self, head: Floats, first: Ints, rank: Ints, within: Ints) -> Floats:
        """w(first) - w(rank) for the ranks of groups, group after group; `head` is w(first) of each rank."""
        return head - self._padded_weights[rank]


@dataclass(frozen=True, eq=False)
class Discounts(WeightTable):
    """The discounts of DCG as a table."""

    def _weight_loss(self, head: Floats, first: Ints, rank: Ints, within: Ints) -> Floats:
        """As for any table, but w(first) w(rank) log2((rank+1) / (first+1)) where the two weights are nearly equal."""
        lost = super()._weight_loss(head, first, rank, within)
        # In shorter tables, the relative difference of two ranks exceeds NEAR.
        if len(self.weights) * NEAR > 1:
            near = np.flatnonzero(((first + 1) * NEAR > 1).repeat(within))
            start = first.repeat(within)[near]
            far = (rank[near] - start) / (start + 1.0)
            near, far = near[far < NEAR], far[far < NEAR]
            lost[near] = head[near] * self._padded_weights[rank[near]] * np.log1p(far) / np.log(2)
        return lost


def _make_read_only(table: Floats) -> Floats:
    """Return the array as read-only: tables are shared."""
    table.flags.writeable = False
    return table


def discounts(last: int, longest: int) -> Discounts:
    """w(r) = 1 / log2(r + 1) for r <= last, the discount of DCG; Järvelin & Kekäläinen 2002, as in trec_eval.

    Args:
        last: the last rank with a weight.
        longest: the largest rank whose weight is ever used.

    >>> discounts(2, 5).weights.tolist() == [1 / np.log2(2), 1 / np.log2(3)]
    True
    """
    ranks = min(last, longest)
    return _kept_discounts(ranks) if ranks <= KEPT else _discounts(ranks)


def _discounts(ranks: int) -> Discounts:
    return Discounts(_make_read_only(1 / np.log2(np.arange(2, ranks + 2, dtype=np.float64))))


_kept_discounts = lru_cache(maxsize=KEPT_TABLES)(_discounts)


def geometric(persistence: float, last: int, longest: int) -> WeightTable:
    """w(r) = (1 - p) p^(r-1) for r <= last, the weights of RBP; Moffat & Zobel 2008.

    Args:
        persistence: p, the probability that a user goes on to the next document.
        last: the last rank with a weight.
        longest: the largest rank whose weight is ever used.
    """
    return WeightTable((1 - persistence) * persistence ** np.arange(min(last, longest), dtype=np.float64))
