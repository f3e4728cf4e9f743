"""Connections of the audit's server: uvicorn's, but nobody holds one without saying what is wanted.

uvicorn waits for the head of a request as long as it takes, and opens as many connections as come. Here a head has a
time, and where there are too many connections the oldest one ends, so that a flood locks nobody out for long.
Imported when a server starts: it needs the extra "web".
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

PATIENCE: Final = 10.0  # seconds for the head of a request
MOST: Final = 100  # connections at once


def patient(patience: float = PATIENCE, most: int = MOST) -> type[asyncio.Protocol]:
    """A protocol for uvicorn, for one server.

    Args:
        patience: seconds for the head of a request.
        most: connections at once.
    """
    every: dict[Patient, None] = {}  # the oldest first

    class Patient(H11Protocol):
        def __init__(self, *args: Any, **named: Any) -> None:
            super().__init__(*args, **named)
            self._deadline: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            every[self] = None
            if len(every) > most:
                oldest = next(iter(every))
                every.pop(oldest)
                oldest.transport.abort()
            self._watch()

        def connection_lost(self, exc: Exception | None) -> None:
            every.pop(self, None)
            self._forget()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._watch()

        def _watch(self) -> None:
            """Start to wait while a head is not whole, and stop once it is."""
            if self.conn.their_state is not h11.IDLE:
                self._forget()
            elif self._deadline is None:
                self._deadline = self.loop.call_later(patience, self.transport.abort)

        def _forget(self) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None

    return Patient
