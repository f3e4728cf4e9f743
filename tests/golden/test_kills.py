"""Killed with -9 at random moments and started again, a golden set ends the same, and no call is made twice."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from tests.golden.build.test_build import TROUBLES, content
from tests.golden.chat import ChatServer, Seen, Trouble, chat_server

from trueval.golden.judge.ledger import open_ledger

ROOT = Path(__file__).parents[2]
CRANFIELD = ROOT.parent / "shared" / "data" / "collections" / "cranfield"
KILLS = 100
QUERIES = 6
PLAN = """[corpus]
path = "{corpus}"
[queries]
path = "queries.jsonl"
rewrite = "model"
[sparse]
[pool]
depth = 24
[judge]
model = "served"
base_url = "{url}"
api_key_env = ""
batch = 6
concurrency = 4
[prune]
keep = 16
[refine]
top = 8
calls = 8
parallel = 2
regrade = true
"""


PROGRAM = """
import sys
from pathlib import Path
from trueval.golden.build.build import build
from trueval.golden.build.golden_plan import GoldenPlan
build(GoldenPlan.read(Path("golden.toml")), Path(sys.argv[1]), cache=Path("cache"))
"""


def start(folder: Path, name: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, name]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
    return subprocess.Popen(
        command, cwd=folder, env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )


def asked(seen: Seen) -> tuple[str, ...]:
    return (seen.task, seen.query, *seen.passages)


def answered(ledger: Path) -> set[tuple[str, ...]]:
    """Questions that the ledger has an answer to."""
    if not ledger.is_file():
        return set()
    with open_ledger(ledger) as book:
        return {(call["task"], call["query"], *call["passages"]) for call in book.calls()}


def labels() -> dict[tuple[str, str], int]:
    texts: dict[str, dict[str, str]] = {}
    for name in ("corpus", "queries"):
        rows = map(json.loads, (CRANFIELD / f"{name}.jsonl").read_text().splitlines())
        texts[name] = {
            row["_id"]: " ".join(filter(None, (row.get("title") if name == "corpus" else "", row["text"])))
            for row in rows
        }
    found = {}
    for line in (CRANFIELD / "qrels.trec").read_text().splitlines():
        query, _, document, grade = line.split()
        found[texts["queries"][query].upper(), texts["corpus"][document]] = int(grade)
    return found


@pytest.mark.evidence
@pytest.mark.skipif(not CRANFIELD.is_dir(), reason="cranfield is not here")
def test_killed_at_a_hundred_random_moments(tmp_path: Path) -> None:
    known = labels()

    def grade(query: str, text: str) -> int:
        return known.get((query.upper(), text), 1)

    lines = (CRANFIELD / "queries.jsonl").read_text().splitlines()[:QUERIES]
    (tmp_path / "queries.jsonl").write_text("\n".join(lines) + "\n")
    rng = random.Random(17)
    with chat_server(grade) as server:
        (tmp_path / "golden.toml").write_text(PLAN.format(corpus=CRANFIELD, url=server.url))
        began = time.monotonic()
        calm = start(tmp_path, "calm")
        said = calm.communicate()[1]
        assert calm.returncode == 0, said
        whole = time.monotonic() - began
        calls = len(server.seen)
        server.seconds = 0.02
        server.trouble = lambda number: trouble(server.seen[number - 1], rng)
        server.seen.clear()
        kills, repeated, stages = killed(tmp_path, server, rng, whole)
    sets = len(list(tmp_path.glob("golden-*")))
    print(f"{kills} kills over {sets} golden sets of {calls} calls, {repeated} repeated; killed {dict(stages)}")
    assert repeated == 0
    assert kills >= KILLS
    first = content(tmp_path / "calm")
    for out in tmp_path.glob("golden-*"):
        last = content(out) if out.is_dir() else first
        assert first["qrels.trec"] == last["qrels.trec"]
        assert first["top.trec"] == last["top.trec"]
        assert first["refined.jsonl"] == last["refined.jsonl"]
        assert [(row["document"], row["grade"]) for row in first["labels"]] == [
            (row["document"], row["grade"]) for row in last["labels"]
        ]


def trouble(seen: Seen, rng: random.Random) -> Trouble:
    """A fault now and then; a repair is always answered, or the judge itself would say something else."""
    repaired = any(said["role"] == "assistant" for said in seen.body["messages"])
    return rng.choice(TROUBLES) if not repaired and rng.random() < 0.12 else Trouble()


def struck(process: subprocess.Popen[str], server: ChatServer, rng: random.Random, whole: float) -> bool:
    """Kill a process after some of its calls, or after some time; whether it was still there."""
    calls = len(server.seen) + rng.randrange(30) if rng.random() < 0.75 else 10**9
    ends = time.monotonic() + (whole if calls < 10**9 else rng.uniform(0.0, whole))
    while process.poll() is None and time.monotonic() < ends and len(server.seen) <= calls:
        time.sleep(0.002)
    time.sleep(rng.uniform(0.0, 0.05))
    if process.poll() is not None:
        return False
    process.send_signal(signal.SIGKILL)
    return True


def killed(folder: Path, server: ChatServer, rng: random.Random, whole: float) -> tuple[int, int, Counter[str]]:
    """Build golden sets until there were enough kills: kills, calls that were made although answered, stages."""
    kills = repeated = number = 0
    stages: Counter[str] = Counter()
    while kills < KILLS:
        out = folder / f"golden-{number}"
        before: set[tuple[str, ...]] = set()
        while True:
            process = start(folder, out.name)
            mark = len(server.seen)
            if kills < KILLS and struck(process, server, rng, whole):
                kills += 1
            process.communicate()
            repeated += sum(asked(seen) in before for seen in server.seen[mark:])
            done = [file.stem for file in (out / "stages").glob("*.json")] if (out / "stages").is_dir() else []
            if process.returncode == 0:
                break
            stages[f"after {len(done)} stages"] += 1
            before = answered(out / "ledger.sqlite")
        number += 1
    return kills, repeated, stages
