"""Fingerprints: size and hash of every file read, computed from the bytes while reading."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import Any, NamedTuple

from trueval.errors import Place

CHANGED = "the file changed while it was read. Wait until it is written to the end."


class Fingerprint(NamedTuple):
    """The hash of a file's bytes as read, compressed if the file is compressed.

    Attributes:
        bytes: number of bytes.
        sha256: hash of the bytes, in hexadecimal digits.
    """

    bytes: int
    sha256: str


class FileFingerprints:
    """The files that were read in the block of `record_files`, by path as it was given; "-" is standard input."""

    def __init__(self) -> None:
        self._found: dict[str, Fingerprint] = {}
        self._lock = Lock()

    def note(self, path: str, fingerprint: Fingerprint) -> None:
        """Record a file that was read to its end.

        Raises:
            InputError: it was read before, and had other bytes: nobody could say which of the two a result is of.
        """
        with self._lock:
            before = self._found.setdefault(path, fingerprint)
        if before != fingerprint:
            raise Place(path).error(CHANGED)

    def get(self, path: str) -> Fingerprint | None:
        """The fingerprint of a path; None where nothing was read from it."""
        return self._found.get(path)

    def __iter__(self) -> Iterator[str]:
        """The paths, in the order in which they were first read."""
        return iter(tuple(self._found))


# Per thread, so that evaluations in two threads are independent.
_RECORDER: ContextVar[FileFingerprints | None] = ContextVar("trueval_seen", default=None)


@contextmanager
def record_files(seen: FileFingerprints | None = None) -> Iterator[FileFingerprints]:
    """Note every file that is read in the block. Without it nothing is hashed.

    Args:
        seen: what to add to; a new one if None.

    >>> from trueval.sample import sample_path
    >>> from trueval import Judgments
    >>> path = str(sample_path() / "qrels.trec")
    >>> with record_files() as seen:
    ...     judgments = Judgments.read(path)
    >>> seen.get(path).bytes == (sample_path() / "qrels.trec").stat().st_size
    True
    """
    seen = FileFingerprints() if seen is None else seen
    token = _RECORDER.set(seen)
    try:
        yield seen
    finally:
        _RECORDER.reset(token)


def recorder() -> FileFingerprints | None:
    """The recorder of the current block; None if there is none."""
    return _RECORDER.get()


def note_bytes(path: str, data: bytes) -> None:
    """Record a file that is held as a whole, if a block records files."""
    if (seen := recorder()) is not None:
        seen.note(path, Fingerprint(len(data), hashlib.sha256(data).hexdigest()))


class PartsHash:
    """The hash of a file whose parts several threads read, in whatever order they come.

    >>> digest = PartsHash()
    >>> digest.take(2, b"c"), digest.take(0, b"ab")
    (None, None)
    >>> digest.fingerprint().sha256 == hashlib.sha256(b"abc").hexdigest()
    True
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self.begin()

    def begin(self) -> None:
        """Restart, for another pass over the file."""
        self._digest, self._at, self._waiting = hashlib.sha256(), 0, dict[int, bytes]()

    def take(self, start: int, data: bytes) -> None:
        """Hash a part, or keep it until all before it are hashed.

        Whoever comes meanwhile waits, so that only the parts wait here that were read in these moments.
        """
        with self._lock:
            self._waiting[start] = data
            while (following := self._waiting.pop(self._at, b"")) != b"":
                self._digest.update(following)
                self._at += len(following)

    def fingerprint(self) -> Fingerprint:
        """The fingerprint of the hashed bytes: from the first to the first that is missing."""
        return Fingerprint(self._at, self._digest.hexdigest())


class HashedStream(io.RawIOBase):
    """A file that is hashed while it is read in pieces."""

    def __init__(self, file: Any) -> None:
        self._file, self._digest, self._at = file, hashlib.sha256(), 0

    def readable(self) -> bool:
        """Whether it can be read: it can."""
        return True

    def readinto(self, into: Any, /) -> int:
        """Read the next bytes into a buffer, and give their number."""
        count = int(self._file.readinto(into))
        self._digest.update(memoryview(into)[:count])
        self._at += count
        return count

    def fingerprint(self) -> Fingerprint:
        """The fingerprint of the bytes read."""
        return Fingerprint(self._at, self._digest.hexdigest())
