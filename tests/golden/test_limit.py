"""The limit of what may be spent: held at 32 calls at once, with models that think, and through kills."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.extras import need
from tests.golden import small
from tests.golden.chat import ChatServer, Trouble, chat_server, thirds

from trueval.errors import InputError
from trueval.golden.build.build import build, open_account
from trueval.golden.build.golden_plan import GoldenPlan
from trueval.golden.judge.concurrent_questions import ask_all
from trueval.golden.judge.judge import Question
from trueval.golden.judge.ledger import open_ledger
from trueval.golden.judge.model_judge import JudgeSettings, ModelJudge, TokenPrices
from trueval.golden.judge.prompt import prompts_for
from trueval.models.hosted.account import Account
from trueval.models.hosted.retries import Retries

need("openai", extra="judge")
pytestmark = pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")

PRICES = TokenPrices(2.0, 10.0)
ASKED = Question("grade", "what is lift", ("lift of wings", "wing shapes", "cheese"))
AT_ONCE = 32
LIMIT = 1.0


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server(lambda query, text: 3) as found:
        found.seconds = 0.02
        yield found


def thinking(rng: random.Random, most: int) -> Any:
    """Bills of a model that thinks for up to so many tokens before it answers."""
    return lambda body, content: (thirds(body, content)[0], rng.choice([most, rng.randint(1, most)]))


def judge(server: ChatServer, account: Account, **parameters: Any) -> ModelJudge:
    use = JudgeSettings(
        model="m", base_url=server.url, concurrency=AT_ONCE, prices=PRICES, parameters=parameters, timeout=20.0
    )
    made = ModelJudge(use, prompts_for("grade-1-5"), account, Retries(sleep=lambda _: None))
    made.throttle.limit = float(AT_ONCE)  # what it learns in the first calls
    return made


def spend(asked: ModelJudge, folder: Path, calls: int = 300) -> str:
    """Ask more than the money allows; what stopped it."""
    questions = [ASKED._replace(sample=sample) for sample in range(calls)]
    with open_ledger(folder / "l.sqlite") as ledger, pytest.raises(InputError) as caught:
        ask_all(ledger, asked, questions, at_once=AT_ONCE)
    return str(caught.value)


def billed(server: ChatServer) -> float:
    return sum(PRICES.cost(*each) or 0.0 for each in server.billed)


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
def test_no_bill_is_above_the_limit_where_the_server_honors_max_tokens(
    server: ChatServer, tmp_path: Path, name: str
) -> None:
    server.bills, server.seconds = thinking(random.Random(1), 3000), 0.15
    account = open_account(tmp_path / "calls.jsonl", LIMIT)
    told = spend(judge(server, account, **{name: 3000}), tmp_path)
    assert "stopped before the max_cost of 1 is exceeded" in told
    assert server.peak > 8, "many at once"
    worst = 3000 * 10 / 1e6 + 0.02
    assert LIMIT - worst < billed(server) <= LIMIT
    assert account.spent == pytest.approx(billed(server))


def test_many_at_once_with_little_money_wait_for_each_other(server: ChatServer, tmp_path: Path) -> None:
    """The most of 32 calls is far above the limit, and what they are billed is far below it."""
    server.bills = thinking(random.Random(2), 100)
    asked = judge(server, Account(max_cost=0.1), max_completion_tokens=3000)
    with open_ledger(tmp_path / "l.sqlite") as ledger:
        ask_all(ledger, asked, [ASKED._replace(sample=sample) for sample in range(20)], at_once=AT_ONCE)
    assert len(server.billed) == 20
    assert server.peak <= 3


@pytest.mark.parametrize("parameters", [{}, {"max_tokens": 200}])
def test_where_max_tokens_is_not_honored_it_is_exceeded_by_what_is_under_way(
    server: ChatServer, tmp_path: Path, parameters: dict[str, int]
) -> None:
    server.bills = thinking(random.Random(3), 3000)
    for _ in range(4):  # the same command again is not another purse
        spend(judge(server, open_account(tmp_path / "calls.jsonl", LIMIT), **parameters), tmp_path)
        assert billed(server) <= LIMIT + AT_ONCE * max(PRICES.cost(*each) or 0.0 for each in server.billed)


def test_calls_that_are_cut_count_at_their_most(server: ChatServer, tmp_path: Path) -> None:
    """The server answers and bills, and the connection breaks: nobody here knows what it cost."""
    server.bills = thinking(random.Random(4), 3000)
    server.trouble = lambda number: Trouble(cut=number % 3 == 0)
    account = open_account(tmp_path / "calls.jsonl", LIMIT)
    told = spend(judge(server, account, max_completion_tokens=3000), tmp_path)
    assert "for calls whose bill is not known" in told
    assert billed(server) <= account.spent <= LIMIT
    assert account.at_most > 0


def test_an_answer_that_is_cut_is_not_a_server_that_cannot_be_reached(server: ChatServer, tmp_path: Path) -> None:
    server.trouble = lambda number: Trouble(cut=True)
    with pytest.raises(InputError, match=r"broke off before its answer was whole .*the last of 6 attempts") as caught:
        judge(server, Account(ledger=tmp_path / "calls.jsonl"), max_tokens=10).ask(ASKED)
    assert "cannot be reached" not in str(caught.value)
    lines = [json.loads(line) for line in (tmp_path / "calls.jsonl").read_text().splitlines()]
    assert [line["status"] for line in lines] == ["sent", "cut"] * 6
    assert all(line["at_most"] > 0 and line["cost"] is None for line in lines)
    nobody = judge(server, Account(ledger=tmp_path / "none.jsonl"), max_tokens=10)
    nobody.url = "http://127.0.0.1:9/v1"
    with pytest.raises(InputError, match="cannot be reached"):
        nobody.ask(ASKED)
    lines = [json.loads(line) for line in (tmp_path / "none.jsonl").read_text().splitlines()]
    assert [line["cost"] for line in lines] == [None, 0.0] * 3, "what reached nobody is not billed"


PROGRAM = """
import sys
from pathlib import Path
from trueval.golden.build.build import build
from trueval.golden.build.golden_plan import GoldenPlan
build(GoldenPlan.read(Path(sys.argv[1])), Path(sys.argv[2]))
"""


def started(plan: Path, out: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, str(plan), str(out)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)


@pytest.mark.slow
def test_kills_lose_no_bill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_JUDGE_KEY", "secret")
    pytest.importorskip("bm25s", reason='needs the extra "retrieval"')
    rng = random.Random(5)
    with chat_server(small.stars) as server:
        server.bills, server.seconds = thinking(rng, 500), 0.3
        plan, out = small.written(tmp_path, small.served(server.url) + "\nmax_tokens = 500"), tmp_path / "out"
        prices = TokenPrices(1.0, 2.0)
        for kill in range(2):
            process, mark = started(plan, out), len(server.seen)
            ends = time.monotonic() + 60
            while len(server.seen) < mark + 4 + kill and process.poll() is None and time.monotonic() < ends:
                time.sleep(0.005)
            time.sleep(0.05)  # the next calls are under way
            process.kill()
            process.communicate()
            assert process.returncode == -9
        time.sleep(0.5)  # what was under way is answered and billed, and nobody hears of it
        calls = [json.loads(line) for line in (out / "calls.jsonl").read_text().splitlines()]
        cut = {line["call"] for line in calls} - {line["call"] for line in calls if line["status"] != "sent"}
        assert len({line["call"] for line in calls}) >= len(server.seen), "a line for each call that was sent"
        assert len(cut) >= 2
        paid = sum(prices.cost(*each) or 0.0 for each in server.billed)
        known = open_account(out / "calls.jsonl", None)
        assert paid <= known.spent
        assert known.spent - known.at_most < paid, "what was cut is not known, and counts"
        build(GoldenPlan.read(plan), out, max_cost=10.0)
        paid = sum(prices.cost(*each) or 0.0 for each in server.billed)
        known = open_account(out / "calls.jsonl", None)
        assert known.spent - known.at_most <= paid <= known.spent <= 10.0
        with pytest.raises(InputError, match="stopped before the max_cost"):
            build(GoldenPlan.read(plan), tmp_path / "tight", max_cost=paid / 4)
        tight = sum(prices.cost(*each) or 0.0 for each in server.billed) - paid
        assert 0 < tight <= paid / 4
