"""Costs by a dated price book: P-B's own tables to the cent, and books that people break."""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from pathlib import Path

import pytest

from trueval.cost.prices import FREE, CostParts, PriceBook, QueryUsage, SystemPrices, cost_of_thousand
from trueval.errors import InputError, PolicyError
from trueval.models.hosted.account import Price

BOOK = PriceBook.read()
HEAD = 'date = 2025-11-12\ncurrency = "USD"\nsource = "somebody"\n'


def rerank_cost(model: str, candidates: int, tokens: float = 500) -> float | None:
    listed = BOOK.find("rerankers", model)
    return cost_of_thousand(QueryUsage(candidates, tokens), SystemPrices(listed.price)).rerank


def test_the_paper_s_table_of_reranking() -> None:
    """P-B §3.2.1, cost per 1,000 queries at 500 tokens a candidate, Nov 2025."""
    published = {50: (1.25, 0.50), 100: (2.50, 1.00), 150: (3.75, 1.50), 200: (5.00, 2.00)}
    for candidates, costs in published.items():
        found = [rerank_cost(model, candidates) for model in ("rerank-2.5", "rerank-2.5-lite")]
        assert found == pytest.approx(costs, abs=1e-12)
    per_candidate = [(rerank_cost(model, 1) or 0) / 1000 for model in ("rerank-2.5", "rerank-2.5-lite")]
    assert per_candidate == pytest.approx([0.000025, 0.00001], abs=1e-15)


def test_the_paper_s_table_of_generation() -> None:
    """P-B §3.2.1, input of the generator per 1,000 queries at 500 tokens a chunk."""
    published = {10: (6.25, 1.25, 0.25), 20: (12.50, 2.50, 0.50), 30: (18.75, 3.75, 0.75)}
    for contexts, costs in published.items():
        use = QueryUsage(contexts=contexts, context_tokens=500)
        assert use.prompt_tokens == contexts * 500
        prices = [BOOK.find("generators", name).price for name in ("gpt-5", "gpt-5-mini", "gpt-5-nano")]
        found = [cost_of_thousand(use, SystemPrices(generator=price)).generator for price in prices]
        assert found == pytest.approx(costs, abs=1e-12)


def test_measured_tokens_raise_the_cost_by_the_paper_s_three_percent() -> None:
    """P-B, pricing note under Table 8: about 515 tokens a candidate raise costs by about 3 %."""
    measured, assumed = rerank_cost("rerank-2.5", 50, 515), rerank_cost("rerank-2.5", 50, 500)
    assert measured == pytest.approx(1.2875)
    assert Fraction(515, 500) - 1 == Fraction(3, 100)
    assert (measured or 0) / (assumed or 1) == pytest.approx(1.03)


def test_shorter_lists_cost_what_they_hold() -> None:
    prices = SystemPrices(Price(0.05))
    assert cost_of_thousand(QueryUsage([50, 50, 20, 0], 500), prices).rerank == pytest.approx(30 * 500 * 0.05 / 1000)


def test_searches_are_billed_whole() -> None:
    prices = SystemPrices(Price(per_thousand_searches=2.0), documents_per_search=100)
    for candidates, searches in ((1, 1), (100, 1), (101, 2), ([50, 150, 200, 0], 5 / 4)):
        assert cost_of_thousand(QueryUsage(candidates), prices).rerank == pytest.approx(2.0 * searches)


def test_what_is_not_known_is_not_a_number() -> None:
    use = QueryUsage(50, None, contexts=10)
    assert cost_of_thousand(use, SystemPrices(Price(1.0), Price(1.0), Price(1.0))) == CostParts(None, None, None)
    assert cost_of_thousand(use, SystemPrices(None, None, None)) == CostParts(None, None, None)
    assert cost_of_thousand(use, SystemPrices(FREE, FREE, FREE)) == CostParts(0.0, 0.0, 0.0)
    assert CostParts(1.0, 0.5, None).total is None
    assert CostParts(1.0, 0.5, None).retrieval == 1.5
    assert CostParts(0.1, 0.2, 0.3).total == pytest.approx(0.6)
    assert cost_of_thousand(QueryUsage(0, None), SystemPrices(Price(1.0))).rerank == 0.0  # nothing is reranked


def test_embedded_queries_and_the_prompt_around_contexts_count() -> None:
    use = QueryUsage(query_tokens=20, contexts=4, context_tokens=100, overhead_tokens=50)
    found = cost_of_thousand(use, SystemPrices(embed=Price(0.1), generator=Price(2.0)))
    assert (found.embed, found.generator) == (pytest.approx(0.002), pytest.approx(0.9))


def test_a_service_before_the_name_does_not_matter() -> None:
    assert BOOK.find("rerankers", "voyage:rerank-2.5") is BOOK.find("rerankers", "rerank-2.5")
    assert BOOK.look_up("rerankers", "here/model") is None
    with pytest.raises(PolicyError, match=r"has no price of rerank-2\.5-light.*Did you mean rerank-2\.5-lite\?"):
        BOOK.find("rerankers", "rerank-2.5-light")


def test_old_prices_are_remarked_on_by_their_date() -> None:
    used = [BOOK.find("rerankers", "rerank-2.5"), BOOK.find("generators", "gpt-5")]
    assert BOOK.notes(used, date(2026, 11, 1)) == ()
    (note,) = BOOK.notes(used, date(2026, 11, 2))
    assert note.startswith("Prices of rerank-2.5, gpt-5 are of 2025-11, more than a year old")
    leap = used[0]._replace(date="2024-02-29")
    assert [leap.older_than_a_year(date(2025, 3, day)) for day in (1, 2)] == [False, True]


def test_a_price_may_have_a_date_and_a_source_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(
        HEAD + "[rerankers.a]\nper_million_tokens = 1\n[rerankers.b]\nper_thousand_searches = 2.0\n"
        'documents_per_search = 100\ndate = "2026-01"\nsource = "elsewhere"\n'
    )
    book = PriceBook.read(path)
    a, b = book.find("rerankers", "a"), book.find("rerankers", "b")
    assert (a.date, a.source, a.currency, a.price) == ("2025-11-12", "somebody", "USD", Price(1))
    assert (b.date, b.source, b.documents_per_search) == ("2026-01", "elsewhere", 100)
    assert [note.split(" are ")[0] for note in book.notes([a, b, a], date(2026, 12, 1))] == ["Prices of a"]


FAULTS = {
    "curency = 1\n" + HEAD: (1, "no key 'curency'", "Did you mean currency?"),
    HEAD + "[generator.x]\nper_million_tokens = 1\n": (4, "no table [generator]", "Did you mean generators?"),
    HEAD + "[generators.x]\nper_milion_tokens = 1\n": (5, "no key 'per_milion_tokens'", "Did you mean per_million"),
    HEAD + "[generators.x]\nper_million_tokens = -1\n": (5, "must be a number >= 0. Got -1", ""),
    HEAD + "[generators.x]\nper_million_tokens = true\n": (5, "must be a number >= 0. Got True", ""),
    HEAD + "[generators.x]\nper_million_tokens = nan\n": (5, "must be a number >= 0. Got nan", ""),
    HEAD + "[generators]\nx = 1\n": (5, "x of [generators] must be a table", ""),
    HEAD + "generators = 1\n": (4, "generators must be a table", ""),
    HEAD + "[generators.x]\n": (4, "[generators.x] needs per_million_tokens", ""),
    HEAD + "[rerankers.x]\nper_thousand_searches = 1\n": (4, "documents_per_search go together", ""),
    HEAD + "[rerankers.x]\nper_thousand_searches = 1\ndocuments_per_search = 0\n": (
        6,
        "must be an integer >= 1. Got 0",
        "",
    ),
    HEAD + '\n# why\n[generators.x]\nper_million_tokens = 1\ndate = "soon"\n': (
        8,
        "date of [generators.x] must be a day",
        "",
    ),
    'date = "2025-11"\nsource = "s"\n': (None, "the file needs currency", ""),
    "date = 2025-11-12T10:00:00\n" + HEAD.partition("\n")[2]: (1, "date must be a day", ""),
    HEAD + "[generators.x\n": (None, "not TOML", "line 4"),
}


@pytest.mark.parametrize("text", FAULTS)
def test_faults_name_file_line_key_and_nearest_name(text: str, tmp_path: Path) -> None:
    line, message, cure = FAULTS[text]
    path = tmp_path / "prices.toml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        PriceBook.read(path)
    assert str(caught.value).startswith(f"{path}{'' if line is None else f':{line}'}: ")
    assert message in str(caught.value)
    assert cure in str(caught.value)
    assert (caught.value.source, caught.value.line) == (str(path), line)


def test_a_book_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be read .* It must be a price book"):
        PriceBook.read(tmp_path / "none.toml")


def test_the_book_of_the_package_holds_what_the_paper_states_and_no_more() -> None:
    assert (BOOK.date, BOOK.currency) == ("2025-11", "USD")
    assert {role: sorted(prices) for role, prices in BOOK.prices.items()} == {
        "rerankers": ["rerank-2.5", "rerank-2.5-lite"],
        "embedders": [],
        "generators": ["gpt-5", "gpt-5-mini", "gpt-5-nano"],
    }
    # $0.00005 and $0.00002 per 1K tokens.
    assert [each.price.per_million_tokens for each in BOOK.prices["rerankers"].values()] == [0.05, 0.02]
