"""Latency: tasks timed one at a time in random order, so that machine drift affects all alike.

    tasks = [Task("embed", embed), Task("search", search)]              # each is called with the number of a query
    found = measure(tasks, query_ids, Protocol(repeats=3), keep=ledger.append, done=ledger.read())
    latency(times_of(found.samples, ["embed", "search"]), rng=np.random.default_rng(0)).p50

First every task is called a few times untimed. Then, in each repeat, all tasks with all queries are timed in one random
order. The timed window contains only the call, between two readings of a nanosecond clock: no garbage collection, no
bookkeeping, and the inputs of the task are prepared before. This module does not know what a task does.
"""

from __future__ import annotations

import gc
import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from trueval.errors import PolicyError

_log = logging.getLogger(__name__)

SAMPLES: Final = {
    "task": pl.String,
    "query_id": pl.String,
    "repeat": pl.Int64,
    "started": pl.Float64,
    "seconds": pl.Float64,
}
PER_SECOND: Final = 1e9  # nanoseconds


@dataclass(frozen=True)
class Clock:
    """A source of time.

    Attributes:
        nanoseconds: monotonic clock with any origin.
        now: seconds since 1970, UTC.
        sleep: sleep function, in seconds.
    """

    nanoseconds: Callable[[], int] = time.perf_counter_ns
    now: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep


@dataclass(frozen=True)
class Protocol:
    """The timing protocol.

    Attributes:
        queries: number of sampled queries that are timed; 0 for none.
        repeats: number of times that each task is timed with each query.
        warmup: number of untimed calls of each task, before all others.
        concurrency: numbers of workers in closed loops, in addition to one query at a time.
        rates: arrival rates of open loops, in queries per second.
        band: seconds up to which two percentiles count as equal (P-B: 0.075). None for the measured jitter.
        seed: seed of the order of tasks and queries, and of arrivals.
    """

    queries: int = 30
    repeats: int = 3
    warmup: int = 2
    concurrency: tuple[int, ...] = ()
    rates: tuple[float, ...] = ()
    band: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("queries", 0), ("repeats", 1), ("warmup", 0)):
            if getattr(self, name) < least:
                raise PolicyError(f"{name} of a latency must be an integer >= {least}. Got {getattr(self, name)!r}.")
        if any(workers < 1 for workers in self.concurrency):
            raise PolicyError(f"concurrency must be integers >= 1, the workers of each loop. Got {self.concurrency}.")
        if not all(0 < rate < math.inf for rate in self.rates):
            raise PolicyError(f"rates must be numbers > 0, in queries a second. Got {self.rates}.")
        if self.band is not None and not 0 <= self.band < math.inf:
            raise PolicyError(f"band must be a number of seconds >= 0. Got {self.band!r}.")

    def timed_calls(self, queries: int) -> int:
        """Number of calls per task for this many queries, warm-up included."""
        asked = min(self.queries, queries)
        return self.repeats * asked + (self.warmup if asked else 0)

    def load_test_queries(self, queries: int) -> int:
        """Number of queries that all load tests together send, of this many."""
        asked, loops = min(self.queries, queries), len(self.concurrency) + len(self.rates)
        return self.repeats * asked * loops + (self.warmup if asked and loops else 0)


@dataclass(frozen=True)
class TimedTask:
    """A task to be timed.

    Attributes:
        name: name that identifies its samples; equal work of two systems has one name and is timed once.
        run: the timed function, of the output of `prepare`.
        prepare: untimed function from the index of a query to the input of `run`; the identity by default.
    """

    name: str
    run: Callable[[Any], object]
    prepare: Callable[[int], Any] = int


class TimedCall(NamedTuple):
    """One timed call.

    Attributes:
        repeat: index of the repeat, from 0.
        started: seconds since 1970, UTC.
    """

    task: str
    query_id: str
    repeat: int
    started: float
    seconds: float


class LatencySamples(NamedTuple):
    """The latency samples of a measurement.

    Attributes:
        samples: columns task, query_id, repeat, started, seconds: earlier and new samples.
        failed: name of a task → its error; it was not called again. Its earlier samples are included.
    """

    samples: pl.DataFrame
    failed: Mapping[str, Exception]


def measure(
    tasks: Sequence[TimedTask],
    query_ids: Sequence[str],
    protocol: Protocol,
    *,
    rng: np.random.Generator | None = None,
    done: pl.DataFrame | None = None,
    keep: Callable[[TimedCall], object] | None = None,
    step: Callable[[int, int], object] | None = None,
    clock: Clock | None = None,
) -> LatencySamples:
    """Time every task with every query as often as the protocol says, each repeat in one random order.

    Args:
        query_ids: [query] ids used in samples; the first ones are timed, as many as the protocol says.
        rng: random generator of the orders; one with the protocol's seed if None.
        done: samples of an interrupted call, which are not timed again.
        keep: called with each sample as soon as it is measured.
        step: called with the number of samples done and the total.

    Raises:
        PolicyError: two tasks have one name.

    >>> ticks = iter(range(0, 10**9, 10**6))
    >>> slow = Clock(nanoseconds=lambda: next(ticks), now=lambda: 0.0)
    >>> measure([TimedTask("nothing", str)], ["q1", "q2"], Protocol(repeats=1), clock=slow).samples["seconds"].to_list()
    [0.001, 0.001]
    """
    names = [task.name for task in tasks]
    if len(set(names)) < len(names):
        raise PolicyError(f"Tasks need different names. Got {names}.")
    asked = list(query_ids)[: protocol.queries]
    before = pl.DataFrame(schema=SAMPLES) if done is None else done.select(list(SAMPLES))
    left = _RemainingCalls.of(tasks, asked, protocol.repeats, before)
    timing = _Timing(asked, clock or Clock(), {})
    for call in range(protocol.warmup):
        timing.warm(left.tasks, call)
    made: list[TimedCall] = []
    draw = rng or np.random.default_rng(protocol.seed)
    for sample in timing.samples(left, draw):
        made.append(sample)
        if keep is not None:
            keep(sample)
        if step is not None:
            step(left.there + len(made), left.there + left.number)
    return LatencySamples(pl.concat([before, pl.DataFrame(made, schema=SAMPLES, orient="row")]), timing.failed)


class _RemainingCalls(NamedTuple):
    """The calls still to be timed.

    Attributes:
        repeats: [repeat] pairs of a task and the index of a query.
        there: number of earlier samples.
    """

    repeats: list[list[tuple[TimedTask, int]]]
    there: int

    @classmethod
    def of(
        cls, tasks: Sequence[TimedTask], asked: Sequence[str], repeats: int, before: pl.DataFrame
    ) -> _RemainingCalls:
        known = set(before.select("task", "query_id", "repeat").iter_rows())
        pairs = [(task, query) for task in tasks for query in range(len(asked))]
        left = [
            [pair for pair in pairs if (pair[0].name, asked[pair[1]], each) not in known] for each in range(repeats)
        ]
        return cls(left, len(pairs) * repeats - sum(map(len, left)))

    @property
    def number(self) -> int:
        return sum(map(len, self.repeats))

    @property
    def tasks(self) -> list[TimedTask]:
        return list({task.name: task for some in self.repeats for task, _ in some}.values())


class _Timing(NamedTuple):
    """Calls tasks, and records which ones fail.

    Attributes:
        asked: [query] query ids.
        failed: name of a task → its error.
    """

    asked: Sequence[str]
    clock: Clock
    failed: dict[str, Exception]

    def warm(self, tasks: Sequence[TimedTask], call: int) -> None:
        """Call each task once, untimed."""
        for task in tasks:
            self.try_call(task, call % len(self.asked), 0)

    def samples(self, left: _RemainingCalls, rng: np.random.Generator) -> Iterator[TimedCall]:
        """Time the remaining calls, repeat by repeat, each in random order."""
        for repeat, some in enumerate(left.repeats):
            gc.collect()
            for place in rng.permutation(len(some)).tolist():
                task, query = some[place]
                sample = self.try_call(task, query, repeat)
                if sample is not None:
                    yield sample

    def try_call(self, task: TimedTask, query: int, repeat: int) -> TimedCall | None:
        """Time one call; None for a task that fails or failed before: the others continue."""
        if task.name in self.failed:
            return None
        try:
            return self.time_call(task, query, repeat)
        except Exception as error:  # noqa: BLE001 - whatever breaks one task
            _log.error("%s cannot be timed", task.name, exc_info=True)
            self.failed[task.name] = error
            return None

    def time_call(self, task: TimedTask, query: int, repeat: int) -> TimedCall:
        """Time one call; nothing else happens between the two clock readings."""
        given, run, read = task.prepare(query), task.run, self.clock.nanoseconds
        with without_garbage_collection():
            started = self.clock.now()
            begin = read()
            run(given)
            end = read()
        return TimedCall(task.name, self.asked[query], repeat, started, (end - begin) / PER_SECOND)


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Disable cyclic garbage collection, whose pauses last milliseconds and come at any moment."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
