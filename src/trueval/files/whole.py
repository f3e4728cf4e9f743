"""Files that are there when they are whole: written beside their place, and moved to it in one step."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file; whoever looks finds the old one, or none, until it is whole.

    Args:
        path: its place; the folder must exist.
        write: writes the file that it is given the path of, which exists and is empty.

    Raises:
        OSError: the folder cannot be written.
    """
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        write(temporary)
        # A temporary file is its owner's alone. It gets the rights that any new file has here, so that others can read
        # what lies in a shared folder.
        temporary.chmod(0o666 & ~umask())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def umask() -> int:
    """The rights that new files of this process do not get."""
    mask = os.umask(0)  # it can only be read by setting it
    os.umask(mask)
    return mask
