"""Estimates of pipelines' work for models: texts, calls, tokens and money, before anything is computed.

The numbers of a service are those that its model announces before its first call, so that a dry run and that notice
agree. The pairs of a reranker depend on retrieval: where the cache has its results, they are known; otherwise their
number is bounded by the depth, with documents spread over the corpus as examples, and the longest ones for the upper
bound.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from trueval.collection import Candidates, Collection, ids_in_order, texts_in_order
from trueval.models.hosted.account import in_words, sum_costs
from trueval.models.hosted.services import is_hosted
from trueval.models.output_part import item_keys
from trueval.models.output_reuse import find_items_to_compute, find_missing_items, is_by_text
from trueval.models.outputs import OutputPart, parts_of, place_of, settings_of
from trueval.report.number_texts import count_phrase
from trueval.retrieval.fusion.union import together
from trueval.retrieval.pipeline.rerank import candidates_of
from trueval.retrieval.pipeline.stage_runner import StageRunner
from trueval.run import Run
from trueval.standings.standings import Ints

EMBEDDER, RERANKER = "embedder", "reranker"
LATE: Final = "tokens"  # role of an embedder for token vectors


@dataclass(frozen=True)
class ModelTexts:
    """The work for one model.

    Attributes:
        name: name of the model, as requested.
        role: "embedder", "tokens" or "reranker".
        count: number of distinct texts, or pairs of texts.
        left: number of these that are not cached.
        calls: number of calls to a service; 0 for a local model.
        tokens: estimated tokens of these calls.
        cost: expected cost of these calls; None if the price is unknown.
        at_most: maximum cost, if no call is interrupted; None if unknown.
        most: whether the numbers are upper bounds.
    """

    name: str
    role: str
    count: int
    left: int
    calls: int = 0
    tokens: int = 0
    cost: float | None = 0.0
    at_most: float | None = 0.0
    most: bool = False

    @property
    def sentence(self) -> str:
        """The estimate as a sentence."""
        what = ("pair", "pairs") if self.role == RERANKER else ("text", "texts")
        role = "MaxSim" if self.role == LATE else self.role
        most = "at most " * self.most
        told = (
            f"{self.name} ({role}): {most}{count_phrase(self.count, f'different {what[0]}', f'different {what[1]}')}, "
        )
        told += f"{self.count - self.left:,} of them kept; "
        if not self.left:
            return f"{told}none goes through the model."
        if not self.calls:
            return f"{told}{self.left:,} go through the model."
        out = f"{self.left:,} go out in {count_phrase(self.calls, 'call', 'calls')}"
        tokens = count_phrase(self.tokens, "token", "tokens")
        return f"{told}{out} of about {tokens}, {in_words(self.cost, self.at_most)}."


def texts_of_model(
    model: Any,
    role: str,
    parts: Sequence[tuple[OutputPart, Ints]],
    count: int,
    longest: Sequence[OutputPart] | None = None,
) -> ModelTexts:
    """The work for one model.

    Args:
        model: model as returned by `load_model`.
        role: role of the model.
        parts: parts with the indices of the items that are not cached.
        count: number of distinct texts, or pairs, in all parts.
        longest: parts of maximum length, where the given ones are examples; None if the items are known.
    """
    left = sum(len(places) for _, places in parts)
    if not is_hosted(model.name):
        return ModelTexts(model.name, role, count, left, most=longest is not None)
    found = [
        model.expected(part.name, [part.items[place] for place in places.tolist()])
        for part, places in parts
        if len(places)
    ]
    most = found if longest is None else [model.expected(part.name, part.items) for part in longest]
    return ModelTexts(
        model.name,
        role,
        count,
        left,
        sum(each.calls for each in found),
        sum(each.tokens for each in found),
        sum_costs(each.cost for each in found),
        sum_costs(each.at_most for each in most),
        most=longest is not None,
    )


class ModelCounts:
    """Counts the work for models of pipelines that share a cache; nothing is computed or sent."""

    def __init__(self) -> None:
        self._texts: dict[str, tuple[Any, list[tuple[OutputPart, Ints]], list[int]]] = {}
        self._planned: dict[tuple[str, str], set[bytes]] = {}
        self._pools: dict[str, list[tuple[StageRunner, int, Run | None]]] = {}

    def add(self, work: StageRunner) -> None:
        """Count a pipeline.

        Args:
            work: runner of the pipeline.

        Raises:
            InputError: it cannot run.
        """
        work.check()
        if "embed" in work.settings:
            if not work.has("dense"):
                self.add_texts(work, "documents")
            self.add_texts(work, "queries")
        if "rerank" in work.settings and not work.has("rerank", (work.key_before("rerank"),)):
            model, depth = work.model("rerank"), work.settings["rerank"]["depth"]
            pools = self._pools.setdefault(json.dumps(settings_of(model), sort_keys=True), [])
            pools.append((work, depth, work.candidates_before("rerank", depth)))

    def add_texts(self, work: StageRunner, name: str) -> None:
        """Count the documents or the queries that are not cached for a pipeline's embedder.

        Args:
            work: runner of the pipeline.
            name: documents or queries.
        """
        model, texts = work.embedder(), getattr(work.collection, name)
        forward = model.embed_documents if name == "documents" else model.embed_queries
        part = OutputPart(name, texts_in_order(texts), list(ids_in_order(texts)), forward, len)
        settings, folder = settings_of(model), work.shared.outputs
        key = json.dumps(settings, sort_keys=True)
        keys = item_keys(part.items)
        planned = self._planned.setdefault((key, name), set())
        new = np.unique(keys, return_index=True)[1]
        new = np.sort(new[[keys[place] not in planned for place in new]])
        planned.update(keys.tolist())
        _, parts, count = self._texts.setdefault(key, (model, [], []))
        count.append(len(new))
        if not len(new) or (folder is not None and place_of(settings, name, part.texts(), folder).complete):
            return
        left = (
            np.arange(len(keys)) if folder is None else find_items_to_compute(model, part, work.reuse("embed"), folder)
        )
        parts.append((part, np.intersect1d(left, new) if is_by_text(model, work.reuse("embed")) else left))

    def found(self) -> list[ModelTexts]:
        """The work for each model."""
        embedders = [texts_of_model(model, EMBEDDER, parts, sum(n)) for model, parts, n in self._texts.values()]
        return [*embedders, *(each for pools in self._pools.values() for each in _pairs_of(pools))]


def _pairs_of(pools: Sequence[tuple[StageRunner, int, Run | None]]) -> list[ModelTexts]:
    """The pairs that the reranker has not cached."""
    work = pools[0][0]
    if work.shared.outputs is None and len(pools) > 1:  # without a store, pipelines share no outputs
        return [each for pool in pools for each in _pairs_of([pool])]
    model, runs = work.model("rerank"), [run for _, _, run in pools if run is not None]
    if len(runs) == len(pools) and work.shared.outputs is not None:
        part = _pairs(model, work.collection, candidates_of(together(runs, None), work.collection))
        places = find_missing_items(settings_of(model), part, work.shared.outputs)
        return [texts_of_model(model, RERANKER, [(part, places)], len(part.items))]
    depth = min(sum(depth for _, depth, _ in pools), len(work.collection.documents))
    part = _pairs(model, work.collection, spread_candidates(work.collection, depth))
    longest = _pairs(model, work.collection, longest_candidates(work.collection, depth))
    every = np.arange(len(part.items))
    return [texts_of_model(model, RERANKER, [(part, every)], len(part.items), [longest])]


def _pairs(model: Any, collection: Collection, candidates: Candidates) -> OutputPart:
    return parts_of(model, collection, candidates)[-1]


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
