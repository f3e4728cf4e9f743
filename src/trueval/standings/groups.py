"""Tie groups of lists of scores: the kernel under standings.

Lists are ragged: one flat array of scores and `offsets`, [list + 1], so that list i is scores[offsets[i]:offsets[i +
1]]. Few documents are sorted together. Where there are many, a list already in descending order is scanned once; others
are sorted, lists of similar length in one block.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Positions = NDArray[np.int32 | np.int64]

# Positions below this fit in 32 bits, which halves what sorting writes.
SHORT = 1 << 31
# Position in memory of the more significant half of a 64-bit integer.
HIGH = 1 if sys.byteorder == "little" else 0
# Documents sorted at once by one thread: 1 MiB of float64, so that a block and its copies stay in the processor's cache
# and in memory touched by the last block.
BLOCK = 1 << 17
# Maximum number of documents for which all lists are sorted together rather than in blocks.
FEW = 1 << 11


class TieGroups(NamedTuple):
    """All tie groups of all lists, in order of the lists, groups from highest to lowest score.

    Attributes:
        start: [group + 1] position of the group's first document when every list is sorted by descending score.
        first: [list + 1] index of the list's first group.
        size: [group] number of documents.
        score: [group] the common score of its documents.
        order: [document] position in the input of each document of the sorted lists, arbitrary inside a group; None if
            every list was found in descending order as given.
        rank: [document] position in the sorted lists of each document of the input, in input order inside a group; None
            where not computed.
    """

    start: Ints
    first: Ints
    size: Ints
    score: Floats
    order: Positions | None
    rank: Ints | None = None


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
    new = np.ones(len(scores), dtype=bool)
    order, rank = _sort_together(scores, offsets, new) if len(scores) < FEW else (_sort(scores, offsets, new), None)
    heads = offsets[:-1]
    new[heads[heads < offsets[1:]]] = True
    start = new.nonzero()[0]
    ends = np.concatenate((start, offsets[-1:]))
    first: Ints = start.searchsorted(offsets)
    return TieGroups(ends, first, ends[1:] - start, scores[start if order is None else order[start]], order, rank)


def find_groups(groups: TieGroups, lists: Ints, scores: Floats, position: Ints) -> Ints:
    """Find the group of each item by its rank, or by binary search for its score in its list.

    Args:
        groups: result of tie_groups.
        lists: [item] index of its list.
        scores: [item] its score.
        position: [item] its position in the flat arrays.

    Returns:
        [item] index of the group.
    """
    if groups.order is None or groups.rank is not None:
        rank = position if groups.rank is None else groups.rank[position]
        held: Ints = groups.start.searchsorted(rank, side="right") - 1
        return held
    found, last = groups.first[lists], groups.first[lists + 1] - 1
    step = 1 << int((last - found).max(initial=0)).bit_length() >> 1
    while step:
        # No score of a list is below its last group, so that no step leads past it.
        found = found + step * (groups.score[np.minimum(found + (step - 1), last)] > scores)
        step >>= 1
    return found


class Members(NamedTuple):
    """Documents of some groups, group by group, in input order inside a group.

    Attributes:
        position: [member] index into the flat arrays of the lists.
        offsets: [group + 1] where each group's members start.
    """

    position: Ints
    offsets: Ints


def members_of(groups: TieGroups, wanted: Ints) -> Members:
    """List the documents of some groups in input order.

    Args:
        wanted: [wanted] indices of groups, ascending.
    """
    size = groups.size[wanted]
    offsets = starts_of(size)
    place = ranges(groups.start[wanted], size)
    if groups.order is None:
        return Members(place, offsets)
    shift = np.arange(len(wanted)).repeat(size) * len(groups.order)
    position = groups.order[place] + shift
    if bool((position[1:] < position[:-1]).any()):
        position.sort()
    return Members(position - shift, offsets)


def starts_of(sizes: Ints) -> Ints:
    """Start positions of adjacent parts, and the end of the last one.

    >>> starts_of(np.array([2, 3])).tolist()
    [0, 2, 5]
    """
    starts = np.zeros(len(sizes) + 1, dtype=np.int64)
    sizes.cumsum(out=starts[1:])
    return starts


def ranges(starts: Ints, sizes: Ints) -> Ints:
    """Concatenate the integer ranges starts[i] .. starts[i] + sizes[i] - 1.

    >>> ranges(np.array([5, 1]), np.array([2, 3])).tolist()
    [5, 6, 1, 2, 3]
    """
    ends: Ints = sizes.cumsum()
    shift: Ints = (starts - (ends - sizes)).repeat(sizes)
    return np.arange(len(shift)) + shift


def _sort_together(scores: Floats, offsets: Ints, new: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Sort few documents as _sort does, by list and descending score at once; equal ones keep the input order.

    Returns:
        order and rank of TieGroups.
    """
    order = np.lexsort((-scores, np.arange(len(offsets) - 1).repeat(offsets[1:] - offsets[:-1])))
    descending = scores[order]
    np.not_equal(descending[1:], descending[:-1], out=new[1:])
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return order, rank


def differs_from_last(values: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Tell which values differ from the previous one; the first does.

    >>> differs_from_last(np.array([3, 3, 5])).tolist()
    [True, False, True]
    """
    new = np.ones(len(values), dtype=bool)
    np.not_equal(values[1:], values[:-1], out=new[1:])
    return new


def _find_unsorted_lists(scores: Floats, offsets: Ints) -> Ints:
    """The lists that are not in descending order."""
    rises = np.zeros(len(scores), dtype=bool)
    np.greater(scores[1:], scores[:-1], out=rises[1:])
    filled = (offsets[:-1] < offsets[1:]).nonzero()[0]
    heads = offsets[filled]
    rises[heads] = False
    if not rises.any():
        return np.zeros(0, dtype=np.int64)
    unsorted: Ints = filled[np.logical_or.reduceat(rises, heads)]
    return unsorted


def _sort(scores: Floats, offsets: Ints, new: NDArray[np.bool_]) -> Positions | None:
    """Sort every list that is not in descending order.

    Args:
        scores: [document] scores of all lists.
        offsets: [list + 1] where each list starts.
        new: [document] output: whether a document of the sorted lists differs from the previous one.

    Returns:
        [document] positions sorted by list and descending score; None if all are so already.
    """
    np.not_equal(scores[1:], scores[:-1], out=new[1:])
    unsorted = _find_unsorted_lists(scores, offsets)
    if not len(unsorted):
        return None
    short = len(scores) < SHORT
    order: Positions = np.arange(len(scores), dtype=np.int32) if short else np.arange(len(scores), dtype=np.int64)

    def sort_block(block: _Block) -> None:
        # NaN sorts behind every number, infinities included, so padding stays outside.
        values, place = _sort_rows(block.take(scores, np.nan))
        differs = np.empty(values.shape, dtype=bool)
        differs[:, 0] = True
        np.not_equal(values[:, 1:], values[:, :-1], out=differs[:, 1:])
        block.put(new, differs)
        block.put(order, place + block.begin[:, None].astype(place.dtype))

    blocks = list(_blocks(offsets, unsorted))
    if len(blocks) == 1:
        sort_block(blocks[0])
    else:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(sort_block, blocks))
    return order


def _sort_rows(values: Floats) -> tuple[NDArray[np.generic], Positions]:
    """Sort rows by descending value.

    Returns:
        [row, column] what differs where the sorted values differ, and the column each came from.
    """
    with np.errstate(over="ignore"):
        short = values.astype(np.float32)
    if values.shape[1] >= SHORT or not bool(((short == values) | np.isnan(values)).all()):
        place = (-values).argsort(axis=1)
        return values[np.arange(len(values))[:, None], place], place
    return _sort_short_rows(short)


def _sort_short_rows(values: NDArray[np.float32]) -> tuple[NDArray[np.uint32], NDArray[np.int32]]:
    """Sort as _sort_rows does: value and column are packed in one integer, which sorts faster than an argsort.

    The bits of a positive float32 order as integers do, those of a negative one in reverse; both zeros get one bit
    pattern. NaN comes last.
    """
    values += np.float32(0)  # -0.0 becomes 0.0
    bits = values.view(np.uint32)
    below = (values.view(np.int32) >> 31).view(np.uint32)  # all ones for numbers below 0
    descending = bits ^ (~below & np.uint32(0x7FFFFFFF))
    descending[np.isnan(values)] = np.iinfo(np.uint32).max
    packed = np.empty((*values.shape, 2), dtype=np.uint32)
    packed[..., HIGH] = descending
    packed[..., 1 - HIGH] = np.arange(values.shape[1], dtype=np.uint32)
    packed.view(np.uint64)[..., 0].sort(axis=1)
    return packed[..., HIGH], packed[..., 1 - HIGH].view(np.int32)


class _Block(NamedTuple):
    """Lists side by side, padded to one width.

    Attributes:
        lists: [row] index of the list.
        begin: [row] start of the list.
        length: [row] number of documents.
        width: length of the longest list.
        uniform: whether all lists of the whole array have this width, so that rows are rows of a matrix.
    """

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
        """Write [row, width] back without the padding."""
        if self.uniform:
            out.reshape(-1, self.width)[self.lists] = rows
        else:
            out[ranges(self.begin, self.length)] = rows[self._inside]

    @property
    def _inside(self) -> NDArray[np.bool_]:
        return np.arange(self.width)[None, :] < self.length[:, None]


def _blocks(offsets: Ints, lists: Ints) -> Iterator[_Block]:
    """Cut lists into blocks of about BLOCK documents; lists of like length share one: padding at most doubles it."""
    lengths = offsets[1:] - offsets[:-1]
    uniform = bool((lengths == lengths[0]).all())
    if not uniform:
        lists = lists[lengths[lists].argsort(kind="stable")]
    wanted, heads = lengths[lists], offsets[lists]
    begin = 0
    while begin < len(lists):
        longest = 2 * max(int(wanted[begin]), 1)
        end = min(begin + max(1, BLOCK // longest), int(wanted.searchsorted(longest, side="right")))
        yield _Block(lists[begin:end], heads[begin:end], wanted[begin:end], int(wanted[end - 1]), uniform)
        begin = end
