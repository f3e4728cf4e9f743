"""Temporary files without a name: they vanish however the process ends, and no partial file is ever visible."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

from trueval.errors import InputError

ROOMY: Final = Path("/var/tmp")  # noqa: S108 - a folder to ask for, in which the system makes a file without a name
BUFFER: Final = 1 << 20  # bytes


def open_temporary_file() -> IO[bytes]:
    """A file that is gone when it is closed or the process ends.

    It is in the folder that TMPDIR names; else in /var/tmp, which is on a disk where /tmp may be memory.

    Raises:
        InputError: there is no room for it.
    """
    with explain_full_disk():
        return tempfile.TemporaryFile(prefix="trueval-", dir=_folder(), buffering=BUFFER)


@contextmanager
def explain_full_disk() -> Iterator[None]:
    """Report which disk is full, and how to use another, when a temporary file is written inside the block.

    Raises:
        InputError: it is full.
    """
    try:
        yield
    except OSError as error:
        raise InputError(
            f"{_folder()}: no room for a temporary file ({error.strerror}). What does not fit in memory is kept there. "
            "Make room, or name a folder with more room in the environment variable TMPDIR."
        ) from error


def _folder() -> str:
    chosen = any(os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP"))
    return str(ROOMY) if not chosen and os.access(ROOMY, os.W_OK) else tempfile.gettempdir()
