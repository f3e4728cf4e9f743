"""Runs with their judgments, as dicts: every real one that ../shared/data has, and a list that is planted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from trueval.judgments import Judgments
from trueval.run import Run

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
TREC = SHARED / "trec_eval"
FOLDERS = {
    "dl-hard": (SHARED / "runs" / "dl-hard-passage", "*.run.gz", "qrels.trec"),
    "askubuntu": (SHARED / "runs" / "askubuntu-bm25", "run.trec", "qrels.trec"),
    "trec_eval": (TREC, "results.test", "qrels.test"),
    "trec_eval, cut": (TREC, "results.trunc", "qrels.test"),
    "trec_eval, graded": (TREC, "results.test", "qrels.rel_level"),
}

Scored = dict[str, dict[str, float]]
Graded = dict[str, dict[str, int]]

# Two documents of one score, then one: RR is 1 or 1/2, so 3/4 on average; and for AP (1/1 + 2/3)/2 or (1/2 + 2/3)/2.
PLANTED: tuple[Scored, Graded] = ({"q": {"a": 1.0, "b": 1.0, "c": 0.5}}, {"q": {"a": 1, "b": 0, "c": 2}})


class Pair(NamedTuple):
    """A run with its judgments, which name the first the queries that the second lacks."""

    run: Scored
    judgments: Graded


def nested(frame: Iterator[tuple[str, str, float]]) -> Scored:
    found: Scored = {}
    for query, document, number in frame:
        found.setdefault(query, {})[document] = number
    return found


def read(name: str) -> list[Pair]:
    """The runs of a folder of ../shared/data; the test is skipped where it is absent."""
    folder, runs, qrels = FOLDERS[name]
    if not folder.is_dir():
        pytest.skip(f"real data is absent: ../shared/data/{folder.relative_to(SHARED)}")
    rows = Judgments.read(folder / qrels).frame.select("query_id", "doc_id", "grade").iter_rows()
    judgments = {q: {d: int(g) for d, g in row.items()} for q, row in nested(rows).items()}
    paths = sorted(folder.glob(runs))
    assert paths
    columns = ("query_id", "doc_id", "score")
    return [Pair(nested(Run.read(path).frame.select(columns).iter_rows()), judgments) for path in paths]
