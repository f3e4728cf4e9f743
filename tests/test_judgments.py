"""Judgments from dicts and arrays, and their grades mapped."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import polars as pl
import pytest

from trueval.errors import InputError, PolicyError
from trueval.judgments import Judgments, grade_map

NESTED = {"q1": {"d1": 2, "d2": 0}, "q2": {"d1": -1}}
ROWS = [("q1", "d1", 2.0), ("q1", "d2", 0.0), ("q2", "d1", -1.0)]


class QrelsLike:
    qrels = NESTED


class EvaluatorLike:
    """As sentence-transformers' InformationRetrievalEvaluator."""

    relevant_docs = {"q1": {"d2", "d1"}}  # noqa: RUF012


def test_dicts_and_objects() -> None:
    assert Judgments.from_dict(NESTED).frame.rows() == ROWS
    assert Judgments.from_dict(QrelsLike()).frame.rows() == ROWS
    assert Judgments.from_dict(EvaluatorLike()).frame.rows() == [("q1", "d1", 1.0), ("q1", "d2", 1.0)]
    assert Judgments.from_dict({"q": {"d": np.int32(3), "e": 0.5, "f": True}}).frame["grade"].to_list() == [
        3.0,
        0.5,
        1.0,
    ]


@pytest.mark.parametrize("grade", [float("nan"), float("inf"), -float("inf")])
def test_grades_must_be_finite(grade: float) -> None:
    with pytest.raises(InputError, match="finite number"):
        Judgments.from_dict({"q": {"d": grade}})


def test_arrays_leave_out_nan() -> None:
    judgments = Judgments.from_arrays([[1, np.nan], [np.nan, 2]], ["a", "b"], ["x", "y"])
    assert judgments.frame.rows() == [("x", "a", 1.0), ("y", "b", 2.0)]
    with pytest.raises(InputError, match="no rows"):
        Judgments.from_arrays([[np.nan]])
    with pytest.raises(InputError, match="finite"):
        Judgments.from_arrays([[np.inf]])


def test_map_grades() -> None:
    judgments = Judgments.from_dict(NESTED)
    mapped = judgments.map_grades({0: 1, 2: 4})
    assert mapped.frame["grade"].to_list() == [4.0, 1.0, -1.0]
    assert judgments.frame["grade"].to_list() == [2.0, 0.0, -1.0]
    assert mapped.offsets.tolist() == judgments.offsets.tolist()
    assert judgments.map_grades({0: 2, 2: 0, -1: 5}).frame["grade"].to_list() == [0.0, 2.0, 5.0]


def test_map_grades_names_a_grade_without_a_mapping() -> None:
    judgments = Judgments.read(io.BytesIO(b"q 0 d 1\nq 0 e 10\n"))
    with pytest.raises(InputError, match=r"the grade 10 \(document 'e' in query 'q'\) has no mapping.*Got: 1:3"):
        judgments.map_grades({1: 3})


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0:1,1:3,2:4,3:5", {0: 1, 1: 3, 2: 4, 3: 5}), (" 0 : 1 , 1.5:2 ", {0: 1, 1.5: 2}), ("-1:0", {-1: 0})],
)
def test_grade_map(text: str, expected: dict[float, float]) -> None:
    assert grade_map(text) == expected


@pytest.mark.parametrize("text", ["", "1", "1:", ":1", "1:2:3", "a:1", "1:2,,3:4", "1:2,1:3", "0:nan", "inf:1", "0=1"])
def test_grade_map_refuses(text: str) -> None:
    with pytest.raises(PolicyError, match="old:new pairs"):
        grade_map(text)


def test_facets_need_columns() -> None:
    arguments: dict[str, Any] = {"facets": True, "format": "json"}
    with pytest.raises(PolicyError, match="facets=True needs"):
        Judgments.read(io.BytesIO(b'{"q": {"d": 1}}'), **arguments)


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan")])
def test_grades_are_never_infinite_nor_nan(number: float) -> None:
    """By whichever way they come: gains of them are infinite, and a gate passes DCG = inf."""
    frame = pl.DataFrame({"qid": ["q"], "docid": ["d"], "grade": [number]})
    for call in (
        lambda: Judgments.from_dict({"q": {"d": number}}),
        lambda: Judgments.from_frame(frame),
        lambda: Judgments.of([("q", "d", number)]),
        lambda: Judgments.read(io.BytesIO(f"q 0 d {number}\n".encode())),
    ):
        with pytest.raises(InputError, match="finite number"):
            call()
    for mapping in ({1: number}, {1: 1, number: 2}):
        with pytest.raises(PolicyError, match="finite"):
            Judgments.from_dict({"q": {"d": 1}}).map_grades(mapping)
    with pytest.raises(PolicyError, match="old:new"):
        grade_map(f"1:{number}")
