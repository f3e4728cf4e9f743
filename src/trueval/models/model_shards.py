"""Shards of a model's outputs, computed by an executor: in other processes, or on other machines.

A shard is some batches of one part (output_part.py). Its address is the identity of the part, the hash of model,
settings, library versions and texts, and its number; which items it has follows from the texts and the batch size, not
from the workers. So the bytes are the same wherever it is computed: a worker whose settings differ from those of the
part is refused.

A worker that sees the folder of the part writes its shard there, whole and at once, so that it is kept whatever happens
to the command; the shard of a worker that does not is sent back and written here.
"""

from __future__ import annotations

import json
import socket
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from trueval.errors import InputError, TruevalError
from trueval.files.atomic_files import write_whole
from trueval.models.known_outputs import drop_model_path
from trueval.models.local_model import LocalModel
from trueval.models.model_location import need
from trueval.models.model_settings import settings_of
from trueval.models.output_part import OutputCache, Step, item_keys, read_shard, shards_of, write_shard
from trueval.threads import Executor, Needs, Threads
from trueval.version import __version__

if TYPE_CHECKING:
    from numpy.typing import NDArray

LIBRARIES: Final = 1 << 30  # bytes of a process that has imported torch and transformers, an upper bound
ACTIVATIONS: Final = 1 << 16  # bytes of activations per token and text of a batch: 4 bytes x 16 arrays x 1,024
CUDA: Final = "cuda"
MARK: Final = ".shared-"

_opened: dict[str, Any] = {}  # models of this process, loaded once


class ModelSource(NamedTuple):
    """How a worker gets a model.

    Attributes:
        settings: everything that determines the outputs, without the place of the model.
        build: class of a model that runs on this machine, or a function that gives the model itself.
        options: what it is called with.
        weights: bytes of its weights.
    """

    settings: Mapping[str, Any]
    build: Callable[..., Any]
    options: Mapping[str, Any]
    weights: int

    @classmethod
    def of(cls, model: Any, settings: Mapping[str, Any]) -> ModelSource:
        """The source of a loaded model, whose workers load it from the same folder or hub id."""
        decided = json.loads(json.dumps(drop_model_path(settings)))
        if not isinstance(model, LocalModel):
            return cls(decided, _itself, {"model": model}, 0)
        options = {each.name: getattr(model, each.name) for each in fields(model) if each.init}
        network: Any = getattr(model, "model", None)
        weights = sum(each.nbytes for each in network.parameters()) if hasattr(network, "parameters") else 0
        return cls(decided, type(model), options, weights)

    def open(self) -> Any:
        """The model, loaded when this process first needs it.

        Raises:
            InputError: it cannot be loaded here, or would give other outputs than where the command runs.
        """
        key = json.dumps([self.settings, str(self.build)], sort_keys=True)
        if self.build is _itself:
            return self.build(**self.options)
        if key not in _opened:
            _opened.clear()  # one model at a time: two may not fit
            threads = self.settings.get("threads")
            if isinstance(threads, int):
                need("torch").set_num_threads(threads)
            model = self.build(**self.options)
            here = json.loads(json.dumps(drop_model_path(settings_of(model))))
            if here != self.settings:
                names = [name for name in self.settings if here.get(name) != self.settings[name]]
                told = ", ".join(f"{name} is {here.get(name)!r}, not {self.settings[name]!r}" for name in names)
                raise InputError(
                    f"the model would give other outputs here: {told}. Give all workers the same files, packages and "
                    "kind of processor."
                )
            _opened[key] = model
        model = _opened[key]
        model.batch_size = self.options["batch_size"]  # an earlier shard may have halved it
        return model


def _itself(model: Any) -> Any:
    return model


class ModelShard(NamedTuple):
    """Some items of a part, as a worker gets them.

    Attributes:
        number: which shard of the part it is, from 0.
        shards: number of shards of the part.
        part: name of the part.
        source: the model.
        method: name of the model's method.
        items: texts or pairs.
        called: name of each item for error messages.
        file: where the shard is kept.
        identity: hash of model, settings and texts.
        places: [item] index in the part.
        keys: [item] hash of the item.
        version: of trueval.
        mark: name of a file beside `file`, by which a worker sees that the folder is the same one.
    """

    number: int
    shards: int
    part: str
    source: ModelSource
    method: str
    items: list[Any]
    called: list[str]
    file: Path
    identity: str
    places: NDArray[Any]
    keys: NDArray[Any]
    version: str
    mark: str

    @property
    def needs(self) -> Needs:
        """Processors, accelerators and memory of a worker: the weights, the libraries, and the longest batch."""
        settings = self.source.settings
        gpus = int(str(settings.get("device", "")).startswith(CUDA))
        longest = max(map(_characters, self.items), default=0)
        tokens = min(int(settings.get("max_length") or longest), longest)
        batch = ACTIVATIONS * tokens * int(settings.get("batch_size", 1))
        return Needs(int(settings.get("threads", 1) or 1), gpus, self.source.weights + LIBRARIES + batch * (not gpus))

    def __str__(self) -> str:
        """Its name in messages."""
        return f"{self.part}, shard {self.number + 1} of {self.shards}"


class ComputedShard(NamedTuple):
    """What a worker returns.

    Attributes:
        data: content of the file; None where the worker has written it.
        seconds: that the model took.
    """

    number: int
    items: int
    data: bytes | None
    seconds: float


def compute_shard(shard: ModelShard) -> ComputedShard:
    """Compute a shard where this runs, and write it if its folder is here.

    Raises:
        InputError: the model, a text or an output is bad; the part and the machine are named.
    """
    try:
        if shard.version != __version__:
            raise InputError(f"trueval is {__version__} here and {shard.version} where the command runs. Install one.")
        here = (shard.file.parent / shard.mark).exists()
        if here and _is_kept(shard):  # by a worker that was lost before it could tell
            return ComputedShard(shard.number, len(shard.items), None, 0.0)
        model = shard.source.open()
        began = time.perf_counter()
        outputs = getattr(model, shard.method)(shard.items, shard.called)
        took = time.perf_counter() - began
        metadata = {"identity": shard.identity, "batch_size": str(model.batch_size), "seconds": repr(took)}
        if here:
            write_shard(shard.file, outputs, metadata, shard.places, shard.keys)
            return ComputedShard(shard.number, len(shard.items), None, took)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / shard.file.name
            write_shard(file, outputs, metadata, shard.places, shard.keys)
            return ComputedShard(shard.number, len(shard.items), file.read_bytes(), took)
    except (TruevalError, OSError, MemoryError) as error:
        raise InputError(
            f"{shard}, on {socket.gethostname()}: {str(error) or type(error).__name__} The other shards are kept: "
            "correct it, and run the same command again."
        ) from error


def _is_kept(shard: ModelShard) -> bool:
    try:
        return len(read_shard(shard.file, shard.identity).places) == len(shard.items)
    except (OSError, InputError):  # it is not there, or damaged
        return False


class SharedPart:
    """The shards of one part that an executor computes.

    Args:
        kept: the cache folder of the part.
        model: the model, loaded here too.
        settings: its settings, from `settings_of`.
    """

    def __init__(self, kept: OutputCache, model: Any, settings: Mapping[str, Any]) -> None:
        self.kept, self.model, self.settings = kept, model, settings

    def compute(self, executor: Executor | None, about: Mapping[str, Any], step: Step | None) -> bool:
        """Compute the missing shards elsewhere.

        Returns:
            Whether that was done; a single shard, and those of threads, are left to the model here, which uses all
            processors by itself.

        Raises:
            InputError: as `compute_shard`.
        """
        method = getattr(self.kept.part.forward, "__name__", "")
        bound = getattr(self.kept.part.forward, "__self__", None) is self.model
        if executor is None or isinstance(executor, Threads) or hasattr(self.model, "answers") or not bound:
            return False
        self.kept.describe(about)
        self.missing = [at for at, chosen in enumerate(self.shards) if self.kept.sound_shard(at, chosen) is None]
        if len(self.missing) < 2:
            return False
        total = len(self.kept.part.items)
        done = total - sum(len(self.shards[at]) for at in self.missing)
        with self._mark() as mark:
            for found in executor.map(compute_shard, self._jobs(method, mark)):
                if found.data is not None:
                    write_whole(self.kept.shard_file(found.number), partial(_write, found.data))
                self.kept.now += found.seconds
                done += found.items
                if step is not None:
                    step(self.kept.part.name, done, total)
        return True

    @contextmanager
    def _mark(self) -> Iterator[str]:
        """Name of a file in the folder of the part while the work goes on."""
        for left in self.kept.place.glob(f"{MARK}*"):  # of a command that was killed
            left.unlink()
        mark = self.kept.place / f"{MARK}{uuid.uuid4().hex}"
        mark.touch()
        try:
            yield mark.name
        finally:
            mark.unlink(missing_ok=True)

    @cached_property
    def shards(self) -> list[NDArray[Any]]:
        """Places of the items of each shard."""
        return shards_of(self.kept.part, int(self.model.batch_size))

    def _jobs(self, method: str, mark: str) -> Iterator[ModelShard]:
        source, part, keys = ModelSource.of(self.model, self.settings), self.kept.part, item_keys(self.kept.part.items)
        for number in self.missing:
            places = self.shards[number]
            items, called = ([of[place] for place in places.tolist()] for of in (part.items, part.called))
            yield ModelShard(
                number,
                len(self.shards),
                part.name,
                source,
                method,
                items,
                called,
                self.kept.shard_file(number),
                self.kept.identity,
                places,
                keys[places],
                __version__,
                mark,
            )


def _write(data: bytes, path: Path) -> None:
    path.write_bytes(data)


def _characters(item: str | tuple[str, ...]) -> int:
    return len(item) if isinstance(item, str) else sum(map(len, item))
