"""Audits with their page served: in a thread of the test, or in a process that can be killed."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from trueval.collection import text_hash
from trueval.golden.audit.server.page_address import Address, read_address, write_address
from trueval.golden.audit.server.server import open_socket, server_of
from trueval.golden.audit.store.audit_manifest import AuditManifest, AuditStratum, Item, write_sample
from trueval.golden.audit.store.audit_store import AuditStore

SECRET = "judge-said-5"  # in the name of every stratum, document and query: nothing of these may reach a rater
SCALES = {"grade": (1, 5), "order": (-1, 1), "answer": (1, 5)}
HOST = "127.0.0.1"


def drawn(
    folder: Path,
    *,
    grades: Sequence[tuple[str, str]] = (),
    orders: Sequence[tuple[str, str, str]] = (),
    answers: Sequence[tuple[str, str]] = (),
    raters: int = 1,
) -> Path:
    """An audit of these texts in `folder`, its sample written down and nothing graded."""
    items, texts = [], {}
    entries = [("grade", each) for each in grades] + [("order", each) for each in orders]
    entries += [("answer", each) for each in answers]
    for number, (task, words) in enumerate(entries):
        hashes = tuple(text_hash([each]) for each in words)
        texts.update(zip(hashes, words, strict=True))
        documents = {"grade": 1, "order": 2, "answer": 0}[task]
        names = tuple(f"{SECRET}-{number}-{place}" for place in range(documents))
        system = SECRET if task == "answer" else None
        ranks = (7, 8) if task == "order" else ()
        low, high = SCALES[task]
        items.append(Item(f"i{number}", task, f"{SECRET}-q{number}", names, SECRET, hashes, low, high, system, ranks))
    scales = {task: SCALES[task] for task in dict.fromkeys(task for task, _ in entries)}
    strata = (AuditStratum(SECRET, 10 * len(items), len(items)),)
    write_sample(folder, AuditManifest("documents", 1, raters, scales, strata, tuple(items), {"judge": SECRET}), texts)
    return folder


def plain(count: int) -> list[tuple[str, str]]:
    """Queries and passages that can be told apart."""
    return [(f"what is number {each}", f"Number {each} comes after {each - 1}.") for each in range(count)]


class Answer(NamedTuple):
    status: int | None  # None where the connection ended without an answer
    headers: Mapping[str, str]
    body: bytes

    @property
    def value(self) -> Any:
        return json.loads(self.body)


class Served(NamedTuple):
    """The page of an audit, in a thread."""

    store: AuditStore
    address: Address

    @property
    def host(self) -> str:
        return f"{HOST}:{self.address.port}"

    def raw(self, data: bytes, *, patience: float = 5.0) -> Answer:
        with socket.create_connection((HOST, self.address.port), timeout=patience) as connection:
            with suppress(OSError):  # refused before all of it was read
                connection.sendall(data)
            return answer_of(connection)

    def head(self, method: str, path: str, size: int | None = None, **changes: str | None) -> bytes:
        """The first lines of a sound request, but for the headers that are changed, or left out where None."""
        headers: dict[str, str | None] = {
            "Host": self.host,
            "Connection": "close",
            "Authorization": f"Bearer {self.address.token}",
            "Content-Type": "application/json",
            "Content-Length": None if size is None else str(size),
        }
        headers |= {name.replace("_", "-"): value for name, value in changes.items()}
        lines = [
            f"{method} {path} HTTP/1.1",
            *(f"{name}: {each}" for name, each in headers.items() if each is not None),
        ]
        return "\r\n".join([*lines, "", ""]).encode("latin-1")

    def post(self, call: str, body: Any, **changes: str | None) -> Answer:
        """A body that is bytes goes out as it is."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.raw(self.head("POST", f"/api/{call}", len(data), **changes) + data)

    def items(self, rater: str, want: int = 4) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.post("items", {"rater": rater, "want": want}).value["items"]
        return found


def answer_of(connection: socket.socket) -> Answer:
    data = b""
    with suppress(ConnectionError):
        while part := connection.recv(65536):
            data += part
    if not data:
        return Answer(None, {}, b"")
    head, _, body = data.partition(b"\r\n\r\n")
    first, *rest = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in rest)}
    return Answer(int(first.split()[1]), headers, body)


@contextmanager
def served(folder: Path, *, patience: float = 10.0, most: int = 100) -> Iterator[Served]:
    with AuditStore.open(folder) as store, open_socket(HOST, 0) as place:
        address = Address(read_address(folder).token, place.getsockname()[1])
        write_address(folder, address)
        server = server_of(store, address, patience=patience, most=most)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [place]}, daemon=True)
        thread.start()
        try:
            yield Served(store, address)
        finally:
            server.should_exit = True
            thread.join(timeout=10)


def event(rater: str, item: str, **said: Any) -> dict[str, Any]:
    """A grade of 4, or what is said instead; None leaves a key out."""
    every = {"id": str(uuid.uuid4()), "rater": rater, "kind": "grade", "item": item, "value": 4} | said
    return {name: value for name, value in every.items() if value is not None}


_PROGRAM = """
import sys
from pathlib import Path
from trueval.golden.audit.server.server import serve
from trueval.golden.audit.store.audit_store import AuditStore
with AuditStore.open(Path(sys.argv[1])) as store:
    serve(store, ready=lambda address: print(address, flush=True))
"""


class Process:
    """The server of an audit as a process, which is killed and started again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-c", _PROGRAM, str(self.folder)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8")
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()
        assert self.address, "the server did not start"

    def kill(self) -> None:
        self.process.kill()
        self._end()

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT if os.name != "nt" else signal.SIGTERM)
        return self._end()

    def _end(self) -> int:
        assert self.process.stdout is not None
        self.process.stdout.close()
        return self.process.wait(timeout=20)
