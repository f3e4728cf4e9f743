"""Load tests: latency under concurrent queries, with closed and open loops.

    closed loop   n workers, of which each sends its next query when its last one is answered
    open loop     queries arrive at a rate, whether the ones before are answered or not

A closed loop sends nothing while it waits, so a stall of S seconds is one slow query per worker, and the percentiles
hide it (coordinated omission; Tene 2013, "How not to measure latency"). In an open loop the time of a query counts from
when it was due. In T seconds with one stall of S and otherwise negligible work, its quantile is

    quantile(p) = S - (1 - p) T,   for (1 - p) T < S

since queries that arrive during the stall wait for its end.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from trueval.errors import PolicyError
from trueval.latency.latency import PER_SECOND, Clock, Protocol, without_garbage_collection
from trueval.latency.percentiles import NAMES

Floats = NDArray[np.float64]

Serve = Callable[[int], object]
Arrivals = Literal["poisson", "fixed"]
LOOPS: Final = ("closed", "open")


@dataclass(frozen=True, eq=False)
class Load:
    """Latencies under one load.

    Attributes:
        loop: "closed" or "open".
        workers: maximum number of concurrent queries.
        rate: arrival rate of an open loop, in queries per second; None for a closed one.
        seconds: [query] latency in seconds; in an open loop from when the query was due.
        lasted: seconds from the first query to the last response.
    """

    loop: str
    workers: int
    rate: float | None
    seconds: Floats
    lasted: float

    @property
    def achieved(self) -> float:
        """Achieved throughput, in queries per second."""
        return len(self.seconds) / self.lasted if self.lasted else 0.0

    def quantile(self, share: float) -> float:
        """Quantile of the latency in seconds, type 7."""
        return float(np.quantile(self.seconds, share))

    def to_dict(self) -> dict[str, object]:
        """The JSON form."""
        about = {"loop": self.loop, "workers": self.workers, "rate": self.rate}
        shares = {name: self.quantile(share) for name, share in NAMES.items()}
        return {**about, **shares, "samples": len(self.seconds), "achieved": self.achieved}


def closed_loop(serve: Serve, queries: Sequence[int], workers: int, *, clock: Clock | None = None) -> Load:
    """Run a closed loop: each worker sends one query after another.

    Args:
        serve: answers the query with this index; called from several threads.
        queries: indices of the queries, in sending order.

    Raises:
        PolicyError: no query, or no worker.

    >>> closed_loop(str, [0, 1, 2], workers=2).seconds.shape
    (3,)
    """
    return _Loop(serve, queries, None, clock or Clock()).run(workers)


def open_loop(
    serve: Serve,
    queries: Sequence[int],
    rate: float,
    *,
    workers: int = 1,
    arrivals: Arrivals = "poisson",
    rng: np.random.Generator | None = None,
    clock: Clock | None = None,
) -> Load:
    """Run an open loop: queries are sent when due or when a worker becomes free; waiting time counts.

    Args:
        serve: answers the query with this index; called from several threads if there are several workers.
        queries: indices of the queries, in sending order.
        rate: arrival rate in queries per second.
        workers: maximum number of concurrent queries: 1 for a sequential server.
        arrivals: "poisson" for random arrivals, as from many users; "fixed" for arrivals 1 / rate apart.

    Raises:
        PolicyError: no query, no worker, a rate that is not above 0, or other arrivals.
    """
    if not rate > 0 or arrivals not in ("poisson", "fixed"):
        raise PolicyError(f"An open loop takes a rate > 0, and arrivals poisson or fixed. Got {rate}, {arrivals!r}.")
    draw = rng or np.random.default_rng(0)
    gaps = np.full(len(queries), 1.0) if arrivals == "fixed" else draw.exponential(size=len(queries))
    due = np.cumsum(gaps) / rate
    return _Loop(serve, queries, due, clock or Clock()).run(workers, rate)


def loads(
    serve: Serve,
    queries: int,
    protocol: Protocol,
    *,
    rng: np.random.Generator | None = None,
    clock: Clock | None = None,
    workers: int = 1,
) -> list[Load]:
    """Run the closed and open loops of a protocol; each sends every query once per repeat, in random order.

    Args:
        serve: answers the query with this index.
        queries: number of queries.
        protocol: protocol with numbers of workers and rates.
        rng: random generator of orders and arrivals; one with the protocol's seed if None.
    """
    rng = rng or np.random.default_rng(protocol.seed)
    asked = min(queries, protocol.queries)

    def order() -> list[int]:
        return [int(query) for _ in range(protocol.repeats) for query in rng.permutation(asked)]

    if not asked or not (protocol.concurrency or protocol.rates):
        return []
    for query in order()[: protocol.warmup]:
        serve(query)
    closed = [closed_loop(serve, order(), number, clock=clock) for number in protocol.concurrency]
    opened = [open_loop(serve, order(), rate, workers=workers, rng=rng, clock=clock) for rate in protocol.rates]
    return closed + opened


class _Loop:
    """Queries shared by workers.

    Args:
        serve: answers the query with this index.
        due: [query] seconds from the start at which it is due; None to send it as soon as a worker is free.
    """

    def __init__(self, serve: Serve, queries: Sequence[int], due: Floats | None, clock: Clock) -> None:
        if not len(queries):
            raise PolicyError("A loop needs a query to send. Got none.")
        self.serve, self.queries, self.due, self.clock = serve, queries, due, clock
        self.seconds = np.full(len(queries), np.nan)
        self.begin = 0
        self.lock, self.places = threading.Lock(), iter(range(len(queries)))

    def run(self, workers: int, rate: float | None = None) -> Load:
        """Send all queries; a single worker runs in this thread."""
        if workers < 1:
            raise PolicyError(f"A loop needs workers, 1 at least. Got {workers!r}.")
        gc.collect()
        with without_garbage_collection():
            self.begin = self.clock.nanoseconds()
            if workers == 1:
                self._work()
            else:
                self._share(workers)
            lasted = (self.clock.nanoseconds() - self.begin) / PER_SECOND
        return Load(LOOPS[self.due is not None], workers, rate, self.seconds, lasted)

    def _share(self, workers: int) -> None:
        with ThreadPoolExecutor(workers, "trueval-load") as pool:
            for done in [pool.submit(self._work) for _ in range(workers)]:
                done.result()

    def _work(self) -> None:
        for place in self._next_places():
            sent = self._wait_until_due(place)
            try:
                self.serve(self.queries[place])
            except BaseException:
                self.places = iter(())  # the other workers stop after their current query
                raise
            self.seconds[place] = (self.clock.nanoseconds() - self.begin) / PER_SECOND - sent

    def _next_places(self) -> Iterator[int]:
        """The query indices that one worker processes."""
        while True:
            with self.lock:
                place = next(self.places, None)
            if place is None:
                return
            yield place

    def _wait_until_due(self, place: int) -> float:
        """Wait until a query is due, and return that time in seconds from the start."""
        now = (self.clock.nanoseconds() - self.begin) / PER_SECOND
        if self.due is None:
            return now
        due = float(self.due[place])
        if due > now:
            self.clock.sleep(due - now)
        return due
