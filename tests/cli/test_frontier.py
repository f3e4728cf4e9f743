"""`trueval frontier`: every form of output, options, files and errors."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from tests.tradeoff.sweeps import made_sweep
from tests.tradeoff.swept import write_sweep


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sweep(tmp_path_factory.mktemp("sweep"), made_sweep(indexes=("flat",)), queries=25, timed=6)


def test_every_form_is_of_the_same_result(trueval: Any, swept: Path) -> None:
    limits = ("--max-latency-ms", "100", "--max-cost", "10", "--min-quality", "0.5")
    common = ("frontier", swept, "--resamples", "100", *limits)
    told = trueval(*common, "--format", "json")
    assert told.status == 0, told.err
    result = json.loads(told.out)
    assert result["kind"] == "frontier"
    rows = list(csv.DictReader(io.StringIO(trueval(*common, "--format", "csv").out)))
    assert [row["name"] for row in rows] == [point["name"] for point in result["points"]]
    assert [float(row["probability"]) for row in rows] == [point["probability"] for point in result["points"]]
    table = trueval(*common).out
    flat = " ".join(table.split())
    (first,) = [rule for rule in result["rules"] if rule["rule"] == "all limits"]
    others = [rule for rule in result["rules"] if rule is not first]
    answer = result["points"][first["answer"]]
    told = "latency at most 100 ms and cost at most 10 and RA-nWG@K at least 0.5"
    assert flat.startswith(f"Ship {answer['name']}, the best quality with {told}: ")
    assert f"{answer['latency']['p50']['value'] * 1000:.2f} ms at p50" in flat
    assert all(rule["sentence"] in flat for rule in others)
    assert f"their order loses {result['advice']['ordering_headroom']['value']:.4f}." in flat
    markdown = trueval(*common, "--format", "markdown").out
    there = [point["name"] for point in result["points"] if point["on_frontier"]]
    assert all(f"| {name} " in markdown for name in there)
    assert all(name in table for name in there)
    assert "\\toprule" in trueval(*common, "--format", "latex").out


def test_out_keeps_the_result(trueval: Any, swept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trueval.cli.output._pages", lambda *_, **__: lambda *_: ())  # pages have tests of their own
    told = trueval("frontier", swept, "--resamples", "50", "--min-quality", "0.7", "--out", tmp_path)
    assert told.status == 0, told.err
    result = json.loads((tmp_path / "frontier.json").read_text(encoding="utf-8"))
    assert [rule["rule"] for rule in result["rules"]].count("quality-bound") == 2
    assert (tmp_path / "frontier.csv").exists()


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        (("--rule", "paretto"), 2, "Did you mean pareto"),
        (("--min-quality", "nDCG@10=.5"), 2, "not a measure of this sweep"),
        (("--percentile", "p90"), 2, "percentile must be"),
    ],
)
def test_misuse_is_one_line(trueval: Any, swept: Path, options: tuple[str, ...], status: int, said: str) -> None:
    told = trueval("frontier", swept, *options)
    assert (told.status, told.out) == (status, "")
    assert said in told.err
    assert len(told.err.splitlines()) == 1


def test_a_folder_without_a_sweep_is_bad_input(trueval: Any, tmp_path: Path) -> None:
    told = trueval("frontier", tmp_path)
    assert told.status == 1
    assert "no sweep there" in told.err
    assert len(told.err.splitlines()) == 1
