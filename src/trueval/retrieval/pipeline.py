"""Pipelines: embed, retrieve, fuse, deduplicate, rerank; every stage timed, with its candidates and the ties it makes.

A pipeline is read from the TOML of config.py. With a cache, embeddings, logits, indexes and the candidates of every
stage are kept by the hashes of what they are made of: an interrupted pipeline goes on at the stage that was under way,
a second run takes seconds, and two pipelines that share a stage share its work.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trueval.collection import Collection, ids_in_order, texts_in_order, texts_with_ids_hash
from trueval.errors import InputError, MissingExtraError, Place, TruevalWarning
from trueval.files.texts.sequence import Made, Watched
from trueval.models import load_model
from trueval.models.hosted.account import LEDGER, Account
from trueval.models.hosted.services import base_url_of, hosted_name, is_hosted
from trueval.models.hosted.wire import need_hosted
from trueval.models.outputs import Part, Step, part_outputs, settings_of, weights_hash
from trueval.models.pairs import FINISHED, MODEL
from trueval.models.places import find_model, may_have_accelerator
from trueval.report.provenance import recorded
from trueval.retrieval.boost import FEATURES, lexical_boost
from trueval.retrieval.cutting.calls import Opened
from trueval.retrieval.fusion import reciprocal_rank_fusion, weighted_fusion
from trueval.retrieval.index import Hits, LocalIndex, TextsAndVectors, build_spec, make_index, read_spec
from trueval.retrieval.indexes.vectors import rescored, truncated
from trueval.retrieval.ranks.lists import listed
from trueval.retrieval.ranks.union import scored_as, together
from trueval.retrieval.rerank import rerank
from trueval.retrieval.stages.config import (
    BOTH,
    HIGH,
    HOSTED_KEYS,
    LOCAL_KEYS,
    LOW,
    PAYING_KEYS,
    SPECS,
    STAGES,
    Settings,
    read_settings,
)
from trueval.retrieval.stages.kept import Candidates, keep, read_kept
from trueval.retrieval.stages.retrieved import Retrieved, Stage
from trueval.retrieval.suppress import limit_sources, sources_of, suppress_duplicates
from trueval.run import Run
from trueval.version import __version__

Begin = Callable[[str], Step]

# The extra of tables with a model, and the libraries whose version decides what their stages give.
MODELS: Final = ("models", ("torch", "transformers", "sentence-transformers"))


@dataclass(frozen=True, eq=False)
class Pipeline:
    """Stages and their settings.

    Attributes:
        settings: table → key → value, as config.py reads them.
        name: of the run that it gives.
    """

    settings: Settings
    name: str = "pipeline"

    @classmethod
    def read(cls, path: Path) -> Pipeline:
        """Read the TOML of a pipeline.

        Raises:
            InputError: as in read_settings.
        """
        return cls(read_settings(path), path.stem)

    def retrieve(
        self,
        collection: Collection,
        *,
        cache: Path | None = None,
        begin: Begin | None = None,
        max_cost: float | None = None,
    ) -> Retrieved:
        """Find the documents for every query of a collection.

        Args:
            collection: documents and queries; judgments play no part.
            cache: keeps what is made, and is looked into first; None keeps nothing.
            begin: called with the name of each stage; what it returns is called as a model goes on.
            max_cost: what hosted models may cost in all, in the currency of their prices; None for no limit.

        Raises:
            InputError: a text, a model or an output is bad, a service refuses, or hosted models would cost too much.
            MissingExtraError: the library of a stage is not installed.
        """
        scoring = self.settings.get("pipeline", {}).get("scoring", STAGES)
        account = Account(max_cost, None if cache is None else cache / LEDGER)
        with _shared(cache, account, kept=scoring == BOTH) as shared:
            works = [
                Work(collection, scored_in(self.settings, each), shared, begin or _nobody)
                for each in ((HIGH, LOW) if scoring == BOTH else (scoring,))
            ]
            found = [tuple(stages) for stages in _stages_of(works)]
        given = [
            Retrieved(replace(stages[-1].run, name=name), stages, self.settings, works[0].about())
            for name, stages in zip((self.name, f"{self.name}-low")[: len(found)], found, strict=True)
        ]
        return replace(given[0], low=given[1] if len(given) > 1 else None)


def scored_in(settings: Settings, scoring: str) -> Settings:
    """The settings of a pipeline whose every stage scores in high or in low precision.

    Args:
        settings: of the pipeline.
        scoring: "high", float32; "low", the dtype of each stage's model; "stages", as they are.
    """
    if scoring == STAGES:
        return settings
    form = "float32" if scoring == HIGH else MODEL
    return {
        name: {**values, "scoring": form} if name in ("index", "rerank") else values
        for name, values in settings.items()
    }


def _nobody(_: str) -> Step:
    return lambda part, done, of: None


@dataclass(eq=False)
class _Shared:
    """What the runs of one pipeline share, so that nothing is done twice.

    Attributes:
        cache: where what is made is kept; None for nowhere.
        outputs: where outputs of models are kept; None for nowhere.
        account: what hosted models cost.
        models: by their settings.
        vectors: by settings of the model, and the texts.
        stages: by their keys.
    """

    cache: Path | None
    outputs: Path | None
    account: Account
    models: dict[str, Any] = field(default_factory=dict)
    vectors: dict[str, NDArray[Any]] = field(default_factory=dict)
    stages: dict[str, Stage] = field(default_factory=dict)


@contextmanager
def _shared(cache: Path | None, account: Account, *, kept: bool) -> Iterator[_Shared]:
    """What runs share; two runs without a cache keep the outputs of models as long as they take."""
    if cache is not None or not kept:
        yield _Shared(cache, None if cache is None else cache / "outputs", account)
        return
    # Memory maps of files that are removed stay readable; where they cannot be removed, the system does it later.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        yield _Shared(None, Path(folder), account)


def _stages_of(works: Sequence[Work]) -> list[list[Stage]]:
    """The stages of each run, made side by side: a reranker sees the candidates of all in one pass."""
    found = [[work.stage(name, make) for name, make in work.retrievers().items()] for work in works]
    for name in works[0].refiners():
        before = [tuple(stages) if name == "fuse" else (stages[-1],) for stages in found]
        for place, work in enumerate(works):
            beside = [stages[-1] for stages in before] if name == "rerank" and len(works) > 1 else []
            found[place].append(work.refined(name, before[place], beside))
    return found


class Work:
    """One pipeline over one collection.

    Args:
        collection: documents and queries.
        settings: of the pipeline.
        shared: with other runs of the pipeline.
        begin: as in Pipeline.retrieve.
    """

    def __init__(self, collection: Collection, settings: Settings, shared: _Shared, begin: Begin) -> None:
        self.collection, self.settings, self.shared, self.begin = collection, settings, shared, begin
        self.notes: list[str] = []
        self.given: int | None = None
        self.searched: dict[str, Any] | None = None
        self.opened: dict[str, Opened] = {}
        if not collection.documents or not collection.queries:
            what = "documents" if not collection.documents else "queries"
            raise InputError(f"{collection.source}: there are no {what}. A pipeline needs documents and queries.")
        for table in settings:
            _versions(table, settings[table])  # before hours of embedding
            if table in SPECS:
                kind, _ = read_spec(settings[table][SPECS[table][0]])
                kind.check_deepest(min(settings[table]["depth"], len(collection.documents)))

    def _without_hits(self, run: Run, name: str) -> list[str]:
        """A remark on the queries that a stage finds nothing for, if there are any.

        Raises:
            InputError: these are all.
        """
        found = set(run.query_ids.to_list())
        nothing = [query for query in self.collection.queries if query not in found]
        if not found:
            raise InputError(
                f"{self.collection.source}: no query finds a document by {name} search. Are queries and documents of "
                "one language, and are the right fields read?"
            )
        queries = len(self.collection.queries)
        return [f"{len(nothing)} of {queries} queries find nothing, such as {nothing[0]!r}."] if nothing else []

    def retrievers(self) -> Mapping[str, Callable[[Step], Run]]:
        """The stages that search the collection."""
        chosen = {"dense": ("embed", self.dense), "sparse": ("sparse", self.sparse)}
        return {name: make for name, (table, make) in chosen.items() if table in self.settings}

    def refiners(self) -> tuple[str, ...]:
        """The stages that take the candidates of the stages before."""
        return tuple(name for name in ("fuse", "deduplicate", "rerank") if name in self.settings)

    def refined(self, name: str, before: Sequence[Stage], beside: Sequence[Stage]) -> Stage:
        """A stage that takes candidates.

        Args:
            name: of the stage.
            before: stages that it takes candidates of.
            beside: stages of all runs of the pipeline, where a model sees the candidates of several in one pass.
        """
        makers = {"fuse": self.fuse, "deduplicate": self.deduplicate, "rerank": self.rerank}
        make = partial(makers[name], [each.run for each in before], [each.run for each in beside])
        given = before[-1].run.documents.height
        return self.stage(name, make, tuple(each.key for each in (*before, *beside)), given)

    def stage(
        self, name: str, make: Callable[[Step], Run], before: tuple[str, ...] = (), given: int | None = None
    ) -> Stage:
        """Take the candidates of a stage from the cache, or make and keep them.

        Args:
            name: of the stage.
            make: from a step function to its candidates.
            before: keys of the stages that it takes candidates of.
            given: how many these are.
        """
        key = self._key(name, before)
        known = self.shared.stages.get(key)
        if known is not None:
            return known._replace(seconds=0.0, cached=True)
        step, began = self.begin(name), time.perf_counter()
        cache = self.shared.cache
        file = None if cache is None else cache / "stages" / f"{name}-{key[:16]}.parquet"
        kept = None if file is None else read_kept(file, name)
        made = kept or self._made(name, make, step, given)
        if file is not None and kept is None:
            with _kept_if_possible(file):
                keep(file, made)
        seconds, ties = time.perf_counter() - began, listed(made.run).ties
        found = Stage(
            name, made.run, made.given, seconds, made.seconds, kept is not None, ties, key, made.notes, made.searched
        )
        self.shared.stages[key] = found
        return found

    def _made(self, name: str, make: Callable[[Step], Run], step: Step, given: int | None) -> Candidates:
        began = time.perf_counter()
        self.notes, self.given, self.searched = [], given, None
        spent = self.shared.account.spent
        run = make(step)
        if self.shared.account.spent > spent:
            self.notes.append(f"Hosted models cost {self.shared.account.spent - spent:.4g}.")
        if given is None:
            self.notes += self._without_hits(run, name)
        return Candidates(run, tuple(self.notes), time.perf_counter() - began, self.given, self.searched)

    def dense(self, step: Step) -> Run:
        """Embed queries and documents, and search an index of the documents."""
        chosen, settings = self.settings["embed"], self.settings["index"]
        model = self.model("embed")
        if model.scoring != "product":
            how = "gives finished scores" if model.scoring == FINISHED else f"scores by {model.scoring}"
            raise InputError(
                f"{model.name} {how}: it gives no single vector for a text. Name an embedder in "
                "[embed]; a cross-encoder or a model of late interaction belongs into [rerank]."
            )
        both = make_index(settings["spec"]).ready().takes == "both"
        documents, queries = self._embedded(model, "documents", step), self._embedded(model, "queries", step)
        dimension = chosen["dimension"]
        if dimension is not None and not is_hosted(chosen["model"]):  # a service cuts them itself
            documents, queries = truncated(documents, dimension), truncated(queries, dimension)
        sides = (self.collection.documents, documents), (self.collection.queries, queries)
        built, asked = (TextsAndVectors(texts_in_order(texts), rows) if both else rows for texts, rows in sides)
        index = self._built(settings["spec"], built, [settings_of(model), dimension], "index")
        opened = Opened(index, asked, *self._ids, documents, queries, model.dtype)
        hits = self._asked("dense", opened, settings["depth"])
        return self._run(self.scored(hits, opened), "dense")

    def scored(self, hits: Hits, opened: Opened) -> Hits:
        """Hits of the dense index with the scores that [index] asks for.

        Args:
            hits: for the queries of the index.
            opened: the index and its vectors.
        """
        scoring = self.settings["index"]["scoring"]
        if scoring == "index" or opened.vectors is None or opened.query_vectors is None:
            return hits
        form = str(opened.dtype) if scoring == MODEL else scoring
        return rescored(hits, opened.query_vectors, opened.vectors, form)

    def sparse(self, step: Step) -> Run:
        """Search an index of words."""
        settings = self.settings["sparse"]
        texts = texts_in_order(self.collection.documents)
        watched = Watched(texts, lambda done: step("documents", done, len(texts)))
        index = self._built(settings["index"], watched, [], "sparse")
        opened = Opened(index, list(self.collection.queries.values()), *self._ids)
        return self._run(self._asked("sparse", opened, settings["depth"]), "sparse")

    def _asked(self, name: str, opened: Opened, depth: int) -> Hits:
        self.opened[name] = opened
        return opened.index.search(opened.queries, depth)

    def fuse(self, runs: Sequence[Run], _: Sequence[Run], __: Step) -> Run:
        """Make one run of the dense and the sparse one."""
        settings = self.settings["fuse"]
        weights, unit = settings["weights"], 1.0
        if settings["method"] == "rrf":
            fused = reciprocal_rank_fusion(runs, k=settings["k"], weights=weights, name="fuse").run
            unit = 1 / (settings["k"] + 1)
        else:
            fused = weighted_fusion(runs, norm=settings["norm"], weights=weights, name="fuse").run
        self.given = fused.documents.height
        cut = listed(self._boosted(fused, unit), settings["depth"])
        return cut.only(np.ones(len(cut.rank), dtype=bool), "fuse", "fusion")

    def _boosted(self, fused: Run, unit: float) -> Run:
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
        """Leave out near duplicates, and documents of a source that has enough."""
        (run,), settings = runs, self.settings["deduplicate"]
        if settings["duplicates"]:
            alike = suppress_duplicates(
                run, self.collection.documents, threshold=settings["threshold"], words=settings["words"]
            )
            self.notes.append(f"{alike.dropped.height:,} of {run.documents.height:,} candidates were near duplicates.")
            run = alike.run
        if settings["per_source"] is not None:
            listed_ids = run.documents["doc_id"].unique(maintain_order=True).to_list()
            sources = sources_of(listed_ids, settings["sources"])
            many = limit_sources(run, sources, most=settings["per_source"])
            self.notes.append(
                f"{many.dropped.height:,} of {run.documents.height:,} candidates were more than "
                f"{settings['per_source']} of a source."
            )
            run = many.run
        return run

    def rerank(self, runs: Sequence[Run], beside: Sequence[Run], step: Step) -> Run:
        """Score the first candidates by a model, those of several runs in the same pass."""
        (run,), settings = runs, self.settings["rerank"]
        model, depth, scoring = self.model("rerank"), settings["depth"], settings["scoring"]
        asked = together(beside, depth) if beside else run
        scored = rerank(
            asked,
            self.collection,
            model,
            depth=depth if asked is run else None,
            scoring=scoring,
            store=self.shared.outputs,
            step=step,
        )
        return scored if asked is run else scored_as(run, scored, depth)

    def about(self) -> dict[str, Any]:
        """What a manifest says of the collection."""
        return {
            "name": self.collection.name,
            "source": recorded(self.collection.source),
            "documents": len(self.collection.documents),
            "queries": len(self.collection.queries),
            "sha256": self._texts,
        }

    @cached_property
    def _texts(self) -> dict[str, str]:
        """The hashes of the texts that the stages see, with their ids."""
        sides = {"documents": self.collection.documents, "queries": self.collection.queries}
        return {name: texts_with_ids_hash(texts) for name, texts in sides.items()}

    def _key(self, name: str, before: tuple[str, ...]) -> str:
        """The hash of all that decides the candidates of a stage."""
        tables = ("embed", "index") if name == "dense" else (name,)
        about = {table: _about(table, self.settings[table]) for table in tables}
        return _hash("stage", name, about, self._texts, before)

    def model(self, table: str) -> Any:
        """The model that a table names, loaded once.

        Args:
            table: embed or rerank.
        """
        chosen = self.settings[table]
        hosted = is_hosted(chosen["model"])
        given = ("batch_size", *(("dimension", *HOSTED_KEYS) if hosted else LOCAL_KEYS))
        options = {name: chosen[name] for name in given if chosen.get(name) is not None}
        key = _hash(chosen["model"], options)
        if key not in self.shared.models:
            shared: dict[str, Any] = {"account": self.shared.account} if hosted else {}
            self.shared.models[key] = load_model(chosen["model"], **options, **shared)
        return self.shared.models[key]

    def _embedded(self, model: Any, name: str, step: Step) -> NDArray[Any]:
        settings = settings_of(model)
        key = _hash(settings, name)
        if key not in self.shared.vectors:
            texts = getattr(self.collection, name)
            ids = ids_in_order(texts)
            called = Made(len(ids), lambda at: f"{ids[at]!r} of the {name}")
            forward = model.embed_documents if name == "documents" else model.embed_queries
            part = Part(name, texts_in_order(texts), called, forward, len)
            self.shared.vectors[key] = part_outputs(model, part, settings, folder=self.shared.outputs, step=step).rows
        return self.shared.vectors[key]

    def _built(self, spec: str, documents: Any, of: Any, table: str) -> LocalIndex:
        """The index of a spec, built or taken from the cache: other parameters of a search build nothing.

        Args:
            spec: of the index.
            documents: vectors or texts.
            of: what decides these, beside the texts of the collection.
            table: that the spec is from.
        """
        index = make_index(spec)
        key = _hash("index", build_spec(spec), of, self._texts["documents"], _versions(table, self.settings[table]))
        cache = self.shared.cache
        folder = None if cache is None else cache / "indexes" / f"{index.name}-{key[:16]}"
        if folder is not None and folder.is_dir():
            index.load(folder)
        else:
            index.build(documents)
            if folder is not None and not folder.exists():  # another process may have been faster
                with _kept_if_possible(folder):
                    index.save(folder)
        about = index.describe()
        self.notes += about.notes
        told = {name: value for name, value in asdict(about).items() if name != "notes"}
        self.searched = told | {"spec": recorded(about.spec)}
        return index

    def _run(self, hits: Hits, name: str) -> Run:
        return hits.to_run(*self._ids, name)

    @property
    def _ids(self) -> tuple[list[str], pl.Series]:
        return list(self.collection.queries), ids_in_order(self.collection.documents)


@contextmanager
def opened_work(
    collection: Collection, settings: Settings, *, cache: Path | None = None, begin: Begin | None = None
) -> Iterator[Work]:
    """The work of a pipeline whose retrievers have searched, so that each index is in `opened`.

    Args:
        collection: documents and queries.
        settings: of the pipeline; of a run of each precision, the high one.
        cache: as in Pipeline.retrieve.
        begin: as in Pipeline.retrieve.

    Raises:
        InputError: as in Pipeline.retrieve.
        MissingExtraError: the library of a stage is not installed.
    """
    scoring = settings.get("pipeline", {}).get("scoring", STAGES)
    with _shared(cache, Account(ledger=None if cache is None else cache / LEDGER), kept=False) as shared:
        work = Work(collection, scored_in(settings, HIGH if scoring == BOTH else scoring), shared, begin or _nobody)
        for name, make in work.retrievers().items():
            make(work.begin(name))
        yield work


@contextmanager
def _kept_if_possible(place: Path) -> Iterator[None]:
    """Go on without what the cache cannot hold: hours of work are not lost because a disk is full or only read.

    Args:
        place: where it is to be kept; what another process put there meanwhile is the same.
    """
    try:
        yield
    except (OSError, RuntimeError, InputError, pl.exceptions.PolarsError) as error:
        if isinstance(error, InputError) and not place.exists():
            raise
        if not place.exists():
            reason = getattr(error, "strerror", None) or (str(error).splitlines() or [type(error).__name__])[0]
            told = f"{place}: cannot be kept ({reason}). The work goes on, and would be done again."
            warnings.warn(told, TruevalWarning, stacklevel=4)


def _hash(*parts: Any) -> str:
    """The hash of what decides something, and of the version of trueval, whose code does too."""
    return hashlib.sha256(json.dumps([__version__, *parts], sort_keys=True).encode()).hexdigest()


def _about(table: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """What a table says that decides candidates: of models and files what is in them; versions of libraries."""
    about = dict(settings)
    if is_hosted(settings.get("model")):
        about = {key: value for key, value in settings.items() if key not in PAYING_KEYS}
        about["base_url"] = base_url_of(hosted_name(settings["model"]), settings["base_url"])
    elif "model" in settings:
        place = find_model(settings["model"], None)
        about |= {"model": place.path, "recipe": place.recipe.name, "weights": weights_hash(Path(place.path))}
        if settings["device"] is None:  # of machines that share a cache one may have an accelerator
            about["device"] = "an accelerator" if may_have_accelerator() else "cpu"
    if settings.get("sources") is not None:
        about["sources"] = _file_hash(Path(settings["sources"]))
    return about | {"versions": _versions(table, settings)}


def _file_hash(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise Place(str(path)).error(f"cannot be read ({error.strerror}). Correct the path of the sources.") from None


def _versions(table: str, settings: Mapping[str, Any]) -> dict[str, str]:
    """Versions of the libraries that decide what a stage gives; those of a service are its own affair."""
    extra: str = ""
    names: tuple[str, ...] = ()
    if is_hosted(settings.get("model")):
        need_hosted("openai" if hosted_name(settings["model"]).service.name == "openai" else "httpx2")
    elif "model" in settings:
        extra, names = MODELS
    elif table in SPECS:
        kind, _ = read_spec(settings[SPECS[table][0]])
        extra, names = kind.extra, kind.distributions
    try:
        return {name: version(name) for name in names}
    except PackageNotFoundError as error:
        raise MissingExtraError(f"The stages of [{table}]", extra) from error
