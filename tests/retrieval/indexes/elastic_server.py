"""A server on loopback that speaks the part of Elasticsearch's protocol that the adapter uses, and misbehaves if told.

It holds documents in shards, counts words over all of them, and scores as Elasticsearch does: BM25 times k1 + 1, and
1 + p or 1 / (1 - p) for an inner product p, all in float32. Analysis is lower case and letters alone.
"""

import json
import math
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

PRODUCT = {"X-Elastic-Product": "Elasticsearch"}
Answer = tuple[int, Any, dict[str, str]]


@dataclass
class Held:
    """One index: what it was made with, and its documents."""

    settings: dict[str, Any]
    mappings: dict[str, Any]
    documents: dict[str, dict[str, Any]] = field(default_factory=dict)
    seen: list[str] = field(default_factory=list)  # ids that a refresh has made visible

    def scores(self, body: dict[str, Any]) -> dict[str, np.float32]:
        """Score of each visible document that a query finds."""
        if "knn" in body:
            return {key: self.of_product(self.documents[key], body["knn"]) for key in self.seen}
        return self.of_words(re.findall(r"\w+", body["query"]["match"]["text"]["query"].lower()))

    def of_product(self, document: dict[str, Any], knn: dict[str, Any]) -> np.float32:
        product = np.dot(np.float32(document["vector"]), np.float32(knn["query_vector"]))
        if self.mappings["properties"]["vector"]["similarity"] == "dot_product":
            return np.float32((1 + product) / 2)
        return np.float32(1 / (1 - product) if product < 0 else 1 + product)

    def of_words(self, terms: list[str]) -> dict[str, np.float32]:
        bags = {key: Counter(re.findall(r"\w+", self.documents[key]["text"].lower())) for key in self.seen}
        lengths = {key: bag.total() for key, bag in bags.items()}
        mean = sum(lengths.values()) / max(sum(map(bool, lengths.values())), 1)
        k1, b = (self.settings["similarity"]["trueval"][name] for name in ("k1", "b"))
        found: dict[str, np.float32] = {}
        for term in terms:
            having = [key for key in bags if bags[key][term]]
            rarity = math.log(1 + (sum(map(bool, bags.values())) - len(having) + 0.5) / (len(having) + 0.5))
            for key in having:
                part = (k1 + 1) * rarity * bags[key][term]
                part /= bags[key][term] + k1 * (1 - b + b * lengths[key] / mean)
                found[key] = np.float32(found.get(key, 0) + part)
        return found


class Server:
    """What the server holds, what it was asked, and how it misbehaves.

    Attributes:
        asked: method and path of every request, with its headers and body.
        faults: asked in turn before a request is answered; the first answer that is not None is given.
        refused: what a document is refused for, by its id.
        failing: shards that do not take part in searches.
        product: whether it says that it is Elasticsearch.
        version: of Elasticsearch, which refuses clients of a newer major version.
    """

    def __init__(self) -> None:
        self.indices: dict[str, Held] = {}
        self.asked: list[tuple[str, str, dict[str, str], str]] = []
        self.faults: list[Callable[[str, str], Answer | None]] = []
        self.refused: dict[str, tuple[int, str]] = {}
        self.failing = 0
        self.product = True
        self.version = "9.1.0"
        self.url = ""

    def made(self) -> list[str]:
        """Indices that were made, one after another."""
        return [path for kind, path, _, _ in self.asked if kind == "PUT" and path != "/_bulk"]

    def once(self, ending: str, answer: Answer, times: int = 1, seconds: float = 0.0) -> None:
        """Give an answer to the next requests whose path ends so, after some seconds."""
        left = [times]

        def fault(_: str, path: str) -> Answer | None:
            if not path.partition("?")[0].endswith(ending) or not left[0]:
                return None
            left[0] -= 1
            if seconds:
                time.sleep(seconds)
            return answer

        self.faults.append(fault)

    def answer(self, method: str, path: str, headers: dict[str, str], text: str) -> Answer:
        self.asked.append((method, path, headers, text))
        wanted = re.search(r"compatible-with=(\d+)", headers.get("accept", ""))
        major = int(self.version.partition(".")[0])
        if wanted and int(wanted[1]) > major:
            reason = f"Accept version must be either version {major} or {major - 1}, but found {wanted[1]}"
            inner = {"type": "status_exception", "reason": f"{reason}. Accept={headers['accept']}"}
            return 400, error("media_type_header_exception", "Invalid media-type value on headers [Accept]", inner), {}
        for fault in self.faults:
            told = fault(method, path)
            if told is not None:
                return told
        name, _, verb = path.partition("?")[0].strip("/").partition("/")
        if not name:
            return 200, {"version": {"number": self.version}, "tagline": "You Know, for Search"}, {}
        if name == "_bulk":
            return self.bulk(text)
        if method == "PUT" and not verb:
            body = json.loads(text)
            self.indices[name] = Held(body["settings"], body["mappings"])
            return 200, {"acknowledged": True, "index": name}, {}
        if name not in self.indices:
            return 404, error("index_not_found_exception", f"no such index [{name}]"), {}
        return self.of_index(method, name, verb, text)

    def of_index(self, method: str, name: str, verb: str, text: str) -> Answer:
        held = self.indices[name]
        shards = {"total": int(held.settings["number_of_shards"]), "successful": 1, "failed": 0}
        if method == "HEAD":
            return 200, None, {}
        if method == "DELETE":
            del self.indices[name]
            return 200, {"acknowledged": True}, {}
        if verb == "_mapping":
            return 200, {name: {"mappings": held.mappings}}, {}
        if verb == "_count":
            return 200, {"count": len(held.seen), "_shards": shards}, {}
        if verb.startswith("_stats"):
            size = len(json.dumps(held.documents))
            primaries = {"store": {"size_in_bytes": size}, "segments": {"count": 1}}
            return 200, {"_all": {"primaries": primaries}}, {}
        if verb in ("_refresh", "_forcemerge"):
            held.seen = list(held.documents)
            return 200, {"_shards": shards}, {}
        assert verb == "_msearch", verb
        lines = [json.loads(line) for line in text.splitlines()]
        return 200, {"took": 1, "responses": [self.search(held, body) for body in lines[1::2]]}, {}

    def bulk(self, text: str) -> Answer:
        lines = [json.loads(line) for line in text.splitlines()]
        items = []
        for action, document in zip(lines[::2], lines[1::2], strict=True):
            about = action["create"]
            held, key = self.indices[about["_index"]], about["_id"]
            status, reason = self.refused.get(key, (201, ""))
            if status == 201 and key in held.documents:
                status, reason = 409, "version conflict, document already exists"
            if status == 201:
                held.documents[key] = document
            elif status == 429:
                del self.refused[key]  # busy once
            item = {"_id": key, "status": status} | (error("document_parsing_exception", reason) if reason else {})
            items.append({"create": item})
        return 200, {"errors": any(item["create"]["status"] != 201 for item in items), "items": items}, {}

    def search(self, held: Held, body: dict[str, Any]) -> dict[str, Any]:
        total = int(held.settings["number_of_shards"])
        found = held.scores(body)
        here = [key for key in found if int(key) % total >= self.failing]
        # Of equal scores Lucene puts first what was indexed first in a shard, and those of the first shards.
        order = sorted(
            here, key=lambda key: (-found[key], int(key) if "sort" in body else (int(key) % total, int(key)))
        )
        hits = [{"_id": key, "_score": float(found[key])} for key in order[: body["size"]]]
        reason = {"type": "no_shard_available_action_exception", "reason": "node left"}
        shards: dict[str, Any] = {"total": total, "successful": total - self.failing, "failed": self.failing}
        if self.failing:
            shards["failures"] = [{"shard": 0, "reason": reason}]
        return {"timed_out": False, "_shards": shards, "hits": {"hits": hits}, "status": 200}


def error(kind: str, reason: str, inner: dict[str, Any] | None = None) -> dict[str, Any]:
    """The body of an error."""
    own = {"type": kind, "reason": reason}
    return {"error": {"root_cause": [own], **own} | ({"caused_by": inner} if inner else {})}


@contextmanager
def elastic_server() -> Iterator[Server]:
    """A server that runs until the end of the block."""
    server = Server()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # an answer in one packet: a second one would wait for the first to be acknowledged

        def told(self) -> None:
            text = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            status, body, headers = server.answer(
                self.command, self.path, {name.lower(): value for name, value in self.headers.items()}, text
            )
            data = b"" if body is None else json.dumps(body).encode()
            kind = {"Content-Type": "application/vnd.elasticsearch+json;compatible-with=9"}
            given = kind | (PRODUCT if server.product else {}) | headers | {"Content-Length": str(len(data))}
            self.send_response(status)
            for name, value in given.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    for method in ("GET", "PUT", "HEAD", "DELETE", "POST"):
        setattr(Handler, f"do_{method}", Handler.told)

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listening.daemon_threads = True
    thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    server.url = f"http://127.0.0.1:{listening.server_port}"
    try:
        yield server
    finally:
        listening.shutdown()
        listening.server_close()
        thread.join()
