"""Connections of the audit server: uvicorn's HTTP protocol with a header timeout and a connection cap.

uvicorn waits for a request header indefinitely and accepts any number of connections. Here the header has a timeout,
and above the cap the oldest connection is closed, so that a flood blocks raters only briefly. Imported when a server
starts: it needs the extra "web".
"""

from __future__ import annotations

import asyncio
from typing import ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


class TimeoutProtocol(H11Protocol):
    """One connection. The limits are class attributes of one server; `timeout_protocol` makes the subclass."""

    patience: ClassVar[float]
    most: ClassVar[int]
    every: ClassVar[dict[TimeoutProtocol, None]]  # open connections, oldest first
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count the connection, close the oldest above the cap, and start the header timeout."""
        super().connection_made(transport)
        self.every[self] = None
        if len(self.every) > self.most:
            oldest = next(iter(self.every))
            del self.every[oldest]
            oldest.transport.abort()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Remove the connection from the count."""
        self.every.pop(self, None)
        self._forget()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Handle received data, and check whether a request header is still incomplete."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Check whether the next header has begun: a pipelined request may already have arrived."""
        super().on_response_complete()
        self._watch()

    def _watch(self) -> None:
        """Start the timeout while a header is incomplete, and cancel it when it is complete."""
        if self.conn.their_state is not h11.IDLE:
            self._forget()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(self.patience, self.transport.abort)

    def _forget(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def timeout_protocol(patience: float, most: int) -> type[TimeoutProtocol]:
    """A subclass of the protocol with the limits of one server.

    Args:
        patience: timeout in seconds for the header of a request.
        most: maximum number of connections.
    """
    return type("ServerTimeoutProtocol", (TimeoutProtocol,), {"patience": patience, "most": most, "every": {}})
