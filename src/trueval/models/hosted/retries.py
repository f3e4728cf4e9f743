"""Retries: transient failures are retried with growing waits, up to a limit."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from trueval.models.hosted.failures import CallError, FailureKind

_log = logging.getLogger(__name__)

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Retries:
    """The retry policy.

    Before attempt n + 1 there is a random wait of w / 2 to w, w = min(most, first · 2ⁿ⁻¹), so that callers refused
    together do not return together. A time given by the service is a lower bound.

    Attributes:
        attempts: maximum number of attempts per call.
        first: first wait in seconds.
        most: longest wait in seconds, unless the service asks for more.
        total: maximum total wait per call in seconds.
        connects: maximum number of attempts to reach a host that never answered.
        sleep: sleep function.
        rng: random generator of the waits.
    """

    attempts: int = 6
    first: float = 1.0
    most: float = 60.0
    total: float = 600.0
    connects: int = 3
    sleep: Callable[[float], None] = time.sleep
    rng: random.Random = field(default_factory=random.Random)

    def answer(
        self, send: Callable[[], Answer], failed: Callable[[CallError, float | None], None], *, reached: bool = True
    ) -> Answer:
        """Send with retries until there is a response.

        Args:
            send: sends the call; raises a CallError on failure.
            failed: called with every failure, and the seconds until the retry, or None if there is none.
            reached: whether the host answered anything before.

        Raises:
            CallError: sending again does not help, or did not.
        """
        waited, attempt = 0.0, 0
        while True:
            attempt += 1
            try:
                return send()
            except CallError as failure:
                wait = self.wait(attempt, failure.wait)
                again = failure.kind in (FailureKind.BUSY, FailureKind.LOST)
                most = (
                    self.attempts if reached or failure.kind is FailureKind.BUSY else min(self.connects, self.attempts)
                )
                if not again or attempt >= most or waited + wait > self.total:
                    failed(failure, None)
                    raise (self._final_error(failure, attempt) if again else failure) from None
                failed(failure, wait)
            waited += wait
            _log.info("waiting %.1f s before the call is tried again", wait)
            self.sleep(wait)

    def wait(self, attempt: int, asked: float | None) -> float:
        """Seconds to wait after an attempt.

        Args:
            attempt: number of the attempt, from 1.
            asked: seconds that the service asks for.
        """
        own = min(self.most, self.first * 2.0 ** (attempt - 1)) * (0.5 + 0.5 * self.rng.random())
        return own if asked is None else max(own, asked)

    def _final_error(self, failure: CallError, attempts: int) -> CallError:
        asks = f"; it asks to wait {failure.wait:.0f} seconds" if (failure.wait or 0) > self.total else ""
        sent = "" if attempts == 1 else f" (the last of {attempts} attempts)"
        return CallError(FailureKind.REFUSED, f"{failure.reason}{sent}{asks}", failure.status)
