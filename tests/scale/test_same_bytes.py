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

DRIVER = Path(__file__).with_name("embedding_trial.py")
PACKAGE = {"loky": "loky", "dask": "distributed"}
KILLS = 30
ENDS = 10

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


def workers(log: Path) -> list[int]:
    """Processes that have a shard."""
    state: dict[int, str] = {}
    for word, _, *process in (line.split() for line in log.read_text().splitlines()):
        if process:
            state[int(process[0])] = word
    return [process for process, word in state.items() if word == "begins"]


def test_workers_of_ray_are_killed(start: Trial, here: dict[str, str], tmp_path: Path) -> None:
    """At random moments, -9, while they have a shard; the command goes on by itself."""
    rng, killed, rounds = random.Random(11), 0, 0
    while killed < KILLS:
        rounds += 1
        log, store = tmp_path / f"log{rounds}", tmp_path / f"store{rounds}"
        run = start(DRIVER, "ray", store, log, pids=False)
        mine = 0
        while run.poll() is None and mine < 6:  # a shard may be lost at most three times
            time.sleep(rng.uniform(0.1, 1.5))
            busy = workers(log) if log.exists() else []
            if busy:
                try:
                    os.kill(rng.choice(busy), signal.SIGKILL)
                except ProcessLookupError:
                    continue
                mine += 1
        killed += mine
        assert finish(run) == here
        assert max(shards(log, "ends").values()) == 1
    print(f"\n{killed} workers killed in {rounds} runs")


def test_the_driver_is_killed(start: Trial, here: dict[str, str], tmp_path: Path) -> None:
    """At random moments, -9; the same command goes on, and what was finished stays."""
    rng, log, store = random.Random(5), tmp_path / "log", tmp_path / "store"
    ends = 0
    for _ in range(ENDS):
        before = len(re.findall("^ready", log.read_text(), flags=re.MULTILINE)) if log.exists() else 0
        run = start(DRIVER, "processes", store, log, 960)
        until = time.monotonic() + 200
        while run.poll() is None and time.monotonic() < until:
            time.sleep(0.2)
            if log.exists() and len(re.findall("^ready", log.read_text(), flags=re.MULTILINE)) > before:
                break
        time.sleep(rng.uniform(10, 30))
        if run.poll() is not None:
            break
        run.kill()
        run.wait()
        ends += 1
    finish(start(DRIVER, "processes", store, log, 960))
    other = finish(start(DRIVER, "threads", tmp_path / "other", tmp_path / "otherlog", 960))
    assert finish(start(DRIVER, "processes", store, log, 960)) == other
    assert set(shards(log, "ends").values()) == {1}
    print(f"\nthe driver was killed {ends} times; {len(shards(log, 'ends'))} shards")
