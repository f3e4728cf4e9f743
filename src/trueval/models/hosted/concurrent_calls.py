"""Concurrent calls: work on several items at once, which stops at the first failure and at Ctrl-C."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from threading import Lock
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def side_by_side(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    at_once: int,
    done: Callable[[int], object] | None = None,
    stop: Callable[[], object] | None = None,
) -> list[Result]:
    """Process items concurrently; after a failure or Ctrl-C no further item is started.

    Args:
        work: function of one item.
        at_once: maximum number of concurrent items.
        done: called with the number of finished items, by the thread of the caller, at most 100 times a second.
        stop: called once when no further item will start: tells the work in flight that its result is unused.

    Returns:
        [item] results.

    Raises:
        Exception: what the work raised first, when all that was under way has ended.
        KeyboardInterrupt: the user interrupted it; a second interrupt does not wait.
    """
    side = _Side(work, items, stop)
    running = min(at_once, len(items))
    with ThreadPoolExecutor(at_once, "trueval-call") as pool:
        for _ in range(running):
            pool.submit(side.work_on)
        while running:
            try:
                if not side.ended.get():
                    running -= 1
                    continue
                if done is not None and side.failed is None:
                    done(len(side.results))
            except KeyboardInterrupt as interrupt:
                if isinstance(side.failed, KeyboardInterrupt):  # a second interrupt does not wait
                    raise
                side.fails(interrupt)
    if side.failed is not None:
        raise side.failed
    return [side.results[place] for place in range(len(items))]


class _Side(Generic[Item, Result]):
    """The items that wait and the results, which the threads share: none waits for another to get its next item."""

    def __init__(
        self, work: Callable[[Item], Result], items: Sequence[Item], stop: Callable[[], object] | None
    ) -> None:
        self.work, self.stop, self.lock = work, stop, Lock()
        self.items, self.waiting = items, iter(enumerate(items))
        self.reported = 0.0  # when the caller was woken last, by the monotonic clock
        self.results: dict[int, Result] = {}
        self.failed: BaseException | None = None
        self.ended = SimpleQueue[bool]()  # True where items have finished, False for each thread that has no more

    def work_on(self) -> None:
        """Process items until none is left, or one has failed."""
        try:
            while (found := self._next()) is not None:
                place, item = found
                self.results[place] = self.work(item)
                self._report()
        except BaseException as error:  # noqa: BLE001 - raised in the thread of the caller
            self.fails(error)
        finally:
            self.ended.put(False)

    def _report(self) -> None:
        """Wake the caller, which takes time from the work: at the last item, and else at most 100 times a second."""
        now = time.monotonic()
        if now - self.reported > 0.01 or len(self.results) == len(self.items):
            self.reported = now
            self.ended.put(True)

    def _next(self) -> tuple[int, Item] | None:
        with self.lock:
            return None if self.failed is not None else next(self.waiting, None)

    def fails(self, error: BaseException) -> None:
        """Start nothing further, and notify the work in flight."""
        with self.lock:
            is_first = self.failed is None
            self.failed = error if isinstance(error, KeyboardInterrupt) else self.failed or error
        if is_first and self.stop is not None:
            self.stop()
