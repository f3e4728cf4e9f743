"""Grading pools: what a judge said becomes one grade, traced to its calls."""

from pathlib import Path

import polars as pl
import pytest

from trueval.errors import PolicyError
from trueval.golden.build.grade import GradingSettings, grade
from trueval.golden.judge.label_judge import LabelErrors, LabelJudge
from trueval.golden.judge.ledger import open_ledger

QUERIES = {"q1": "what is lift", "q2": "what is drag"}
DOCUMENTS = {f"d{number}": f"text {number}" for number in range(20)}
POOLS = {"q1": [f"d{number}" for number in range(20)], "q2": ["d3", "d1"]}
TRUE = {
    (query, text): 1 + (place + len(query)) % 5
    for query in QUERIES.values()
    for place, text in enumerate(DOCUMENTS.values())
}


def test_a_judge_without_errors_gives_its_labels(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "l.sqlite") as ledger:
        found = grade(POOLS, QUERIES, DOCUMENTS, LabelJudge(TRUE), ledger, GradingSettings(rounds=3))
        calls = {row["key"]: row for row in ledger.calls()}
    rows = found.grades.rows(named=True)
    assert [(row["query_id"], row["doc_id"]) for row in rows] == [(q, d) for q, pool in POOLS.items() for d in pool]
    assert all(row["grade"] == TRUE[QUERIES[row["query_id"]], DOCUMENTS[row["doc_id"]]] for row in rows)
    assert {(row["labels"], row["spread"]) for row in rows} == {(3, 0)}
    for row in found.labels.rows(named=True):
        call = calls[row["call"]]
        assert call["passages"][row["slot"]] == DOCUMENTS[row["doc_id"]]
        assert call["query"] == QUERIES[row["query_id"]]
        assert len(call["passages"]) == row["slots"] <= 8


def test_nothing_is_asked_twice_and_more_rounds_ask_the_new_ones(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "l.sqlite") as ledger:
        grade(POOLS, QUERIES, DOCUMENTS, LabelJudge(TRUE), ledger, GradingSettings(rounds=2))
        before = ledger.totals().calls
        grade(POOLS, QUERIES, DOCUMENTS, LabelJudge(TRUE), ledger, GradingSettings(rounds=2))
        assert ledger.totals().calls == before == 8
        grade(POOLS, QUERIES, DOCUMENTS, LabelJudge(TRUE), ledger, GradingSettings(rounds=3))
        assert ledger.totals().calls == 12


@pytest.mark.parametrize(("mode", "calls"), [("batch", 8), ("single", 44), ("list", 4)])
def test_ways_to_ask(tmp_path: Path, mode: str, calls: int) -> None:
    with open_ledger(tmp_path / "l.sqlite") as ledger:
        found = grade(POOLS, QUERIES, DOCUMENTS, LabelJudge(TRUE), ledger, GradingSettings(mode=mode), at_once=2)
        assert ledger.totals().calls == calls
    assert found.grades["labels"].to_list() == [2] * 22


def test_what_is_not_valid_is_no_grade(tmp_path: Path) -> None:
    judge = LabelJudge(TRUE, LabelErrors(invalid=0.7))
    with open_ledger(tmp_path / "l.sqlite") as ledger:
        found = grade(POOLS, QUERIES, DOCUMENTS, judge, ledger, GradingSettings(rounds=2))
    valid = found.labels.filter(pl.col("grade").is_not_null()).group_by("query_id", "doc_id").len()
    by_pair = {(query, doc): count for query, doc, count in valid.rows()}
    assert 0 < len(by_pair) < 22
    for row in found.grades.rows(named=True):
        assert row["labels"] == by_pair.get((row["query_id"], row["doc_id"]), 0)
        assert (row["grade"] is None) is (row["labels"] == 0)
    assert sum(found.problems.values()) > 0


def test_choices_are_checked() -> None:
    for wrong, told in (({"mode": "all"}, "mode"), ({"batch": 0}, "batch"), ({"rounds": 0}, "rounds")):
        with pytest.raises(PolicyError, match=told):
            GradingSettings(**wrong)  # type: ignore[arg-type]
    with pytest.raises(PolicyError, match="aggregate"):
        GradingSettings(aggregate="mean")
