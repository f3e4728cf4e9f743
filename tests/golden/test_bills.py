"""Dry run, notice and bill of all that asks a judge: exact counts are exact, and no bill is above its most."""

from __future__ import annotations

import json
import random
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.extras import need
from tests.golden import small
from tests.golden.chat import ChatServer, Seen, Trouble, chat_server

from trueval.errors import InputError
from trueval.golden.build.build import build, dry_run
from trueval.golden.build.golden_plan import GoldenPlan, read_judge
from trueval.golden.build.on_demand_files import OnDemand
from trueval.golden.judge.model_judge import TokenPrices
from trueval.golden.validation.robustness import dry_run as robustness_dry_run
from trueval.golden.validation.robustness import measure_robustness
from trueval.models.hosted.account import round_up_amount
from trueval.models.missing_work import MissingWork

need("bm25s", extra="retrieval")
need("openai", extra="judge")
PRICES = TokenPrices(1.0, 2.0)
LONGEST = 300
NOTICE = re.compile(
    r"(\w+): (at most )?([\d,]+) passages in ([\d,]+) calls .* for about (\S+), at most (\S+)\. It goes"
)


class Work(NamedTuple):
    """One command: what its dry run says of the stage that is next, and how it is run with so much money."""

    estimate: Callable[[], MissingWork]
    run: Callable[[float | None], object]


def worst(body: dict[str, Any], content: str) -> tuple[int, int]:
    """Bills of the worst server that honors max_tokens: a token for each byte, and each answer the longest."""
    sent = [said["content"] for said in body["messages"]] + [json.dumps(body.get("response_format", ""))]
    return sum(len(text.encode()) for text in sent) + 200, LONGEST


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    monkeypatch.setenv("TEST_JUDGE_KEY", "k")
    with chat_server(small.stars) as found:
        found.bills = worst
        yield found


def building(folder: Path, server: ChatServer, stage: str, queries: int) -> Work:
    path = small.written(folder, f"{small.served(server.url)}\nmax_tokens = {LONGEST}\nrepeat = 3", queries=queries)
    plan, out = GoldenPlan.read(path), folder / "out"
    task = {"refine": "order"}.get(stage, stage)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        build(plan, out, until={"grade": "pool", "refine": "prune"}[stage])

    def estimate() -> MissingWork:
        found = dry_run(plan, out, ledger=out / "ledger.sqlite", until=stage).work
        return next(each for each in found if each.stage == task)

    return Work(estimate, lambda money: build(plan, out, until=stage, max_cost=money))


def grading(folder: Path, server: ChatServer, queries: int) -> Work:
    small.corpus(folder / "c", queries=queries)
    rng = random.Random(3)
    ids = [f"{topic}-{number}" for topic in small.TOPICS for number in range(8)]
    lines = [f"q{query} Q0 {each} 1 {rng.choice([1, 2, 3])} r\n" for query in range(queries) for each in ids[::2]]
    (folder / "run.trec").write_text("".join(lines))
    (folder / "qrels.trec").write_text("q0 0 wings-0 5\nq0 0 wings-2 -1\n")
    (folder / "judge.toml").write_text(
        f"[judge]\n{small.served(server.url)}\nmax_tokens = {LONGEST}\nbatch = 3\nconcurrency = 4\n"
    )

    def ready(money: float | None = None) -> OnDemand:
        given = {} if money is None else {"max_cost": money}
        plan = read_judge(str(folder / "judge.toml"), given)
        runs, qrels, out = [folder / "run.trec"], folder / "qrels.trec", folder / "new.trec"
        return OnDemand.read(qrels, runs, str(folder / "c"), plan, depth=6, out=out)

    return Work(lambda: ready().estimate(), lambda money: ready(money).grade())


def fooling(folder: Path, server: ChatServer, queries: int) -> Work:
    plan = GoldenPlan.read(small.written(folder, f"{small.served(server.url)}\nmax_tokens = {LONGEST}"))
    server.grade = lambda query, text: 1 + len(text) % 5  # traps have no stars
    out = folder / "out"
    return Work(
        lambda: robustness_dry_run(plan, out, queries=queries).work[0],
        lambda money: measure_robustness(plan, out, queries=queries, max_cost=money),
    )


WORKS: dict[str, Callable[[Path, ChatServer], Work]] = {
    "build, grade": lambda folder, server: building(folder, server, "grade", 3),
    "build, grade, one query": lambda folder, server: building(folder, server, "grade", 1),
    "build, refine": lambda folder, server: building(folder, server, "refine", 2),
    "golden grade": lambda folder, server: grading(folder, server, 3),
    "golden grade, one query": lambda folder, server: grading(folder, server, 1),
    "gullibility": lambda folder, server: fooling(folder, server, 2),
}


def is_first(seen: Seen) -> bool:
    """Whether a call is no second one about an answer that was not valid."""
    return all(said["role"] != "assistant" for said in seen.body["messages"])


@pytest.mark.parametrize("stopped", [False, True])
@pytest.mark.parametrize("name", WORKS)
def test_dry_run_notice_and_bill_agree(tmp_path: Path, server: ChatServer, name: str, stopped: bool) -> None:
    work, rng = WORKS[name](tmp_path, server), random.Random(7)
    server.trouble = lambda number: rng.choice(
        [Trouble(), Trouble(content="no JSON"), Trouble(message={"refusal": "no"})]
    )
    if stopped:
        with warnings.catch_warnings(), suppress(InputError):
            warnings.simplefilter("ignore")
            work.run((work.estimate().at_most or 0.0) * 0.4 + sum(PRICES.cost(*each) or 0.0 for each in server.billed))
    said, calls, bills = work.estimate(), len(server.seen), len(server.billed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        work.run(None)
    first = [seen for seen in server.seen[calls:] if is_first(seen)]
    paid = sum(PRICES.cost(*each) or 0.0 for each in server.billed[bills:])
    assert said.at_most is not None
    assert 0 < paid <= said.at_most
    assert len(first) == said.calls if said.exact else len(first) <= said.calls
    assert not said.exact or sum(len(seen.passages) for seen in first) == said.items
    (notice,) = filter(None, (NOTICE.match(str(each.message)) for each in caught))
    assert notice.string.startswith(f"{said.sentence} It goes to "), "one sentence in dry run and notice"
    assert (not notice[2], int(notice[3]), int(notice[4])) == (said.exact, said.items, said.calls)
    assert notice[5] == f"{said.cost:.4g}"
    assert said.at_most <= float(notice[6]) * (1 + 1e-9)
    again = len(server.seen)
    work.run(None)
    assert len(server.seen) == again, "all is in the ledger"


def test_the_most_is_never_rounded_down() -> None:
    rng = random.Random(1)
    for value in (0.013001, 4.0004, 99.991, 12345.6, *(rng.uniform(0, 10 ** rng.randint(-6, 6)) for _ in range(500))):
        assert value <= float(round_up_amount(value)) <= value * 1.001
        assert "e" not in round_up_amount(value).lower()
