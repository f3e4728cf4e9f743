"""Ray as an Executor: each shard goes to an actor on some machine of a cluster, which keeps its model for the next.

Ray places actors by what a shard says it needs (processors, accelerators, memory), starts them, and tells when a worker
or a machine is lost. An actor has one shard at a time and is given one only once it runs, so that no shard waits for a
machine that does not come, while others are free. What is lost with a worker is given to another one. While shards
wait, more actors than run are asked for, for autoscalers and machines that join. Idle ones wait for the next map.
"""

from __future__ import annotations

import os
import re
import socket
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from operator import le
from typing import Any, Final, NamedTuple

from trueval.errors import InputError, PolicyError, TruevalWarning
from trueval.extras import need
from trueval.threads import Item, Needs, Result

TRIES: Final = 4  # times that an item is given to a worker, which may be lost each time
PATIENCE: Final = 600.0  # seconds without any worker after which the work ends with an error
LOOK: Final = 1.0  # seconds between two looks at the machines of the cluster
AHEAD: Final = 1024  # items that are done and wait for one before them, at most
STARTS: Final = 3  # times that Ray is started here before this is an error
ALONE: Final = 60.0  # seconds in which this machine must be free, to be timed
ANSWERS: Final = 10.0  # seconds in which the head of a cluster must answer
STARTED: Final = "No cluster is named by ray:HOST:PORT or RAY_ADDRESS: Ray was started on this machine, for this work."
MISSING: Final = re.compile(r"No module named '([\w.]+)'")


class Ray:
    """An Executor on the machines of a Ray cluster.

    Args:
        address: head of the cluster, as "10.0.0.1:6379". None for RAY_ADDRESS, or the cluster that this machine is a
            node of; where there is neither, Ray is started on this machine, with a warning that says so.

    Raises:
        MissingExtraError: Ray is not installed.
        PolicyError: the address is one of Ray Client.
        InputError: the cluster does not answer, or runs another version of Ray or Python.
    """

    def __init__(self, address: str | None = None) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray would report to its makers
        self._ray: Any = need("ray", "Machines of a cluster", "scale")
        self._kept: dict[Any, Needs] = {}  # idle workers of earlier maps, with what each has
        self._here = not self._ray.is_initialized()
        if self._here:
            _connect(self._ray, address)

    def __enter__(self) -> Ray:
        """Return the executor."""
        return self

    def __exit__(self, *error: object) -> None:
        """Disconnect; a Ray that was started here ends."""
        _kill(self._ray, self._kept)
        if self._here:
            self._ray.shutdown()

    def map(self, work: Callable[[Item], Result], items: Iterable[Item], /) -> Iterator[Result]:
        """Yield results in the order of the items; otherwise as `as_finished`."""
        return self.as_finished(work, items, ordered=True)

    def as_finished(
        self, work: Callable[[Item], Result], items: Iterable[Item], /, *, ordered: bool = False
    ) -> Iterator[Result]:
        """Yield results as they finish, or in the order of the items, of which the cluster has one for each worker.

        Raises:
            InputError: an item was lost with its worker several times, or no machine has what the items need.
        """
        pool = _Pool(self._ray, work, iter(items), self._kept)
        try:
            yield from pool.results(ordered=ordered)
        finally:
            pool.end()

    @contextmanager
    def alone(self) -> Iterator[str | None]:
        """Hold all processors and accelerators of this machine; yields its name, or None where others have some."""
        _kill(self._ray, self._kept)
        here = self._ray.get_runtime_context().get_node_id()
        node = next(each for each in self._ray.nodes() if each["NodeID"] == here)
        every = {f"num_{name.lower()}s": node["Resources"].get(name, 0) for name in ("CPU", "GPU")}
        placed = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(here, soft=False)
        holder = self._ray.remote(_Worker).options(**every, scheduling_strategy=placed).remote()
        try:
            free, _ = self._ray.wait([holder.ready.remote()], timeout=ALONE)
            yield node["NodeManagerHostname"] if free else None
        finally:
            _kill(self._ray, {holder: None})


class _Given(NamedTuple):
    number: int
    item: Any
    tries: int  # workers that were lost with it


class _Pool:
    """The workers of one map, whose items are read one at a time, as workers are free."""

    def __init__(self, ray: Any, work: Callable[[Any], Any], items: Iterator[Any], kept: dict[Any, Needs]) -> None:
        self.ray, self.items, self.kept, self.count = ray, items, kept, 0
        self.kind, self.work = ray.remote(_Worker), ray.put(work)
        self.again = deque[_Given]()  # items of lost workers
        self.starting: dict[Any, Any] = {}  # sign that it runs → worker
        self.busy: dict[Any, tuple[Any, _Given]] = {}  # result → worker and its item
        self.idle: list[Any] = []
        self.done: dict[int, Any] = {}
        self.needs, self.served = Needs(), time.monotonic()
        self.more = True  # whether items may be left

    def results(self, *, ordered: bool) -> Iterator[Any]:
        """The results, in the order of the items or as they finish."""
        at = 0
        while True:
            self._give()
            while at in self.done if ordered else self.done:
                yield self.done.pop(at) if ordered else self.done.popitem()[1]
                at += 1
            if at == self.count and not self.more and not self.again:
                return
            self._collect()

    def end(self) -> None:
        """End workers that start or are busy; others are kept."""
        _kill(self.ray, dict.fromkeys((*self.starting.values(), *(worker for worker, _ in self.busy.values()))))
        self.kept |= dict.fromkeys(self.idle, self.needs)

    def _give(self) -> None:
        """Give an item to each idle worker, and ask for as many workers as have one, at least for one."""
        full = len(self.done) > AHEAD  # one item is slow, and what follows it takes memory
        while self.idle and not full and (given := self._next()) is not None:
            worker = self.idle.pop()
            self.busy[worker.run.remote(self.work, given.item)] = worker, given
            self.served = time.monotonic()
        if not self.busy and not self.starting and (given := self._next()) is not None:
            self.again.appendleft(given)
            self.needs = getattr(given.item, "needs", Needs())  # what all need is known from the first
            self._check_memory(given.item)
            self._take_kept()
        while (self.more or self.again) and not (self.idle or full) and len(self.starting) < max(1, len(self.busy)):
            options = {"num_cpus": self.needs.cpus, "num_gpus": self.needs.gpus, "memory": self.needs.memory}
            worker = self.kind.options(**options, max_restarts=0).remote()
            self.starting[worker.ready.remote()] = worker

    def _take_kept(self) -> None:
        """Take the workers of earlier maps that have what items need; the machines of others are given back."""
        for worker in [each for each, needs in self.kept.items() if all(map(le, self.needs, needs))]:
            del self.kept[worker]
            self.starting[worker.ready.remote()] = worker  # it may be lost
        _kill(self.ray, self.kept)

    def _next(self) -> _Given | None:
        """The next item, those of lost workers first."""
        if self.again:
            return self.again.popleft()
        if self.more:
            try:
                item = next(self.items)
            except StopIteration:
                self.more = False
            else:
                self.count += 1
                return _Given(self.count - 1, item, 0)
        return None

    def _check_memory(self, item: object) -> None:
        """Refuse an item that needs more memory than the largest machine has, which Ray would wait for."""
        most, name = max(((each["memory"], each["name"]) for each in self._machines()), default=(0, ""))
        if self.needs.memory > most > 0:
            raise InputError(
                f"{item}: a worker needs about {self.needs.memory / 2**30:.1f} GiB of memory, and {name}, the largest "
                f"machine of the cluster, gives workers {most / 2**30:.1f} GiB. Take a smaller batch size, or add a "
                "machine with more."
            )

    def _machines(self) -> list[dict[str, Any]]:
        none, nodes = {"CPU": 0, "GPU": 0, "memory": 0}, [each for each in self.ray.nodes() if each["Alive"]]
        return [{**none, **each["Resources"], "name": each["NodeManagerHostname"]} for each in nodes]

    def _collect(self) -> None:
        """Wait until a worker has started or finished, and take what it has."""
        ready, _ = self.ray.wait([*self.busy, *self.starting], num_returns=1, timeout=LOOK)
        for ref in ready:
            self._take(ref)
        if not self.busy and not self.idle and time.monotonic() - self.served > PATIENCE:
            raise InputError(self._shortage())

    def _take(self, ref: Any) -> None:
        """Take what a worker says: that it runs, or a result."""
        worker, given = self.busy.pop(ref, None) or (self.starting.pop(ref), None)
        self.served = time.monotonic() if given else self.served
        try:
            result = self.ray.get(ref)
        except self.ray.exceptions.RayError as error:
            _check_packages(given.item if given else "a worker", error)
            if isinstance(error, self.ray.exceptions.RayTaskError):  # what the work raised
                cause = getattr(error, "cause", None)
                raise (cause if isinstance(cause, Exception) else error) from None
            _kill(self.ray, {worker: None})  # it, its machine or what it returned is lost
            if given and given.tries + 1 >= TRIES:
                raise InputError(_loss_message(given.item, str(error) or type(error).__name__)) from error
            self.again += [given._replace(tries=given.tries + 1)] if given else []
        else:
            self.done |= {given.number: result} if given else {}
            self.idle.append(worker)

    def _shortage(self) -> str:
        """The message on workers that do not come: what they need, and what there is."""
        has = "{name} ({CPU:g} CPUs, {GPU:g} GPUs, {GiB:.1f} GiB)"
        there = [has.format(**each, GiB=each["memory"] / 2**30) for each in self._machines()]
        return (
            f"No machine of the cluster has given a worker for {PATIENCE / 60:.0f} minutes. It needs {self.needs.cpus} "
            f"CPUs, {self.needs.gpus} GPUs and {self.needs.memory / 2**30:.1f} GiB. The machines are "
            f"{', '.join(there) or 'none'}. Add one, or set OMP_NUM_THREADS to fewer CPUs."
        )


class _Worker:
    """What runs on a machine of the cluster: models that a shard loads stay in its process."""

    def ready(self) -> None:
        """Return once it runs."""

    def run(self, work: Callable[[Any], Any], item: Any) -> Any:
        """Work on an item."""
        return work(item)


def _kill(ray: Any, workers: dict[Any, Any]) -> None:
    """End workers, which gives back their machines, and remove them."""
    while workers:
        with suppress(Exception):  # it is lost, or Ray has ended
            ray.kill(workers.popitem()[0])


def _loss_message(item: object, error: str) -> str:
    reason, machine = error.strip().splitlines()[0], re.search(r"^\s*ip: (\S+)", error, flags=re.MULTILINE)
    where = f" on {machine[1]}" if machine else ""
    return (
        f"{item}: lost with its worker {TRIES} times, the last time{where}: {reason} Workers may run out of memory: "
        "take a smaller batch size, or machines with more. The other shards are kept: run the same command again."
    )


def _check_packages(item: object, error: Exception) -> None:
    """Raise an InputError if a package is not installed on a worker, which no other try would change."""
    absent, machine = MISSING.search(str(error)), re.search(r"ip=([^\s,)]+)", str(error))
    if absent:
        raise InputError(
            f"{item}, on {machine[1] if machine else 'a machine'}: the package {absent[1]} is not installed. Install "
            "trueval with the same extras and constraints on all machines, and run the same command again."
        ) from None


def _start(ray: Any, **options: object) -> None:
    for left in reversed(range(STARTS)):
        try:
            ray.init(address="local", include_dashboard=False, **options)
            return
        except Exception as error:  # a busy machine needs more than the 30 seconds that Ray waits for itself
            ray.shutdown()
            if not left:
                reason = " ".join(str(error).split())[:300]
                raise InputError(f"Ray could not be started on this machine: {reason} Use --on processes:N.") from error


def _connect(ray: Any, address: str | None) -> None:
    named = address or os.environ.get("RAY_ADDRESS")
    if named and named.startswith("ray://"):
        raise PolicyError(
            f"{named} is an address of Ray Client, which cannot wait for workers. Run the command on a machine of the "
            "cluster, with ray job submit, or name the head as HOST:6379."
        )
    options = {"log_to_driver": False, "logging_level": "error"}
    try:
        if named and (place := re.fullmatch(r"\[?(.+?)\]?:(\d+)", named)):  # Ray itself tries for many minutes
            socket.create_connection((place[1], int(place[2])), timeout=ANSWERS).close()
        ray.init(address=named or "auto", **options)
    except OSError as error:  # a ConnectionError of Ray's among them
        if named is None:
            _start(ray, **options)
            return warnings.warn(STARTED, TruevalWarning, stacklevel=3)
        raise InputError(
            f"The Ray cluster at {named} does not answer. Start its head with ray start --head, and name its HOST:PORT."
        ) from error
    except (RuntimeError, ValueError) as error:  # another version of Ray or of Python
        reason = " ".join(str(error).split())
        raise InputError(f"The Ray cluster at {named or 'this machine'} cannot be used: {reason[:300]}") from error
