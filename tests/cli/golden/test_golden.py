"""`trueval golden build`, `grade` and `anchor`: what a person types, and what comes of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.extras import need
from tests.golden import small
from tests.golden.chat import chat_server

from trueval.judgments import Judgments

need("bm25s", extra="retrieval")


def test_a_golden_set_is_built_shown_and_evaluated_with(trueval: Any, tmp_path: Path) -> None:
    plan, out = small.written(tmp_path, f"{small.LABELS}\nnoise = 0.5"), tmp_path / "out"
    dry = trueval("golden", "build", plan, "--out", out, "--dry-run")
    assert dry.status == 0, dry.err
    assert dry.out.splitlines()[0] == "grade: at most 48 passages in 18 calls to labels:labels.trec."
    assert not out.exists()
    some = trueval("golden", "build", plan, "--out", out, "--until", "pool")
    assert some.status == 0, some.err
    assert some.out.startswith("It cannot be used yet: it is built up to pool, and nothing is graded.")
    found = trueval("golden", "build", plan, "--out", out, columns=200)
    assert found.status == 0, found.err
    assert "labels:labels.trec judged 24 of 24 passages of 3 queries" in found.out
    assert found.out.startswith("It can be used: each of 3 queries has a useful passage (grade 4 or 5).")
    rows = [line.split()[0] for line in found.out.splitlines() if line]
    assert rows[rows.index("rewrite") :][:5] == ["rewrite", "pool", "grade", "prune", "refine"]
    page = (out / "report.html").read_text()
    assert "How steady the judge is" in page
    assert "bridges-7" in page  # every label
    printed = json.loads(trueval("golden", "build", plan, "--out", out, "--format", "json").out)
    saved = json.loads((out / "golden.json").read_text())
    assert saved.pop("generation")
    assert printed == saved
    scores = trueval("evaluate", out, out / "top.trec", "-m", "nDCG@3", "--format", "json")
    assert scores.status == 0, scores.err
    value = json.loads(scores.out)["runs"][0]["measures"]["nDCG@3"]
    assert value["expected"] > 0.9
    assert value["queries"] == 3


def test_where_nothing_is_valid_nothing_is_said_of_useful_passages(trueval: Any, tmp_path: Path) -> None:
    plan = small.written(tmp_path, f"{small.LABELS}\ninvalid = 1.0", queries=1)
    found = trueval("golden", "build", plan, "--out", tmp_path / "out")
    assert found.status == 0, found.err
    assert found.out.startswith("It cannot be used: labels:labels.trec gave no valid label.")
    assert "judged 0 of 8 passages of 1 query" in found.out
    assert "Useful passages" not in found.out


def test_other_forms(trueval: Any, tmp_path: Path) -> None:
    plan = small.written(tmp_path, small.LABELS)
    for form in ("csv", "markdown", "latex"):
        found = trueval("golden", "build", plan, "--out", tmp_path / "out", "--until", "grade", "--format", form)
        assert found.status == 0, found.err
        assert "grade" in found.out
        assert ("judged 24 of 24 passages" in found.out) == (form != "csv")


def test_new_results_of_a_run_are_judged_and_old_judgments_stay(
    trueval: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("K", "key")
    small.corpus(tmp_path / "c")
    qrels, run, new = tmp_path / "qrels.trec", tmp_path / "run.trec", tmp_path / "new.trec"
    qrels.write_text("q0 0 wings-0 2\n")
    run.write_text("".join(f"q0 Q0 wings-{n} {n + 1} {9 - n} x\n" for n in range(5)))
    words = ["golden", "grade", qrels, run, "--collection", tmp_path / "c", "--depth", 3, "--judge", "served"]
    with chat_server(small.stars) as server:
        words += ["--base-url", server.url, "--api-key-env", "K", "--price-in", 1, "--price-out", 2]
        dry = trueval(*words, "--out", new, "--dry-run")
        assert dry.out.startswith("grade: 4 passages in 2 calls to served, about "), dry
        assert "An answer that is not valid is asked for once more" in dry.out
        assert "Nothing limits the length of an answer" in dry.out
        assert server.seen == []
        found = trueval(*words, "--out", new)
        assert found.status == 0, found.err
        assert "2 of 3 documents in the first 3 places are not judged." in found.err
        assert f"It goes to {server.url.split('/')[2]}, with the key in K." in " ".join(found.err.split())
        calls = len(server.seen)
        again = trueval(*words, "--out", tmp_path / "again.trec", "--ledger", tmp_path / "new.ledger.sqlite")
        assert again.status == 0
        assert len(server.seen) == calls  # the ledger knows
    assert new.read_text() == "q0 0 wings-0 2\nq0 0 wings-1 4\nq0 0 wings-2 4\n"
    assert qrels.read_text() == "q0 0 wings-0 2\n"
    rows = [json.loads(line) for line in (tmp_path / "new.labels.jsonl").read_text().splitlines()]
    assert {row["document"]: len(row["labels"]) for row in rows} == {"wings-1": 2, "wings-2": 2}
    over = trueval(*words, "--out", qrels)
    assert over.status == 1
    assert "never written over" in " ".join(over.err.split())
    assert qrels.read_text() == "q0 0 wings-0 2\n"


def test_what_is_read_is_never_written_over(trueval: Any, tmp_path: Path) -> None:
    plan, out, run = small.written(tmp_path, small.LABELS), tmp_path / "out", tmp_path / "run.trec"
    assert trueval("golden", "build", plan, "--out", out, "--until", "grade").status == 0
    run.write_text("q0 Q0 bridges-0 1 1 x\n")
    before = (out / "qrels.trec").read_text(), run.read_text()
    judge = f"labels:{tmp_path / 'c' / 'labels.trec'}"
    words = ["golden", "grade", out, run, "--collection", tmp_path / "c", "--depth", 3, "--judge", judge, "--out"]
    for place, told in ((out / "qrels.trec", "whose files belong together"), (run, "a run is read from there")):
        found = trueval(*words, place)
        assert found.status == 1
        assert told in " ".join(found.err.split())
    assert ((out / "qrels.trec").read_text(), run.read_text()) == before
    words[2] = tmp_path / "absent.trec"
    absent = trueval(*words, out / "qrels.trec")
    assert absent.status == 1
    assert "absent.trec" in absent.err


def test_judgments_move_to_a_corpus_that_was_cut_anew(trueval: Any, tmp_path: Path) -> None:
    plan, out = small.written(tmp_path, small.LABELS), tmp_path / "out"
    assert trueval("golden", "build", plan, "--out", out, "--until", "grade").status == 0
    file = tmp_path / "c" / "corpus.jsonl"
    file.write_text(
        file.read_text().replace('"_id": "', '"_id": "n-').replace("of wings, worth 5", "of a wing, worth 5")
    )
    found = trueval("golden", "anchor", out, "--collection", tmp_path / "c", "--out", tmp_path / "new.trec")
    assert found.status == 0, found.err
    assert "23 of 24 judged passages are there word for word, 23 of them under other ids; 1 are lost." in " ".join(
        found.err.split()
    )
    frame = Judgments.read(tmp_path / "new.trec").frame
    assert (len(frame), frame["doc_id"].to_list()[0]) == (23, "n-wings-1")
    inside = trueval("golden", "anchor", out, "--collection", tmp_path / "c", "--out", out / "qrels.trec")
    assert inside.status == 1
    assert "whose files belong together" in inside.err


def test_what_cannot_be_is_one_line(trueval: Any, tmp_path: Path) -> None:
    plan = small.written(tmp_path, 'model = "m"\nbase_url = "https://example.org/v1"\napi_key_env = "NO_SUCH_KEY"')
    found = trueval("golden", "build", plan, "--out", tmp_path / "out")
    assert found.status == 1
    last = found.err.strip().splitlines()[-1]
    assert last.startswith("trueval: m: the environment variable NO_SUCH_KEY is not set.")
    assert not (tmp_path / "out" / "stages").exists()  # no pool is made for a judge that cannot be asked
    bad = trueval("golden", "anchor", tmp_path / "c", "--collection", tmp_path / "c", "--out", tmp_path / "x.trec")
    assert bad.status == 1
    assert "A golden set is a folder that trueval golden build made." in " ".join(bad.err.split())
