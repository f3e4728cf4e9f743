"""Refinement through the ledger: what counts as another question, and what as the same."""

from __future__ import annotations

from pathlib import Path

from trueval.golden.judge import Question
from trueval.golden.label_judge import Errors, LabelJudge
from trueval.golden.ledger import opened_ledger
from trueval.golden.refine_pools import Pool, compare_by


def test_documents_of_the_same_text_are_asked_about_anew_each_time(tmp_path: Path) -> None:
    # The ledger knows texts: asked by ids, the second batch would get the first one's answer, counted as a new one.
    pool = Pool("q", "query", ("a", "b", "twin"), ("one", "two", "one"), (3.0, 2.0, 3.0))
    judge = LabelJudge({("query", "one"): 3, ("query", "two"): 3}, Errors(noise=1.0))
    asked: list[Question] = []
    with opened_ledger(tmp_path / "l.sqlite") as ledger:
        compare = compare_by(judge, ledger, pool, 1, asked, [])
        found = compare([(first, "b") for first in ("a", "twin") * 8])
        assert ledger.totals().calls == 16
    assert len(set(asked)) == 16
    assert len({order is not None and order[0] == "b" for order in found}) == 2  # noise is drawn anew for each
