"""The call log: a JSON Lines file of what was sent to services and the cost of each call.

    {"call": "3f..", "status": "sent", "owner": "...", "cost": null, "at_most": 0.004, ...}    before it is sent
    {"call": "3f..", "status": "200", "cost": 0.0011, "at_most": null, ...}                    when it is answered

The last line of a call counts: its cost, or its maximum cost while the cost is unknown. So calls in flight are never
lost when a program is killed. A call whose cost is never reported (the connection broke during the response, the
program was killed) keeps its maximum; a line with its name and a cost settles it. Lines of earlier versions have no
name, and count at their cost.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from trueval.errors import InputError, TruevalWarning
from trueval.report.number_texts import count_phrase

SENT: Final = "sent"  # status of a call in flight


class CallLog:
    """A log file; it is not accessed before the first use.

    Args:
        path: path of the file; None for no log.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._read = 0  # bytes already read by `new_lines`
        self._is_damaged = False

    def ready(self) -> None:
        """Check that the file is writable, before the first paid call.

        Raises:
            InputError: it cannot.
        """
        if self.path is None:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.open("ab").close()
        except OSError as error:
            raise InputError(
                f"{self.path}: cannot be written ({error.strerror}), and every call is written down there. Move it "
                "away, or name another cache. Nothing of this was sent."
            ) from error

    def write(self, entry: Mapping[str, object], *, sync: bool) -> None:
        """Append a line.

        Args:
            sync: whether the line is on disk when this returns; otherwise it survives the process, but not a crash of
                the machine.

        Raises:
            InputError: it cannot be written.
        """
        if self.path is None:
            return
        line = (json.dumps(dict(entry), ensure_ascii=False) + "\n").encode("utf-8", "replace")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a+b") as file:
                # An interrupted program or a full disk may have left half a line, which must not corrupt this one.
                if file.seek(0, os.SEEK_END) and file.seek(-1, os.SEEK_END) >= 0 and file.read(1) != b"\n":
                    line = b"\n" + line
                file.write(line)  # a single write per line, so that programs can share the file
                file.flush()
                if sync:
                    os.fsync(file.fileno())
        except OSError as error:
            raise InputError(
                f"{self.path}: cannot be written ({error.strerror}), and every call is written down there. Make room, "
                "or correct its rights, and run the same command again."
            ) from error

    def new_lines(self) -> list[Mapping[str, object]]:
        """Lines added by any process since the last read, without an incomplete last one.

        A line that cannot be read, and is not a truncated one of ours, is skipped with a warning: its amount is
        unknown.

        Raises:
            InputError: the file cannot be read.
        """
        if self.path is None or not self.path.exists():
            return []
        try:
            with self.path.open("rb") as file:
                file.seek(self._read)
                new = file.read()
        except OSError as error:
            raise InputError(
                f"{self.path}: cannot be read ({error.strerror}), and it holds what was spent. Correct its rights."
            ) from None
        whole = new[: new.rfind(b"\n") + 1]
        lines = [(line, _entry(line)) for line in whole.splitlines()]
        damaged = [line for line, entry in lines if entry is None and not _is_half(line)]
        if damaged and not self._is_damaged:
            self._is_damaged = True
            warnings.warn(
                f"{self.path}: {count_phrase(len(damaged), 'line', 'lines')} cannot be read, and what was spent "
                "by them is "
                "not counted. If somebody changed the file, put back a copy.",
                TruevalWarning,
                stacklevel=2,
            )
        self._read += len(whole)  # only after the warning, which may be raised as an error: no line is lost
        return [entry for _, entry in lines if entry is not None]


def amount(entry: Mapping[str, object]) -> float:
    """The amount of a line: its cost, or its maximum cost where unknown.

    >>> amount({"cost": 0.5, "at_most": 2}), amount({"cost": None, "at_most": 2}), amount({"cost": None})
    (0.5, 2.0, 0.0)
    """
    known = (entry.get(name) for name in ("cost", "at_most"))
    most = sys.float_info.max  # JSON may contain larger integers
    return next((float(value) for value in known if isinstance(value, int | float) and 0 <= value <= most), 0.0)


def _is_half(line: bytes) -> bool:
    r"""Whether a line is empty, or one of ours truncated by an interrupted process.

    >>> _is_half(b'{"call": "3f'), _is_half(b"\0\0"), _is_half(b'{"call": "3f", "cost": 0.1x}'), _is_half(b"PK")
    (True, True, False, False)
    >>> _is_half(b'{"call": "3f", "usage": {"input": 3}')
    True
    """
    written = line.strip(b"\0 \t\r")  # a crashed system may leave zeros
    is_open = not written.endswith(b"}") or written.count(b"{") > written.count(b"}")
    return not written or (written.startswith(b"{") and is_open)


def _entry(line: bytes) -> Mapping[str, object] | None:
    """Parse a line; None for one truncated by an interrupted process."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, Mapping) else None
