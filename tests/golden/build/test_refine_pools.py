"""Refinement through the ledger: what counts as another question, and what as the same."""

from __future__ import annotations

from pathlib import Path

from trueval.golden.build.refine_pools import RefinementPool, RefinementSettings, compare_by, refine_pools
from trueval.golden.judge.judge import Question
from trueval.golden.judge.label_judge import LabelErrors, LabelJudge
from trueval.golden.judge.ledger import open_ledger


def test_documents_of_the_same_text_are_asked_about_anew_each_time(tmp_path: Path) -> None:
    # The ledger knows texts: asked by ids, the second batch would get the first one's answer, counted as a new one.
    pool = RefinementPool("q", "query", ("a", "b", "twin"), ("one", "two", "one"), (3.0, 2.0, 3.0))
    judge = LabelJudge({("query", "one"): 3, ("query", "two"): 3}, LabelErrors(noise=1.0))
    asked: list[Question] = []
    with open_ledger(tmp_path / "l.sqlite") as ledger:
        compare = compare_by(judge, ledger, pool, 1, asked, [])
        found = compare([(first, "b") for first in ("a", "twin") * 8])
        assert ledger.totals().calls == 16
    assert len(set(asked)) == 16
    assert len({order is not None and order[0] == "b" for order in found}) == 2  # noise is drawn anew for each


def test_every_pool_that_is_refined_is_told(tmp_path: Path) -> None:
    pools = [RefinementPool(query, query, ("a", "b"), ("one", "two"), (3.0, 3.0)) for query in ("q1", "q2")]
    judge = LabelJudge({(query, text): 3 for query in ("q1", "q2") for text in ("one", "two")}, LabelErrors(noise=1.0))
    told: list[tuple[str, int, int]] = []
    how = RefinementSettings(top=1, calls=1)
    with open_ledger(tmp_path / "l.sqlite") as ledger:
        found = refine_pools(pools, judge, ledger, how, step=lambda *each: told.append(each))
        again = refine_pools(pools, judge, ledger, how)
    assert told == [("queries", 1, 2), ("queries", 2, 2)]
    assert [each.query_id for each in found] == [each.query_id for each in again] == ["q1", "q2"]
