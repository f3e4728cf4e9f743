"""Parallel work on many items: on all processors here, or elsewhere through another package's Executor."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from trueval.errors import InputError, PolicyError

Item = TypeVar("Item")
Result = TypeVar("Result")
Other = TypeVar("Other")


PATIENCE: Final = 5.0  # seconds in which a broken pool ends what was sent to it
IN_FLIGHT: Final = 64  # items sent and not finished, of an executor that does not say how many workers it has


class Needs(NamedTuple):
    """What one item takes where it is worked on; an item that knows has it as its attribute `needs`.

    Attributes:
        cpus: processors.
        gpus: accelerators.
        memory: bytes of main memory, an estimate.
    """

    cpus: int = 1
    gpus: int = 0
    memory: int = 0


class Executor(Protocol):
    """The role of running long work on many shards: threads here, or processes and machines."""

    def map(self, work: Callable[[Item], Result], items: Iterable[Item], /) -> Iterable[Result]:
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

    Attributes:
        workers_here: number of processes, which share the memory of this machine.

    >>> with Processes(1) as executor:
    ...     list(executor.map(abs, [-1, 2]))
    [1, 2]
    """

    def __init__(self, count: int | None) -> None:
        from concurrent.futures import ProcessPoolExecutor  # late: most work uses threads
        from multiprocessing import get_context

        count = self.workers_here = count or os.cpu_count() or 1
        # Forked processes would wait for threads that they do not have (forks.py).
        self._pool = ProcessPoolExecutor(count, get_context("spawn")) if count > 1 else None

    def __enter__(self) -> Processes:
        """Return the executor."""
        return self

    def __exit__(self, *error: object) -> None:
        """End the processes; work that has not begun is dropped."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def map(self, work: Callable[[Item], Result], items: Iterable[Item], /) -> Iterator[Result]:
        """Yield results in the order of the items; twice as many items as processes are read ahead.

        Raises:
            InputError: a process was ended from outside.
        """
        return map(work, items) if self._pool is None else _map_ahead(self._pool, work, items, 2 * self.workers_here)

    def as_finished(self, work: Callable[[Item], Result], items: Iterable[Item], /) -> Iterator[Result]:
        """Yield results as they finish; otherwise as `map`."""
        if self._pool is None:
            return map(work, items)
        return _map_ahead(self._pool, work, items, 2 * self.workers_here, ordered=False)


class Futures:
    """An Executor of another package: Dask's `client.get_executor()`, loky, mpi4py.futures, or Python's own.

    Args:
        pool: an object with the methods `submit` and `map` of concurrent.futures.Executor.
    """

    def __init__(self, pool: Any) -> None:
        self._pool = pool

    def map(self, work: Callable[[Item], Result], items: Iterable[Item], /) -> Iterator[Result]:
        """Yield results in the order of the items; a bounded number of items is sent ahead.

        Raises:
            InputError: a worker was ended from outside.
        """
        return _map_ahead(self._pool, work, items, self._ahead())

    def as_finished(self, work: Callable[[Item], Result], items: Iterable[Item], /) -> Iterator[Result]:
        """Yield results as they finish; otherwise as `map`."""
        return _map_ahead(self._pool, work, items, self._ahead(), ordered=False)

    def _ahead(self) -> int:
        workers = getattr(self._pool, "_max_workers", None)
        return 2 * workers if isinstance(workers, int) else IN_FLIGHT


def as_executor(given: Any) -> Executor | None:
    """An Executor of ours as it is, one of another package behind `Futures`; None stays None.

    Raises:
        PolicyError: it has no `map`.

    >>> as_executor(LOCAL) is LOCAL, as_executor(None)
    (True, None)
    """
    if given is None or (hasattr(given, "map") and not hasattr(given, "submit")):
        found: Executor | None = given
        return found
    if not callable(getattr(given, "submit", None)):
        raise PolicyError(
            f"An executor must have the map of concurrent.futures.Executor. Got {type(given).__name__}. Give "
            "trueval.threads.Processes(8), a pool of loky, Dask's client.get_executor(), or trueval.scale.ray.Ray()."
        )
    return Futures(given)


def as_finished(executor: Executor, work: Callable[[Item], Result], items: Iterable[Item]) -> Iterable[Result]:
    """Results in the order in which they finish, of an Executor with `as_finished`; of others in that of the items.

    What is shown of the progress is then that of all workers, also while one of them is slow.

    >>> sorted(as_finished(LOCAL, abs, [-1, 2]))
    [1, 2]
    """
    finished: Callable[..., Iterable[Result]] = getattr(executor, "as_finished", executor.map)
    return finished(work, items)


@contextmanager
def machine_for_timing(executor: Executor | None) -> Iterator[str | None]:
    """Name of a machine on which calls can be timed, free of the executor's work meanwhile; None where there is none.

    It is this machine where the executor works here, which has ended; any other executor is asked by its `alone`.

    Args:
        executor: None for work in this process.
    """
    given = getattr(executor, "alone", None)
    if given is not None:
        with given() as machine:
            yield machine
        return
    import platform  # late: `import trueval` does not need it

    yield platform.node() if executor is None or isinstance(executor, (Threads, Processes)) else None


def _map_ahead(
    pool: Any, work: Callable[[Item], Result], items: Iterable[Item], ahead: int, *, ordered: bool = True
) -> Iterator[Result]:
    """Results, in the order of the items or not, with at most so many unfinished: a slow one stops no other."""
    rest, given = iter(items), dict[Future[Result], Item]()  # in the order in which workers take them
    unfinished = set[Future[Result]]()
    try:
        while True:
            unfinished = {each for each in unfinished if not each.done()}
            while len(unfinished) < ahead:
                try:
                    item = next(rest)
                except StopIteration:
                    break
                future = pool.submit(work, item)
                given[future] = item
                unfinished.add(future)
            if not given:
                return
            finished = next((each for each in ([next(iter(given))] if ordered else given) if each.done()), None)
            if finished is None:
                wait(unfinished, return_when=FIRST_COMPLETED)
            else:
                result = finished.result()
                del given[finished]
                yield result
    except BrokenExecutor as error:
        wait(given, timeout=PATIENCE)  # the pool ends all, one after another
        lost = [item for each, item in given.items() if each.done() and isinstance(each.exception(), BrokenExecutor)]
        raise InputError(_loss_message(lost[: getattr(pool, "_max_workers", 1)])) from error
    finally:
        for each in given:
            each.cancel()


def _loss_message(items: Sequence[object]) -> str:
    """The message on a killed worker: which parts workers had, on this machine, and what to do."""
    import socket  # late: `import trueval` does not need it

    # A part of a job has a name of its own; a number or a list has none.
    names = [str(each) for each in items if "__str__" in vars(type(each)) and not isinstance(each, str)]
    parts = f"{' or '.join(names)}, on {socket.gethostname()}: the" if names else "A"
    return (
        f"{parts} worker process was killed from outside, as happens when memory runs out. Take fewer processes or a "
        "smaller batch size, or close other programs, and run the same command again: the finished shards of models "
        "are kept."
    )


def error_of_part(part: object, error: Exception, kept: str) -> InputError:
    """The error of a part of a job that failed where this runs: the part, the machine, and what to do.

    Args:
        part: the part, by its name in messages.
        kept: what of the job is kept, as a sentence.
    """
    import socket  # late: `import trueval` does not need it

    again = "run the same command again"
    here = f"{part}, on {socket.gethostname()}"
    if isinstance(error, MemoryError):
        told = f"memory ran out. Take fewer workers, a smaller batch size, or a machine with more, and {again}."
    elif isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        told = f"there is no room for {error.filename or 'its files'}. Make room, and {again}."
    else:
        said = " ".join(str(error).split()) or type(error).__name__
        told = said if again in said else f"{said} Correct it, and {again}."
    return InputError(f"{here}: {told} {kept}")


LOCAL: Executor = Threads()


def in_threads(work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Yield results of work on this machine, in the order of the items.

    >>> in_threads(abs, [-1, 2])
    [1, 2]
    """
    return list(LOCAL.map(work, items))


def side_by_side(first: Callable[[], Result], second: Callable[[], Other]) -> tuple[Result, Other]:
    """Run two functions at once, each of which releases the GIL.

    >>> side_by_side(list, dict)
    ([], {})
    """
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(second)
        return first(), other.result()
