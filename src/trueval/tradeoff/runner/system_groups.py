"""Groups of a sweep's systems, made by an executor: in other processes, or on other machines.

A group is systems that search one index, at most eight, each up to its reranker. Which systems are in it follows from
the plan and from what is stored, never from the workers. The command embeds first, writes the inputs to one file of the
cache, and later reads what workers wrote: candidates in the cache, systems in the directory of the sweep, each whole
and at once, so that what is finished is not made again. It does itself what needs its models, its ledger or an engine:
rerankers, hosted embedders, scores again in float32, and indexes in engines.

What a worker cannot do, because it does not see the cache or lacks a library, the command does, with a warning.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import socket
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from importlib.metadata import PackageNotFoundError
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from trueval.cost.index_memory import memory_of_vectors
from trueval.errors import InputError, TruevalError, TruevalWarning
from trueval.files.atomic_files import mark_folder, write_whole
from trueval.models.hosted.account import Account
from trueval.models.hosted.services import is_hosted
from trueval.models.model_location import vector_units
from trueval.models.model_settings import ComputedModel
from trueval.models.output_part import silent
from trueval.retrieval.indexes.engines import Engine
from trueval.retrieval.indexes.index import build_spec, read_spec
from trueval.retrieval.pipeline.cache_keys import find_version, key_of, versions_of
from trueval.retrieval.pipeline.config import SPECS, Settings
from trueval.retrieval.tiles.mapped_rows import MappedRows
from trueval.threads import Executor, Needs, Threads, as_finished
from trueval.tradeoff.config.grid import System
from trueval.tradeoff.config.sweep_inputs import SweepInputs
from trueval.tradeoff.runner.system_builder import PlacedSystem, SystemBuilder, one_line
from trueval.tradeoff.runner.system_store import KEY_LENGTH, SystemStore
from trueval.version import __version__

if TYPE_CHECKING:
    from trueval.retrieval.pipeline.stage_resources import StageResources

SYSTEMS: Final = 8  # of a group
DISTRIBUTIONS: Final = ("numpy", "polars")  # that affect candidates, beside those of the indexes
LIBRARIES: Final = 160 << 20  # bytes of a process that has imported them, with FAISS
OF_WORDS: Final = 48 << 20  # bytes of what an index of words imports

_opened: dict[str, GroupInputs] = {}  # of this process: those of its last group
_opening = Lock()


class SystemGroup(NamedTuple):
    """Systems over one index, as a worker gets them.

    Attributes:
        number: which group it is, from 0.
        groups: number of groups.
        systems: key → system.
        inputs: file with a pickle of the `GroupInputs`, in the cache.
        digest: SHA-256 of this file.
        cache: folder of the cache.
        store: directory of the sweep; None without one.
        mark: name of a file in it, by which a worker sees that it is the same one.
        versions: what decides candidates besides the settings, where the command runs.
        needs: of a worker.
    """

    number: int
    groups: int
    systems: Mapping[str, System]
    inputs: Path
    digest: str
    cache: Path
    store: Path | None
    mark: str
    versions: Mapping[str, str]
    needs: Needs

    def __str__(self) -> str:
        """Its name in messages."""
        names = [each.name for each in self.systems.values()]
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        return f"{names[0]}{more}, group {self.number + 1} of {self.groups}"


class MadeGroup(NamedTuple):
    """What a worker returns.

    Attributes:
        systems: key → system, of those that could be made there.
        notes: why others could not, and other warnings.
        asked: number of systems of the group.
    """

    systems: Mapping[str, PlacedSystem]
    notes: tuple[str, ...]
    asked: int


class _Resources(NamedTuple):
    """What is known of the texts of one rewriting, so that no model is needed; as in StageResources."""

    hashes: Mapping[str, Any]
    models: Mapping[str, Any]
    vectors: Mapping[str, Any]
    seconds: Mapping[str, float]

    @classmethod
    def of(cls, shared: StageResources) -> _Resources:
        """Those of the command, with models by their settings and memory maps by their files."""
        models = {
            key: ComputedModel.of(each) for key, each in shared.models.items() if not isinstance(each, TruevalError)
        }
        vectors = {key: MappedRows.of(rows) or rows for key, rows in shared.vectors.items()}
        return cls(shared.hashes, models, vectors, shared.seconds)

    def give(self, shared: StageResources) -> None:
        """Give them to the builder of a worker.

        Raises:
            InputError: the embeddings are not on this machine.
        """
        shared.hashes.update(self.hashes)
        shared.models.update(self.models)
        shared.seconds.update(self.seconds)
        opened = {key: rows.open() if isinstance(rows, MappedRows) else rows for key, rows in self.vectors.items()}
        shared.vectors.update(opened)


class GroupInputs(NamedTuple):
    """What all groups of a sweep need, in one file.

    Attributes:
        resources: rewriting → what is known of its texts.
        query_tokens: as in SystemBuilder.
    """

    inputs: SweepInputs
    resources: Mapping[str, _Resources]
    query_tokens: Mapping[str, float]


def make_groups(
    maker: SystemBuilder, systems: Mapping[str, System], executor: Executor | None
) -> dict[str, PlacedSystem]:
    """Have an executor make the systems of a sweep that are not stored yet, up to their rerankers.

    Args:
        maker: builder of the command, which embeds and keeps the store.
        systems: by key.
        executor: None, and threads, for none of them: the command itself uses all processors.

    Returns:
        By key, those that were made there; the command makes the others.

    Raises:
        InputError: a worker would give other results, or was lost several times; the group and the machine are named.
    """
    if executor is None or isinstance(executor, Threads):
        return {}
    cuts = _cut({key: each for key, each in systems.items() if not maker.store.has(key) and _can_be_sent(each)})
    if len(cuts.first) + len(cuts.later) < 2:  # sending one would cost more
        return {}
    embedded = {key for wave in cuts for group in wave for key, each in group.items() if _embed(maker, each)}
    placed: dict[str, PlacedSystem] = {}
    total, done, step = len(embedded), 0, maker.begin("systems elsewhere")
    step("systems", 0, total)
    with _describe_groups(maker, cuts, embedded) as waves:
        for wave in waves:
            for made in as_finished(executor, make_group, wave):
                placed |= {key: _keep(maker.store, key, each) for key, each in made.systems.items()}
                done += made.asked
                step("systems", done, total)
                for note in made.notes:
                    warnings.warn(note, TruevalWarning, stacklevel=2)
    return placed


def make_group(group: SystemGroup) -> MadeGroup:
    """Make the systems of a group where this runs.

    Raises:
        InputError: libraries or processor are others, so that results would be.
    """
    here = f"{group}, on {socket.gethostname()}"
    if not group.inputs.is_file():
        cure = "Put the cache into a folder that all machines see: --cache DIR."
        return MadeGroup(
            {}, (f"{here}: {group.cache} is another folder there. {cure} It is made here.",), len(group.systems)
        )
    seen = group.store is not None and (group.store / group.mark).is_file()
    store = SystemStore(group.store if seen else None)
    try:
        _check_versions(group.versions, _versions(group.systems.values()))
        given = _open(group.inputs, group.digest)
        maker = SystemBuilder(given.inputs, group.cache, store, Account(), lambda _: silent, lambda _: None)
        maker.query_tokens.update(given.query_tokens)
        for name, known in given.resources.items():
            known.give(maker.shared[name])
    except TruevalError as error:  # a library is another one, or not there; or a file is another one
        raise InputError(f"{here}: {error}") from error
    except (MemoryError, OSError) as error:
        return MadeGroup({}, (f"{here}: {one_line(error)}. It is made here.",), len(group.systems))
    made, notes = dict[str, PlacedSystem](), list[str]()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", TruevalWarning)
        for key, system in group.systems.items():
            try:
                made[key] = maker.retrieve(system, key)
            except Exception as error:  # noqa: BLE001  the command makes it, and its error there is the one that counts
                notes.append(f"{system.name}, on {socket.gethostname()}: {one_line(error)} It is made here.")
    notes += [str(each.message) for each in caught if issubclass(each.category, TruevalWarning)]
    return MadeGroup(made, tuple(notes), len(group.systems))


class _Cuts(NamedTuple):
    """Systems by key of each group: those that build the indexes, and those that read them from the cache after it."""

    first: Sequence[Mapping[str, System]]
    later: Sequence[Mapping[str, System]]


def _cut(systems: Mapping[str, System]) -> _Cuts:
    by_index: dict[str, dict[str, System]] = {}
    for key, system in systems.items():
        by_index.setdefault(_index_of(system.settings), {})[key] = system
    first, later = list[Mapping[str, System]](), list[Mapping[str, System]]()
    for group in by_index.values():
        rest = iter(group.items())
        first.append(dict(islice(rest, SYSTEMS)))
        while some := dict(islice(rest, SYSTEMS)):
            later.append(some)
    return _Cuts(first, later)


def _index_of(settings: Settings) -> str:
    """What the index of a system is built from: that of vectors if there is one, since it takes longer."""
    table = "index" if "index" in settings else "sparse"
    spec = build_spec(settings[table][SPECS[table][0]])
    return json.dumps([settings["embed"] if table == "index" else None, spec], sort_keys=True)


def _can_be_sent(system: System) -> bool:
    """Whether a system up to its reranker needs no service, no engine, and no model but for embeddings."""
    settings = system.settings
    hosted = "embed" in settings and is_hosted(settings["embed"]["model"])
    again = "repair" in settings and "rerank" not in settings
    kinds = (read_spec(settings[table][key])[0] for table, (key, *_) in SPECS.items() if table in settings)
    # One process owns the ledger of what a model wrote.
    return not (hosted or again or system.is_written_by_model or any(issubclass(each, Engine) for each in kinds))


def _embed(maker: SystemBuilder, system: System) -> bool:
    try:
        maker.embed(system)
    except Exception:  # noqa: BLE001  it fails again where the command makes it, which records why
        return False
    return True


@contextmanager
def _describe_groups(maker: SystemBuilder, cuts: _Cuts, embedded: set[str]) -> Iterator[list[Iterator[SystemGroup]]]:
    """The groups as workers get them, while the file of their inputs is there."""
    cache, store = next(iter(maker.shared.values())).cache, maker.store.folder
    assert cache is not None  # noqa: S101  a sweep has one, if only a temporary one
    waves = [[kept for group in wave if (kept := {k: s for k, s in group.items() if k in embedded})] for wave in cuts]
    # A killed command leaves the file, in the form that `trueval cache` removes; the next one has the same name.
    inputs = cache.resolve() / "stages" / f".systems-{key_of(sorted(embedded))[:KEY_LENGTH]}.pickle"
    inputs.parent.mkdir(parents=True, exist_ok=True)
    if store is not None:
        store.mkdir(parents=True, exist_ok=True)
        store = store.resolve()
    resources = {name: _Resources.of(each) for name, each in maker.shared.items()}
    given = GroupInputs(maker.inputs, resources, maker.query_tokens)
    write_whole(inputs, lambda path: _dump(given, path))
    try:
        with inputs.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        total = sum(map(len, waves))
        with nullcontext("") if store is None else mark_folder(store) as mark:
            numbers = iter(range(total))
            yield [
                (
                    SystemGroup(
                        next(numbers),
                        total,
                        group,
                        inputs,
                        digest,
                        inputs.parent.parent,
                        store,
                        mark,
                        _versions(group.values()),
                        _needs(maker, group.values(), inputs),
                    )
                    for group in wave
                )
                for wave in waves
            ]
    finally:
        inputs.unlink(missing_ok=True)


def _dump(given: GroupInputs, path: Path) -> None:
    with path.open("wb") as file:
        pickle.dump(given, file, protocol=pickle.HIGHEST_PROTOCOL)


def _open(file: Path, digest: str) -> GroupInputs:
    """The inputs, read once for all groups of a process.

    Raises:
        InputError: the file is not what the command wrote.
    """
    with _opening:
        if digest not in _opened:
            data = file.read_bytes()
            if hashlib.sha256(data).hexdigest() != digest:
                raise InputError(f"{file} is not what the command wrote. Run the same command again.")
            _opened.clear()  # one sweep at a time: two may not fit
            _opened[digest] = pickle.loads(data)  # noqa: S301  its digest came with the group
        return _opened[digest]


def _versions(systems: Iterable[System]) -> dict[str, str]:
    """Versions of the libraries of some systems' stages, and the processor's units, which decide last bits."""
    found = {"trueval": __version__, "the processor": vector_units()}
    try:
        found |= {name: find_version(name) for name in DISTRIBUTIONS}
        for system in systems:
            for table, settings in system.settings.items():
                if "model" not in settings:  # its outputs are there
                    found |= versions_of(table, settings)
    except PackageNotFoundError as error:
        raise InputError(f"the package {error} is not installed. Install trueval with the same extras.") from None
    return found


def _check_versions(wanted: Mapping[str, str], here: Mapping[str, str]) -> None:
    if told := ", ".join(
        f"{name} is {here.get(name)}, not {wanted[name]}" for name in wanted if here.get(name) != wanted[name]
    ):
        raise InputError(
            f"the systems would be others here: {told}. Give all workers the same packages and kind of processor."
        )


def _needs(maker: SystemBuilder, systems: Iterable[System], inputs: Path) -> Needs:
    """Processors and memory of a worker: the libraries, the inputs, and the largest index with its vectors.

    The inputs are in memory as text, with the bytes that were read; words take about twice their texts.
    """
    count = os.environ.get("OMP_NUM_THREADS", "")
    texts = inputs.stat().st_size
    largest = 0.0
    for system in systems:
        work = maker.work(system)
        size = OF_WORDS + 2.0 * texts if "sparse" in system.settings else 0.0
        if "embed" in system.settings:
            documents, dimension = work.document_vectors(silent).shape
            size += (
                4.0 * documents * dimension
                + memory_of_vectors(system.settings["index"]["spec"], documents, dimension).total
            )
        largest = max(largest, size)
    processors = int(count) if count.isdecimal() and int(count) else os.cpu_count() or 1
    return Needs(processors, 0, LIBRARIES + 2 * texts + int(largest))


def _keep(store: SystemStore, key: str, made: PlacedSystem) -> PlacedSystem:
    """Write a system that was sent back, so that it is there whatever happens to the command."""
    if store.folder is None or made.about is None or made.run is None:
        return made
    store.write(key, made.about, made.run)
    return PlacedSystem(made.memory)
