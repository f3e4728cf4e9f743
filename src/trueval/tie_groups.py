"""Tie groups of lists of scores: the kernel under standings.

Lists are ragged: one flat array of scores and `offsets`, [list + 1], so that list i is
scores[offsets[i]:offsets[i + 1]].
A list already in descending order is read once; any other is sorted, many lists of like length in one block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
        score: [group] the score that its documents share.
        in_order: whether every list was in descending order as given, so that positions are those of the input.
    """

    start: Ints
    first: Ints
    score: Floats
    in_order: bool

    @property
    def size(self) -> Ints:
        """[group] documents in the group."""
        return np.diff(self.start)


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
    heads = offsets[:-1][np.diff(offsets) > 0]
    new[heads] = True
    start = np.flatnonzero(new)
    first = np.searchsorted(start, offsets)
    return TieGroups(np.append(start, len(scores)), first, descending[start], not len(unsorted))


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
    found = [
        offsets[lists[block]][row] + column
        for block, row, column in _equal_in_lists(groups.score[wanted], lists, scores, offsets)
    ]
    return Members(np.concatenate([*found, np.empty(0, dtype=np.int64)]), ends)


def ranges(starts: Ints, sizes: Ints) -> Ints:
    """Concatenate the integer ranges starts[i] .. starts[i] + sizes[i] - 1.

    >>> ranges(np.array([5, 1]), np.array([2, 3])).tolist()
    [5, 6, 1, 2, 3]
    """
    ends = np.cumsum(sizes)
    return np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(starts - (ends - sizes), sizes)


def _unsorted_lists(scores: Floats, offsets: Ints) -> Ints:
    """The lists that are not in descending order."""
    rises = np.flatnonzero(scores[1:] > scores[:-1]) + 1
    owner: Ints = np.searchsorted(offsets, rises, side="right") - 1
    return np.unique(owner[rises != offsets[owner]])


def _sort_lists(scores: Floats, offsets: Ints, which: Ints) -> Floats:
    """A copy of scores in which some lists are sorted in descending order."""
    out = scores.copy()

    def sort_block(positions: Ints, inside: NDArray[np.bool_]) -> None:
        block = np.where(inside, -scores[positions], np.inf)
        block.sort(axis=1)
        out[positions[inside]] = -block[inside]

    _for_blocks(offsets, which, sort_block)
    return out


def _stable_order(scores: Floats, offsets: Ints) -> Ints:
    """[document] positions sorted by list, descending score, input order."""
    out = np.arange(len(scores))

    def order_block(positions: Ints, inside: NDArray[np.bool_]) -> None:
        block = np.where(inside, -scores[positions], np.inf)
        order = np.argsort(block, axis=1, kind="stable")
        out[positions[inside]] = np.take_along_axis(positions, order, axis=1)[inside]

    _for_blocks(offsets, _unsorted_lists(scores, offsets), order_block)
    return out


def _for_blocks(offsets: Ints, which: Ints, work: Callable[[Ints, NDArray[np.bool_]], None]) -> None:
    """Call work(positions, inside) on blocks [lists, width] of lists whose lengths share a power of two.

    Columns past a list's end repeat its last position and are marked outside; they come after every inside column.
    """
    lengths = np.diff(offsets)[which]
    bucket = np.ceil(np.log2(np.maximum(lengths, 1))).astype(np.int64)
    for power in np.unique(bucket).tolist():
        chosen = which[bucket == power]
        width = int(np.diff(offsets)[chosen].max())
        step = max(1, BLOCK // width)
        for begin in range(0, len(chosen), step):
            lists = chosen[begin : begin + step]
            column = np.arange(width)[None, :]
            inside = column < np.diff(offsets)[lists][:, None]
            positions = offsets[lists][:, None] + np.where(inside, column, 0)
            work(positions, inside)


def _equal_in_lists(wanted: Floats, lists: Ints, scores: Floats, offsets: Ints) -> Iterator[tuple[slice, Ints, Ints]]:
    """Blocks of (items, row in the block, column in the list) at which the item's list holds the wanted score."""
    if not len(lists):
        return
    width = int(np.diff(offsets)[lists].max())
    step = max(1, BLOCK // max(width, 1))
    column = np.arange(width)[None, :]
    for begin in range(0, len(lists), step):
        block = slice(begin, begin + step)
        inside = column < np.diff(offsets)[lists[block]][:, None]
        positions = offsets[lists[block]][:, None] + np.where(inside, column, 0)
        row, found = np.nonzero((scores[positions] == wanted[block, None]) & inside)
        yield block, row, found
