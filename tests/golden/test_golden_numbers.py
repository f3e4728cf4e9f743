"""The numbers of golden.json are what the ledger says: computed again from its tables, with nothing of ours between."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from pathlib import Path
from statistics import mean, median
from typing import Any

import pytest
from tests.extras import need
from tests.golden import small

from trueval.golden.build.build import build
from trueval.golden.build.golden_plan import GoldenPlan

need("bm25s", extra="retrieval")


def from_ledger(folder: Path, rounds: int) -> dict[tuple[str, str], dict[int, int]]:
    """Text of the query and of the passage → round → label, of the calls that graded."""
    base = sqlite3.connect(folder / "ledger.sqlite")
    texts = {key: text.decode() for key, text in base.execute("SELECT hash, text FROM texts")}
    found: dict[tuple[str, str], dict[int, int]] = {}
    for query, passages, sample, labels in base.execute(
        "SELECT query, passages, sample, labels FROM calls WHERE task = 'grade'"
    ):
        for passage, label in zip(json.loads(passages), json.loads(labels), strict=True):
            if label is not None and sample < rounds:  # others were asked again, for steadiness alone
                found.setdefault((texts[query], texts[passage]), {})[sample] = label[0]
    base.close()
    return found


def test_golden_json_is_what_the_ledger_says(tmp_path: Path) -> None:
    path = small.written(
        tmp_path, f"{small.LABELS}\nnoise = 0.9\ninvalid = 0.1\nrounds = 2\nrepeat = 4\naggregate = 'median'"
    )
    about: dict[str, Any] = build(GoldenPlan.read(path), tmp_path / "out").to_dict()
    given = from_ledger(tmp_path / "out", 2)
    texts = {
        kind: {row["_id"]: row["text"] for row in map(json.loads, (tmp_path / "c" / file).read_text().splitlines())}
        for kind, file in (("queries", "queries.jsonl"), ("documents", "corpus.jsonl"))
    }
    ids = {
        pair: (query, document)
        for query, asked in texts["queries"].items()
        for document, text in texts["documents"].items()
        if (pair := (asked, text)) in given
    }
    grades = {ids[pair]: min(labels.values()) for pair, labels in given.items()}  # of two labels the lower
    lines = [line.split() for line in (tmp_path / "out" / "qrels.trec").read_text().splitlines()]
    assert {(query, document): int(grade) for query, _, document, grade in lines} == grades
    assert about["grades"] == {str(grade): Counter(grades.values())[grade] for grade in range(1, 6)}
    assert (about["judged"], about["passages"]) == (len(grades), 24)
    assert about["unjudged"] == 24 - len(grades)
    assert about["labels"] == sum(map(len, given.values()))
    both = [(labels[0], labels[1]) for labels in given.values() if len(labels) == 2]
    (between,) = about["rounds"]
    assert between["passages"] == len(both) < 24
    assert between["same"] == mean(one == other for one, other in both)
    assert between["difference"] == pytest.approx(mean(other - one for one, other in both))
    expected = mean((one - other) ** 2 for one, _ in both for _, other in both)
    assert between["kappa"] == pytest.approx(1 - mean((one - other) ** 2 for one, other in both) / expected)
    useful = [sum(g >= 4 for (query, _), g in grades.items() if query == asked) for asked in texts["queries"]]
    told = about["heterogeneity"]["useful"]
    assert (told["median"], told["mean"]) == (median(useful), pytest.approx(mean(useful)))
    assert told["without"] == useful.count(0)
    base = sqlite3.connect(tmp_path / "out" / "ledger.sqlite")
    (calls,) = base.execute("SELECT COUNT(*) FROM calls").fetchone()
    (invalid,) = base.execute("SELECT COUNT(*) FROM calls WHERE problems != '[]'").fetchone()
    base.close()
    assert (about["cost"]["calls"], about["cost"]["invalid"]) == (calls, invalid)
