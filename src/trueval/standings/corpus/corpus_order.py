"""Tie orders of a whole corpus: which of two documents with the same score comes first."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from trueval.standings.corpus.corpus_scorer import CorpusScorer
from trueval.standings.corpus.counts import Before, JudgedPairs
from trueval.standings.standings import Bools, Ints
from trueval.standings.tie_order import INPUT_ORDERS, TieOrder, hash_keys

if TYPE_CHECKING:
    from trueval.policy.policy import Policy


class _Ids:
    """Ids of the queries and of some documents, as they are sent elsewhere.

    There they are read when the first tie asks for them: reading all strings takes a tenth of the time of counting, and
    most documents tie with no judged one.

    Args:
        query_ids: [query] ids.
        doc_ids: [document] ids.
    """

    def __init__(self, query_ids: pl.Series, doc_ids: pl.Series) -> None:
        self._packed = tuple(map(_pack, (query_ids, doc_ids)))

    @cached_property
    def query_ids(self) -> pl.Series:
        """[query] ids."""
        return _unpack(self._packed[0])

    @cached_property
    def doc_ids(self) -> pl.Series:
        """[document] ids."""
        return _unpack(self._packed[1])


def _pack(ids: pl.Series) -> bytes:
    """Ids as bytes, which are sent without looking at each."""
    buffer = BytesIO()
    pl.DataFrame({"id": ids}).write_ipc(buffer)
    return buffer.getvalue()


def _unpack(packed: bytes) -> pl.Series:
    return pl.read_ipc(BytesIO(packed))["id"]


class CorpusOrder:
    """A tie order over a whole corpus.

    Args:
        policy: policy with the tie order.
    """

    def __init__(self, source: CorpusScorer, pairs: JudgedPairs, policy: Policy) -> None:
        self.source: CorpusScorer | _Ids = source
        self.pairs, self.seed, self.name = pairs, policy.seed, policy.tie_order
        few = self.name == "input-below-16" and len(source.doc_ids) < INPUT_ORDERS[self.name].open_from  # type: ignore[operator]
        self.open = INPUT_ORDERS.get(self.name, TieOrder()).open_from is not None and not few
        self.compared = 0
        self.first = 0  # place of the first document of the source

    @property
    def before(self) -> Before | None:
        """The order, as a function from judged documents and places to whether it puts those of the places first."""
        return None if self.open else self

    def __call__(self, pairs: Ints, places: Ints) -> Bools:
        """Whether the documents at some places come before judged ones."""
        by = {"docid-desc": self._by_id, "docid-asc": self._by_id, "random": self._by_hash}
        return by[self.name](pairs, places - self.first) if self.name in by else self._by_place(pairs, places)

    def within(self, first: int, last: int) -> CorpusOrder:
        """The same order with the ids of the documents in a range, and of the judged ones, alone."""
        part = copy(self)
        part.__dict__.pop("_rank", None)
        ids = self.source.doc_ids
        if self.name in ("docid-desc", "docid-asc", "random"):
            own = ids.gather(self.pairs.place)
            part.source = _Ids(self.source.query_ids, pl.concat([ids.slice(first, last - first), own]))
            part.pairs = JudgedPairs(self.pairs.query, last - first + np.arange(len(own)))
            part.first, part.compared = first, 0
        else:
            part.source = _Ids(self.source.query_ids[:0], ids[:0])
        return part

    def _by_place(self, pairs: Ints, places: Ints) -> Bools:
        first: Bools = places < self.pairs.place[pairs]
        return first

    def _by_id(self, pairs: Ints, places: Ints) -> Bools:
        own = self.pairs.place[pairs]
        self.compared += len(pairs)
        # Ranking the ids of a corpus takes as long as comparing this many pairs of them.
        if self.compared < len(self.source.doc_ids):
            ids = self.source.doc_ids
            left, right = ids.gather(places), ids.gather(own)
            return (left > right if self.name == "docid-desc" else left < right).to_numpy()
        first: Bools = self._rank[places] > self._rank[own]
        return first if self.name == "docid-desc" else self._rank[places] < self._rank[own]

    @cached_property
    def _rank(self) -> Ints:
        """[place] rank of each id among all, ascending by bytes."""
        rank = np.empty(len(self.source.doc_ids), dtype=np.int64)
        rank[self.source.doc_ids.arg_sort().to_numpy()] = np.arange(len(rank))
        return rank

    def _by_hash(self, pairs: Ints, places: Ints) -> Bools:
        own = self.pairs.place[pairs]
        queries = self.source.query_ids.gather(self.pairs.query[pairs]).to_list()
        left, right = (
            hash_keys(self.seed, queries, self.source.doc_ids.gather(each).to_list()).to_numpy()
            for each in (places, own)
        )
        first: Bools = left < right
        return first
