"""`trueval golden agree` and `stress`: what a person types, and what comes of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.golden import audits
from tests.golden.chat import chat_server
from tests.golden.validation.test_robustness import plan_of, reads_words

QRELS = "".join(f"q{q} 0 d{d} {(q + d) % 4}\n" for q in range(8) for d in range(6))


def test_a_golden_set_with_an_audit_is_compared_with_people(trueval: Any, tmp_path: Path) -> None:
    folder, out = audits.written(tmp_path / "g"), tmp_path / "out"
    found = trueval("golden", "agree", folder, "--resamples", 100, "--out", out, columns=160)
    assert found.status == 0, found.err
    assert "people and gpt gave the same grade to" in found.out
    assert "Of 4 pairs of neighbors in the ranked lists people put 50.00% in the same order" in found.out
    assert "gpt less people, in grades" in found.out
    assert found.out.startswith("gpt agrees with people with a quadratic κ of ")
    assert ", and grades " in found.out
    assert f"Next: trueval golden correct {folder} RUN" in found.out
    rows = [line.split() for line in found.out.partition("Agreement of labels")[2].splitlines()]
    assert [row[1:3] for row in rows if row[:1] == ["gpt"]][:2] == [["all", "judged"], ["sample", "7"]]
    saved = json.loads((out / "agree.json").read_text())
    assert saved["kind"] == "golden-agree"
    page = (out / "report.html").read_text()
    assert all(words in page for words in ("Grade against grade", "Order of neighbors", "The sample", "slot 1"))
    lines = (out / "agree.csv").read_text().splitlines()
    assert lines[0] == "between,first,second,over,items,queries,coefficient,value,low,high,reason"
    assert len(lines) == 1 + 2 * 2 * 6  # two pairs, sample and population, six coefficients
    printed = json.loads(trueval("golden", "agree", folder, "--resamples", 100, "--format", "json").out)
    assert saved.pop("generation")
    assert printed == saved


@pytest.mark.parametrize("form", ["markdown", "latex", "csv"])
def test_other_forms(trueval: Any, tmp_path: Path, form: str) -> None:
    (tmp_path / "people.qrels").write_text(QRELS)
    (tmp_path / "gpt.qrels").write_text(QRELS.replace(" 3\n", " 2\n"))
    (tmp_path / "none.qrels").write_text("q9 0 d 1\n")
    words = ["golden", "agree", "--people", tmp_path / "people.qrels", tmp_path / "gpt.qrels", tmp_path / "none.qrels"]
    found = trueval(*words, "--resamples", 100, "--format", form)
    assert found.status == 0, found.err
    assert "gpt" in found.out
    assert ("no item has labels of both" in found.out) == (form != "latex" or "no coefficient" in found.out)


def test_what_is_wrong_in_labels_is_one_line_with_its_place_and_the_cure(trueval: Any, tmp_path: Path) -> None:
    (tmp_path / "people.qrels").write_text(QRELS)
    judge = tmp_path / "gpt.qrels"
    judge.write_text(QRELS + "q0 0 d0 1\nq0 0 new 10\n")
    words = ["golden", "agree", "--people", tmp_path / "people.qrels", judge, "--resamples", 100]
    for more, told in (
        (["--outside", "drop"], f"{judge}:49: document 'd0' is in query 'q0' twice"),
        (["--duplicates", "last"], f"{judge}:50: the grade 10 of document 'new' in query 'q0' is outside the scale"),
    ):
        found = trueval(*words, *more)
        assert found.status == 1
        assert told in " ".join(found.err.split())
    found = trueval(*words, "--duplicates", "last", "--outside", "drop")
    assert found.status == 0, found.err
    assert "gpt: 1 label left out, whose grade is not on the scale." in " ".join(found.err.split())
    assert trueval(*words, "--scale", "3-0").status == 2
    assert trueval(*words, "--duplicates", "mean").status == 2
    wide = trueval(*words, "--duplicates", "first", "--scale", "0-10", "--format", "json")
    assert json.loads(wide.out)["scale"] == [0.0, 10.0]


def test_judges_are_put_under_stress(trueval: Any, tmp_path: Path) -> None:
    (tmp_path / "people.qrels").write_text(QRELS)
    (tmp_path / "gpt.qrels").write_text(QRELS.replace(" 3\n", " 0\n"))
    (tmp_path / "runs").mkdir()
    for run in range(3):
        lines = [f"q{q} Q0 d{d} 0 {(d * (run + 3) + q) % 7} r{run}\n" for q in range(8) for d in range(6)]
        (tmp_path / "runs" / f"r{run}.trec").write_text("".join(lines))
    (tmp_path / "family.toml").write_text('[runs]\nopenai = ["r0"]\n[judges]\ngpt = "openai"\n')
    words = ["golden", "stress", "--people", tmp_path / "people.qrels", tmp_path / "gpt.qrels", "-m", "nDCG@3"]
    words += ["--resamples", 100, "--top", 2, "--family", tmp_path / "family.toml"]
    found = trueval(*words, "--runs", tmp_path / "runs", "--out", tmp_path / "out", columns=160)
    assert found.status == 0, found.err
    assert "nDCG@3: judges against people, 3 runs" in found.out
    assert "runs of the judge's own family" in found.out
    saved = json.loads((tmp_path / "out" / "stress.json").read_text())
    assert saved["runs"] == ["r0", "r1", "r2"]
    page = (tmp_path / "out" / "report.html").read_text()
    assert "systems under all judges" in page
    for form in ("csv", "markdown", "latex", "json"):
        single = [each for run in range(3) for each in ("--runs", tmp_path / "runs" / f"r{run}.trec")]
        other = trueval(*words, *single, "--format", form)
        assert other.status == 0, other.err
        assert "gpt" in other.out
    assert trueval(*words, "--runs", tmp_path / "runs" / "r0.trec").status == 2


def test_a_judge_is_asked_about_traps(trueval: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_JUDGE_KEY", "secret")
    with chat_server(reads_words) as server:
        plan_of(tmp_path / "p", server.url)
        words = ["golden", "stress", "--gullibility", tmp_path / "p" / "golden.toml", "--out", tmp_path / "out"]
        dry = trueval(*words, "--dry-run")
        assert dry.out.startswith("grade: 48 passages in 48 calls to served, about "), dry
        assert server.seen == []
        found = trueval(*words, columns=140)
        assert found.status == 0, found.err
        assert (
            "served is fooled by a passage with the words of the query pasted into it: it graded 100.00%" in found.out
        )
        assert len(server.seen) == 48
        again = trueval(*words, "--format", "csv")
        assert len(server.seen) == 48
        assert again.out.splitlines()[0] == "query,trap,document,characters,grade,clean,call"
        assert json.loads(trueval(*words, "--format", "json", "--level", 0.8).out)["level"] == 0.8
    page = (tmp_path / "out" / "report.html").read_text()
    assert "How easily served is fooled" in page
    assert trueval(*words[:-2]).status == 2  # answers need a place
    assert trueval(*words, tmp_path / "x.qrels").status == 2
