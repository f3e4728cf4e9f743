"""What systems of a sweep cost: prices that apply to them, tokens that are counted, lists as long as they are."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from trueval.cost.cost_model import CostModel, SweepPrices
from trueval.cost.prices import FREE
from trueval.errors import InputError
from trueval.models.hosted.account import Price
from trueval.models.hosted.call_batches import estimate_tokens
from trueval.run import Run

DOCUMENTS = {f"d{place}": "lift of a wing " * (place + 1) for place in range(6)}
QUERIES = {"q1": "what lifts a wing?", "q2": "heat", "q3": "no document"}
RUN = Run.from_dict({"q1": {f"d{place}": 9.0 - place for place in range(6)}, "q2": {"d5": 2.0, "d0": 1.0}})
HOSTED = {"embed": {"model": "openai:small"}, "rerank": {"model": "voyage:rerank-2.5", "depth": 6}}
LOCAL = {"embed": {"model": "all-MiniLM-L6-v2"}, "rerank": {"model": "here/model", "depth": 6}}
NOTHING = dict.fromkeys(("rerank", "embed", "generator", "total"))


def charges(**table: object) -> SweepPrices:
    return SweepPrices.read(table)


def size(text: str) -> int:
    return estimate_tokens(text)


def test_a_system_costs_what_its_lists_and_texts_are() -> None:
    """By hand: 8 pairs over 3 queries, contexts of 3 and 2 documents at K 3, the third query has none."""
    spent = CostModel(charges(rerank="rerank-2.5", generator="gpt-5"), DOCUMENTS).of(LOCAL, QUERIES, RUN, [1, 3])
    pairs = [("q1", f"d{place}") for place in range(6)] + [("q2", "d5"), ("q2", "d0")]
    tokens = sum(size(QUERIES[query]) + size(DOCUMENTS[each]) for query, each in pairs)
    assert spent.tokens["candidate"] == pytest.approx(tokens / 8)
    assert spent.tokens["query"] == pytest.approx(sum(map(size, QUERIES.values())) / 3)
    first = [size(DOCUMENTS["d0"]), size(DOCUMENTS["d5"])]
    three = sum(size(DOCUMENTS[each]) for each in ("d0", "d1", "d2", "d5", "d0"))
    assert spent.prompts == {1: pytest.approx(sum(first) / 3), 3: pytest.approx(three / 3)}
    assert spent.tokens["context"] == pytest.approx(three / 5)
    cost = spent.costs[3]
    assert cost["rerank"] == pytest.approx(tokens / 3 * 1000 * 0.05 / 1e6)
    assert cost["generator"] == pytest.approx(three / 3 * 1000 * 1.25 / 1e6)
    assert cost["embed"] == 0.0
    assert cost["total"] == pytest.approx(cost["rerank"] + cost["generator"])


def test_stated_tokens_take_the_place_of_counted_ones() -> None:
    """P-B's $1.25: 50 candidates of 500 tokens, and 10 contexts of 500 for $6.25."""
    documents = {f"d{place:02}": "x" for place in range(50)}
    run = Run.from_dict({"q": {name: float(-place) for place, name in enumerate(documents)}})
    given = charges(rerank="rerank-2.5", generator="gpt-5", candidate_tokens=500)
    spent = CostModel(given, documents).of(LOCAL, {"q": "text"}, run, [10, 20])
    assert spent.costs[10] == pytest.approx({"rerank": 1.25, "embed": 0.0, "generator": 6.25, "total": 7.5})
    assert spent.costs[20]["generator"] == pytest.approx(12.5)
    assert spent.prompts == {10: 5000, 20: 10_000}
    assert spent.tokens["candidate"] == spent.tokens["context"] == 500


def test_models_of_services_have_the_price_of_their_table_or_of_the_book() -> None:
    told = charges()
    assert told.prices(HOSTED)[:2] == (Price(0.05), None)  # the book knows the reranker, and not the embedder
    own = {"rerank": {"model": "voyage:other", "price_per_million_tokens": 0.5}}
    assert told.prices(own)[:2] == (Price(0.5), FREE)
    searches = {"rerank": {"model": "cohere:rerank-v3.5", "price_per_thousand_searches": 2.0}}
    found = told.prices(searches)
    assert (found.rerank, found.documents_per_search) == (Price(per_thousand_searches=2.0), 100)
    assert told.used_prices(own) == []
    assert [each.name for each in told.used_prices(HOSTED)] == ["rerank-2.5"]


def test_a_price_that_is_not_known_makes_the_total_unknown() -> None:
    cost = CostModel(charges(generator="gpt-5"), DOCUMENTS).of(HOSTED, QUERIES, RUN, [3]).costs[3]
    assert cost["rerank"] is not None
    assert (cost["embed"], cost["total"]) == (None, None)


def test_without_prices_and_services_nothing_is_said_of_money() -> None:
    spent = CostModel(charges(), DOCUMENTS).of(LOCAL, QUERIES, RUN, [3])
    assert spent.costs[3] == NOTHING
    assert spent.prompts[3] > 0


def test_without_a_generator_the_total_is_that_of_retrieval() -> None:
    dense = {"embed": LOCAL["embed"]}
    spending = CostModel(charges(rerank="rerank-2.5"), DOCUMENTS)
    assert spending.of(dense, QUERIES, RUN, [3]).costs[3] == NOTHING | {"rerank": 0.0, "embed": 0.0, "total": 0.0}
    cost = spending.of(LOCAL, QUERIES, RUN, [3]).costs[3]
    assert cost["generator"] is None
    assert cost["total"] == cost["rerank"] > 0


def test_a_system_without_vectors_embeds_nothing() -> None:
    spent = CostModel(charges(embed=None, generator="gpt-5"), DOCUMENTS).of({"sparse": {}}, QUERIES, RUN, [2])
    assert spent.tokens == {"query": None, "candidate": None, "context": spent.tokens["context"]}
    assert (spent.costs[2]["rerank"], spent.costs[2]["embed"]) == (0.0, 0.0)


def test_what_was_counted_how_is_told() -> None:
    told = CostModel(charges(), DOCUMENTS).of(LOCAL, QUERIES, RUN, [3]).how
    assert [each.partition(" ")[0] for each in told] == ["candidates", "queries", "contexts"]
    assert all("estimated" in each for each in told)


def test_answers_whose_tokens_are_stated_are_paid(tmp_path: Path) -> None:
    """Prompts at 1.25 a million and 100 tokens of answers at 10."""
    book = tmp_path / "book.toml"
    text = 'date = "2026-11"\ncurrency = "USD"\nsource = "here"\n[generators.g]\nper_million_tokens = 1.25\n'
    book.write_text(f"{text}per_million_output = 10.0\n")
    table = {"book": str(book), "generator": "g", "candidate_tokens": 500}
    run = Run.from_dict({"q": {"a": 2.0, "b": 1.0}})
    costs = {}
    for tokens in (None, 100):
        model = CostModel(SweepPrices.read({**table, "answer_tokens": tokens}), {"a": "a", "b": "b"})
        costs[tokens] = model.of({"sparse": {}}, {"q": "q"}, run, [2]).costs[2]["generator"]
    assert costs == {None: pytest.approx(1.25), 100: pytest.approx(2.25)}
    book.write_text(text)
    with pytest.raises(InputError, match="per_million_output"):
        SweepPrices.read({**table, "answer_tokens": 100})


def test_prices_are_checked_before_any_work(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"Did you mean gpt-5\?|Did you mean gpt-5-mini"):
        charges(generator="gpt5")
    with pytest.raises(InputError, match=r"mine\.toml: cannot be read"):
        SweepPrices.read({"book": str(tmp_path / "mine.toml")})
    (tmp_path / "mine.toml").write_text('date = "2026-11"\ncurrency = "EUR"\nsource = "a list"\n')
    mine = SweepPrices.read({"book": str(tmp_path / "mine.toml"), "candidate_tokens": 100})
    assert mine.to_dict() == {
        "date": "2026-11",
        "currency": "EUR",
        "source": "a list",
        "rerank": None,
        "embed": None,
        "generator": None,
        "candidate_tokens": 100,
    }


def test_old_prices_that_are_used_are_remarked_on() -> None:
    told = charges(rerank="rerank-2.5", generator="gpt-5")
    (note,) = told.notes([LOCAL, {"embed": {"model": "x"}}], dt.date(2027, 1, 1))
    assert "Prices of rerank-2.5, gpt-5 are of 2025-11" in note
    assert charges().notes([LOCAL], dt.date(2027, 1, 1)) == ()
