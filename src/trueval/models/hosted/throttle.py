"""Throttle: the number of concurrent calls, adapted to rate-limit responses.

Slow start, then additive increase and multiplicative decrease, as in TCP (Jacobson 1988; Chiu & Jain 1989): the limit
begins at a few calls and grows by 1 with each answer, until a rate-limit response (429) halves it; from then on it
grows by 1 after about as many answers as the limit. With Retry-After, all callers wait, not only the refused one.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

BEGIN: Final = 4  # initial number of concurrent calls


class LongPauseError(Exception):
    """A pause too long to wait for; never shown to users.

    Args:
        seconds: pause that the server asks for.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds


class Throttle:
    """Limits the number of concurrent calls.

    Args:
        most: maximum number of concurrent calls, whatever the server accepts.
        now: monotonic clock in seconds.
        patience: maximum seconds to wait for a slot, where the server asks for more.
        begin: initial number of concurrent calls.
    """

    def __init__(
        self,
        most: int,
        now: Callable[[], float] = time.monotonic,
        patience: float = math.inf,
        begin: int = BEGIN,
    ) -> None:
        self.patience = patience
        self.most, self.limit = most, float(min(most, begin))
        self.now = now
        self.under_way = 0
        self._changed = threading.Condition()
        self._not_before = self._halved = 0.0
        self._refused = False  # whether the server ever had too many calls

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for a slot, and release it at the end.

        Raises:
            LongPauseError: the server asks for a longer pause than there is patience.
        """
        with self._changed:
            while (wait := self._wait()) > 0:
                self._changed.wait(wait)
            self.under_way += 1
        try:
            yield
        finally:
            with self._changed:
                self.under_way -= 1
                self._changed.notify_all()

    def _wait(self) -> float:
        """Seconds until the next check; 0 for now."""
        pause = self._not_before - self.now()
        if pause > self.patience:
            raise LongPauseError(pause)
        # Waiting threads are notified of a free slot; the timeout of one second guards against changes of the clock.
        return pause if pause > 0 else float(self.under_way >= int(self.limit))

    def record_success(self) -> None:
        """Record a success."""
        if self.limit >= self.most:  # as nearly always, where nothing is to be changed
            return
        with self._changed:
            self.limit = min(self.most, self.limit + (1 / self.limit if self._refused else 1.0))
            self._changed.notify_all()

    def record_rate_limit(self, began: float, wait: float | None) -> None:
        """Record a rate-limit response.

        Args:
            began: time at which the call was sent; calls sent before the last halving are ignored.
            wait: seconds that the server asks callers to wait.
        """
        with self._changed:
            now, self._refused = self.now(), True
            if began >= self._halved:
                self.limit, self._halved = max(1.0, self.limit / 2), now
            self._not_before = max(self._not_before, now + (wait or 0.0))
            self._changed.notify_all()
