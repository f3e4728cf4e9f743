"""The ledger of live retrieval: every answer, written at once, so that an interrupted job goes on where it was.

    {"live": 1, "retriever": "...", "k": 100, "began": "2026-01-05T10:00:00+00:00"}
    {"call": 0, "query": "q1", "text": "6f1ed002ab559585", "seconds": 0.012, "documents": [["d7", 0.83]]}

A live engine changes, so a ledger is for one job: whoever has the result removes it.
"""

from __future__ import annotations

import errno
import hashlib
import os
import threading
from collections import deque
from collections.abc import Mapping
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple

from trueval.errors import InputError
from trueval.files.json.quick_json import read_json, write_json
from trueval.files.ownership import Ownership

# 1: first version.
FORMAT: Final = 1


class LiveAnswer(NamedTuple):
    """An answer to a query.

    Attributes:
        seconds: from the call to the answer.
        documents: as `documents_of` has them.
    """

    seconds: float
    documents: list[Any]


class LiveQuestion(NamedTuple):
    """A query in one of several calls for all queries.

    Attributes:
        call: place of the call, from 0.
        query: id.
        text: text.
    """

    call: int
    query: str
    text: str

    @property
    def key(self) -> tuple[int, str, str]:
        """What names it in a ledger."""
        return self.call, self.query, hashlib.sha256(self.text.encode("utf-8", "replace")).hexdigest()[:16]


class LiveLedger:
    """The answers of a job. Use it as a context manager: the file is closed at the end.

    Args:
        path: its file; None to keep nothing.
        retriever: key of the retriever.
        k: documents asked for.

    Raises:
        InputError: the file cannot be read or written, is of another job, or another process writes it.
    """

    def __init__(self, path: Path | None, retriever: str, k: int) -> None:
        self.path = path
        self.began = datetime.now(UTC).isoformat(timespec="seconds")
        self.answers: dict[tuple[int, str, str], LiveAnswer] = {}
        self._file: FileIO | None = None
        self._pending, self._writing = deque[bytes](), threading.Lock()
        self._owner: Ownership | None = None
        if path is not None:
            try:
                self._open(path, retriever, k)
            except BaseException:
                self._close()
                raise

    def _open(self, path: Path, retriever: str, k: int) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._owner = Ownership(path, "A ledger of live answers")
            self._read(path, retriever, k)
            self._file = path.open("ab", buffering=0)
            if self._file.tell() == 0:
                self._write({"live": FORMAT, "retriever": retriever, "k": k, "began": self.began})
            elif path.read_bytes()[-1:] != b"\n":  # of a process that was killed
                self._file.write(b"\n")
        except OSError as error:
            raise InputError(f"{path}: the ledger cannot be kept ({error.strerror}). Name another place.") from None
        self.resumed = len(self.answers)

    resumed = 0

    def __enter__(self) -> LiveLedger:
        """Return the ledger."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self._close()

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
        if self._owner is not None:
            self._owner.release()

    def keep(self, question: LiveQuestion, answer: LiveAnswer) -> None:
        """Write an answer down.

        Raises:
            InputError: it cannot be written.
        """
        key = call, query, text = question.key
        self.answers[key] = answer
        self._write({"call": call, "query": query, "text": text, **answer._asdict()})

    def _write(self, line: Mapping[str, object]) -> None:
        """Append a line.

        A thread that finds another one writing leaves its line to that one, so that none waits for the disk; what a
        kill can lose is what was answered during one call of the system.
        """
        if self._file is None:
            return
        self._pending.append(write_json(line) + b"\n")
        while self._pending and self._writing.acquire(blocking=False):
            try:
                data = b"".join(self._pending.popleft() for _ in range(len(self._pending)))
                if self._file.write(data) != len(data):
                    raise OSError(errno.ENOSPC, "")
            except OSError as error:
                raise InputError(
                    f"{self.path}: an answer cannot be written down ({os.strerror(error.errno or 0)}). Make room, and "
                    "run the same again."
                ) from None
            finally:
                self._writing.release()

    def _read(self, path: Path, retriever: str, k: int) -> None:
        """Take the answers of the file, if there is one; a line cut by the end of a process is passed over."""
        if not path.exists():
            return
        lines = [found for line in path.read_bytes().splitlines() if (found := _decode_line(line)) is not None]
        if not lines:
            return
        head = lines[0]
        if (head.get("live"), head.get("retriever"), head.get("k")) != (FORMAT, retriever, k):
            raise InputError(
                f"{path}: the ledger is of another retriever, or of another k. Name another place, or remove it.",
                source=str(path),
            )
        self.began = str(head["began"])
        for line in lines[1:]:
            documents, seconds = line.get("documents"), line.get("seconds")
            if isinstance(documents, list) and isinstance(seconds, int | float):
                name = line.get("call"), line.get("query"), line.get("text")
                self.answers[name] = LiveAnswer(float(seconds), documents)  # type: ignore[index]  # others never match


def _decode_line(line: bytes) -> dict[str, object] | None:
    try:
        found = read_json(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
