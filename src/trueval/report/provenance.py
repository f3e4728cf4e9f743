"""Provenance: files with their sizes and hashes, versions, command, date."""

from __future__ import annotations

import os
import platform
import shlex
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from trueval.errors import InputError
from trueval.printable import encodable

if TYPE_CHECKING:
    from trueval.files.source.fingerprints import FileFingerprints

LIBRARIES = ("numpy", "polars")


def provenance(
    files: Sequence[tuple[str, str]], seen: FileFingerprints | None = None, now: datetime | None = None
) -> dict[str, Any]:
    """The information needed to repeat an evaluation and to verify that it is the same.

    Args:
        files: pairs of role ("judgments", "run") and path; "-" is standard input.
        seen: what was read of them, see `trueval.files.source.fingerprints.record_files`; None if not recorded.
        now: date; that of the clock or of SOURCE_DATE_EPOCH if None.

    Returns:
        written, command, versions and files with bytes and sha256, null for files that were not read;
        absolute paths are reduced to file names.

    Raises:
        InputError: SOURCE_DATE_EPOCH is not a date.
    """
    return {
        "written": (now or date()).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "command": shlex.join(["trueval", *map(strip_folders, sys.argv[1:])]),
        "versions": versions(),
        "files": files_read(files, seen),
    }


def files_read(files: Sequence[tuple[str, str]], seen: FileFingerprints | None) -> list[dict[str, object]]:
    """The entries of read files in results.

    Args:
        files: role and path of each.
        seen: what was read of them.
    """
    return [{"role": role, "path": strip_folders(path), **_fingerprint(path, seen)} for role, path in files]


def date() -> datetime:
    """The clock's date, or that of SOURCE_DATE_EPOCH (reproducible-builds.org/specs/source-date-epoch).

    Raises:
        InputError: the variable is not a number of seconds that is a date.
    """
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if not epoch:
        return datetime.now(UTC)
    try:
        return datetime.fromtimestamp(int(epoch), UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise InputError(f"SOURCE_DATE_EPOCH must be a date in whole seconds since 1970. Got {epoch!r}.") from error


def strip_folders(argument: str) -> str:
    """A path as results keep it: as it was given, an absolute one without its folders, and all of it UTF-8.

    Results are handed on, and where they were made says nothing of them: who is asked for the file, or for bytes and
    hash, finds it by its name.

    Args:
        argument: argument of a command: a path, name=path, --option=path, recipe:path, the spec of an index with one,
            or anything else, which stays.

    Example:
        >>> tuple(map(strip_folders, ("runs/bm25.trec", "/home/me/bm25.trec", "new=/home/me/bm25.trec.gz")))
        ('runs/bm25.trec', 'bm25.trec', 'new=bm25.trec.gz')
        >>> strip_folders("nDCG@10"), strip_folders("--out=/home/me/results"), strip_folders("/home/me/results#bm25")
        ('nDCG@10', '--out=results', 'results#bm25')
        >>> strip_folders("--model=cross-encoder:/home/me/reranker"), strip_folders("https://example.org/v1")
        ('--model=cross-encoder:reranker', 'https://example.org/v1')
        >>> strip_folders("milvus(uri='/home/me/corpus.db', M=8)")
        "milvus(uri='corpus.db', M=8)"
    """
    argument = encodable(argument)
    if PurePath(argument).is_absolute():
        return PurePath(argument).name or argument
    for mark in "=:'":
        before, found, rest = argument.partition(mark)
        if found and not rest.startswith("//") and (kept := strip_folders(rest)) != rest:
            return f"{before}{mark}{kept}"
    return argument


def versions() -> dict[str, str]:
    """Versions of this package, Python and the libraries that compute."""
    from trueval.version import __version__

    libraries = {name: version(name) for name in LIBRARIES}
    return {"trueval": __version__, "python": platform.python_version(), **libraries}


def _fingerprint(path: str, seen: FileFingerprints | None) -> Mapping[str, object]:
    found = None if seen is None else seen.get(path)
    return {"bytes": None, "sha256": None} if found is None else found._asdict()
