"""Exact sums: sums of fractions in double-double precision, and lists sorted by them.

A sum of rounded fractions depends on the order of its terms. Double-double arithmetic (Dekker 1971) distinguishes equal
sums of fractions from different ones; each sum is then rounded once, so that scores are equal if and only if the sums
are.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from math import lcm
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueval.errors import PolicyError
from trueval.retrieval.fusion.union import WORD, sort_by_upper_bits
from trueval.standings.groups import differs_from_last

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Integers up to here are exact as float64.
EXACT: Final = 2**53
# Relative difference below which sums count as equal: their own error is below 2^-100, and with k = 60 distinct sums of
# up to four ranks below 1,000 are at least 2^-96 apart.
SAME: Final = 2.0**-96
# Factor that splits a float64 into two halves of 26 bits (Veltkamp).
HALVES: Final = float(2**27 + 1)
# Rows summed at once, so that temporary arrays stay in the processor's cache.
BLOCK: Final = 1 << 14


class Sums(NamedTuple):
    """Sums as pairs of float64 (double-double).

    Attributes:
        high: [row] the nearest float64.
        low: [row] remainder, to another 53 bits.
    """

    high: Floats
    low: Floats


class SortedSums(NamedTuple):
    """Lists sorted by descending sums; ties keep their order.

    Attributes:
        order: [row] index of the input row at this position.
        scores: [row] sum as a float64, in that order; equal if and only if the exact sums are.
    """

    order: Ints
    scores: Floats


def sort_rank_sums(ranks: Ints, k: Fraction, weights: Sequence[Fraction], offsets: Ints) -> SortedSums:
    """Sort lists by their sums of w / (k + rank) over runs.

    Args:
        ranks: [run, row] ranks from 1, lists one after another; 0 for a run without the document. Every row is in some
            run.
        k: constant of RRF, at least 0.
        weights: [run] weights above 0.
        offsets: [list + 1] where each list starts.

    Raises:
        PolicyError: k and weights have too many digits.

    >>> one = Fraction(1)
    >>> sort_rank_sums(np.array([[2, 1, 3], [2, 3, 1]]), Fraction(60), [one, one], np.array([0, 3]))
    SortedSums(order=array([1, 2, 0]), scores=array([0.03226646, 0.03226646, 0.03225806]))
    """
    fractions = _Fractions.of(ranks, k, weights)
    sums = fractions.sums()
    order, scores = _sort_sums(sums, offsets)
    if not fractions.known_apart:
        for one in fractions.find_confused(order, scores, offsets):
            rows = slice(int(offsets[one]), int(offsets[one + 1]))
            own = fractions.sort_exactly(rows)
            order[rows], scores[rows] = own.order + rows.start, own.scores
    return SortedSums(order, scores)


class _Fractions(NamedTuple):
    """Sums of fractions of integers: with k = a/b and weights p/q over one q, a term is (p b) / (a + b rank) / q.

    Attributes:
        ranks: [run, row] ranks; 0 adds nothing.
        tops: [run] numerators p b.
        bottoms: [rank] denominators a + b rank.
        over: common denominator q.
    """

    ranks: Ints
    tops: Sequence[int]
    bottoms: Ints
    over: int

    @classmethod
    def of(cls, ranks: Ints, k: Fraction, weights: Sequence[Fraction]) -> _Fractions:
        """Convert k and weights to integers.

        Raises:
            PolicyError: they are too large for a float64.
        """
        over = lcm(*(weight.denominator for weight in weights))
        tops = [int(weight * over) * k.denominator for weight in weights]
        largest = k.numerator + k.denominator * int(ranks.max(initial=0))
        if max(*tops, over, largest) >= EXACT:
            raise PolicyError("k and weights must have fewer digits: sums of their fractions would not be exact.")
        return cls(ranks, tops, k.numerator + k.denominator * np.arange(int(ranks.max(initial=0)) + 1), over)

    @property
    def known_apart(self) -> bool:
        """Whether distinct sums are certain to differ by more than the relative tolerance `SAME`.

        The difference of two sums is an integer over the product of all their denominators, or 0.
        """
        runs, first, last = len(self.tops), int(self.bottoms[min(1, len(self.bottoms) - 1)]), int(self.bottoms[-1])
        return Fraction(first, runs * max(self.tops) * last ** (2 * runs)) > SAME

    def sums(self) -> Sums:
        """[row] the sums."""
        terms = [_terms(top, self.bottoms) for top in self.tops]
        rows = self.ranks.shape[1]
        total = Sums(*np.empty((2, rows)))
        for begin in range(0, rows, BLOCK):
            part = self.ranks[:, begin : begin + BLOCK]
            found = Sums(terms[0].high[part[0]], terms[0].low[part[0]])
            for term, rank in zip(terms[1:], part[1:], strict=True):
                found = _plus(found, Sums(term.high[rank], term.low[rank]))
            if self.over > 1:
                found = _divide_sums(found, np.array([float(self.over)]))
            total.high[begin : begin + BLOCK], total.low[begin : begin + BLOCK] = found
        return total

    def find_confused(self, order: Ints, scores: Floats, offsets: Ints) -> list[int]:
        """Lists in which documents have equal scores but different exact sums."""
        heads = np.zeros(len(order), dtype=bool)
        heads[offsets[:-1][offsets[:-1] < len(order)]] = True
        tied = np.flatnonzero((scores[1:] == scores[:-1]) & ~heads[1:])
        # Equal ranks in runs of equal weight give equal sums.
        weights = np.array(self.tops)
        alike = np.ones(len(tied), dtype=bool)
        for weight in np.unique(weights):
            chosen = np.sort(self.ranks[weights == weight], axis=0)[:, order]
            alike &= (chosen[:, tied] == chosen[:, tied + 1]).all(axis=0)
        differ = [at for at in tied[~alike].tolist() if self.exact(order[at]) != self.exact(order[at + 1])]
        found: list[int] = np.unique(offsets.searchsorted(differ, side="right") - 1).tolist()
        return found

    def exact(self, row: int) -> Fraction:
        """The sum of a row."""
        ranks = self.ranks[:, row].tolist()
        terms = [Fraction(top, int(self.bottoms[rank])) for top, rank in zip(self.tops, ranks, strict=True) if rank]
        return sum(terms, Fraction(0)) / self.over

    def sort_exactly(self, rows: slice) -> SortedSums:
        """Sort one list in rational arithmetic."""
        exact = [self.exact(row) for row in range(rows.start, rows.stop)]
        order = np.array(sorted(range(len(exact)), key=lambda row: -exact[row]), dtype=np.int64)
        falling = [exact[row] for row in order.tolist()]
        new = np.array([True, *(one != other for one, other in pairwise(falling))])
        values = np.array([float(sum_) for sum_, begins in zip(falling, new, strict=True) if begins])
        return SortedSums(order, _distinct(values)[np.cumsum(new) - 1])


def _terms(top: int, bottoms: Ints) -> Sums:
    """[rank] term of each rank; 0 for rank 0."""
    whole = np.where(np.arange(len(bottoms)) > 0, float(top), 0.0)
    return _divide_sums(Sums(whole, np.zeros(len(whole))), np.maximum(bottoms, 1).astype(float))


def _plus(one: Sums, other: Sums) -> Sums:
    high = one.high + other.high
    part = high - one.high
    error = (one.high - (high - part)) + (other.high - part)
    return _renormalize(high, error + (one.low + other.low))


def _divide_sums(top: Sums, bottom: Floats) -> Sums:
    high = top.high / bottom
    product, error = high * bottom, _product_error(high, bottom)
    return _renormalize(high, ((top.high - product) - error + top.low) / bottom)


def _product_error(one: Floats, other: Floats) -> Floats:
    """The rounding error of a product (Dekker 1971)."""
    (a, b), (c, d) = _halves(one), _halves(other)
    error: Floats = ((a * c - one * other) + a * d + b * c) + b * d
    return error


def _halves(values: Floats) -> tuple[Floats, Floats]:
    large = HALVES * values
    high = large - (large - values)
    return high, values - high


def _renormalize(high: Floats, low: Floats) -> Sums:
    """The same sum with its nearest float64 as the high part."""
    whole = high + low
    return Sums(whole, low - (whole - high))


def _sort_sums(sums: Sums, offsets: Ints) -> SortedSums:
    # The bits of positive float64 numbers order as integers do, and bits common to all sums need no sorting.
    bits = sums.high.view(np.uint64)
    falling = bits.max(initial=0) - bits
    spare = WORD - max(int(falling.max(initial=0)).bit_length(), 1)
    order, key = sort_by_upper_bits(falling << np.uint64(spare), offsets)
    scores = sums.high[order]
    for one in _find_misplaced_lists(sums, order, key, offsets):
        rows = slice(int(offsets[one]), int(offsets[one + 1]))
        own = _to_the_last_bit(Sums(sums.high[rows], sums.low[rows]))
        order[rows], scores[rows] = own.order + rows.start, own.scores
    return SortedSums(order, scores)


def _find_misplaced_lists(sums: Sums, order: Ints, key: NDArray[np.uint64], offsets: Ints) -> list[int]:
    """Lists in which the sort key equates different sums, or separates equal ones."""
    high, low = sums.high[order], sums.low[order]
    apart = np.abs((high[:-1] - high[1:]) + (low[:-1] - low[1:])) > SAME * high[:-1]
    differ = differs_from_last(key)[1:]
    wrong = apart != differ
    wrong |= (high[:-1] != high[1:]) & ~differ  # one sum, rounded to two adjacent numbers
    heads = offsets[1:-1]
    wrong[heads[(heads > 0) & (heads < len(high))] - 1] = False  # rows of two lists
    found: list[int] = np.unique(offsets.searchsorted(np.flatnonzero(wrong), side="right") - 1).tolist()
    return found


def _to_the_last_bit(sums: Sums) -> SortedSums:
    """Sort one list by descending exact sums, with scores that are equal where the sums are."""
    order = np.lexsort((-sums.low, -sums.high))
    high, low = sums.high[order], sums.low[order]
    new = differs_from_last(high)
    new[1:] = (high[:-1] - high[1:]) + (low[:-1] - low[1:]) > SAME * np.abs(high[:-1])
    # Equal sums may be out of order because of their last bits: restore the order of the rows.
    group = np.cumsum(new) - 1
    return SortedSums(order[np.lexsort((order, group))], _distinct(high[new])[group])


def _distinct(scores: Floats) -> Floats:
    """[group] descending scores of different sums: where two round to the same float64, the next one below."""
    scores = scores.copy()
    for place in range(1, len(scores)):
        # A score that moves down may reach the next one, which then moves too.
        if scores[place] >= scores[place - 1]:
            scores[place] = np.nextafter(scores[place - 1], -np.inf)
    return scores
