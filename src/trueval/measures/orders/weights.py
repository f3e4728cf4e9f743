"""Rank weights: what a linear measure gives each rank, with the mean and the spread over the ranks of a tie group.

Deep down the list neighbors weigh nearly the same, so that differences of running sums would lose every digit: mean and
spread are found from the differences to the weight of the first rank of the group.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple, Protocol

import numpy as np

from trueval.standings.groups import ranges
from trueval.standings.standings import Floats, Ints

# Tables of up to this many ranks are kept for the next call, at most KEPT_TABLES of them: 4 MiB.
KEPT = 1 << 10
KEPT_TABLES = 128
# Ranks of groups looked at together: 1 MiB per array.
BLOCK = 1 << 17
# Where two ranks differ by a smaller part than this, the difference of their discounts comes from a logarithm of it.
NEAR = 2.0**-14


class Spans(NamedTuple):
    """The weights of the ranks of some tie groups.

    Attributes:
        mean: [group] their mean.
        deviation: [group] root of the sum of (w - mean)^2.
    """

    mean: Floats
    deviation: Floats


class Weights(Protocol):
    """A non-increasing weight w of ranks 1, 2, ...; `query` says whose, for weights that differ between queries."""

    def at(self, rank: Ints, query: Ints) -> Floats:
        """w(rank)."""

    def spans(self, above: Ints, tied: Ints, query: Ints) -> Spans:
        """Mean and deviation over the ranks above + 1 .. above + tied of each group; w(above + 1) > 0."""


@dataclass(frozen=True, eq=False)
class Top:
    """w(r) = 1[r <= k]: the first k ranks count the same.

    Args:
        last: k, one for all queries or [query].
    """

    last: int | Ints

    def at(self, rank: Ints, query: Ints) -> Floats:
        """w(rank)."""
        return (rank <= self._last(query)).astype(float)

    def spans(self, above: Ints, tied: Ints, query: Ints) -> Spans:
        """Mean and deviation over the ranks of each group, of which some count 1 and the others 0."""
        within = np.clip(self._last(query) - above, 0, tied)
        return Spans(within / tied, np.sqrt(within * ((tied - within) / tied)))

    def _last(self, query: Ints) -> int | Ints:
        return self.last if isinstance(self.last, int) else self.last[query]


@dataclass(frozen=True, eq=False)
class Table:
    """Weights given as a table of ranks 1 .. n, and 0 past it.

    Args:
        weights: [rank] w(1) .. w(n).
    """

    weights: Floats

    @cached_property
    def _padded(self) -> Floats:
        return _sealed(np.concatenate(([0.0], self.weights, [0.0])))

    def at(self, rank: Ints, query: Ints) -> Floats:
        """w(rank)."""
        return self._padded[np.minimum(rank, len(self.weights) + 1)]

    def below(self, first: Ints, rank: Ints) -> Floats:
        """w(first) - w(rank) for ranks first <= rank inside the table."""
        return self._padded[first] - self._padded[rank]

    def spans(self, above: Ints, tied: Ints, query: Ints) -> Spans:
        """Mean and deviation over the ranks of each group; a group of many has a block of its own."""
        within = np.clip(len(self.weights) - above, 0, tied)
        mean, deviation = np.zeros(len(above)), np.zeros(len(above))
        ends = np.cumsum(within)
        begin = 0
        while begin < len(within):
            left = BLOCK + (int(ends[begin - 1]) if begin else 0)
            end = max(begin + 1, int(np.searchsorted(ends, left, side="right")))
            block = slice(begin, end)
            mean[block], deviation[block] = self._block_spans(above[block], tied[block], within[block])
            begin = end
        return Spans(mean, deviation)

    def _block_spans(self, above: Ints, tied: Ints, within: Ints) -> Spans:
        """Of groups whose first rank has a weight; `within` of their ranks are inside the table, the others weigh 0."""
        head, starts = self._padded[above + 1], np.cumsum(within) - within
        first = np.repeat(above + 1, within)
        # As shares of the first weight, so that no square of a small weight is lost.
        lost = self.below(first, ranges(above + 1, within)) / np.repeat(head, within)
        mean_lost = np.add.reduceat(lost, starts) / within
        lost -= np.repeat(mean_lost, within)
        lost *= lost
        mean, share = 1 - mean_lost, within / tied
        outside = mean**2 * (within * (1 - share))
        return Spans(head * mean * share, head * np.sqrt(np.add.reduceat(lost, starts) + outside))


@dataclass(frozen=True, eq=False)
class Discounts(Table):
    """The discounts of DCG as a table."""

    def below(self, first: Ints, rank: Ints) -> Floats:
        """w(first) - w(rank), which is w(first) w(rank) log2((rank+1) / (first+1)), where both are nearly the same."""
        found = super().below(first, rank)
        if len(self.weights) * NEAR > 1:
            far = (rank - first) / (first + 1.0)
            near = np.flatnonzero(far < NEAR)
            found[near] = self._padded[first[near]] * self._padded[rank[near]] * np.log1p(far[near]) / np.log(2)
        return found


def _sealed(table: Floats) -> Floats:
    """The same array, read only: tables are shared."""
    table.flags.writeable = False
    return table


def discounts(last: int, longest: int) -> Discounts:
    """w(r) = 1 / log2(r + 1) for r <= last, the discount of DCG; Järvelin & Kekäläinen 2002, as trec_eval has it.

    Args:
        last: the last rank with a weight.
        longest: no rank past this one is ever asked for with a weight.

    >>> discounts(2, 5).weights.tolist() == [1 / np.log2(2), 1 / np.log2(3)]
    True
    """
    ranks = min(last, longest)
    return _kept_discounts(ranks) if ranks <= KEPT else _discounts(ranks)


def _discounts(ranks: int) -> Discounts:
    return Discounts(_sealed(1 / np.log2(np.arange(2, ranks + 2, dtype=np.float64))))


_kept_discounts = lru_cache(maxsize=KEPT_TABLES)(_discounts)


def geometric(persistence: float, last: int, longest: int) -> Table:
    """w(r) = (1 - p) p^(r-1) for r <= last, the weights of RBP; Moffat & Zobel 2008.

    Args:
        persistence: p, the chance that a reader goes on to the next document.
        last: the last rank with a weight.
        longest: no rank past this one is ever asked for with a weight.
    """
    return Table((1 - persistence) * persistence ** np.arange(min(last, longest), dtype=np.float64))
