"""The judged table: repetitions, other names of labels, and rows that do not fit the log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.answers.small import write_lines

from trueval.answers.answer_logs import read_answers
from trueval.answers.claim_table import MISSING, PARTLY, SUPPORTED, Cell, ClaimTable, read_judged
from trueval.errors import InputError

ROW = {"query": "q1", "of": "answer", "claim": 1, "against": "reference", "label": "supported"}


@pytest.fixture
def log(tmp_path: Path) -> Any:
    row = {"query_id": "q1", "question": "Who?", "answer": "Ada. Yes.", "contexts": ["Ada."], "reference": "Ada."}
    return read_answers(write_lines(tmp_path / "log.jsonl", row))


def test_the_lower_median_of_repetitions_counts_and_null_is_missing(log: Any, tmp_path: Path) -> None:
    """supported and partly: partly; null beside supported: supported; null alone: missing."""
    rows = [
        {**ROW, "label": "supported"},
        {**ROW, "label": "partly", "sample": 1},
        {**ROW, "claim": 2, "label": None},
        {**ROW, "claim": 2, "label": "Entailment"},
        {**ROW, "against": 1, "label": None},
    ]
    judged = read_judged(write_lines(tmp_path / "table.jsonl", *rows), log)
    assert judged.label(Cell("q1", "answer", 1, "reference")) == PARTLY
    assert judged.label(Cell("q1", "answer", 2, "reference")) == SUPPORTED
    assert judged.label(Cell("q1", "answer", 1, 1)) == MISSING
    # 2 answer claims x (reference, passage) and 1 reference claim x (answer, passage), of which two have a label.
    assert ClaimTable.of(log, judged).missing.tolist() == [4]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"query": "q2"}, "query must be a question of the log"),
        ({"of": "both"}, "of must be answer or reference. Got 'both'"),
        ({"claim": 3}, "claim must be a number from 1 to 2, the claims of 'q1'. Got '3'"),
        ({"claim": True}, "claim must be a number"),
        ({"against": 2}, "against must be 'reference', 'question', or the number of a passage from 1 to 1. Got '2'"),
        ({"against": "answer"}, "against must be 'reference'"),
        ({"label": "yes"}, "label must be one of contradicted, not, partly, supported, or null. Got 'yes'"),
        ({"text": "Bob."}, "text must be that of the claim, 'Ada.': this is of another log. Got 'Bob.'"),
    ],
)
def test_rows_that_do_not_fit_are_refused(log: Any, tmp_path: Path, change: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as raised:
        read_judged(write_lines(tmp_path / "table.jsonl", ROW, {**ROW, **change}), log)
    assert said in str(raised.value)
    assert raised.value.line == 2
