"""Direct HTTP: requests of http.client over kept connections, in a quarter of the processor time that httpx2 takes.

A live job sends one small request after another to one host, and at 32 calls at once the time of the client decides how
many there are. Hosts behind a proxy of the environment, and addresses with a user or a place to fill in the name of the
host, are left to httpx2 (engine_url.py).
"""

from __future__ import annotations

import io
import select
import socket
import ssl
import time
import weakref
import zlib
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, InvalidURL
from typing import Any, Final, NamedTuple

from trueval.files.json.quick_json import write_json
from trueval.models.hosted.failures import BROKEN, CallError, FailureKind, cut_off, timed_out, too_large, unreachable
from trueval.models.hosted.response_bounds import MOST, PIECE
from trueval.models.hosted.wire import Headers

PACKED: Final = ("gzip", "x-gzip", "deflate")


class DirectResponse(NamedTuple):
    """A response."""

    status_code: int
    headers: Headers
    text: str


class DirectHttp:
    """A client of one host, which several threads may use. Redirects are not followed.

    Args:
        host: name or address.
        port: None for that of the scheme.
        headers: of every request, with names in lower case.
        timeout: seconds from the beginning of a call to the last byte received.
        certificates: for TLS; None for plain HTTP.
    """

    def __init__(
        self,
        host: str,
        port: int | None,
        headers: Mapping[str, str],
        timeout: float,
        certificates: ssl.SSLContext | None,
    ) -> None:
        self.host, self.port, self.timeout, self.certificates = host, port, timeout, certificates
        self.label = host if port is None else f"{host}:{port}"
        self.headers = {"accept": "*/*", "accept-encoding": "gzip", **headers}
        self._idle: list[_Connection] = []  # whose append and pop are atomic
        weakref.finalize(self, _close_all, self._idle)

    def request(self, method: str, target: str, body: object) -> DirectResponse:
        """Send a request once, and return its response.

        Args:
            target: path and query, quoted.
            body: JSON; None for none.

        Raises:
            CallError: no response came, or more bytes than a response may have.
        """
        connection = self._connect(time.monotonic() + self.timeout)
        headers = self.headers if body is None else {"content-type": "application/json", **self.headers}
        data = None if body is None else write_json(body)
        try:
            connection.http.request(method, target, data, headers)
            response = connection.http.getresponse()
            found = DirectResponse(response.status, response.headers, _read(response))
        except BaseException as error:  # an interrupt too leaves the rest of a response in the connection
            connection.http.close()
            if isinstance(error, InvalidURL):
                raise unreachable(self.label, str(error)) from error
            if isinstance(error, OSError | HTTPException):
                raise self._failure(error) from error
            raise
        if connection.http.sock is not None:  # http.client closes it where the server says so
            self._idle.append(connection)
        return found

    def _connect(self, deadline: float) -> _Connection:
        """A connection that is kept and still open, or a new one."""
        while self._idle:
            try:
                kept = self._idle.pop()
            except IndexError:  # another thread was faster
                break
            if not kept.has_ended():
                kept.deadline = deadline
                return kept
            kept.http.close()
        made = _Connection(self.host, self.port, self.certificates, self.timeout, deadline)
        try:
            made.open()
        except TimeoutError as error:
            raise timed_out(self.label, self.timeout, billed=False) from error
        except OSError as error:
            raise unreachable(self.label, " ".join(str(error).split())) from error
        return made

    def _failure(self, error: OSError | HTTPException) -> CallError:
        if isinstance(error, TimeoutError):
            return timed_out(self.label, self.timeout, billed=True)
        return cut_off(self.label, " ".join(str(error).split()) or type(error).__name__)


class _Connection:
    """A connection whose reads and writes end at the deadline of the call, also where bytes drip.

    Attributes:
        deadline: of the call under way, by the monotonic clock.
    """

    def __init__(
        self, host: str, port: int | None, certificates: ssl.SSLContext | None, timeout: float, deadline: float
    ) -> None:
        self.deadline = deadline
        self.http = (
            HTTPConnection(host, port, timeout=timeout)
            if certificates is None
            else HTTPSConnection(host, port, timeout=timeout, context=certificates)
        )

    def open(self) -> None:
        """Connect."""
        self.http.connect()
        self.http.sock = _BoundedSocket(self.http.sock, self)

    def has_ended(self) -> bool:
        """Whether the server has closed it: an idle connection has nothing to read but its end."""
        if hasattr(select, "poll"):
            waiting = select.poll()
            waiting.register(self.http.sock.fileno(), select.POLLIN)
            return bool(waiting.poll(0))
        return bool(select.select([self.http.sock.fileno()], [], [], 0)[0])

    def seconds_left(self) -> float:
        """Seconds until the deadline, always above 0: for a socket, 0 means not to wait."""
        return max(self.deadline - time.monotonic(), 1e-3)


class _BoundedSocket:
    """What http.client needs of a socket, with the deadline of its connection."""

    def __init__(self, inner: socket.socket, connection: _Connection) -> None:
        self.inner, self.connection = inner, connection
        self.close, self.fileno = inner.close, inner.fileno

    def sendall(self, data: bytes) -> None:
        for place in range(0, len(data), PIECE):
            self.inner.settimeout(self.connection.seconds_left())
            self.inner.sendall(data[place : place + PIECE])

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_BoundedReader(self.inner, self.connection))


class _BoundedReader(io.RawIOBase):
    """Bytes of a socket."""

    def __init__(self, inner: socket.socket, connection: _Connection) -> None:
        self.inner, self.connection = inner, connection
        self.file: Any = inner.makefile("rb", buffering=0)  # which keeps the socket open as long as it is read

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self.inner.settimeout(self.connection.seconds_left())
        return self.file.readinto(buffer)  # type: ignore[no-any-return]

    def close(self) -> None:
        self.file.close()
        super().close()


def _read(response: HTTPResponse) -> str:
    """The text of a response.

    Raises:
        CallError: it is too large, or packed in a way that was not asked for.
    """
    packed = (response.headers.get("content-encoding") or "").strip().lower()
    if packed not in ("", "identity", *PACKED):
        raise CallError(FailureKind.REFUSED, f"{BROKEN}: it is packed in a way that was not asked for", billed=True)
    if response.length is not None:
        if response.length > MOST:
            raise too_large(MOST)
        data = response.read()
    else:
        held = bytearray()
        while piece := response.read(PIECE):
            held += piece
            if len(held) > MOST:
                raise too_large(MOST)
        data = bytes(held)
    if packed in PACKED:
        data = _unpack(data)
    kind = response.headers.get("content-type", "")
    charset = response.headers.get_content_charset("utf-8") if "charset" in kind.lower() else "utf-8"
    try:
        return data.decode(charset, "replace")
    except LookupError:
        return data.decode(errors="replace")


def _unpack(data: bytes) -> bytes:
    try:
        # 47: gzip or zlib, detected from its header.
        found = zlib.decompressobj(47).decompress(data, MOST + 1)
    except zlib.error as error:
        raise CallError(FailureKind.BUSY, f"{BROKEN}: it cannot be unpacked ({error})", billed=True) from error
    if len(found) > MOST:
        raise too_large(MOST)
    return found


def _close_all(connections: list[_Connection]) -> None:
    for each in connections:
        each.http.close()
