"""Model outputs: embeddings and logits, computed once per model and texts, cached, and read by memory map.

The outputs of a model for queries, documents or pairs are a folder of the store, whose name contains the hash of the
model, its settings and the texts, so that nothing is computed twice:

    part.json                  what was run on which texts
    shard-00000.safetensors    raw outputs of some batches, while the pass goes on
    rows.npy, lengths.npy      all of them in the order of the texts, once it is complete
    keys.npy                   hashes of the texts, by which other runs find their rows
    digests.json               of these files; a damaged run is recomputed

A shard is moved into place when it is complete, so an interrupted run resumes where it stopped, with the same batches.
Values stay in the model's own format; formats that NumPy lacks are stored as integers of the same width.

A hosted model returns its outputs call by call, and each call is stored as a shard at once: what was paid for is kept.
Its outputs do not depend on the batch, so texts that were sent for another collection are not sent again. Outputs of
other models are reused by text in float32 (output_reuse.py).
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from trueval.errors import TruevalWarning
from trueval.files.texts.lazy_list import LazyList
from trueval.models.known_outputs import drop_model_path, prefix_of
from trueval.models.model_settings import settings_of, weights_hash
from trueval.models.model_shards import SharedPart
from trueval.models.output_part import (
    FORMAT_VERSION,
    KIND,
    ROWS,
    OutputCache,
    OutputPart,
    PartOutputs,
    Step,
    forward,
    in_turns,
    shards_of,
)
from trueval.models.response_store import ResponseStore
from trueval.report.atomic_folders import alone
from trueval.threads import Executor

if TYPE_CHECKING:
    from trueval.collection import Candidates, Collection


__all__ = [
    "OutputPart",
    "Outputs",
    "PartOutputs",
    "Step",
    "model_outputs",
    "part_outputs",
    "settings_of",
    "weights_hash",
]


@dataclass(frozen=True, eq=False)
class Outputs:
    """Outputs of a model in one dtype.

    Args:
        settings: everything that determines the outputs: model, dtype, batch size, maximum length, versions and so on.
        arrays: "pairs" of a reranker: [pair, label] logits, query by query; or "queries" and "documents" of an
            embedder: [text, dimension], for late interaction one array per text.
        texts: number and SHA-256 of the texts of each part.
        batch_sizes: final batch sizes of the shards; more than one if memory ran out.
        earlier: seconds that earlier commands took for the reused outputs.
    """

    settings: Mapping[str, object]
    arrays: Mapping[str, object]
    texts: Mapping[str, Mapping[str, object]]
    batch_sizes: tuple[int, ...]
    earlier: float = 0.0

    def to_dict(self) -> dict[str, object]:
        """Return the entry of the model in reports."""
        return {**self.settings, "texts": dict(self.texts), "batch_sizes": list(self.batch_sizes)}


def model_outputs(
    model: object,
    collection: Collection,
    candidates: Candidates,
    *,
    folder: Path | None = None,
    step: Step | None = None,
    executor: Executor | None = None,
) -> Outputs:
    """Run a model once over the candidates, or read the cached outputs of an earlier run.

    Args:
        model: a LocalReranker or LocalEmbedder.
        collection: collection with the texts.
        candidates: documents to score.
        folder: folder of the store; None stores nothing.
        step: called after every shard with the part's name, items done and total items.
        executor: computes the shards in other processes or on other machines; the outputs are the same.

    Raises:
        InputError: outputs are not finite (the documents are named).
        MissingExtraError: outputs are to be kept and safetensors is not installed.
    """
    settings = settings_of(model)
    parts = parts_of(model, collection, candidates)
    found = {
        part.name: part_outputs(model, part, settings, folder=folder, step=step, executor=executor) for part in parts
    }
    return join_outputs(settings, found)


def join_outputs(settings: Mapping[str, object], found: Mapping[str, PartOutputs]) -> Outputs:
    """Outputs of a model for all its parts, by name."""
    sizes = {size for each in found.values() for size in each.batch_sizes}
    return Outputs(
        settings,
        {name: each.rows for name, each in found.items()},
        {name: each.texts for name, each in found.items()},
        tuple(sorted(sizes, reverse=True)),
        sum(each.earlier for each in found.values()),
    )


def part_outputs(
    model: object,
    part: OutputPart,
    settings: Mapping[str, object],
    *,
    folder: Path | None = None,
    step: Step | None = None,
    executor: Executor | None = None,
) -> PartOutputs:
    """Run a model over one part, or read the cached outputs of an earlier run.

    Args:
        model: model whose batch size is read.
        part: input of the model.
        folder: folder of the store; None stores nothing.
        executor: as in model_outputs.

    Raises:
        InputError: as in model_outputs.
        MissingExtraError: as in model_outputs.
    """
    if executor is not None and folder is None:  # workers write to a folder; a memory map of a removed file stays
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as store:
            return part_outputs(model, part, settings, folder=Path(store), step=step, executor=executor)
    texts = part.texts()
    if folder is None or not len(part.items):  # no outputs to store
        return _compute_uncached(model, part, texts, step)
    place, identity = place_of(settings, part.name, texts, folder)
    kept = (ResponseStore if hasattr(model, "answers") else OutputCache)(place, identity, part)
    place.mkdir(parents=True, exist_ok=True)
    about = {"kind": KIND, "format": FORMAT_VERSION, "identity": identity, "part": part.name, "texts": texts}
    if not (place / ROWS).is_file() or kept.damage() is not None:
        # Another program with the same texts and model waits here, since both would write the same file.
        with alone(place):
            about["settings"] = drop_model_path(settings)
            work = SharedPart(kept, model, settings)
            step = None if _compute_if_missing(kept, work, about, step, executor) else step  # it was told
    if step is not None:
        step(part.name, len(part.items), len(part.items))
    return kept.read(texts)


def _compute_if_missing(
    kept: OutputCache, work: SharedPart, about: Mapping[str, object], step: Step | None, executor: Executor | None
) -> bool:
    """Compute the rows of a part, unless another process did so meanwhile; damaged ones are recomputed.

    Returns:
        Whether they were computed now.
    """
    if (kept.place / ROWS).is_file():
        damaged = kept.damage()
        if damaged is None:
            return False
        told = f"{kept.place}: damaged outputs ({damaged}). It is made again."
        warnings.warn(told, TruevalWarning, stacklevel=4)
        kept.clear()
    if work.compute(executor, about, step):
        step = None
    kept.compute(work.model, about, step)
    return True


class PartLocation(NamedTuple):
    """Location of one part's outputs.

    Attributes:
        place: folder of the outputs.
        identity: hash of model, settings and texts, which begins the name of the folder.
    """

    place: Path
    identity: str

    @property
    def complete(self) -> bool:
        """Whether all outputs exist."""
        return (self.place / ROWS).is_file()


def place_of(settings: Mapping[str, object], part: str, texts: Mapping[str, object], folder: Path) -> PartLocation:
    """Location of one part's outputs, existing or not.

    Args:
        part: name of the part.
        texts: number and SHA-256 of its texts.
    """
    # The folder's name contains the identity, so that other texts or weights use another folder.
    decided = json.dumps([FORMAT_VERSION, drop_model_path(settings), part, texts], sort_keys=True)
    identity = hashlib.sha256(decided.encode()).hexdigest()
    return PartLocation(folder / f"{prefix_of(settings, part)}{identity[:12]}", identity)


def parts_of(model: Any, collection: Collection, candidates: Candidates) -> list[OutputPart]:
    """The parts for a model; texts and their names are produced lazily."""
    doc_ids, query_ids = candidates.doc_ids, candidates.query_ids
    documents = LazyList(len(doc_ids), lambda at: collection.documents[doc_ids[at]])
    queries = [collection.queries[query] for query in query_ids]
    if hasattr(model, "pair_logits"):
        of = np.repeat(np.arange(len(query_ids)), [len(chosen) for chosen in candidates.lists])
        place = np.concatenate(candidates.lists)
        pairs = LazyList(len(of), lambda at: (queries[of[at]], documents[place[at]]))
        called = LazyList(len(of), lambda at: f"{doc_ids[place[at]]!r} (query {query_ids[of[at]]!r})")
        return [OutputPart("pairs", pairs, called, model.pair_logits, lambda pair: len(pair[0]) + len(pair[1]))]
    named = LazyList(len(queries), lambda at: f"query {query_ids[at]!r}")
    docs = LazyList(len(documents), lambda at: repr(doc_ids[at]))
    return [
        OutputPart("queries", queries, named, model.embed_queries, len),
        OutputPart("documents", documents, docs, model.embed_documents, len),
    ]


def _compute_uncached(model: object, part: OutputPart, texts: Mapping[str, object], step: Step | None) -> PartOutputs:
    """The outputs of every item in place, without caching."""
    rows: list[Any] = [None] * len(part.items)
    sizes: set[int] = set()
    done = 0
    for chosen, outputs in _batches(model, part, sizes):
        for i, output in zip(chosen, outputs, strict=True):
            rows[i] = output
        done += len(chosen)
        if step is not None:
            step(part.name, done, len(rows))
    same = bool(rows) and all(np.ndim(row) == 1 for row in rows)
    return PartOutputs(np.stack(rows) if same else rows, texts, tuple(sorted(sizes, reverse=True)))


def _batches(model: Any, part: OutputPart, sizes: set[int]) -> Iterator[tuple[list[int], Any]]:
    """Places of items with their outputs; batch sizes are added to the given list."""
    if hasattr(model, "answers"):
        yield from model.answers(part.name, part.items, part.called)
        return
    shards = shards_of(part, int(model.batch_size))
    for number in in_turns(range(len(shards))):
        chosen = shards[number]
        yield chosen.tolist(), forward(part, chosen)
        sizes.add(int(model.batch_size))
