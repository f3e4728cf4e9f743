"""Answers of hostile servers: of any size, packed small, or a byte now and then; each ends at a limit."""

from __future__ import annotations

import gzip
import json
import socket
import threading
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

import pytest
from tests.extras import need

from trueval.errors import InputError
from trueval.golden.judge.judge import Question
from trueval.golden.judge.model_judge import JudgeSettings, ModelJudge
from trueval.golden.judge.prompt import prompts_for
from trueval.models import load_model
from trueval.models.hosted import response_bounds
from trueval.models.hosted.response_bounds import most_of_vectors
from trueval.models.hosted.retries import Retries

need("httpx2", "openai", extra="hosted")
pytestmark = pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")

MIB = 2**20
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
Send = Callable[[Callable[[bytes], Any]], Any]


@contextmanager
def raw_server(send: Send) -> Iterator[str]:
    """A server that reads a request and writes what it likes; `send` is given what writes bytes."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            got = b""
            while b"\r\n\r\n" not in got:
                got += connection.recv(65536)
            head, _, body = got.partition(b"\r\n\r\n")
            length = int(next(line for line in head.lower().split(b"\r\n") if b"content-length" in line).split(b":")[1])
            while len(body) < length:
                body += connection.recv(65536)
            send(connection.sendall)

    def accept() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    finally:
        listener.close()


def embedder(url: str, timeout: float = 20.0) -> Any:
    return load_model("voyage:m", base_url=url, timeout=timeout, retries=Retries(attempts=1)).embed_queries(["q"])


def openai_embedder(url: str, timeout: float = 20.0) -> Any:
    return load_model("openai:m", base_url=url, timeout=timeout, retries=Retries(attempts=1)).embed_queries(["q"])


def judge(url: str, timeout: float = 20.0) -> Any:
    use = JudgeSettings(model="m", base_url=url, timeout=timeout)
    return ModelJudge(use, prompts_for("grade-1-5"), retries=Retries(attempts=1)).ask(Question("grade", "q", ("a",)))


CLIENTS = pytest.mark.parametrize("ask", [embedder, openai_embedder, judge])


def endless(write: Callable[[bytes], Any]) -> None:
    write(HEAD + b"connection: close\r\n\r\n")
    while True:
        write(b" " * 65536)


def chunked(write: Callable[[bytes], Any]) -> None:
    write(HEAD + b"transfer-encoding: chunked\r\n\r\n")
    while True:
        write(b"10000\r\n" + b" " * 65536 + b"\r\n")


def refusal(write: Callable[[bytes], Any]) -> None:
    write(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n")
    while True:
        write(b"x" * 65536)


def announced(write: Callable[[bytes], Any]) -> None:
    write(HEAD + b"content-length: 999999999999\r\n\r\n[")
    time.sleep(5)


@cache
def bomb() -> bytes:
    """256 MiB of spaces in 260 KB."""
    pack = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join([*(pack.compress(b" " * MIB) for _ in range(256)), pack.flush()])


def packed(write: Callable[[bytes], Any]) -> None:
    body = bomb()
    write(HEAD + f"content-encoding: gzip\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body)


@CLIENTS
@pytest.mark.parametrize("send", [endless, chunked, refusal, announced, packed])
def test_an_answer_without_end_is_cut_at_the_limit(
    monkeypatch: pytest.MonkeyPatch, ask: Callable[..., Any], send: Send
) -> None:
    monkeypatch.setattr(response_bounds, "MOST", 2 * MIB)
    with raw_server(send) as url, pytest.raises(InputError, match="more than 2 MiB"):
        ask(url)


def test_a_packed_answer_takes_no_more_memory_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is past the limit is never unpacked."""
    assert len(bomb()) < MIB
    monkeypatch.setattr(response_bounds, "MOST", 4 * MIB)
    with raw_server(packed) as url:
        judge_of = ModelJudge(
            JudgeSettings(model="m", base_url=url), prompts_for("grade-1-5"), retries=Retries(attempts=1)
        )
        judge_of._connect()
        tracemalloc.start()
        with pytest.raises(InputError, match="more than 4 MiB"):
            judge_of.ask(Question("grade", "q", ("a",)))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 32 * MIB


@CLIENTS
@pytest.mark.parametrize("encoding", ["zstd", "br", "gzip, gzip"])
def test_packings_that_were_not_asked_for_are_refused(ask: Callable[..., Any], encoding: str) -> None:
    def send(write: Callable[[bytes], Any]) -> None:
        write(HEAD + f"content-encoding: {encoding}\r\ncontent-length: 2\r\n\r\n{{}}".encode())

    with raw_server(send) as url, pytest.raises(InputError, match="packed in a way that was not asked for"):
        ask(url)


def test_an_answer_that_is_packed_once_is_read() -> None:
    vector = {"data": [{"index": 0, "embedding": [0.6, 0.8]}]}

    def send(write: Callable[[bytes], Any]) -> None:
        body = gzip.compress(json.dumps(vector).encode())
        write(HEAD + f"content-encoding: gzip\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body)

    with raw_server(send) as url:
        for ask in (embedder, openai_embedder):
            assert ask(url).tolist() == [pytest.approx([0.6, 0.8])]


def broken_packing(write: Callable[[bytes], Any]) -> None:
    write(HEAD + b"content-encoding: gzip\r\ncontent-length: 9\r\n\r\nnot gzip!")


@CLIENTS
def test_a_packing_that_is_broken_is_a_broken_answer(ask: Callable[..., Any]) -> None:
    with raw_server(broken_packing) as url, pytest.raises(InputError, match="broken answer"):
        ask(url)


def drips(head: bytes) -> Send:
    """A byte now and then, each sooner than the time limit."""

    def send(write: Callable[[bytes], Any]) -> None:
        write(head)
        for _ in range(100):
            time.sleep(0.1)
            write(b"a")

    return send


@CLIENTS
@pytest.mark.parametrize(
    "head",
    [
        HEAD + b"connection: close\r\n\r\n",
        HEAD + b"content-length: 5000\r\n\r\n",
        HEAD,
        b"",
        b"HTTP/1.1 500 Bad\r\n\r\n",
    ],
)
def test_an_answer_that_drips_ends_at_the_deadline(ask: Callable[..., Any], head: bytes) -> None:
    with raw_server(drips(head)) as url:
        began = time.monotonic()
        with pytest.raises(InputError, match=r"did not answer within 0\.6 seconds"):
            ask(url, timeout=0.6)
        assert time.monotonic() - began < 5


def test_a_connection_that_is_used_again_has_a_deadline_too() -> None:
    """The deadline is of each call, and not of what opened the connection."""
    vector = json.dumps({"data": [{"index": 0, "embedding": [0.6, 0.8]}]}).encode()
    answered = HEAD + f"content-length: {len(vector)}\r\n\r\n".encode() + vector
    listener = socket.create_server(("127.0.0.1", 0))
    took: list[int] = []

    def serve() -> None:
        connection = listener.accept()[0]
        took.append(1)
        with connection, suppress(OSError):
            for _ in range(3):
                connection.recv(65536)
                time.sleep(0.3)
                connection.sendall(answered)
            connection.recv(65536)
            drips(HEAD + b"content-length: 5000\r\n\r\n")(connection.sendall)

    threading.Thread(target=serve, daemon=True).start()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    model = load_model("voyage:m", base_url=url, timeout=0.7, retries=Retries(attempts=1))
    for _ in range(3):
        model.embed_queries(["q"])
    with pytest.raises(InputError, match=r"did not answer within 0\.7 seconds"):
        model.embed_queries(["q"])
    assert took == [1]
    listener.close()


def test_what_a_request_can_need_is_let_through() -> None:
    """2,048 vectors of 3,072 decimal numbers are more than 64 MiB, and are what was asked for."""
    assert most_of_vectors(1, None, decimal=True) == response_bounds.MOST == 64 * MIB
    longest = json.dumps([-1.2345678901234567e-10] * 3072)
    assert most_of_vectors(2048, 3072, decimal=True) > 2048 * len(longest) > response_bounds.MOST
    assert most_of_vectors(2048, 3072, decimal=False) == response_bounds.MOST
