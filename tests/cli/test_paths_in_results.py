"""Results are handed on: they say nothing of the folders of the machine that made them."""

from pathlib import Path

import pytest
from tests.cli.test_report import Command


def test_no_result_holds_an_absolute_path(trueval: Command, files: Path) -> None:
    out, later = files / "out", files / "later"
    named = (f"--out={out}", files / "qrels.trec", files / "tied.trec", f"new={files / 'clear.trec'}")
    assert trueval("evaluate", *named, "-m", "RR").status == 0
    assert trueval("compare", *named, "-m", "RR").status == 0
    gate = ("--baseline", f"{out}#new", "--max-drop", "RR=0.9", "--out", later)
    assert trueval("evaluate", files / "qrels.trec", files / "tied.trec", "-m", "RR", *gate).status in (0, 1)
    written = [path for folder in (out, later) for path in folder.iterdir() if path.is_file()]
    assert {path.name for path in written} >= {"results.json", "details.json", "comparison.json", "results.md"}
    assert [path.name for path in written if str(files).encode() in path.read_bytes()] == []


def test_a_bad_date_is_refused_before_the_work(trueval: Command, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "tomorrow")
    status, out, err = trueval("evaluate", files / "qrels.trec", files / "tied.trec", "--out", files / "out")
    assert (status, out) == (1, "")
    assert err.startswith("trueval: SOURCE_DATE_EPOCH must be a date")
    assert not (files / "out").exists()
