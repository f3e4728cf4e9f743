"""The command `trueval`, also as `python -m trueval`: a process of its own, from its first module to its end."""

import atexit
import gc
import os
import sys
from contextlib import suppress
from typing import NoReturn

# New objects that set off a search for cycles. By default, importing alone sets off hundreds of searches that find
# nothing.
OBJECTS = 250_000


def run() -> NoReturn:
    """Run the command line, and end the process without taking its objects apart: the system takes all memory back.

    Threads are joined and other exit handlers run before, as at any exit; results are flushed by `main`.

    Raises:
        SystemExit: always.
    """
    gc.set_threshold(OBJECTS)
    statuses: list[int] = []
    atexit.register(lambda: _leave(statuses))  # handlers that are registered later run earlier
    from trueval.cli.main import main

    try:
        main()
    except SystemExit as leaving:
        statuses.append(leaving.code if isinstance(leaving.code, int) else 1)
        raise


def _leave(statuses: list[int]) -> None:
    """End the process at once; without a status, something else ends it, which Python reports."""
    if not statuses:
        return
    for stream in (sys.stdout, sys.stderr):  # what other handlers wrote there
        with suppress(AttributeError, OSError, ValueError):  # closed, or None
            stream.flush()
    os._exit(statuses[0])


if __name__ == "__main__":
    run()
