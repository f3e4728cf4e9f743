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
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from trueval.errors import InputError, TruevalError
from trueval.files.atomic_files import mark_folder, write_whole
from trueval.files.source.memory_estimate import VARIABLE, chosen_limit, format_size, free_memory, resident_memory
from trueval.models.known_outputs import drop_model_path
from trueval.models.local_model import LocalModel
from trueval.models.model_location import need
from trueval.models.model_settings import settings_of
from trueval.models.output_part import OutputCache, Step, in_turns, item_keys, read_shard, shards_of, write_shard
from trueval.threads import Executor, Needs, Threads, as_finished, error_of_part
from trueval.version import __version__

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Bytes of a process that has imported torch, transformers and sentence-transformers: 508 MiB measured on Linux. The
# context of an accelerator comes on top, which was not measured.
LIBRARIES: Final = 512 << 20
CONTEXT: Final = 512 << 20
BYTES_OF_TOKEN: Final = 3  # of UTF-8, at least: a character of Chinese; English has 4 to 5
WIDTH: Final = 4 * 1024 + 2 * 4096  # of a model whose configuration does not tell its sizes
CUDA: Final = "cuda"

_opened: dict[str, Any] = {}  # models of this process, loaded once


class ModelSource(NamedTuple):
    """How a worker gets a model.

    Attributes:
        settings: everything that determines the outputs, without the place of the model.
        build: class of a model that runs on this machine, or a function that gives the model itself.
        options: what it is called with.
        weights: bytes of its weights.
        loading: bytes of the files that are read to make weights of another format; 0 where files are mapped as they
            are.
        width: numbers that a forward pass holds for each token: 4 hidden + 2 intermediate ones, as measured.
    """

    settings: Mapping[str, Any]
    build: Callable[..., Any]
    options: Mapping[str, Any]
    weights: int
    loading: int = 0
    width: int = WIDTH

    @classmethod
    def of(cls, model: Any, settings: Mapping[str, Any]) -> ModelSource:
        """The source of a loaded model, whose workers load it from the same folder or hub id."""
        decided = json.loads(json.dumps(drop_model_path(settings)))
        if not isinstance(model, LocalModel):
            return cls(decided, _itself, {"model": model}, 0)
        options = {each.name: getattr(model, each.name) for each in fields(model) if each.init}
        network: Any = getattr(model, "model", None)
        weights = sum(each.nbytes for each in network.parameters()) if hasattr(network, "parameters") else 0
        return cls(decided, type(model), options, weights, _bytes_read(model, weights), _width(network))

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


def _bytes_read(model: LocalModel, weights: int) -> int:
    """Bytes of weights in files of another format, which are in memory beside those of the model while it loads."""
    stored = sum(file.stat().st_size for file in Path(model.place.path).glob("*.safetensors"))
    return stored if abs(stored - weights) > weights // 10 else 0


def _width(network: Any) -> int:
    """Numbers per token in a layer of a network, from the first configuration that tells its sizes."""
    for module in network.modules() if hasattr(network, "modules") else ():
        config = getattr(module, "config", None)
        hidden, between = getattr(config, "hidden_size", None), getattr(config, "intermediate_size", None)
        if isinstance(hidden, int) and isinstance(between, int):
            return 4 * hidden + 2 * between
    return WIDTH


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
        """Processors, accelerators and memory of a worker: libraries, weights, the larger of loading and a batch."""
        settings = self.source.settings
        gpus = int(str(settings.get("device", "")).startswith(CUDA))
        longest = max(map(_size, self.items), default=0) // BYTES_OF_TOKEN + 2
        tokens = min(int(settings.get("max_length") or longest), longest)
        texts = min(int(settings.get("batch_size", 1)), len(self.items))
        batch = texts * tokens * self.source.width * (4 if settings.get("dtype") == "float32" else 2)
        more = CONTEXT + self.source.loading if gpus else max(self.source.loading, batch)
        return Needs(int(settings.get("threads", 1) or 1), gpus, LIBRARIES + self.source.weights + more)

    def check_memory(self) -> None:
        """Refuse to work where there is too little memory, before a model is loaded.

        Raises:
            InputError: there is.
        """
        needed, free = self.needs.memory, free_memory() + resident_memory()
        if needed > free:
            raise InputError(
                f"a worker needs about {format_size(needed)} of memory, and {format_size(free)} is free. Take a "
                "smaller batch size, fewer workers, or a machine with more."
            )

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
        shard.check_memory()
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
        raise error_of_part(shard, error, "The other shards are kept.") from error


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
            InputError: as `compute_shard`, or a worker would have too little memory.
        """
        method = getattr(self.kept.part.forward, "__name__", "")
        bound = getattr(self.kept.part.forward, "__self__", None) is self.model
        if executor is None or isinstance(executor, Threads) or hasattr(self.model, "answers") or not bound:
            return False
        self.kept.describe(about)
        missing = [at for at, chosen in enumerate(self.shards) if self.kept.sound_shard(at, chosen) is None]
        self.missing = in_turns(missing)
        if len(self.missing) < 2:
            return False
        self._check_memory(executor, next(self._jobs(method, "")))
        total = len(self.kept.part.items)
        done = total - sum(len(self.shards[at]) for at in self.missing)
        if step is not None:
            step(self.kept.part.name, done, total)  # what follows is the speed of the workers
        with mark_folder(self.kept.place) as mark:
            for found in as_finished(executor, compute_shard, self._jobs(method, mark)):
                if found.data is not None:
                    write_whole(self.kept.shard_file(found.number), partial(_write, found.data))
                self.kept.now += found.seconds
                done += found.items
                if step is not None:
                    step(self.kept.part.name, done, total)
        return True

    def _check_memory(self, executor: Executor, shard: ModelShard) -> None:
        """Refuse workers that would not have the memory of the first shard, whose texts are the longest.

        Raises:
            InputError: they exceed --memory each, or together what this machine has free.
        """
        needed, most = shard.needs.memory, chosen_limit()
        told = f"{shard}, on {socket.gethostname()}: a worker needs about {format_size(needed)} of memory"
        if most is not None and needed > most:
            raise InputError(
                f"{told}, and {format_size(most)} may be taken, as --memory or {VARIABLE} says. Allow more, or take a "
                "smaller batch size."
            )
        workers, free = int(getattr(executor, "workers_here", 0)), free_memory()
        if workers * needed > free:
            fit = free // needed
            cure = f"--on processes:{fit}" if fit > 1 else "--on threads"
            raise InputError(
                f"{told}, and {workers} of them more than the {format_size(free)} that are free. Take {cure}, a "
                "smaller batch size, or a machine with more."
            )

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


def _size(item: str | tuple[str, ...]) -> int:
    """Bytes of a text, or of a pair."""
    return sum(len(text.encode("utf-8", "replace")) for text in ([item] if isinstance(item, str) else item))
