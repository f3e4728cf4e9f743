"""Response bounds: a size limit and a deadline for every response, whatever the service sends.

httpx2 limits only the wait for each chunk: a body that arrives a byte at a time never ends, and a compressed one can
take a thousand times as much memory as was sent. The bounds use its hooks and its trace, so that OpenAI's client, which
is built on it, is bounded too, and so are error responses.
"""

from __future__ import annotations

import threading
import time
import zlib
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any, Final

from trueval.models.hosted.failures import BROKEN, CallError, FailureKind, too_large

MIB: Final = 2**20
MOST: Final = 64 * MIB  # maximum bytes of a decoded response, unless the request can need more
NUMBERS: Final = 4096  # maximum dimension of a vector, if unknown: that of the largest hosted embedders
DECIMAL: Final = 26  # bytes of a number in decimals, with its comma
BASE64: Final = 6  # upper bound of the bytes of a float32 in base64
AROUND: Final = 1024  # bytes of a row in addition to its numbers
PIECE: Final = 65536  # bytes per write or chunk
# Events of httpcore2 that open a connection.
_CONNECTED: Final = ("connect_tcp.complete", "connect_unix_socket.complete", "start_tls.complete")


def most_of_vectors(texts: int, dimension: int | None, *, decimal: bool) -> int:
    """Maximum number of bytes of a response of /embeddings.

    Args:
        dimension: requested dimension; None for any.
        decimal: whether numbers are transmitted as decimals rather than base64.
    """
    row = (dimension or NUMBERS) * (DECIMAL if decimal else BASE64) + AROUND
    return max(MOST, texts * row)


class ResponseBounds:
    """The bounds of one client, which several threads may use.

    Args:
        http: the module httpx2.
    """

    def __init__(self, http: ModuleType) -> None:
        self._http = http
        self._call = threading.local()  # deadline and size limit of the call in each thread

    @property
    def hooks(self) -> dict[str, list[object]]:
        """Event hooks for an httpx2 client."""
        return {"request": [self._request], "response": [self._response]}

    def begin(self, seconds: float, most: int | None, *, streams: bool = False) -> None:
        """Start the deadline of a call.

        Args:
            seconds: seconds until its deadline.
            most: maximum bytes of its response; None for the usual limit.
            streams: whether each chunk is passed on as it arrives.
        """
        self._call.deadline, self._call.most = time.monotonic() + seconds, most or MOST
        self._call.streams = streams

    def _seconds_left(self) -> float:
        """Seconds until the deadline, always above 0: for a socket, 0 means non-blocking."""
        return max(float(self._call.deadline) - time.monotonic(), 1e-3)

    def _request(self, request: Any) -> None:
        request.headers["accept-encoding"] = "gzip"  # the body is decoded here, chunk by chunk
        request.extensions["trace"] = self._trace

    def _trace(self, event: str, about: Mapping[str, Any]) -> None:
        """Apply the call's deadline to every read and write of a new connection."""
        if not event.endswith(_CONNECTED):
            return
        stream = about["return_value"]
        read, write = stream.read, stream.write

        def limited_read(most: int, timeout: float | None = None) -> bytes:
            return bytes(read(most, timeout=self._seconds_left()))

        def limited_write(data: bytes, timeout: float | None = None) -> None:
            for place in range(0, len(data), PIECE):
                write(data[place : place + PIECE], timeout=self._seconds_left())

        stream.read, stream.write = limited_read, limited_write

    def _response(self, response: Any) -> None:
        packed = response.headers.get("content-encoding", "").strip().lower()
        if packed not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise CallError(FailureKind.REFUSED, f"{BROKEN}: it is packed in a way that was not asked for", billed=True)
        if int(response.headers.get("content-length", "0")) > self._call.most:  # h11 accepts only digits
            raise too_large(self._call.most)
        response.headers.pop("content-encoding", None)
        pieces = response.stream
        if packed not in ("", "identity"):
            response.headers.pop("content-length", None)
        response.stream = _stream(self._http, self._limit_body(pieces, packed), pieces)

    def _limit_body(self, pieces: Any, packed: str) -> Iterator[bytes]:
        """The decoded chunks of a body, up to the size limit."""
        # 47: gzip or zlib, detected from its header.
        unpack = zlib.decompressobj(47) if packed not in ("", "identity") else None
        left = came = int(self._call.most)
        streams = bool(self._call.streams)
        held = bytearray()  # chunks of a few bytes take ten times as much memory as their content
        for piece in pieces:
            came -= len(piece)
            try:
                whole = piece if unpack is None else unpack.decompress(piece, left + 1)
            except zlib.error as error:
                raise CallError(FailureKind.BUSY, f"{BROKEN}: it cannot be unpacked ({error})", billed=True) from error
            left -= len(whole)
            if left < 0 or came < 0:
                raise too_large(self._call.most)
            held += whole
            if len(held) >= PIECE or (streams and held):
                yield bytes(held)
                held.clear()
        yield bytes(held)


def _stream(http: ModuleType, pieces: Iterator[bytes], inner: Any) -> Any:
    """An httpx2 stream that replaces the chunks of another one."""

    class Stream(http.SyncByteStream):  # type: ignore[misc, name-defined]  # imported late
        def __iter__(self) -> Iterator[bytes]:
            return pieces

        def close(self) -> None:
            inner.close()

    return Stream()
