"""Pipelines: embed, retrieve, fuse, deduplicate, rerank; every stage timed, with its candidates and the ties it makes.

A pipeline is read from the TOML of config.py. With a cache, embeddings, logits, indexes and the candidates of every
stage are kept by the hashes of what they are made of: an interrupted pipeline goes on at the stage that was under way,
a second run takes seconds, and two pipelines that share a stage share its work.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueval.collection import Collection, ids_in_order, texts_in_order, texts_with_ids_hash
from trueval.errors import InputError, MissingExtraError
from trueval.evaluation.content import run_hash
from trueval.files.texts.sequence import Made
from trueval.models import load_model
from trueval.models.outputs import Part, Step, part_outputs, settings_of, weights_hash
from trueval.models.places import find_model
from trueval.report.provenance import recorded
from trueval.retrieval.config import Settings, read_settings
from trueval.retrieval.fusion import reciprocal_rank_fusion, weighted_fusion
from trueval.retrieval.index import Hits, LocalIndex, load_index, make_index, read_spec
from trueval.retrieval.lists import TieCount, listed
from trueval.retrieval.rerank import MODEL, rerank
from trueval.retrieval.suppress import suppress_duplicates
from trueval.run import Run
from trueval.scoring import product
from trueval.version import __version__

# 1: the first.
FORMAT_VERSION: Final = 1
KIND: Final = "retrieve"

Begin = Callable[[str], Step]

MODELS: Final = ("models", ("torch", "transformers", "sentence-transformers"))
# The extra of each table, and the libraries whose version decides what its stage gives.
LIBRARIES: Final = {
    "embed": MODELS,
    "rerank": MODELS,
    "index": ("retrieval", ("faiss-cpu",)),
    "sparse": ("retrieval", ("bm25s", "PyStemmer")),
}


class Stage(NamedTuple):
    """What one stage of a pipeline gave.

    Attributes:
        name: dense, sparse, fuse, deduplicate or rerank.
        run: the candidates after it.
        seconds: that it took, models loaded and indexes built in it.
        cached: whether its candidates were kept from an earlier run.
        ties: of its run.
        notes: one-line remarks.
    """

    name: str
    run: Run
    seconds: float
    cached: bool
    ties: TieCount
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """What a manifest says of the stage."""
        return {
            "name": self.name,
            "seconds": self.seconds,
            "cached": self.cached,
            "queries": len(self.run.query_ids),
            "documents": self.ties.documents,
            "tied_fraction": self.ties.fraction,
            "notes": list(self.notes),
        }


@dataclass(frozen=True, eq=False)
class Retrieved:
    """What a pipeline gave.

    Attributes:
        run: of its last stage.
        stages: in their order.
        settings: of the pipeline.
        about: name, source and numbers of the collection, and the hashes of its texts.
    """

    run: Run
    stages: tuple[Stage, ...]
    settings: Settings
    about: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The manifest: what was searched, how, and what every stage gave; the JSON of `trueval retrieve`."""
        return {
            "kind": KIND,
            "format": FORMAT_VERSION,
            "trueval": __version__,
            "name": self.run.name,
            "collection": dict(self.about),
            "settings": {name: _recorded(values) for name, values in self.settings.items()},
            "stages": [stage.to_dict() for stage in self.stages],
            "run": {"queries": len(self.run.query_ids), "content": run_hash(self.run)},
        }


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

    def retrieve(self, collection: Collection, *, cache: Path | None = None, begin: Begin | None = None) -> Retrieved:
        """Find the documents for every query of a collection.

        Args:
            collection: documents and queries; judgments play no part.
            cache: keeps what is made, and is looked into first; None keeps nothing.
            begin: called with the name of each stage; what it returns is called as a model goes on.

        Raises:
            InputError: a text, a model or an output is bad.
            MissingExtraError: the library of a stage is not installed.
        """
        work = _Work(collection, self.settings, cache, begin or (lambda name: lambda part, done, of: None))
        found = {name: work.stage(name, make) for name, make in work.retrievers().items()}
        stages = list(found.values())
        for name, make in work.refiners().items():
            of = tuple(stage.run for stage in stages) if name == "fuse" else (stages[-1].run,)
            keys = tuple(work.keys[stage.name] for stage in (stages if name == "fuse" else stages[-1:]))
            stages.append(work.stage(name, partial(make, *of), keys))
        run = replace(stages[-1].run, name=self.name)
        return Retrieved(run, tuple(stages), self.settings, work.about())


class _Work:
    """One pipeline over one collection.

    Args:
        collection: documents and queries.
        settings: of the pipeline.
        cache: where what is made is kept.
        begin: as in Pipeline.retrieve.
    """

    def __init__(self, collection: Collection, settings: Settings, cache: Path | None, begin: Begin) -> None:
        self.collection, self.settings, self.cache, self.begin = collection, settings, cache, begin
        self.keys: dict[str, str] = {}
        self.notes: list[str] = []
        if not collection.documents or not collection.queries:
            what = "documents" if not collection.documents else "queries"
            raise InputError(f"{collection.source}: there are no {what}. A pipeline needs documents and queries.")
        _check_specs(settings)  # these before hours of embedding
        for table in settings:
            _versions(table)

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

    def refiners(self) -> Mapping[str, Callable[..., Run]]:
        """The stages that take the candidates of the stages before."""
        chosen = {"fuse": self.fuse, "deduplicate": self.deduplicate, "rerank": self.rerank}
        return {name: make for name, make in chosen.items() if name in self.settings}

    def stage(self, name: str, make: Callable[[Step], Run], before: tuple[str, ...] = ()) -> Stage:
        """Take the candidates of a stage from the cache, or make and keep them.

        Args:
            name: of the stage.
            make: from a step function to its candidates.
            before: keys of the stages that it takes candidates of.
        """
        key = self.keys[name] = self._key(name, before)
        step, self.notes = self.begin(name), []
        began = time.perf_counter()
        file = None if self.cache is None else self.cache / "stages" / f"{name}-{key[:16]}.parquet"
        cached = file is not None and file.is_file()
        run = Run.read(file, name=name) if file is not None and cached else make(step)
        if not before:
            self.notes += self._without_hits(run, name)
        if file is not None and not cached:
            file.parent.mkdir(parents=True, exist_ok=True)
            run.write(file)
        return Stage(name, run, time.perf_counter() - began, cached, listed(run).ties, tuple(self.notes))

    def dense(self, step: Step) -> Run:
        """Embed queries and documents, and search an index of the documents."""
        chosen, settings = self.settings["embed"], self.settings["index"]
        model = _load(chosen)
        if model.scoring != "product":
            raise InputError(
                f"{model.name} scores by {model.scoring}: it gives no single vector for a text. Name an embedder in "
                "[embed]; a cross-encoder or a model of late interaction belongs into [rerank]."
            )
        documents, queries = self._embedded(model, "documents", step), self._embedded(model, "queries", step)
        dimension = chosen["dimension"]
        if dimension is not None:
            documents, queries = truncated(documents, dimension), truncated(queries, dimension)
        index = self._index(settings["spec"], documents, self._key("dense index", ()))
        hits = index.search(queries, settings["depth"])
        if settings["scoring"] != "index":
            form = model.dtype if settings["scoring"] == MODEL else settings["scoring"]
            hits = rescored(hits, queries, documents, form)
        return self._run(hits, "dense")

    def sparse(self, _: Step) -> Run:
        """Search an index of words."""
        settings = self.settings["sparse"]
        index = self._index(settings["index"], texts_in_order(self.collection.documents), self._key("sparse index", ()))
        hits = index.search(list(self.collection.queries.values()), settings["depth"])
        return self._run(hits, "sparse")

    def fuse(self, *runs: Any) -> Run:
        """Make one run of the dense and the sparse one."""
        *given, _ = runs
        settings = self.settings["fuse"]
        if settings["method"] == "rrf":
            fused = reciprocal_rank_fusion(given, k=settings["k"], weights=settings["weights"], name="fuse")
        else:
            fused = weighted_fusion(given, norm=settings["norm"], weights=settings["weights"], name="fuse")
        cut = listed(fused.run, settings["depth"])
        return cut.only(np.ones(len(cut.rank), dtype=bool), "fuse", "fusion")

    def deduplicate(self, run: Run, _: Step) -> Run:
        """Leave out near duplicates."""
        found = suppress_duplicates(run, self.collection.documents, **self.settings["deduplicate"])
        self.notes.append(f"{found.dropped.height} of {run.documents.height} candidates were near duplicates.")
        return found.run

    def rerank(self, run: Run, step: Step) -> Run:
        """Score the first candidates by a model."""
        settings = self.settings["rerank"]
        depth, scoring = settings["depth"], settings["scoring"]
        return rerank(run, self.collection, _load(settings), depth=depth, scoring=scoring, store=self._store, step=step)

    def about(self) -> dict[str, Any]:
        """What a manifest says of the collection."""
        return {
            "name": self.collection.name,
            "source": recorded(self.collection.source),
            "documents": len(self.collection.documents),
            "queries": len(self.collection.queries),
            "sha256": self._texts,
        }

    @property
    def _store(self) -> Path | None:
        return None if self.cache is None else self.cache / "outputs"

    @cached_property
    def _texts(self) -> dict[str, str]:
        """The hashes of the texts that the stages see, with their ids."""
        sides = {"documents": self.collection.documents, "queries": self.collection.queries}
        return {name: texts_with_ids_hash(texts) for name, texts in sides.items()}

    def _key(self, name: str, before: tuple[str, ...]) -> str:
        """The hash of all that decides the candidates of a stage, or the index that it searches."""
        tables = {"dense": ("embed", "index"), "dense index": ("embed", "index"), "sparse index": ("sparse",)}
        of = tables.get(name, (name,))
        about = {table: _about(table, self.settings[table], searched=not name.endswith("index")) for table in of}
        texts = self._texts["documents"] if name.endswith("index") else self._texts
        return hashlib.sha256(json.dumps([name, about, texts, before], sort_keys=True).encode()).hexdigest()

    def _embedded(self, model: Any, name: str, step: Step) -> NDArray[Any]:
        texts = getattr(self.collection, name)
        forward = model.embed_documents if name == "documents" else model.embed_queries
        ids = ids_in_order(texts)
        called = Made(len(ids), lambda at: f"{ids[at]!r} of the {name}")
        part = Part(name, texts_in_order(texts), called, forward, len)
        rows: NDArray[Any] = part_outputs(model, part, settings_of(model), folder=self._store, step=step).rows
        return rows

    def _index(self, spec: str, documents: Any, key: str) -> LocalIndex:
        folder = None if self.cache is None else self.cache / "indexes" / f"{spec.partition('(')[0]}-{key[:16]}"
        if folder is not None and folder.is_dir():
            index = load_index(folder)
        else:
            index = make_index(spec)
            index.build(documents)
            if folder is not None:
                index.save(folder)
        self.notes += index.describe().notes
        return index

    def _run(self, hits: Hits, name: str) -> Run:
        return hits.to_run(list(self.collection.queries), ids_in_order(self.collection.documents), name)


def _check_specs(settings: Settings) -> None:
    """Refuse a spec that cannot be read, or an index in a table where it does not belong.

    Raises:
        InputError: vectors where words belong, or words where vectors do.
        PolicyError: there is no such index or parameter.
    """
    if "index" in settings and read_spec(settings["index"]["spec"])[0].takes != "vectors":
        spec = settings["index"]["spec"]
        raise InputError(f"[index] takes an index of vectors, such as flat. Got {spec}, which belongs into [sparse].")
    if "sparse" in settings and read_spec(settings["sparse"]["index"])[0].takes != "texts":
        spec = settings["sparse"]["index"]
        raise InputError(f"[sparse] takes an index of words, such as bm25. Got {spec}, which belongs into [index].")


def truncated(vectors: NDArray[Any], dimension: int) -> NDArray[np.float32]:
    """The first numbers of each vector, made length 1 again (Kusupati et al. 2022, Matryoshka).

    A model that was not trained for it, such as MiniLM, loses more by this than one that was.

    Args:
        vectors: [text, any].
        dimension: numbers to keep.

    Raises:
        InputError: the vectors have fewer.

    >>> truncated(np.array([[3.0, 4.0, 9.0]]), 2).tolist()
    [[0.6000000238418579, 0.800000011920929]]
    """
    if vectors.shape[1] < dimension:
        raise InputError(f"The model gives {vectors.shape[1]} dimensions. Got dimension {dimension}; choose fewer.")
    cut = np.asarray(vectors[:, :dimension], dtype=np.float32)
    lengths = np.linalg.norm(cut, axis=1, keepdims=True)
    short: NDArray[np.float32] = cut / np.maximum(lengths, np.finfo(np.float32).tiny)
    return short


def rescored(hits: Hits, queries: NDArray[Any], documents: NDArray[Any], form: str) -> Hits:
    """Hits with the product of the embeddings in a format, best first; ties by place.

    Args:
        hits: of an index.
        queries: [query, dimension].
        documents: [document, dimension].
        form: format of the scores.
    """
    places, scores = [], []
    for query, (begin, end) in enumerate(zip(hits.offsets[:-1].tolist(), hits.offsets[1:].tolist(), strict=True)):
        found = np.sort(hits.places[begin:end])
        exact = np.asarray(product(np.asarray(queries[query]), np.asarray(documents[found]), form), dtype=np.float64)
        order = np.argsort(-exact, kind="stable")
        places.append(found[order])
        scores.append(exact[order])
    return Hits(hits.offsets, np.concatenate(places), np.concatenate(scores))


def _load(settings: Mapping[str, Any]) -> Any:
    given = ("device", "batch_size", "max_length", "instruction")
    options = {name: settings[name] for name in given if settings[name] is not None}
    return load_model(settings["model"], dtype=settings["dtype"], **options)


def _about(table: str, settings: Mapping[str, Any], *, searched: bool) -> dict[str, Any]:
    """What a table says that decides candidates: of models their weights, not their name; versions of libraries."""
    about = {key: value for key, value in settings.items() if searched or key not in ("depth", "scoring")}
    if "model" in settings:
        place = find_model(settings["model"], None)
        about |= {"model": place.path, "recipe": place.recipe.name, "weights": weights_hash(Path(place.path))}
    return about | {"versions": _versions(table)}


def _versions(table: str) -> dict[str, str]:
    extra, names = LIBRARIES.get(table, ("", ()))
    try:
        return {name: version(name) for name in names}
    except PackageNotFoundError as error:
        raise MissingExtraError(f"The stages of [{table}]", extra) from error


def _recorded(values: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as results keep them: absolute paths without their folders."""
    return {name: recorded(value) if isinstance(value, str) else value for name, value in values.items()}
