"""Everything that goes wrong on the way: tried again where that helps, one clear line where it does not."""

from __future__ import annotations

import gc
import json
import socket
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import wait
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import numpy as np
import pytest
from tests.models.hosted.loopback import Loopback, Trouble, score, vector

from trueval.errors import InputError, MissingExtraError
from trueval.models.hosted.failures import read_retry_after
from trueval.models.hosted.retries import Retries

TEXTS = ["one", "two words", "three more words"]
VECTORS = np.stack([vector(text) for text in TEXTS]).tolist()
EMBEDDERS = ["openai:m", "voyage:m"]

pytestmark = pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")


@pytest.mark.parametrize("name", EMBEDDERS)
@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
def test_what_may_pass_is_sent_again(
    service: Loopback, load: Callable[..., Any], waits: list[float], name: str, status: int
) -> None:
    service.troubles = [Trouble(status, body="{}"), Trouble(status, body="busy"), Trouble()]
    assert load(name).embed_queries(TEXTS).tolist() == VECTORS
    assert len(service.seen) == 3
    assert 0.5 <= waits[0] <= 1
    assert 1 <= waits[1] <= 2


@pytest.mark.parametrize("name", EMBEDDERS)
def test_a_time_that_the_service_names_is_waited_for(
    service: Loopback, load: Callable[..., Any], waits: list[float], name: str
) -> None:
    until = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    asked = [{"Retry-After": "7"}, {"Retry-After": "0"}, {"Retry-After": until}, {"retry-after": "later"}]
    service.troubles = [Trouble(429, headers, "{}") for headers in asked]
    load(name).embed_queries(TEXTS)
    assert waits[0] == 7
    assert 1 <= waits[1] <= 2, "no time at all is none that helps: our own wait counts"
    assert 80 <= waits[2] <= 90
    assert 4 <= waits[3] <= 8, "what is no time is not read as one"


def test_a_clock_that_is_wrong_here_changes_no_wait() -> None:
    headers = {"date": "Wed, 21 Oct 2015 07:28:00 GMT", "retry-after": "Wed, 21 Oct 2015 07:28:30 GMT"}
    assert read_retry_after(headers) == 30
    assert read_retry_after({**headers, "date": "soon"}) == 0


def test_waits_grow_end_and_are_not_those_of_everybody() -> None:
    retries = Retries()
    first = [retries.wait(1, None) for _ in range(50)]
    assert len(set(first)) == 50
    assert all(30 <= retries.wait(20, None) <= 60 for _ in range(50))


@pytest.mark.parametrize("name", EMBEDDERS)
def test_it_is_not_sent_for_ever(service: Loopback, load: Callable[..., Any], waits: list[float], name: str) -> None:
    service.troubles = [Trouble(503, body='{"error": {"message": "overloaded"}}')] * 9
    with pytest.raises(InputError, match=r"127.*: HTTP 503: overloaded \(the last of 6 attempts\)\. What was answered"):
        load(name).embed_queries(TEXTS)
    assert (len(service.seen), len(waits)) == (6, 5)


def test_a_time_that_is_too_long_is_told(service: Loopback, load: Callable[..., Any], waits: list[float]) -> None:
    service.troubles = [Trouble(429, {"Retry-After": "3600"}, '{"message": "daily limit"}')]
    with pytest.raises(InputError, match=r"daily limit; it asks to wait 3600 seconds\. What was answered is kept"):
        load("jina:m").logits("q", TEXTS)
    assert waits == []


@pytest.mark.parametrize("name", ["openai:m", "jina:m"])
def test_an_answer_that_does_not_come_is_asked_for_again(
    service: Loopback, load: Callable[..., Any], waits: list[float], name: str
) -> None:
    service.troubles = [Trouble(hang=True)]
    model = load(name, timeout=0.15)
    found = model.embed_queries(TEXTS).tolist() if name == "openai:m" else model.logits("one", TEXTS)[:, 0].tolist()
    assert found == (VECTORS if name == "openai:m" else [score("one", text) for text in TEXTS])
    service.troubles = [Trouble(hang=True)] * 2
    model = load(name, timeout=0.1, retries=Retries(attempts=2, sleep=waits.append))
    with pytest.raises(InputError, match=r"timeout: 127.*did not answer within 0.1 seconds \(the last of 2 attempts\)"):
        model.embed_queries(["q"]) if name == "openai:m" else model.logits("one", TEXTS)


@pytest.fixture
def uncollected() -> Iterator[None]:
    """Deep in a recursion the collector would run finalizers, which have no room left there."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize("name", EMBEDDERS)
@pytest.mark.parametrize("body", ["<html>gateway</html>", '{"data": [{"ind', "[" * 10**5, ""])
def test_what_is_not_json_is_asked_for_again(
    service: Loopback, load: Callable[..., Any], waits: list[float], name: str, body: str
) -> None:
    service.troubles = [Trouble(body=body)] if body else [Trouble(204)]
    assert load(name).embed_queries(TEXTS).tolist() == VECTORS
    assert len(waits) == 1
    service.troubles = [Trouble(body=body) if body else Trouble(204)] * 6
    with pytest.raises(InputError, match=r"broken answer: HTTP 20\d without JSON"):
        load(name).embed_queries(TEXTS)


REFUSALS = [
    (400, '{"error": {"message": "unknown\\nparameter"}}', r"HTTP 400: unknown parameter\. Correct the settings"),
    (401, '{"detail": "bad key"}', r"HTTP 401: bad key\. The key in MINE is not accepted\. Set the right one"),
    (402, "{}", r"HTTP 402\. Nothing is left to pay with"),
    (403, '{"error": "no"}', r"HTTP 403: no\. The key in MINE may not use this model"),
    (404, '{"message": "no model m."}', r"HTTP 404: no model m\. There is no such model or path"),
    (422, '{"detail": [{"msg": "odd"}]}', r"HTTP 422: .*odd.*Correct the settings"),
    (429, '{"error": {"code": "insufficient_quota", "message": "pay"}}', r"HTTP 429: pay\. What was answered is kept"),
]


@pytest.mark.parametrize("name", ["openai:m", "voyage:m", "cohere:m"])
@pytest.mark.parametrize(("status", "body", "told"), REFUSALS)
def test_what_cannot_pass_stops_at_once(
    service: Loopback,
    load: Callable[..., Any],
    waits: list[float],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    status: int,
    body: str,
    told: str,
) -> None:
    monkeypatch.setenv("MINE", "sk-secret")
    service.troubles = [Trouble(status, body=body)]
    model = load(name, api_key_env="MINE")
    with pytest.raises(InputError, match=told) as caught:
        model.logits("q", TEXTS) if name == "cohere:m" else model.embed_queries(TEXTS)
    assert str(caught.value).startswith(f"{name} at 127.0.0.1:")
    assert "\n" not in str(caught.value)
    assert "sk-secret" not in str(caught.value)
    assert (len(service.seen), waits) == (1, [])


RATES = [
    "You have not yet added your payment method in the billing page and will have reduced rate limits of 3 RPM.",
    "Rate limit reached on requests per min. Please add a payment method to your account to increase your rate limit. "
    "Visit https://example.org/account/billing to add a payment method.",
]


@pytest.mark.parametrize("said", RATES)
def test_a_rate_limit_that_speaks_of_payment_is_waited_for(
    service: Loopback, load: Callable[..., Any], said: str
) -> None:
    service.troubles = [Trouble(429, body=json.dumps({"detail": said}))]
    assert load("voyage:m").embed_queries(TEXTS).tolist() == VECTORS


def test_a_key_that_a_service_repeats_is_not_shown(
    service: Loopback, load: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINE", "sk-secret")
    said = json.dumps({"error": {"message": "Incorrect API key provided: sk-secret."}})
    for trouble in (Trouble(401, body=said), Trouble(429, {"Retry-After": "9"}, said), Trouble(body=said)):
        service.troubles = [trouble]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                load("voyage:m", api_key_env="MINE").embed_queries(TEXTS)
            except InputError as error:
                warnings.warn(str(error), stacklevel=1)
        told = " ".join(str(each.message) for each in caught)
        assert "Incorrect API key provided: [MINE]" in told
        assert "sk-secret" not in told


@pytest.mark.parametrize("name", EMBEDDERS)
@pytest.mark.parametrize("before", [10, 44, 60, 74, 260, 290])
def test_a_key_is_taken_out_before_texts_are_cut(
    service: Loopback, load: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, name: str, before: int
) -> None:
    key = "sk-proj-0123456789abcdefghijKLMNOPqrs"
    monkeypatch.setenv("MINE", key)
    said = json.dumps({"error": {"message": "x" * before + key + "y" * 400}})
    strange = Trouble(change=lambda found: {"message": "x" * before + key, "why": key})
    for trouble in (Trouble(401, body=said), Trouble(body=said), strange, Trouble(body=f"{'x' * before}{key}")):
        service.troubles = [trouble] * 6
        with pytest.raises(InputError) as caught:
            load(name, api_key_env="MINE").embed_queries(TEXTS)
        told = str(caught.value.args)
        assert not [at for at in range(len(key) - 7) if key[at : at + 8] in told]


@pytest.mark.parametrize("name", ["openai:m", "voyage:m"])
def test_texts_go_to_the_named_host_and_to_no_other(service: Loopback, load: Callable[..., Any], name: str) -> None:
    service.troubles = [Trouble(307, {"location": f"{service.url}/elsewhere/embeddings"}, "{}")]
    with pytest.raises(InputError, match=r"HTTP 307: moved to http.*elsewhere.*base_url must name the place itself"):
        load(name).embed_queries(TEXTS)
    assert len(service.seen) == 1


@pytest.mark.parametrize("name", ["openai:m", "jina:m"])
def test_what_goes_to_this_machine_passes_no_proxy_and_tells_no_account(
    service: Loopback, load: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-mine")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-mine")
    model = load(name, retries=Retries(attempts=1))
    model.embed_queries(TEXTS) if name == "openai:m" else model.logits("one", TEXTS)
    (call,) = service.seen
    assert not [value for value in call.headers.values() if "mine" in value]


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, list[bytes]]]:
    """Where a proxy is that takes every connection, and the bytes that it got."""
    got: list[bytes] = []
    for variable in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(variable, raising=False)
        monkeypatch.delenv(variable.lower(), raising=False)

    def serve() -> None:
        with suppress(OSError):
            while True:
                connection, _ = place.accept()
                with connection, suppress(OSError):
                    connection.settimeout(2)
                    got.append(connection.recv(65536))
                    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                    got.append(connection.recv(65536))  # of a tunnel: TLS, and no key that can be read

    with socket.create_server(("127.0.0.1", 0)) as place:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{place.getsockname()[1]}", got
        with suppress(OSError):
            place.shutdown(socket.SHUT_RDWR)
    thread.join(5)


def ask(load: Callable[..., Any], name: str, **settings: Any) -> Any:
    model = load(name, **settings)
    return model.embed_queries(TEXTS) if name == "openai:m" else model.logits("one", TEXTS)


@pytest.mark.parametrize("name", ["openai:m", "jina:m"])
@pytest.mark.parametrize(
    ("url", "environment", "asked"),
    [
        ("https://example.test", {"HTTPS_PROXY": ""}, True),
        ("https://example.test", {"all_proxy": ""}, True),
        ("https://example.test", {"HTTPS_PROXY": "", "NO_PROXY": "example.test"}, False),
        ("https://example.test", {"ALL_PROXY": "", "no_proxy": "*"}, False),
        ("http://example.test", {"http_proxy": ""}, False),
        ("http://127.0.0.1.example.test", {"ALL_PROXY": ""}, False),
        ("http://0.0.0.0:9", {"ALL_PROXY": ""}, False),
    ],
)
def test_a_proxy_never_sees_a_key(
    load: Callable[..., Any],
    proxy: tuple[str, list[bytes]],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    url: str,
    environment: dict[str, str],
    asked: bool,
) -> None:
    place, got = proxy
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value or place)
    monkeypatch.setenv("MINE", "sk-of-nobody-else")
    with pytest.raises(InputError, match=r"cannot be reached|over plain http|broke off"):
        ask(load, name, base_url=url, api_key_env="MINE", retries=Retries(attempts=1), timeout=5.0)
    assert bool(got) == asked
    assert not asked or got[0].startswith(b"CONNECT example.test:443 ")
    assert b"sk-of-nobody-else" not in b"".join(got)


@pytest.mark.parametrize("name", ["openai:m", "jina:m"])
@pytest.mark.parametrize("value", ["socks4://me:pa55word@127.0.0.1:1", "ftp://127.0.0.1:1", "http://me:pa:55@[::1"])
def test_a_proxy_that_cannot_be_used_is_named_without_its_password(
    load: Callable[..., Any], proxy: object, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv("ALL_PROXY", value)
    monkeypatch.setenv("MINE", "sk-of-nobody-else")
    said = r"example\.test would be reached by a proxy of ALL_PROXY, and cannot be: correct it, unset it"
    with pytest.raises(InputError, match=said) as caught:
        ask(load, name, base_url="https://example.test", api_key_env="MINE")
    assert "55" not in str(caught.value)
    ask(load, name)  # of this machine: no proxy is asked


@pytest.mark.parametrize("name", ["openai:m", "jina:m"])
def test_a_server_that_is_not_there_is_named_soon(load: Callable[..., Any], waits: list[float], name: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: nobody else gets the port
        model = load(name, base_url=f"http://127.0.0.1:{taken.getsockname()[1]}")
        with pytest.raises(
            InputError, match=r"cannot be reached \(.+\) \(the last of 3 attempts\)\. Is the server run"
        ):
            model.embed_queries(TEXTS) if name == "openai:m" else model.logits("q", TEXTS)
    assert len(waits) == 2


def replaced(**members: Any) -> Callable[[Any], Any]:
    """Changes the first row of an answer."""

    def change(found: Any) -> Any:
        rows = found if isinstance(found, list) else found.get("data") or found.get("results")
        rows[0] = {**rows[0], **members}
        return found

    return change


def without_one(found: Any) -> Any:
    (found if isinstance(found, list) else found.get("data") or found.get("results")).pop()
    return found


UNUSABLE = [
    (without_one, r"2 rows for 3 texts, index \d is missing"),
    (replaced(index=1), r"index 1 appears twice"),
    (replaced(index=3), r"a row with index 3; indexes must be from 0 to 2"),
    (replaced(index=None), r"a row with index None"),
    (replaced(index=True), r"a row with index True"),
    (lambda found: {"object": "list"}, r"it has no list"),
    (lambda found: [1, 2, 3], r"(it has no list|a row with index None)"),
    (lambda found: "fine", r"it has no list"),
]
OF_VECTORS = [
    (replaced(embedding=[1.0] * 5), r"vectors of \[5, 6\] dimensions; all must have the same"),
    (replaced(embedding=[]), r"vectors of \[0, 6\] dimensions"),
    (replaced(embedding=[float("nan")] * 6), r"1 of 3 vectors are not finite, the first at index 2"),
    (replaced(embedding=[None] * 6), r"1 of 3 vectors are not finite"),
    (replaced(embedding=[1e300] * 6), r"1 of 3 vectors are not finite"),
    (replaced(embedding=["1"] * 6), r"'1' at index 2 is not a number"),
    (replaced(embedding=[[1.0]] * 6), r"'\[1\.0\]' at index 2 is not a number"),
    (replaced(embedding=[0.0] * 6), r"1 of 3 vectors are all zeros, the first at index 2"),
    (replaced(embedding=[10**400] * 6), r"1 of 3 vectors are not finite"),
    (replaced(embedding="AAAA"), r"the vector at index 2 cannot be read"),
    (replaced(embedding="not base64"), r"the vector at index 2 cannot be read"),
    (replaced(embedding={}), r"no vector at index 2"),
]
OF_SCORES = [
    (replaced(relevance_score=float("nan"), score=float("nan")), r"1 of 3 scores are not finite, the first at index 0"),
    (replaced(relevance_score=float("inf"), score=float("inf")), r"1 of 3 scores are not finite"),
    (replaced(relevance_score=None, score=None), r"1 of 3 rows have no '(relevance_)?score', the first at index 0"),
    (replaced(relevance_score=10**400, score=10**400), r"1 of 3 scores are not finite"),
    (replaced(relevance_score="high", score="high"), r"'high' at index 0 is not a number"),
    (replaced(relevance_score=True, score=True), r"'True' at index 0 is not a number"),
]


@pytest.mark.parametrize("name", EMBEDDERS)
@pytest.mark.parametrize(("change", "told"), UNUSABLE + OF_VECTORS)
def test_vectors_that_cannot_be_used_are_refused(
    service: Loopback, load: Callable[..., Any], waits: list[float], name: str, change: Any, told: str
) -> None:
    service.troubles = [Trouble(change=change)]
    with pytest.raises(InputError, match=rf"^{name} at 127.* gave an answer that cannot be used: {told}"):
        load(name).embed_documents(TEXTS)
    assert (len(service.seen), waits) == (1, []), "it was paid for once, and would be as wrong again"


@pytest.mark.parametrize("name", ["cohere:m", "jina:m", "vllm:m", "tei:m", "voyage:rerank-2"])
@pytest.mark.parametrize(("change", "told"), UNUSABLE + OF_SCORES)
def test_scores_that_cannot_be_used_are_refused(
    service: Loopback, load: Callable[..., Any], waits: list[float], name: str, change: Any, told: str
) -> None:
    service.troubles = [Trouble(change=change)]
    with pytest.raises(InputError, match=rf"^{name} at 127.* gave an answer that cannot be used: {told}"):
        load(name).logits("one", TEXTS)
    assert (len(service.seen), waits) == (1, [])


def test_other_dimensions_than_those_asked_for_are_refused(service: Loopback, load: Callable[..., Any]) -> None:
    long = [{"index": i, "embedding": [0.5] * 9} for i in range(3)]
    service.troubles = [Trouble(body=json.dumps({"data": long}))]
    with pytest.raises(InputError, match=r"vectors of \[4, 9\] dimensions \(asked for 4\)"):
        load("openai:m", dimension=4).embed_documents(TEXTS)


@pytest.mark.parametrize("name", ["openai:m", "tei:m"])
def test_calls_that_are_too_large_are_halved_and_stay_so(
    service: Loopback, load: Callable[..., Any], waits: list[float], name: str
) -> None:
    texts = [f"text {number}" for number in range(32)]
    service.most_texts = 5
    model = load(name, batch_size=20)
    found = model.embed_queries(texts) if name == "openai:m" else model.logits("q", texts)
    expected = [vector(text).tolist() for text in texts]
    if name == "tei:m":
        expected = [[float(np.float32(8 * score("q", text) - 2))] for text in texts]
    assert found.tolist() == expected
    sizes = [len(call.texts) for call in service.seen]
    assert sizes[:3] == [20, 10, 5], "halved until it is taken"
    assert max(sizes[3:]) == 5, "and what is still to come with it"
    assert waits == []


@pytest.mark.parametrize(
    ("status", "said"),
    [(413, "Payload Too Large"), (400, "This model's maximum context length is 8192 tokens"), (422, "input too long")],
)
def test_a_text_that_is_too_long_by_itself_is_named(
    service: Loopback, load: Callable[..., Any], status: int, said: str
) -> None:
    service.troubles = [Trouble(status, body=json.dumps({"error": {"message": said}}))] * 3
    with pytest.raises(InputError, match=rf"d1 is too large for one call, about 2 tokens \(HTTP {status}: {said}\)"):
        load("openai:m").embed_documents(TEXTS, ["d1", "d2", "d3"])
    assert [len(call.texts) for call in service.seen] == [3, 1]


def test_what_was_under_way_beside_a_failure_is_handed_on(service: Loopback, load: Callable[..., Any]) -> None:
    model = load("voyage:m", batch_size=1, concurrency=3)
    service.troubles = [Trouble(400, body='{"detail": "no"}')]
    answers = model.answers("documents", TEXTS, TEXTS)
    assert len({*next(answers).places, *next(answers).places}) == 2, "two calls were answered and paid for"
    with pytest.raises(InputError, match="HTTP 400: no"):
        next(answers)


def test_what_is_under_way_is_kept_when_somebody_stops(
    service: Loopback, load: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = iter([KeyboardInterrupt])

    def stopped(running: Any, **how: Any) -> Any:
        for stop in calls:
            raise stop
        return wait(running, **how)

    monkeypatch.setattr("trueval.models.hosted.in_flight.wait", stopped)
    model = load("voyage:m", batch_size=1, concurrency=2)
    answers = model.answers("documents", TEXTS, TEXTS)
    assert {*next(answers).places, *next(answers).places} == {0, 1}, "paid for, and handed on"
    with pytest.raises(KeyboardInterrupt):
        next(answers)
    assert len(service.seen) == 2, "and nothing more is sent"


def test_a_key_that_is_missing_is_told_before_anything_is_sent(
    service: Loopback, load: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MINE", raising=False)
    model = load("openai:m", api_key_env="MINE")
    with pytest.raises(InputError, match=r"^openai:m: the environment variable MINE is not set\. Set it to the key of"):
        model.embed_queries(TEXTS)
    monkeypatch.setenv("MINE", "two\nlines")
    with pytest.raises(InputError, match="MINE holds no key"):
        load("openai:m", api_key_env="MINE").embed_queries(TEXTS)
    assert service.seen == []


def test_texts_without_words_are_named_before_anything_is_sent(service: Loopback, load: Callable[..., Any]) -> None:
    with pytest.raises(InputError, match=r"2 of 3 texts are empty, such as 'd1', 'd3'\. Nothing of this was sent"):
        load("voyage:m").embed_documents(["", "b", " \n"], ["'d1'", "'d2'", "'d3'"])
    with pytest.raises(InputError, match="1 of 2 texts are empty"):
        load("jina:m").logits("q", ["a", ""])
    assert service.seen == []


@pytest.mark.parametrize(("name", "library"), [("openai:m", "openai"), ("jina:m", "httpx2")])
def test_the_extra_is_named(load: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, name: str, library: str) -> None:
    import sys

    monkeypatch.setitem(sys.modules, library, None)
    model = load(name)
    with pytest.raises(MissingExtraError, match=r'Hosted models need the extra "hosted"'):
        model.embed_queries(["q"]) if name == "openai:m" else model.logits("q", ["d"])
