"""Missing outputs: the texts and pairs that pipelines still need from models, before anything is computed.

The pairs of a reranker depend on retrieval: where the cache has its results, they are known; otherwise their number is
bounded by the depth, with documents spread over the corpus as examples, and the longest ones for the upper bound.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from trueval.collection import Candidates, Collection, ids_in_order, texts_in_order
from trueval.models.missing_work import MissingPart, MissingWork, sum_work
from trueval.models.output_part import item_keys
from trueval.models.output_reuse import TEXT, find_items_to_compute, is_by_text
from trueval.models.outputs import OutputPart, parts_of, place_of, settings_of
from trueval.retrieval.fusion.union import together
from trueval.retrieval.pipeline.config import repaired_table
from trueval.retrieval.pipeline.rerank import candidates_of
from trueval.retrieval.pipeline.stage_keys import Search
from trueval.retrieval.pipeline.stage_runner import StageRunner
from trueval.run import Run
from trueval.standings.standings import Ints


class _Pool(NamedTuple):
    """Pairs for the model of [rerank] or [repair]; `run` is None where they are not in the cache."""

    work: StageRunner
    table: str
    depth: int
    reuse: str
    run: Run | None

    @property
    def stage(self) -> str:
        """As in `MissingOutputs.add_part`."""
        return "" if self.table == "rerank" else self.table


class MissingOutputs:
    """Collects the items that models have to process; an item that several pipelines need is counted once.

    Args:
        outputs: folder of stored model outputs; None for none.
    """

    def __init__(self, outputs: Path | None) -> None:
        self.outputs = outputs
        self.parts: list[MissingPart] = []
        self._settings: dict[int, tuple[Any, dict[str, Any]]] = {}  # hashing weights takes seconds
        self._seen: set[str] = set()
        self._counted: dict[str, set[bytes]] = {}
        self._pools: dict[str, dict[tuple[str, int], _Pool]] = {}

    def add(self, *works: StageRunner, reuse: str | None = None) -> None:
        """Count the runs of a pipeline.

        Args:
            works: runs of one pipeline, whose pairs are scored in one pass.
            reuse: as in `add_part`, for the reranker; None for that of the pipeline.

        Raises:
            InputError: it cannot run.
        """
        for work in works:
            work.check()
            for name, search in work.searches.items():
                if search.kind == "dense" and not work.has(name):
                    self.add_texts(work, "documents")
                    self._add_queries(work, search)
            if "rerank" in work.settings and not work.has("rerank", (before := work.key_before("rerank"),)):
                model, depth = work.model("rerank"), work.settings["rerank"]["depth"]
                chosen = reuse or work.reuse("rerank")
                by_item = self.outputs is not None and is_by_text(model, chosen)
                own = [] if by_item else [each.last_key for each in works]  # others score the same pairs again
                key = json.dumps([self._settings_of(model), work.texts, own], sort_keys=True)
                pools = self._pools.setdefault(key, {})
                if (before, depth) not in pools:
                    run = work.candidates_before("rerank", depth)
                    pools[before, depth] = _Pool(work, "rerank", depth, chosen, run)
            if "repair" in work.settings and not work.has("repair", (before := work.key_before("repair"),)):
                key = json.dumps(["repair", self._settings_of(work.model("repair")), work.texts], sort_keys=True)
                depth = work.settings[str(repaired_table(work.settings)).replace("embed", "index")]["depth"]
                pools = self._pools.setdefault(key, {})
                if (before, depth) not in pools:
                    pools[before, depth] = _Pool(work, "repair", depth, TEXT, work.doubtful_candidates())

    def add_texts(self, work: StageRunner, name: str, stage: str = "") -> None:
        """Count the texts that are not cached for a pipeline's embedder.

        Args:
            name: documents or queries.
            stage: as in MissingWork; the name by default.
        """
        key = json.dumps([id(work.embedder()), name, work.texts[name], work.reuse("embed")])
        if key not in self._seen:  # before all texts are hashed
            self._seen.add(key)
            self._add_part_of(work, name, getattr(work.collection, name), stage)

    def _add_queries(self, work: StageRunner, search: Search) -> None:
        """Count the queries of a search that are not cached."""
        if search.form == work.form:
            self.add_texts(work, "queries")
        else:
            self._add_part_of(work, "queries", search.collection.queries)

    def _add_part_of(self, work: StageRunner, name: str, texts: Mapping[str, str], stage: str = "") -> None:
        model = work.embedder()
        part = OutputPart(name, texts_in_order(texts), list(ids_in_order(texts)), getattr(model, f"embed_{name}"), len)
        self.add_part(model, part, work.reuse("embed"), stage)

    def add_part(self, model: object, part: OutputPart, reuse: str | None, stage: str = "") -> None:
        """Count the items of a part that are not cached.

        Args:
            reuse: "pass" or "text", as a pipeline has it; None for outputs that are computed for whole parts only.
            stage: as in MissingWork; the name of the part by default.
        """
        settings, by_item = self._settings_of(model), reuse is not None and is_by_text(model, reuse)
        place = place_of(settings, part.name, part.texts(), self.outputs or Path())
        places, kept = np.arange(len(part.items)), 0
        if place.identity in self._seen:
            return
        self._seen.add(place.identity)
        if self.outputs is not None and place.complete:
            places, kept = places[:0], len(places)
        elif by_item:
            keys = item_keys(part.items)
            counted = self._counted.setdefault(json.dumps([settings, part.name], sort_keys=True), set())
            first = np.sort(np.unique(keys, return_index=True)[1])
            places = new = first[[keys[at] not in counted for at in first]]
            if self.outputs is not None:
                places = np.intersect1d(find_items_to_compute(model, part, str(reuse), self.outputs), new)
            kept = len(new) - len(places)
            counted.update(keys.tolist())
        elif self.outputs is not None and reuse is not None:
            places = find_items_to_compute(model, part, reuse, self.outputs)
        if len(places) or kept:
            self.parts.append(MissingPart(stage or part.name, model, part, places, kept))

    def take(self) -> list[MissingPart]:
        """The parts that were added since the last call; items that are counted stay so."""
        for pools in self._pools.values():
            self._add_pairs(list(pools.values()))
        self._pools.clear()
        found, self.parts = self.parts, []
        return found

    def work(self) -> list[MissingWork]:
        """The work for models."""
        return sum_work(each.work() for each in self.take())

    def _settings_of(self, model: object) -> dict[str, object]:
        if id(model) not in self._settings:
            self._settings[id(model)] = model, settings_of(model)
        return self._settings[id(model)][1]

    def _add_pairs(self, pools: Sequence[_Pool]) -> None:
        """Count what one reranker has no outputs for; all that it may be given, where its pools are unknown."""
        work, runs = pools[0].work, [pool.run for pool in pools if pool.run is not None]
        model, collection, stage = work.model(pools[0].table), work.collection, pools[0].stage
        if len(runs) == len(pools):
            runs = [run for run in runs if run.documents.height]
            if not runs:
                return
            for part in parts_of(model, collection, candidates_of(together(runs, None), collection)):
                self.add_part(model, part, pools[0].reuse, stage)
            return
        depth = min(sum(pool.depth for pool in pools), len(collection.documents))
        some, most = (
            parts_of(model, collection, make(collection, depth)) for make in (spread_candidates, longest_candidates)
        )
        self.parts += [
            MissingPart(stage or part.name, model, part, np.arange(len(part.items)), longest=longest)
            for part, longest in zip(some, most, strict=True)
        ]


def spread_candidates(collection: Collection, depth: int) -> Candidates:
    """The maximum number of candidates per query, spread over the corpus, as stand-ins for search results.

    Args:
        depth: number of candidates per query, at most the number of documents.
    """
    places = np.linspace(0, len(collection.documents) - 1, depth).astype(np.int64)
    return _candidates(collection, places)


def longest_candidates(collection: Collection, depth: int) -> Candidates:
    """The longest documents for every query: no search results have more tokens.

    Args:
        depth: number of candidates per query, at most the number of documents.
    """
    texts = texts_in_order(collection.documents)
    sizes = np.array([len(text.encode("utf-8", "surrogatepass")) for text in texts])
    return _candidates(collection, np.sort(np.argsort(-sizes, kind="stable")[:depth]))


def _candidates(collection: Collection, places: Ints) -> Candidates:
    queries: Mapping[str, Any] = collection.queries
    ids = tuple(ids_in_order(collection.documents).to_list())
    return Candidates("some", tuple(queries), ids, (places,) * len(queries))
