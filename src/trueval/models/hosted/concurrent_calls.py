"""Concurrent calls: work on several items at once, which stops at the first failure and at Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
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
        done: called with the number of finished items.
        stop: called once when no further item will start: tells the work in flight that its result is unused.

    Returns:
        [item] results.

    Raises:
        Exception: what the work raised first, when all that was under way has ended.
        KeyboardInterrupt: the user interrupted it; a second interrupt does not wait.
    """
    side = _Side(work, items, done, stop)
    with ThreadPoolExecutor(at_once, "trueval-call") as pool:
        while side.start(pool, at_once):
            try:
                ended = wait(side.running, return_when=FIRST_COMPLETED).done
            except KeyboardInterrupt as interrupt:
                if isinstance(side.failed, KeyboardInterrupt):  # a second interrupt does not wait
                    raise
                side.fails(interrupt)
                continue
            side.collect(ended)
    if side.failed is not None:
        raise side.failed
    return [side.results[place] for place in range(len(items))]


class _Side(Generic[Item, Result]):
    """The work in flight and its results."""

    def __init__(
        self,
        work: Callable[[Item], Result],
        items: Sequence[Item],
        done: Callable[[int], object] | None,
        stop: Callable[[], object] | None,
    ) -> None:
        self.work, self.items, self.done, self.stop = work, items, done, stop
        self.waiting = iter(range(len(items)))
        self.running: dict[Future[Result], int] = {}
        self.results: dict[int, Result] = {}
        self.failed: BaseException | None = None

    def start(self, pool: ThreadPoolExecutor, at_once: int) -> bool:
        """Start work up to the limit; returns whether any is in flight."""
        while self.failed is None and len(self.running) < at_once:
            place = next(self.waiting, None)
            if place is None:
                break
            self.running[pool.submit(self.work, self.items[place])] = place
        return bool(self.running)

    def collect(self, ended: Iterable[Future[Result]]) -> None:
        """Collect finished results."""
        for future in ended:
            place, error = self.running.pop(future), future.exception()
            if error is not None:
                self.fails(error)
                continue
            self.results[place] = future.result()
            if self.done is not None:
                self.done(len(self.results))

    def fails(self, error: BaseException) -> None:
        """Start nothing further, and notify the work in flight."""
        if self.failed is None and self.stop is not None:
            self.stop()
        self.failed = error if isinstance(error, KeyboardInterrupt) else self.failed or error
