"""Forks: a process that was forked off another has none of its threads, and polars waits for its own for ever.

polars starts its threads with its first larger work. A process forked after that has a copy of their pool without a
thread in it, and hangs on the next work given to it, with no error and no use of the processor. So the kinds of work of
ours that need that pool ask here first, and what is forked off too late says so at once. NumPy needs no such pool:
evaluate_arrays, finished scores and their comparison go on as before.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from trueval.errors import ForkError

# What Linux calls the threads of the pool; others of polars, which do no work for us, have names without a number.
POOL_THREAD = re.compile(r"polars-\d+\s*")


class _Process:
    """What this process knows of polars' threads.

    Attributes:
        worked: whether work was given to them here.
        lost: whether they were left behind in the process that this one was forked off.
    """

    worked = False
    lost = False


def need_polars() -> None:
    """Say at once that work needs the threads of polars, where they are lost.

    Raises:
        ForkError: this process was forked off one in which polars had worked.
    """
    if _Process.lost:
        raise ForkError(
            "This process was forked off one in which polars had worked, and would wait for that one's threads for "
            'ever. Start processes with multiprocessing.get_context("spawn") or "forkserver", or fork before the '
            "first run or judgments are read. evaluate_arrays works in forked processes too."
        )
    _Process.worked = True


def _pool_has_started() -> bool:
    """Whether the threads of polars run in this process, whoever gave them work."""
    tasks = Path("/proc/self/task")
    if not tasks.is_dir():  # not Linux: what we know ourselves
        return _Process.worked
    return any(_is_of_pool(task / "comm") for task in tasks.iterdir())


def _is_of_pool(name: Path) -> bool:
    try:
        return POOL_THREAD.fullmatch(name.read_text()) is not None
    except OSError:  # the thread ended meanwhile
        return False


def _before_fork() -> None:
    _Process.worked = _pool_has_started()


def _in_child() -> None:
    _Process.lost |= _Process.worked


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing forks
    os.register_at_fork(before=_before_fork, after_in_child=_in_child)
