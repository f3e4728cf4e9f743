"""Stage runner: a pipeline over one collection, with each stage computed or read from the cache."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trueval.collection import Collection, ids_in_order, texts_in_order
from trueval.errors import InputError
from trueval.files.digests import DIGESTS, touch_entry
from trueval.files.texts.lazy_list import LazyList, ProgressList
from trueval.models.hosted.account import LEDGER, Account
from trueval.models.hosted.services import is_hosted
from trueval.models.output_reuse import outputs_by, part_by, reuse_outputs
from trueval.models.outputs import OutputPart, Outputs, Step, settings_of
from trueval.models.pair_scores import HIGH as HIGH_FORMAT
from trueval.models.pair_scores import MODEL
from trueval.report.provenance import strip_folders
from trueval.retrieval.fusion.fuse import reciprocal_rank_fusion, weighted_fusion
from trueval.retrieval.fusion.ranked_lists import rank_lists
from trueval.retrieval.fusion.union import replace_scores, together
from trueval.retrieval.indexes.hits import Hits
from trueval.retrieval.indexes.index import Index, LocalIndex, TextsAndVectors, build_spec, make_index, read_spec
from trueval.retrieval.indexes.repeated_calls import SearchSession
from trueval.retrieval.indexes.vectors import rescore_hits, truncate_vectors
from trueval.retrieval.pipeline.boost import FEATURES, lexical_boost
from trueval.retrieval.pipeline.cache_keys import key_of, versions_of
from trueval.retrieval.pipeline.config import (
    BOTH,
    HIGH,
    SPECS,
    STAGES,
    Settings,
    repaired_table,
    set_scoring,
)
from trueval.retrieval.pipeline.lost_terms import describe_losses
from trueval.retrieval.pipeline.pipeline_result import Stage
from trueval.retrieval.pipeline.rerank import rerank
from trueval.retrieval.pipeline.routed_rerank import rerank_routed
from trueval.retrieval.pipeline.router import Router
from trueval.retrieval.pipeline.stage_cache import StageCandidates, keep, read_candidates
from trueval.retrieval.pipeline.stage_keys import DEPTHS, RETRIEVERS, Search, StageKeys
from trueval.retrieval.pipeline.stage_resources import (
    Begin,
    StageResources,
    is_whole,
    nobody,
    open_resources,
    tolerate_cache_errors,
)
from trueval.retrieval.pipeline.suppress import limit_sources, sources_of, suppress_duplicates
from trueval.retrieval.repair.doubtful_documents import find_doubtful
from trueval.retrieval.repair.rescore import StageRepair, describe_repair, rescore_doubtful
from trueval.run import Run
from trueval.score_width import ScoreWidth

_log = logging.getLogger(__name__)


class StageRunner(StageKeys):
    """One pipeline over one collection.

    Args:
        settings: settings of the pipeline.
        shared: resources shared with other runs of the pipeline.
    """

    def __init__(self, collection: Collection, settings: Settings, shared: StageResources, begin: Begin) -> None:
        super().__init__(collection, settings, shared, begin)
        self.begin = begin
        self.notes: list[str] = []
        self.given: int | None = None
        self.earlier = 0.0  # seconds of earlier work for what a stage reads from the cache
        self.searched: dict[str, Any] | None = None
        self.repaired: StageRepair | None = None
        self.opened: dict[str, SearchSession] = {}
        if not collection.documents or not collection.queries:
            what = "documents" if not collection.documents else "queries"
            raise InputError(f"{collection.source}: there are no {what}. A pipeline needs documents and queries.")
        for table in settings:
            versions_of(table, settings[table])  # before hours of embedding
            if table in SPECS:
                kind, _ = read_spec(settings[table][SPECS[table][0]])
                kind.check_deepest(min(settings[table]["depth"], len(collection.documents)))

    def _without_hits(self, run: Run, name: str) -> list[str]:
        """A remark on the queries without results in a stage, if there are any.

        Raises:
            InputError: these are all, of the first form of the queries.
        """
        found = set(run.query_ids.to_list())
        nothing = [query for query in self.collection.queries if query not in found]
        if not found and self.searches[name].form == self.form:
            raise InputError(
                f"{self.collection.source}: no query finds a document by {name} search. Are queries and documents of "
                "one language, and are the right fields read?"
            )
        queries = len(self.collection.queries)
        return [f"{len(nothing)} of {queries} queries find nothing, such as {nothing[0]!r}."] if nothing else []

    def retrievers(self) -> Mapping[str, Callable[[Step], Run]]:
        """The stages that search the collection."""
        makers = {"dense": self.dense, "sparse": self.sparse}
        return {name: partial(makers[each.kind], name=name) for name, each in self.searches.items()}

    def open(self) -> None:
        """Open the index of every retriever that has not searched yet, so that it is in `opened`."""
        openers = {"dense": self._open_dense, "sparse": self._open_sparse}
        for name, search in self.searches.items():
            if name not in self.opened:
                self.opened[name] = openers[search.kind](self.begin(name), name)

    @property
    def indexes(self) -> list[Index | LocalIndex]:
        """The open indexes, each once, also where several forms of the queries search it."""
        return list({id(each.index): each.index for each in self.opened.values()}.values())

    def refine(self, name: str, before: Sequence[Stage], beside: Sequence[Stage]) -> Stage:
        """A stage that takes candidates of earlier stages.

        Args:
            name: name of the stage.
            before: stages whose candidates it takes.
            beside: stages of all runs of the pipeline, if a model sees the candidates of several in one pass.
        """
        makers = {
            "fuse": self.fuse,
            "deduplicate": self.deduplicate,
            "rerank": self.rerank,
            "repair": self.repair,
        }
        make = partial(makers[name], [each.run for each in before], [each.run for each in beside])
        given = before[-1].run.documents.height
        return self.stage(name, make, tuple(each.key for each in (*before, *beside)), given)

    def stage(
        self, name: str, make: Callable[[Step], Run], before: tuple[str, ...] = (), given: int | None = None
    ) -> Stage:
        """Read the candidates of a stage from the cache, or compute and store them.

        Args:
            name: name of the stage.
            make: function from a progress callback to its candidates.
            before: keys of the stages whose candidates it takes.
            given: number of input candidates.
        """
        key = self.key(name, before)
        known = self.shared.stages.get(key)
        if known is not None:
            return known._replace(name=name, seconds=0.0, cached=True)
        step, began = self.begin(name), time.perf_counter()
        cache = self.shared.cache
        file = None if cache is None else self.file_of(name, key)
        kept = None if file is None else read_candidates(file, name, key)
        made = kept or self._make(name, make, step, given)
        if file is not None and kept is None:
            with tolerate_cache_errors(file):
                keep(file, made, key)
        seconds, ties = time.perf_counter() - began, rank_lists(made.run).ties
        _log.info("stage %s %s: %.3f s", name, "from the cache" if kept is not None else "made", seconds)
        found = Stage(
            name,
            made.run,
            made.given,
            seconds,
            made.seconds,
            kept is not None,
            ties,
            key,
            made.notes,
            made.searched,
            made.repair,
        )
        self.shared.stages[key] = found
        return found

    def _make(self, name: str, make: Callable[[Step], Run], step: Step, given: int | None) -> StageCandidates:
        began = time.perf_counter()
        self.notes, self.given, self.searched, self.repaired, self.earlier = [], given, None, None, 0.0
        spent = self.shared.account.spent
        run = make(step)
        if self.shared.account.spent > spent:
            self.notes.append(f"Hosted models cost {self.shared.account.spent - spent:.4g}.")
        if given is None:
            self.notes += self._without_hits(run, name)
            search = self.searches[name]
            if search.kind == next(iter(self.searches.values())).kind:  # once for both searches
                self.notes += self.written[search.form].notes if search.form in self.written else ()
                self.notes += describe_losses(self.asked, search.texts)
        return StageCandidates(
            run,
            tuple(self.notes),
            time.perf_counter() - began + self.earlier,
            self.given,
            self.searched,
            self.repaired,
        )

    def dense(self, step: Step, name: str = "dense") -> Run:
        """Embed queries and documents, and search an index of the documents.

        Args:
            name: name of the stage, which says in what form the queries are.
        """
        opened = self._open_dense(step, name)
        hits = self._search(name, opened, self.settings["index"]["depth"])
        return self._run(self.rescore(hits, opened), name)

    def _open_dense(self, step: Step, name: str) -> SearchSession:
        chosen, settings, model = self.settings["embed"], self.settings["index"], self.embedder()
        both = make_index(settings["spec"]).ready().takes == "both"
        search, dimension = self.searches[name], chosen["dimension"]
        documents, queries = self._vectors(model, "documents", step), self._vectors(model, "queries", step, search)
        sides = (search.collection.documents, documents), (search.collection.queries, queries)
        built, asked = (TextsAndVectors(texts_in_order(texts), rows) if both else rows for texts, rows in sides)
        of = [settings_of(model), dimension, self.candidate_settings("embed").get("reuse")]
        index = self._build_index(settings["spec"], built, of, "index")
        return SearchSession(index, asked, *self._ids, documents, queries, model.dtype)

    def rescore(self, hits: Hits, opened: SearchSession) -> Hits:
        """Hits of the dense index with the scores requested by [index].

        Args:
            hits: hits for the queries of the index.
            opened: the index and its vectors.
        """
        scoring = self.settings["index"]["scoring"]
        if scoring == "index" or opened.vectors is None or opened.query_vectors is None:
            return hits
        form = str(opened.dtype) if scoring == MODEL else scoring
        return rescore_hits(hits, opened.query_vectors, opened.vectors, form)

    def sparse(self, step: Step, name: str = "sparse") -> Run:
        """Search an index of terms.

        Args:
            name: as in `dense`.
        """
        return self._run(self._search(name, self._open_sparse(step, name), self.settings["sparse"]["depth"]), name)

    def _open_sparse(self, step: Step, name: str) -> SearchSession:
        texts = texts_in_order(self.collection.documents)
        watched = ProgressList(texts, lambda done: step("documents", done, len(texts)))
        index = self._build_index(self.settings["sparse"]["index"], watched, [], "sparse")
        return SearchSession(index, list(self.searches[name].collection.queries.values()), *self._ids)

    def _search(self, name: str, opened: SearchSession, depth: int) -> Hits:
        self.opened[name] = opened
        return opened.index.search(opened.queries, depth)

    def fuse(self, runs: Sequence[Run], _: Sequence[Run], __: Step) -> Run:
        """Fuse the runs of all searches; those with several forms of the queries have the weight of their kind."""
        settings = self.settings["fuse"]
        weights, unit = settings["weights"], 1.0
        if weights is not None:
            own = dict(zip(RETRIEVERS, weights, strict=True))
            weights = [own[each.kind] for each in self.searches.values()]
        if settings["method"] == "rrf":
            tied = settings["tied"]
            fused = reciprocal_rank_fusion(runs, k=settings["k"], weights=weights, tied=tied, name="fuse").run
            unit = 1 / (settings["k"] + 1)
        else:
            fused = weighted_fusion(runs, norm=settings["norm"], weights=weights, name="fuse").run
        self.given = fused.documents.height
        cut = rank_lists(self._boost(fused, unit), settings["depth"])
        return cut.only(np.ones(len(cut.rank), dtype=bool), "fuse", "fusion")

    def _boost(self, fused: Run, unit: float) -> Run:
        weights = {name: self.settings["fuse"][name] for name in FEATURES if self.settings["fuse"][name]}
        if not weights:
            return fused
        found = lexical_boost(fused, self.collection.queries, self.collection.documents, weights, unit=unit)
        self.notes.append(
            f"{found.gained:,} of {fused.documents.height:,} candidates gain by {', '.join(weights)}; "
            f"{found.before.tied:,} tied before and {found.ties.tied:,} after, {found.made:,} of them with other ones."
        )
        return found.run

    def deduplicate(self, runs: Sequence[Run], _: Sequence[Run], __: Step) -> Run:
        """Remove near duplicates, and excess documents of a source."""
        (run,), settings = runs, self.settings["deduplicate"]
        if settings["duplicates"]:
            alike = suppress_duplicates(
                run, self.collection.documents, threshold=settings["threshold"], words=settings["words"]
            )
            self.notes.append(f"{alike.dropped.height:,} of {run.documents.height:,} candidates were near duplicates.")
            run = alike.run
        if settings["per_source"] is not None:
            ids = run.documents["doc_id"].unique(maintain_order=True).to_list()
            sources = sources_of(ids, settings["sources"]) if self.sources is None else self.sources
            many = limit_sources(run, sources, most=settings["per_source"])
            self.notes.append(
                f"{many.dropped.height:,} of {run.documents.height:,} candidates were more than "
                f"{settings['per_source']} of a source."
            )
            run = many.run
        return run

    def rerank(self, runs: Sequence[Run], beside: Sequence[Run], step: Step) -> Run:
        """Score the top candidates with a model, those of several runs in one pass."""
        (run,), settings = runs, self.settings["rerank"]
        model, depth, scoring = self.model("rerank"), settings["depth"], settings["scoring"]
        if "route" in self.settings:
            return self._rerank_routed(run, model, step)
        asked = together(beside, depth) if beside else run
        scored = rerank(
            asked,
            self.collection,
            model,
            depth=depth if asked is run else None,
            scoring=scoring,
            store=self.shared.outputs,
            step=step,
            forward=self._outputs,
        )
        return scored if asked is run else replace_scores(run, scored, depth)

    def _rerank_routed(self, run: Run, model: object, step: Step) -> Run:
        """Score as many candidates of each query as the router says."""
        router, searched = Router.load(self.settings["route"]["router"]), self.first_candidates()
        given = {"scoring": self.settings["rerank"]["scoring"], "store": self.shared.outputs, "step": step}
        score = partial(rerank, collection=self.collection, model=model, forward=self._outputs, **given)
        found = rerank_routed(run, router, run if searched is None else searched, score)
        hard = sum(each.candidates == router.more for each in found.routed.values())
        self.notes.append(
            f"{hard:,} of {len(found.routed):,} queries were given {router.more} candidates, and the others "
            f"{router.fewer}, by {strip_folders(router.source)}."
        )
        return found.run

    def repair(self, runs: Sequence[Run], _: Sequence[Run], step: Step) -> Run:
        """Score again in float32 the documents that decide the first k, and only those."""
        (run,), settings = runs, self.settings["repair"]
        found = rescore_doubtful(
            run,
            settings["k"],
            ScoreWidth.parse(settings["within"]),
            lambda doubtful: self.score_exactly(doubtful, step),
            order=settings["order"],
            depth=self.settings["index"]["depth"] if repaired_table(self.settings) == "embed" else None,
        )
        self.repaired = found.repair
        self.notes += describe_repair(found.repair, len(run.query_ids))
        return found.run

    def doubtful_candidates(self) -> Run | None:
        """The documents that [repair] would score again; None where the scores before it are not cached."""
        run, settings = self.candidates_before("repair"), self.settings["repair"]
        width = ScoreWidth.parse(settings["within"])
        return None if run is None else find_doubtful(run, settings["k"], width, order=settings["order"]).run

    def score_exactly(self, run: Run, step: Step) -> Run:
        """The documents of a run with scores of the last model in float32.

        Args:
            run: run of the pairs to score.
        """
        model = self.model("repair")
        store, forward = self.shared.outputs, self._exact_outputs
        return rerank(run, self.collection, model, scoring=HIGH_FORMAT, store=store, step=step, forward=forward)

    def _exact_outputs(self, *given: Any, **named: Any) -> Outputs:
        """The float32 outputs of the model that gives the last scores, truncated as those of the index are."""
        found = reuse_outputs(*given, **named, executor=self.shared.executor)
        self.earlier += found.earlier
        dimension = None if "rerank" in self.settings else self.settings["embed"]["dimension"]
        if dimension is None:
            return found
        return replace(
            found, arrays={name: truncate_vectors(np.asarray(rows), dimension) for name, rows in found.arrays.items()}
        )

    def _outputs(self, *given: Any, **named: Any) -> Outputs:
        """The outputs of a reranker, computed or cached."""
        found = outputs_by(self.reuse("rerank"), *given, **named, executor=self.shared.executor)
        self.earlier += found.earlier
        return found

    def query_vectors(self, step: Step) -> NDArray[Any]:
        """[query, dimension] query vectors for the dense index, from the cache if present; of their first form.

        Raises:
            InputError: as in `embedder`.
        """
        return self._vectors(self.embedder(), "queries", step)

    def embed_queries(self, step: Step) -> None:
        """Embed the queries in all of their forms, so that they are in the shared vectors."""
        for search in self.searches.values():
            if search.kind == "dense":
                self._vectors(self.embedder(), "queries", step, search)

    def document_vectors(self, step: Step) -> NDArray[Any]:
        """[document, dimension] vectors of the dense index, in corpus order, from the cache if present.

        Raises:
            InputError: as in `embedder`.
        """
        return self._vectors(self.embedder(), "documents", step)

    def _vectors(self, model: object, name: str, step: Step, search: Search | None = None) -> NDArray[Any]:
        """Embeddings in the form that the index takes, of queries as a search has them; None for the first."""
        collection, form = (self.collection, self.form) if search is None else (search.collection, search.form)
        rows = self._embed(model, name, getattr(collection, name), form, step)
        dimension = self.settings["embed"]["dimension"]
        # A service truncates them itself.
        return (
            rows
            if dimension is None or is_hosted(self.settings["embed"]["model"])
            else truncate_vectors(rows, dimension)
        )

    def _embed(self, model: Any, name: str, texts: Mapping[str, str], form: str, step: Step) -> NDArray[Any]:
        reuse = self.reuse("embed")
        key = key_of(settings_of(model), name, reuse, form if name == "queries" else "")
        if key not in self.shared.vectors:
            ids = ids_in_order(texts)
            called = LazyList(len(ids), lambda at: f"{ids[at]!r} of the {name}")
            forward = model.embed_documents if name == "documents" else model.embed_queries
            part = OutputPart(name, texts_in_order(texts), called, forward, len)
            began = time.perf_counter()
            found = part_by(model, part, reuse, self.shared.outputs, step, self.shared.executor)
            self.shared.vectors[key] = found.rows
            self.shared.seconds[key] = found.earlier + time.perf_counter() - began
            self.earlier += found.earlier
        else:
            self.earlier += self.shared.seconds[key]
        return self.shared.vectors[key]

    def _build_index(self, spec: str, documents: object, of: object, table: str) -> LocalIndex:
        """The index of a spec, open, built or cached; search parameters do not affect what is built.

        Args:
            spec: spec of the index.
            documents: vectors or texts.
            of: what determines the input, besides the texts of the collection.
            table: table of the spec.
        """
        sessions = (each for name, each in self.opened.items() if DEPTHS[self.searches[name].kind] == table)
        session = next(sessions, None)
        index = self._make_index(spec, documents, of, table) if session is None else cast("LocalIndex", session.index)
        about = index.describe()
        self.notes += about.notes
        told = {name: value for name, value in asdict(about).items() if name != "notes"}
        self.searched = told | {"spec": strip_folders(about.spec)}
        return index

    def _make_index(self, spec: str, documents: object, of: object, table: str) -> LocalIndex:
        index = make_index(spec)
        key = key_of("index", build_spec(spec), of, self.texts["documents"], versions_of(table, self.settings[table]))
        cache = self.shared.cache
        folder = None if cache is None else cache / "indexes" / f"{index.name}-{key[:16]}"
        if folder is not None and folder.is_dir() and is_whole(folder, key):
            index.load(folder)
            touch_entry(folder / DIGESTS)
            self.earlier += index.build_seconds
        else:
            index.build(documents)
            if folder is not None and not folder.exists():  # another process may have been faster
                with tolerate_cache_errors(folder):
                    index.save(folder, key)
        return index

    def _run(self, hits: Hits, name: str) -> Run:
        return hits.to_run(*self._ids, name)

    @property
    def _ids(self) -> tuple[list[str], pl.Series]:
        return list(self.collection.queries), ids_in_order(self.collection.documents)


@contextmanager
def open_stage_runner(
    collection: Collection, settings: Settings, *, cache: Path | None = None, begin: Begin | None = None
) -> Iterator[StageRunner]:
    """Open a runner with the index of each retriever in `opened`.

    Args:
        settings: settings of the pipeline; for a run of both precisions, the high one.

    Raises:
        InputError: as in Pipeline.retrieve.
        MissingExtraError: the library of a stage is not installed.
    """
    scoring = settings.get("pipeline", {}).get("scoring", STAGES)
    with open_resources(cache, Account(ledger=None if cache is None else cache / LEDGER), kept=False) as shared:
        work = StageRunner(
            collection, set_scoring(settings, HIGH if scoring == BOTH else scoring), shared, begin or nobody
        )
        work.open()
        yield work
