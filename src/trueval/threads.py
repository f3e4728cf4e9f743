"""Work on many items at once: here on all processors, elsewhere where an Executor of another package takes it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor
from typing import Protocol, TypeVar

from trueval.errors import InputError

Item = TypeVar("Item")
Result = TypeVar("Result")
Other = TypeVar("Other")


class Executor(Protocol):
    """What long work on many shards is given to: threads here, or processes and machines."""

    def map(self, work: Callable[[Item], Result], items: Iterable[Item], /) -> list[Result]:
        """Give the results of some work in the order of its items, whatever finishes first.

        Raises:
            Exception: what the work raised on the first item, in their order, on which it failed.
        """
        ...


class Threads:
    """The default Executor: one thread for each processor of this machine.

    The work must let other threads run, as NumPy and polars do on large arrays.

    >>> Threads().map(abs, [-1, 2])
    [1, 2]
    """

    def map(self, work: Callable[[Item], Result], items: Iterable[Item], /) -> list[Result]:
        """Give the results of some work in the order of its items."""
        items = list(items)
        if len(items) < 2:  # to start a pool takes longer than many a small item
            return [work(item) for item in items]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return list(pool.map(work, items))


class Processes:
    """An Executor of several processes, for work in Python that does not let other threads run.

    The work and its items are sent to the processes, which start anew and import what they need; one process is this
    one. To be used as a context: the processes end with it.

    Args:
        count: of processes; None for one for each processor.

    >>> with Processes(1) as executor:
    ...     executor.map(abs, [-1, 2])
    [1, 2]
    """

    def __init__(self, count: int | None) -> None:
        from concurrent.futures import ProcessPoolExecutor  # late: most work is done in threads
        from multiprocessing import get_context

        count = count or os.cpu_count() or 1
        # Forked processes would wait for threads that they do not have (forks.py).
        self._pool = ProcessPoolExecutor(count, get_context("spawn")) if count > 1 else None

    def __enter__(self) -> Processes:
        """Begin."""
        return self

    def __exit__(self, *error: object) -> None:
        """End the processes; work that has not begun is not done."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def map(self, work: Callable[[Item], Result], items: Iterable[Item], /) -> list[Result]:
        """Give the results of some work in the order of its items.

        Raises:
            InputError: a process was ended from outside.
        """
        if self._pool is None:
            return [work(item) for item in items]
        try:
            return list(self._pool.map(work, items))
        except BrokenExecutor as error:
            raise InputError(
                "A process that shared the work was ended from outside, as systems do that run out of memory. "
                "Close other programs, and run it again."
            ) from error


LOCAL: Executor = Threads()


def in_threads(work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Give the results of some work, on this machine, in the order of its items.

    >>> in_threads(abs, [-1, 2])
    [1, 2]
    """
    return LOCAL.map(work, items)


def side_by_side(first: Callable[[], Result], second: Callable[[], Other]) -> tuple[Result, Other]:
    """Do two things at once, each of which lets other threads run.

    >>> side_by_side(list, dict)
    ([], {})
    """
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(second)
        return first(), other.result()
