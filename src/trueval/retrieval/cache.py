"""Cache: models and pipelines store outputs by the hash of everything that affects them, so none is computed twice.

    outputs/MODEL-DTYPE-PART-HASH/    embeddings and logits: part.json, and rows.npy once all of them are there
    indexes/NAME-HASH/                an index with index.json; the folder is there when it is complete
    stages/NAME-HASH.parquet          candidates of a stage of a pipeline, their remarks in NAME-HASH.json
    ledger.jsonl                      costs of hosted models; shown, but never removed

While groups of a sweep's systems are made elsewhere, their inputs are stages/.systems-HASH.pickle.
Other files belong to other programs: they are counted, and left alone.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

from trueval.errors import InputError, PolicyError, nearest
from trueval.files.source.memory_estimate import format_size, parse_size
from trueval.models import output_part as kept
from trueval.models.hosted.account import LEDGER
from trueval.report.number_texts import count_phrase
from trueval.retrieval.indexes import index
from trueval.retrieval.pipeline.stage_cache import has_candidates
from trueval.retrieval.pipeline.stage_resources import REMOVED

# 2: time of last use, and the limit. 1: first version.
FORMAT: Final = 2
KIND: Final = "cache"
KINDS: Final = ("outputs", "indexes", "stages")
HASHED: Final = re.compile(r".+-[0-9a-f]{12,16}")  # suffix of an entry's name
LEFTOVER: Final = re.compile(r"\.(?P<name>.+-[0-9a-f]{12,16})(\.parquet|\.json)?\..+")  # leftovers of an ended process
COMPLETE: Final = "complete"
BUSY: Final = timedelta(hours=1)  # incomplete entries newer than this may be in use by a process
CACHE: Final = "TRUEVAL_CACHE"  # environment variable for another folder than the system's
LIMIT: Final = "TRUEVAL_CACHE_LIMIT"  # size above which the least recently used entries are removed
DEFAULT_LIMIT: Final = "20G"
ANOTHER: Final = f"--cache DIR, cache= in Python, or {CACHE} names another."
UNITS: Final = {"d": "days", "h": "hours", "w": "weeks"}


@dataclass(frozen=True)
class CacheEntry:
    """The files stored under one hash.

    Attributes:
        kind: one of `KINDS`.
        name: name of its folder, or of its file without the suffix.
        paths: files and folders that belong to it.
        about: model and dtype, or spec of the index; empty otherwise.
        items: number of texts, pairs, documents or candidates; None if not recorded.
        bytes: size on disk.
        used: time of the last write or read.
        state: "complete", "interrupted" (the same command resumes it) or "leftover" (nothing will use it).
    """

    kind: str
    name: str
    paths: tuple[Path, ...]
    about: str
    items: int | None
    bytes: int
    used: datetime
    state: str

    def is_busy(self, now: datetime) -> bool:
        """Whether a process may be writing to it."""
        return self.state != COMPLETE and now - self.used < BUSY

    def to_dict(self) -> dict[str, object]:
        """The entry as a dict, as in the JSON of `trueval cache`."""
        told = {name: getattr(self, name) for name in ("kind", "name", "about", "items", "bytes", "state")}
        return {**told, "used": self.used.isoformat(timespec="seconds")}


class Cache(NamedTuple):
    """The contents of a cache.

    Attributes:
        folder: folder of the cache.
        entries: entries by kind and name.
        ledger: size of the ledger of costs in bytes; None without one.
        others: unknown files and folders in it.
    """

    folder: Path
    entries: tuple[CacheEntry, ...]
    ledger: int | None
    others: int

    def to_dict(self) -> dict[str, object]:
        """The JSON of `trueval cache`."""
        return {
            "kind": KIND,
            "format": FORMAT,
            "folder": str(self.folder),
            "entries": [entry.to_dict() for entry in self.entries],
            "ledger": self.ledger,
            "others": self.others,
        }


def user_cache(environment: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
    """The user's cache folder, by the conventions of the system.

    Args:
        environment: environment variables: TRUEVAL_CACHE if set, otherwise XDG_CACHE_HOME, or LOCALAPPDATA on Windows.
        platform: value of sys.platform.

    Raises:
        FileNotFoundError: the user has no home.

    >>> user_cache({"XDG_CACHE_HOME": "/big"}, "linux").as_posix()
    '/big/trueval'
    """
    if environment.get(CACHE):
        return Path(environment[CACHE])
    home = environment.get("XDG_CACHE_HOME", "")
    if Path(home).is_absolute():  # XDG: relative paths must be ignored
        return Path(home) / "trueval"
    if platform == "win32" and environment.get("LOCALAPPDATA"):
        return Path(environment["LOCALAPPDATA"]) / "trueval" / "Cache"
    try:
        own = Path.home()
    except RuntimeError as error:
        raise FileNotFoundError(errno.ENOENT, "the user has no home folder", "~") from error
    if platform == "win32":
        return own / "AppData" / "Local" / "trueval" / "Cache"
    return (own / "Library" / "Caches" if platform == "darwin" else own / ".cache") / "trueval"


def own_cache(environment: Mapping[str, str] = os.environ) -> Path:
    """The user's cache folder, created with access for its owner only where it does not exist.

    Raises:
        OSError: it cannot be made or written; of a user without a home, too.
    """
    place = user_cache(environment)
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=place):  # a read-only folder cannot serve as a cache
        return place


def limit_of(environment: Mapping[str, str] = os.environ) -> int:
    """Maximum size of the user's cache in bytes.

    Args:
        environment: environment variables; TRUEVAL_CACHE_LIMIT sets the limit.

    Raises:
        PolicyError: that is no size.

    >>> limit_of({"TRUEVAL_CACHE_LIMIT": "500M"})
    524288000
    """
    return parse_size(environment.get(LIMIT) or DEFAULT_LIMIT, LIMIT)


class CacheFolder(NamedTuple):
    """The cache for one job.

    Attributes:
        place: folder of the cache; None where nothing can be stored.
    """

    place: Path | None
    notes: tuple[str, ...] = ()


def cache_for(given: Path | None, out: Path | None, *, make: bool = True) -> CacheFolder:
    """The cache for one job: the named folder, or the user's.

    The least recently used entries of the user's cache are removed if it exceeds its limit. If it cannot be written,
    the folder `cache` of the results is used.

    Args:
        given: folder as named; None for the user's cache.
        out: folder of the results; None for none.
        make: whether to create the user's cache if missing; a dry run creates nothing.

    Raises:
        PolicyError: the limit of the user's is no size.
    """
    if given is not None:
        return CacheFolder(given)
    limit = limit_of()
    instead = None if out is None else out / "cache"
    try:
        if not make:
            place = user_cache()
            there = next(each for each in (place, *place.parents) if each.exists())
            return CacheFolder(place if there.is_dir() and os.access(there, os.W_OK) else instead)
        place = own_cache()
    except OSError as error:
        kept = "Nothing is kept" if instead is None else f"What is computed is kept in {instead}"
        told = f"{error.filename}: the cache cannot be written ({error.strerror}). {kept}. {ANOTHER}"
        return CacheFolder(instead, (told,))
    return CacheFolder(place, _enforce_limit(place, limit))


def _enforce_limit(place: Path, limit: int) -> tuple[str, ...]:
    """Remove the least recently used entries from a cache above its limit, with a note."""
    if size_of(place) <= limit:
        return ()
    gone = select_evictions(read_cache(place), limit, file_clock(place))
    if not gone:
        return ()
    with suppress(OSError):  # another process may have been faster
        remove(gone)
    entries = count_phrase(len(gone), "entry that was", "entries that were")
    since, size = f"{max(each.used for each in gone):%Y-%m-%d}", format_size(sum(each.bytes for each in gone))
    return (f"{entries} not used since {since} left the cache ({size}), which may hold {format_size(limit)}: {LIMIT}.",)


def file_clock(place: Path) -> datetime:
    """The time by the clock that dates the files of a folder, which may be that of another machine."""
    try:
        with tempfile.TemporaryFile(dir=place) as file:
            file.write(b"now")
            file.flush()
            return datetime.fromtimestamp(os.fstat(file.fileno()).st_mtime, UTC)
    except OSError:  # the disk is full
        return datetime.now(UTC)


def size_of(folder: Path) -> int:
    """Total size of the files in a folder in bytes; much faster than reading its entries."""
    size = 0
    try:
        for each in os.scandir(folder):
            size += size_of(Path(each.path)) if each.is_dir(follow_symlinks=False) else each.stat().st_size
    except OSError:  # files that another process removed in the meantime have no size
        return size
    return size


def select_evictions(cache: Cache, limit: int, now: datetime) -> tuple[CacheEntry, ...]:
    """The entries to remove so that a cache keeps to a limit, least recently used first.

    Args:
        cache: contents of the cache.
        limit: maximum size in bytes.
        now: current time; entries used within the last hour stay, since a process may be using them.
    """
    over = sum(entry.bytes for entry in cache.entries) - limit
    gone = list[CacheEntry]()
    for entry in sorted(cache.entries, key=lambda entry: entry.used):
        if over <= 0 or now - entry.used < BUSY:
            break
        gone.append(entry)
        over -= entry.bytes
    return tuple(gone)


def read_cache(folder: Path) -> Cache:
    """Read the contents of a cache; a missing folder is an empty cache.

    Raises:
        InputError: it is a file, or cannot be read.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: this is a file. A cache must be a folder.")
    entries, others, ledger = list[CacheEntry](), 0, None
    try:
        for path in sorted(folder.iterdir()) if folder.exists() else ():
            if path.name == LEDGER and path.is_file():
                ledger = path.stat().st_size
            elif path.name in KINDS and path.is_dir() and not path.is_symlink():
                found = list(_entries(path))
                entries += (entry for entry in found if entry is not None)
                others += found.count(None)
            else:
                others += 1
    except OSError as error:
        raise InputError(f"{folder}: cannot be read ({error.strerror}). Correct its rights.") from error
    return Cache(folder, tuple(entries), ledger, others)


def select_entries(cache: Cache, names: Sequence[str], age: timedelta | None, now: datetime) -> tuple[CacheEntry, ...]:
    """The entries that names refer to.

    Args:
        cache: contents of the cache.
        names: each a kind, "all", or the beginning of an entry's name; empty for all.
        age: minimum time since the last use; None for any.
        now: current time.

    Raises:
        PolicyError: nothing there begins with a name, or a name is empty.
    """
    meant = list[CacheEntry]()
    if "" in names:  # an empty shell variable
        raise PolicyError(f"A name is empty. Give one of {', '.join(KINDS)}, all, or how a name begins.")
    for name in names or ("all",):
        found = [entry for entry in cache.entries if name in ("all", entry.kind) or entry.name.startswith(name)]
        if not found and name not in ("all", *KINDS):
            known = nearest(name, [*KINDS, "all", *(entry.name for entry in cache.entries)])
            raise PolicyError(f"{cache.folder}: nothing there is called {name!r}.{known}")
        meant += found
    return tuple(entry for entry in dict.fromkeys(meant) if age is None or now - entry.used > age)


def remove(entries: Sequence[CacheEntry]) -> None:
    """Remove entries; each disappears for readers before its files do.

    Raises:
        OSError: one cannot be removed; those before it are gone.
    """
    for entry in entries:
        for path in entry.paths:
            with tempfile.TemporaryDirectory(prefix=REMOVED, dir=path.parent) as place:
                path.rename(Path(place) / path.name)


def age_of(text: str) -> timedelta:
    """Read a duration in the syntax of `--older-than`.

    Raises:
        PolicyError: it is none.

    >>> age_of("30d"), age_of("12h")
    (datetime.timedelta(days=30), datetime.timedelta(seconds=43200))
    """
    found = re.fullmatch(r"(\d{1,5})([dhw])", text)
    if found is None:
        raise PolicyError(f"An age must be a number of hours, days or weeks, such as 12h, 30d or 4w. Got {text!r}.")
    return timedelta(**{UNITS[found[2]]: int(found[1])})


def _entries(folder: Path) -> Iterator[CacheEntry | None]:
    """The entries of one kind; None for each file or folder that is none."""
    candidates = {path.stem for path in folder.glob("*.parquet")}
    for path in sorted(folder.iterdir()):
        if path.is_symlink():
            yield None
        elif LEFTOVER.fullmatch(path.name) or path.name.startswith(REMOVED):
            yield _entry(folder.name, path.name, (path,), "", None, "leftover")
        elif folder.name == "stages":
            if path.suffix == ".json" and path.stem in candidates and HASHED.fullmatch(path.stem):
                continue  # it belongs to the candidates next to it
            yield _stage(path) if path.is_file() and HASHED.fullmatch(path.stem) else None
        else:
            read = _outputs if folder.name == "outputs" else _index
            yield read(path) if path.is_dir() and HASHED.fullmatch(path.name) else None


def _outputs(path: Path) -> CacheEntry | None:
    about = _json(path / kept.ABOUT)
    if about.get("kind") != kept.KIND:
        return None
    settings, texts = about.get("settings") or {}, about.get("texts") or {}
    said = " ".join(str(each) for each in (settings.get("model"), settings.get("dtype"), about.get("part")) if each)
    state = COMPLETE if (path / kept.ROWS).is_file() else "interrupted"
    return _entry("outputs", path.name, (path,), said, texts.get("count"), state)


def _index(path: Path) -> CacheEntry | None:
    about = _json(path / index.ABOUT)
    if about.get("kind") != index.KIND:
        return None
    return _entry("indexes", path.name, (path,), str(about.get("spec", "")), about.get("documents"), COMPLETE)


def _stage(path: Path) -> CacheEntry | None:
    if path.suffix not in (".json", ".parquet"):
        return None
    if not has_candidates(path.with_suffix(".parquet")):  # one without the other
        return _entry("stages", path.stem, (path,), "", None, "leftover")
    return _entry("stages", path.stem, (path, path.with_suffix(".json")), "candidates", None, COMPLETE)


def _entry(kind: str, name: str, paths: tuple[Path, ...], about: str, items: int | None, state: str) -> CacheEntry:
    files = [file for path in paths for file in (path.rglob("*") if path.is_dir() else (path,))]
    stats = [*_stats(paths), *(held := list(_stats(files)))]
    size = sum(each.st_size for each in held if stat.S_ISREG(each.st_mode))
    used = datetime.fromtimestamp(max((each.st_mtime for each in stats), default=0.0), UTC)
    return CacheEntry(kind, name, paths, about, items, size, used, state)


def _stats(paths: Sequence[Path]) -> Iterator[os.stat_result]:
    """The file status of each file; files that another process moved away meanwhile are skipped."""
    for path in paths:
        with suppress(FileNotFoundError):
            yield path.lstat()


def _json(path: Path) -> Mapping[str, Any]:
    """The content of a JSON file; empty where it is not one of ours."""
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return about if isinstance(about, dict) else {}
