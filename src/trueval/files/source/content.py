"""The bytes of a source, read once and unpacked."""

from __future__ import annotations

import os
import stat
import sys
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import IO, Any

from trueval.errors import InputError, Place
from trueval.files.source.limits import SIZE
from trueval.files.source.packing import BOM, drain, unpack

Source = str | PathLike[str] | IO[bytes] | IO[str]

EMPTY = "the file is empty. It must have at least one row. Check that it was written to the end."
CHANGED = "the file changed while it was read. Wait until it is written to the end."
# What people add to the name of a run or of judgments; all of it is left out of the name shown in tables.
SUFFIXES = frozenset(
    (
        *(".gz", ".gzip", ".zst", ".zstd", ".trec", ".run", ".res", ".results", ".qrels", ".qrel", ".txt"),
        *(".tsv", ".csv", ".json", ".jsonl", ".ndjson", ".parquet", ".arrow"),
    )
)


@dataclass(frozen=True, eq=False)
class Content:
    """The unpacked bytes of a source.

    Args:
        data: bytes without compression and without a UTF-8 byte order mark.
        source: the path as given, or "<stdin>".
        name: the file name without its known suffixes.
    """

    data: bytes
    source: str
    name: str


def read_content(source: Source) -> Content:
    """Read a path, "-" for standard input, or an open file, and unpack it.

    Compression is recognized by the first bytes, not by the name.

    Raises:
        InputError: the file is missing, a directory, unreadable, empty, truncated, too large, packed in another way,
            or changes while it is read.
    """
    # Bytes are held as a whole: a file that changes meanwhile, or a bomb, must be refused before anything is parsed.
    packed, label = _read_bytes(source)
    data = unpack(packed, label).removeprefix(BOM)
    if not data:
        raise Place(label).error(EMPTY)
    return Content(data, label, stem(label))


def _read_bytes(source: Source) -> tuple[bytes, str]:
    if isinstance(source, str) and source == "-":
        return drain(sys.stdin.buffer, "<stdin>"), "<stdin>"
    if isinstance(source, (str, PathLike)):
        return _read_path(Path(fspath(source))), fspath(source)
    if not hasattr(source, "read"):
        raise Place(type(source).__name__).error(
            "not a file. It must be a path, '-' or an open file. "
            "For dicts use from_dict, for frames from_frame, for arrays from_arrays."
        )
    data: Any = source.read()
    name = getattr(source, "name", None)
    label = name if isinstance(name, str) else "<file object>"
    if not isinstance(data, str):
        return bytes(data), label
    try:
        return data.encode(), label
    except UnicodeEncodeError as error:
        raise Place(label, data.count("\n", 0, error.start) + 1).error(
            f"the text holds half a surrogate pair ({data[error.start]!r}). It must be Unicode. Open the file as bytes."
        ) from None


def _read_path(path: Path) -> bytes:
    place = Place(str(path))
    try:
        with path.open("rb", buffering=0) as file:
            before = os.fstat(file.fileno())
            data = _read_to_end(file, before, str(path))
            states = {file_state(state) for state in (before, os.fstat(file.fileno()), path.stat())}
    except FileNotFoundError:
        raise place.error("there is no such file. Check the path and the working directory.") from None
    except IsADirectoryError:
        raise place.error("this is a directory. Give one file in it.") from None
    except InputError:  # is a ValueError, too
        raise
    except (OSError, ValueError) as error:  # ValueError: a NUL character in the path
        reason = getattr(error, "strerror", None) or error
        raise place.error(f"cannot be read: {reason}. Check the path and its permissions.") from error
    # The files of /proc say that they have no bytes, and hold some.
    if len(states) > 1 or (before.st_size and stat.S_ISREG(before.st_mode) and len(data) != before.st_size):
        raise place.error(CHANGED)
    return data


def _read_to_end(file: Any, state: os.stat_result, label: str) -> bytes:
    """A regular file in one piece; a pipe or device piece by piece, for it may never end."""
    if not stat.S_ISREG(state.st_mode):
        return drain(file, label)
    if state.st_size > SIZE.value:
        raise Place(label).error(f"{state.st_size:,} bytes. At most {SIZE.value:,} are read. {SIZE.cure}")
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
