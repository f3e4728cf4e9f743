"""Tie orders: the order of tied documents in each tool. Only the tie-broken value needs one.

`docid-desc` is the order of trec_eval, pytrec_eval, ir_measures (most), BEIR and MTEB: document ids descending by
bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from trueval.standings.groups import Ints, Members, TieGroups, differs_from_last, members_of, ranges
from trueval.threads import in_threads

# Compared pair by pair up to this many times the documents in the groups; beyond it sorting the ids is cheaper.
PAIRS_PER_MEMBER = 16
PART = 1 << 18  # pairs compared at once

Keys = pl.Series


class TieOrder(NamedTuple):
    """An order of tied documents.

    Attributes:
        keys: function from positions in the flat arrays to sort keys; None keeps the input order.
        descending: whether the larger key comes first.
        open_from: list length from which on the order is not known; None if it always is.
    """

    keys: Callable[[Ints], Keys] | None = None
    descending: bool = False
    open_from: int | None = None


# Orders that need neither ids nor ranks nor a seed. NumPy and numba use insertion sort for fewer than 16 elements,
# which keeps the order of equal ones.
INPUT_ORDERS: Final = {
    "input": TieOrder(),
    "input-below-16": TieOrder(open_from=16),
    "average": TieOrder(open_from=0),
    "unspecified": TieOrder(open_from=0),
}


def count_ahead(groups: TieGroups, of_row: Ints, position: Ints, order: TieOrder) -> Ints:
    """Count the tied documents that the tie order puts before each of the given documents.

    Args:
        groups: the tie groups of all lists.
        of_row: [row] group of each requested document.
        position: [row] its position in the flat arrays.

    Returns:
        [row] number of documents of the group ahead of it; 0 in a group of one.
    """
    if order.keys is None and groups.rank is not None:
        before: Ints = groups.rank[position] - groups.start[of_row]
        return before
    ahead = np.zeros(len(of_row), dtype=np.int64)
    tied = (groups.size[of_row] > 1).nonzero()[0]
    if not len(tied):
        return ahead
    if order.keys is None and groups.order is None:
        ahead[tied] = position[tied] - groups.start[of_row[tied]]
        return ahead
    wanted, group = _distinct(of_row[tied])
    members = members_of(groups, wanted)
    if groups.order is None:  # the documents of a group are adjacent, and so are its members
        own = members.offsets[group] + position[tied] - groups.start[of_row[tied]]
    else:
        own = _find_members(members, group, position[tied], int(groups.start[-1]))
    if order.keys is None:
        ahead[tied] = own - members.offsets[group]
    else:
        ahead[tied] = _count_before(members, group, own, order.keys(members.position), order.descending)
    return ahead


def _distinct(values: Ints) -> tuple[Ints, Ints]:
    """The distinct values, ascending, and the index of each value among them."""
    order = values.argsort(kind="stable")
    ascending = values[order]
    new = differs_from_last(ascending)
    place = np.empty(len(values), dtype=np.int64)
    place[order] = new.cumsum() - 1
    return ascending[new], place


def hash_keys(seed: int, query_ids: list[str], doc_ids: list[str]) -> Keys:
    """Keys of the random tie order: a hash that depends only on seed, query and document.

    It is the same on every machine and for any shard of the documents.
    """
    salt = seed.to_bytes(8, "little", signed=True)
    pairs = zip(query_ids, doc_ids, strict=True)
    digests = [hashlib.blake2b(f"{q}\0{d}".encode(), digest_size=8, key=salt).digest() for q, d in pairs]
    return pl.Series(np.frombuffer(b"".join(digests), dtype="<u8"))


def _find_members(members: Members, group: Ints, position: Ints, documents: int) -> Ints:
    """Index among the members of documents given by group and position."""
    sizes = members.offsets[1:] - members.offsets[:-1]
    owner = np.arange(len(sizes)).repeat(sizes)
    place: Ints = (owner * documents + members.position).searchsorted(group * documents + position)
    return place


def _count_before(members: Members, group: Ints, own: Ints, keys: Keys, descending: bool) -> Ints:
    """[row] number of group members before the row, by key, or by the input order where keys are equal."""
    size = np.diff(members.offsets)[group]
    ends = size.cumsum()
    if int(ends[-1]) > PAIRS_PER_MEMBER * len(members.position):
        return _place_in_group(members, keys, descending)[own]

    def count(part: slice) -> Ints:
        other = ranges(members.offsets[group[part]], size[part])
        row = np.arange(part.start, part.stop).repeat(size[part])
        left, right = keys.gather(other), keys.gather(own[row])
        first = (left > right if descending else left < right).to_numpy()
        before = first | ((left == right).to_numpy() & (other < own[row]))
        return np.bincount(row[before] - part.start, minlength=part.stop - part.start)

    cuts = np.unique(ends.searchsorted(np.arange(0, ends[-1], PART), side="right"))
    parts = [slice(begin, end) for begin, end in pairwise([*cuts.tolist(), len(own)])]
    return np.concatenate(in_threads(count, parts))


def _place_in_group(members: Members, keys: Keys, descending: bool) -> Ints:
    """[member] position in its group by key, then input order, from 0."""
    owner = np.repeat(np.arange(len(members.offsets) - 1), np.diff(members.offsets))
    frame = pl.DataFrame({"group": owner, "key": keys}).with_row_index("member")
    order = frame.sort("group", "key", "member", descending=[False, descending, False])["member"].to_numpy()
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order)) - members.offsets[:-1][owner]
    return place
