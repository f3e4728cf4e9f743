"""Tables that Python shows."""

import sys

import polars as pl
import pytest

from trueval.errors import MissingExtraError
from trueval.report.console_tables import notebook, plain
from trueval.report.pandas_frames import to_pandas


def test_columns_of_a_plain_table_are_in_line() -> None:
    shown = plain(("measure", "expected", "queries"), [("nDCG@10", "0.5", "1,000"), ("AP", "–", "3")])
    assert shown.splitlines() == [
        "measure  expected  queries",
        "nDCG@10       0.5    1,000",
        "AP              –        3",
    ]


def test_a_table_without_rows_is_its_headings() -> None:
    assert plain(("measure", "expected"), []) == "measure  expected"


def test_everything_in_a_notebook_is_escaped() -> None:
    shown = notebook(("<i>", "&"), [("<script>alert(1)</script>", '"')], caption="<b>")
    assert "<script" not in shown
    assert "<i>" not in shown
    assert "<b>" not in shown
    assert "&lt;script&gt;" in shown
    assert shown.count("<tr>") == 2


def test_pandas_gets_the_columns_and_nan_for_what_is_not_available() -> None:
    pytest.importorskip("pandas")
    frame = to_pandas(pl.DataFrame({"name": ["a", None], "value": [0.5, None], "count": [1, 2], "fine": [True, False]}))
    assert list(frame.columns) == ["name", "value", "count", "fine"]
    assert frame["value"].isna().tolist() == [False, True]
    assert frame["value"].dtype == "float64"
    assert frame["count"].tolist() == [1, 2]
    assert frame["fine"].tolist() == [True, False]


def test_without_pandas_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match="pip install pandas"):
        to_pandas(pl.DataFrame({"a": [1]}))
