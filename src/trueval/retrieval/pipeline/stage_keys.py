"""Keys of the stages of a pipeline: what determines the candidates of each, whether they are cached, and the models."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from trueval.collection import Collection, texts_with_ids_hash
from trueval.errors import InputError, TruevalError
from trueval.models import load_model
from trueval.models.hosted.services import is_hosted
from trueval.models.output_reuse import PASS
from trueval.models.pair_scores import FINISHED
from trueval.models.pair_scores import HIGH as HIGH_FORMAT
from trueval.report.provenance import strip_folders
from trueval.retrieval.fusion.ranked_lists import rank_lists
from trueval.retrieval.indexes.index import make_index
from trueval.retrieval.indexes.vectors import check_dimension
from trueval.retrieval.pipeline.cache_keys import build_key_settings, key_of
from trueval.retrieval.pipeline.config import BOTH, Settings, repaired_table
from trueval.retrieval.pipeline.pipeline_tables import HOSTED_KEYS, LOADED_KEYS
from trueval.retrieval.pipeline.rewriting import AS_IS, MODEL_FORMS, forms_of, name_form
from trueval.retrieval.pipeline.stage_cache import has_candidates, read_candidates
from trueval.retrieval.pipeline.stage_resources import Begin, StageResources
from trueval.retrieval.pipeline.suppress import sources_of
from trueval.run import Run

RETRIEVERS: Final = {"dense": "embed", "sparse": "sparse"}  # stages that search the collection, and their tables
DEPTHS: Final = {"dense": "index", "sparse": "sparse"}  # the tables with their depths


class Search(NamedTuple):
    """A stage that searches the collection with one form of the queries.

    Attributes:
        kind: "dense" or "sparse".
        form: the form, as in rewriting.py.
        collection: the collection with its queries in this form.
    """

    kind: str
    form: str
    collection: Collection

    @property
    def texts(self) -> Mapping[str, str]:
        """The queries in this form."""
        return self.collection.queries


class StageKeys:
    """The keys of one pipeline over one collection.

    Args:
        settings: settings of the pipeline.
        shared: resources shared with other runs of the pipeline.
        begin: called with the name of each work; returns a progress callback.

    Attributes:
        sources: document → source, if already read; if None, those of the candidates are read.
        asked: query → its text before [queries] rewrote it.
        form: the first form of the queries, which rerankers and features see.
        collection: the collection with its queries in that form.
        written: form → what a language model wrote, of those that one writes.
        searches: name of a stage that searches → its search; those with further forms after that with the first.
    """

    sources: Mapping[str, str] | None = None

    def __init__(self, collection: Collection, settings: Settings, shared: StageResources, begin: Begin) -> None:
        queries = settings.get("queries", {})
        self.form, *further = forms_of(queries.get("rewrite", AS_IS))
        texts = {
            form: shared.rewritten(collection, form, queries["judge"] if form in MODEL_FORMS else None, begin)
            for form in (self.form, *further)
        }
        self.collection = texts[self.form]
        self.searches = {
            kind if form == self.form else f"{kind} ({name_form(form)})": Search(kind, form, own)
            for kind, table in RETRIEVERS.items()
            if table in settings
            for form, own in texts.items()
        }
        self.written = {form: shared.written[form] for form in texts if form in shared.written}
        self.asked = collection.queries
        self.settings, self.shared = settings, shared

    def check(self) -> None:
        """Refuse a pipeline that cannot run, before hours of embedding: unsuitable models, index or sources.

        Raises:
            InputError: a model is not there or fits no other setting, or the sources are of other documents.
            MissingExtraError: the library of a stage is not installed.
        """
        _ = self.last_key  # this looks up models and files
        sources = self.settings.get("deduplicate", {})
        if sources.get("per_source") is not None and self.sources is None:
            sources_of(list(self.collection.documents), sources["sources"])
        embeds = any(each.kind == "dense" and not self.has(name) for name, each in self.searches.items())
        if embeds:
            self._check_vectors(self.embedder())
        # For two runs at once, the pairs are known only when both have their candidates.
        two = self.settings.get("pipeline", {}).get("scoring") == BOTH
        if "rerank" in self.settings and (embeds or not (two or self.has("rerank", (self.key_before("rerank"),)))):
            self.model("rerank")
        if "repair" in self.settings and not (two or self.has("repair", (self.key_before("repair"),))):
            self.model("repair")

    def _check_vectors(self, model: object) -> None:
        """Refuse a dimension that the model does not support, or that the index cannot be built with."""
        chosen, given = self.settings["embed"]["dimension"], getattr(model, "dimension", None)
        if chosen is not None and given is not None:
            check_dimension(given, chosen)
        dimension = chosen or given
        if dimension is not None:
            make_index(self.settings["index"]["spec"]).check(dimension, len(self.collection.documents))

    def refiners(self) -> tuple[str, ...]:
        """The stages that take the candidates of earlier stages."""
        return tuple(name for name in ("fuse", "deduplicate", "rerank", "repair") if name in self.settings)

    def has(self, name: str, before: tuple[str, ...] = ()) -> bool:
        """Whether the candidates of a stage are cached.

        Args:
            name: name of the stage.
        """
        key = self.key(name, before)
        return key in self.shared.stages or (self.shared.cache is not None and has_candidates(self.file_of(name, key)))

    def candidates_before(self, name: str, depth: int | None = None) -> Run | None:
        """The input candidates of a stage, from the cache; None if they are not cached.

        Args:
            depth: number of documents per list; all if None.
        """
        keys = self._keys()
        before = list(keys)[list(keys).index(name) - 1]
        run = self._candidates(before, keys[before])
        if run is None:
            return None
        lists = rank_lists(run, depth)
        return lists.only(np.ones(len(lists.rank), dtype=bool), run.name, run.source)

    def first_candidates(self) -> Run | None:
        """The run of the first search, from the cache; None if it is not cached."""
        return self._candidates(*next(iter(self._keys().items())))

    def last_candidates(self) -> Run | None:
        """The run of the last stage, from the cache; None if it is not cached."""
        return self._candidates(*list(self._keys().items())[-1])

    def _candidates(self, name: str, key: str) -> Run | None:
        known = self.shared.stages.get(key)
        if known is None and self.shared.cache is None:
            return None
        kept = known or read_candidates(self.file_of(name, key), name, key)
        return None if kept is None else kept.run

    def file_of(self, name: str, key: str) -> Path:
        """The cache file of a stage's candidates."""
        kind = self.searches[name].kind if name in self.searches else name
        return Path(self.shared.cache or ".") / "stages" / f"{kind}-{key[:16]}.parquet"

    def about(self) -> dict[str, Any]:
        """The manifest entry of the collection."""
        return {
            "name": self.collection.name,
            "source": strip_folders(self.collection.source),
            "documents": len(self.collection.documents),
            "queries": len(self.collection.queries),
            "sha256": self.texts,
        }

    @property
    def last_key(self) -> str:
        """The key of the last stage, the hash of everything that determines the run; nothing is computed for it."""
        return list(self._keys().values())[-1]

    def key_before(self, name: str) -> str:
        """The key of the stage before one that takes the candidates of a single stage.

        Args:
            name: "deduplicate", "rerank" or "repair".
        """
        keys = self._keys()
        return keys[list(keys)[list(keys).index(name) - 1]]

    def _keys(self) -> dict[str, str]:
        """The keys of all stages, in order."""
        found = {name: self.key(name, ()) for name in self.searches}
        for name in self.refiners():
            keys = tuple(found.values())
            found[name] = self.key(name, keys if name == "fuse" else keys[-1:])
        return found

    @property
    def texts(self) -> dict[str, str]:
        """The hashes of the texts that the stages see, with their ids."""
        return self._texts_of(self.form, self.collection)

    def queries_hash(self, search: Search) -> str:
        """The hash of the queries of a search, with their ids."""
        return self._texts_of(search.form, search.collection)["queries"]

    def _texts_of(self, form: str, collection: Collection) -> dict[str, str]:
        """The hashes of documents and of queries in one form."""
        hash_once, both = self.shared.hash_once, collection
        documents = hash_once("documents", lambda: {"documents": texts_with_ids_hash(both.documents)})
        return documents | hash_once(["queries", form], lambda: {"queries": texts_with_ids_hash(both.queries)})

    def key(self, name: str, before: tuple[str, ...] = ()) -> str:
        """The hash of everything that determines the candidates of a stage.

        Args:
            name: name of the stage.
            before: keys of the stages whose candidates it takes.
        """
        kind, form, collection = self.searches.get(name, Search(name, self.form, self.collection))
        tables = {"dense": ("embed", "index"), "rerank": ("rerank", "route")}.get(kind, (kind,))
        about = {
            table: self.candidate_settings(table) for table in tables if table != "route" or table in self.settings
        }
        return key_of("stage", kind, about, self._texts_of(form, collection), before)

    def candidate_settings(self, table: str) -> dict[str, object]:
        """The settings of a table that affect candidates, with models and files replaced by content hashes.

        Args:
            table: table of the settings.
        """
        settings = dict(self.settings[table])

        def make() -> dict[str, Any]:
            found = build_key_settings(table, settings)
            if "model" in settings and not is_hosted(settings["model"]) and found["weights"] is None:
                self.model(table)  # a hub model: its contents are known once it is downloaded
                found = build_key_settings(table, settings)
            return found

        return self.shared.hash_once([table, settings], make)

    def model(self, table: str) -> Any:
        """The model of a table, loaded once.

        Args:
            table: "embed", "rerank", or "repair" for the one of these that gives the last scores, in float32.
        """
        chosen = self.settings[table if table != "repair" else str(repaired_table(self.settings))]
        if table == "repair":
            chosen = {**chosen, "dtype": HIGH_FORMAT}
        hosted = is_hosted(chosen["model"])
        # No file has parts: an audit of a pipeline sets them.
        given = ("batch_size", *(("dimension", *HOSTED_KEYS) if hosted else (*LOADED_KEYS, "parts")))
        options = {name: chosen[name] for name in given if chosen.get(name) is not None}
        key = key_of(chosen["model"], options)
        if key not in self.shared.models:
            shared: dict[str, Any] = {"account": self.shared.account} if hosted else {}
            try:
                self.shared.models[key] = load_model(chosen["model"], **options, **shared)
            except TruevalError as error:  # each attempt to reach the hub takes half a minute
                self.shared.models[key] = error
        if isinstance(self.shared.models[key], TruevalError):
            raise self.shared.models[key]
        return self.shared.models[key]

    def reuse(self, table: str) -> str:
        """Which cached outputs the model of a table reuses; fixed for services."""
        return str(self.settings[table].get("reuse", PASS))

    def embedder(self) -> Any:
        """The model of [embed].

        Raises:
            InputError: it gives no vector for a text.
        """
        model = self.model("embed")
        if model.scoring != "product":
            how = "gives finished scores" if model.scoring == FINISHED else f"scores by {model.scoring}"
            raise InputError(
                f"{model.name} {how}: it gives no single vector for a text. Name an embedder in "
                "[embed]; a cross-encoder or a model of late interaction belongs in [rerank]."
            )
        return model
