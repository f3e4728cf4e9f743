"""A table of runs on the command line is what a folder of the same runs is."""

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from tests.cli.conftest import Outcome

from trueval.cli.compare import MOST_IN_MEMORY

Command = Callable[..., Outcome]
SYSTEMS = MOST_IN_MEMORY + 3


@pytest.fixture
def table(files: Path) -> Path:
    """The same runs as a table, shuffled, and as files of a folder."""
    rows = [
        (f"s{system:02}", "q", document, float((system * place) % 3))
        for system in range(SYSTEMS)
        for place, document in enumerate("abcde", 1)
    ]
    frame = pl.DataFrame(rows, schema=["run", "query", "document", "score"], orient="row")
    (files / "runs").mkdir()
    for (name,), each in frame.partition_by("run", as_dict=True).items():
        each.drop("run").write_csv(files / "runs" / f"{name}.csv")
    frame.sort("document").write_parquet(files / "runs.parquet")
    return files / "runs.parquet"


@pytest.mark.parametrize("command", [["evaluate"], ["compare", "--baseline", "s03"], ["check"]])
def test_a_table_is_what_a_folder_is(command: list[str], trueval: Command, files: Path, table: Path) -> None:
    name, *options = command
    form = [] if name == "check" else ["--format", "csv"]
    of_table = trueval(name, files / "qrels.trec", table, "-m", "RR nDCG@3", *options, *form)
    of_folder = trueval(name, files / "qrels.trec", files / "runs", "-m", "RR nDCG@3", *options, *form)
    assert of_table.status == of_folder.status
    assert of_table.out.count("s07") > 0 or name == "check"
    assert of_table.out == of_folder.out


def test_the_files_of_a_result_name_the_table_once(trueval: Command, files: Path, table: Path) -> None:
    assert trueval("evaluate", files / "qrels.trec", table, "-m", "RR", "--out", files / "out").status == 0
    read = json.loads((files / "out" / "details.json").read_text(encoding="utf-8"))["files"]
    assert [(each["role"], each["path"]) for each in read] == [("judgments", "qrels.trec"), ("run", "runs.parquet")]
    assert read[1]["bytes"] == table.stat().st_size


def test_a_run_of_a_table_is_named_by_its_text(trueval: Command, files: Path, table: Path) -> None:
    one = trueval("evaluate", files / "qrels.trec", f"{table}::s04", "-m", "RR", "--format", "csv")
    assert one.status == 0
    assert "s04" in one.out
    wrong = trueval("evaluate", files / "qrels.trec", f"{table}::s99", "-m", "RR")
    assert wrong.status == 1
    assert "the table has no run 's99'" in wrong.err
