"""Faults of trueval itself: one line, the traceback in a log, exit status 70."""

import logging
import traceback
from typing import Final

import typer

from trueval.logging import log_beside, log_file
from trueval.printable import printable_message

FAULT: Final = 70  # EX_SOFTWARE of sysexits.h
_reported: list[str] = []
_log = logging.getLogger(__name__)


def report_fault(what: str, error: BaseException) -> None:
    """Log an internal error, and let the command exit with status 70.

    Args:
        what: what failed.
        error: the error; its traceback goes to the log beside the results, or to stderr without one.
    """
    _reported.append(what)
    _log.error(what, exc_info=error)
    said = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(": ")
    place = log_file()
    lines = [] if place else "".join(traceback.format_exception(error)).splitlines()
    where = f"in {place}" if place else "above"
    last = f"trueval: {what} ({said}). This is a fault of trueval. Please report it with the traceback {where}."
    for line in (*lines, last):
        typer.echo(printable_message(line), err=True)


def forget_faults() -> None:
    """Reset for another command in the same process."""
    _reported.clear()
    log_beside(None)


def with_faults(status: int) -> int:
    """The exit status of a command: 70 if a fault was reported.

    Args:
        status: status without a fault.
    """
    return FAULT if _reported else status
