"""Attacks on the page of an audit: each is refused with the right status, and nothing of it is written down."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.golden.audit.attacks import ATTACKS, World
from tests.golden.audit.served import SECRET, drawn, event, plain, served

from trueval.golden.audit.server.page_address import read_address
from trueval.golden.audit.server.request_guard import HEADERS

PATIENCE = 0.3  # seconds of this server for heads and bodies
BY_HTTP = {400}  # answered before the application sees a request, by the library under it


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("audit")
    drawn(folder / "a", orders=[("which", "one", "two")] * 1, grades=plain(9))
    with served(folder / "a", patience=PATIENCE, most=20) as page:
        ann = [each["id"] for each in page.items("ann", 3)]
        bob = [each["id"] for each in page.items("bob", 2)]
        said, by_bob, taken = event("ann", ann[0]), event("bob", bob[0]), event("ann", ann[1])
        for each in (said, by_bob, taken):
            assert page.post("events", each).status == 200
        assert page.post("events", event("ann", None, kind="undo", value=None, of=taken["id"])).status == 200
        page.store._hold("ann", ["i9"], time.time() + 900)  # the only pair
        assert page.items("ann", 3)[-1]["task"] == "order"
        foreign = read_address(folder / "b").token
        yield World(page, ann[2], said, bob[1], by_bob, taken, "i9", "i8", foreign)


def written(world: World) -> object:
    """All that the audit has written down."""
    store = world.served.store
    rows = store._base.execute("SELECT * FROM events ORDER BY number").fetchall()
    shown = store._base.execute("SELECT rater, item FROM shown ORDER BY rater, item").fetchall()
    return [tuple(each) for each in rows], [tuple(each) for each in shown], store.labels(), store.progress()


@pytest.mark.parametrize("name", ATTACKS)
def test_attacks_are_refused_and_write_nothing(name: str, world: World) -> None:
    send, status = ATTACKS[name]
    before = written(world)
    answer = send(world)
    assert answer.status == status, answer
    assert written(world) == before
    told = answer.body + json.dumps(dict(answer.headers)).encode()
    for secret in (SECRET, str(world.served.store.folder), world.served.address.token, "Traceback", "sqlite"):
        assert secret.encode() not in told
    if status not in BY_HTTP:
        assert {name: answer.headers[name.lower()] for name in HEADERS} == HEADERS
        assert (not answer.body) if name.startswith("HEAD") else answer.value["error"]
    assert "access-control-allow-origin" not in answer.headers


def test_there_are_as_many_attacks_as_were_asked_for() -> None:
    assert len(ATTACKS) > 40


def test_what_is_refused_is_taken_once_it_is_right(world: World) -> None:
    """The attacks differ from these requests in one thing each: it is that thing that is refused."""
    page = world.served
    sound = event("ann", world.mine, seconds=1.5, note="two\nlines")
    assert page.post("events", sound, Origin=f"http://{page.host}", Sec_Fetch_Site="same-origin").status == 200
    assert page.post("events", sound).status == 200  # sent twice
    assert len(page.store.labels()[world.mine]) == 1
    assert page.post("events", event("ann", None, kind="undo", value=None, of=sound["id"])).status == 200
    localhost = f"localhost:{page.address.port}"
    assert page.post("start", {"rater": "ann"}, Host=localhost, Origin=f"http://{localhost}").status == 200
    followed = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}
    assert page.raw(page.head("GET", "/", **followed)).status == 200


def test_names_that_are_sql_or_html_are_names(world: World) -> None:
    page = world.served
    for rater in ("Robert'); DROP TABLE events;--", "<img src=x onerror=alert(1)>", '" OR ""="', "../../etc/passwd"):
        answer = page.post("items", {"rater": rater, "want": 1})
        assert answer.status == 200
        for each in answer.value["items"]:
            assert page.post("events", event(rater, each["id"], kind="skip", value=None)).status == 200
        assert rater in page.store.progress()[0].raters


def test_raters_get_texts_and_counts_and_nothing_else(world: World) -> None:
    page = world.served
    begun, items = page.post("start", {"rater": "ann"}), page.post("items", {"rater": "ann", "want": 16})
    assert set(begun.value) == {"audit", "scales", "anchors", "progress"}
    assert set(items.value) == {"items", "progress"}
    assert {key for each in items.value["items"] for key in each} == {"id", "task", "query", "texts", "scale"}
    assert set(items.value["progress"]) == {"mine", "all", "items", "at"}
    assert SECRET.encode() not in begun.body + items.body
    assert page.address.token.encode() not in begun.body + items.body


# ---- time and number ----
def test_a_body_that_never_ends_is_not_waited_for(world: World) -> None:
    page = world.served
    began = time.monotonic()
    answer = page.raw(page.head("POST", "/api/events", 1000) + b'{"rater"')
    assert answer.status == 408
    assert PATIENCE / 2 < time.monotonic() - began < PATIENCE + 3


def test_a_head_that_never_ends_is_not_waited_for(world: World) -> None:
    page = world.served
    for begun in (b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: 127"):
        began = time.monotonic()
        assert page.raw(begun).status is None
        assert PATIENCE / 2 < time.monotonic() - began < PATIENCE + 3


def test_a_second_head_on_a_connection_has_no_more_time_than_the_first(world: World) -> None:
    page = world.served
    began = time.monotonic()
    answer = page.raw(page.head("GET", "/icon.svg", Connection=None) + b"GET / HTTP/1.1\r\nHo")
    assert answer.status == 200
    assert time.monotonic() - began < PATIENCE + 3


@pytest.mark.parametrize(
    "flood",
    [
        b"GET /" + b"a" * 200_000,
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 40_000,
        b"GET / HTTP/1.1\r\nX: " + b"y" * 200_000,
    ],
)
def test_heads_without_end_are_refused(flood: bytes, world: World) -> None:
    assert world.served.raw(flood + b"\r\n\r\n").status in (400, None)
    assert world.served.post("start", {"rater": "ann"}).status == 200


def test_connections_that_only_wait_lock_nobody_out(world: World) -> None:
    with ExitStack() as stack:
        for _ in range(60):
            stack.enter_context(socket.create_connection(("127.0.0.1", world.served.address.port)))
        assert world.served.post("start", {"rater": "ann"}).status == 200


def test_what_goes_wrong_inside_is_told_to_the_terminal_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with served(drawn(tmp_path / "a", grades=plain(2))) as page:
        (item, _) = page.items("ann")
        page.store.progress = lambda: 1 / 0  # type: ignore[method-assign, assignment, return-value]
        answer = page.post("events", event("ann", item["id"]))
    assert answer.status == 503
    assert b"division" not in answer.body
    assert str(tmp_path).encode() not in answer.body
    assert "division by zero" in caplog.text
