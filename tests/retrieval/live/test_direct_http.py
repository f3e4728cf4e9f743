"""Direct HTTP does what httpx2 did: one deadline, one limit of bytes, no redirects, no server that can hang a job."""

import gzip
import json
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest
from tests.extras import need

from trueval.models.hosted.failures import CallError, FailureKind
from trueval.retrieval.live import direct_http, engine_url
from trueval.retrieval.live.direct_http import DirectHttp
from trueval.retrieval.live.engine_url import EngineUrl

need("httpx2", extra="hosted")
BODY = b'[{"id": "d1", "score": 1.5}]'
HEAD = b"HTTP/1.1 200 OK\r\n"


@contextmanager
def answering(*answers: Callable[[socket.socket], object]) -> Iterator[tuple[DirectHttp, list[bytes]]]:
    """A client of a server that reads a request and calls the next answer with the connection, which it then keeps."""
    asked: list[bytes] = []
    left = iter(answers)
    listening = socket.create_server(("127.0.0.1", 0))

    def serve(connection: socket.socket) -> None:
        with connection, suppress(OSError):  # a client that has heard enough
            while data := connection.recv(1 << 16):
                head, _, body = data.partition(b"\r\n\r\n")
                wanted = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0] or 0)
                while len(body) < wanted:
                    more = connection.recv(1 << 16)
                    data, body = data + more, body + more
                asked.append(data)
                if (answer := next(left, None)) is None or answer(connection) == "close":
                    return

    def accept() -> None:
        while True:
            try:
                threading.Thread(target=serve, args=(listening.accept()[0],), daemon=True).start()
            except OSError:
                return

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield DirectHttp("127.0.0.1", listening.getsockname()[1], {"x-mine": "yes"}, 0.5, None), asked
    finally:
        listening.close()


def whole(body: bytes, *headers: bytes) -> Callable[[socket.socket], object]:
    head = b"\r\n".join([HEAD.strip(), b"content-length: %d" % len(body), *headers, b"", b""])
    return lambda connection: connection.sendall(head + body)


def dripping(data: bytes) -> Callable[[socket.socket], object]:
    def drip(connection: socket.socket) -> str:
        for place in range(len(data)):
            try:
                connection.sendall(data[place : place + 1])
            except OSError:
                break
            time.sleep(0.05)
        return "close"

    return drip


CHUNKED = HEAD + b"transfer-encoding: chunked\r\n\r\n"
SENT = {
    "whole": whole(BODY),
    "gzip": whole(gzip.compress(BODY), b"content-encoding: gzip"),
    "deflate": whole(zlib.compress(BODY), b"content-encoding: deflate"),
    "chunked": lambda connection: connection.sendall(CHUNKED + b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)),
    "until the end": lambda connection: (connection.sendall(HEAD + b"\r\n" + BODY), "close")[1],
    "closed by the server": whole(BODY, b"connection: close"),
    "after a hint": lambda connection: connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n") or whole(BODY)(connection),
    "in Latin-1": whole(BODY, b"content-type: application/json; charset=latin-1"),
    "in a charset that nobody knows": whole(BODY, b"content-type: application/json; charset=klingon"),
}


@pytest.mark.parametrize("answer", SENT.values(), ids=SENT)
def test_an_answer_is_read_however_it_is_sent(answer: Callable[[socket.socket], object]) -> None:
    with answering(answer) as (client, asked):
        response = client.request("GET", "/s?q=x", None)
        assert (response.status_code, response.text) == (200, BODY.decode())
        assert asked[0].startswith(b"GET /s?q=x HTTP/1.1\r\n")
        assert b"x-mine: yes" in asked[0]
        assert b"accept-encoding: gzip" in asked[0]


def test_a_body_goes_as_json_over_one_connection() -> None:
    with answering(whole(BODY), whole(BODY)) as (client, asked):
        for _ in range(2):
            client.request("POST", "/s", {"query": "naïve", "k": 3})
        assert len(client._idle) == 1
        assert b"content-type: application/json" in asked[0]
        assert json.loads(asked[1].rpartition(b"\r\n\r\n")[2]) == {"query": "naïve", "k": 3}


def test_a_connection_that_the_server_has_closed_is_made_anew() -> None:
    end = threading.Event()

    def answer_and_close(connection: socket.socket) -> str:
        whole(BODY)(connection)
        end.set()
        return "close"

    with answering(answer_and_close, whole(BODY)) as (client, asked):
        client.request("GET", "/", None)
        end.wait()
        while not client._idle[0].has_ended():
            pass
        assert client.request("GET", "/", None).text == BODY.decode()
        assert len(asked) == 2


REFUSED = {
    "a body that drips": (dripping(HEAD + b"content-length: 99\r\n\r\n" + b" " * 99), FailureKind.BUSY, "timeout: "),
    "a header that drips": (dripping(HEAD + b"x: " + b"y" * 99), FailureKind.BUSY, "timeout: "),
    "silence": (lambda _: None, FailureKind.BUSY, "timeout: 127.0.0.1:[0-9]+ did not answer within 0.5 seconds"),
    "half a body": (
        lambda connection: (connection.sendall(HEAD + b"content-length: 99\r\n\r\n["), "close")[1],
        FailureKind.BUSY,
        "cut: ",
    ),
    "half a chunk": (
        lambda connection: (connection.sendall(CHUNKED + b"ff\r\n["), "close")[1],
        FailureKind.BUSY,
        "cut: ",
    ),
    "no HTTP": (lambda connection: connection.sendall(b"SSH-2.0-OpenSSH\r\n"), FailureKind.BUSY, "cut: "),
    "an end at once": (lambda _: "close", FailureKind.BUSY, "cut: "),
    "more than a response may have": (
        lambda connection: connection.sendall(HEAD + b"content-length: 99999999999\r\n\r\n"),
        FailureKind.REFUSED,
        "more than 64 MiB",
    ),
    "a chunk of more": (
        lambda connection: connection.sendall(CHUNKED + b"%x\r\n" % (1 << 20) + b" " * (1 << 20) + b"\r\n"),
        FailureKind.REFUSED,
        "more than 0.5 MiB",
    ),
    "a bomb": (
        whole(gzip.compress(b" " * (1 << 20)), b"content-encoding: gzip"),
        FailureKind.REFUSED,
        "more than 0.5 MiB",
    ),
    "broken gzip": (whole(b"not gzip", b"content-encoding: gzip"), FailureKind.BUSY, "cannot be unpacked"),
    "brotli": (whole(BODY, b"content-encoding: br"), FailureKind.REFUSED, "packed in a way that was not asked for"),
}


@pytest.mark.parametrize(("answer", "kind", "said"), REFUSED.values(), ids=REFUSED)
def test_what_a_server_does_wrong_is_one_sentence_in_time(
    answer: Callable[[socket.socket], object], kind: FailureKind, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "0.5 MiB" in said:
        monkeypatch.setattr(direct_http, "MOST", 1 << 19)
    with answering(answer) as (client, _):
        begin = time.monotonic()
        with pytest.raises(CallError, match=said) as raised:
            client.request("GET", "/", None)
        assert raised.value.kind is kind
        assert time.monotonic() - begin < 3
        assert not client._idle  # what is left in the connection is of no other call


def test_nobody_there_is_said_as_not_sent() -> None:
    with pytest.raises(CallError, match=r"no connection: 127\.0\.0\.1:9 cannot be reached") as raised:
        DirectHttp("127.0.0.1", 9, {}, 0.5, None).request("GET", "/", None)
    assert raised.value.kind is FailureKind.LOST
    assert not raised.value.billed


def test_a_redirect_is_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    moved = b"HTTP/1.1 302 Found\r\nlocation: http://elsewhere/\r\ncontent-length: 0\r\n\r\n"
    with answering(lambda connection: connection.sendall(moved)) as (client, _):
        engine = EngineUrl(f"http://127.0.0.1:{client.port}/?q={{text}}").connect(0.5)
        with pytest.raises(CallError, match="moved to http://elsewhere/"):
            engine.answer("x", 3)


@pytest.mark.parametrize(
    ("url", "proxies", "direct"),
    [
        ("http://127.0.0.1:9/{text}", {"http": "http://proxy:1"}, True),
        ("http://engine:9/{text}", {}, True),
        ("http://engine:9/{text}", {"https": "http://proxy:1"}, True),
        ("http://engine:9/{text}", {"http": "http://proxy:1"}, False),
        ("https://engine/{text}", {"all": "http://proxy:1"}, False),
        ("http://user:word@engine/{text}", {}, False),
        ("http://{text}.engine/", {}, False),
        ("http://möller.example/{text}", {}, False),
    ],
)
def test_a_proxy_of_the_environment_is_used_for_others_than_this_machine(
    url: str, proxies: dict[str, str], direct: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name, value in proxies.items():
        monkeypatch.setenv(f"{name}_proxy", value)
    client = EngineUrl(url).connect(0.5)
    assert isinstance(getattr(client.request, "__self__", None), DirectHttp) is direct


def test_both_ways_send_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(*[whole(BODY)] * 4) as (client, asked):
        for body in (None, {"q": "{text}", "n": "{k}"}):
            url = f"http://127.0.0.1:{client.port}/s p?a=ä&q={{text}}&k={{k}}#part"
            engine = EngineUrl(url, body, headers={"X-Tenant": "one"})
            for direct in (True, False):
                with monkeypatch.context() as patched:
                    patched.setattr(engine_url, "_is_direct", lambda _, direct=direct: direct)
                    assert engine.connect(0.5).answer("a b/é&{k}", 7) == [{"id": "d1", "score": 1.5}]
        for ours, theirs in (asked[:2], asked[2:]):
            lines = [{line.lower() for line in each.split(b"\r\n") if line} for each in (ours, theirs)]
            assert lines[0] | {b"connection: keep-alive"} == lines[1]


def test_certificates_are_checked() -> None:
    with answering(whole(BODY)) as (client, _):
        engine = EngineUrl(f"https://127.0.0.1:{client.port}/{{text}}").connect(0.5)
        with pytest.raises(CallError, match="cannot be reached"):
            engine.answer("x", 3)
