"""Timing of tasks: order, resumption, and what stays outside of the window."""

import gc
import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from trueval.errors import InputError, PolicyError
from trueval.latency.latency import SAMPLES, Clock, Protocol, TimedCall, TimedTask, measure
from trueval.latency.sample_ledger import SampleLedger

QUERIES = ["q1", "q2", "q3", "q4"]


@dataclass
class Virtual:
    """Time that passes only where somebody says so."""

    at: int = 10**9
    slept: list[float] = field(default_factory=list)

    def pass_by(self, seconds: float) -> None:
        self.at += round(seconds * 1e9)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.pass_by(seconds)

    @property
    def clock(self) -> Clock:
        return Clock(lambda: self.at, lambda: 1.7e9 + self.at / 1e9, self.sleep)


def tasks_of(time: Virtual, log: list[tuple[str, int]], **seconds: float) -> list[TimedTask]:
    def task(name: str, takes: float) -> TimedTask:
        def run(query: int) -> None:
            log.append((name, query))
            time.pass_by(takes * (query + 1))

        return TimedTask(name, run)

    return [task(name, takes) for name, takes in seconds.items()]


def test_every_task_is_timed_with_every_query_as_often_as_the_protocol_says() -> None:
    time, log = Virtual(), list[tuple[str, int]]()
    found = measure(
        tasks_of(time, log, a=0.001, b=0.01), QUERIES, Protocol(queries=3, repeats=2, warmup=5), clock=time.clock
    )
    assert Counter(log[10:]) == {(task, query): 2 for task in "ab" for query in range(3)}
    assert Counter(name for name, _ in log[:10]) == {"a": 5, "b": 5}  # the warm-up comes before all that is timed
    assert found.failed == {}
    assert dict(found.samples.schema) == SAMPLES
    expected = {(task, f"q{query + 1}", repeat) for task in "ab" for query in range(3) for repeat in (0, 1)}
    assert set(found.samples.select("task", "query_id", "repeat").iter_rows()) == expected
    for task, query_id, _, _, seconds in found.samples.iter_rows():
        assert seconds == pytest.approx({"a": 0.001, "b": 0.01}[task] * int(query_id[1]), abs=1e-12)
    assert found.samples["started"].is_sorted()
    assert found.samples["started"][0] >= 1.7e9


def test_a_drift_falls_on_all_tasks_alike_and_in_blocks_it_would_not() -> None:
    """The machine gets twice as slow on the way: two tasks of equal work keep equal medians."""
    time = Virtual()

    def run(_: int) -> None:
        time.pass_by(0.001 * (1 + (time.at - 10**9) / 1e9))

    equal = [TimedTask(name, run) for name in "ab"]
    samples = measure(equal, [f"q{n}" for n in range(50)], Protocol(queries=50, repeats=8), clock=time.clock).samples
    first, second = (samples.filter(pl.col("task") == name)["seconds"].median() for name in "ab")
    assert samples["seconds"].max() > 2 * samples["seconds"].min()
    assert second / first == pytest.approx(1, abs=0.03)
    half = len(samples) // 2
    blocks = [samples["seconds"][:half].median(), samples["seconds"][half:].median()]
    assert blocks[1] / blocks[0] > 1.3


def test_the_order_is_another_in_each_repeat_and_the_same_for_one_seed() -> None:
    def order(seed: int) -> list[list[tuple[str, int]]]:
        time, log = Virtual(), list[tuple[str, int]]()
        measure(
            tasks_of(time, log, a=0.001, b=0.001),
            QUERIES,
            Protocol(repeats=3, warmup=0, seed=seed),
            clock=time.clock,
        )
        return [log[start : start + 8] for start in (0, 8, 16)]

    one = order(1)
    assert one == order(1)
    assert one != order(2)
    assert len({tuple(repeat) for repeat in one}) == 3
    assert all(sorted(repeat) == sorted(one[0]) for repeat in one)


@pytest.mark.parametrize("stop", range(0, 24, 3))
def test_who_was_stopped_goes_on_and_times_nothing_twice(stop: int, tmp_path: Path) -> None:
    time, ledger, log = Virtual(), SampleLedger(tmp_path / "new" / "samples.jsonl"), list[tuple[str, int]]()
    tasks, protocol = tasks_of(time, log, a=0.001, b=0.002), Protocol(repeats=3, warmup=0)

    def until(sample: TimedCall) -> None:
        if len(log) > stop:
            raise KeyboardInterrupt
        ledger.append(sample)

    with pytest.raises(KeyboardInterrupt):
        measure(tasks, QUERIES, protocol, keep=until, clock=time.clock)
    kept = ledger.read()
    assert len(kept) == stop
    log.clear()
    told: list[tuple[int, int]] = []
    found = measure(
        tasks,
        QUERIES,
        protocol,
        done=kept,
        keep=ledger.append,
        step=lambda done, of: told.append((done, of)),
        clock=time.clock,
    )
    assert len(log) == 24 - stop
    assert told == [(done, 24) for done in range(stop + 1, 25)]
    assert found.samples.head(stop).equals(kept)
    assert not found.samples.select("task", "query_id", "repeat").is_duplicated().any()
    assert ledger.read().equals(found.samples)
    log.clear()
    again = measure(tasks, QUERIES, Protocol(repeats=3, warmup=2), done=ledger.read(), clock=time.clock)
    assert (log, len(again.samples)) == ([], 24)  # nothing is left, so that nothing is warmed up


def test_a_ledger_survives_half_a_line_and_a_sample_twice(tmp_path: Path) -> None:
    ledger, sample = SampleLedger(tmp_path / "samples.jsonl"), TimedCall("a", 'q "1"\n', 0, 1.7e9 + 0.125, 0.1 + 0.2)
    assert ledger.read().height == 0
    ledger.append(sample)
    with ledger.path.open("ab") as file:
        file.write(json.dumps(sample._replace(repeat=1)).encode()[:-3])
    ledger.append(sample._replace(repeat=2))
    ledger.append(sample._replace(seconds=9.0))
    assert list(ledger.read().iter_rows()) == [sample, sample._replace(repeat=2)]
    with pytest.raises(InputError, match=r"samples\.jsonl: cannot be written \(.*\)\. Name another folder\."):
        SampleLedger(ledger.path / "samples.jsonl").append(sample)


def test_a_task_that_breaks_stops_no_other_and_is_not_called_again() -> None:
    time, log = Virtual(), list[tuple[str, int]]()
    (good,) = tasks_of(time, log, good=0.001)
    calls: list[int] = []

    def bad(query: int) -> None:
        calls.append(query)
        if len(calls) == 4:
            raise InputError("the service is gone")

    cold = TimedTask("cold", lambda _: 1 / 0)
    found = measure([TimedTask("bad", bad), good, cold], QUERIES, Protocol(repeats=2, warmup=1), clock=time.clock)
    assert len(calls) == 4
    assert {name: str(error) for name, error in found.failed.items()} == {
        "bad": "the service is gone",
        "cold": "division by zero",
    }
    assert Counter(found.samples["task"].to_list()) == {"good": 8, "bad": 2}


def test_the_window_holds_the_call_alone() -> None:
    time, seen = Virtual(), list[bool]()

    def prepare(query: int) -> str:
        time.pass_by(5.0)
        seen.append(gc.isenabled())
        return f"made of {query}"

    def run(given: str) -> None:
        assert given.startswith("made of ")
        seen.append(gc.isenabled())
        time.pass_by(0.25)

    samples = measure([TimedTask("a", run, prepare)], ["q"], Protocol(repeats=1, warmup=0), clock=time.clock).samples
    assert samples["seconds"].to_list() == [0.25]
    assert samples["started"].to_list() == [1.7e9 + 6.0]
    assert seen == [True, False]
    assert gc.isenabled()


def test_garbage_collection_stays_off_where_it_was_off() -> None:
    gc.disable()
    try:
        measure([TimedTask("a", str)], ["q"], Protocol())
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_nothing_is_measured_of_nothing() -> None:
    assert measure([TimedTask("a", str)], [], Protocol()).samples.is_empty()
    assert measure([TimedTask("a", str)], QUERIES, Protocol(queries=0)).samples.is_empty()
    assert measure([], QUERIES, Protocol()).samples.is_empty()
    assert (
        Protocol(queries=0, rates=(2.0,)).timed_calls(9) == Protocol(queries=0, rates=(2.0,)).load_test_queries(9) == 0
    )


def test_a_protocol_says_how_many_calls_it_makes() -> None:
    time, log = Virtual(), list[tuple[str, int]]()
    protocol = Protocol(queries=9, repeats=2, warmup=3)
    measure(tasks_of(time, log, a=0.001), QUERIES, protocol, clock=time.clock)
    assert len(log) == protocol.timed_calls(len(QUERIES)) == 2 * 4 + 3


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"repeats": 0}, "repeats of a latency must be an integer >= 1. Got 0."),
        ({"queries": -1}, "queries of a latency must be an integer >= 0. Got -1."),
        ({"concurrency": (2, 0)}, r"concurrency must be integers >= 1, .* Got \(2, 0\)."),
        ({"rates": (0.0,)}, r"rates must be numbers > 0, .* Got \(0.0,\)."),
        ({"rates": (float("inf"),)}, "rates must be numbers > 0"),
        ({"band": -0.1}, "band must be a number of seconds >= 0. Got -0.1."),
    ],
)
def test_a_protocol_that_cannot_be_is_refused(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(PolicyError, match=said):
        Protocol(**wrong)  # type: ignore[arg-type]


def test_two_tasks_of_one_name_are_refused() -> None:
    with pytest.raises(PolicyError, match=r"Tasks need different names\. Got \['a', 'a'\]\."):
        measure([TimedTask("a", str), TimedTask("a", int)], QUERIES, Protocol())


def test_a_real_clock_times_a_real_wait() -> None:
    import time

    found = measure([TimedTask("wait", lambda _: time.sleep(0.01))], ["q"], Protocol(repeats=3))
    assert (found.samples["seconds"] >= 0.0099).all()
    assert abs(found.samples["started"][0] - time.time()) < 60
    assert np.isfinite(found.samples["seconds"].to_numpy()).all()
