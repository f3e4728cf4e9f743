"""`trueval frontier`: every form of output, options, files and errors."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.tradeoff.sweeps import made_sweep
from tests.tradeoff.swept import write_sweep


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sweep(tmp_path_factory.mktemp("sweep"), made_sweep(indexes=("flat",)), queries=25, timed=6)


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "trueval", "frontier", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_every_form_is_of_the_same_result(swept: Path) -> None:
    common = (swept, "--resamples", "100", "--max-latency-ms", "100")
    told = run(*common, "--format", "json")
    assert told.returncode == 0, told.stderr
    result = json.loads(told.stdout)
    assert result["kind"] == "frontier"
    rows = list(csv.DictReader(io.StringIO(run(*common, "--format", "csv").stdout)))
    assert [row["name"] for row in rows] == [point["name"] for point in result["points"]]
    assert [float(row["probability"]) for row in rows] == [point["probability"] for point in result["points"]]
    table = run(*common).stdout
    flat = " ".join(table.split())
    for rule in result["rules"]:
        assert rule["sentence"] in flat
    assert result["advice"]["sentence"] in flat
    markdown = run(*common, "--format", "markdown").stdout
    there = [point["name"] for point in result["points"] if point["on_frontier"]]
    assert all(f"| {name} " in markdown for name in there)
    assert all(name in table for name in there)
    assert "\\toprule" in run(*common, "--format", "latex").stdout


def test_out_keeps_the_result(swept: Path, tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    told = run(swept, "--resamples", "50", "--min-quality", "0.7", "--out", tmp_path)
    assert told.returncode == 0, told.stderr
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
def test_misuse_is_one_line(swept: Path, options: tuple[str, ...], status: int, said: str) -> None:
    told = run(swept, *options)
    assert (told.returncode, told.stdout) == (status, "")
    assert said in told.stderr
    assert len(told.stderr.splitlines()) == 1


def test_a_folder_without_a_sweep_is_bad_input(tmp_path: Path) -> None:
    told = run(tmp_path)
    assert told.returncode == 1
    assert "no sweep there" in told.stderr
    assert len(told.stderr.splitlines()) == 1
