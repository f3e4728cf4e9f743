"""Rank weights: what a linear measure gives each rank, with the sums that expectation and variance need."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Protocol

import numpy as np

from trueval.standings.standings import Floats, Ints

# Tables of up to this many ranks are kept for the next call, at most KEPT_TABLES of them: 4 MiB.
KEPT = 1 << 10
KEPT_TABLES = 128


class Weights(Protocol):
    """A non-increasing weight w of ranks 1, 2, ...; `query` says whose, for weights that differ between queries."""

    def at(self, rank: Ints, query: Ints) -> Floats:
        """w(rank)."""

    def total(self, rank: Ints, query: Ints) -> Floats:
        """W(rank), the sum of w(1) .. w(rank)."""

    def squares(self, rank: Ints, query: Ints) -> Floats:
        """V(rank), the sum of w(1)^2 .. w(rank)^2."""


@dataclass(frozen=True, eq=False)
class Top:
    """w(r) = 1[r <= k]: the first k ranks count the same. All sums are whole numbers, so exact.

    Args:
        last: k, one for all queries or [query].
    """

    last: int | Ints

    def at(self, rank: Ints, query: Ints) -> Floats:
        """w(rank)."""
        return (rank <= self._last(query)).astype(float)

    def total(self, rank: Ints, query: Ints) -> Floats:
        """W(rank)."""
        return np.minimum(rank, self._last(query)).astype(float)

    def squares(self, rank: Ints, query: Ints) -> Floats:
        """V(rank)."""
        return self.total(rank, query)

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

    @cached_property
    def _totals(self) -> Floats:
        return _sealed(np.cumsum(self._padded[:-1]))

    @cached_property
    def _squares(self) -> Floats:
        return _sealed(np.cumsum(self._padded[:-1] ** 2))

    def at(self, rank: Ints, query: Ints) -> Floats:
        """w(rank)."""
        return self._padded[np.minimum(rank, len(self.weights) + 1)]

    def total(self, rank: Ints, query: Ints) -> Floats:
        """W(rank)."""
        return self._totals[np.minimum(rank, len(self.weights))]

    def squares(self, rank: Ints, query: Ints) -> Floats:
        """V(rank)."""
        return self._squares[np.minimum(rank, len(self.weights))]


def _sealed(table: Floats) -> Floats:
    """The same array, read only: tables are shared."""
    table.flags.writeable = False
    return table


def discounts(last: int, longest: int) -> Table:
    """w(r) = 1 / log2(r + 1) for r <= last, the discount of DCG; Järvelin & Kekäläinen 2002, as trec_eval has it.

    Args:
        last: the last rank with a weight.
        longest: no rank past this one is ever asked for with a weight.

    >>> discounts(2, 5).weights.tolist() == [1 / np.log2(2), 1 / np.log2(3)]
    True
    """
    ranks = min(last, longest)
    return _kept_discounts(ranks) if ranks <= KEPT else _discounts(ranks)


def _discounts(ranks: int) -> Table:
    return Table(_sealed(1 / np.log2(np.arange(2, ranks + 2, dtype=np.float64))))


_kept_discounts = lru_cache(maxsize=KEPT_TABLES)(_discounts)


def geometric(persistence: float, last: int, longest: int) -> Table:
    """w(r) = (1 - p) p^(r-1) for r <= last, the weights of RBP; Moffat & Zobel 2008.

    Args:
        persistence: p, the chance that a reader goes on to the next document.
        last: the last rank with a weight.
        longest: no rank past this one is ever asked for with a weight.
    """
    return Table((1 - persistence) * persistence ** np.arange(min(last, longest), dtype=np.float64))
