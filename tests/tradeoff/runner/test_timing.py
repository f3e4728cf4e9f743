"""Where systems are timed: on a machine free of other work, which results name, or nowhere."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.extras import need
from tests.tradeoff import made

from trueval.latency.latency import TimedCall
from trueval.latency.sample_ledger import SampleLedger
from trueval.threads import LOCAL, Processes, as_executor, machine_for_timing
from trueval.tradeoff.runner.sweep import sweep

need("faiss", "bm25s", extra="retrieval")
need("safetensors", extra="models")


class Busy:
    """An executor whose workers are on machines that others use too."""

    def map(self, work: Callable[[Any], Any], items: Iterable[Any], /) -> Iterator[Any]:
        return map(work, items)


class Node(Busy):
    """One that can keep a machine free, or finds none."""

    def __init__(self, name: str | None) -> None:
        self.name, self.held = name, 0

    @contextmanager
    def alone(self) -> Iterator[str | None]:
        self.held += 1
        yield self.name
        self.held -= 1


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made.use(monkeypatch, [])
    text = made.SMALL.replace('"dense", "sparse", "dense+rerank", "hybrid+rerank"', '"dense", "sparse"')
    return made.written(tmp_path, text.replace("queries = 0", "queries = 2\nrepeats = 2"))


def test_this_machine_is_free_where_work_is_here() -> None:
    with Processes(1) as processes:
        for executor in (None, LOCAL, processes):
            with machine_for_timing(executor) as machine:
                assert machine == platform.node()
    with ThreadPoolExecutor(1) as pool:
        for executor in (Busy(), as_executor(pool), Node(None)):
            with machine_for_timing(executor) as machine:
                assert machine is None


def test_without_a_free_machine_there_are_no_latencies(file: Path, tmp_path: Path) -> None:
    for executor in (Busy(), Node(None)):
        found = sweep(file, out=tmp_path / "out", executor=executor)
        assert [each.latency for each in found.result.systems] == [None, None]
        assert not (tmp_path / "out" / "samples").exists()
        told = [note for note in found.notes if "latencies" in note]
        assert told == [
            "Systems have no latencies, since no machine was free of other work: run the same command again with --on "
            "threads, which times them where it runs."
        ]
    later = sweep(file, out=tmp_path / "out")
    assert all(each.timed_on == platform.node() and each.latency is not None for each in later.result.systems)
    again = sweep(file, out=tmp_path / "out", executor=Busy())  # what was timed stays
    assert [each.latency for each in again.result.systems] == [each.latency for each in later.result.systems]
    assert (
        f"Systems were timed on {platform.node()} alone, one at a time, after all work elsewhere had ended."
        in again.notes
    )
    assert not [note for note in again.notes if "no latencies" in note]


def test_results_name_the_machine(file: Path, tmp_path: Path) -> None:
    node = Node("node-7")
    found = sweep(file, out=tmp_path / "out", executor=node)
    assert node.held == 0
    assert {each.timed_on for each in found.result.systems} == {"node-7"}
    samples = [json.loads(each.read_text()) for each in (tmp_path / "out" / "samples").glob("*.json")]
    assert [each["machine"] for each in samples] == ["node-7"] * 2
    for each in (tmp_path / "out" / "samples").glob("*.json"):  # another machine took the second one
        each.write_text(each.read_text().replace("node-7", "node-8"))
        break
    two = sweep(file, out=tmp_path / "out")
    assert "Systems were timed on node-7, node-8: compare latencies of one machine." in two.notes


def test_calls_of_another_machine_are_made_again(tmp_path: Path) -> None:
    calls = [TimedCall("a", f"q{i}", 0, 1.7e9, 0.5) for i in range(3)]
    path = tmp_path / "calls.jsonl"
    path.write_text(json.dumps(calls[0]) + "\n")  # as an earlier version wrote it
    SampleLedger(path, "node-7").append(calls[1])
    SampleLedger(path, "node-8").append(calls[2])
    assert SampleLedger(path, "node-7").read()["query_id"].to_list() == ["q0", "q1"]
    assert SampleLedger(path, "node-8").read()["query_id"].to_list() == ["q0", "q2"]
    assert len(SampleLedger(path).read()) == 3
