"""An engine on this machine whose lists are known: it ties, shuffles, stalls and fails as it is told."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

Scored = list[tuple[str, float]]


def planted(text: str) -> Scored:
    """d00 to d19 for any query: five of score 3, ten of score 2, five of score 1; in another order for each query."""
    names = [f"d{place:02}" for place in range(20)]
    random.Random(text).shuffle(names)
    return [(name, 3.0 if place < 5 else 2.0 if place < 15 else 1.0) for place, name in enumerate(names)]


class Engine:
    """The engine.

    Attributes:
        url: template of its search.
        asked: texts, in the order of the calls.
        troubles: status, headers and body in place of an answer, one for each call, in their order.
        shuffles: whether each call orders equal scores anew.
        doubtful: texts for which each call lists other documents.
        seconds: that a call takes.
        most_at_once: calls that were there at the same time.
    """

    def __init__(self) -> None:
        self.url, self.asked = "", list[str]()
        self.troubles: list[tuple[int, dict[str, str], str]] = []
        self.shuffles, self.doubtful, self.seconds = False, set[str](), 0.0
        self.shape: Any = lambda hits: [{"id": name, "score": score} for name, score in hits]
        self.under_way = self.most_at_once = 0
        self.lock, self.closing = threading.Lock(), threading.Event()
        self.rng = random.Random(5)
        self.bodies: list[Any] = []
        self.headers: list[dict[str, str]] = []

    def answer(self, text: str, k: int) -> tuple[int, dict[str, str], str]:
        with self.lock:
            self.asked.append(text)
            trouble = self.troubles.pop(0) if self.troubles else None
            self.under_way += 1
            self.most_at_once = max(self.most_at_once, self.under_way)
        try:
            if self.seconds:
                time.sleep(self.seconds)
            if trouble is not None:
                if trouble[0] == 0:  # stalls
                    self.closing.wait(20)
                return trouble
            return 200, {}, json.dumps(self.shape(self.hits(text, k)))
        finally:
            with self.lock:
                self.under_way -= 1

    def hits(self, text: str, k: int) -> Scored:
        found = planted(text)
        with self.lock:
            if self.shuffles:
                self.rng.shuffle(found)
                found.sort(key=lambda hit: -hit[1])
            if text in self.doubtful:
                found = [(f"{name}-{self.rng.random()}", score) for name, score in found]
        return found[:k]


@contextmanager
def serving() -> Iterator[Engine]:
    """Run the engine until the end of the block."""
    engine = Engine()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            asked = parse_qs(urlsplit(self.path).query)
            self.reply(asked["q"][0], int(asked["k"][0]))

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            engine.bodies.append(body)
            engine.headers.append({name.lower(): value for name, value in self.headers.items()})
            self.reply(body["query"], body["limit"])

        def reply(self, text: str, k: int) -> None:
            status, headers, said = engine.answer(text, k)
            data = said.encode()
            try:
                self.send_response(status or 200)
                for name, value in headers.items():
                    self.send_header(name, value)
                if "content-length" not in headers:
                    self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
                self.close_connection = "content-length" in headers  # half an answer
            except OSError:  # the client did not wait
                self.close_connection = True

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = 128

    server = Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    engine.url = f"http://127.0.0.1:{server.server_port}/search?q={{text}}&k={{k}}"
    try:
        yield engine
    finally:
        engine.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()
