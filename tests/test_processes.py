"""Other processes and threads: nouns travel in pickles, and a fork that would hang says so."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trueval
from trueval import Judgments, Run, compare, evaluate, evaluate_arrays, explain, forks, parse, registry
from trueval.errors import ForkError, MeasureError
from trueval.measures.measure import Definition, Measure, no_values

SCORES = {"q1": {"a": 1.0, "b": 1.0, "c": 0.5}, "q2": {"a": 2.0}}
GRADES = {"q1": {"a": 3, "b": 1}, "q2": {"a": 5}}

# Runs are read and measured before the pool starts, so that polars has worked.
SCRIPT = f"""
import multiprocessing, os, sys
import trueval

def score(run, judgments, measure):
    return trueval.evaluate(run, judgments, measure)

def arrays():
    return float(trueval.evaluate_arrays([[2.0, 1.0]], [[0, 1]], "RR").expected[0, 0])

def work():
    run, judgments = trueval.Run.from_dict({SCORES}), trueval.Judgments.from_dict({GRADES})
    return run, judgments, trueval.evaluate(run, judgments, "nDCG(gain='exp')@2 gm(AP)")

if __name__ == "__main__":
    how = sys.argv[1]
    if how == "fork first":
        child = os.fork()
        work()
        if not child:
            os._exit(0)
        sys.exit(os.waitpid(child, 0)[1])
    run, judgments, here = work()
    with multiprocessing.get_context(how).Pool(1) as pool:
        assert pool.apply(arrays) == 0.5
        there = pool.apply(score, (run, judgments, here.measures))
    assert there.to_dict() == here.to_dict()
    assert there.measures == here.measures
"""


def run_script(folder: Path, how: str) -> subprocess.CompletedProcess[str]:
    script = folder / "script.py"
    script.write_text(SCRIPT)
    path = os.pathsep.join((str(Path(trueval.__file__).parents[1]), os.environ.get("PYTHONPATH", "")))
    command, env = [sys.executable, "-W", "ignore", str(script), how], os.environ | {"PYTHONPATH": path}
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    "how",
    ["spawn", *(["forkserver", "fork first"] if hasattr(os, "fork") else [])],
)
def test_other_processes_give_the_same_scores(how: str, tmp_path: Path) -> None:
    done = run_script(tmp_path, how)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_fork_after_use_says_what_to_do_and_does_not_hang(tmp_path: Path) -> None:
    done = run_script(tmp_path, "fork")
    assert done.returncode == 1
    assert "ForkError: This process was forked off one in which polars had worked" in done.stderr
    assert 'multiprocessing.get_context("spawn") or "forkserver"' in done.stderr


NEED_POLARS: dict[str, Callable[[Run, Judgments], Any]] = {
    "of": lambda run, judgments: Run.of([("q", "d", 1.0)]),
    "read": lambda run, judgments: Run.read("missing.trec"),
    "from_dict": lambda run, judgments: Judgments.from_dict(GRADES),
    "from_frame": lambda run, judgments: Run.from_frame(run.documents),
    "from_arrays": lambda run, judgments: Run.from_arrays([[1.0]]),
    "map_grades": lambda run, judgments: judgments.map_grades({1: 0, 3: 1, 5: 2}),
    "frame": lambda run, judgments: run.frame,
    "evaluate": lambda run, judgments: evaluate(run, judgments, "AP"),
    "compare": lambda run, judgments: compare([run, run], judgments, "AP"),
    "explain": lambda run, judgments: explain(run, judgments, "AP"),
}


@pytest.mark.parametrize("work", NEED_POLARS)
def test_all_work_that_needs_polars_asks_first(work: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run, judgments = Run.from_dict(SCORES), Judgments.from_dict(GRADES)
    monkeypatch.setattr(forks._Process, "lost", True)
    with pytest.raises(ForkError, match="forked off"):
        NEED_POLARS[work](run, judgments)


def test_what_needs_numpy_alone_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = evaluate(Run.from_dict(SCORES), Judgments.from_dict(GRADES), "AP(rel=3)")
    monkeypatch.setattr(forks._Process, "lost", True)
    assert evaluate_arrays([[2.0, 1.0]], [[0, 1]], "RR").expected[0, 0] == 0.5
    assert pickle.loads(pickle.dumps(scores)).to_dict() == scores.to_dict()
    with pytest.raises(ForkError):
        scores.to_polars()


def test_runs_judgments_scores_and_comparisons_pickle() -> None:
    run, judgments = Run.from_dict(SCORES, name="mine"), Judgments.from_dict(GRADES).with_sources({"a": "A"})
    scores = evaluate(run, judgments, "AP(rel=3) RBP(p=0.5, rel=3)")
    found = compare([run, replace(run, name="other")], judgments, "AP(rel=3)")
    again_run, again_judgments, again_scores, again = pickle.loads(pickle.dumps((run, judgments, scores, found)))
    assert again_run.name == "mine"
    assert again_run.frame.equals(run.frame)
    assert again_judgments.frame.equals(judgments.frame)
    assert evaluate(again_run, again_judgments, "novelty(nWG)@2").measures == (parse("novelty(nWG)@2"),)
    assert again_scores.to_dict() == scores.to_dict()
    assert str(again_scores) == str(scores)
    assert again.to_dict() == found.to_dict()


@pytest.mark.parametrize("name", registry())
def test_every_measure_pickles(name: str) -> None:
    measure = registry()[name]
    if measure.definition.takes_measure:
        measure = measure(parse("RA-nWG"))
    if measure.cutoff_use != "none":
        measure @= 7
    for again in (pickle.loads(pickle.dumps(measure)), copy.deepcopy(measure)):
        assert again == measure
        assert again.definition is measure.definition


def test_chosen_parameters_pickle() -> None:
    for text in ("nDCG(gain={0:0,1:3})@10", "PROC(RA-nWG(alpha=2), pool=50)@10", "RBP(p=0.5)"):
        assert pickle.loads(pickle.dumps(parse(text))) == parse(text)


def test_a_measure_that_the_other_process_would_not_know_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    definition = Definition("Mine", "Nothing.", "0", "nowhere", lambda standings, measure: no_values(0))
    with pytest.raises(MeasureError, match="Mine cannot be pickled or copied: it is not registered"):
        pickle.dumps(Measure(definition, "Mine"))
    packed = pickle.dumps(parse("AP"))
    monkeypatch.setattr("trueval.measures.measure.find", lambda name: None)
    with pytest.raises(MeasureError, match="No measure of this process is called AP"):
        pickle.loads(packed)


def test_threads_share_runs_judgments_and_measures() -> None:
    rng = np.random.default_rng(4)
    scores = {f"q{q}": {f"d{d}": float(rng.integers(4)) for d in range(30)} for q in range(20)}
    grades = {q: {d: int(rng.integers(1, 6)) for d in documents} for q, documents in scores.items()}
    measures = "nDCG@10 AP(rel=4) RA-nWG@5 UDCG-proxy@5 pPROC(RA-nWG, pool=10)@5"
    run, judgments = Run.from_dict(scores), Judgments.from_dict(grades)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: evaluate(run, judgments, measures).to_dict(), range(12)))
    alone = evaluate(Run.from_dict(scores), Judgments.from_dict(grades), measures).to_dict()
    assert all(each == alone for each in found)
