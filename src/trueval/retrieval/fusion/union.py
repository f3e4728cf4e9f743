"""Union: the documents that any of several runs lists, and their positions in each run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trueval.retrieval.fusion.ranked_lists import RankedLists, places_of, rank_lists
from trueval.run import Run
from trueval.standings.groups import differs_from_last, ranges, starts_of

Ints = NDArray[np.int64]
Unsigned = NDArray[np.uint64]

WORD: Final = 64  # bits of a sort key


class Union(NamedTuple):
    """Documents that some run lists, query by query, in order of first appearance.

    Attributes:
        query_ids: [query] ids, in the order of the first run that has them.
        doc_ids: [row] document ids.
        offsets: [query + 1] where each query starts.
        places: [run, row] row of the document in the lists of each run; -1 where the run lacks it.
    """

    query_ids: pl.Series
    doc_ids: pl.Series
    offsets: Ints
    places: Ints


def unite(lists: Sequence[RankedLists]) -> Union:
    """Unite the lists of several runs.

    Args:
        lists: one per run, each without repeated documents.
    """
    queries = pl.concat([each.query_ids for each in lists]).unique(maintain_order=True)
    doc_ids = pl.concat([each.documents["doc_id"] for each in lists])
    slots = _Slots.of(lists, queries)
    order, new = _group_slots(doc_ids, slots)
    first = order[new]
    is_first = np.zeros(len(order), dtype=bool)
    is_first[first] = True
    before = starts_of(is_first)
    row = np.empty(len(order), dtype=np.int64)
    row[order] = before[first].repeat(np.diff(np.append(np.flatnonzero(new), len(order))))
    places = np.full((len(lists), int(before[-1])), -1, dtype=np.int64)
    for run, taken in enumerate(slots.of_run):
        places[run, row[taken]] = np.arange(len(taken))
    return Union(queries, doc_ids[slots.source[is_first]], before[slots.offsets], places)


def together(runs: Sequence[Run], depth: int | None) -> Run:
    """The top documents of each list of several runs, without repetitions, as one run without scores.

    Args:
        runs: runs, ranked by scores.
        depth: number of documents per list; all if None.
    """
    union = unite([rank_lists(run, depth) for run in runs])
    documents = pl.DataFrame({"doc_id": union.doc_ids, "score": np.zeros(len(union.doc_ids))})
    return Run(documents, union.query_ids, union.offsets, runs[0].name, runs[0].source)


def replace_scores(run: Run, scored: Run, depth: int | None) -> Run:
    """The top documents of each list of a run, with scores from another run; ties keep their order.

    Args:
        run: run, ranked by scores.
        scored: run that lists all of them.
        depth: number of documents per list; all if None.
    """
    lists = rank_lists(run, depth)
    own = lists.only(np.ones(len(lists.rank), dtype=bool), run.name, scored.source)
    pairs = ["query_id", "doc_id"]
    frame = own.frame.select(pairs).join(
        scored.frame.select(*pairs, "score"), on=pairs, how="left", maintain_order="left"
    )
    found = rank_lists(replace(own, documents=frame.select("doc_id", "score")))
    return found.only(np.ones(len(found.rank), dtype=bool), run.name, scored.source)


class _Slots(NamedTuple):
    """The rows of all runs in one order: query by query, and within a query run by run.

    Attributes:
        offsets: [query + 1] first slot of each query.
        of_run: [run] → [row of the run] slot.
        source: [slot] row among those of all runs, run by run.
    """

    offsets: Ints
    of_run: list[Ints]
    source: Ints

    @classmethod
    def of(cls, lists: Sequence[RankedLists], queries: pl.Series) -> _Slots:
        sizes = np.zeros((len(queries), len(lists)), dtype=np.int64)
        held = [places_of(each.query_ids, queries) for each in lists]
        for run, each in enumerate(lists):
            sizes[held[run], run] = np.diff(each.offsets)
        starts = starts_of(sizes.ravel())
        source = np.empty(int(starts[-1]), dtype=np.int64)
        of_run: list[Ints] = []
        done = 0
        for run, (each, query) in enumerate(zip(lists, held, strict=True)):
            slots = ranges(starts[query * len(lists) + run], np.diff(each.offsets))
            source[slots] = np.arange(done, done + len(slots))
            done += len(slots)
            of_run.append(slots)
        return cls(starts[:: len(lists)], of_run, source)


def _group_slots(doc_ids: pl.Series, slots: _Slots) -> tuple[Ints, NDArray[np.bool_]]:
    """Slots grouped by query and document, in input order within each, and whether each starts a new document."""
    hashes = _hashes(doc_ids)[slots.source]
    order, key = sort_by_upper_bits(hashes, slots.offsets)
    new = differs_from_last(key)
    # Different ids may have equal hashes: then the ids themselves are compared, which takes thirty times as long.
    again = np.flatnonzero(~new)
    source = slots.source[order]
    if not bool((doc_ids[source[again]] == doc_ids[source[again - 1]]).all()):
        return _group_slots_by_id(doc_ids, slots)
    return order, new


def _hashes(ids: pl.Series) -> Unsigned:
    found: Unsigned = ids.hash(seed=0).to_numpy()
    return found


def _group_slots_by_id(doc_ids: pl.Series, slots: _Slots) -> tuple[Ints, NDArray[np.bool_]]:
    ids = doc_ids.rank("dense").to_numpy()[slots.source]
    query = np.arange(len(slots.offsets) - 1).repeat(np.diff(slots.offsets))
    order = np.lexsort((ids, query))
    return order, differs_from_last(query[order]) | differs_from_last(ids[order])


def sort_by_upper_bits(values: Unsigned, offsets: Ints) -> tuple[Ints, Unsigned]:
    """Sort lists by the upper bits of values; equal ones keep their order.

    List, value and index share one integer, and sorting integers is five times as fast as an argsort. The value gets
    the bits that list and index leave of 64; its lower bits are dropped.

    Args:
        values: [item] values, list by list.
        offsets: [list + 1] where each list starts.

    Returns:
        [item] index of the input item at this position, and its list and the upper bits of its value as one integer.

    >>> sums = np.array([3 << 60, 1 << 60, 3 << 60, 1 << 60], dtype=np.uint64)
    >>> order, key = sort_by_upper_bits(sums, np.array([0, 3, 4]))
    >>> order.tolist(), differs_from_last(key).tolist()
    ([1, 0, 2, 3], [True, True, False, True])
    """
    sizes = np.diff(offsets)
    of_list = max(len(sizes).bit_length(), 1)
    of_place = int(sizes.max(initial=0)).bit_length()
    low = np.uint64(of_place)
    number = np.arange(len(sizes), dtype=np.uint64) << np.uint64(WORD - of_list)
    key = values >> np.uint64(of_list)
    key >>= low
    key <<= low
    key |= number.repeat(sizes)
    key |= ranges(np.zeros_like(sizes), sizes).view(np.uint64)
    key.sort()
    upper = key >> low
    # Sorting keeps the lists in place.
    order = (key & np.uint64((1 << of_place) - 1)).view(np.int64) + offsets[:-1].repeat(sizes)
    return order, upper
