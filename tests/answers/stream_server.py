"""A server on this machine that streams chat completions with planted delays, and misbehaves when it is told to."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from tests.golden.chat import _PART


class Trouble(NamedTuple):
    """What the server does in place of one answer."""

    status: int = 200
    headers: dict[str, str] = {}  # noqa: RUF012  read only
    body: str = ""
    stops: int | None = None  # tokens after which the connection is cut
    ends: int | None = None  # tokens after which the stream ends as if it were whole, without a reason
    event: str | None = None  # in place of the second token's event
    finish: str = "stop"
    hang: float = 0.0  # seconds before the second token


class Seen(NamedTuple):
    headers: dict[str, str]
    body: dict[str, Any]
    question: str
    passages: tuple[str, ...]


class Sent(NamedTuple):
    """Moments of a call on the server's clock: when it was read, and when each token was written."""

    read: float
    tokens: list[float]


class StreamServer:
    """`seen` are its calls, `answered` those whose stream was whole; `write` says what the model answers."""

    def __init__(self, write: Callable[[str, tuple[str, ...]], str]) -> None:
        self.write = write
        self.seen: list[Seen] = []
        self.sent: list[Sent] = []
        self.troubles: list[Trouble] = []
        self.trouble: Callable[[int], Trouble] = lambda number: Trouble()
        self.first = self.between = 0.0  # seconds before the first token, and before each other one
        self.counts = True  # whether it takes stream_options
        self.key = ""
        self.lock = threading.Lock()
        self.url = ""


class _Server(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True
    found: StreamServer

    def handle_error(self, *_: Any) -> None:  # a client that went away
        pass


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        found = self.server.found
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        read = time.perf_counter()
        headers = {name.lower(): value for name, value in self.headers.items()}
        said = next(each["content"] for each in body["messages"] if each["role"] == "user")
        parts = {match.group(1): match.group(3) for match in _PART.finditer(said)}
        seen = Seen(headers, body, parts.pop("query", ""), tuple(parts.values()))
        sent = Sent(read, [])
        with found.lock:
            found.seen.append(seen)
            found.sent.append(sent)
            trouble = found.troubles.pop(0) if found.troubles else found.trouble(len(found.seen))
        if found.key and headers.get("authorization") != f"Bearer {found.key}":
            trouble = Trouble(401, body='{"error": {"message": "bad key"}}')
        if not found.counts and "stream_options" in body:
            trouble = Trouble(400, body='{"error": {"message": "stream_options is not supported"}}')
        if trouble.status != 200:
            self.plain(trouble)
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        self.tokens(seen, sent, trouble)

    def plain(self, trouble: Trouble) -> None:
        data = trouble.body.encode()
        self.send_response(trouble.status)
        for name, value in {"content-type": "application/json", **trouble.headers}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def tokens(self, seen: Seen, sent: Sent, trouble: Trouble) -> None:
        found = self.server.found
        words = found.write(seen.question, seen.passages).split(" ")
        text = [each + " " * (at < len(words) - 1) for at, each in enumerate(words)]
        self.comment()
        for at, each in enumerate(text):
            if at in (trouble.stops, trouble.ends):
                break
            time.sleep(found.first if at == 0 else found.between + trouble.hang * (at == 1))
            event = json.dumps({"model": "served-1", "choices": [{"index": 0, "delta": {"content": each}}]})
            self.event(trouble.event if at == 1 and trouble.event is not None else event)
            sent.tokens.append(time.perf_counter())
        if trouble.stops is not None:
            self.close_connection = True
            self.connection.close()
            return
        if trouble.ends is None:
            self.event(json.dumps({"choices": [{"index": 0, "delta": {}, "finish_reason": trouble.finish}]}))
            if seen.body.get("stream_options"):
                prompt = sum(len(each["content"].split()) for each in seen.body["messages"])
                usage = {"prompt_tokens": prompt, "completion_tokens": len(text)}
                self.event(json.dumps({"choices": [], "usage": usage}))
            self.event("[DONE]")
        self.wfile.write(b"0\r\n\r\n")

    def comment(self) -> None:
        self.chunk(b": a comment\n\n")

    def event(self, data: str) -> None:
        self.chunk(f"data: {data}\n\n".encode())

    def chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def stream_server(write: Callable[[str, tuple[str, ...]], str]) -> Iterator[StreamServer]:
    """A server for as long as the context lasts."""
    found = StreamServer(write)
    server = _Server(("127.0.0.1", 0), _Handler)
    server.found = found
    found.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
