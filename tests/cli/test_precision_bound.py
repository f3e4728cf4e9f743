"""`trueval precision bound`: the answer, the files that it writes, and what it refuses."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Outcome

Command = Callable[..., Outcome]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.trec").write_text("q 0 a 1\nq 0 b 0\n", encoding="utf-8")
    (tmp_path / "one.trec").write_text("q Q0 a 1 0.75 x\nq Q0 b 2 0.5 x\n", encoding="utf-8")
    (tmp_path / "two.trec").write_text("q Q0 b 1 0.75 x\nq Q0 a 2 0.25 x\n", encoding="utf-8")
    return tmp_path


def test_the_answer_of_one_run(trueval: Command, files: Path) -> None:
    given = ("precision", "bound", "qrels.trec", "one.trec", "-m", "RR")
    text = " ".join(trueval(*given, "--within", "0.125").out.split())
    assert text.startswith(
        "If every score moves by at most 0.125, RR of one stays between 0.5000 and 1.0000, now 1.0000; no query moves "
        "by more than 0.5000."
    )
    text = " ".join(trueval(*given, "--within", "ulp(bfloat16)").out.split())
    assert text.startswith("If every score moves by at most 1 ulp(bfloat16), RR of one stays 1.0000:")


def test_the_answer_of_two_runs(trueval: Command, files: Path) -> None:
    given = ("precision", "bound", "qrels.trec", "one.trec", "two.trec", "-m", "RR", "--within", "0.1")
    status, out, err = trueval(*given, "--out", "out", "--format", "json")
    assert status == 0, err
    result = json.loads(out)
    assert (result["within"], result["pairs"][0]["margin"], result["pairs"][0]["turns"]) == ("0.1", 0.125, False)
    assert [each["role"] for each in result["files"]] == ["judgments", "run", "run"]
    text = " ".join(trueval(*given).out.split())
    assert text.startswith(
        "one is ahead of two in RR by +0.5000. The lead holds up to 0.125, so nothing within 0.1 turns"
    )
    page = (files / "out" / "report.html").read_text(encoding="utf-8")
    assert "Bounds of moved scores" in page


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("--within", "half"), 2, "A width must be"),
        (("--within", "ulp(bfloat17)"), 2, "Did you mean 'bfloat16'"),
        (("-m", "AP(norm='hits')@5"), 2, "No bound of AP"),
    ],
)
def test_what_cannot_be_bounded_is_refused(
    trueval: Command, files: Path, arguments: tuple[str, ...], status: int, message: str
) -> None:
    found = trueval("precision", "bound", "qrels.trec", "one.trec", *arguments)
    assert (found.status, found.out) == (status, "")
    assert message in " ".join(found.err.split())


def test_what_looks_wrong_is_said_once(trueval: Command, files: Path) -> None:
    (files / "rubric.trec").write_text("q 0 a 5\nq 0 b 1\n", encoding="utf-8")
    found = trueval("precision", "bound", "rubric.trec", "one.trec", "-m", "RR nDCG")
    assert found.status == 0, found.err
    assert found.err.count("RR takes every judged document for relevant") == 1
