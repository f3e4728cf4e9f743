"""Ranked lists: the documents of each query of a run, best first, and how many of them tie."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trueval.run import Run
from trueval.standings.groups import TieGroups, differs_from_last, members_of, ranges, starts_of, tie_groups

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class TieCount(NamedTuple):
    """Number of tied documents in a run.

    Attributes:
        documents: number of listed documents.
        tied: number of documents in tie groups of two or more.
        queries: number of queries with such a group.
    """

    documents: int
    tied: int
    queries: int

    @property
    def fraction(self) -> float:
        """Share of the listed documents that tie."""
        return self.tied / self.documents if self.documents else 0.0


class RankedLists(NamedTuple):
    """The lists of a run, best first, down to a depth.

    Attributes:
        documents: [row] columns doc_id and score.
        offsets: [list + 1] where each list starts.
        query_ids: [list] query ids.
        rank: [row] rank from 1.
        first_rank: [row] rank of the first document with its score.
    """

    documents: pl.DataFrame
    offsets: Ints
    query_ids: pl.Series
    rank: Ints
    first_rank: Ints

    @property
    def of_row(self) -> Ints:
        """[row] index of its list."""
        return np.arange(len(self.query_ids)).repeat(np.diff(self.offsets))

    @property
    def ties(self) -> TieCount:
        """The number of tied documents."""
        begins = np.flatnonzero(self.rank == self.first_rank)
        return _count(begins, len(self.rank), self.offsets)

    def only(self, kept: NDArray[np.bool_], name: str, source: str) -> Run:
        """A run of selected rows; lists that become empty are left out.

        Args:
            kept: [row] whether to keep it.
            name: name of the run.
            source: source of the run.
        """
        sizes = np.bincount(self.of_row[kept], minlength=len(self.query_ids))
        queries = self.query_ids.filter(pl.Series(sizes > 0))
        return Run(self.documents.filter(kept), queries, starts_of(sizes[sizes > 0]), name, source)


def score_lists(run: Run, depth: int | None = None) -> dict[str, list[float]]:
    """Query id → scores of its documents, best first.

    Args:
        depth: number of documents per list; all if None.
    """
    lists = rank_lists(run, depth)
    scores = lists.documents["score"].to_list()
    parts = (scores[first:last] for first, last in pairwise(lists.offsets.tolist()))
    return dict(zip(lists.query_ids.to_list(), parts, strict=True))


def rank_lists(run: Run, depth: int | None = None) -> RankedLists:
    """Sort each list of a run, ties in the run's order, and cut it.

    Args:
        run: run, sorted by scores rather than ranks.
        depth: number of documents per list; all if None.
    """
    offsets, scores = run.offsets, run.documents["score"].to_numpy()
    sizes = np.diff(offsets)
    groups = tie_groups(scores, offsets)
    first = np.repeat(groups.start[:-1], groups.size) - np.repeat(offsets[:-1], sizes) + 1
    rank = ranges(np.ones(len(sizes), dtype=np.int64), sizes)
    documents = run.documents if groups.order is None else run.documents[in_order(groups)]
    if depth is None or int(sizes.max(initial=0)) <= depth:
        return RankedLists(documents, offsets, run.query_ids, rank, first)
    kept = rank <= depth
    return RankedLists(
        documents.filter(kept), starts_of(np.minimum(sizes, depth)), run.query_ids, rank[kept], first[kept]
    )


def in_order(groups: TieGroups) -> Ints:
    """Documents by descending score, list by list; tied ones in input order."""
    return members_of(groups, np.arange(len(groups.size))).position


def count_ties(scores: Floats, offsets: Ints) -> TieCount:
    """Count the documents that tie.

    Args:
        scores: [document] scores, list by list.
        offsets: [list + 1] where each list starts.

    >>> count_ties(np.array([2.0, 1.0, 1.0]), np.array([0, 3]))
    TieCount(documents=3, tied=2, queries=1)
    """
    groups = tie_groups(scores, offsets)
    return _count(groups.start[:-1], len(scores), offsets)


def _count(begins: Ints, documents: int, offsets: Ints) -> TieCount:
    """Count ties, given the starts of tie groups."""
    sizes = np.diff(begins, append=documents)
    many = sizes > 1
    lists = offsets.searchsorted(begins[many], side="right")
    return TieCount(documents, int(sizes[many].sum()), int(differs_from_last(lists).sum()))


def places_of(ids: pl.Series, among: pl.Series) -> Ints:
    """The index of each id among distinct ids.

    Args:
        ids: [id] ids to look up.
        among: [place] distinct ids, which contain all of `ids`.

    >>> places_of(pl.Series(["b", "a", "b"]), pl.Series(["a", "b"])).tolist()
    [1, 0, 1]
    """
    found: Ints = ids.replace_strict(among, np.arange(len(among)), return_dtype=pl.Int64).to_numpy()
    return found
