"""The values of queries come back from queries.parquet, whatever their number."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trueval as tv
from trueval.errors import InputError
from trueval.evaluation import query_values
from trueval.evaluation.query_values import (
    QUERIES,
    SCHEMA,
    QueryRows,
    json_numbers,
    read_queries,
    with_queries,
    write_queries,
)
from trueval.evaluation.scores import STATISTICS, Scores, results
from trueval.evaluation.views.kind import EVALUATE
from trueval.report import formats
from trueval.report.formats import to_json

GRADES = {f"q{number}": {"a": 1, "b": number % 2} for number in range(7)}
LISTS = {query: {"a": 1.0, "b": 1.0 + (int(query[1]) % 3), "c": 1 / 3} for query in GRADES}


def scores(name: str, **choices: str | None) -> Scores:
    run, judgments = tv.Run.from_dict(LISTS, name=name), tv.Judgments.from_dict(GRADES)
    return tv.evaluate(run, judgments, "nDCG@10 RR IPrec11", **choices)


def test_every_run_query_and_measure_has_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_values, "ROWS", 3)  # blocks of 3, 3 and 1 queries
    several = [scores("one"), scores("two\n")]
    write_queries(several, tmp_path / QUERIES)
    table = pl.read_parquet(tmp_path / QUERIES)
    assert table.schema == SCHEMA
    for held in several:
        mine = table.filter(pl.col("run") == held.name).drop("run")
        same = ["query", "measure"]
        assert mine.sort(same).equals(held.to_polars().sort(same))
        assert mine["measure"].unique(maintain_order=True).to_list() == list(held)
        assert read_queries(tmp_path / QUERIES, held.name).equals(mine)


def test_the_same_values_are_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_queries([scores("run")], tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_runs_without_queries_make_a_file(tmp_path: Path) -> None:
    write_queries([scores("run").at(np.arange(0))], tmp_path / QUERIES)
    assert read_queries(tmp_path / QUERIES, "run").is_empty()


def test_what_are_not_the_values_of_queries_is_refused(tmp_path: Path) -> None:
    path = tmp_path / QUERIES
    path.write_bytes(b"PAR1" + b"\x00" * 100 + b"PAR1")
    with pytest.raises(InputError, match=r"queries\.parquet: the parquet file is truncated or damaged"):
        read_queries(path, "run")
    for wrong in ({"expected": ["x"]}, {"sd": [[0.1]]}):
        right = {name: ["run"] if kind == pl.String else [0.5] for name, kind in SCHEMA.items()}
        pl.DataFrame({**right, **wrong}).write_parquet(path)
        with pytest.raises(InputError, match=r"queries\.parquet: not a file of per-query values"):
            read_queries(path, "run")
    pl.DataFrame({"run": ["run"]}).write_parquet(path)
    with pytest.raises(InputError, match=r"queries\.parquet: not a file of per-query values"):
        read_queries(path, "run")


@pytest.mark.parametrize("form", ["json", "csv", "trec"])
@pytest.mark.parametrize("convention", [None, "trec_eval"])
def test_what_is_printed_in_parts_is_what_is_printed_at_once(
    form: str, convention: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query_values, "ROWS_AS_DICTS", 3)
    monkeypatch.setattr(formats, "BATCH", 4)
    several = [scores("one", convention=convention), scores("=two\n")]
    whole = EVALUATE.write(results(several, per_query=True), form)
    parts = list(EVALUATE.write_parts(with_queries(results(several), several), form))
    assert "".join(parts) == whole
    assert len(parts) > 5
    if form == "json":
        assert whole == json.dumps(results(several, per_query=True), indent=1, ensure_ascii=False) + "\n"


@given(st.lists(st.floats(allow_infinity=False)))
def test_numbers_of_json_are_as_json_dumps_writes_them(values: list[float]) -> None:
    expected = ["null" if math.isnan(value) else json.dumps(value) for value in values]
    assert json_numbers(np.array(values)).to_list() == expected


@pytest.mark.parametrize("value", [1e-5, 1e-4, 9.999999999999999e-5, 1e15, 9999999999999998.0, 1e16, 5e-324, -0.0, 1.0])
def test_numbers_of_json_have_an_exponent_where_python_writes_one(value: float) -> None:
    assert json_numbers(np.array([value, -value])).to_list() == [json.dumps(value), json.dumps(-value)]


def test_json_has_no_infinity() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        json_numbers(np.array([math.inf]))


def test_ids_of_any_letters_are_texts_of_json() -> None:
    found = replace(scores("run").at(np.arange(3)), query_ids=('a "quoted"\n\\id', "é\u2028,", ""))
    assert json.loads(to_json({"rows": QueryRows(found)})) == {"rows": list(QueryRows(found))}
    assert json.loads(to_json({"rows": QueryRows(found.at(np.arange(0)))})) == {"rows": []}


def test_some_queries_keep_their_values() -> None:
    made = scores("run")
    found = made.at(np.array([1, 4]))
    assert found.query_ids == (made.query_ids[1], made.query_ids[4])
    for name in STATISTICS:
        np.testing.assert_array_equal(getattr(found, name), getattr(made, name)[[1, 4]])
