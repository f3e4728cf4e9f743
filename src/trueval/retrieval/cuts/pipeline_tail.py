"""Pipeline tail: the stages after the retrievers, applied to other lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trueval.collection import ids_in_order
from trueval.numerics import distinct
from trueval.retrieval.fusion.ranked_lists import places_of, rank_lists
from trueval.retrieval.indexes.hits import Hits
from trueval.retrieval.pipeline.rerank import rerank
from trueval.retrieval.pipeline.stage_runner import StageRunner
from trueval.run import Run
from trueval.standings.groups import starts_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class TailLists(NamedTuple):
    """Lists as arrays of indices, grouped by query and best first.

    Attributes:
        query: [row] index of the query in the collection.
        document: [row] index of the document.
        score: [row] score.
    """

    query: Ints
    document: Ints
    score: Floats

    @property
    def rank(self) -> Ints:
        """[row] rank from 0."""
        return np.arange(len(self.query)) - np.searchsorted(self.query, self.query)

    def at(self, rows: Any) -> TailLists:
        """A selection of the rows."""
        return TailLists(self.query[rows], self.document[rows], self.score[rows])


class Tail:
    """The stages of a pipeline after its retrievers.

    Args:
        work: runner of the pipeline, with open indexes.
    """

    def __init__(self, work: StageRunner) -> None:
        self.work, self.settings, self.collection = work, work.settings, work.collection
        self.query_ids, self.doc_ids = pl.Series(list(self.collection.queries)), ids_in_order(self.collection.documents)
        uncut = {
            name: {**values, "depth": None} if name == "fuse" else values for name, values in work.settings.items()
        }
        self.uncut = copy(work)  # its queries are written already
        self.uncut.settings, self.uncut.notes = uncut, []

    def fuse(self, runs: Mapping[str, Run]) -> Run:
        """One run from those of the retrievers, not yet cut where they are fused."""
        given = [self.rescore(run, name) if name in self.rescored_searches else run for name, run in runs.items()]
        return self.uncut.fuse(given, (), silent) if "fuse" in self.settings else given[0]

    @property
    def depth(self) -> int | None:
        """Number of documents kept in each fused list."""
        depth: int | None = self.settings["fuse"]["depth"] if "fuse" in self.settings else None
        return depth

    @property
    def rescored_searches(self) -> tuple[str, ...]:
        """The searches of the dense index whose hits [index] rescores; none where it takes the index's own scores."""
        if "index" not in self.settings or self.settings["index"]["scoring"] == "index":
            return ()
        return tuple(name for name, each in self.work.searches.items() if each.kind == "dense")

    def scoring_name(self, search: str) -> str:
        """What the scoring of a search is called as a stage."""
        return search.replace("dense", "scoring", 1)

    def with_scored(self, runs: Mapping[str, Run], search: str, scored: Run) -> dict[str, Run]:
        """The runs of the retrievers, with the run of one search rescored: the input of `fuse`."""
        name = self.scoring_name(search)
        return {name if each == search else each: scored if each == search else run for each, run in runs.items()}

    def rescore(self, run: Run, search: str) -> Run:
        """A run of the dense index, with scores as [index] requests."""
        opened = self.work.opened[search]
        if opened.query_vectors is None:
            return run
        rows, queries = self.to_rows(run), opened.query_vectors[np.sort(self.places(run.query_ids))]
        hits = Hits(run.offsets, rows.document, rows.score)
        ids = self.query_ids[np.sort(self.places(run.query_ids))].to_list()
        return self.work.rescore(hits, replace(opened, query_vectors=queries)).to_run(ids, self.doc_ids, "dense")

    def before_reranking(self, runs: Mapping[str, Run]) -> TailLists:
        """The lists given to the reranker, or the final lists without one."""
        cut = rank_lists(self.fuse(runs), self.depth)
        return self.deduplicate(cut.only(np.ones(len(cut.rank), dtype=bool), "fuse", "fusion"))

    def deduplicate(self, run: Run) -> TailLists:
        """The lists without near duplicates, where the pipeline removes them."""
        return self.to_rows(self.work.deduplicate([run], (), silent) if "deduplicate" in self.settings else run)

    def rerank_pairs(self, ends: Sequence[TailLists]) -> TailLists | None:
        """The pairs that the reranker gets under any order, sorted, with scores; None without a reranker."""
        if "rerank" not in self.settings:
            return None
        settings = self.settings["rerank"]
        keys = distinct(np.concatenate([self.pairs(rows.at(rows.rank < settings["depth"])) for rows in ends]))
        query, document = np.divmod(keys, len(self.doc_ids))
        given = self.to_run(TailLists(query, document, np.zeros(len(keys))), "candidates")
        step, model, store = self.work.begin("rerank"), self.work.model("rerank"), self.work.shared.outputs
        found = self.to_rows(rerank(given, self.collection, model, scoring=settings["scoring"], store=store, step=step))
        return found.at(np.argsort(self.pairs(found)))

    def order_lists(
        self, rows: TailLists, reranked: TailLists | None, rng: np.random.Generator | None = None
    ) -> TailLists:
        """The final lists of the pipeline: by the reranker's scores where there is one.

        Args:
            rows: rows before reranking.
            reranked: pairs and their scores.
            rng: random generator for breaking the reranker's ties; None keeps the previous order.
        """
        if reranked is None:
            return rows
        kept = rows.at(rows.rank < self.settings["rerank"]["depth"])
        score = reranked.score[np.searchsorted(self.pairs(reranked), self.pairs(kept))]
        key = np.arange(len(score)) if rng is None else rng.permutation(len(score))
        order = np.lexsort((key, -score, kept.query))
        return TailLists(kept.query[order], kept.document[order], score[order])

    def first(self, rows: TailLists, k: int) -> TailLists:
        """The first k of each list."""
        return rows.at(rows.rank < k)

    def pairs(self, rows: TailLists) -> Ints:
        """[row] one number per pair of query and document."""
        return rows.query * len(self.doc_ids) + rows.document

    def places(self, query_ids: pl.Series) -> Ints:
        """Indices of queries in the collection."""
        return places_of(query_ids, self.query_ids)

    def to_rows(self, run: Run) -> TailLists:
        """The rows of a run, queries in the order of the collection, ties as listed."""
        lists = rank_lists(run)
        query = self.places(lists.query_ids)[lists.of_row]
        document = places_of(lists.documents["doc_id"], self.doc_ids)
        order = np.argsort(query, kind="stable")
        return TailLists(query[order], document[order], lists.documents["score"].to_numpy()[order])

    def to_run(self, rows: TailLists, name: str) -> Run:
        """The run of rows; queries without any are left out."""
        sizes = np.bincount(rows.query, minlength=len(self.query_ids))
        documents = pl.DataFrame({"doc_id": self.doc_ids[rows.document], "score": rows.score})
        queries = self.query_ids.filter(pl.Series(sizes > 0))
        return Run(documents, queries, starts_of(sizes[sizes > 0]), name, "pipeline")


def silent(part: str, done: int, of: int) -> None:
    """A step callback that does nothing, for stages too short for a progress bar."""
