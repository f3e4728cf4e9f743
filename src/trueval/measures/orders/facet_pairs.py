"""Covariance of the gains of two facets from one tie group, and blocks of groups of similar size to process together.

Of m tied documents, a are about the first facet only, b about the second only, c about both. A facet gains
X = sum over k of keep^(k-1) w(offset of its k-th document), so after p ranks with (x, y, z) of the three kinds::

    Cov(p; x, y, z) = q_a keep Cov(p+1; x+1, y, z) + q_b keep Cov(p+1; x, y+1, z) + q_c keep^2 Cov(p+1; x, y, z+1)
                      + q_0 Cov(p+1; x, y, z) + (q_c - q_1 q_2) g_1 g_2

with the chances q of each kind at the next rank, q_1 = q_a + q_c and q_2 = q_b + q_c those of a document about either
facet, and g = w + keep E[X(p+1, k+1)] - E[X(p+1, k)] what that changes. This is the law of total covariance.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np

from trueval.standings.standings import Bools, Floats, Groups, Ints

# States per block, groups times numbers of documents so far: 512 KiB per array.
STATES = 1 << 16


class FacetPairs(NamedTuple):
    """Pairs of facets within tie groups.

    Attributes:
        group: [pair] index of the group among the requested ones.
        one: [pair] first facet.
        other: [pair] second facet.
        sizes: [pair, kind] a, b, c.
    """

    group: Ints
    one: Ints
    other: Ints
    sizes: Ints

    def take(self, chosen: Ints) -> FacetPairs:
        """Some of the pairs."""
        return FacetPairs(*(column[chosen] for column in self))


def facet_pairs(rows: Bools, groups: Groups, chosen: Ints) -> FacetPairs:
    """Find all pairs of facets that occur in the same group, the one with more documents first.

    Args:
        rows: [row, facet] whether the document is about the facet.
    """
    found = [FacetPairs(chosen[:0], chosen[:0], chosen[:0], np.zeros((0, 3), dtype=np.int64))]
    counts = np.add.reduceat(rows, groups.start, axis=0, dtype=np.int64)[chosen]
    for one, other in combinations(range(rows.shape[1]), 2):
        group = np.flatnonzero((counts[:, one] > 0) & (counts[:, other] > 0))
        both = np.add.reduceat(rows[:, one] & rows[:, other], groups.start, dtype=np.int64)[chosen[group]]
        alone = np.sort(np.stack((counts[group, one], counts[group, other]), axis=1) - both[:, None], axis=1)
        sizes = np.column_stack((alone[:, ::-1], both))
        found.append(FacetPairs(group, np.full_like(group, one), np.full_like(group, other), sizes))
    return FacetPairs(*(np.concatenate(column) for column in zip(*found, strict=True)))


def blocks(sizes: Ints, width: Ints) -> Iterator[Ints]:
    """Rows to process together: few enough to fit in memory, with sizes between the same powers of two.

    Args:
        sizes: [row, kind] number of documents of each kind.
        width: [row] number of ranks that count.
    """
    # Sizes between two powers of two are padded to at most twice their number.
    powers = np.frexp(sizes)[1]
    order = np.lexsort((width, *powers.T))
    changes = np.flatnonzero((powers[order][1:] != powers[order][:-1]).any(axis=1)) + 1
    for begin, end in pairwise([0, *changes.tolist(), len(order)]):
        if begin < end:
            step = max(1, STATES // int((sizes[order[begin:end]].max(axis=0) + 1).prod()))
            yield from (order[at : min(at + step, end)] for at in range(begin, end, step))


class _Facet:
    """Expected gain of one facet of each pair, carried from rank to rank.

    Args:
        count: [pair] number of its documents.
    """

    def __init__(self, count: Ints) -> None:
        most = int(count.max(initial=0))
        self._left = np.maximum(count[:, None] - np.arange(most + 1), 0).astype(float)
        self._mean = np.zeros((len(count), most + 2))

    def step(self, rest: Ints, weight: Floats, keep: float) -> tuple[Floats, Floats]:
        """[pair, k] probability q of one of its documents at a rank, and the resulting change; moves one rank up."""
        chance = self._left / np.maximum(np.maximum(rest[:, None], self._left), 1)
        change = weight[:, None] + keep * self._mean[:, 1:] - self._mean[:, :-1]
        self._mean[:, :-1] += chance * change
        return chance, change


def covariances(tied: Ints, sizes: Ints, keep: float, weights: Floats) -> Floats:
    """[pair] covariance of the gains of two facets.

    Args:
        tied: [pair] m, number of documents in the group.
        sizes: [pair, kind] a, b, c.
        keep: factor that each document leaves of its facets' gains.
        weights: [pair, offset] w, non-increasing; 0 beyond the ranks that count.

    >>> covariances(np.array([2]), np.array([[1, 1, 0]]), 0.5, np.array([[1.0, 0.5]])).tolist()
    [-0.0625]
    """
    a, b, c = sizes.max(axis=0).tolist()
    left_a = np.maximum(sizes[:, 0, None] - np.arange(a + 1), 0.0)[:, :, None, None]
    left_b = np.maximum(sizes[:, 1, None] - np.arange(b + 1), 0.0)[:, None, :, None]
    left_c = np.maximum(sizes[:, 2, None] - np.arange(c + 1), 0.0)[:, None, None, :]
    left = left_a + left_b + left_c
    of_first, of_second = (np.add.outer(np.arange(size + 1), np.arange(c + 1)) for size in (a, b))
    first, second = _Facet(sizes[:, 0] + sizes[:, 2]), _Facet(sizes[:, 1] + sizes[:, 2])
    found = np.zeros((len(tied), a + 2, b + 2, c + 2))
    for p in range(weights.shape[1] - 1, -1, -1):
        # Unreachable states have more documents left than ranks; any probability up to 1 serves for them.
        rest = tied - p
        each = 1 / np.maximum(np.maximum(rest[:, None, None, None], left), 1)
        one, other = first.step(rest, weights[:, p], keep), second.step(rest, weights[:, p], keep)
        q_1, g_1 = (_look_up_part(part, of_first)[:, :, None, :] for part in one)
        q_2, g_2 = (_look_up_part(part, of_second)[:, None, :, :] for part in other)
        now = found[:, :-1, :-1, :-1]
        change = left_a * (keep * found[:, 1:, :-1, :-1] - now)
        change += left_b * (keep * found[:, :-1, 1:, :-1] - now)
        change += left_c * (keep**2 * found[:, :-1, :-1, 1:] - now)
        found[:, :-1, :-1, :-1] = now + each * change + (left_c * each - q_1 * q_2) * g_1 * g_2
    return found[:, 0, 0, 0]


def _look_up_part(part: Floats, at: Ints) -> Floats:
    """[pair, x, z] the value of a facet after x + z of its documents; never used beyond all of them."""
    return np.asarray(part[:, np.minimum(at, part.shape[1] - 1)])
