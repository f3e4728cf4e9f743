"""Killed with -9 at random moments and started again, answers and their judge repeat no call that the ledger has."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.answers.generation.planted_corpus import write_corpus
from tests.answers.generation.test_generate_answers import answered, write
from tests.answers.stream_server import stream_server
from tests.answers.test_judge_answers import colors, plan, write_log
from tests.extras import need
from tests.golden.chat import chat_server

from trueval.answers.generation.generate_answers import generate_answers
from trueval.answers.judge_answers import judge_answers
from trueval.golden.build.build import LEDGER

need("openai", extra="judge")

ROOT = Path(__file__).parents[2]
KILLS, PARTS, AT_ONCE = 10, 5, 4  # of each command: 2 x 5 x 10 = 100 kills
pytestmark = [pytest.mark.evidence, pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")]
GENERATE = (
    "import sys; from trueval.answers.generation.generate_answers import generate_answers; "
    "generate_answers(sys.argv[1], sys.argv[2])"
)
JUDGE = (
    "import sys; from trueval.answers.judge_answers import judge_answers; "
    "from trueval.golden.build.golden_plan import read_judge; "
    "judge_answers(sys.argv[1], sys.argv[2], read_judge('served', {'base_url': sys.argv[3], 'api_key_env': '', "
    f"'concurrency': {AT_ONCE}, 'rounds': 1, 'batch': 2}}))"
)
Asked = tuple[str, ...]


def kill_again(
    code: str, given: Sequence[str], ledger: Path, asked: Callable[[], list[Asked]], chance: random.Random
) -> tuple[int, int]:
    """Kill a program at random moments; returns kills while it worked, and calls repeated that the ledger had."""
    kills = repeated = 0
    for _ in range(KILLS):
        before, mark = answered(ledger), len(asked())
        running = subprocess.Popen([sys.executable, "-W", "ignore", "-c", code, *given], cwd=ROOT)
        wanted, deadline = mark + chance.randint(1, 8), time.monotonic() + 120
        while len(asked()) < wanted and running.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(chance.uniform(0.0, 0.1))
        if running.poll() is None:
            os.kill(running.pid, signal.SIGKILL)
            kills += 1
        running.wait()
        repeated += sum(each in before for each in asked()[mark:])
    return kills, repeated


def check(name: str, kills: int, repeated: int, calls: list[Asked]) -> None:
    again = len(calls) - len(Counter(calls))
    print(f"\n{name}: {kills} kills, {len(calls)} calls, {repeated} repeated of those in the ledger, {again} in flight")
    assert kills == KILLS
    assert repeated == 0
    assert again <= kills * AT_ONCE  # calls in flight at a kill, of which nobody has the answer


@pytest.mark.parametrize("part", range(PARTS))
def test_generate_repeats_no_answered_call(part: int, tmp_path: Path) -> None:
    with stream_server(write) as server:
        server.first = server.between = 0.03
        generate: dict[str, Any] = {"model": "m", "base_url": server.url, "api_key_env": "", "max_tokens": 20}
        config = write_corpus(
            tmp_path, 40, generate={**generate, "concurrency": AT_ONCE}, asked={"measure": "exact-match"}
        )
        out = tmp_path / "out"

        def asked() -> list[Asked]:
            return [(each.question, *each.passages) for each in list(server.seen)]

        kills, repeated = kill_again(GENERATE, [str(config), str(out)], out / LEDGER, asked, random.Random(part))
        before, mark = answered(out / LEDGER), len(server.seen)
        found = generate_answers(config, out)
        repeated += sum(each in before for each in asked()[mark:])
        check("generate", kills, repeated, asked())
        assert found.usage.calls == len(set(asked()))
        fresh = generate_answers(config, tmp_path / "fresh")
    assert {each.mean.name: each.mean.value for each in found.contexts} == {
        each.mean.name: each.mean.value for each in fresh.contexts
    }


@pytest.mark.parametrize("part", range(PARTS))
def test_judge_repeats_no_finished_call(part: int, tmp_path: Path) -> None:
    log, out = write_log(tmp_path, 24, 4), tmp_path / "out"
    with chat_server(colors) as server:
        server.seconds = 0.05

        def asked() -> list[Asked]:
            return [(each.query, *each.passages) for each in list(server.seen)]

        given = [log, str(out), server.url]
        kills, repeated = kill_again(JUDGE, given, out / LEDGER, asked, random.Random(100 + part))
        before, mark = answered(out / LEDGER), len(server.seen)
        found = judge_answers(log, out, plan(server, batch=2, concurrency=AT_ONCE))
        repeated += sum(each in before for each in asked()[mark:])
        check("judge", kills, repeated, asked())
        assert (found.missing, found.usage.calls) == (0, len(set(asked())))
        fresh = judge_answers(log, tmp_path / "fresh", plan(server, batch=2, concurrency=AT_ONCE))
    tables = [[json.loads(line) for line in each.table.read_text().splitlines()] for each in (found, fresh)]
    assert tables[0] == tables[1]
