"""`trueval golden questions`: what a person types, and what retrieve, evaluate and golden build read of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.extras import need
from tests.golden.chat import chat_server
from tests.golden.questions.test_flatters import QUALITY, world
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


@pytest.mark.slow  # seven commands, six with a page
def test_the_order_on_written_questions_is_said_to_be_turned_or_not_known(trueval: Any, tmp_path: Path) -> None:
    written, runs = world(tmp_path, "w", questions=100, copied=0.9, quality=QUALITY, seed=1)
    real, others = world(tmp_path, "r", questions=100, copied=0.5, quality=QUALITY, seed=1001)
    alone = trueval("golden", "flatters", written, *runs, columns=200)
    assert alone.status == 0, alone.err
    assert alone.out.startswith(
        "How far the order of these 3 systems on written questions can be believed is not known"
    )
    words = ["golden", "flatters", written, *runs, "--real", real, "--out", tmp_path / "out"]
    words += [word for run in others for word in ("--real-run", run)]
    found = trueval(*words, columns=200)
    assert found.status == 0, found.err
    assert "bm25 is above dense on written questions and below on real ones." in found.out
    assert "Written questions flatter bm25: its gain over the other systems is +" in found.out
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Written questions against real ones" in page
    for form in ("csv", "markdown", "latex", "json"):
        assert trueval(*words, "--format", form).status == 0
    refused = trueval(*words, "--lexical", "bm52")
    assert refused.status != 0
    assert "lexical must be one of bm25, dense, small" in " ".join(refused.err.split())


def test_written_questions_of_one_folder_are_measured_with_their_overlaps(trueval: Any, tmp_path: Path) -> None:
    texts, out = corpus(tmp_path / "c"), tmp_path / "questions"
    with chat_server(one) as server:
        judge(server)
        words = ["golden", "questions", texts, "--n", 6, "--kinds", "one,none", "--judge", "served"]
        assert trueval(*words, "--base-url", server.url, "--out", out).status == 0
    rows = json.loads((out / "questions.json").read_text())["questions"]
    asked = [each for each in rows if each["kind"] == "one"]
    runs = []
    for name, place in (("bm25", 1), ("dense", 2)):
        lines = [f"{each['query']} Q0 x 1 {2 if place == 2 else 0} s\n" for each in asked]
        lines += [f"{each['query']} Q0 {each['passages'][0]['document']} 2 1 s\n" for each in asked]
        (tmp_path / f"{name}.trec").write_text("".join(lines))
        runs.append(tmp_path / f"{name}.trec")
    found = trueval("golden", "flatters", out, *runs, "-m", "RR@5", "--format", "json")
    assert found.status == 0, found.err
    result = json.loads(found.out)
    assert result["written_queries"] == 3  # those without an answer count for nobody
    assert [(each["name"], each["written"]) for each in result["systems"]] == [("bm25", 1.0), ("dense", 0.5)]
    assert result["overlap"]["written"]["value"] == pytest.approx(4 / 5)
