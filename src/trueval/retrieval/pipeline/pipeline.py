"""Pipelines: embed, retrieve, fuse, deduplicate, rerank; every stage timed, with its candidates and ties.

A pipeline is read from the TOML of config.py. With a cache, embeddings, logits, indexes and the candidates of every
stage are stored by the hashes of their inputs: an interrupted pipeline resumes at the stage in progress, a second run
takes seconds, and two pipelines that share a stage share its work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from trueval.collection import Collection, Tell, place_beside, read_queries
from trueval.comparison.resampling.resampled_sums import sample
from trueval.errors import InputError, PolicyError
from trueval.models.hosted.account import LEDGER, Account
from trueval.models.missing_work import MissingWork
from trueval.retrieval.indexes.index import read_spec
from trueval.retrieval.pipeline.config import (
    BOTH,
    HIGH,
    LOW,
    STAGES,
    Settings,
    read_settings,
    set_reuse,
    set_route,
    set_scoring,
    settings_of_tables,
)
from trueval.retrieval.pipeline.missing_outputs import MissingOutputs
from trueval.retrieval.pipeline.pipeline_result import PipelineResult, Stage
from trueval.retrieval.pipeline.stage_resources import Begin, StageResources, nobody, open_resources
from trueval.retrieval.pipeline.stage_runner import StageRunner
from trueval.threads import Executor, as_executor

Forms = Mapping[str, Mapping[str, str]]  # form of the queries → query id → text
NO_FORMS: Final[Forms] = MappingProxyType({})


@dataclass(frozen=True, eq=False)
class Pipeline:
    """Stages and their settings.

    Attributes:
        settings: table → key → value, as read by config.py.
        name: name of the run that it produces.
        source: path of its file; None without one.
    """

    settings: Settings
    name: str = "pipeline"
    source: Path | None = None

    @classmethod
    def read(cls, path: Path) -> Pipeline:
        """Read the TOML of a pipeline.

        Raises:
            InputError: as in read_settings.
        """
        return cls(read_settings(path), path.stem, path)

    @classmethod
    def of(
        cls,
        given: Pipeline | Path | str | None = None,
        *,
        index: str | None = None,
        model: str | None = None,
        depth: int | None = None,
    ) -> Pipeline:
        """Make a pipeline from a pipeline, a file, or a single index.

        Args:
            given: a pipeline, or its file; None to use an index.
            index: spec, such as "bm25(language='fr')", or with a model "flat".
            model: embedder of the index.
            depth: number of documents per query; None for the default.

        Raises:
            InputError: as in read_settings, or a spec is bad.
            PolicyError: there is neither a pipeline nor an index, or what is named does not go together.

        >>> Pipeline.of(index="bm25", depth=20).settings
        {'sparse': {'index': 'bm25', 'depth': 20}}
        """
        if (given is None) == (index is None):
            raise PolicyError("Name a pipeline or an index, and not both.")
        if index is None:
            if model is not None or depth is not None:
                raise PolicyError("model and depth go with an index. Those of a pipeline stand in its file.")
            return given if isinstance(given, Pipeline) else cls.read(Path(str(given)))
        kind, chosen = read_spec(index)
        if (kind.takes_of(chosen) == "texts") == (model is not None):
            told = "searches words and takes no model" if model else "searches vectors: name the embedder too, as model"
            raise PolicyError(f"{index} {told}.")
        deep: dict[str, Any] = {} if depth is None else {"depth": depth}
        if model is None:
            tables: dict[str, Any] = {"sparse": {"index": index, **deep}}
        else:
            tables = {"embed": {"model": model}, "index": {"spec": index, **deep}}
        return cls(settings_of_tables(tables, "--index"), index.partition("(")[0])

    def but(self, *, scoring: str | None = None, reuse: str | None = None) -> Pipeline:
        """A copy with other choices for all of its stages; None keeps a choice.

        Args:
            scoring: "high", in float32; "low", in the dtype of each model; "both"; or "stages", as set for each stage.
            reuse: which cached model outputs to reuse, "pass" or "text".

        Raises:
            PolicyError: there is no such way of scoring.
        """
        settings = set_reuse(self.settings, reuse)
        if scoring is None:
            return replace(self, settings=settings)
        return replace(self, settings=_with_table(settings, "pipeline", {"scoring": scoring}, "--scoring"))

    def with_repair(self, *, within: str | None = None, k: int | None = None, order: bool | None = None) -> Pipeline:
        """A copy that ends with [repair]; None keeps a key of its table, or has the default.

        Args:
            within: by how much a float32 score may differ, such as "0.002", "bfloat16" or "2 ulp(bfloat16)".
            k: number of documents that count.
            order: whether their order must be that of float32 too.

        Raises:
            PolicyError: the last scores are those of no model that runs here, or a value cannot be.

        >>> made = Pipeline.of(index="flat", model="all-MiniLM-L6-v2").with_repair(within="0.002")
        >>> made.settings["repair"]
        {'within': '0.002', 'k': 10, 'order': False}
        """
        if "route" in self.settings:
            raise PolicyError("A router was certified without [repair]. Remove [route].")
        chosen = {"within": within, "k": k, "order": order}
        table = {**self.settings.get("repair", {}), **{key: each for key, each in chosen.items() if each is not None}}
        return replace(self, settings=_with_table(self.settings, "repair", table, "the pipeline"))

    def with_router(self, router: Path | str) -> Pipeline:
        """A copy whose reranker gets as many candidates of each query as a router says.

        Args:
            router: router.toml of `trueval frontier --route`.

        Raises:
            InputError: it is no router, or was certified for another pipeline.
            PolicyError: all stages are to score in one format, or two runs are to be made.
        """
        return replace(self, settings=set_route(self.settings, Path(router)))

    def read_collection(
        self,
        given: Collection | Path | str | None = None,
        *,
        queries: Path | str | None = None,
        qrels: Path | str | None = None,
        tell: Tell = None,
    ) -> Collection:
        """Read the given collection, or else that of the file.

        Args:
            given: a collection, or its path or name; None for that of the file.
            queries: file of the queries, instead of that of [queries], or of the collection.
            qrels: file of judgments, or the folder of a golden set, instead of the collection's.
            tell: as in `Collection.read`.

        Raises:
            InputError: as in Collection.read.
            PolicyError: neither a call nor the file names a collection.
        """
        own = self.settings.get("queries", {})
        queries = own.get("path") if queries is None else queries
        if isinstance(given, Collection):
            found = Collection.of(given, qrels=qrels)
            return self._sample(found if queries is None else replace(found, queries=read_queries(Path(queries))))
        corpus = self.settings.get("corpus", {})
        if given is None:
            if not corpus or self.source is None:
                raise PolicyError("Name a collection, or a pipeline whose file has a [corpus] with its path.")
            given = place_beside(self.source, str(corpus["path"]))
        asked, graded = (None if each is None else str(each) for each in (queries, qrels))
        fields = {"fields": corpus["fields"]} if corpus else {}
        return self._sample(Collection.read(str(given), queries=asked, qrels=graded, tell=tell, **fields))

    def _sample(self, collection: Collection) -> Collection:
        """The collection with the queries that [queries] draws, of the judged ones if there are any."""
        own = self.settings.get("queries", {})
        if own.get("sample") is None:
            return collection
        judged = None if collection.judgments is None else set(collection.judgments.query_ids.to_list())
        ids = [query for query in collection.queries if judged is None or query in judged]
        drawn = sample(ids or list(collection.queries), own["sample"], own["seed"] or 0)
        if len(drawn) == len(collection.queries):  # also where they were drawn before
            return collection
        found = collection.restrict(set(drawn)) if ids and judged else collection
        told = f"[queries] draws {len(drawn)} of {len(ids or collection.queries)} queries"
        if ids and judged:
            told += ": evaluate their run with --missing skip, which leaves the others out"
        return replace(
            found,
            queries={query: collection.queries[query] for query in drawn},
            notes=(*found.notes, f"{collection.source}: {told}."),
        )

    def check(self, collection: Collection, *, cache: Path | None = None, written: Forms = NO_FORMS) -> None:
        """Refuse a pipeline that cannot run, as `retrieve` does before its work; nothing is computed.

        Args:
            cache: as in `retrieve`; no model is loaded for cached results.
            written: as in `retrieve`.

        Raises:
            InputError: a model is not there or does not fit the other settings.
            MissingExtraError: the library of a stage is not installed.
        """
        with open_resources(cache, Account(), kept=False, asks=False) as shared:
            shared.know_forms(collection.queries, written)
            StageRunner(collection, self.settings, shared, nobody).check()

    def retrieve(
        self,
        collection: Collection,
        *,
        cache: Path | None = None,
        begin: Begin | None = None,
        max_cost: float | None = None,
        account: Account | None = None,
        executor: Executor | None = None,
        written: Forms = NO_FORMS,
    ) -> PipelineResult:
        """Find the documents for every query of a collection.

        Args:
            collection: documents and queries; judgments are not used.
            cache: cache folder, read first and written to; None for no cache.
            begin: called with the name of each stage; returns a progress callback.
            max_cost: maximum total cost of hosted models, in the currency of their prices; None for no limit.
            account: account for their costs, if shared with other work; it has its own max_cost.
            executor: runs the models, as in `retrieve`.
            written: form → query id → text, of forms of the queries that are written already.

        Raises:
            InputError: a text, a model or an output is bad, a service refuses, or hosted models would cost too much.
            MissingExtraError: the library of a stage is not installed.
        """
        account = account or Account(max_cost, None if cache is None else cache / LEDGER)
        kept = len(self._scorings) > 1
        with open_resources(cache, account, kept=kept, executor=as_executor(executor)) as shared:
            shared.know_forms(collection.queries, written)
            works = self._runners(collection, shared, begin or nobody)
            for work in works:
                work.check()
            found = [tuple(stages) for stages in stages_of(works)]
        given = [
            PipelineResult(replace(stages[-1].run, name=name), stages, self.settings, works[0].about())
            for name, stages in zip((self.name, f"{self.name}-low")[: len(found)], found, strict=True)
        ]
        return replace(given[0], low=given[1] if len(given) > 1 else None)

    def missing_work(
        self, collection: Collection, *, cache: Path | None = None, written: Forms = NO_FORMS
    ) -> list[MissingWork]:
        """What models still have to do for `retrieve`; nothing is computed or sent.

        Args:
            cache: as in `retrieve`.
            written: as in `retrieve`.

        Raises:
            InputError: it cannot run, as in `check`.
        """
        with open_resources(cache, Account(), kept=False, asks=False) as shared:
            shared.know_forms(collection.queries, written)
            counts = MissingOutputs(shared.outputs)
            counts.add(*self._runners(collection, shared, nobody))
            return shared.with_questions(counts.work())

    @property
    def _scorings(self) -> tuple[str, ...]:
        """How each of the runs scores."""
        scoring = self.settings.get("pipeline", {}).get("scoring", STAGES)
        return (HIGH, LOW) if scoring == BOTH else (scoring,)

    def _runners(self, collection: Collection, shared: StageResources, begin: Begin) -> list[StageRunner]:
        """A runner for each run of the pipeline."""
        return [StageRunner(collection, set_scoring(self.settings, each), shared, begin) for each in self._scorings]


def _with_table(settings: Settings, name: str, table: Mapping[str, Any], source: str) -> Settings:
    """Settings with another table, checked as those of a file are."""
    # Keys that a file omits have the value None, which no file can express.
    written = {
        each: {key: value for key, value in values.items() if value is not None} for each, values in settings.items()
    }
    try:
        return settings_of_tables({**written, name: table}, source)
    except InputError as error:
        raise PolicyError(str(error)) from None


def stages_of(works: Sequence[StageRunner]) -> list[list[Stage]]:
    """The stages of each run, executed together: a reranker sees the candidates of all runs in one pass."""
    found = [[work.stage(name, make) for name, make in work.retrievers().items()] for work in works]
    for name in works[0].refiners():
        before = [tuple(stages) if name == "fuse" else (stages[-1],) for stages in found]
        for place, work in enumerate(works):
            beside = [stages[-1] for stages in before] if name == "rerank" and len(works) > 1 else []
            found[place].append(work.refine(name, before[place], beside))
    return found
