"""Kills: a sweep that is killed at random moments and run again leaves the directory of one that was not."""

import json
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.extras import need
from tests.retrieval.test_kills import check_log
from tests.tradeoff import made

from trueval.tradeoff.runner.timing import CALLS

need("faiss", "bm25s", extra="retrieval")
need("safetensors", extra="models")

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = "tests.tradeoff.killed_sweep"
KILLS = 20
# What is measured, or says whether something was there before.
MEASURED = ("p50", "p95", "p99", "jitter", "achieved")
TIMES = ("seconds", "made_seconds", "build_seconds", "cached", "machine", *MEASURED)


def started(file: Path, out: Path, log: Path) -> "subprocess.Popen[str]":
    """The sweep in a process, once it is about to begin."""
    line = [sys.executable, "-m", PROGRAM, file, out, log]
    process = subprocess.Popen(line, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    if process.stdout.readline() != "ready\n":
        process.communicate()
        pytest.fail(f"{PROGRAM} ended with {process.returncode} before it began")
    return process


def ended(file: Path, out: Path, log: Path) -> float:
    """Seconds of a sweep that nobody kills."""
    process = started(file, out, log)
    began = time.perf_counter()
    process.communicate()
    assert process.returncode == 0
    return time.perf_counter() - began


def contents(folder: Path) -> dict[str, Any]:
    """What a directory holds beside its cache, times left out."""
    files = [each for each in folder.rglob("*") if each.is_file() and each.relative_to(folder).parts[0] != "cache"]
    return {
        each.relative_to(folder).as_posix(): scrubbed(json.loads(each.read_text()))
        if each.suffix == ".json"
        else pl.read_parquet(each).drop("started", "seconds").sort(pl.all()).rows()
        if each.parent.name == "samples"
        else each.read_bytes()
        for each in files
        if each.name != CALLS and not each.name.startswith(".")  # half a file of who was killed
    }


def scrubbed(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: scrubbed(each) for name, each in value.items() if name not in TIMES}
    return [scrubbed(each) for each in value] if isinstance(value, list) else value


@pytest.mark.evidence
def test_a_killed_sweep_goes_on_and_leaves_the_same_directory(tmp_path: Path):
    rng = random.Random(16)
    file = made.written(tmp_path, made.LARGE.replace("queries = 0", "queries = 2\nrepeats = 2"))
    seconds = ended(file, tmp_path / "plain", tmp_path / "plain.log")
    plain = contents(tmp_path / "plain")
    assert len(plain) == 4 * 25 + 4 + 2  # four ladders
    killed = sweeps = 0
    while killed < KILLS:
        sweeps += 1
        out, log = (tmp_path / f"{name}-{sweeps}" for name in ("out", "log"))
        for _ in range(rng.randint(1, 5)):
            process = started(file, out, log)
            time.sleep(rng.uniform(0, seconds / 2))
            if process.poll() is None:
                process.kill()
                killed += 1
            process.communicate()
            # What is there is whole already.
            assert all(plain[name] == each for name, each in contents(out).items())
        ended(file, out, log)
        assert contents(out) == plain
        check_log(log)
        shutil.rmtree(out)
    print(f"{killed} kills in {sweeps} sweeps")
