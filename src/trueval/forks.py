"""Forks: a forked process lacks the threads of its parent, so polars would wait for them forever.

polars starts its threads with its first larger work. A process forked after that has a copy of the thread pool without
any threads, and hangs on the next work, without an error or CPU use. So every function of ours that needs the pool
checks here first, and a process forked too late gets an error at once. NumPy needs no such pool: evaluate_arrays,
finished scores and their comparison still work.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from trueval.errors import ForkError

# Name of the pool's threads on Linux; other threads of polars, which do no work for us, have names without a number.
POOL_THREAD = re.compile(r"polars-\d+\s*")


class _Process:
    """State of polars' threads in this process.

    Attributes:
        worked: whether polars was given work in this process.
        lost: whether its threads stayed in the parent of this process.
    """

    worked = False
    lost = False


def need_polars() -> None:
    """Raise at once where work needs polars' threads and they are lost.

    Raises:
        ForkError: this process was forked after polars had started its threads.
    """
    if _Process.lost:
        raise ForkError(
            "This process was forked off one in which polars had worked, and would wait for that one's threads for "
            'ever. Start processes with multiprocessing.get_context("spawn") or "forkserver", or fork before the '
            "first run or judgments are read. evaluate_arrays works in forked processes too."
        )
    _Process.worked = True


def _pool_has_started() -> bool:
    """Whether polars' threads run in this process, also if other code started them."""
    tasks = Path("/proc/self/task")
    if not tasks.is_dir():  # not Linux: only our own record
        return _Process.worked
    return any(_is_of_pool(task / "comm") for task in tasks.iterdir())


def _is_of_pool(name: Path) -> bool:
    try:
        return POOL_THREAD.fullmatch(name.read_text()) is not None
    except OSError:  # the thread has ended in the meantime
        return False


def _before_fork() -> None:
    _Process.worked = _pool_has_started()


def _in_child() -> None:
    _Process.lost |= _Process.worked


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing forks
    os.register_at_fork(before=_before_fork, after_in_child=_in_child)
