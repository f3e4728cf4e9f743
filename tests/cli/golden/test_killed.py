"""Commands that ask or keep judgments, killed with -9 while they work: the next run ends as if nobody had killed it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.cli.golden.test_audit import EMPTY
from tests.extras import need
from tests.golden import small
from tests.golden.chat import ChatServer, chat_server, thirds

from trueval.golden.build.build import open_account
from trueval.golden.judge.model_judge import TokenPrices

need("openai", extra="judge")
AT_ONCE = 3


def started(*words: object) -> subprocess.Popen[str]:
    source = Path(__file__).parents[3] / "src"
    environment = {**os.environ, "PYTHONPATH": str(source), "TEST_JUDGE_KEY": "k", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "ignore", "-m", "trueval", *map(str, words)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def killed(process: subprocess.Popen[str], server: ChatServer, calls: int) -> None:
    """Kill a process when it has sent so many calls."""
    ends = time.monotonic() + 60
    while len(server.seen) < calls and process.poll() is None and time.monotonic() < ends:
        time.sleep(0.002)
    process.kill()
    process.communicate()
    assert process.returncode == -9


@pytest.mark.slow
def test_golden_grade_ends_the_same_and_pays_for_calls_under_way_alone(
    tmp_path: Path, trueval: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_JUDGE_KEY", "k")
    small.corpus(tmp_path / "c")
    (tmp_path / "run.trec").write_text(
        "".join(f"q{place} Q0 {topic}-{n} 1 {9 - n} r\n" for place, topic in enumerate(small.TOPICS) for n in range(8))
    )
    (tmp_path / "qrels.trec").write_text("q0 0 wings-0 5\nq0 0 wings-7 2\n")
    with chat_server(small.stars) as server:
        server.bills, server.seconds = thirds, 0.03
        words = ["golden", "grade", tmp_path / "qrels.trec", tmp_path / "run.trec", "--collection", tmp_path / "c"]
        words += ["--depth", 8, "--judge", "served", "--base-url", server.url, "--api-key-env", "TEST_JUDGE_KEY"]
        words += ["--batch", 2, "--concurrency", AT_ONCE, "--price-in", 1, "--price-out", 2]
        assert trueval(*words, "--out", tmp_path / "calm.trec").status == 0
        server.seen.clear()
        server.billed.clear()
        killed(started(*words, "--out", tmp_path / "new.trec"), server, 9)
        time.sleep(0.2)  # what was under way is answered, and nobody hears of it
        assert not (tmp_path / "new.trec").exists()
        last = trueval(*words, "--out", tmp_path / "new.trec")
        assert last.status == 0, last.err
        asked = Counter((seen.query, seen.passages) for seen in server.seen)
        paid = sum(TokenPrices(1.0, 2.0).cost(*each) or 0.0 for each in server.billed)
    assert sum(asked.values()) - len(asked) <= AT_ONCE
    assert open_account(tmp_path / "new.calls.jsonl", None).spent >= paid - 1e-12
    for name in (".trec", ".labels.jsonl"):
        assert undated(tmp_path / f"new{name}") == undated(tmp_path / f"calm{name}")


def undated(file: Path) -> list[Any]:
    """The lines of a file, without the times of calls."""
    lines = [json.loads(line) if file.suffix == ".jsonl" else line for line in file.read_text().splitlines()]
    for line in lines:
        for label in line["labels"] if isinstance(line, dict) else ():
            del label["date"]
    return lines


@pytest.mark.slow
def test_an_import_of_labels_is_there_in_whole_or_not_at_all(tmp_path: Path, trueval: Any) -> None:
    small.corpus(tmp_path / "c")
    out, filled = tmp_path / "audit", tmp_path / "ann.jsonl"
    judged = tmp_path / "c" / "labels.trec"
    trueval("golden", "audit", judged, "--collection", tmp_path / "c", "--out", out, "--size", 24, "--no-serve")
    trueval("golden", "audit", judged, "--out", out, "--export", tmp_path / "items.jsonl")
    lines = (tmp_path / "items.jsonl").read_text().splitlines()
    filled.write_text("\n".join(line.replace(EMPTY, f'"grade": {1 + at % 5}') for at, line in enumerate(lines)))
    words = ("golden", "audit", judged, "--out", out, "--import", filled, "--rater", "ann")
    for wait in (0.5, 0.8, 1.1):  # before, in or after the writing, as this machine is fast
        process = started(*words)
        time.sleep(wait)
        process.kill()
        process.communicate()
        people = out / "people.jsonl"
        assert not people.exists() or len(people.read_text().splitlines()) in (0, len(lines))
    told = trueval(*words)
    assert told.status == 0, told.err
    rows = [json.loads(line) for line in (out / "people.jsonl").read_text().splitlines()]
    assert [len(row["labels"]) for row in rows] == [1] * len(lines)
