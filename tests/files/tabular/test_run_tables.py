"""Tables of many runs: each run is what its own file is, and a bad row is named by its place in the table."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
import pytest

from trueval.errors import InputError
from trueval.files import name_files
from trueval.files.source.fingerprints import record_files
from trueval.files.tabular import run_tables
from trueval.run import Run

TIED: Final = np.random.default_rng(3).integers(0, 4, (7, 5, 9)).astype(float)
ROWS: Final = [
    (f"org/{run}", f"q{query}", f"d{document}", float(TIED[run, query, document]))
    for run in range(7)
    for query in range(5)
    for document in range(9)
]
TABLE: Final = pl.DataFrame(ROWS, schema=["run", "query", "document", "score"], orient="row")


def write(frame: pl.DataFrame, path: Path) -> Path:
    if path.suffix == ".parquet":
        frame.write_parquet(path, row_group_size=31)
    elif path.suffix == ".arrow":
        frame.write_ipc(path, record_batch_size=17)
    else:
        frame.write_csv(path, separator="\t" if path.suffix == ".tsv" else ",")
    return path


FORMS: Final = ["runs.parquet", "runs.arrow", "runs.csv", "runs.tsv"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("sorted_by_run", [True, False])
def test_each_run_is_what_its_rows_alone_are(
    form: str, sorted_by_run: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_tables, "PART", 200)  # so that a text has many parts
    table = TABLE if sorted_by_run else TABLE.sample(fraction=1, shuffle=True, seed=5)
    path = write(table, tmp_path / form)
    runs = {run.name: run for run in Run.each(path)}
    assert list(runs) == table["run"].unique(maintain_order=True).to_list()
    for name, run in runs.items():
        alone = Run.from_frame(table.filter(pl.col("run") == name).drop("run"))
        assert run.frame.equals(alone.frame)
        assert Run.read(f"{path}::{name}").frame.equals(alone.frame)
    assert [run.name for run in Run.of_several(path)] == list(runs)
    assert [run.name for run in Run.each(table)] == list(runs)


def test_memory_holds_parts_of_a_table_of_many_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, seen = write(TABLE, tmp_path / "runs.csv"), list[int]()
    own = run_tables._parse
    monkeypatch.setattr(run_tables, "PART", 500)
    monkeypatch.setattr(
        run_tables, "_parse", lambda content, shift: (seen.append(len(content.data)), own(content, shift))[1]
    )
    assert len(list(Run.each(path))) == 7
    assert len(seen) > 5
    assert max(seen) < 600


def test_one_run_where_several_are_is_refused_with_the_cure(tmp_path: Path) -> None:
    path = write(TABLE, tmp_path / "runs.parquet")
    with pytest.raises(InputError, match=r"runs\.parquet: the rows are of 7 runs \(column 'run'\).*FILE::org/0.*each"):
        Run.read(path)
    with pytest.raises(InputError, match=r"has no run 'org/9' in its column 'run'. It has 7 others. Did you mean org/"):
        Run.read(f"{path}::org/9")
    with pytest.raises(InputError, match="the rows are of 7 runs"):
        Run.from_frame(TABLE)


def test_a_constant_column_is_an_ordinary_run(tmp_path: Path) -> None:
    path = write(TABLE.filter(pl.col("run") == "org/0"), tmp_path / "bm25.parquet")
    assert [run.name for run in Run.each(path)] == ["bm25"]
    assert Run.read(path).name == "bm25"


def test_a_file_without_runs_has_no_run_of_a_name(tmp_path: Path) -> None:
    path = write(TABLE.filter(pl.col("run") == "org/0").drop("run"), tmp_path / "bm25.parquet")
    with pytest.raises(InputError, match="the file names no runs: it has no column called run"):
        Run.read(f"{path}::org/0")


BAD: Final = [
    (pl.DataFrame([(None, "q", "z", 1.0)], schema=TABLE.schema, orient="row"), "the run is empty"),
    (pl.DataFrame([("org/3", "q", "z", float("nan"))], schema=TABLE.schema, orient="row"), "the score of document 'z'"),
    (pl.DataFrame([("org/3", "q0", "d1", 1.0)], schema=TABLE.schema, orient="row"), "twice"),
    (pl.DataFrame([("org/3", "", "d1", 1.0)], schema=TABLE.schema, orient="row"), "the query_id is empty"),
]


@pytest.mark.parametrize(("row", "said"), BAD)
@pytest.mark.parametrize("form", FORMS)
def test_a_bad_row_is_named_by_its_place_in_the_table(
    form: str, row: pl.DataFrame, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_tables, "PART", 300)
    path = write(pl.concat([TABLE[:200], row, TABLE[200:]]), tmp_path / form)
    place = "runs.parquet: row 201" if form == "runs.parquet" else "runs.arrow: row 201"
    place = f"{form}:202" if form.endswith("sv") else place
    with pytest.raises(InputError, match=said) as caught:
        list(Run.each(path))
    assert place in str(caught.value)


def test_a_line_of_a_later_part_is_named_by_its_own_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_tables, "PART", 300)
    path = write(TABLE, tmp_path / "runs.csv")
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:250], "org/1,q0\n", *lines[250:]]))
    with pytest.raises(InputError, match=r"runs\.csv:251: 2 fields. The header line has 4"):
        list(Run.each(path))


def test_quoted_fields_with_line_feeds_stay_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_tables, "PART", 8)
    path = tmp_path / "runs.csv"
    path.write_text('# two runs\nrun,query,document,score\n"a\nb",q,x,1\n"a\nb",q,y,2\nc,q,"x\n\ny",1\nc,q,z,\n')
    assert Run.read(f"{path}::a\nb").frame["doc_id"].to_list() == ["x", "y"]
    with pytest.raises(InputError, match=r"runs\.csv:10: the score is missing|runs\.csv:10: the score is ''"):
        Run.read(f"{path}::c")


@pytest.mark.parametrize("form", ["runs.parquet", "runs.arrow"])
def test_damaged_tables_are_refused(form: str, tmp_path: Path) -> None:
    path = write(TABLE, tmp_path / form)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(InputError, match="is truncated or damaged"):
        list(Run.each(path))


def test_too_many_names_are_no_names_of_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_tables, "MOST_RUNS", 3)
    with pytest.raises(InputError, match="the column 'run' has more than 3 values"):
        list(Run.each(write(TABLE, tmp_path / "runs.parquet")))


def test_a_changed_table_is_read_again_and_its_bytes_are_recorded(tmp_path: Path) -> None:
    path = write(TABLE, tmp_path / "runs.parquet")
    assert Run.read(f"{path}::org/1").frame.height == 45
    write(TABLE.filter(pl.col("query") != "q0"), path)
    with record_files() as seen:
        assert Run.read(f"{path}::org/1").frame.height == 36
    found = seen.get(str(path))
    assert found is not None
    assert found.bytes == path.stat().st_size


def test_names_of_runs_of_tables(tmp_path: Path) -> None:
    path = write(TABLE, tmp_path / "runs.parquet")
    assert [file.name for file in name_files([f"{path}::org/1", f"new={path}::org/2", "bm25.trec"])] == [
        "org/1",
        "new",
        "bm25",
    ]
