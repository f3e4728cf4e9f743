"""Calls in flight: which one is sent next, where it is awaited, and which are done."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from itertools import islice
from typing import TypeVar

from trueval.models.hosted.call_batches import Call

Given = TypeVar("Given")


class Queue:
    """Remaining calls, each within the current size limit.

    Args:
        most: maximum number of texts per call.
    """

    def __init__(self, planned: Iterator[Call], most: int) -> None:
        self.planned, self.most = planned, most
        self.waiting: deque[Call] = deque()

    def take(self) -> Call | None:
        """Remove and return the next call; None if there is none."""
        if not self.waiting:
            self.waiting.extend(piece for call in islice(self.planned, 1) for piece in call.parts(self.most))
        return self.waiting.popleft() if self.waiting else None

    def halve(self, call: Call) -> int:
        """Requeue an oversized call in halves, and split all later ones too: they would also be too large.

        Returns:
            Number of texts per call from now on.
        """
        self.most = min(len(call.texts) // 2, self.most)
        self.waiting = deque(piece for each in (call, *self.waiting) for piece in each.parts(self.most))
        return self.most


class CallingThread(Executor):
    """An executor that runs work in the calling thread, so that Ctrl-C need not wait for a thread."""

    def submit(self, fn: Callable[..., Given], /, *args: object, **named: object) -> Future[Given]:
        """Run the work at once; its exception goes into the future."""
        future: Future[Given] = Future()
        try:
            future.set_result(fn(*args, **named))
        except Exception as error:  # noqa: BLE001 - it is raised for whoever asks for the result
            future.set_exception(error)
        return future


def wait_for_first(
    running: Iterable[Future[Given]], *, stopped: bool
) -> tuple[set[Future[Given]], KeyboardInterrupt | None]:
    """Wait for at least one call; Ctrl-C ends this wait, and calls in flight are still awaited and stored.

    Args:
        running: futures of the calls.
        stopped: whether the user already interrupted: a second interrupt does not wait.
    """
    try:
        return wait(running, return_when=FIRST_COMPLETED).done, None
    except KeyboardInterrupt as stop:
        if stopped:
            raise
        return set(), stop
