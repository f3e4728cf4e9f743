"""Serving: a pipeline that answers one query at a time, with each stage as a task to be timed.

    with shared_work(cache, account, kept=False) as shared:
        served = [Served(Work(collection, settings, shared, nobody)) for settings in systems]
        for each in served:
            each.check_cost(protocol)                       # of hosted models, before anything is sent
        tasks = {task.name: task for each in served for task in each.tasks}     # equal work of two systems once
        ledger = Ledger(folder / "samples.jsonl")
        found = measure(list(tasks.values()), served[0].query_ids, protocol, done=ledger.read(), keep=ledger.append)
        for each in served:
            for stage in each.stages:                       # embed, retrieve, sparse, fuse, deduplicate, rerank, repair
                latency(times_of(found.samples, [stage.task.name]), rng=rng)
            total = times_of(found.samples, [stage.task.name for stage in each.stages])
            print(latency(total, rng=rng), jitter(total), loads(each.answer, len(each.query_ids), protocol))

A stage is the work of its library, model or service for one query. Its inputs are prepared before: the query vector,
the candidates of the stages before, the texts of the pairs. `retrieve` on FAISS is the search of FAISS, without our
ordering of equal scores; with another [index] scoring it is search and scoring. A local model answers one query at a
time, also with several workers: its library is not made for more.

`answer` is the full path of one query, including our own work between the stages. It returns what the pipeline returns
for many queries at once, up to the last bits of embeddings, logits and products, which depend on the batch, and up to
[fuse] terms, whose document frequencies are counted over the candidates of all queries of a run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, partial
from threading import Lock
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trueval.collection import ids_in_order
from trueval.latency.latency import Protocol, TimedTask
from trueval.models.hosted.account import sum_costs
from trueval.models.hosted.hosted_model import HostedModel
from trueval.models.hosted.services import is_hosted
from trueval.models.missing_work import MissingWork, repeated_work
from trueval.models.outputs import settings_of
from trueval.models.pair_scores import HIGH, PAIRED, pair_scores, scoring_format
from trueval.retrieval.fusion.ranked_lists import RankedLists, rank_lists
from trueval.retrieval.indexes.hits import Hits
from trueval.retrieval.indexes.index import TextsAndVectors
from trueval.retrieval.indexes.vectors import truncate_vectors
from trueval.retrieval.pipeline.cache_keys import key_of
from trueval.retrieval.pipeline.stage_resources import nobody
from trueval.retrieval.pipeline.stage_runner import StageRunner
from trueval.retrieval.pipeline.suppress import sources_of
from trueval.retrieval.repair.rescore import rescore_doubtful
from trueval.run import Run
from trueval.score_width import ScoreWidth

Vectors = NDArray[Any]


@dataclass(frozen=True)
class ServedStage:
    """One stage of a system.

    Attributes:
        name: embed, retrieve, sparse, fuse, deduplicate, rerank or repair; of a further form of the queries with that
            form, such as "embed (denoise)".
        task: task of the stage; equal work has equal task names.
    """

    name: str
    task: TimedTask


class ServedPipeline:
    """A pipeline over one collection that answers single queries; indexes are loaded from the cache if present.

    Attributes:
        query_ids: [query] ids of the collection's queries, in order; queries are addressed by index.

    Raises:
        InputError: as in Pipeline.retrieve.
        MissingExtraError: the library of a stage is not installed.
    """

    def __init__(self, work: StageRunner) -> None:
        work.open()
        self.work = copy(work)  # its notes are separate
        self.work.notes = []
        self.settings = work.settings
        self.query_ids = list(work.collection.queries)
        self.texts = list(work.collection.queries.values())
        self.asked = {name: list(each.collection.queries.values()) for name, each in work.searches.items()}
        self.models = {table: work.model(table) for table in ("embed", "rerank", "repair") if table in self.settings}
        if self.settings.get("deduplicate", {}).get("per_source") is not None:
            # Computed once for all documents: single queries would each read the file, or have no document with a
            # source.
            ids = ids_in_order(work.collection.documents).to_list()
            self.work.sources = sources_of(ids, self.settings["deduplicate"]["sources"])
        self.locks = {table: Lock() for table in ("embed", "sparse", "rerank", "repair")}
        self._before: dict[tuple[str, int], Run] = {}
        self._document_vectors: dict[tuple[str, str], Any] = {}

    @cached_property
    def stages(self) -> tuple[ServedStage, ...]:
        """The stages in order; equal tables give equal task names."""
        found = []
        for search, each in self.work.searches.items():
            if each.kind == "dense":
                embed, retrieve = _embed_name(search), _retrieve_name(search)
                found.append(ServedStage(embed, TimedTask(self._task_name(embed), partial(self._embed, search=search))))
                found.append(ServedStage(retrieve, self._retrieve_task(self._task_name(retrieve), search)))
            else:
                found.append(ServedStage(search, self._sparse_task(self._task_name(search), search)))
        makers = {"rerank": self._rerank_task, "repair": self._repair_task}
        for table in self.work.refiners():
            make = makers.get(table, self._refiner_task)
            found.append(ServedStage(table, make(self._task_name(table), table)))
        return tuple(found)

    def _task_name(self, stage: str) -> str:
        return f"{stage.partition(' (')[0]} {self.keys[stage][:16]}"

    @property
    def tasks(self) -> list[TimedTask]:
        """The tasks of the stages."""
        return [stage.task for stage in self.stages]

    @cached_property
    def keys(self) -> Mapping[str, str]:
        """Hash of everything that determines each stage's latency: settings and input candidates."""
        found: dict[str, str] = {}
        before: list[str] = []
        for name, search in self.work.searches.items():
            before.append(self.work.key(name))
            found[_retrieve_name(name)] = before[-1]
            if search.kind == "dense":
                texts = self.work.queries_hash(search)
                found[_embed_name(name)] = key_of("serve", "embed", settings_of(self.models["embed"]), texts)
        for name in self.work.refiners():
            found[name] = self.work.key(name, tuple(before))
            before = [found[name]]
        return found

    def answer(self, query: int) -> Run:
        """The documents for one query, best first, with every stage computed now.

        Returns:
            A run with that query; an empty run if nothing is found.
        """
        runs = []
        for name, search in self.work.searches.items():
            if search.kind == "dense":
                hits = self._dense(self._query_input(self._cut(self._embed(query, name)), query, name), name)
            else:
                with self.locks["sparse"]:
                    index, depth = self.work.opened[name].index, self.settings["sparse"]["depth"]
                    hits = index.search([self.asked[name][query]], depth)
            runs.append(self._run(hits, query, name))
        run = self._apply_stage("fuse", runs) if "fuse" in self.settings else runs[0]
        if "deduplicate" in self.settings:
            run = self._apply_stage("deduplicate", [run])
        if "rerank" in self.settings:
            run = self._rerank(run, query)
        if "repair" in self.settings:
            run = self._repair(run, query)
        return run

    def candidates(self, query: int, until: str | None = None) -> Run:
        """The input documents of a stage for one query, computed once from batched query embeddings.

        Args:
            until: stage that gets the candidates; None for those at the end, before a reranker.
        """
        names = [name for name in self.work.refiners() if name not in ("rerank", "repair")]
        names = names[: names.index(until)] if until in names else names
        last = names[-1] if names else next(iter(self.work.retrievers()))
        if last in self.work.retrievers():
            return self._retrieve(last, query)
        if (last, query) not in self._before:
            self._before[last, query] = self._apply_stage(last, self._stage_input(last, query))
        return self._before[last, query]

    def _stage_input(self, table: str, query: int) -> list[Run]:
        """The input candidates of a stage without a model."""
        if table == "fuse":
            return [self._retrieve(each, query) for each in self.work.retrievers()]
        return [self.candidates(query, table)]

    def _retrieve(self, name: str, query: int) -> Run:
        if (name, query) not in self._before:
            opened = self.work.opened[name]
            asked = opened.select(np.array([query]))
            dense = self.work.searches[name].kind == "dense"
            hits = self._dense(asked, name) if dense else opened.index.search(asked, self.settings["sparse"]["depth"])
            self._before[name, query] = self._run(hits, query, name)
        return self._before[name, query]

    def hosted_calls(self, protocol: Protocol) -> list[MissingWork]:
        """Calls that hosted stages would send while timed and under load."""
        asked = min(protocol.queries, len(self.query_ids))
        times = protocol.timed_calls(asked) + protocol.load_test_queries(asked)
        found = []
        for stage in self.stages if asked else ():
            model = self.models.get(stage.name.partition(" (")[0])
            if isinstance(model, HostedModel):
                parts, items = zip(*(self._items(stage.name, query) for query in range(asked)), strict=True)
                found.append(repeated_work(model, parts[0], items, times))
        return found

    def check_cost(self, protocol: Protocol) -> None:
        """Refuse work that would exceed the remaining budget, before anything is sent.

        Raises:
            InputError: hosted stages would cost too much, or their price is not known and there is a limit.
        """
        account = self.work.shared.account
        found = self.hosted_calls(protocol)
        for each in found:
            account.expect(each.cost, f"Timing {each.calls} calls of {each.model}")
        if found:
            account.expect(sum_costs(each.cost for each in found), "Timing hosted models")
            account.ready()

    def _items(self, name: str, query: int) -> tuple[str, list[Any]]:
        """The hosted model's part, and its items for a query."""
        searches = {_embed_name(search): search for search in self.work.searches}
        if name in searches:
            return "queries", [self.asked[searches[name]][query]]
        if self.models["rerank"].scoring not in PAIRED:
            return "queries", [self.texts[query]]
        return "pairs", self._pairs(self.candidates(query), query).items

    def _embed(self, query: int, search: str) -> Any:
        return self._call_model("embed", "queries", [self.asked[search][query]], [self.query_ids[query]])

    def _call_model(self, table: str, part: str, items: list[Any], called: list[str]) -> Any:
        """The model's outputs for some items."""
        model = self.models[table]
        if isinstance(model, HostedModel):
            return model.answer(part, items, called)
        forward = {"queries": "embed_queries", "documents": "embed_documents", "pairs": "pair_logits"}[part]
        with self.locks[table]:
            return getattr(model, forward)(items, called)

    def _cut(self, vectors: Vectors) -> Vectors:
        dimension = self.settings["embed"]["dimension"]
        if dimension is None or is_hosted(self.settings["embed"]["model"]):
            return vectors
        return truncate_vectors(vectors, dimension)

    def _query_input(self, vectors: Vectors, query: int, search: str) -> Any:
        """The query for the dense index: its vectors, with the text where the index takes both."""
        both = isinstance(self.work.opened[search].queries, TextsAndVectors)
        return TextsAndVectors([self.asked[search][query]], vectors) if both else vectors

    def _retrieve_task(self, name: str, search: str) -> TimedTask:
        opened, settings = self.work.opened[search], self.settings["index"]
        if settings["scoring"] != "index":
            return TimedTask(name, partial(self._dense, search=search), lambda query: opened.select(np.array([query])))

        def prepare(query: int) -> Callable[[], object]:
            return _library_call(opened.index, opened.select(np.array([query])), settings["depth"])

        return TimedTask(name, _call_search, prepare)

    def _dense(self, asked: Any, search: str) -> Hits:
        opened = self.work.opened[search]
        hits = opened.index.search(asked, self.settings["index"]["depth"])
        vectors = asked.vectors if isinstance(asked, TextsAndVectors) else asked
        return self.work.rescore(hits, replace(opened, query_vectors=vectors))

    def _sparse_task(self, name: str, search: str) -> TimedTask:
        index, depth = self.work.opened[search].index, self.settings["sparse"]["depth"]
        return TimedTask(name, _call_search, lambda query: _library_call(index, [self.asked[search][query]], depth))

    def _run(self, hits: Hits, query: int, name: str) -> Run:
        return hits.to_run([self.query_ids[query]], self.work.opened[name].doc_ids, name)

    def _refiner_task(self, name: str, table: str) -> TimedTask:
        return TimedTask(
            name, lambda runs: self._apply_stage(table, runs), lambda query: self._stage_input(table, query)
        )

    def _apply_stage(self, table: str, runs: list[Run]) -> Run:
        """Apply a stage without a model to one query; empty input gives empty output."""
        if not any(len(run.query_ids) for run in runs):
            return runs[0]
        makers = {"fuse": self.work.fuse, "deduplicate": self.work.deduplicate}
        return makers[table](runs, (), nobody(table))

    def _rerank_task(self, name: str, _: str) -> TimedTask:
        def prepare(query: int) -> _Pairs:
            pairs = self._pairs(self.candidates(query), query)
            self._vectors(pairs)
            return pairs

        return TimedTask(name, self._scores, prepare)

    def _repair_task(self, name: str, _: str) -> TimedTask:
        def prepare(query: int) -> tuple[Run, int]:
            run = self.candidates(query)
            run = self._rerank(run, query) if "rerank" in self.settings else run
            self._vectors(self._pairs(run, query, "repair"))
            return run, query

        return TimedTask(name, lambda given: self._repair(*given), prepare)

    def _repair(self, run: Run, query: int) -> Run:
        """Score again in float32 the documents that decide the first k of one query."""
        if not len(run.query_ids):
            return run
        settings = self.settings["repair"]
        width = ScoreWidth.parse(settings["within"])
        return rescore_doubtful(
            run, settings["k"], width, lambda few: self._rescore(few, query, "repair"), order=settings["order"]
        ).run

    def _pairs(self, run: Run, query: int, table: str = "rerank") -> _Pairs:
        lists = rank_lists(run, self.settings["rerank"]["depth"] if table == "rerank" else None)
        ids = lists.documents["doc_id"].to_list()
        text, documents = self.texts[query], self.work.collection.documents
        return _Pairs(query, lists, ids, [(text, documents[doc]) for doc in ids], table)

    def _vectors(self, pairs: _Pairs) -> list[Any]:
        """Embeddings of the documents of pairs, computed once, as an index would store them."""
        table = pairs.table
        if self.models[table].scoring in PAIRED:
            return []
        lacking = {doc: text for doc, (_, text) in zip(pairs.ids, pairs.items, strict=True)}
        lacking = {doc: text for doc, text in lacking.items() if (table, doc) not in self._document_vectors}
        if lacking:
            rows = self._call_model(table, "documents", list(lacking.values()), list(lacking))
            self._document_vectors |= zip(((table, doc) for doc in lacking), rows, strict=True)
        return [self._document_vectors[table, doc] for doc in pairs.ids]

    def _scores(self, pairs: _Pairs) -> NDArray[np.float64]:
        """[pair] scores of the reranker, or of the model that repairs scores."""
        table = pairs.table
        model = self.models[table]
        form = scoring_format(model, self.settings["rerank"]["scoring"] if table == "rerank" else HIGH)
        if not pairs.ids:
            return np.empty(0)
        arrays: dict[str, Any]
        if model.scoring in PAIRED:
            arrays = {"pairs": self._call_model(table, "pairs", pairs.items, pairs.ids)}
        else:
            vectors = self._vectors(pairs)
            arrays = {"documents": np.stack(vectors) if model.scoring == "product" else vectors}
            called = [self.query_ids[pairs.query]]
            arrays["queries"] = self._call_model(table, "queries", [self.texts[pairs.query]], called)
            if table == "repair" and "rerank" not in self.settings:
                arrays = {name: self._cut(rows) for name, rows in arrays.items()}
        return pair_scores(arrays, [np.arange(len(pairs.ids))], model.scoring, form).astype(np.float64)

    def _rerank(self, run: Run, query: int) -> Run:
        return self._rescore(run, query, "rerank")

    def _rescore(self, run: Run, query: int, table: str) -> Run:
        pairs = self._pairs(run, query, table)
        documents = pairs.lists.documents.with_columns(score=pl.Series(self._scores(pairs), dtype=pl.Float64))
        ordered = rank_lists(Run(documents, pairs.lists.query_ids, pairs.lists.offsets, "rerank", "pipeline"))
        return ordered.only(np.ones(len(ordered.rank), dtype=bool), "rerank", "pipeline")


@dataclass(frozen=True, eq=False)
class _Pairs:
    """The reranker's input for one query.

    Attributes:
        ids: [pair] document ids.
        items: [pair] texts of query and document.
        table: table of the model that scores them.
    """

    query: int
    lists: RankedLists
    ids: list[str]
    items: list[tuple[str, str]]
    table: str


def _embed_name(search: str) -> str:
    """The stage that embeds the queries of a dense search."""
    return search.replace("dense", "embed", 1)


def _retrieve_name(search: str) -> str:
    """The stage that searches, as it is timed."""
    return search.replace("dense", "retrieve", 1)


def _library_call(index: Any, asked: Any, depth: int) -> Callable[[], object]:
    """The search call of an index; for an adapter without one, its own search."""
    make = getattr(index, "library_call", None)
    if make is None:
        return lambda: index.search(asked, depth)
    found: Callable[[], object] = make(asked, depth)
    return found


def _call_search(search: Callable[[], object]) -> object:
    return search()
