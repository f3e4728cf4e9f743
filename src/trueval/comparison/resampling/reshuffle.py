"""Reshuffle: how much two ranked lists differ, in their documents and in their order.

The lists may hold different documents and have different lengths. Every order of a tie group is equally likely, the
orders of the two lists are independent, and every number is the exact mean over all orders. A list with ties therefore
agrees with itself less than fully.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueval.errors import InputError
from trueval.standings.groups import Floats, Ints, find_groups, ranges, tie_groups

K: Final = 10  # number of results that a reader, or a prompt, gets
DEPTH: Final = 50  # depth of RBO; at p = .9 lower ranks have a total weight below .006
PERSISTENCE: Final = 0.9  # persistence p of RBO: nine tenths of readers continue at every rank
MOST_CELLS: Final = 1 << 21  # maximum probabilities by depth in memory at once


@dataclass(frozen=True, eq=False)
class TiedLists:
    """Lists of documents with their tie groups.

    Attributes:
        key: [row] number of the document, the same for a document in both of two lists that are compared and
            different in each list: list · documents + document. Ascending.
        list: [row] index of its list.
        above: [row] number of documents of the list with a higher score.
        tied: [row] number of documents of the list with the same score, including itself.
        length: [list] number of documents.
    """

    key: Ints
    list: Ints
    above: Ints
    tied: Ints
    length: Ints

    @classmethod
    def of(cls, document: Ints, scores: Floats, offsets: Ints, documents: int) -> TiedLists:
        """Build the lists from scores.

        Args:
            document: [row] number of the document, from 0; no list has one twice.
            scores: [row] higher is better.
            offsets: [list + 1] where each list starts.
            documents: number of distinct documents.
        """
        length = np.diff(offsets)
        owner = np.arange(len(length)).repeat(length)
        groups = tie_groups(scores, offsets)
        group = find_groups(groups, owner, scores, np.arange(len(scores)))
        return cls.from_positions(
            document, owner, groups.start[group] - offsets[owner], groups.size[group], length, documents
        )

    @classmethod
    def from_positions(
        cls, document: Ints, owner: Ints, above: Ints, tied: Ints, length: Ints, documents: int
    ) -> TiedLists:
        """Build the lists from documents with known positions; arguments as the attributes, rows in any order."""
        key = owner * documents + document
        order = np.argsort(key, kind="stable")
        return cls(key[order], owner[order], above[order], tied[order], length)


class SharedDocuments(NamedTuple):
    """Documents that two lists share; those in the same tie group in both lists are equivalent and counted together.

    Attributes:
        list: [cell] index of the pair of lists; ascending.
        above: [2, cell] number of documents above them in the first list, and in the second.
        tied: [2, cell] size of their tie group.
        documents: [cell] number of documents.
    """

    list: Ints
    above: Ints
    tied: Ints
    documents: Ints

    def within(self, depth: int) -> SharedDocuments:
        """The documents that may be among the first ones of both lists, to a given depth."""
        inside = (self.above < depth).all(axis=0)
        return SharedDocuments(self.list[inside], self.above[:, inside], self.tied[:, inside], self.documents[inside])

    def chances(self, depth: int) -> Floats:
        """[2, cell] probability of each to be among the first documents: clip((depth − above) / tied, 0, 1)."""
        chance: Floats = np.clip((depth - self.above) / self.tied, 0, 1)
        return chance


class Reshuffle(NamedTuple):
    """Agreement of two lists, for each pair of lists; NaN where one of them is empty.

    Attributes:
        overlap: [list] expected share of common documents in the top k.
        tau: [list] 1 − 2 K^(1/2) / max of the two top k; from −1, nothing in common, to 1, the same list.
        rbo: [list] rank-biased overlap, extrapolated.
    """

    overlap: Floats
    tau: Floats
    rbo: Floats


def reshuffle(
    first: TiedLists, second: TiedLists, *, k: int = K, depth: int = DEPTH, p: float = PERSISTENCE
) -> Reshuffle:
    """Compare lists pair by pair.

    Args:
        first: lists of documents.
        second: equally many lists, with the same document numbers.
        k: cutoff of overlap and τ.
        depth: depth of RBO.
        p: persistence of RBO.

    Raises:
        InputError: k, depth or p is out of range, or the numbers of lists differ.

    >>> one = TiedLists.of(np.array([0, 1, 2]), np.array([3.0, 2.0, 1.0]), np.array([0, 3]), 4)
    >>> other = TiedLists.of(np.array([0, 3, 1]), np.array([3.0, 2.0, 1.0]), np.array([0, 3]), 4)
    >>> found = reshuffle(one, other, k=2)  # {0, 1} and {0, 3}: one in common, and K = 1 of at most 5
    >>> found.overlap.tolist(), found.tau.round(6).tolist()
    ([0.5], [0.6])
    """
    if len(first.length) != len(second.length):
        raise InputError(f"As many lists are needed on both sides. Got {len(first.length)} and {len(second.length)}.")
    if not 1 <= k <= depth:
        raise InputError(f"k must be at least 1 and at most the depth {depth}. Got {k}.")
    length = np.minimum(np.stack((first.length, second.length)), depth)
    cells = find_shared_documents(first, second).within(depth)
    sums = overlaps(cells, length.shape[1], depth)
    empty = length.min(axis=0) == 0
    with np.errstate(invalid="ignore", divide="ignore"):
        overlap = sums[:, k - 1] / np.minimum(length.max(axis=0), k)
        found = (overlap, top_k_tau(cells, np.minimum(length, k), k), rank_biased_overlap(sums, length, p))
    return Reshuffle(*(np.where(empty, np.nan, values) for values in found))


def reshuffle_after_change(first: TiedLists, second: TiedLists, *, k: int = K, depth: int = DEPTH) -> Reshuffle:
    """Compare result lists before and after a change; where one of the two is empty, nothing is kept.

    A query that loses all its documents counts as overlap 0, τ −1 and RBO 0, where `reshuffle` gives NaN.

    Args:
        first: lists before the change.
        second: equally many lists after it.

    Returns:
        As `reshuffle`; NaN only where both lists are empty.

    >>> one = TiedLists.of(np.array([0, 1]), np.array([2.0, 1.0]), np.array([0, 2]), 2)
    >>> none = TiedLists.of(np.array([], dtype=np.int64), np.array([]), np.array([0, 0]), 2)
    >>> nothing = reshuffle_after_change(none, none)
    >>> [each.tolist() for each in reshuffle_after_change(one, none)], np.isnan(nothing.overlap).tolist()
    ([[0.0], [-1.0], [0.0]], [True])
    """
    lost = (first.length == 0) != (second.length == 0)
    found = reshuffle(first, second, k=k, depth=depth)
    return Reshuffle(*(np.where(lost, least, values) for least, values in zip((0.0, -1.0, 0.0), found, strict=True)))


def find_shared_documents(first: TiedLists, second: TiedLists) -> SharedDocuments:
    """Find the documents that lists share, pair by pair.

    >>> one = TiedLists.of(np.array([0, 1]), np.array([1.0, 1.0]), np.array([0, 2]), 2)
    >>> find_shared_documents(one, one).tied.tolist(), find_shared_documents(one, one).documents.tolist()
    ([[2], [2]], [2])
    """
    if not len(second.key):
        nothing = np.zeros(0, dtype=np.int64)
        return SharedDocuments(nothing, np.zeros((2, 0), dtype=np.int64), np.zeros((2, 0), dtype=np.int64), nothing)
    place = np.minimum(np.searchsorted(second.key, first.key), len(second.key) - 1)
    mine = np.flatnonzero(second.key[place] == first.key)
    theirs, owner = place[mine], first.list[mine]
    above = np.stack((first.above[mine], second.above[theirs]))
    tied = np.stack((first.tied[mine], second.tied[theirs]))
    if bool((tied == 1).all()):
        return SharedDocuments(owner, above, tied, np.ones(len(owner), dtype=np.int64))
    order = np.lexsort((*above, owner))
    owner, above, tied = owner[order], above[:, order], tied[:, order]
    new = np.ones(len(owner), dtype=bool)
    new[1:] = (owner[1:] != owner[:-1]) | (above[:, 1:] != above[:, :-1]).any(axis=0)
    starts = np.flatnonzero(new)
    return SharedDocuments(owner[starts], above[:, starts], tied[:, starts], np.diff(np.append(starts, len(owner))))


def overlaps(cells: SharedDocuments, lists: int, depth: int) -> Floats:
    """Expected number of common documents in the top d of two lists.

    X_d = Σ_i P(i in the top d of one) P(i in the top d of the other), P = clip((d − above) / tied, 0, 1).

    Args:
        cells: shared documents.
        lists: number of pairs of lists.

    Returns:
        [list, d − 1] for d = 1 .. depth.

    >>> one = TiedLists.of(np.array([0, 1]), np.array([1.0, 1.0]), np.array([0, 2]), 2)
    >>> other = TiedLists.of(np.array([0, 1]), np.array([2.0, 1.0]), np.array([0, 2]), 2)
    >>> overlaps(find_shared_documents(one, other), 1, 2).tolist()
    [[0.5, 2.0]]
    """
    cells = cells.within(depth)
    single = (cells.tied == 1).all(axis=0)
    # An untied document is common from the larger of its two ranks on.
    enters = cells.list[single] * depth + cells.above[:, single].max(axis=0, initial=0)
    sums: Floats = np.bincount(enters, minlength=lists * depth).reshape(lists, depth).cumsum(axis=1) * 1.0
    rows, depths = np.flatnonzero(~single), np.arange(1, depth + 1)
    for start in range(0, len(rows), max(1, MOST_CELLS // depth)):
        part = rows[start : start + max(1, MOST_CELLS // depth)]
        chance = np.clip((depths - cells.above[:, part, None]) / cells.tied[:, part, None], 0, 1)
        # Each document of a group that the depth cuts is inside with the same probability; the two orders are
        # independent.
        np.add.at(sums, cells.list[part], cells.documents[part, None] * chance[0] * chance[1])
    return sums


def rank_biased_overlap(sums: Floats, length: Ints, p: float = PERSISTENCE) -> Floats:
    """RBO_EXT of lists of s and l >= s documents: the observed agreement, extrapolated to all ranks below.

    (1 − p)/p · [Σ_{d<=l} X_d/d · p^d + Σ_{s<d<=l} X_s (d − s)/(s d) · p^d] + [(X_l − X_s)/l + X_s/s] · p^l
    (Webber, Moffat & Zobel 2010, eq. 32). It is linear in X_d, so with the expected X_d it is the mean over all orders
    of tied documents: RBO^a of Corsi & Urbano 2024. Of two lists of the same n documents it is RBO itself.

    Args:
        sums: [list, d − 1] X_d, from `overlaps`.
        length: [2, list] number of documents of each list, at most the largest d.
        p: persistence, between 0 and 1.

    Returns:
        [list]; NaN where a list is empty.

    Raises:
        InputError: p is out of range.

    >>> rank_biased_overlap(np.array([[0.0, 2.0]]), np.array([[2], [2]]), p=0.5).round(3).tolist()
    [0.5]
    """
    if not 0 < p < 1:
        raise InputError(f"The persistence of RBO must be a number between 0 and 1. Got {p!r}.")
    depth = np.arange(1, sums.shape[1] + 1)
    short, long = (ends[:, None] for ends in (length.min(axis=0), length.max(axis=0)))
    with np.errstate(invalid="ignore", divide="ignore"):
        at_short = np.take_along_axis(sums, np.maximum(short - 1, 0), axis=1)
        at_long = np.take_along_axis(sums, np.maximum(long - 1, 0), axis=1)
        seen = sums / depth + at_short * np.maximum(depth - short, 0) / (short * depth)
        weighed = (np.where(depth <= long, seen, 0.0) * p**depth).sum(axis=1) * (1 - p) / p
        below = ((at_long - at_short) / long + at_short / short)[:, 0] * p ** long[:, 0]
        found: Floats = np.where(short[:, 0] > 0, weighed + below, np.nan)
    return found


def top_k_tau(cells: SharedDocuments, length: Ints, k: int) -> Floats:
    """Kendall's τ of two top k lists of different documents: 1 − 2 K^(1/2) / max K^(1/2).

    K^(1/2) of Fagin, Kumar & Sivakumar 2003 counts pairs of documents of either list: 1 where the lists imply opposite
    orders, a list implying that its own documents rank above those it lacks; 1/2 where both are in one list and neither
    is in the other. Its maximum is that of lists with nothing in common, a·b + (a(a−1) + b(b−1))/4 for lengths a and b.
    With ties it is the mean over all orders of both. The same documents in reverse order have τ = (k + 1)/(3k − 1).

    Args:
        cells: shared documents.
        length: [2, list] number of documents of each top k: k, or fewer for a short list.
        k: cutoff.

    Returns:
        [list]; NaN where neither list has a pair to compare.
    """
    cells, lists = cells.within(k), length.shape[1]
    pairs = length[0] * length[1] + (length * (length - 1)).sum(axis=0) / 4
    chance = cells.chances(k)
    expected = cells.documents * chance[0] * chance[1]
    common = _by_list(cells.list, expected, lists)
    others, ordered = _pair_sums(cells, chance, k, lists)
    squared = common + others  # E z² for z common documents: each with itself, and with all others
    union = length.sum(axis=0)
    # Pairs of the union; 1/2 of each is the mean of agreement (0) and disagreement (1).
    in_union = (union * (union - 1) - (2 * union - 1) * common + squared) / 2
    # A common document is concordant with documents of one list below it, and discordant with those above it. Where the
    # other document is common too, these cancel, as each of the two is once above and once below.
    below = length[:, cells.list] - np.minimum(length[:, cells.list], cells.above + cells.tied)
    beside = _by_list(cells.list, expected * (below - cells.above).sum(axis=0), lists)
    apart = length[0] * length[1] - union * common + squared  # pairs of a document of only one and one of only other
    distance = (in_union - ordered - beside + apart) / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        tau: Floats = 1 - 2 * distance / pairs
    return tau


class _PairSums(NamedTuple):
    """Sums over pairs of common documents.

    Attributes:
        others: [list] Σ over ordered pairs of the probability that both are in both top k.
        ordered: [list] Σ over pairs of that probability, minus it where the lists order them oppositely.
    """

    others: Floats
    ordered: Floats


def _pair_sums(cells: SharedDocuments, chance: Floats, k: int, lists: int) -> _PairSums:
    ends = np.searchsorted(cells.list, cells.list, side="right")
    place = np.arange(len(cells.list))
    left, right = place.repeat(ends - place - 1), ranges(place + 1, ends - place - 1)
    side = np.sign(cells.above[:, right] - cells.above[:, left])
    both_inside = _pair_chance(cells, k)
    # Documents of different groups are inside independently, since at most one group is cut by k.
    each = np.where(side == 0, both_inside[:, left], chance[:, left] * chance[:, right]).prod(axis=0)
    weight = cells.documents[left] * cells.documents[right] * each
    alike = _by_list(cells.list, cells.documents * (cells.documents - 1) * both_inside.prod(axis=0), lists)
    owner = cells.list[left]
    return _PairSums(alike + 2 * _by_list(owner, weight, lists), _by_list(owner, weight * side.prod(axis=0), lists))


def _pair_chance(cells: SharedDocuments, k: int) -> Floats:
    """[2, cell] probability of two documents of a group to be among the first k: c(c−1) / (m(m−1)) of m, c inside."""
    inside = np.clip(k - cells.above, 0, cells.tied)
    chance: Floats = inside * (inside - 1) / np.maximum(cells.tied * (cells.tied - 1), 1)
    return chance


def _by_list(owner: Ints, values: NDArray[np.float64], lists: int) -> Floats:
    return np.bincount(owner, values, minlength=lists).astype(np.float64)  # integers where there are no values
