"""A server on this machine that speaks chat completions, grades by what a test says, and misbehaves when it is told to.

It reads passages out of the prompt as a model would see them: by the lines around them.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

_PART = re.compile(r"=== (query|words|passage \d+) ([0-9a-f]{16}) ===\n(.*?)\n=== end of \1 \2 ===", re.DOTALL)


class Trouble(NamedTuple):
    """What the server does in place of one answer."""

    status: int = 200
    headers: dict[str, str] = {}  # noqa: RUF012  read only
    body: str | None = None  # instead of the answer
    content: str | None = None  # instead of what the model would write
    message: dict[str, Any] = {}  # noqa: RUF012  further keys of the message
    finish: str = "stop"
    cut: bool = False  # the connection, in the middle of the answer
    seconds: float = 0.0  # before it answers


class Seen(NamedTuple):
    headers: dict[str, str]
    body: dict[str, Any]
    query: str
    passages: tuple[str, ...]

    @property
    def task(self) -> str:
        system = self.body["messages"][0]["content"]
        phrases = {
            "order": "put passages in order",
            "rewrite": "prepare a query",
            "step-back": "prepare a second query",
            "hyde": "prepare a search by meaning",
            "write": "You write a question",
            "nuggets": "You list what a good answer",
            "importance": "how much statements matter",
        }
        return next((task for task, phrase in phrases.items() if phrase in system), "grade")


def words(body: dict[str, Any], content: str) -> tuple[int, int]:
    """Tokens as words, of what the user says."""
    said = next(each["content"] for each in body["messages"] if each["role"] == "user")
    return len(said.split()), len(content.split())


def thirds(body: dict[str, Any], content: str) -> tuple[int, int]:
    """Tokens of three bytes each, of all that is sent."""
    return len(json.dumps(body["messages"]).encode()) // 3, len(content.encode()) // 3


class ChatServer:
    """`seen` are its calls; `troubles` are taken one for each call; `grade` says what a passage is worth."""

    def __init__(self, grade: Callable[[str, str], int]) -> None:
        self.grade = grade
        self.write: Callable[[Seen], str] = lambda seen: json.dumps({"question": "what?", "answer": ""})
        self.list_nuggets: Callable[[Seen], list[str]] = lambda seen: [*seen.passages]
        self.known: dict[str, str] = {}  # query → what the model adds to it for hyde
        self.seen: list[Seen] = []
        self.troubles: list[Trouble] = []
        self.trouble: Callable[[int], Trouble] = lambda number: Trouble()  # number of the call, from 1
        self.forms = {"json_schema", "json_object", "text"}  # that it takes
        self.key = ""  # that it wants
        self.most = 10**9  # calls at once; more are refused with 429
        self.seconds = 0.0  # that an answer takes
        self.bills = words  # tokens of the prompt and of the answer, from the body of a call and what the model wrote
        self.billed: list[tuple[int, int]] = []  # of each call that a model answered
        self.under_way = self.peak = 0
        self.lock = threading.Lock()
        self.url = ""

    def answer(self, headers: dict[str, str], body: dict[str, Any]) -> tuple[Trouble, str]:
        said = next(each["content"] for each in body["messages"] if each["role"] == "user")
        parts = {match.group(1): match.group(3) for match in _PART.finditer(said)}
        asked = parts.pop("query", parts.pop("words", ""))
        seen = Seen(headers, body, asked, tuple(parts.values()))
        with self.lock:
            self.seen.append(seen)
            trouble = self.troubles.pop(0) if self.troubles else self.trouble(len(self.seen))
        if self.key and headers.get("authorization") != f"Bearer {self.key}":
            trouble = Trouble(401, body=json.dumps({"error": {"message": f"bad key {headers.get('authorization')}"}}))
        form = body.get("response_format", {}).get("type", "text")
        if form not in self.forms:
            trouble = Trouble(400, body=json.dumps({"error": {"message": f"response_format {form} is not supported"}}))
        content = self.written(seen) if trouble.content is None else trouble.content
        message = {"role": "assistant", "content": content, **trouble.message}
        choice = {"index": 0, "finish_reason": trouble.finish, "message": message}
        asked, given = self.bills(body, content or "")
        if trouble.status == 200:
            with self.lock:
                self.billed.append((asked, given))
        usage = {"prompt_tokens": asked, "completion_tokens": given}
        whole = {"id": "1", "object": "chat.completion", "model": "served-1", "choices": [choice], "usage": usage}
        return trouble, json.dumps(whole) if trouble.body is None else trouble.body

    def written(self, seen: Seen) -> str:
        if seen.task == "write":
            return self.write(seen)
        if seen.task == "nuggets":
            return json.dumps({"nuggets": self.list_nuggets(seen)})
        if seen.task == "rewrite":
            return json.dumps({"query": seen.query.upper()})
        if seen.task in ("step-back", "hyde"):
            more = self.known.get(seen.query, seen.task) if seen.task == "hyde" else seen.task
            return json.dumps({"query": f"{seen.query} {more}"})
        grades = [self.grade(seen.query, text) for text in seen.passages]
        if seen.task == "order":
            return json.dumps({"order": [1 + i for i in sorted(range(len(grades)), key=lambda i: (-grades[i], i))]})
        entries = [{"passage": n, "reason": f"because {n}", "grade": grade} for n, grade in enumerate(grades, 1)]
        return json.dumps({"passages": entries})


@contextmanager
def chat_server(grade: Callable[[str, str], int]) -> Iterator[ChatServer]:
    """A server for as long as the context lasts."""
    found = ChatServer(grade)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            with found.lock:
                found.under_way += 1
                found.peak = max(found.peak, found.under_way)
                full = found.under_way > found.most
            try:
                trouble, text = (
                    (Trouble(429, {"retry-after": "0.05"}), '{"error": {"message": "too many"}}')
                    if full
                    else found.answer({name.lower(): value for name, value in self.headers.items()}, body)
                )
                time.sleep(trouble.seconds or (0 if full else found.seconds))
            finally:
                with found.lock:
                    found.under_way -= 1
            data = text.encode()
            self.send_response(trouble.status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            for name, value in trouble.headers.items():
                self.send_header(name, value)
            self.end_headers()
            if trouble.cut:
                self.wfile.write(data[: len(data) // 2])
                self.close_connection = True
                return
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = 128

        def handle_error(self, *_: Any) -> None:  # a client that went away
            pass

    server = Server(("127.0.0.1", 0), Handler)
    found.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
