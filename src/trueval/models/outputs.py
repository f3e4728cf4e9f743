"""Model outputs: embeddings and logits, computed once for each model and texts, kept, and read by memory map.

What a model returned for queries, for documents or for pairs is a folder of the store, whose name holds the hash of
the model, its settings and the texts, so that nothing is computed twice:

    part.json                  what was run on which texts
    shard-00000.safetensors    raw outputs of some batches, while the pass goes on
    rows.npy, lengths.npy      all of them in the order of the texts, once it is complete

A shard is moved to its place when it is whole, so an interrupted pass goes on where it stopped, with the batches that
it would have had. Values stay in the model's own format; one that NumPy lacks is kept as integers of as many bits.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from trueval.collection import text_hash
from trueval.errors import InputError, MissingExtraError
from trueval.files.texts.sequence import Made
from trueval.files.whole import write_whole
from trueval.numerics import storage_dtype
from trueval.standings.groups import ranges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trueval.collection import Candidates, Collection


# 2: a folder for each part, and rows in one file. 1: a folder for each pass, of shards alone.
FORMAT_VERSION: Final = 2
KIND: Final = "outputs"
BATCHES: Final = 32  # batches in a shard: what an interruption can lose
ABOUT, ROWS, LENGTHS = "part.json", "rows.npy", "lengths.npy"

Step = Callable[[str, int, int], None]


@dataclass(frozen=True, eq=False)
class Outputs:
    """What a model in one dtype returned.

    Args:
        settings: all that decides the outputs: model, dtype, batch size, maximum length, versions and so on.
        arrays: "pairs" of a reranker, [pair, label] logits, candidates of one query after those of another; or
            "queries" and "documents" of an embedder, [text, dimension], for late interaction one array per text.
        texts: count and SHA-256 of the texts of each part.
        batch_sizes: batch sizes that shards ended with; more than one if memory ran out.
    """

    settings: Mapping[str, Any]
    arrays: Mapping[str, Any]
    texts: Mapping[str, Mapping[str, Any]]
    batch_sizes: tuple[int, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return what reports say about the pass."""
        return {**self.settings, "texts": dict(self.texts), "batch_sizes": list(self.batch_sizes)}


class Part(NamedTuple):
    """Texts or pairs that go through one function of a model.

    Attributes:
        name: "queries", "documents" or "pairs".
        items: the texts, or pairs of query and document; gone through in their order, and some of them by place.
        called: what an error calls each.
        forward: from items and what they are called to outputs.
        length: how long an item is, in any unit.
    """

    name: str
    items: Sequence[Any]
    called: Sequence[str]
    forward: Callable[[Sequence[Any], Sequence[str]], Any]
    length: Callable[[Any], int]

    def texts(self) -> dict[str, Any]:
        """How many there are, and their hash."""
        flat = (text for item in self.items for text in ([item] if isinstance(item, str) else item))
        return {"count": len(self.items), "sha256": text_hash(flat)}


class Found(NamedTuple):
    """The outputs of one part.

    Attributes:
        rows: [item, any] one array; for late interaction one [token, dimension] array per text.
        texts: count and SHA-256 of what went in.
        batch_sizes: batch sizes that shards ended with, the largest first.
    """

    rows: Any
    texts: Mapping[str, Any]
    batch_sizes: tuple[int, ...]


def model_outputs(
    model: Any, collection: Collection, candidates: Candidates, *, folder: Path | None = None, step: Step | None = None
) -> Outputs:
    """Run a model once over the candidates, or read what an earlier pass of the same kind left.

    Args:
        model: a LocalReranker or LocalEmbedder of trueval.models.
        collection: with the texts.
        candidates: what to score.
        folder: the store; None keeps nothing.
        step: called with a part's name, items done and items in all after every shard.

    Raises:
        InputError: outputs are not finite (the documents are named), or what is kept is damaged or of other texts.
        MissingExtraError: outputs are to be kept and safetensors is not installed.
    """
    settings = settings_of(model)
    parts = _parts(model, collection, candidates)
    found = {part.name: part_outputs(model, part, settings, folder=folder, step=step) for part in parts}
    sizes = {size for each in found.values() for size in each.batch_sizes}
    return Outputs(
        settings,
        {name: each.rows for name, each in found.items()},
        {name: each.texts for name, each in found.items()},
        tuple(sorted(sizes, reverse=True)),
    )


def settings_of(model: Any) -> dict[str, Any]:
    """All that decides the outputs of a model: its settings, and the hash of its weights."""
    return {**model.settings(), "weights": weights_hash(Path(str(model.settings()["path"])))}


def part_outputs(
    model: Any, part: Part, settings: Mapping[str, Any], *, folder: Path | None = None, step: Step | None = None
) -> Found:
    """Run a model over one part, or read what an earlier pass left.

    Args:
        model: of which the batch size is read.
        part: what goes in.
        settings: what `settings_of` gave.
        folder: the store; None keeps nothing.
        step: as in model_outputs.

    Raises:
        InputError: as in model_outputs.
        MissingExtraError: as in model_outputs.
    """
    texts = part.texts()
    if folder is None:
        return _computed(model, part, texts, step)
    # The folder's name holds the identity, so that other texts, or other weights, are another folder.
    identity = hashlib.sha256(
        json.dumps([FORMAT_VERSION, settings, part.name, texts], sort_keys=True).encode()
    ).hexdigest()
    place = folder / f"{settings['model']}-{settings['dtype']}-{part.name}-{identity[:12]}"
    kept = _Kept(place, identity, part)
    if not (place / ROWS).is_file():
        place.mkdir(parents=True, exist_ok=True)
        about = {"kind": KIND, "format": FORMAT_VERSION, "identity": identity, "part": part.name, "texts": texts}
        kept.compute(model, {**about, "settings": dict(settings)}, step)
    elif step is not None:
        step(part.name, len(part.items), len(part.items))
    return kept.read(texts)


def _parts(model: Any, collection: Collection, candidates: Candidates) -> list[Part]:
    """What goes through the model; texts and what they are called are made when they are asked for."""
    doc_ids, query_ids = candidates.doc_ids, candidates.query_ids
    documents = Made(len(doc_ids), lambda at: collection.documents[doc_ids[at]])
    queries = [collection.queries[query] for query in query_ids]
    if hasattr(model, "pair_logits"):
        of = np.repeat(np.arange(len(query_ids)), [len(chosen) for chosen in candidates.lists])
        place = np.concatenate(candidates.lists)
        pairs = Made(len(of), lambda at: (queries[of[at]], documents[place[at]]))
        called = Made(len(of), lambda at: f"{doc_ids[place[at]]!r} (query {query_ids[of[at]]!r})")
        return [Part("pairs", pairs, called, model.pair_logits, lambda pair: len(pair[0]) + len(pair[1]))]
    named = Made(len(queries), lambda at: f"query {query_ids[at]!r}")
    docs = Made(len(documents), lambda at: repr(doc_ids[at]))
    return [
        Part("queries", queries, named, model.embed_queries, len),
        Part("documents", documents, docs, model.embed_documents, len),
    ]


def _shards(part: Part, batch_size: int) -> list[NDArray[np.int64]]:
    """The items of each shard, the longest first, so that shards are padded little.

    Of the batch size that a pass begins with: one that goes on must cut its shards where the interrupted one did.
    """
    # The sort is stable and by length alone, so that every run of the same texts cuts the same shards.
    lengths = np.fromiter(map(part.length, part.items), np.int64, len(part.items))
    order = np.argsort(-lengths, kind="stable")
    return [order[start : start + BATCHES * batch_size] for start in range(0, len(order), BATCHES * batch_size)]


def _forward(part: Part, chosen: NDArray[np.int64]) -> Any:
    places = chosen.tolist()
    return part.forward([part.items[i] for i in places], [part.called[i] for i in places])


def _computed(model: Any, part: Part, texts: Mapping[str, Any], step: Step | None) -> Found:
    """The outputs of every item, in its place, kept nowhere."""
    rows: list[Any] = [None] * len(part.items)
    sizes: set[int] = set()
    done = 0
    for chosen in _shards(part, int(model.batch_size)):
        for i, output in zip(chosen.tolist(), _forward(part, chosen), strict=True):
            rows[i] = output
        sizes.add(int(model.batch_size))
        done += len(chosen)
        if step is not None:
            step(part.name, done, len(rows))
    same = bool(rows) and all(np.ndim(row) == 1 for row in rows)
    return Found(np.stack(rows) if same else rows, texts, tuple(sorted(sizes, reverse=True)))


class _Kept:
    """The folder of one part in the store.

    Args:
        place: the folder.
        identity: of model, settings and texts.
        part: what goes in.
    """

    def __init__(self, place: Path, identity: str, part: Part) -> None:
        self.place, self.identity, self.part = place, identity, part

    def compute(self, model: Any, about: Mapping[str, Any], step: Step | None) -> None:
        """Compute the shards that are not there yet, and make rows of all."""
        self._describe(about)
        shards = _shards(self.part, int(model.batch_size))
        sizes: set[int] = set()
        lengths = np.zeros(len(self.part.items), dtype=np.int64)
        done = 0
        for number, chosen in enumerate(shards):
            file = self._shard(number)
            if not file.exists():
                outputs = _forward(self.part, chosen)
                _write_shard(file, outputs, {"identity": self.identity, "batch_size": str(model.batch_size)})
            shard = self._read(number, chosen)
            # Of a kept shard the size that it was computed with: batch size changes low-precision outputs.
            sizes.add(shard.batch_size)
            lengths[chosen] = shard.lengths
            done += len(chosen)
            if step is not None:
                step(self.part.name, done, len(self.part.items))
        dtype = self._join(shards, lengths)
        self._describe({**about, "dtype": dtype, "batch_sizes": sorted(sizes, reverse=True)})
        (self.place / f".{ROWS}").replace(self.place / ROWS)
        for number in range(len(shards)):
            self._shard(number).unlink()

    def read(self, texts: Mapping[str, Any]) -> Found:
        """The rows as memory maps.

        Raises:
            InputError: they are damaged.
        """
        try:
            about = json.loads((self.place / ABOUT).read_text(encoding="utf-8"))
            rows = np.load(self.place / ROWS, mmap_mode="r", allow_pickle=False).view(storage_dtype(about["dtype"]))
            lengths = np.load(self.place / LENGTHS, allow_pickle=False) if (self.place / LENGTHS).exists() else None
            counted = len(rows) if lengths is None else len(lengths)
            if about["identity"] != self.identity or counted != len(self.part.items):
                raise ValueError("its rows are not those of its texts")
            sizes = tuple(int(size) for size in about["batch_sizes"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{self.place}: damaged outputs ({error}). Remove the folder, and they are computed again."
            ) from error
        return Found(rows if lengths is None else np.split(rows, np.cumsum(lengths)[:-1]), texts, sizes)

    def _describe(self, about: Mapping[str, Any]) -> None:
        data = (json.dumps(about, indent=1, ensure_ascii=False) + "\n").encode()
        write_whole(self.place / ABOUT, lambda path: path.write_bytes(data))

    def _shard(self, number: int) -> Path:
        return self.place / f"shard-{number:05}.safetensors"

    def _read(self, number: int, chosen: NDArray[np.int64]) -> _Shard:
        return _read_shard(self._shard(number), self.identity, len(chosen))

    def _join(self, shards: Sequence[NDArray[np.int64]], lengths: NDArray[np.int64]) -> str:
        """Write the rows of all shards into one file, each item in its place; returns their format."""
        own = np.maximum(lengths, 1)  # 0: one row, without an axis of its own
        starts = np.cumsum(own) - own
        first = self._read(0, shards[0]).values
        integers = np.dtype(f"u{first.dtype.itemsize}")
        shape = (int(own.sum()), *first.shape[1:])
        rows = np.lib.format.open_memmap(self.place / f".{ROWS}", "w+", integers, shape)
        for number, chosen in enumerate(shards):
            rows[ranges(starts[chosen], own[chosen])] = self._read(number, chosen).values.view(integers)
        rows.flush()
        if lengths.any():
            write_whole(self.place / LENGTHS, lambda path: _save_array(path, lengths))
        return str(first.dtype.name)


def _save_array(path: Path, array: NDArray[Any]) -> None:
    with path.open("wb") as file:  # by name NumPy would add a suffix
        np.save(file, array, allow_pickle=False)


def _safetensors() -> Any:
    try:
        import safetensors.numpy
    except ImportError as error:
        raise MissingExtraError("Stored logits", "models") from error
    storage_dtype("bfloat16")  # NumPy knows the name once ml_dtypes is imported
    return safetensors


class _Shard(NamedTuple):
    """Outputs of some items, rows one after another.

    Attributes:
        values: [row, any].
        lengths: [item] rows of each; 0 for one row without an axis of its own.
        batch_size: that it was computed with.
    """

    values: NDArray[Any]
    lengths: NDArray[np.int64]
    batch_size: int


def _write_shard(file: Path, outputs: Any, metadata: Mapping[str, str]) -> None:
    """Write the rows one after another, with the number of rows of each item."""
    library = _safetensors()
    ragged = not isinstance(outputs, np.ndarray)
    rows = np.concatenate(list(outputs)) if ragged else outputs
    lengths = [len(output) if ragged else 0 for output in outputs]  # 0: one row, without an axis of its own
    tensors = {"values": np.ascontiguousarray(rows), "lengths": np.array(lengths, dtype=np.int64)}
    write_whole(file, lambda path: library.numpy.save_file(tensors, path, metadata=dict(metadata)))


def _read_shard(file: Path, identity: str, items: int) -> _Shard:
    library = _safetensors()
    try:
        with library.safe_open(file, framework="numpy") as opened:
            metadata = opened.metadata() or {}
            values, lengths = opened.get_tensor("values"), opened.get_tensor("lengths")
    except library.SafetensorError as error:
        raise InputError(f"{file}: a damaged shard ({error}). Remove it, and it is computed again.") from error
    if metadata.get("identity") != identity or len(lengths) != items:
        raise InputError(
            f"{file}: a shard of another pass. Its texts, model and settings must be those of part.json. "
            "Remove it, and it is computed again."
        )
    return _Shard(values, lengths, int(metadata["batch_size"]))


def weights_hash(folder: Path) -> str | None:
    """Return the SHA-256 of a model's weight files, or None for a model of the hub.

    Args:
        folder: what the model was loaded from.
    """
    files = sorted(file for pattern in ("*.safetensors", "*.bin") for file in folder.glob(pattern))
    if not files:
        return None
    # The name of a folder says nothing: weights trained further and saved there again must not take the old shards.
    digest = hashlib.sha256()
    for file in files:
        with file.open("rb") as data:
            digest.update(hashlib.file_digest(data, "sha256").digest())
    return digest.hexdigest()
