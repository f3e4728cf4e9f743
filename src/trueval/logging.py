"""Logs of a command: failures with tracebacks, in a file in the results folder; with --verbose also on stderr.

Modules log by `logging.getLogger(__name__)`. Nothing is printed unless a program attaches a handler, as the functions
here do for the command line. Values of environment variables that hold keys are replaced by their names.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

LOG_FILE: Final = "trueval.log"
_ROOT: Final = logging.getLogger("trueval")
_SECRET: Final = re.compile(r"KEY|TOKEN|SECRET|PASSWORD", re.IGNORECASE)
_SHORTEST: Final = 8  # a shorter value, such as "1", is no key, and is part of other words


class _Formatter(logging.Formatter):
    converter = staticmethod(time.gmtime)

    def __init__(self) -> None:
        super().__init__("%(asctime)sZ %(levelname)s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        for name, value in os.environ.items():
            if _SECRET.search(name) and len(value.strip()) >= _SHORTEST:
                text = text.replace(value.strip(), f"[{name}]")
        return text


class _FolderHandler(logging.FileHandler):
    """A handler whose file and folder are created with the first record."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / LOG_FILE, encoding="utf-8", delay=True, errors="backslashreplace")
        self.setFormatter(_Formatter())

    def _open(self):  # type: ignore[no-untyped-def]
        Path(self.baseFilename).parent.mkdir(parents=True, exist_ok=True)
        return super()._open()

    def handleError(self, record: logging.LogRecord) -> None:
        """Ignore logging errors: a full disk must not end the work that is logged."""


def log_beside(folder: Path | None) -> None:
    """Append warnings and errors of this process to FOLDER/trueval.log, replacing any other folder.

    Args:
        folder: folder of the results; it and the file are created with the first record. None for no file.
    """
    for handler in [each for each in _ROOT.handlers if isinstance(each, _FolderHandler)]:
        _ROOT.removeHandler(handler)
        with suppress(OSError):  # of a full disk
            handler.close()
    if folder is not None:
        _ROOT.addHandler(_FolderHandler(folder))


def log_to_stderr() -> None:
    """Print log records, from DEBUG on, to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Formatter())
    _ROOT.addHandler(handler)
    _ROOT.setLevel(logging.DEBUG)


def log_file() -> Path | None:
    """The file of `log_beside`, if it has been written."""
    for handler in _ROOT.handlers:
        if isinstance(handler, _FolderHandler) and Path(handler.baseFilename).is_file():
            return Path(handler.baseFilename)
    return None
