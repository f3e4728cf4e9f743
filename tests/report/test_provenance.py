import sys
from pathlib import Path

import pytest

from trueval.errors import InputError
from trueval.report.provenance import date, provenance, strip_folders

QRELS = "q 0 a 1\nq 0 b 0\n"


@pytest.mark.parametrize("epoch", ["x", "1.5", "9" * 30, "9" * 5000, "-" + "9" * 18])
def test_a_bad_date_in_the_environment_is_an_error_of_ours(epoch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    with pytest.raises(InputError, match="SOURCE_DATE_EPOCH must be a date in whole seconds since 1970"):
        date()


def test_relative_paths_are_recorded_as_they_were_given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a").mkdir()
    Path("a/q.trec").write_text(QRELS, encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["trueval", "evaluate", "a/q.trec", f"{tmp_path}/a/q.trec", "--min", "AP=.5"])
    found = provenance([("judgments", "a/q.trec"), ("run", f"{tmp_path}/a/q.trec"), ("run", "-")])
    assert [file["path"] for file in found["files"]] == ["a/q.trec", "q.trec", "-"]
    assert found["command"] == "trueval evaluate a/q.trec q.trec --min AP=.5"
    assert strip_folders("/") == "/"
