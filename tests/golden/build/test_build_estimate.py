"""What a dry run says is what is asked: exactly where pools are known, else never less."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.extras import need
from tests.golden import small
from tests.golden.chat import ChatServer, Trouble, chat_server, thirds
from tests.models.hosted import loopback

from trueval.errors import TruevalWarning
from trueval.golden.build.build import build, dry_run
from trueval.golden.build.golden_plan import GoldenPlan
from trueval.golden.judge.model_judge import TokenPrices
from trueval.models.hosted.account import round_up_amount
from trueval.models.missing_work import DryRun, MissingWork

need("bm25s", extra="retrieval")
need("openai", extra="judge")
pytestmark = pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    monkeypatch.setenv("TEST_JUDGE_KEY", "k")
    with chat_server(small.stars) as found:
        yield found


def plan_of(folder: Path, server: ChatServer, method: str, queries: int = 2) -> GoldenPlan:
    """A plan that asks some calls twice, and grades once more what the refinement contradicts."""
    path = small.written(folder, f"{small.served(server.url)}\nrepeat = 5", queries=queries)
    path.write_text(path.read_text().replace("top = 3", f'top = 3\nregrade = true\nmethod = "{method}"'))
    return GoldenPlan.read(path)


def of_tasks(found: DryRun) -> dict[str, MissingWork]:
    return {each.stage: each for each in found.work}


@pytest.mark.parametrize(("method", "queries"), [("posterior", 2), ("paper", 1)])
def test_it_is_exact_where_pools_are_known_and_else_never_less(
    tmp_path: Path, server: ChatServer, method: str, queries: int
) -> None:
    plan, out = plan_of(tmp_path, server, method, queries), tmp_path / "out"
    ledger = out / "ledger.sqlite"
    names = ["grade", "order", "regrade"] if method == "posterior" else ["grade", "order"]
    before = dry_run(plan, out, ledger=ledger)
    assert list(of_tasks(before)) == names
    assert not any(each.exact for each in before.work)
    assert before.sentences()[-3].startswith(f"In all: at most {sum(each.calls for each in before.work)} calls")
    build(plan, out, until="pool")
    assert dry_run(plan, out, ledger=ledger, until="pool").work == []
    known = of_tasks(dry_run(plan, out, ledger=ledger))
    build(plan, out, until="grade")
    assert (known["grade"].calls, known["grade"].exact) == (len(server.seen), True)
    assert sum(len(each.passages) for each in server.seen) == known["grade"].items
    assert len(server.seen) == queries * 6 + 5  # 8 passages, 3 in a call, twice; and 5 calls once more
    assert of_tasks(before)["grade"].calls >= len(server.seen)
    server.seen.clear()
    server.grade = lambda query, text: 6 - small.stars(query, text)  # each order contradicts the grades
    build(plan, out, until="refine")
    assert 4 < len(server.seen) <= known["order"].calls == queries * 4 + min(5, queries * 4)
    server.seen.clear()
    last = of_tasks(dry_run(plan, out, ledger=ledger))
    build(plan, out)
    assert [name for name, each in last.items() if each.calls] == names[2:]
    if method == "posterior":
        assert (last["regrade"].calls, last["regrade"].exact) == (len(server.seen), True)
        assert not known["regrade"].exact
        assert known["regrade"].calls >= len(server.seen) > 0


def test_tokens_of_answers_are_those_of_earlier_ones(tmp_path: Path, server: ChatServer) -> None:
    """A model that thinks is billed for it: what it was billed before says more than the number of passages."""
    plan_of(tmp_path, server, "none")
    path, out = tmp_path / "golden.toml", tmp_path / "out"
    path.write_text(path.read_text().replace("repeat = 5", ""))
    plan, ledger = GoldenPlan.read(path), out / "ledger.sqlite"
    guessed = of_tasks(dry_run(plan, out, ledger=ledger))["grade"]
    assert guessed.answers == 0
    assert "back (thinking not counted), for about" in guessed.sentence
    thought = 700
    original = server.answer
    server.answer = lambda headers, body: _thinks(original(headers, body), thought)  # type: ignore[method-assign]
    build(plan, out, until="grade")
    asked = len(server.seen)
    path = tmp_path / "golden.toml"
    path.write_text(
        path.read_text().replace("batch = 3\nconc", "batch = 3\nrounds = 3\nconc").replace("repeat = 5", "")
    )
    more = of_tasks(dry_run(GoldenPlan.read(path), out, ledger=ledger))["grade"]
    assert (more.calls, more.answers) == (6, asked)
    assert f"back (as in {asked} earlier answers), for about" in more.sentence
    assert more.tokens_out == 6 * thought  # each round has the same batches: 3, 3 and 2 passages
    assert more.cost == pytest.approx(more.tokens / 1e6 + more.tokens_out * 2 / 1e6)
    other = path.read_text().replace('model = "served"', 'model = "another"')
    path.write_text(other)
    assert of_tasks(dry_run(GoldenPlan.read(path), out, ledger=ledger))["grade"].answers == 0


def test_an_order_stage_has_one_price(tmp_path: Path, server: ChatServer) -> None:
    """In a dry run before the stage and in the notice of the stage the same; and never below what is paid at most."""
    server.bills = lambda body, content: (thirds(body, content)[0], 900)  # it thinks before it answers
    path, out = small.written(tmp_path, f"{small.served(server.url)}\nmax_tokens = 1000"), tmp_path / "out"
    # Passages of unlike lengths: the first of a pool are not the best, and the best are not the longest.
    corpus = tmp_path / "c" / "corpus.jsonl"
    rows = [json.loads(line) for line in corpus.read_text().splitlines()]
    for place, row in enumerate(rows):
        text, stars = row["text"].split(", worth ")
        row["text"] = f"{text} {'long ' * (place * 7 % 90)}, worth {stars}"
    corpus.write_text("".join(json.dumps(row) + "\n" for row in rows))
    path.write_text(path.read_text().replace("calls = 4", "calls = 6\noverlap = 1.0"))
    plan, ledger, prices = GoldenPlan.read(path), out / "ledger.sqlite", TokenPrices(1.0, 2.0)
    said = [of_tasks(dry_run(plan, out, ledger=ledger))["order"]]
    for stage in ("pool", "grade", "prune"):
        build(plan, out, until=stage)
        said.append(of_tasks(dry_run(plan, out, ledger=ledger))["order"])
    server.billed.clear()
    with pytest.warns(TruevalWarning) as caught:
        build(plan, out, until="refine")
    paid = sum(prices.cost(*each) or 0.0 for each in server.billed)
    (notice,) = (str(each.message) for each in caught if str(each.message).startswith("order: "))
    assert notice.startswith(said[-1].sentence)
    assert said[-1].answers == 18, "what it thinks it told in grading"
    assert len(server.billed) == said[-1].calls == 18
    print([(each.cost, each.at_most) for each in said], paid)
    assert said[-1].cost == pytest.approx(paid, rel=0.25)
    for each in said:
        assert each.at_most is not None
        assert each.cost is not None
        assert each.cost < each.at_most
        assert paid <= each.at_most
    assert said[0].at_most >= said[1].at_most >= said[-1].at_most


def test_at_most_has_second_calls_and_the_longest_answers(tmp_path: Path, server: ChatServer) -> None:
    """The worst server that honors max_tokens: a token for each byte, each answer the longest, and none valid."""

    def worst(body: dict[str, Any], content: str) -> tuple[int, int]:
        sent = sum(len(said["content"].encode()) for said in body["messages"]) + len(
            json.dumps(body["response_format"])
        )
        return sent + 100, 300

    server.bills, server.trouble = worst, lambda number: Trouble(content='{"passages": [], "order": []}' + " " * 250)
    path, out = small.written(tmp_path, f"{small.served(server.url)}\nmax_tokens = 300"), tmp_path / "out"
    plan = GoldenPlan.read(path)
    said = [dry_run(plan, out, ledger=out / "ledger.sqlite", until="grade")]
    build(plan, out, until="pool")
    said.append(dry_run(plan, out, ledger=out / "ledger.sqlite", until="grade"))
    build(plan, out, until="grade")
    paid = sum(TokenPrices(1.0, 2.0).cost(*each) or 0.0 for each in server.billed)
    assert len(server.billed) == 2 * 18
    for each in said:
        (task,) = each.work
        assert task.at_most is not None
        assert paid <= task.at_most <= 2 * paid
        assert f"at most {round_up_amount(task.at_most)}" in each.sentences()[0]


def test_where_nothing_limits_an_answer_no_most_is_said(tmp_path: Path, server: ChatServer) -> None:
    plan, out = GoldenPlan.read(small.written(tmp_path, small.served(server.url))), tmp_path / "out"
    found = dry_run(plan, out, ledger=out / "ledger.sqlite")
    assert [each.at_most for each in found.work] == [None, None]
    assert any("set max_completion_tokens" in line for line in found.sentences())
    with pytest.warns(TruevalWarning, match="the bill can pass max_cost by the calls under way"):
        build(plan, out, max_cost=9.0)


def test_a_service_without_a_price_is_said_to_have_none(tmp_path: Path) -> None:
    path = small.written(tmp_path, f"{small.LABELS}\nunknown = 1")
    path.write_text(path.read_text().replace("[sparse]", '[embed]\nmodel = "openai:text-embedding-3-small"\n[sparse]'))
    found = dry_run(GoldenPlan.read(path), tmp_path / "out", ledger=tmp_path / "none.sqlite")
    documents, queries, *_ = found.work
    assert {documents.model, queries.model} == {"openai:text-embedding-3-small"}
    assert (documents.items, queries.items, documents.cost, found.cost) == (24, 3, None, None)
    assert "In all: at most" in found.sentences()[-1]
    assert "a price that is not known" in found.sentences()[-1]
    assert json.loads(json.dumps(found.to_dict()))["work"][0]["calls"] == documents.calls > 0


def embedding(found: DryRun) -> list[MissingWork]:
    return [each for each in found.work if each.model == "openai:m"]


def _thinks(answered: tuple[object, str], tokens: int) -> tuple[object, str]:
    """An answer that was billed as so many tokens."""
    trouble, text = answered
    whole = json.loads(text)
    whole["usage"]["completion_tokens"] = tokens
    return trouble, json.dumps(whole)


def test_what_finds_the_pools_is_counted_as_a_service_then_bills_it(tmp_path: Path, server: ChatServer) -> None:
    pytest.importorskip("faiss", reason='needs the extra "retrieval"')
    with loopback.serving() as service:
        path = small.written(tmp_path, small.served(server.url), queries=2)
        table = f'[embed]\nmodel = "openai:m"\nbase_url = "{service.url}"\nprice_per_million_tokens = 1000\n[index]\n'
        path.write_text(path.read_text().replace("[sparse]\n", f"{table}[sparse]\n"))
        plan, out, cache = GoldenPlan.read(path), tmp_path / "out", tmp_path / "cache"
        given: dict[str, Any] = {"ledger": out / "ledger.sqlite", "cache": cache}
        before = embedding(dry_run(plan, out, **given))
        assert not service.seen
        build(plan, out, until="pool", cache=cache)
        sent = [text for each in service.seen for text in each.texts]
        assert [sum(each.calls for each in before), sum(each.items for each in before)] == [
            len(service.seen),
            len(sent),
        ]
        billed = sum(map(loopback.tokens, sent)) * 1000 / 1e6
        assert billed <= sum(each.at_most or 0.0 for each in before)
        again = dry_run(plan, out, **given)
        assert (embedding(again), again.spent) == ([], pytest.approx(billed))
        assert embedding(dry_run(plan, tmp_path / "other", ledger=tmp_path / "none", cache=cache)) == []
