"""The bytes of a source, read once and unpacked."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from typing import IO, Any, NamedTuple

from trueval.errors import InputError, Place
from trueval.files.source.decompression import BOM, drain, unpack
from trueval.files.source.fingerprints import CHANGED, note_bytes
from trueval.files.source.memory_estimate import TEXT, check_memory
from trueval.printable import encodable

ABSENT = "there is no such file. Check the path and the working directory."
EMPTY = "the file is empty. It must have at least one row. Check that it was written to the end."
EMPTY_INPUT = "nothing comes from standard input, or it was read already: it can be read once. Give a file."
STDIN = "<stdin>"
# Suffixes of names of runs or judgments, which are omitted from names in tables.
SUFFIXES = frozenset(
    (
        *(".gz", ".gzip", ".zst", ".zstd", ".trec", ".run", ".res", ".results", ".qrels", ".qrel", ".txt"),
        *(".tsv", ".csv", ".json", ".jsonl", ".ndjson", ".parquet", ".arrow"),
    )
)


class SourceBytes(NamedTuple):
    """The unpacked bytes of a source.

    Args:
        data: bytes without compression and without a UTF-8 byte order mark.
        source: the path as given, or "<stdin>".
        name: the file name without its known suffixes.
    """

    data: bytes
    source: str
    name: str


Source = str | PathLike[str] | IO[bytes] | IO[str] | SourceBytes


def read_content(source: Source) -> SourceBytes:
    """Read a path, "-" for standard input, or an open file, and unpack it; what is read already is given back.

    Compression is recognized by the first bytes, not by the name.

    Raises:
        InputError: the file is missing, a directory, unreadable, empty, truncated, too large, packed in another way,
            or changes while it is read.
    """
    # Bytes are read as a whole: a file that changes while it is read, or a decompression bomb, must be refused before
    # parsing.
    if isinstance(source, SourceBytes):
        return source
    packed, label = _read_bytes(source)
    data = unpack(packed, label).removeprefix(BOM)
    if not data:
        raise Place(label).error(EMPTY_INPUT if label == STDIN else EMPTY)
    return SourceBytes(data, label, stem(label))


def _read_bytes(source: str | PathLike[str] | IO[bytes] | IO[str]) -> tuple[bytes, str]:
    if isinstance(source, (str, PathLike)):
        if source != "-":
            return read_bytes(fspath(source)), encodable(fspath(source))
        data = drain(sys.stdin.buffer, STDIN)
        note_bytes("-", data)
        return data, STDIN
    if not hasattr(source, "read"):
        raise Place(type(source).__name__).error(
            "not a file. It must be a path, '-' or an open file. "
            "For dicts use from_dict, for frames from_frame, for arrays from_arrays."
        )
    given: Any = source.read()
    name = getattr(source, "name", None)
    label = encodable(name) if isinstance(name, str) else "<file object>"
    if not isinstance(given, str):
        return bytes(given), label
    try:
        return given.encode(), label
    except UnicodeEncodeError as error:
        half = given[error.start]
        raise Place(label, given.count("\n", 0, error.start) + 1).error(
            f"the text holds half a surrogate pair ({half!r}). It must be Unicode. Open the file as bytes."
        ) from None


@contextmanager
def explain_read_errors(place: Place, absent: str = ABSENT) -> Iterator[None]:
    """Report in our own words why a file cannot be opened or read inside the block.

    Args:
        place: place of the file.
        absent: message for a missing file.

    Raises:
        InputError: it cannot.
    """
    try:
        yield
    except FileNotFoundError:
        raise place.error(absent) from None
    except IsADirectoryError:
        raise place.error("this is a directory. Give one file in it.") from None
    except InputError:  # is a ValueError, too
        raise
    except (OSError, ValueError) as error:  # ValueError: a NUL character in the path
        reason = getattr(error, "strerror", None) or error
        raise place.error(f"cannot be read: {reason}. Check the path and its permissions.") from error


def read_bytes(path: str) -> bytes:
    """Read the raw bytes of a file, and record its fingerprint where fingerprints are collected.

    Raises:
        InputError: as `read_content`, where it is about the file and not about what is in it.
    """
    label = encodable(path)
    place = Place(label)
    with explain_read_errors(place), Path(path).open("rb", buffering=0) as file:
        before = os.fstat(file.fileno())
        data = _read_to_end(file, before, label)
        states = {file_state(state) for state in (before, os.fstat(file.fileno()), Path(path).stat())}
    # The files of /proc report a size of 0 but have content.
    if len(states) > 1 or (before.st_size and stat.S_ISREG(before.st_mode) and len(data) != before.st_size):
        raise place.error(CHANGED)
    note_bytes(path, data)
    return data


def can_be_read_once(path: str) -> bool:
    """Tell standard input, pipes and devices, which give their bytes to the first who reads them."""
    try:
        return path == "-" or not stat.S_ISREG(Path(path).stat().st_mode)
    except (OSError, ValueError):  # reading it will report the error; ValueError: a NUL in the path
        return False


def _read_to_end(file: Any, state: os.stat_result, label: str) -> bytes:
    """A regular file in one piece; a pipe or device piece by piece, for it may never end."""
    if not stat.S_ISREG(state.st_mode):
        return drain(file, label)
    check_memory(state.st_size * TEXT, Place(label))
    return bytes(file.readall())


def file_state(state: os.stat_result) -> tuple[int, ...]:
    """Give what tells that a file was written to or replaced; nothing for pipes and devices, whose times move."""
    return (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns) if stat.S_ISREG(state.st_mode) else ()


def stem(label: str) -> str:
    """Give the name of a file without its folder and without known suffixes.

    >>> stem("runs/bm25.trec.gz")
    'bm25'
    """
    path = Path(label)
    while path.suffix.lower() in SUFFIXES and path.stem:
        path = path.with_suffix("")
    return path.name or label
