"""Tie groups of lists of scores: the kernel under standings.

Lists are ragged: one flat array of scores and `offsets`, [list + 1], so that list i is
scores[offsets[i]:offsets[i + 1]].
A list already in descending order is read once; any other is sorted, many lists of like length in one block.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

# Elements sorted or compared at once: 32 MiB of float64, small beside any file that needs blocks.
BLOCK = 1 << 22


class TieGroups(NamedTuple):
    """All tie groups of all lists, lists in order, groups from highest to lowest score.

    Attributes:
        start: [group + 1] position of the group's first document when every list is sorted by descending score.
        first: [list + 1] the list's first group.
        size: [group] documents in the group.
        score: [group] the score that its documents share.
        in_order: whether every list was in descending order as given, so that positions are those of the input.
    """

    start: Ints
    first: Ints
    size: Ints
    score: Floats
    in_order: bool


def tie_groups(scores: Floats, offsets: Ints) -> TieGroups:
    """Find the groups of equal scores in every list.

    Args:
        scores: [document] scores without NaN, lists one after another.
        offsets: [list + 1] where each list starts; the last is len(scores).

    Returns:
        The groups. Cost: one pass over lists in descending order, a sort of the others.

    >>> groups = tie_groups(np.array([3.0, 2.0, 2.0, 1.0]), np.array([0, 4]))
    >>> groups.start.tolist(), groups.size.tolist()
    ([0, 1, 3, 4], [1, 2, 1])
    """
    unsorted = _unsorted_lists(scores, offsets)
    descending = _sort_lists(scores, offsets, unsorted) if len(unsorted) else scores
    new = np.ones(len(scores), dtype=bool)
    np.not_equal(descending[1:], descending[:-1], out=new[1:])
    new[offsets[:-1][offsets[:-1] < offsets[1:]]] = True
    start = np.flatnonzero(new)
    ends = np.append(start, len(scores))
    first: Ints = np.searchsorted(start, offsets)
    return TieGroups(ends, first, ends[1:] - start, descending[start], not len(unsorted))


def find_groups(groups: TieGroups, lists: Ints, scores: Floats) -> Ints:
    """The group that holds each of some scores, by binary search in its list.

    Args:
        groups: from tie_groups.
        lists: [item] the list of each item.
        scores: [item] a score that the list holds.

    Returns:
        [item] index of the group.
    """
    low, high = groups.first[lists], groups.first[lists + 1] - 1
    while bool((low < high).any()):
        middle = (low + high) // 2
        above = groups.score[middle] > scores
        low = np.where(above, middle + 1, low)
        high = np.where(above, high, middle)
    return low


class Members(NamedTuple):
    """Documents of some groups, group after group, in input order inside a group.

    Attributes:
        position: [member] index into the flat arrays of the lists.
        offsets: [group + 1] where each group's members start.
    """

    position: Ints
    offsets: Ints


def members_of(groups: TieGroups, wanted: Ints, lists: Ints, scores: Floats, offsets: Ints) -> Members:
    """List the documents of some groups in input order.

    Args:
        groups: all groups.
        wanted: [wanted] indices of groups, ascending.
        lists: [wanted] the list of each.
        scores: [document] the scores that groups was made from.
        offsets: [list + 1] where each list starts.
    """
    size = groups.size[wanted]
    ends = np.concatenate(([0], np.cumsum(size)))
    if groups.in_order:
        return Members(ranges(groups.start[wanted], size), ends)
    lengths = np.diff(offsets)[lists]
    if int(lengths.sum()) > 8 * len(scores):
        order = _stable_order(scores, offsets)
        return Members(order[ranges(groups.start[wanted], size)], ends)
    return Members(_equal_in_lists(groups.score[wanted], lists, scores, offsets), ends)


def ranges(starts: Ints, sizes: Ints) -> Ints:
    """Concatenate the integer ranges starts[i] .. starts[i] + sizes[i] - 1.

    >>> ranges(np.array([5, 1]), np.array([2, 3])).tolist()
    [5, 6, 1, 2, 3]
    """
    ends = np.cumsum(sizes)
    shift: Ints = np.repeat(starts - (ends - sizes), sizes)
    return np.arange(len(shift)) + shift


def _unsorted_lists(scores: Floats, offsets: Ints) -> Ints:
    """The lists that are not in descending order."""
    rises = np.zeros(len(scores), dtype=bool)
    np.greater(scores[1:], scores[:-1], out=rises[1:])
    heads = offsets[:-1]
    filled = np.flatnonzero(heads < offsets[1:])
    rises[heads[filled]] = False
    if not rises.any():
        return np.zeros(0, dtype=np.int64)
    unsorted: Ints = filled[np.logical_or.reduceat(rises, heads[filled])]
    return unsorted


def _sort_lists(scores: Floats, offsets: Ints, which: Ints) -> Floats:
    """A copy of scores in which some lists are sorted in descending order."""
    out = scores.copy()
    for block in _blocks(offsets, which):
        # Padding is the smallest score, so that sorting leaves it behind every score of the list.
        rows = block.take(scores, -np.inf)
        rows.sort(axis=1)
        block.put(out, rows[:, ::-1])
    return out


def _stable_order(scores: Floats, offsets: Ints) -> Ints:
    """[document] positions sorted by list, descending score, input order."""
    out = np.arange(len(scores))
    for block in _blocks(offsets, _unsorted_lists(scores, offsets)):
        order = np.argsort(-block.take(scores, -np.inf), axis=1, kind="stable")
        block.put(out, offsets[block.lists][:, None] + order)
    return out


def _equal_in_lists(wanted: Floats, lists: Ints, scores: Floats, offsets: Ints) -> Ints:
    """Positions at which each item's list holds the item's score, item after item, in input order."""
    found = []
    # Items come in order of their lists, so blocks of consecutive items keep the order.
    for block in _blocks(offsets, lists, in_order=True):
        row, column = np.nonzero(block.take(scores, np.nan) == wanted[block.item, None])
        found.append(offsets[block.lists[row]] + column)
    return np.concatenate([*found, np.empty(0, dtype=np.int64)])


class _Block(NamedTuple):
    """Some lists side by side, padded to one width.

    Attributes:
        item: [row] which of the lists asked for.
        lists: [row] the list.
        begin: [row] where it starts.
        length: [row] its documents.
        width: documents of the longest.
        uniform: whether all lists of the whole array have this width, so that rows are rows of a matrix.
    """

    item: Ints
    lists: Ints
    begin: Ints
    length: Ints
    width: int
    uniform: bool

    def take(self, values: Floats, padding: float) -> Floats:
        """[row, width] a copy of the lists' values."""
        if self.uniform:
            matrix: Floats = values.reshape(-1, self.width)[self.lists]
            return matrix
        inside = self._inside
        out = np.full(inside.shape, padding)
        out[inside] = values[ranges(self.begin, self.length)]
        return out

    def put(self, out: NDArray[np.generic], rows: NDArray[np.generic]) -> None:
        """Write [row, width] back, padding left out."""
        if self.uniform:
            out.reshape(-1, self.width)[self.lists] = rows
        else:
            out[ranges(self.begin, self.length)] = rows[self._inside]

    @property
    def _inside(self) -> NDArray[np.bool_]:
        return np.arange(self.width)[None, :] < self.length[:, None]


def _blocks(offsets: Ints, lists: Ints, *, in_order: bool = False) -> Iterator[_Block]:
    """Cut lists into blocks of about BLOCK documents.

    Lists of like length share a block, so that padding at most doubles it; with in_order only neighbors do.
    """
    lengths = np.diff(offsets)
    uniform = bool((lengths == lengths[0]).all())
    wanted = lengths[lists]
    index = np.arange(len(lists)) if in_order or uniform else np.argsort(wanted, kind="stable")
    begin = 0
    while begin < len(index):
        reach = index[begin : begin + 1 + BLOCK // max(int(wanted[index[begin]]), 1)]
        widest = np.maximum.accumulate(wanted[reach])
        rows = max(1, int(np.searchsorted(widest * np.arange(1, len(reach) + 1), BLOCK, side="right")))
        chosen = reach[:rows]
        width = int(widest[rows - 1])
        yield _Block(chosen, lists[chosen], offsets[lists[chosen]], wanted[chosen], width, uniform)
        begin += rows
