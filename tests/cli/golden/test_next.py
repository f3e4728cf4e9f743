"""`trueval golden next`: what a person types, and what comes of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.golden.audit.sampling.test_next_labels import RUNS, answer, write_world


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return write_world(tmp_path / "world")


def words(place: Path, runs: tuple[str, ...] = RUNS[:2]) -> list[object]:
    files = [place / run for run in runs]
    return [place / "qrels.trec", *files, "--collection", place, "--out", place / "audit"]


def test_from_the_first_batch_to_the_decision(trueval: Any, place: Path) -> None:
    first = trueval("golden", "next", *words(place), "--decide", "a>b", "-m", "DCG@5", "--budget", 300, columns=200)
    assert first.status == 0, first.err
    assert first.out.startswith("a and b are not decided yet in DCG@5.\n0 labels of people, of ")
    assert "passages wait for a grade." in first.out
    grading = f"Next: trueval golden audit {place / 'qrels.trec'} --out {place / 'audit'}, then this again"
    assert first.err.splitlines()[-1] == grading
    answer(place)
    (place / "ann.jsonl").unlink()
    graded = trueval("golden", "audit", place / "qrels.trec", "--out", place / "audit", "--no-serve")
    assert "drawn where they decide, seed 0." in graded.err
    done = trueval("golden", "next", *words(place), "--people", place / "people.trec", columns=200)
    assert done.status == 0, done.err
    assert done.out.startswith("a is better than b in DCG@5; a - b is +")
    correcting = ["trueval", "golden", "correct", place / "qrels.trec", place / "a.trec", place / "b.trec"]
    line = " ".join(map(str, [*correcting, "--audit", place / "audit", "-m", "DCG@5"]))
    assert done.err.splitlines()[-1] == f"Next: {line}"
    corrected = trueval(*line.split()[1:], columns=200)
    assert corrected.status == 0, corrected.err
    assert "design poisson" in corrected.out
    # Labels that equal chances would draw say nothing of a batch that is drawn where labels decide.
    assert "--size" not in corrected.out
    assert "more labels" not in corrected.out
    planned = trueval(*line.split()[1:], "--width", "0.1")
    assert planned.status == 2
    assert "--width plans labels that are drawn with equal chances" in " ".join(planned.err.split())


@pytest.mark.parametrize("form", ["json", "csv", "markdown", "latex"])
def test_every_format_has_the_verdict(trueval: Any, place: Path, form: str) -> None:
    gate = ("--decide", "gate", "--baseline", "b", "--max-drop", 0.5, "-m", "DCG@5", "--budget", 300)
    found = trueval("golden", "next", *words(place), *gate, "--people", place / "people.trec", "--format", form)
    assert found.status == 0, found.err
    if form == "json":
        result = json.loads(found.out)
        assert (result["kind"], result["pairs"][0]["verdict"], result["pairs"][0]["limit"]) == (
            "next-labels",
            "first",
            -0.5,
        )
    else:
        assert ("first" if form == "csv" else "not worse") in found.out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "A budget of 50 labels or more must be fixed before the first label"),
        (("--budget", 300, "-m", "nDCG@10"), "nDCG@10: its norm depends on people's grades"),
        (("--budget", 300, "--decide", "a>x"), "'x' is not one of the runs a, b"),
        (("--budget", 300, "--decide", "gate"), "A gate needs a baseline"),
        (("--budget", 300, "--scale", "5-1x"), "--scale must be the least and the greatest grade"),
    ],
)
def test_misuse_is_told(trueval: Any, place: Path, options: tuple[object, ...], said: str) -> None:
    found = trueval("golden", "next", *words(place), *options, columns=200)
    assert found.status == 2
    assert said in found.err
    assert not (place / "audit").exists()


def test_after_grading_the_next_command_goes_on_with_the_decision(trueval: Any, place: Path) -> None:
    trueval("golden", "next", *words(place), "-m", "DCG@5", "--budget", 300)
    answer(place)
    items = [json.loads(line) for line in (place / "sheet.jsonl").read_text().splitlines()]
    (place / "bob.jsonl").write_text(json.dumps({**items[0], "grade": 1}) + "\n")
    place_of_audit = (place / "qrels.trec", "--out", place / "audit")
    taken = trueval("golden", "audit", *place_of_audit, "--import", place / "bob.jsonl", "--rater", "bob")
    goes_on = f"Next: trueval golden next {place / 'qrels.trec'} RUN... --out {place / 'audit'}"
    assert taken.err.splitlines()[-1] == goes_on


def test_another_judge_grades_the_batches_itself(trueval: Any, place: Path) -> None:
    (place / "judge.toml").write_text('[judge]\nmodel = "labels:people.trec"\ngrades = "0:1,1:3,2:4,3:5"\n')
    judge = ("--judge", place / "judge.toml", "--judge-scale", "1:0,2:0,3:1,4:2,5:3")
    done = trueval("golden", "next", *words(place), *judge, "-m", "DCG@5", "--budget", 300, columns=200)
    assert done.status == 0, done.err
    assert done.out.startswith("a is better than b in DCG@5; a - b is +")
    assert "labels of labels:people.trec, of " in done.out
    assert "decided is what all labels of labels:people.trec would say" in " ".join(done.out.split())
    assert (place / "audit" / "ledger.sqlite").is_file()
    wrong = trueval("golden", "next", *words(place), *judge[:2], "--people", place / "people.trec")
    assert wrong.status == 2
    assert "graded by people or by a judge" in " ".join(wrong.err.split())


def test_lists_of_judged_passages_alone_are_no_sum_where_unjudged_ones_were_drawn(trueval: Any, place: Path) -> None:
    trueval("golden", "next", *words(place), "-m", "DCG@5", "--budget", 300, "--people", place / "people.trec")
    correcting = (
        "golden",
        "correct",
        place / "qrels.trec",
        place / "a.trec",
        "--audit",
        place / "audit",
        "-m",
        "DCG@5",
    )
    plain = trueval(*correcting, columns=200)
    assert "corrected" in plain.out
    refused = trueval(*correcting, "--judged-only", columns=200)
    assert "judged_only leaves out what the judge did not grade" in " ".join((refused.out + refused.err).split())
