"""Matching: find the judged documents in a run's lists, by hash first, as a run has millions of ids."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trueval.files.checks.duplicates import GOLDEN, half_hashes
from trueval.standings.judged_pool import JudgedPool
from trueval.standings.standings import Ints
from trueval.threads import in_threads

if TYPE_CHECKING:
    from trueval.judgments import Judgments
    from trueval.run import Run

Hashes = NDArray[np.uint32]

PART = 1 << 17  # documents looked up at once; their hashes stay in the processor's cache
FILTER_SLOTS = 16  # slots per wanted hash, so that at most one in 16 others passes
MOST_BITS = 28  # maximum bits of a slot index: a filter of 256 MiB


class MatchedDocuments(NamedTuple):
    """Judged documents found in the lists.

    Attributes:
        position: [row] index into the scores of Lists.
        judged: [row] index into the pool.
    """

    position: Ints
    judged: Ints


def align(queries: pl.Series, evaluated: pl.Series) -> Ints:
    """[queries] index of each query among the evaluated ones; -1 where it is not evaluated."""
    known = pl.DataFrame({"query": evaluated}).with_row_index("index")
    found = pl.DataFrame({"query": queries}).join(known, on="query", how="left", maintain_order="left")["index"]
    return found.cast(pl.Int64).fill_null(-1).to_numpy()


def match(run: Run, judgments: Judgments, query_of: Ints, pool: JudgedPool) -> MatchedDocuments:
    """Find the judged documents in the run: by hash first, which leaves few rows to compare as strings."""
    listed, judged = run.documents["doc_id"], judgments.frame["doc_id"].gather(pool.item)
    hashes = half_hashes(judged)
    position = _candidates(run.doc_hashes, run.offsets, query_of, hashes ^ _salt(pool.query))
    query = query_of[list_of(position, run.offsets)]
    key, wanted = _key(query, run.doc_hashes[position]), _key(pool.query, hashes)
    order = np.argsort(wanted)
    wanted = wanted[order]
    if bool((wanted[1:] == wanted[:-1]).any()):
        return _match_strings(listed, judged, position, query, pool)
    place = np.searchsorted(wanted, key)
    alike = np.flatnonzero(np.append(wanted, -1)[place] == key)
    position, found = position[alike], order[place[alike]]
    same = (listed.gather(position) == judged.gather(found)).to_numpy()
    return MatchedDocuments(position[same], found[same])


def _match_strings(
    listed: pl.Series, judged: pl.Series, position: Ints, query: Ints, pool: JudgedPool
) -> MatchedDocuments:
    """Compare candidates with all judged documents of their queries as strings, where two of these share a hash."""
    candidates = pl.DataFrame({"query": query, "doc": listed.gather(position), "position": position})
    known = pl.DataFrame({"query": pool.query, "doc": judged}).with_row_index("judged")
    both = candidates.join(known, on=["query", "doc"])
    return MatchedDocuments(both["position"].to_numpy(), both["judged"].cast(pl.Int64).to_numpy())


def _key(query: Ints, hashes: Hashes) -> Ints:
    """Query and hash combined in one number."""
    return query << 32 | hashes


def _candidates(listed: Hashes, offsets: Ints, query: Ints, wanted: Hashes) -> Ints:
    """Positions of all documents with a wanted hash, and of a few percent of others: a Bloom filter of one hash.

    Args:
        listed: [document] hashes of the ids.
        offsets: [list + 1] where each list starts.
        query: [list] index of the evaluated query; -1 for other queries.
        wanted: [judged] hashes of the ids, mixed with the salt of their queries.
    """
    bits = min(max(len(wanted) * FILTER_SLOTS, 1).bit_length(), MOST_BITS)
    drop = np.uint32(32 - bits)
    is_wanted = np.zeros(1 << bits, dtype=bool)
    is_wanted[wanted >> drop] = True
    salt = _salt(query)

    def find(part: slice) -> Ints:
        begin, end = offsets[part.start], offsets[part.stop]
        mixed = np.repeat(salt[part], np.diff(offsets[part.start : part.stop + 1]))
        mixed ^= listed[begin:end]
        found: Ints = np.flatnonzero(is_wanted[mixed >> drop]) + begin
        return found

    parts = in_threads(find, _parts_of_lists(offsets))
    return np.concatenate([np.zeros(0, dtype=np.int64), *parts])


def _parts_of_lists(offsets: Ints) -> list[slice]:
    """Cut lists into parts of about PART documents."""
    cuts = np.unique(np.searchsorted(offsets[1:], np.arange(0, offsets[-1], PART)))
    return [slice(begin, end) for begin, end in pairwise([*cuts.tolist(), len(offsets) - 1])]


def _salt(query: Ints) -> Hashes:
    """The salt of document hashes, by query."""
    mixed: Hashes = query.astype(np.uint32) * GOLDEN
    return mixed


def list_of(position: Ints, offsets: Ints) -> Ints:
    """The list of each position."""
    owner: Ints = offsets.searchsorted(position, side="right") - 1
    return owner
