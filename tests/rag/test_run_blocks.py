"""Runs evaluated by an executor: the same results to the byte, whichever it is."""

from __future__ import annotations

import json
import pickle
import socket
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trueval.comparison.compare import compare
from trueval.comparison.leaderboard.board import leaderboard
from trueval.errors import InputError, TruevalWarning
from trueval.files.source.fingerprints import record_files
from trueval.rag import run_blocks
from trueval.rag.context_inputs import InputRules
from trueval.rag.evaluate_files import evaluate_files
from trueval.threads import Processes, Threads

MEASURES = "nDCG@3 nDCG(gain='exp') RR AP R@4 RBP(p=0.8)"
POLICIES: tuple[dict[str, Any], ...] = (
    {},
    {"tie_order": "random", "seed": 3},
    {"convention": "trec_eval", "missing": "worst"},
    {"convention": "sklearn", "rel": 1, "missing": "worst"},
    {"tie_precision": "bfloat16", "empty": "skip", "missing": "skip"},
    {"tie_precision": "float16", "empty": "one", "depth": 5},
)
RUNS = 11  # three blocks, the last of which is not full


class Elsewhere:
    """Another machine, which takes the last first: what it gets and gives is sent."""

    def __init__(self, change: Callable[[Any], Any] = lambda item: item) -> None:
        self.items, self.change = list[Any](), change

    def map(self, work: Callable[[Any], Any], items: Iterable[Any], /) -> Iterator[Any]:
        given = pickle.loads(pickle.dumps([work, [*items]]))
        self.items += given[1]
        yield from [pickle.loads(pickle.dumps(given[0](self.change(item)))) for item in given[1][::-1]][::-1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Judgments with a query without a relevant document, and runs of hostile ties."""
    folder, rng = tmp_path_factory.mktemp("runs"), np.random.default_rng(2)
    grades = {f"q{q}": {f"d{d}": int(rng.integers(0, 3)) * (q > 0) for d in range(9)} for q in range(6)}
    (folder / "qrels.trec").write_text(
        "".join(f"{q} 0 {d} {grade}\n" for q, listed in grades.items() for d, grade in listed.items())
    )
    scores = np.array([0.0, -0.0, 1.0, 1 + 2.0**-9, 1 + 2.0**-12, 1 + 2.0**-40, 5e-324, 3e4])
    for number in range(RUNS):
        rows = [
            f"q{q} Q0 d{d} 1 {rng.choice(scores[: 1 + number % 8])!r} x\n"
            for q in range(6 - number % 2)
            for d in rng.permutation(14)[: 4 + number]
        ]
        (folder / f"run{number}.trec").write_text("".join(rows).replace("np.float64(", "").replace(")", ""))
    return folder


def paths(folder: Path) -> list[str]:
    return [str(folder / f"run{number}.trec") for number in range(RUNS)]


def results(folder: Path, executor: Any, **choices: Any) -> str:
    """All numbers, notes and hashes of an evaluation, with those of the files."""
    with record_files() as seen:
        found = evaluate_files(
            str(folder / "qrels.trec"), paths(folder), MEASURES, content={}, executor=executor, **choices
        )
    told = found.to_dict(per_query=True, content=True)
    return json.dumps([told, found.notes, [(path, seen.get(path)) for path in seen]], allow_nan=True)


@contextmanager
def opened(name: str) -> Iterator[Any]:
    """An executor by its name."""
    if name == "elsewhere":
        yield Elsewhere()
    elif name == "threads":
        yield Threads(3)
    elif name == "pool":
        with ThreadPoolExecutor(2) as pool:
            yield pool
    elif name == "processes":
        with Processes(2) as processes:
            yield processes
    elif name == "loky":
        yield pytest.importorskip("loky").get_reusable_executor(max_workers=2)
    else:
        distributed = pytest.importorskip("distributed")
        with (
            distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client.get_executor()


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("processes", "loky", "dask")]


@pytest.mark.parametrize("name", ["elsewhere", "threads", pytest.param("pool", marks=pytest.mark.slow), *SLOW])
def test_the_bytes_are_those_of_this_process(name: str, folder: Path) -> None:
    with opened(name) as executor:
        for choices in POLICIES:
            assert results(folder, executor, **choices) == results(folder, None, **choices)


def test_blocks_follow_from_the_runs_and_take_no_judgments_back(folder: Path) -> None:
    executor = Elsewhere()
    found = evaluate_files(str(folder / "qrels.trec"), paths(folder), MEASURES, executor=executor)
    assert [len(block.files) for block in executor.items] == [4, 4, 3]
    assert str(executor.items[2]) == "runs 9 to 11 of 11"
    assert all(each.content is not None and each.content.source is found.judgments for each in found.scores)


def test_filled_judgments_and_grades_give_the_same(folder: Path) -> None:
    for rules in (InputRules(unjudged=1.0), InputRules(grades={0: 0, 1: 2, 2: 1}), InputRules(sources={"d1": "a"})):
        assert results(folder, Elsewhere(), inputs=rules) == results(folder, None, inputs=rules)


def test_sources_of_a_log_serve_the_runs_after_it(tmp_path: Path) -> None:
    """Then runs are read in order, here."""
    log = tmp_path / "log.jsonl"
    passages = [{"id": f"d{d}", "source": f"s{d % 2}", "score": 1.0} for d in range(4)]
    log.write_text(json.dumps({"query_id": "q", "contexts": passages, "gold": ["d1", "d3"]}) + "\n")
    (tmp_path / "qrels.trec").write_text("q 0 d1 1\nq 0 d3 1\n")
    for number in range(5):
        (tmp_path / f"r{number}.trec").write_text(
            f"q Q0 d{number % 4} 1 1 x\nq Q0 d3 2 1 x\n".replace("d3 1", "d1 1", number == 3)
        )
    given = [str(tmp_path / "r0.trec"), str(log), *(str(tmp_path / f"r{number}.trec") for number in (1, 2, 4))]
    told = [
        evaluate_files(str(tmp_path / "qrels.trec"), given, "RR P@2", executor=executor).to_dict(per_query=True)
        for executor in (None, Elsewhere())
    ]
    assert told[0] == told[1]


def test_the_error_of_the_first_bad_run_is_that_of_this_process(folder: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.trec"
    bad.write_text("q1 Q0 d1 1 nan x\n")
    said = []
    for executor in (None, Threads(2)):
        with pytest.raises(InputError) as raised:
            evaluate_files(
                str(folder / "qrels.trec"), [*paths(folder), str(bad), str(bad) + "x"], "RR", executor=executor
            )
        said.append(str(raised.value))
    assert said[0] == said[1]


def test_a_block_that_memory_runs_out_for_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(run_blocks, "evaluate", fail)
    with pytest.raises(InputError, match=r"runs 9 to 11 of 11, on .*: memory ran out\. Take fewer workers, "):
        evaluate_files(str(folder / "qrels.trec"), paths(folder), "RR", executor=Elsewhere())


def test_a_machine_that_does_not_see_the_runs_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    relative = [f"run{number}.trec" for number in range(5)]

    def other_machine(block: Any) -> Any:
        monkeypatch.chdir("/")  # where a worker of Ray or Dask may be
        return block

    here = evaluate_files("qrels.trec", relative, "RR").to_dict()
    assert evaluate_files("qrels.trec", relative, "RR", executor=Elsewhere(other_machine)).to_dict() == here
    monkeypatch.chdir(folder)
    executor = Elsewhere(lambda block: block._replace(folder="/no/such/folder"))
    with pytest.raises(InputError) as raised:
        evaluate_files("qrels.trec", relative, "RR", executor=executor)
    said = str(raised.value)
    assert said.startswith(f"runs 5 to 5 of 5, on {socket.gethostname()}: run4.trec is not there. Put the runs")


@pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")
@pytest.mark.parametrize("name", ["elsewhere", "threads", *SLOW])
def test_comparisons_and_leaderboards_are_the_same(name: str, folder: Path) -> None:
    qrels = folder / "qrels.trec"
    tasks = {"one": (qrels, paths(folder)[:3]), "two": (qrels, paths(folder)[:3])}
    with opened(name) as executor:
        told = [
            (
                compare(paths(folder)[:4], qrels, "nDCG@5 RR", executor=each, missing="worst", seed=4).to_dict(),
                leaderboard(tasks, "RR", executor=each, missing="worst").to_dict(),
            )
            for each in (None, executor)
        ]
    assert json.dumps(told[0]) == json.dumps(told[1])


def test_notes_warn_where_the_command_is(folder: Path) -> None:
    with pytest.warns(TruevalWarning) as here:
        compare(paths(folder)[:2], folder / "qrels.trec", "RR", missing="worst")
    with pytest.warns(TruevalWarning) as there:
        compare(paths(folder)[:2], folder / "qrels.trec", "RR", missing="worst", executor=Elsewhere())
    assert [str(each.message) for each in here] == [str(each.message) for each in there]
