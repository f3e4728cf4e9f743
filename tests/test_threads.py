"""Work on many items: results in the order of the items, whatever finishes first."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any

import pytest

from trueval import threads
from trueval.errors import InputError
from trueval.threads import LOCAL, Executor, Futures, Processes, Threads, as_finished, in_threads, side_by_side


def test_results_keep_the_order_of_the_items(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    done = threading.Event()

    def work(item: int) -> int:
        if item == 0:
            assert done.wait(10)  # the first ends last
        else:
            done.set()
        return 2 * item

    assert Threads().map(work, iter(range(5))) == [0, 2, 4, 6, 8]


def test_the_error_of_the_first_item_that_fails_is_raised() -> None:
    with pytest.raises(ValueError, match="'1x'"):
        LOCAL.map(int, ["0", "1x", "2x"])


def test_any_executor_may_take_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    class Backward:
        """Works on the last item first, as another machine may."""

        def map(self, work: Callable[[Any], Any], items: Iterable[Any], /) -> list[Any]:
            return [work(item) for item in list(items)[::-1]][::-1]

    executor: Executor = Backward()
    monkeypatch.setattr(threads, "LOCAL", executor)
    seen: list[str] = []
    assert in_threads(lambda item: seen.append(item) or item.upper(), ["a", "b"]) == ["A", "B"]
    assert seen == ["b", "a"]


def test_results_come_as_they_finish_where_the_order_does_not_matter() -> None:
    done = threading.Event()

    def work(item: int) -> int:
        if item == 0:
            assert done.wait(10)  # until the others have come, which the order of the items would not let them
        return item

    with ThreadPoolExecutor(2) as pool:
        found = iter(as_finished(Futures(pool), work, range(5)))
        assert sorted(next(found) for _ in range(4)) == [1, 2, 3, 4]
        done.set()
        assert list(found) == [0]
    assert list(as_finished(LOCAL, abs, [-1, 2])) == [1, 2]


def test_two_things_are_done_side_by_side() -> None:
    meet = threading.Barrier(2, timeout=10)
    first, second = side_by_side(meet.wait, meet.wait)
    assert {first, second} == {0, 1}


def end_at_once(status: int) -> None:
    os._exit(status)


def test_a_process_that_is_ended_from_outside_is_no_fault_of_ours() -> None:
    """Systems that run out of memory kill the largest."""
    with Processes(2) as executor:
        with pytest.raises(InputError, match="was killed from outside"):
            list(executor.map(end_at_once, [9]))
        with pytest.raises(InputError, match="was killed from outside"):
            list(executor.map(abs, [-1]))


class Part(int):
    """A part of a job, with a name of its own."""

    def __str__(self) -> str:
        return f"documents, shard {self + 1} of 9"


def end_third(item: int) -> int:
    if item == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.2)
    return item


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
@pytest.mark.parametrize("ordered", [True, False])
def test_the_part_of_a_killed_worker_is_named(ordered: bool) -> None:
    """-9, as a system does that runs out of memory; what was finished before has come."""
    found: list[int] = []
    with Processes(2) as executor:
        results = (executor.map if ordered else executor.as_finished)(end_third, map(Part, range(9)))
        with pytest.raises(InputError) as raised:
            found.extend(results)
    said = str(raised.value)
    # Two workers had a part each; nobody can tell whose was killed, since the others are ended with it.
    assert "documents, shard 3 of 9" in said.partition(", on ")[0]
    assert said.partition(", on ")[0].count("shard") <= 2
    assert f", on {socket.gethostname()}: the worker process was killed from outside" in said
    assert "run the same command again" in said
    assert set(found) <= {0, 1, 3}


def test_processes_are_as_many_as_processors_unless_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """One does the work itself, where no other has to start."""
    asked: list[int] = []
    monkeypatch.setattr("concurrent.futures.ProcessPoolExecutor", lambda count, _: asked.append(count) or nullcontext())
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    for count in (None, 5, 1):
        Processes(count)
    assert asked == [3, 5]
