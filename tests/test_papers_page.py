"""docs/evidence/notes/papers.md says what docs/make_papers.py computes, and what is known of the papers' tables."""

from docs import make_papers
from docs.make_papers import BGE, GTE, MRR, NDCG, PAGE, TABLE_1, TABLE_12, page
from tests.tradeoff import paper


def test_the_page_is_what_the_script_writes() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text.startswith(page()), "run: python docs/make_papers.py"
    assert "\n## P-B: costs, latencies and indexes\n" in text[len(page()) - 1 :]


def test_high_precision_scoring_is_farther_from_float32_in_eight_rows() -> None:
    """Recounted with the decimals of the table as whole hundredths."""
    found = 0
    for row in TABLE_1:
        exact, low, high = (round(100 * each) for each in (row.float32, row.bf16_expected, row.hps_expected))
        found += abs(high - exact) > abs(low - exact)
    assert (found, len(TABLE_1)) == (8, 15)


def test_the_ranges_of_gte_fall_by_less_than_an_order_of_magnitude() -> None:
    rows = {(row.data, row.model): row for row in TABLE_1}
    assert round(97 / 14, 1) == 6.9 == round(rows[NDCG, GTE].bf16_range / rows[NDCG, GTE].hps_range, 1)
    assert round(85 / 18, 1) == 4.7 == round(rows[MRR, GTE].bf16_range / rows[MRR, GTE].hps_range, 1)
    assert rows[NDCG, BGE].bf16_range / rows[NDCG, BGE].hps_range > 10


def test_the_losses_of_cosine_are_those_of_the_tables() -> None:
    text = page()
    assert "14.2 % in English" in text
    assert "9.5 % | 28.4 %" in text
    assert "11.2 % | 30.2 %" in text
    assert "up to 18.0 %" in text
    drops = [round(row[2] - row[4], 3) for row in TABLE_12]
    assert drops == [0.296, 0.377, 0.235, 0.274]  # P-B Table 13


def test_numbers_that_other_tables_have_too_are_the_same() -> None:
    embedder = paper.Embedder("voyage-3.5", 1024)
    assert paper.TABLE_15[embedder][0] == make_papers.RERANK_MS
    assert paper.WITH_RERANKER[embedder, 50]["N-Recall4+@10"] == make_papers.RERANKED
