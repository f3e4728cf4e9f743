"""The cache folder of one part: a model's outputs for its items, during a run and after it."""

from __future__ import annotations

import errno
import json
import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from trueval.collection import text_hash
from trueval.errors import InputError, TruevalWarning
from trueval.extras import need
from trueval.files.atomic_files import write_whole
from trueval.files.digests import DIGESTS, damage, digest_of, seal, touch_entry
from trueval.numerics import storage_dtype
from trueval.standings.groups import ranges

if TYPE_CHECKING:
    from numpy.typing import NDArray


# 3: digests. 2: a folder per part, with rows in one file. 1: a folder per pass, with shards only.
FORMAT_VERSION: Final = 3
KIND: Final = "outputs"
BATCHES: Final = 32  # batches per shard: the most that an interruption can lose
KEY_BYTES: Final = 16  # bytes of a SHA-256: a collision is expected only among 2⁶⁴ texts
ABOUT, ROWS, LENGTHS, KEYS = "part.json", "rows.npy", "lengths.npy", "keys.npy"
DAMAGED: Final = (ABOUT, ROWS, LENGTHS, KEYS, DIGESTS)  # what is recomputed after damage
TENSORS: Final = ("values", "lengths", "places", "keys")  # file name of a shard

Step = Callable[[str, int, int], None]


def silent(part: str, done: int, of: int) -> None:
    """The step that reports nothing."""


class OutputPart(NamedTuple):
    """Texts or pairs for one function of a model.

    Attributes:
        name: "queries", "documents" or "pairs".
        items: the texts, or pairs of query and document; iterated in order, and some accessed by index.
        called: name of each item for error messages.
        forward: function from items and their names to outputs.
        length: function that returns the length of an item, in any unit.
    """

    name: str
    items: Sequence[Any]
    called: Sequence[str]
    forward: Callable[[Sequence[Any], Sequence[str]], Any]
    length: Callable[[Any], int]

    def texts(self) -> dict[str, Any]:
        """Number of items, and their hash."""
        flat = (text for item in self.items for text in ([item] if isinstance(item, str) else item))
        return {"count": len(self.items), "sha256": text_hash(flat)}


class PartOutputs(NamedTuple):
    """The outputs of one part.

    Attributes:
        rows: [item, any] one array; for late interaction one [token, dimension] array per text.
        texts: number and SHA-256 of the items.
        batch_sizes: final batch sizes of the shards, largest first.
        earlier: seconds that earlier commands took for the reused rows.
    """

    rows: Any
    texts: Mapping[str, object]
    batch_sizes: tuple[int, ...]
    earlier: float = 0.0


def shards_of(part: OutputPart, batch_size: int) -> list[NDArray[np.int64]]:
    """The items of each shard, longest first, which reduces padding.

    Uses the initial batch size: a resumed run must cut the same shards as the interrupted one.
    """
    # The sort is stable and only by length, so that every run of the same texts cuts the same shards.
    lengths = np.fromiter(map(part.length, part.items), np.int64, len(part.items))
    order = np.argsort(-lengths, kind="stable")
    return [order[start : start + BATCHES * batch_size] for start in range(0, len(order), BATCHES * batch_size)]


def in_turns(numbers: Sequence[int]) -> list[int]:
    """Shards in the order in which they are computed: the longest, the middle one, those of the quarters, and so on.

    The longest comes first, so that memory runs out at once or not at all. What is done so far is of all lengths, so
    that its speed tells the time left (van der Corput 1935).

    Args:
        numbers: of shards, longest first.

    >>> in_turns([0, 1, 2, 3, 4, 5, 6])
    [0, 4, 2, 6, 1, 5, 3]
    """
    bits = max(1, (len(numbers) - 1).bit_length())
    return [numbers[at] for at in sorted(range(len(numbers)), key=lambda at: f"{at:0{bits}b}"[::-1])]


def forward(part: OutputPart, chosen: NDArray[np.int64]) -> Any:
    """Run the model of a part on some of its items."""
    places = chosen.tolist()
    return part.forward([part.items[i] for i in places], [part.called[i] for i in places])


class OutputCache:
    """The cache folder of one part.

    Args:
        identity: hash of model, settings and texts.
        part: the input of the model.
    """

    def __init__(self, place: Path, identity: str, part: OutputPart) -> None:
        self.place, self.identity, self.part = place, identity, part
        self.now = 0.0  # seconds spent computing in this command

    def compute(self, model: Any, about: Mapping[str, object], step: Step | None) -> None:
        """Compute the missing shards, and join all into rows."""
        self.describe(about)
        keys = item_keys(self.part.items)
        shards = shards_of(self.part, int(model.batch_size))
        sizes: set[int] = set()
        lengths = np.zeros(len(self.part.items), dtype=np.int64)
        done, seconds = 0, 0.0
        for number in in_turns(range(len(shards))):
            chosen = shards[number]
            shard = self.sound_shard(number, chosen)
            if shard is None:
                began = time.perf_counter()
                outputs = forward(self.part, chosen)
                took = time.perf_counter() - began
                metadata = {"identity": self.identity, "batch_size": str(model.batch_size), "seconds": repr(took)}
                write_shard(self.shard_file(number), outputs, metadata, chosen, keys[chosen])
                self.now += took
                shard = self._read(number, chosen)
            # A stored shard keeps the batch size that it was computed with, since it changes low-precision outputs.
            sizes.add(shard.batch_size)
            lengths[chosen] = shard.lengths
            done += len(chosen)
            seconds += shard.seconds
            if step is not None:
                step(self.part.name, done, len(self.part.items))
        told = {"batch_sizes": sorted(sizes, reverse=True), "seconds": seconds}
        self._finish(shards, lengths, keys, {**about, **told})

    def damage(self) -> str | None:
        """What is wrong with the rows; None where they are intact."""
        return damage(self.place, self.identity)

    def clear(self) -> None:
        """Remove damaged files; the folder itself stays, since other processes may wait for it."""
        for name in (*DAMAGED, *(file.name for file in self.place.glob("shard-*.safetensors"))):
            (self.place / name).unlink(missing_ok=True)

    def read(self, texts: Mapping[str, object]) -> PartOutputs:
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
            sizes, seconds = tuple(int(size) for size in about["batch_sizes"]), float(about["seconds"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{self.place}: damaged outputs ({error}). Remove the folder, and they are computed again."
            ) from error
        touch_entry(self.place / DIGESTS)
        return PartOutputs(
            rows if lengths is None else np.split(rows, np.cumsum(lengths)[:-1]),
            texts,
            sizes,
            max(seconds - self.now, 0),
        )

    def _finish(
        self,
        shards: Sequence[NDArray[np.int64]],
        lengths: NDArray[np.int64],
        keys: NDArray[np.bytes_],
        about: Mapping[str, object],
    ) -> None:
        """Join all shards into rows, and remove the shards."""
        dtype = self._join(shards, lengths)
        self.describe({**about, "dtype": dtype})
        write_whole(self.place / KEYS, lambda path: save_array(path, keys))  # by which other parts find their rows
        files = {name: self.place / name for name in (ABOUT, KEYS, *([LENGTHS] if lengths.any() else []))}
        seal(self.place, self.identity, written={**files, ROWS: self.place / f".{ROWS}"})
        (self.place / f".{ROWS}").replace(self.place / ROWS)
        for number in range(len(shards)):
            self.shard_file(number).unlink()

    def describe(self, about: Mapping[str, object]) -> None:
        """Write what the folder holds."""
        data = (json.dumps(about, indent=1, ensure_ascii=False) + "\n").encode()
        write_whole(self.place / ABOUT, lambda path: path.write_bytes(data))

    def sound_shard(self, number: int, chosen: NDArray[np.int64]) -> Shard | None:
        """An intact shard of an earlier run; None if missing, or damaged, with a warning."""
        if not self.shard_file(number).exists():
            return None
        try:
            shard = self._read(number, chosen)
            if np.array_equal(shard.places, chosen):
                return shard
            raise InputError(f"{self.shard_file(number)}: a shard of other texts.")
        except InputError as error:
            warnings.warn(f"{error} It is made again.", TruevalWarning, stacklevel=2)
            return None

    def shard_file(self, number: int) -> Path:
        """Where a shard is kept until all are joined."""
        return self.place / f"shard-{number:05}.safetensors"

    def _read(self, number: int, chosen: NDArray[np.int64]) -> Shard:
        return read_shard(self.shard_file(number), self.identity, len(chosen))

    def _join(self, shards: Sequence[NDArray[np.int64]], lengths: NDArray[np.int64]) -> str:
        """Write the rows of all shards into one file in item order; returns their format."""
        own = np.maximum(lengths, 1)  # 0: one row, without an axis of its own
        starts = np.cumsum(own) - own
        first = self._read(0, shards[0]).values
        integers = np.dtype(f"u{first.dtype.itemsize}")
        shape = (int(own.sum()), *first.shape[1:])
        rows = np.lib.format.open_memmap(self.place / f".{ROWS}", "w+", integers, shape)
        _reserve(self.place / f".{ROWS}")
        for number, chosen in enumerate(shards):
            rows[ranges(starts[chosen], own[chosen])] = self._read(number, chosen).values.view(integers)
        rows.flush()
        if lengths.any():
            write_whole(self.place / LENGTHS, lambda path: save_array(path, lengths))
        return str(first.dtype.name)


def _reserve(file: Path) -> None:
    """Allocate a mapped file at once: on a full disk, writing to an unallocated map kills the process.

    Raises:
        OSError: there is no room; the file is removed.
    """
    if not hasattr(os, "posix_fallocate"):
        return
    try:
        with file.open("r+b") as opened:
            os.posix_fallocate(opened.fileno(), 0, file.stat().st_size)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):  # a file system that cannot reserve space
            return
        file.unlink()
        raise OSError(error.errno, os.strerror(error.errno), str(file)) from error


def item_keys(items: Sequence[Any]) -> NDArray[np.bytes_]:
    """[item] hash of each text or pair."""
    digests = bytearray()
    for item in items:
        digests += bytes.fromhex(text_hash([item] if isinstance(item, str) else item))[:KEY_BYTES]
    return np.frombuffer(digests, dtype=f"S{KEY_BYTES}")


def save_array(path: Path, array: NDArray[np.generic]) -> None:
    """Save an array in a file of exactly this name."""
    with path.open("wb") as file:  # given a name, NumPy would add a suffix
        np.save(file, array, allow_pickle=False)


def _safetensors() -> Any:
    storage_dtype("bfloat16")  # NumPy knows the dtype name once ml_dtypes is imported
    need("safetensors.numpy", "Stored logits", "models")
    return need("safetensors", "Stored logits", "models")


class Shard(NamedTuple):
    """Outputs of some items, rows concatenated.

    Attributes:
        values: [row, any] outputs.
        lengths: [item] number of rows; 0 for a single row without its own axis.
        batch_size: batch size that it was computed with.
        places: [item] index in the part.
        keys: [item] hash of the text or pair.
    """

    values: NDArray[Any]
    lengths: NDArray[np.int64]
    batch_size: int
    places: NDArray[np.int64]
    keys: NDArray[np.bytes_]
    seconds: float


def write_shard(
    file: Path,
    outputs: Any,
    metadata: Mapping[str, str],
    places: Sequence[int] | NDArray[np.int64],
    keys: NDArray[Any],
) -> None:
    """Write concatenated rows, the number of rows per item, the item numbers, and a digest."""
    library = _safetensors()
    ragged = not isinstance(outputs, np.ndarray)
    rows = np.concatenate(list(outputs)) if ragged else outputs
    lengths = [len(output) if ragged else 0 for output in outputs]  # 0: one row, without an axis of its own
    tensors = {
        "values": np.ascontiguousarray(rows),
        "lengths": np.array(lengths, dtype=np.int64),
        "places": np.asarray(places, dtype=np.int64),
        "keys": np.ascontiguousarray(keys).view(np.uint8).reshape(len(lengths), KEY_BYTES),
    }
    about = {**metadata, "digest": _shard_digest(tensors, metadata)}
    try:
        write_whole(file, lambda path: library.numpy.save_file(tensors, path, metadata=about))
    except library.SafetensorError as error:  # on a full disk its error is not an OSError
        raise InputError(
            f"{file}: cannot be written ({error}). What was written before is kept. Make room, and run the same "
            "command again."
        ) from error


def read_shard(file: Path, identity: str, items: int | None = None) -> Shard:
    """Read a shard, and check its number of items if given.

    Raises:
        InputError: it is damaged, or of another pass.
    """
    library = _safetensors()
    try:
        with library.safe_open(file, framework="numpy") as opened:
            metadata = opened.metadata() or {}
            tensors = {name: opened.get_tensor(name) for name in TENSORS}
            sound = metadata.pop("digest", None) == _shard_digest(tensors, metadata)
    except (library.SafetensorError, ValueError) as error:
        raise InputError(f"{file}: a damaged shard ({error}).") from error
    if not sound:
        raise InputError(f"{file}: a damaged shard, which is not what was written.")
    if metadata["identity"] != identity or items not in (None, len(tensors["lengths"])):
        raise InputError(f"{file}: a shard of another pass; its texts, model and settings are not those of part.json.")
    keys = tensors["keys"].view(f"S{KEY_BYTES}").reshape(-1)
    size, seconds = int(metadata["batch_size"]), float(metadata["seconds"])
    return Shard(tensors["values"], tensors["lengths"], size, tensors["places"], keys, seconds)


def _shard_digest(tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]) -> str:
    shapes = json.dumps(
        [sorted(metadata.items()), [[str(tensors[each].dtype), tensors[each].shape] for each in TENSORS]]
    )
    return digest_of(shapes.encode(), *(np.ascontiguousarray(tensors[each]).view(np.uint8).data for each in TENSORS))
