"""Tie orders of a whole corpus: which of two documents with the same score comes first."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from trueval.standings.corpus.corpus_scorer import CorpusScorer
from trueval.standings.corpus.counts import Before, JudgedPairs
from trueval.standings.standings import Bools, Ints
from trueval.standings.tie_order import INPUT_ORDERS, TieOrder, hash_keys

if TYPE_CHECKING:
    from trueval.policy.policy import Policy


class CorpusOrder:
    """A tie order over a whole corpus.

    Args:
        policy: policy with the tie order.
    """

    def __init__(self, source: CorpusScorer, pairs: JudgedPairs, policy: Policy) -> None:
        self.source, self.pairs, self.seed, self.name = source, pairs, policy.seed, policy.tie_order
        few = self.name == "input-below-16" and len(source.doc_ids) < INPUT_ORDERS[self.name].open_from  # type: ignore[operator]
        self.open = INPUT_ORDERS.get(self.name, TieOrder()).open_from is not None and not few
        self.compared = 0

    @property
    def before(self) -> Before | None:
        """A function from judged documents and places to whether the order puts those of the places first."""
        if self.open:
            return None
        return {"docid-desc": self._by_id, "docid-asc": self._by_id, "random": self._by_hash}.get(
            self.name, self._by_place
        )

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
