"""`trueval golden questions`: what a person types, and what retrieve, evaluate and golden build read of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.extras import need
from tests.golden.chat import chat_server
from tests.golden.questions.written import corpus, judge

need("bm25s", extra="retrieval")


def one(query: str, text: str) -> int:
    return 1


@pytest.mark.slow  # five commands
def test_questions_are_written_retrieved_for_and_evaluated(trueval: Any, tmp_path: Path) -> None:
    texts, out, run = corpus(tmp_path / "c"), tmp_path / "questions", tmp_path / "bm25.trec"
    with chat_server(one) as server:
        judge(server)
        words = ["golden", "questions", texts, "--n", 9, "--judge", "served", "--base-url", server.url]
        words += ["--price-in", 1, "--price-out", 2, "--out", out]
        dry = trueval(*words, "--dry-run")
        assert dry.status == 0, dry.err
        assert dry.out.startswith("question-one: 3 passages in 3 calls to served, about ")
        assert not (out / "ledger.sqlite").exists()
        found = trueval(*words, columns=200)
        assert found.status == 0, found.err
        calls = len(server.seen)
        assert trueval(*words).status == 0
        assert len(server.seen) == calls  # the ledger knows
    assert found.out.startswith("served wrote 9 questions for ")
    assert "3 answered by one passage, 3 answered by several passages together, 3 without an answer" in found.out
    result = json.loads((out / "questions.json").read_text())
    rows = [json.loads(line) for line in (out / "queries.jsonl").read_text().splitlines()]
    assert [row["_id"] for row in rows] == [each["query"] for each in result["questions"]]
    page = (out / "report.html").read_text()
    assert result["questions"][0]["text"] in page
    assert result["questions"][0]["passages"][0]["text"] in page
    words = ["retrieve", texts, "--queries", out / "queries.jsonl", "--index", "bm25", "--run", run]
    retrieved = trueval(*words)
    assert retrieved.status == 0, retrieved.err
    scores = trueval("evaluate", out / "qrels.trec", run, "-m", "RR@5", "--format", "json")
    assert scores.status == 0, scores.err
    value = json.loads(scores.out)["runs"][0]["measures"]["RR@5"]
    assert value["queries"] == 6  # those of kind none have no relevant document
    assert value["expected"] > 0.9  # the questions repeat their passages
    plan = tmp_path / "golden.toml"
    plan.write_text(
        '[corpus]\npath = "c"\n[queries]\npath = "questions/queries.jsonl"\n[sparse]\n[pool]\ndepth = 3\n'
        '[judge]\nmodel = "labels:questions/qrels.trec"\nunknown = 1\n[refine]\nmethod = "none"\n'
    )
    built = trueval("golden", "build", plan, "--out", tmp_path / "golden", "--until", "grade")
    assert built.status == 0, built.err
    assert "of 9 queries" in built.out


def test_every_form_and_a_wrong_kind(trueval: Any, tmp_path: Path) -> None:
    texts, out = corpus(tmp_path / "c"), tmp_path / "questions"
    with chat_server(one) as server:
        judge(server)
        words = ["golden", "questions", texts, "--n", 2, "--kinds", "one", "--judge", "served"]
        words += ["--base-url", server.url, "--out", out]
        for form in ("csv", "markdown", "latex", "json"):
            found = trueval(*words, "--format", form)
            assert found.status == 0, found.err
            assert "one" in found.out
        wrong = trueval(*words, "--kinds", "one,severl")
    assert wrong.status != 0
    assert "several" in wrong.err
