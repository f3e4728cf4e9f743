"""The same bytes on any executor, and no finished shard twice, also where workers and the driver are killed."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = [pytest.mark.evidence, pytest.mark.slow]

DRIVER = Path(__file__).with_name("scale_trial.py")
SWEEP = Path(__file__).with_name("sweep_trial.py")
PACKAGE = {"loky": "loky", "dask": "distributed"}
KILLS = 30
ENDS = 10
LOSSES = 3  # the fourth time that a shard is lost with its worker ends the command
SECONDS = 240  # after which no further run begins

Trial = Callable[..., subprocess.Popen[str]]


def finish(run: subprocess.Popen[str]) -> dict[str, str]:
    """The digests that a driver printed."""
    out, err = run.communicate(timeout=500)
    assert run.returncode == 0, err[-4000:]
    found: dict[str, str] = json.loads(out.splitlines()[-1])["files"]
    return found


def shards(log: Path, word: str) -> Counter[str]:
    """How often each shard began, ended, or was found there."""
    return Counter(line.split()[1] for line in log.read_text().splitlines() if line.startswith(word))


@pytest.fixture(scope="module")
def here(start: Trial, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The digests of one process."""
    folder = tmp_path_factory.mktemp("here")
    return finish(start(DRIVER, "threads", folder / "store", folder / "log"))


@pytest.mark.parametrize("name", ["processes", "loky", "dask", "ray", "cluster", "cluster-shuffled"])
def test_the_bytes_are_the_same(name: str, start: Trial, here: dict[str, str], tmp_path: Path) -> None:
    package = PACKAGE.get(name)
    if package is not None and importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    assert finish(start(DRIVER, name, tmp_path / "store", tmp_path / "log")) == here
    assert set(shards(tmp_path / "log", "ends").values()) == {1}
    assert len(shards(tmp_path / "log", "ends")) == 30


def workers(log: Path) -> dict[int, str]:
    """Processes that have a shard, and which one."""
    state: dict[int, tuple[str, str]] = {}
    for word, shard, *process in (line.split() for line in log.read_text().splitlines()):
        if process:
            state[int(process[0])] = word, shard
    return {process: shard for process, (word, shard) in state.items() if word == "begins"}


@pytest.mark.parametrize(("kind", "count"), [("embedding", 240), ("reranking", 240), ("standings", 40)])
def test_workers_of_ray_are_killed(kind: str, count: int, start: Trial, tmp_path: Path) -> None:
    """At random moments, -9, while they have a shard; the command goes on by itself."""
    here = finish(start(DRIVER, "threads", tmp_path / "here", tmp_path / "herelog", count, kind))
    rng, killed, rounds, until = random.Random(11), 0, 0, time.monotonic() + SECONDS
    while killed < KILLS and (not rounds or time.monotonic() < until):
        rounds += 1
        log, store = tmp_path / f"log{rounds}", tmp_path / f"store{rounds}"
        run = start(DRIVER, "ray", store, log, count, kind, pids=False)
        mine = Counter[str]()
        while run.poll() is None and killed + mine.total() < KILLS:
            time.sleep(rng.uniform(0.1, 1.5))
            busy = workers(log) if log.exists() else {}
            chosen = [process for process, shard in busy.items() if mine[shard] < LOSSES]
            if chosen:
                process = rng.choice(chosen)
                try:
                    os.kill(process, signal.SIGKILL)
                except ProcessLookupError:
                    continue
                mine[busy[process]] += 1
        killed += mine.total()
        assert finish(run) == here
        assert max(shards(log, "ends").values()) == 1
    print(f"\n{kind}: {killed} workers killed in {rounds} runs of {len(shards(log, 'ends'))} shards")
    assert killed > 0


@pytest.mark.parametrize(("kind", "count"), [("words", 960), ("pairs", 960), ("standings", 40)])
def test_the_driver_is_killed(kind: str, count: int, start: Trial, tmp_path: Path) -> None:
    """At random moments, -9; the same command goes on, and what was finished stays."""
    rng, log, store = random.Random(5), tmp_path / "log", tmp_path / "store"
    ends = 0
    for _ in range(ENDS):
        before = log.read_text().count("ready") if log.exists() else 0
        run = start(DRIVER, "processes", store, log, count, kind)
        until = time.monotonic() + 100
        while run.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
            if log.exists() and log.read_text().count("ready") > before:
                break
        time.sleep(rng.uniform(0, 4))
        killed = run.poll() is None
        run.kill()
        run.communicate()
        ends += killed
    found = finish(start(DRIVER, "processes", store, log, count, kind))
    assert found == finish(start(DRIVER, "threads", tmp_path / "other", tmp_path / "otherlog", count, kind))
    if kind != "standings":  # which are not kept
        assert set(shards(log, "ends").values()) == {1}
    print(f"\n{kind}: the driver was killed {ends} times; {len(shards(log, 'ends'))} shards")
    assert ends == ENDS


@pytest.fixture(scope="module")
def swept(start: Trial, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The digests of a sweep in one process."""
    folder = tmp_path_factory.mktemp("swept")
    return finish(start(SWEEP, "threads", folder / "here", folder / "log"))


@pytest.mark.parametrize("name", ["processes", "loky", "dask", "ray", "cluster", "cluster-shuffled", "changing"])
def test_a_sweep_has_the_same_bytes(name: str, start: Trial, swept: dict[str, str], tmp_path: Path) -> None:
    log, package = tmp_path / "log", PACKAGE.get(name)
    if package is not None and importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    assert finish(start(SWEEP, name, tmp_path / "there", log)) == swept
    assert len(swept) == 2 + 25
    assert set(shards(log, "ends").values()) == {1}
    nodes = re.findall("^(?:added|removed)$", log.read_text(), flags=re.MULTILINE)
    assert nodes == (["added", "removed", "added"] if name == "changing" else [])
    begun, groups = shards(log, "begins").total(), len(shards(log, "ends"))
    assert (begun > groups) == (name == "changing"), "the node was not lost with a group"
    print(f"\n{name}: {groups} groups; {begun} begun; nodes {' '.join(nodes)}")


def test_the_driver_of_a_sweep_is_killed(start: Trial, swept: dict[str, str], tmp_path: Path) -> None:
    """At random moments, -9; the same command goes on, and no finished system is sent, made or written again."""
    rng, ends, sweeps, kept = random.Random(23), 0, 0, 0
    while ends < ENDS:
        sweeps += 1
        there, log = tmp_path / f"there{sweeps}", tmp_path / f"log{sweeps}"
        finished = dict[str, int]()  # system → when its file was written
        while True:
            before = len(log.read_text().splitlines()) if log.exists() else 0
            run = start(SWEEP, "processes", there, log)
            if ends < ENDS:
                until, word = time.monotonic() + 100, rng.choice(["ready", "begins", "ends", "ends"])
                while run.poll() is None and time.monotonic() < until and not _lines(log, before, word):
                    time.sleep(0.02)
                time.sleep(rng.uniform(0, 1.5))
                ends += run.poll() is None
                run.kill()
            out, err = run.communicate(timeout=500)
            assert not finished.keys() & set(_lines(log, before, "system")), "a finished system was sent again"
            now = {file.stem: file.stat().st_mtime_ns for file in (there / "out" / "systems").glob("*.json")}
            assert now.items() >= finished.items(), "a finished system was written again"
            finished = now
            if run.returncode == 0:
                break
            assert run.returncode < 0, err[-4000:]
            kept += len(finished)
        assert json.loads(out.splitlines()[-1])["files"] == swept
    print(f"\nthe driver of a sweep was killed {ends} times in {sweeps} sweeps of 25 systems; {kept} were kept then")
    assert kept > 0


def _lines(log: Path, before: int, word: str) -> list[str]:
    """What the lines of a log with some word say, after so many lines."""
    lines = log.read_text().splitlines()[before:] if log.exists() else []
    return [line.split()[1] for line in lines if line.split()[0] == word]


SLOW = """
import contextlib, os, sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from scale_trial import opened
from trueval.threads import as_executor

def work(item):
    folder = os.environ["TRIAL_FOLDER"]
    if item[0] == "slow":  # the first process that sees it is slow from then on
        with contextlib.suppress(FileExistsError):
            Path(folder, "slow").symlink_to(str(os.getpid()))
    slow = item[0] == "slow" and os.readlink(Path(folder, "slow")) == str(os.getpid())
    time.sleep(1.0 if slow else 0.2)
    return item[1]

if __name__ == "__main__":
    os.environ["TRIAL_FOLDER"] = sys.argv[3]
    with opened(sys.argv[1]) as given:
        executor = as_executor(given)
        list(executor.map(work, [("warm", i) for i in range(20)]))
        for kind in ("even", "slow"):
            began = time.perf_counter()
            assert sorted(executor.map(work, [(kind, i) for i in range(100)])) == list(range(100))
            print(time.perf_counter() - began)
"""


@pytest.mark.parametrize("name", ["processes", "loky", "dask", "ray"])
def test_a_slow_worker_does_not_double_the_time(name: str, start: Trial, tmp_path: Path) -> None:
    """One of two workers takes five times as long for each item; the other takes what it would have."""
    package = PACKAGE.get(name)
    if package is not None and importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    script = tmp_path / "slow_trial.py"
    script.write_text(SLOW)
    run = start(script, name, DRIVER.parent, tmp_path)
    out, err = run.communicate(timeout=500)
    assert run.returncode == 0, err[-4000:]
    even, slow = map(float, out.splitlines()[-2:])
    assert (tmp_path / "slow").is_symlink()
    print(f"\n{name}: {even:.1f} s with even workers, {slow:.1f} s with a slow one")
    assert slow < 2 * even
