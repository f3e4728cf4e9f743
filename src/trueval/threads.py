"""Parallel work on many items: on all processors here, or elsewhere through another package's Executor."""

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
    """The role of running long work on many shards: threads here, or processes and machines."""

    def map(self, work: Callable[[Item], Result], items: Iterable[Item], /) -> list[Result]:
        """Yield results in the order of the items, whichever finishes first.

        Raises:
            Exception: what the work raised on the first item, in their order, on which it failed.
        """
        ...


class Threads:
    """The default Executor, whose work must release the GIL, as NumPy and polars do on large arrays.

    Args:
        count: number of threads; None for one per processor of this machine, 1 for the caller's own.

    >>> Threads().map(abs, [-1, 2])
    [1, 2]
    """

    def __init__(self, count: int | None = None) -> None:
        self._count = count

    def map(self, work: Callable[[Item], Result], items: Iterable[Item], /) -> list[Result]:
        """Yield results in the order of the items."""
        items = list(items)
        if len(items) < 2 or self._count == 1:  # starting a pool takes longer than many small items
            return [work(item) for item in items]
        with ThreadPoolExecutor(self._count or os.cpu_count()) as pool:
            return list(pool.map(work, items))


class Processes:
    """An Executor of several processes, for pure Python work, which holds the GIL.

    The work and its items are sent to the processes, which start afresh and import what they need; a count of 1 means
    this process. Use it as a context manager: the processes end with it.

    Args:
        count: number of processes; None for one per processor.

    >>> with Processes(1) as executor:
    ...     executor.map(abs, [-1, 2])
    [1, 2]
    """

    def __init__(self, count: int | None) -> None:
        from concurrent.futures import ProcessPoolExecutor  # late: most work uses threads
        from multiprocessing import get_context

        count = count or os.cpu_count() or 1
        # Forked processes would wait for threads that they do not have (forks.py).
        self._pool = ProcessPoolExecutor(count, get_context("spawn")) if count > 1 else None

    def __enter__(self) -> Processes:
        """Return the executor."""
        return self

    def __exit__(self, *error: object) -> None:
        """End the processes; work that has not begun is dropped."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def map(self, work: Callable[[Item], Result], items: Iterable[Item], /) -> list[Result]:
        """Yield results in the order of the items.

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
    """Yield results of work on this machine, in the order of the items.

    >>> in_threads(abs, [-1, 2])
    [1, 2]
    """
    return LOCAL.map(work, items)


def side_by_side(first: Callable[[], Result], second: Callable[[], Other]) -> tuple[Result, Other]:
    """Run two functions at once, each of which releases the GIL.

    >>> side_by_side(list, dict)
    ([], {})
    """
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(second)
        return first(), other.result()
