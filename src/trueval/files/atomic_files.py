"""Atomic files: written next to their destination, and moved to it in one step."""

from __future__ import annotations

import os
import re
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file atomically: readers find the old one, or none, until it is complete.

    Args:
        path: its place; the folder must exist.
        write: writes the file that it is given the path of, which exists and is empty.

    Raises:
        OSError: the folder cannot be written; it names the place, also where the disk is full.
    """
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        with name_file_in_errors(path):
            write(temporary)
        # A temporary file is private to its owner. It gets the default permissions of new files, so that others can
        # read it in a shared folder.
        temporary.chmod(0o666 & ~umask())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


MARK: Final = ".shared-"


@contextmanager
def mark_folder(folder: Path) -> Iterator[str]:
    """Put a file into a folder for a while; a worker that finds it there has the same folder, not another one."""
    for left in folder.glob(f"{MARK}*"):  # of a command that was killed
        left.unlink(missing_ok=True)
    mark = folder / f"{MARK}{uuid.uuid4().hex}"
    mark.touch()
    try:
        yield mark.name
    finally:
        mark.unlink(missing_ok=True)


_OS_ERROR: Final = re.compile(r"\(os error (\d+)\)")  # how polars reports errors of the system


@contextmanager
def name_file_in_errors(path: Path) -> Iterator[None]:
    """Add the file's name to system errors that lack it, such as a full disk.

    Args:
        path: path of the file, or of the folder that is written.

    Raises:
        OSError: the system refused; also where a library raised an error of its own instead.
    """
    try:
        yield
    except Exception as error:
        said = _OS_ERROR.search(str(error))
        number = error.errno if isinstance(error, OSError) else None
        number = number if number is not None or said is None else int(said[1])
        if number is None or getattr(error, "filename", None) is not None:
            raise
        raise OSError(number, os.strerror(number), str(path)) from error


def umask() -> int:
    """The permissions that new files of this process do not get."""
    mask = os.umask(0)  # it can only be read by setting it
    os.umask(mask)
    return mask
