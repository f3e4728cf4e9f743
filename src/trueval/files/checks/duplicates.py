"""Duplicate documents: sorted hashes raise suspicion, a comparison of the ids decides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trueval.files.frame import row_parts
from trueval.threads import in_threads

BLOCK = 1 << 19  # hashes sorted at once; 2 MB, so that a block stays in the processor's cache
# 2^32 / golden ratio, odd: spreads small integers, and keeps two hashes apart that are mixed (Knuth, TAOCP 6.4)
GOLDEN = np.uint32(0x9E3779B9)


class DuplicateRows(NamedTuple):
    """Two rows (from 0) with the same document."""

    first: int
    second: int


def find_duplicate(frame: pl.DataFrame, offsets: NDArray[np.int64], hashes: NDArray[np.uint32]) -> DuplicateRows | None:
    """Find a repeated document of a query (of a facet, where there are facets).

    Equal ids have equal hashes, so no duplicate is missed; ids with equal hashes are compared, so there are no false
    ones.

    Args:
        frame: columns doc_id and optionally facet; rows of one query are adjacent.
        offsets: [queries + 1] start of each query.
        hashes: [row] half_hashes of doc_id.

    >>> frame = pl.DataFrame({"doc_id": ["a", "b", "a", "a"]})
    >>> find_duplicate(frame, np.array([0, 3, 4]), half_hashes(frame["doc_id"]))
    DuplicateRows(first=0, second=2)
    """
    keys = [name for name in ("doc_id", "facet") if name in frame.columns]
    if "facet" in keys:
        hashes = hashes ^ (half_hashes(frame["facet"]) * GOLDEN)
    for query in sorted(_suspects(hashes, offsets)):  # 32-bit hashes collide occasionally in long lists
        start = int(offsets[query])
        ids = frame[start : int(offsets[query + 1])].select(keys)
        repeated = ~(ids.select(pl.struct(keys).is_first_distinct().alias("first"))["first"])
        if repeated.any():
            second = int(repeated.arg_max() or 0)
            first = next(row for row, other in enumerate(ids.iter_rows()) if other == ids.row(second))
            return DuplicateRows(start + first, start + second)
    return None


def half_hashes(ids: pl.Series) -> NDArray[np.uint32]:
    """[id] the upper halves of hashes of 64 bits: the same for equal ids in one process.

    >>> len(set(half_hashes(pl.Series(["a", "b", "a"])).tolist()))
    2
    """
    halves = np.empty(len(ids), np.uint32)

    def fill(rows: slice) -> None:
        halves[rows] = ids[rows].hash(seed=0).to_numpy() >> np.uint64(32)

    in_threads(fill, row_parts(len(ids)))
    return halves


def _suspects(hashes: NDArray[np.uint32], offsets: NDArray[np.int64]) -> list[int]:
    """Queries with two equal hashes, found by sorting the rows of a padded matrix."""
    lengths = np.diff(offsets)

    # Queries of similar length form one matrix, so that NumPy sorts thousands of short lists in one call.
    def suspects_of(queries: NDArray[np.int64]) -> list[int]:
        width = int(lengths[queries[0]])
        inside = np.arange(width) < lengths[queries, None]
        block = np.sort(_gather(hashes, offsets[queries], inside), axis=1)
        # Padding is the largest hash, so the first `length` of a sorted row are the hashes of its documents.
        equal = (block[:, 1:] == block[:, :-1]) & inside[:, 1:]
        found: list[int] = queries[equal.any(axis=1)].tolist()
        return found

    return [query for found in in_threads(suspects_of, _blocks(lengths)) for query in found]


def _blocks(lengths: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Queries of about BLOCK documents together, the longest first."""
    by_length = np.argsort(-lengths, kind="stable")
    start = 0
    while start < len(by_length):
        stop = start + max(1, BLOCK // int(lengths[by_length[start]]))
        yield by_length[start:stop]
        start = stop


def _gather(hashes: NDArray[np.uint32], starts: NDArray[np.int64], inside: NDArray[np.bool_]) -> NDArray[np.uint32]:
    """The hashes of some queries, side by side; a view where they are so already, as those of queries of one length."""
    count, width = inside.shape
    if bool(inside.all()) and starts[-1] - starts[0] == (count - 1) * width and bool((np.diff(starts) == width).all()):
        return hashes[starts[0] : starts[0] + count * width].reshape(count, width)
    block = np.full(inside.shape, np.iinfo(np.uint32).max, np.uint32)
    block[inside] = hashes[(starts[:, None] + np.arange(width))[inside]]
    return block
