"""Ownership of a file: one process at a time keeps a ledger, and the system ends its lock with the process.

The lock is on a file beside it, `.NAME.owner`, which holds the owner's process id and which the owner removes in the
end: SQLite loses its own locks where a process closes the database file a second time (sqlite.org/howtocorrupt.html,
section 2.2). The lock of a killed process has ended with it, and the file that it left behind is used again.
"""

from __future__ import annotations

import errno
import os
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from trueval.errors import InputError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

TAKEN: Final = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK)
FAR: Final = 1 << 20  # the locked byte on Windows, where what is locked cannot be read


@dataclass
class _Lock:
    """A lock of this process.

    Attributes:
        handle: open file; None where the system cannot lock it.
        owners: number of owners in this process.
    """

    handle: int | None
    owners: int = 1


_locks: dict[Path, _Lock] = {}
_changes = threading.Lock()


class Ownership:
    """The right to write a file, held from construction to `release`; owners within one process share it.

    Args:
        path: the file, which need not exist.
        what: what it is, as the subject of a sentence.

    Raises:
        InputError: another process owns it, or the file has several names, each of which would have an owner.
    """

    def __init__(self, path: Path, what: str) -> None:
        self._place = path.resolve()
        _check_names(path)
        with _changes:
            known = _locks.get(self._place)
            if known is None:
                _locks[self._place] = _Lock(_take(self._place, path, what))
            else:
                known.owners += 1
        self._held = True

    def release(self) -> None:
        """Give the file up; safe to repeat."""
        with _changes:
            if not self._held:
                return
            self._held = False
            lock = _locks[self._place]
            lock.owners -= 1
            if lock.owners:
                return
            del _locks[self._place]
            if lock.handle is not None:
                with suppress(OSError):  # Windows removes no open file
                    _beside(self._place).unlink()
                os.close(lock.handle)


def _check_names(path: Path) -> None:
    """Refuse a file with hard links (sqlite.org/howtocorrupt.html, section 2.5).

    Raises:
        InputError: it has some.
    """
    try:
        names = path.stat().st_nlink
    except OSError:  # it is not there yet, or whoever writes it says why it cannot be read
        return
    if names > 1:
        raise InputError(
            f"{path} has {names} names (hard links), under each of which a command could write it at once. Keep one: "
            "copy the file, and put the copy in its place."
        )


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.owner")


def _take(place: Path, path: Path, what: str) -> int | None:
    """An open and locked file; None where there can be none, as in a folder that cannot be written.

    Raises:
        InputError: another process has locked it.
    """
    file = _beside(place)
    while True:
        try:
            handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError:  # whoever writes the ledger itself says why
            return None
        try:
            _lock(handle)
        except OSError as error:
            told = os.pread(handle, 20, 0).decode(errors="replace") if hasattr(os, "pread") else ""
            os.close(handle)
            if error.errno not in TAKEN:  # a file system without locks
                return None
            owner = f"process {told}" if told.isdecimal() else "another process"
            raise InputError(
                f"{path}: {owner} of this machine is writing this ledger. {what} has one owner at a time, so that "
                "nothing is paid twice and a limit of money holds: wait until that command has ended, or name another "
                "file."
            ) from None
        if _is_same(handle, file):
            with suppress(OSError):  # on a full disk the lock holds all the same
                os.truncate(handle, 0)
                os.write(handle, str(os.getpid()).encode())
            return handle
        os.close(handle)


def _is_same(handle: int, file: Path) -> bool:
    """Whether the locked file is still beside the ledger: an owner that ended just now has removed it."""
    try:
        return os.path.samestat(os.fstat(handle), file.stat())
    except FileNotFoundError:
        return False


def _lock(handle: int) -> None:
    if sys.platform == "win32":
        os.lseek(handle, FAR, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        os.lseek(handle, 0, os.SEEK_SET)
    else:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
