"""A service on this machine that speaks every protocol we call, and misbehaves when it is told to."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

DIMENSION = 6


class Seen(NamedTuple):
    """A call that came in."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def texts(self) -> list[str]:
        return self.body.get("input") or self.body.get("documents") or self.body.get("texts")


class Trouble(NamedTuple):
    """What the service does instead of, or to, one answer."""

    status: int = 200
    headers: Mapping[str, str] = MappingProxyType({})
    body: str | None = None  # instead of the answer
    change: Callable[[Any], Any] | None = None  # of the answer's JSON
    hang: bool = False  # until the service is closed


def vector(text: str, dimension: int = DIMENSION) -> np.ndarray:
    """What the service embeds a text as: any numbers, the same ones each time, of length 1."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
    numbers = np.random.default_rng(seed).normal(size=dimension)
    return (numbers / np.linalg.norm(numbers)).astype(np.float32)


def score(query: str, document: str) -> float:
    """What the service scores a pair as."""
    shared = len(set(query.split()) & set(document.split()))
    return shared / 8 + len(document) / 1024 + 1e-12  # more digits than float32 has


def tokens(text: str) -> int:
    """What it bills for a text."""
    return len(text.split())


class Loopback:
    """The service: `seen` are its calls, `troubles` are taken one for each call, in their order."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.troubles: list[Trouble] = []
        self.most_texts: int | None = None  # in a call; more are refused as by TEI
        self.key: str | None = None  # that it wants
        self.closing = threading.Event()
        self.url = ""
        self.on_call: Callable[[int], None] = lambda number: None  # number of the call, from 1
        self.lock = threading.Lock()

    def answer(self, seen: Seen) -> tuple[int, dict[str, str], str]:
        with self.lock:
            self.seen.append(seen)
            number = len(self.seen)
            trouble = self.troubles.pop(0) if self.troubles else Trouble()
        self.on_call(number)
        if trouble.hang:
            self.closing.wait(20)
            return 503, {}, ""
        if self.key is not None and seen.headers.get("authorization") != f"Bearer {self.key}":
            return 401, {}, json.dumps({"error": {"message": "Incorrect API key provided."}})
        if trouble.status != 200 or trouble.body is not None:
            return trouble.status, dict(trouble.headers), trouble.body or ""
        if self.most_texts is not None and len(seen.texts) > self.most_texts:
            said = f"batch size {len(seen.texts)} > maximum allowed batch size {self.most_texts}"
            return 422, {}, json.dumps({"error": said, "error_type": "Validation"})
        found = PATHS[seen.path.rsplit("/", 1)[-1]](seen)
        return 200, {}, json.dumps(trouble.change(found) if trouble.change else found)


def embeddings(seen: Seen) -> dict[str, Any]:
    body = seen.body
    dimension = body.get("dimensions") or body.get("output_dimension") or DIMENSION
    rows = [vector(text, dimension) for text in body["input"]]
    base = body.get("encoding_format") == "base64"
    data = [
        {"object": "embedding", "index": i, "embedding": base64.b64encode(row).decode() if base else row.tolist()}
        for i, row in enumerate(rows)
    ]
    billed = sum(map(tokens, body["input"]))
    # In any order: an answer says by index where each belongs.
    return {"object": "list", "data": data[::-1], "model": body["model"], "usage": {"total_tokens": billed}}


def rerank(seen: Seen) -> Any:
    body, texts = seen.body, seen.texts
    scores = [score(body["query"], text) for text in texts]
    order = sorted(range(len(texts)), key=lambda i: -scores[i])
    if "texts" in body:  # TEI
        assert body["raw_scores"] is True
        return [{"index": i, "score": float(np.float32(8 * scores[i] - 2))} for i in order]
    rows = [{"index": i, "relevance_score": scores[i]} for i in order]
    if "truncation" in body:  # Voyage
        return {"object": "list", "data": rows, "usage": {"total_tokens": sum(map(tokens, texts))}}
    if "/v2/" in seen.path:  # Cohere
        return {"id": "x", "results": rows, "meta": {"billed_units": {"search_units": -(-len(texts) // 100)}}}
    return {"model": body["model"], "results": rows, "usage": {"total_tokens": sum(map(tokens, texts))}}


PATHS: dict[str, Callable[[Seen], Any]] = {"embeddings": embeddings, "rerank": rerank}


@contextmanager
def serving() -> Iterator[Loopback]:
    """Runs the service until the end of the block."""
    service = Loopback()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, more, text = service.answer(Seen(self.path, headers, body))
            data = text.encode()
            try:
                self.send_response(status)
                for name, value in {"content-type": "application/json", **more}.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
            except OSError:  # the client did not wait
                self.close_connection = True

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: Any) -> None:  # a client that was killed
            pass

    server = Server(("127.0.0.1", 0), Handler)
    service.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield service
    finally:
        service.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()
