"""Model outputs, computed once for each model dtype and kept: every scoring format is computed from them afterwards.

A pass is a folder: pass.json says what was run on which texts, and shards hold the raw outputs in the model's own
format (safetensors keeps bfloat16 as it is). A shard is moved to its place when it is complete, so an interrupted pass
goes on where it stopped, with the batches that it would have had.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from trueval.collection import text_hash
from trueval.errors import InputError, MissingExtraError, Place
from trueval.files.source.encoding import is_unicode
from trueval.numerics import FORMATS, round_to, storage_dtype
from trueval.precision.archive import read_archive
from trueval.printable import encodable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trueval.collection import Candidates, Collection


# 1: the first.
FORMAT_VERSION: Final = 1
KIND: Final = "logits"
BATCHES: Final = 32  # batches in a shard: what an interruption can lose
LABELS: Final = {1: "sigmoid", 2: "softmax"}

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


class _Part(NamedTuple):
    """Texts or pairs that go through one function of a model."""

    name: str
    items: Sequence[Any]
    called: Sequence[str]
    forward: Callable[[Sequence[Any], Sequence[str]], Any]
    length: Callable[[Any], int]

    def texts(self) -> dict[str, Any]:
        flat = (text for item in self.items for text in ([item] if isinstance(item, str) else item))
        return {"count": len(self.items), "sha256": text_hash(flat)}


def model_outputs(
    model: Any, collection: Collection, candidates: Candidates, *, folder: Path | None = None, step: Step | None = None
) -> Outputs:
    """Run a model once over the candidates, or read what an earlier pass of the same kind left.

    Args:
        model: a LocalReranker or LocalEmbedder of trueval.models.
        collection: with the texts.
        candidates: what to score.
        folder: where passes are kept, each in a folder of its own; None keeps nothing.
        step: called with a part's name, items done and items in all after every shard.

    Raises:
        InputError: outputs are not finite (the documents are named), or a kept shard belongs to other texts.
        MissingExtraError: a pass is to be kept and safetensors is not installed.
    """
    parts = _parts(model, collection, candidates)
    texts = {part.name: part.texts() for part in parts}
    settings = {**model.settings(), "weights": weights_hash(Path(str(model.settings()["path"])))}
    identity = hashlib.sha256(json.dumps([FORMAT_VERSION, settings, texts], sort_keys=True).encode()).hexdigest()
    place = None
    if folder is not None:
        # The folder's name holds the identity, so that a pass over other texts, or of other weights, is another folder.
        place = folder / f"{settings['model']}-{settings['dtype']}-{identity[:12]}"
        place.mkdir(parents=True, exist_ok=True)
        about = {"kind": KIND, "format": FORMAT_VERSION, "identity": identity, **settings, "texts": texts}
        data = (json.dumps(about, indent=1, ensure_ascii=False) + "\n").encode()
        _write(place / "pass.json", lambda path: path.write_bytes(data))
    sizes: set[int] = set()
    # Fixed before any batch is halved: a pass that goes on must cut its shards where the interrupted one did.
    shard = BATCHES * int(model.batch_size)
    arrays = {part.name: _run_part(part, model, place, identity, sizes, shard, step) for part in parts}
    return Outputs(settings, arrays, texts, tuple(sorted(sizes, reverse=True)))


def _parts(model: Any, collection: Collection, candidates: Candidates) -> list[_Part]:
    documents = [collection.documents[doc] for doc in candidates.doc_ids]
    queries = [collection.queries[query] for query in candidates.query_ids]
    if hasattr(model, "pair_logits"):
        places = [(i, d) for i, chosen in enumerate(candidates.lists) for d in chosen.tolist()]
        pairs = [(queries[i], documents[d]) for i, d in places]
        called = [f"{candidates.doc_ids[d]!r} (query {candidates.query_ids[i]!r})" for i, d in places]
        return [_Part("pairs", pairs, called, model.pair_logits, lambda pair: len(pair[0]) + len(pair[1]))]
    named = [f"query {query!r}" for query in candidates.query_ids]
    docs = [repr(doc) for doc in candidates.doc_ids]
    return [
        _Part("queries", queries, named, model.embed_queries, len),
        _Part("documents", documents, docs, model.embed_documents, len),
    ]


def _run_part(
    part: _Part, model: Any, place: Path | None, identity: str, sizes: set[int], shard: int, step: Step | None
) -> Any:
    """Return the outputs of every item, in its place; items run longest first, so that shards are padded little."""
    # The sort is stable and by length alone, so that every run of the same texts cuts the same shards.
    order = sorted(range(len(part.items)), key=lambda i: -part.length(part.items[i]))
    rows: list[Any] = [None] * len(order)
    for number, start in enumerate(range(0, len(order), shard)):
        chosen = order[start : start + shard]
        file = None if place is None else place / f"{part.name}-{number:05}.safetensors"
        if file is not None and file.exists():
            outputs, size = _read_shard(file, identity, len(chosen))
        else:
            outputs = part.forward([part.items[i] for i in chosen], [part.called[i] for i in chosen])
            size = int(model.batch_size)
            if file is not None:
                _write_shard(file, outputs, {"identity": identity, "part": part.name, "batch_size": str(size)})
        sizes.add(size)  # of a kept shard the size that it was computed with: batch size changes low-precision outputs
        for i, output in zip(chosen, outputs, strict=True):
            rows[i] = output
        if step is not None:
            step(part.name, start + len(chosen), len(order))
    same = bool(rows) and all(np.ndim(row) == 1 for row in rows)
    return np.stack(rows) if same else rows


def _write(path: Path, write: Callable[[Path], Any]) -> None:
    """Write a file beside its place and move it there in one step."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        write(temporary)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _safetensors() -> Any:
    try:
        import safetensors.numpy
    except ImportError as error:
        raise MissingExtraError("Stored logits", "models") from error
    storage_dtype("bfloat16")  # NumPy knows the name once ml_dtypes is imported
    return safetensors


def _write_shard(file: Path, outputs: Any, metadata: Mapping[str, str]) -> None:
    """Write the rows one after another, with the number of rows of each item."""
    library = _safetensors()
    ragged = not isinstance(outputs, np.ndarray)
    rows = np.concatenate(list(outputs)) if ragged else outputs
    lengths = [len(output) if ragged else 0 for output in outputs]  # 0: one row, without an axis of its own
    tensors = {"values": np.ascontiguousarray(rows), "lengths": np.array(lengths, dtype=np.int64)}
    _write(file, lambda path: library.numpy.save_file(tensors, path, metadata=dict(metadata)))


def _read_shard(file: Path, identity: str, items: int) -> tuple[Any, int]:
    library = _safetensors()
    try:
        with library.safe_open(file, framework="numpy") as opened:
            metadata = opened.metadata() or {}
            values, lengths = opened.get_tensor("values"), opened.get_tensor("lengths")
    except library.SafetensorError as error:
        raise InputError(f"{file}: a damaged shard ({error}). Remove it, and it is computed again.") from error
    if metadata.get("identity") != identity or len(lengths) != items:
        raise InputError(
            f"{file}: a shard of another pass. Its texts, model and settings must be those of pass.json. "
            "Remove it, and it is computed again."
        )
    outputs = np.split(values, np.cumsum(lengths)[:-1]) if lengths.any() else values
    return outputs, int(metadata["batch_size"])


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


class StoredLogits(NamedTuple):
    """Logits from a file.

    Attributes:
        name: of the model that made them, the file's stem.
        query_ids: [pair].
        doc_ids: [pair].
        grades: [pair], NaN where nobody judged, or None where the file has none.
        logits: by model dtype, [pair, label] values of that format.
    """

    name: str
    query_ids: tuple[str, ...]
    doc_ids: tuple[str, ...]
    grades: NDArray[np.float64] | None
    logits: Mapping[str, NDArray[Any]]

    @property
    def scoring(self) -> str:
        """φ that fits the number of labels."""
        return LABELS[next(iter(self.logits.values())).shape[1]]


def read_logits(path: Path) -> StoredLogits:
    """Read an .npz file: arrays query, doc, perhaps grade, and one [pair, label] array named by each model dtype.

    Formats that NumPy lacks may be stored as float32; their values must be values of the format.

    Raises:
        InputError: the file is missing or is not an .npz file, an array is missing, misshapen or of another type, an id
            is empty, a pair is there twice, a grade is not finite, a logit is not finite or is not a value of its
            dtype.
    """
    place = Place(encodable(str(path)))
    arrays = read_archive(str(path), ("query", "doc", "grade", *FORMATS))
    dtypes = [name for name in FORMATS if name in arrays]
    missing = [name for name in ("query", "doc") if name not in arrays] + ([] if dtypes else ["float32"])
    if missing:
        raise place.error(
            f"no array {' and no '.join(missing)}. It must hold query, doc and one array of logits named "
            f"by each model dtype, such as bfloat16. Got {', '.join(arrays) or 'none'}. Add what is missing."
        )
    query, doc = (_ids(place, name, arrays[name]) for name in ("query", "doc"))
    logits = {dtype: _checked_logits(place, dtype, arrays[dtype], query, doc) for dtype in dtypes}
    if len({array.shape for array in logits.values()}) > 1:
        raise place.error(f"the logits of {', '.join(dtypes)} differ in shape. All must score the same pairs.")
    if len(set(zip(query, doc, strict=True))) < len(query):
        (twice, _), *_ = Counter(zip(query, doc, strict=True)).most_common(1)
        raise place.error(f"document {twice[1]!r} of query {twice[0]!r} is there twice. Keep one row of each pair.")
    grades = _grades(place, arrays["grade"], len(query)) if "grade" in arrays else None
    return StoredLogits(encodable(path.stem), query, doc, grades, logits)


def _ids(place: Place, name: str, array: NDArray[Any]) -> tuple[str, ...]:
    if array.ndim != 1 or array.dtype.kind not in "USiu":
        raise place.error(
            f"{name} has shape {array.shape} and type {array.dtype}. It must be a list of ids, texts or integers."
        )
    try:
        texts = np.char.decode(array, "utf-8") if array.dtype.kind == "S" else array
        ids = tuple(map(str, texts.tolist()))
    except (ValueError, SystemError) as error:  # of decoding; of code points that Unicode does not have
        raise place.error(f"{name} holds ids that are not Unicode ({error}). Write them as texts.") from None
    wrong = next((at for at, id in enumerate(ids) if not id or not is_unicode(id)), None)
    if wrong is not None:
        raise place.error(f"{name} number {wrong + 1} is {ids[wrong]!r}. An id must be a text that is not empty.")
    return ids


def _grades(place: Place, array: NDArray[Any], pairs: int) -> NDArray[np.float64]:
    if array.shape != (pairs,) or array.dtype.kind not in "fiu":
        raise place.error(
            f"grade has shape {array.shape} and type {array.dtype}. It must be one number for each of {pairs} pairs, "
            "NaN where nobody judged."
        )
    grades = array.astype(np.float64)
    if np.isinf(grades).any():
        raise place.error("grade holds infinite numbers. Grades must be finite, or NaN where nobody judged.")
    return grades


def _checked_logits(
    place: Place, dtype: str, array: NDArray[Any], query: tuple[str, ...], doc: tuple[str, ...]
) -> NDArray[Any]:
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or array.shape[1] not in LABELS or not len(array) == len(query) == len(doc):
        raise place.error(
            f"{dtype} has shape {array.shape}. It must be [{len(query)}, 1] or [{len(query)}, 2], (no, yes), "
            f"one row for each of {len(query)} queries and {len(doc)} documents."
        )
    if array.dtype.kind not in "fiu":
        raise place.error(f"{dtype} holds values of type {array.dtype}. Logits must be real numbers.")
    broken = ~np.isfinite(array.astype(np.float64)).all(axis=1)
    if broken.any():
        named = [f"{doc[i]!r} (query {query[i]!r})" for i in np.flatnonzero(broken)[:5].tolist()]
        raise place.error(
            f"{dtype} holds {int(broken.sum())} logits that are not finite: {', '.join(named)}. "
            "float16 overflows above 65504: run the model in bfloat16 or float32."
        )
    rounded = round_to(array, dtype)
    # Scores that were computed from logits in float32 are not outputs of a bfloat16 model: nothing would tie.
    if (rounded != array.astype(np.float64)).any():
        raise place.error(
            f"{dtype} holds values that {dtype} does not have, so the model did not return them. "
            "Store the raw logits, or name the array by the format that they are in."
        )
    return rounded.astype(storage_dtype(dtype))
