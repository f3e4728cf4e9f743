"""Loads: a stall that a closed loop hides, and an open loop shows as the closed form says."""

import threading
import time
from contextlib import closing
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from tests.latency.test_latency import Virtual

from trueval.errors import InputError, PolicyError
from trueval.latency.latency import Protocol
from trueval.latency.load_test import closed_loop, loads, open_loop


class Stalling:
    """A server in virtual time: each answer takes a while, and from one moment on none comes for a stall."""

    def __init__(self, takes: float, begins: float, stall: float) -> None:
        self.time, self.takes = Virtual(at=0), takes
        self.begins, self.ends = begins, begins + stall

    def serve(self, _: int) -> None:
        now = self.time.at / 1e9
        if self.begins <= now < self.ends:
            self.time.pass_by(self.ends - now)
        self.time.pass_by(self.takes)


def test_a_closed_loop_hides_a_stall_and_an_open_loop_shows_it() -> None:
    """10 s with a stall of 2 s: quantile(p) = S - (1 - p) T of the open loop, p50 without it."""
    closed, opened = Stalling(0.001, 4.0, 2.0), Stalling(0.001, 4.0, 2.0)
    hidden = closed_loop(closed.serve, [0] * 8000, workers=1, clock=closed.time.clock)
    shown = open_loop(opened.serve, [0] * 1000, 100.0, arrivals="fixed", clock=opened.time.clock)
    assert hidden.lasted == pytest.approx(10.0)
    assert (hidden.quantile(0.5), hidden.quantile(0.99)) == (pytest.approx(0.001), pytest.approx(0.001))
    assert hidden.seconds.max() == pytest.approx(2.001, abs=0.001)
    assert shown.quantile(0.5) == pytest.approx(0.001)
    for share in (0.85, 0.9, 0.95, 0.99):
        # The queue of the stall takes .2 s to get empty, as each answer takes a tenth of the time between arrivals.
        assert shown.quantile(share) == pytest.approx(2.0 - (1 - share) * 10.0 * 0.9, abs=0.02)
    assert shown.achieved == pytest.approx(100, rel=0.01)


def test_an_open_loop_waits_as_queues_do() -> None:
    """Pollaczek-Khinchine, one server of constant service D: mean wait = rho D / (2 (1 - rho))."""
    server = Stalling(0.006, 1e9, 0.0)
    rng = np.random.default_rng(0)
    found = open_loop(server.serve, [0] * 60_000, 100.0, rng=rng, clock=server.time.clock)
    assert float(found.seconds.mean()) - 0.006 == pytest.approx(0.6 * 0.006 / (2 * 0.4), rel=0.05)


def test_more_than_a_server_can_answer_is_seen_in_the_rate() -> None:
    server = Stalling(0.02, 1e9, 0.0)
    found = open_loop(server.serve, [0] * 200, 100.0, arrivals="fixed", clock=server.time.clock)
    assert found.achieved == pytest.approx(50, rel=0.01)
    assert found.seconds[-1] == pytest.approx(200 * 0.02 - 200 * 0.01 + 0.01, rel=0.01)  # the queue only grows
    slept = sum(server.time.slept)
    assert slept == pytest.approx(0.01)  # for the first query alone


def test_workers_of_a_closed_loop_are_under_way_together() -> None:
    under_way, most, lock, all_there = 0, [0], threading.Lock(), threading.Barrier(3, timeout=20)
    seen: list[int] = []

    def serve(query: int) -> None:
        nonlocal under_way
        with lock:
            under_way += 1
            most[0] = max(most[0], under_way)
            seen.append(query)
        if query < 3:
            all_there.wait()
        with lock:
            under_way -= 1

    found = closed_loop(serve, list(range(9)), workers=3)
    assert most == [3]
    assert sorted(seen) == list(range(9))
    assert found.to_dict().keys() == {"loop", "workers", "rate", "p50", "p95", "p99", "samples", "achieved"}
    assert (found.loop, found.workers, found.rate, found.to_dict()["samples"]) == ("closed", 3, None, 9)
    assert (found.seconds > 0).all()


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_ends_the_load(workers: int) -> None:
    calls: list[int] = []

    def serve(query: int) -> None:
        calls.append(query)
        if query == 5:
            raise InputError("the service is gone")

    with pytest.raises(InputError, match="the service is gone"):
        closed_loop(serve, list(range(1000)), workers=workers)
    assert len(calls) < 1000


def test_loads_of_a_protocol() -> None:
    server = Stalling(0.001, 1e9, 0.0)
    seen: list[int] = []

    def serve(query: int) -> None:
        seen.append(query)
        server.serve(query)

    protocol = Protocol(queries=5, repeats=2, warmup=3, concurrency=(1,), rates=(10.0, 20.0))
    found = loads(serve, 4, protocol, clock=server.time.clock)
    assert [(each.loop, each.workers, each.rate) for each in found] == [
        ("closed", 1, None),
        ("open", 1, 10.0),
        ("open", 1, 20.0),
    ]
    assert len(seen) == protocol.load_test_queries(4) == 3 + 3 * 8
    for start in range(3, 27, 4):
        assert sorted(seen[start : start + 4]) == [0, 1, 2, 3]  # each repeat is every query once
    assert loads(serve, 4, Protocol()) == loads(serve, 0, protocol) == []


def test_what_no_loop_can_be_is_refused() -> None:
    with pytest.raises(PolicyError, match=r"A loop needs workers, 1 at least\. Got 0\."):
        closed_loop(str, [1], workers=0)
    with pytest.raises(PolicyError, match="A loop needs a query to send"):
        closed_loop(str, [], workers=1)
    with pytest.raises(PolicyError, match="An open loop takes a rate > 0"):
        open_loop(str, [1], 0.0)


@pytest.mark.evidence
def test_a_server_on_this_machine_that_stalls() -> None:
    """HTTP over loopback; 10 s with a stall of 2 s, to which no client can answer otherwise than wait."""
    begins, sent = [0.0], np.zeros(1000)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            now = time.perf_counter() - begins[0]
            if 4 <= now < 6:
                time.sleep(6 - now)
            sent[int(self.path[1:])] = time.perf_counter() - begins[0]
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def serve(query: int) -> None:
        with closing(HTTPConnection("127.0.0.1", server.server_port, timeout=30)) as connection:
            connection.request("GET", f"/{query}")
            assert connection.getresponse().read() == b"ok"

    try:
        begins[0] = time.perf_counter()
        shown = open_loop(serve, list(range(1000)), 100.0, workers=4, arrivals="fixed")
        waited = sent - np.arange(1000) / 100
        waited -= waited.min()  # the loop begins a little after its call
        begins[0] = time.perf_counter()
        hidden = closed_loop(lambda query: (serve(query), time.sleep(0.01)), [0] * 700, workers=1)
    finally:
        server.shutdown()
        server.server_close()
    print("open", shown.to_dict(), "closed", hidden.to_dict())
    assert hidden.lasted > 6  # it went through the stall
    for share in (0.9, 0.95, 0.99):
        # Others' work on this machine makes a wait longer, never shorter, and the server saw that too.
        assert shown.quantile(share) > 2.0 - (1 - share) * 10.0 - 0.05
        assert shown.quantile(share) == pytest.approx(float(np.quantile(waited, share)), abs=0.2)
        assert hidden.quantile(share) < shown.quantile(share) / 4
