"""`trueval precision runs`: runs of one model in two formats, as `trueval retrieve --scoring both` writes them."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Outcome

Command = Callable[..., Outcome]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """In bfloat16 the relevant document ties with another; scored in float32 it is second, on another line."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.trec").write_text("q 0 a 1\nq 0 b 0\nr 0 a 1\n", encoding="utf-8")
    (tmp_path / "low.trec").write_text("q Q0 a 1 0.5 x\nq Q0 b 2 0.5 x\nr Q0 a 1 1 x\n", encoding="utf-8")
    (tmp_path / "high.trec").write_text("r Q0 a 1 1 x\nq Q0 b 1 0.5 x\nq Q0 a 2 0.499 x\n", encoding="utf-8")
    return tmp_path


def test_the_answer_is_that_of_an_audit(trueval: Command, files: Path) -> None:
    given = ("precision", "runs", "qrels.trec", "m:bfloat16=low.trec", "m:bfloat16:float32=high.trec", "-m", "RR")
    status, out, err = trueval(*given, "--out", "out", "--format", "json")
    assert status == 0, err
    result = json.loads(out)
    low, high = result["regimes"]
    assert (low["label"], high["label"]) == ("bfloat16_bfloat16", "bfloat16_float32")
    assert (low["measures"]["RR"]["expected"], low["measures"]["RR"]["range"]) == (0.875, 0.25)
    assert (high["measures"]["RR"]["expected"], high["measures"]["RR"]["range"]) == (0.75, 0)
    assert [each["role"] for each in result["files"]] == ["judgments", "run", "run"]
    text = " ".join(trueval(*given).out.split())
    assert text.startswith(
        "m, BF16 → BF16: the order of ties moves RR by 0.2500, between 0.7500 and 1.0000. Scoring the same outputs in "
        "float32 repairs it: no range is left."
    )
    assert (files / "out" / "precision.json").is_file()


def test_the_float32_run_is_the_reference(trueval: Command, files: Path) -> None:
    given = ("precision", "runs", "qrels.trec", "m:float32=high.trec", "m:bfloat16=low.trec", "-m", "RR")
    found = json.loads(trueval(*given, "--format", "json").out)["regimes"]
    assert found[0]["agreement"] is None
    assert found[1]["agreement"]["reference"] == "float32_float32"
    # Of q both orders of the tie have the same chance, the list of r is one document.
    assert found[1]["agreement"]["overlap"] == 1.0


@pytest.mark.parametrize(
    ("runs", "status", "message"),
    [
        (["low.trec"], 2, "measures need judgments: give --qrels QRELS"),
        (["m:bfloat16=low.trec", "m=high.trec"], 2, "must be MODEL:DTYPE or MODEL:DTYPE:SCORING"),
        ([":bfloat16=low.trec"], 2, "must be MODEL:DTYPE or MODEL:DTYPE:SCORING"),
        (["m:bfloat17=low.trec"], 2, "Did you mean 'bfloat16'"),
        (["m:float32=high.trec", "m:bfloat16=short.trec"], 1, "document 'b' of query 'q' is in one alone"),
        (["m:bfloat16=short.trec", "m:float32=high.trec"], 1, "document 'b' of query 'q' is in one alone"),
        (["m:bfloat16=low.trec", "m:bfloat16:bfloat16=high.trec"], 1, "Two runs are of m bfloat16_bfloat16"),
    ],
)
def test_what_cannot_be_audited_is_refused(
    trueval: Command, files: Path, runs: list[str], status: int, message: str
) -> None:
    (files / "short.trec").write_text("q Q0 a 1 0.5 x\nr Q0 a 1 1 x\n", encoding="utf-8")
    found = trueval("precision", "runs", "qrels.trec", *runs, "-m", "RR")
    assert (found.status, found.out) == (status, "")
    assert message in " ".join(found.err.split())


def test_runs_alone_have_their_grid(trueval: Command, files: Path) -> None:
    lines = [f"q{q} Q0 d{d} 1 {(q * 37 + d * 11) % 17 / 17:.2f} x\n" for q in range(10) for d in range(20)]
    (files / "served.trec").write_text("".join(lines), encoding="utf-8")
    (files / "judged.trec").write_text("".join(f"q{q} 0 d3 1\n" for q in range(10)), encoding="utf-8")
    status, out, err = trueval("precision", "runs", "served.trec", "--format", "json")
    assert status == 0, err
    (found,) = json.loads(out)["runs"]
    assert (found["grid"], found["spacing"], found["measures"]) == ("2 decimals", 0.01, [])
    given = ("precision", "runs", "served=served.trec", "--qrels", "judged.trec", "-m", "RR@10")
    text = " ".join(trueval(*given, "--out", "out").out.split())
    assert text.startswith("Scores of served lie on a grid: 2 decimals, 0.01 apart where the top lies")
    assert "would tie" in text
    assert "Grids of scores" in (files / "out" / "report.html").read_text(encoding="utf-8")
    for form in ("csv", "markdown", "latex"):
        assert "2 decimals" in trueval(*given, "--format", form).out


def test_runs_in_named_formats_take_their_judgments_by_name_too(trueval: Command, files: Path) -> None:
    named = ("m:bfloat16=low.trec", "m:bfloat16:float32=high.trec", "-m", "RR", "--format", "json")
    first = json.loads(trueval("precision", "runs", "qrels.trec", *named).out)
    assert json.loads(trueval("precision", "runs", "--qrels", "qrels.trec", *named).out) == first
