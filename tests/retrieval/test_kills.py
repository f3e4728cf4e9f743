"""Kills: a pipeline that is killed at random moments and run again gives the same run, and does nothing twice."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.extras import need

need("faiss", "bm25s", extra="retrieval")
need("safetensors", extra="models")

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = "tests.retrieval.killed_pipeline"
KILLS = 36


def started(cache: Path, run: Path, log: Path) -> "subprocess.Popen[str]":
    """The pipeline in a process, once it is about to begin."""
    line = [sys.executable, "-m", PROGRAM, cache, run, log]
    process = subprocess.Popen(line, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    if process.stdout.readline() != "ready\n":
        process.communicate()
        pytest.fail(f"{PROGRAM} ended with {process.returncode} before it began")
    return process


def whole(cache: Path, run: Path, log: Path) -> float:
    """Seconds of a run that nobody kills."""
    process = started(cache, run, log)
    began = time.perf_counter()
    process.communicate()
    assert process.returncode == 0
    return time.perf_counter() - began


@pytest.mark.evidence
def test_a_killed_pipeline_goes_on_and_gives_the_same(tmp_path: Path):
    rng = random.Random(14)
    plain = tmp_path / "plain.trec"
    seconds = whole(tmp_path / "plain", plain, tmp_path / "plain.log")
    killed = pipelines = 0
    while killed < KILLS:
        pipelines += 1
        cache, run, log = (tmp_path / f"{name}-{pipelines}" for name in ("cache", "run.trec", "log"))
        # A few kills in each pipeline, so that these fall into its stages; then it may end.
        for _ in range(rng.randint(1, 5)):
            process = started(cache, run, log)
            time.sleep(rng.uniform(0, seconds / 2))
            if process.poll() is None:
                process.kill()
                killed += 1
            process.communicate()
            assert not run.exists() or run.read_bytes() == plain.read_bytes()
        whole(cache, run, log)
        assert run.read_bytes() == plain.read_bytes()
        check_log(log)
    print(f"{killed} kills in {pipelines} pipelines")


def check_log(log: Path) -> None:
    """What was kept is never seen by a model again, and an index that was kept never built again."""
    kept: set[str] = set()
    for line in log.read_text(encoding="utf-8").splitlines():
        what, *names = line.split(" ")
        if what == "saw":
            assert not kept & set(names)
        elif what == "kept":
            kept |= set(names)
        elif what == "index":
            assert f"index {names[0]}" not in kept
            kept.add(f"index {names[0]}")
    assert len(kept) > 160


def test_a_log_of_work_done_twice_is_noticed(tmp_path: Path):
    log = tmp_path / "log"
    names = " ".join(f"t{number}" for number in range(161))
    log.write_text(f"saw {names}\nsaw {names}\nkept {names}\nindex hnsw\n")
    check_log(log)
    for again in ("saw t3", "index hnsw"):
        log.write_text(f"saw {names}\nkept {names}\nindex hnsw\n{again}\n")
        with pytest.raises(AssertionError):
            check_log(log)
