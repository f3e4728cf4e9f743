"""`trueval budget`: repeats, judges and prices of the command line, in every format, and what it refuses."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import Outcome

Command = Callable[..., Outcome]
QUERIES, DOCUMENTS = 12, 8
BOOK = 'date = "2026-11"\ncurrency = "USD"\nsource = "ours"\n\n[evaluation]\nlabel = 0.5\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Judgments a.qrels and b.qrels, runs one and two with a repeat each, and a price book."""
    rng = np.random.default_rng(0)
    grades = rng.choice(4, size=(QUERIES, DOCUMENTS))
    for name in "ab":
        labels = np.clip(grades + rng.choice([-1, 0, 1], size=grades.shape), 0, 3)
        labels[0, 0] = 3
        lines = (f"q{at} 0 d{to} {labels[at, to]}\n" for at, to in np.ndindex(labels.shape))
        (tmp_path / f"{name}.qrels").write_text("".join(lines), encoding="utf-8")
    for name, worth in (("one", 1.0), ("two", 0.2)):
        base = worth * grades + rng.normal(size=grades.shape)
        for repeat in ("", "-2"):
            scores = (base + 0.3 * rng.normal(size=grades.shape)).round(1)
            lines = (f"q{at} Q0 d{to} 1 {scores[at, to]} x\n" for at, to in np.ndindex(scores.shape))
            (tmp_path / f"{name}{repeat}.trec").write_text("".join(lines), encoding="utf-8")
    (tmp_path / "prices.toml").write_text(BOOK, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


EVERYTHING = (
    *("budget", "a.qrels", "one.trec", "two.trec", "-m", "nDCG@5", "--judges", "b.qrels"),
    *("--repeats", "one=one-2.trec", "--repeats", "two=two-2.trec"),
)


def test_the_answer_names_what_the_difference_varies_by_and_what_to_buy(trueval: Command, folder: Path) -> None:
    status, out, err = trueval(*EVERYTHING, "--prices", "label=0.5,question=1", "--half-width", "0.1")
    assert status == 0, err
    said = " ".join(out.split())
    assert said.startswith("nDCG@5: one - two is +")
    assert "Of the variance of a difference of tie-broken values: questions " in said
    assert "about other questions like these, other repeats and other judges like these." in said
    assert "A half width of 0.1 takes " in said
    assert "Scores in float32 " in said
    assert "With 2 repeats and 2 judges, what they vary by has a wide interval" in err


def test_every_format_has_the_same_numbers(trueval: Command, folder: Path) -> None:
    status, out, err = trueval(*EVERYTHING, "--prices", "prices.toml", "--format", "json", "--out", "out")
    assert status == 0, err
    found = json.loads(out)
    assert (found["kind"], found["runs"], found["repeats"]) == ("budget", ["one", "two"], [2, 2])
    assert found["judges"] == ["a", "b"]
    assert found["choices"]["prices"] == {"question": 0.0, "label": 0.5, "answer": 0.0, "currency": "USD"}
    assert found["choices"]["labels_per_question"] == DOCUMENTS
    (pair,) = found["measures"][0]["differences"]
    table = list(csv.DictReader((folder / "out" / "budget.csv").read_text(encoding="utf-8").splitlines()))
    mine = [row for row in table if row["minus"] == "two"]
    assert [row["source"] for row in mine] == [each["source"] for each in pair["sources"]]
    assert [float(row["variance"]) for row in mine] == [each["variance"] for each in pair["sources"]]
    for form in ("markdown", "latex", "csv"):
        assert trueval(*EVERYTHING, "--format", form).status == 0


@pytest.mark.slow  # the libraries of figures
def test_the_page_shows_the_answer_and_the_model(trueval: Command, folder: Path) -> None:
    assert trueval(*EVERYTHING, "--out", "out").status == 0
    page = folder / "page.html"
    assert trueval("report", "out", "--out", page).status == 0
    text = page.read_text(encoding="utf-8")
    assert "Budget of doubt" in text
    assert "Variances of the model" in text


def test_order_and_baseline(trueval: Command, folder: Path) -> None:
    out = json.loads(trueval(*EVERYTHING, "--baseline", "one.trec", "--format", "json").out)
    (pair,) = out["measures"][0]["differences"]
    assert (pair["run"], pair["minus"]) == ("two", "one")


@pytest.mark.parametrize(
    ("options", "status", "words"),
    [
        (("--repeats", "one=one.trec"), 2, "one.trec is a repeat of one that is the same file as a run of one"),
        (("--repeats", "one=one-2.trec,one-2.trec"), 2, "is the same file as a run of one"),
        (("--repeats", "one=./two.trec"), 2, "is the same file as a run of two"),
        (("--repeats", "oen=one-2.trec"), 2, "write the name of a run, =, and the file of its repeat"),
        (("--repeats", "one-2.trec"), 2, "write the name of a run, =, and the file of its repeat"),
        (("--judges", "a.qrels"), 2, "a.qrels is given twice"),
        (("--judges", "./a.qrels"), 2, "a.qrels is given twice"),
        (("--judges", "b.qrels", "--audit", "."), 2, "--audit is of one judge, and --judges names others"),
        (("--judges", "binary.qrels"), 1, "binary.qrels: grades go up to 1, and those of a.qrels up to 3"),
        (("--prices", "lable=1"), 2, "--prices takes a price book, or question, label and answer"),
        (("--prices", "label=free"), 2, "Got 'label=free'"),
        (("--prices", "label=-1"), 2, "The price of one label must be a number >= 0"),
        (("--prices", "label=0,answer=0"), 2, "Nothing has a price, so that nothing is the cheapest"),
        (("--prices", "empty.toml"), 1, "empty.toml: the book has no prices of evaluation. Add a table [evaluation]"),
        (("--prices", "none.toml"), 1, "none.toml: cannot be read"),
        (("--half-width", "0"), 2, "half_width must be a number > 0"),
        (("--level", "95"), 2, "level must be between 0.5 and 1"),
        (
            ("--shared-repeats", "--repeats", "one=one-2.trec"),
            1,
            "must be as many for each run. Got 2 of one, 1 of two",
        ),
    ],
)
def test_bad_input_is_one_sentence(
    trueval: Command, folder: Path, options: tuple[str, ...], status: int, words: str
) -> None:
    labels = (folder / "a.qrels").read_text(encoding="utf-8").replace(" 2\n", " 1\n").replace(" 3\n", " 1\n")
    (folder / "binary.qrels").write_text(labels, encoding="utf-8")
    (folder / "empty.toml").write_text(BOOK.partition("[")[0], encoding="utf-8")
    found = trueval("budget", "a.qrels", "one.trec", "two.trec", "-m", "P@5", *options, columns=200)
    assert found.status == status, found
    assert words in " ".join(found.err.replace("│", " ").split())
    assert not found.out


def test_one_run_is_refused(trueval: Command, folder: Path) -> None:
    found = trueval("budget", "a.qrels", "one.trec", columns=200)
    assert found.status == 2
    assert "needs at least two runs" in found.err
