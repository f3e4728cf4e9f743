"""Atomic folders: files appear in a folder all together or not at all, written by one program at a time.

New files are first written into a hidden folder on the same disk. A folder that does not exist yet is that hidden one,
renamed. Into one that exists, they move in two steps: the hidden folder, complete and synced, is renamed to `DECIDED`,
which is the moment of the decision, and then file after file is moved to its place. Who is stopped before that moment
leaves the old files and a hidden folder that the next writer removes; who is stopped after it leaves moves to do, which
the next reader or writer does first. The folder itself stays the same one, with all that others keep in it: shells that
are in it, mounts, and the user's own files see no change but the new files.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from trueval.errors import InputError
from trueval.files.atomic_files import name_file_in_errors

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

UNFINISHED: Final = ".trueval-unfinished-"
DECIDED: Final = ".trueval-decided"
LOCK: Final = ".trueval-lock"  # on Windows alone: elsewhere the folder itself is locked
GONE: Final = ".gone"  # in a decided folder: which old files to remove, with their digests

Make = Callable[[Path], Mapping[str, str]]


def replace_together(folder: Path, make: Make) -> None:
    """Write files into a folder, all together or not at all.

    Args:
        folder: created if absent, with its parents.
        make: function that writes the new files into an empty folder, with their subfolders, while no other program of
            ours reads or writes `folder`. Returns the old files to remove, none of them among the new ones, with their
            expected SHA-256: a file that has changed since stays.

    Raises:
        InputError: a file would replace a folder.
        OSError: the folder cannot be written.
    """
    with name_file_in_errors(folder):
        if folder.exists() or not _create_folder(folder, make):
            _replace(folder, make)


def _replace(folder: Path, make: Make) -> None:
    with alone(folder):
        for left in folder.glob(f"{UNFINISHED}*"):  # left by a stopped program: the holder of the lock is alone
            shutil.rmtree(left, ignore_errors=True)
        stage = _new_folder(folder)
        try:
            gone = make(stage)
            _check_places(folder, stage)
            (stage / GONE).write_text(json.dumps(dict(gone)), encoding="utf-8")
            sync_all(stage)
            stage.rename(folder / DECIDED)
        except BaseException:
            shutil.rmtree(stage, ignore_errors=True)
            raise
        sync(folder)
        _finish(folder)


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Lock a folder against all other readers and writers of ours, after finishing the write of a stopped one.

    Args:
        folder: existing folder.

    Raises:
        InputError: a stopped write must be finished, and the folder cannot be written.
    """
    held = _lock(folder)
    try:
        try:
            _finish(folder)
        except PermissionError as error:
            raise InputError(
                f"{folder}: a program was stopped while it wrote here, and the rest of its files must be moved to "
                "their places. Run the same command as a user who may write to the folder."
            ) from error
        yield
    finally:
        if held is not None:
            os.close(held)


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _create_folder(folder: Path, make: Make) -> bool:
    """Create a complete new folder; returns False if another program created it meanwhile."""
    parent = folder.resolve().parent
    parent.mkdir(parents=True, exist_ok=True)
    _remove_abandoned(parent)
    stage = _new_folder(parent)
    held = _lock(stage, own=True)
    try:
        make(stage)
        sync_all(stage)
        stage.rename(folder.resolve())
    except OSError as error:
        shutil.rmtree(stage, ignore_errors=True)
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST) or isinstance(error, FileExistsError):
            return False
        raise
    except BaseException:
        shutil.rmtree(stage, ignore_errors=True)
        raise
    finally:
        if held is not None:
            os.close(held)
    sync(parent)
    return True


def _remove_abandoned(parent: Path) -> None:
    """Remove the hidden folders of programs that were stopped before renaming them, which nobody locks."""
    if sys.platform == "win32":
        return
    for left in parent.glob(f"{UNFINISHED}*"):
        with suppress(OSError):  # of another user, or gone meanwhile
            held = os.open(left, os.O_RDONLY)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(left, ignore_errors=True)
            finally:
                os.close(held)


def _new_folder(parent: Path) -> Path:
    stage = parent / f"{UNFINISHED}{secrets.token_hex(4)}"
    stage.mkdir()  # with the default permissions of new folders, unlike those of `tempfile`
    return stage


def _check_places(folder: Path, stage: Path) -> None:
    """Refuse, before the decision, file names that folders have, and folder names that files have."""
    for source in stage.rglob("*"):
        place = folder / source.relative_to(stage)
        if place.exists() and place.is_dir() != source.is_dir():
            what = "a folder" if place.is_dir() else "a file"
            raise InputError(f"{place}: {what} has the name of a result. Rename it, or name another place with --out.")


def _finish(folder: Path) -> None:
    """Move the decided files to their places, and remove the outdated ones; safe to repeat."""
    decided = folder / DECIDED
    if not decided.is_dir():
        return
    for source in sorted(decided.rglob("*")):
        if source.is_file() and source.name != GONE:
            place = folder / source.relative_to(decided)
            place.parent.mkdir(parents=True, exist_ok=True)
            _move(source, place)
    if (decided / GONE).is_file():
        for name, digest in json.loads((decided / GONE).read_text(encoding="utf-8")).items():
            _remove(folder, name, digest)
    sync(folder)
    shutil.rmtree(decided)


def _move(source: Path, place: Path) -> None:
    try:
        source.replace(place)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        near = place.with_name(f"{UNFINISHED}{secrets.token_hex(4)}")  # a subfolder may be on another disk
        shutil.copy2(source, near)
        near.replace(place)
        source.unlink()


def _remove(folder: Path, name: str, digest: str) -> None:
    path = folder / name
    if path.is_file() and sha256(path) == digest:
        path.unlink()
    if path.parent != folder:
        with suppress(OSError):  # it holds files of others
            path.parent.rmdir()


def _lock(folder: Path, *, own: bool = False) -> int | None:
    """Wait for the lock of a folder; None if the system cannot lock it, as on some network disks.

    Args:
        folder: existing folder.
        own: whether no other program can know it yet.
    """
    if sys.platform == "win32":
        return None if own else _lock_file(folder / LOCK)
    while True:
        held = os.open(folder, os.O_RDONLY)
        with suppress(OSError):
            fcntl.flock(held, fcntl.LOCK_EX)
        # Another folder may have replaced it while we waited.
        if folder.exists() and os.path.samestat(os.fstat(held), folder.stat()):
            return held
        os.close(held)
        if not folder.exists():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(folder))


def _lock_file(path: Path) -> int | None:
    if sys.platform == "win32":
        try:
            held = os.open(path, os.O_RDWR | os.O_CREAT)
        except PermissionError:
            return None  # a folder that we may only read
        while True:
            with suppress(OSError):  # it gives up after ten seconds
                msvcrt.locking(held, msvcrt.LK_LOCK, 1)
                return held
    return None


def sync_all(folder: Path) -> None:
    """Sync a folder and its content to disk."""
    for path in folder.rglob("*"):
        sync(path)
    sync(folder)


def sync(path: Path) -> None:
    """Sync a file, or the names in a folder, to disk."""
    if sys.platform == "win32" and path.is_dir():
        return  # there folders cannot be opened, and renames are in the journal of the disk
    held = os.open(path, os.O_RDWR if sys.platform == "win32" else os.O_RDONLY)
    try:
        os.fsync(held)
    finally:
        os.close(held)
