"""Arrays, tensors and lists: real numbers are read as they are meant, and all else is refused by an error of ours."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pytest

from trueval import Judgments, Run, evaluate_arrays
from trueval.errors import InputError

ONE, TWO, FAR = 1700000000000000001, 1700000000000000002, 1700000000000001000


ARRAYS = {
    "lists": [[ONE, TWO]],
    "mixed lists": [[ONE, TWO, 0.5]],
    "integers": np.array([[ONE, TWO]]),
    "unsigned": np.array([[2**64 - 1, 2**64 - 2]], dtype=np.uint64),
    "objects": [[10**30, 10**30 + 1]],
}


@pytest.mark.parametrize("values", ARRAYS.values(), ids=ARRAYS)
def test_arrays_of_integers_that_would_tie_are_refused(values: Any) -> None:
    grades = np.ones((1, len(values[0])))
    with pytest.raises(InputError, match="same double"):
        evaluate_arrays(values, grades, "RR")
    with pytest.raises(InputError, match="same double"):
        Run.from_arrays(values)


def test_arrays_of_other_large_integers_are_read() -> None:
    for values in ([[ONE, FAR]], np.array([[ONE, ONE]]), np.array([[ONE], [TWO]]), [[10**30, 0.5]]):
        assert evaluate_arrays(values, np.ones_like(np.array(values, dtype=float)), "RR").mean("RR").expected == 1
        assert Run.from_arrays(values).documents.height == 2


DAY = np.datetime64("2026-01-01")
NO_NUMBERS = {
    "datetime": np.array([[DAY, DAY]]),
    "timedelta": np.array([[DAY - DAY, DAY - DAY]]),
    "complex": np.array([[1 + 1j, 2]]),
    "structured": np.array([[(1.0,), (2.0,)]], dtype=[("score", float)]),
    "text": np.array([["0.5", "1"]]),
    "text in a list": [["0.5", "1"]],
    "text beside a number": [[0.5, "1"]],
    "text beside nothing": [[None, "1"]],
    "bytes": [[b"1", b"2"]],
    "complex in a list": [[1j, 2.0]],
    "dates in a list": [[dt.date(2026, 1, 1), dt.date(2026, 1, 2)]],
    "date of NumPy beside nothing": [[None, DAY]],
}


@pytest.mark.parametrize("values", NO_NUMBERS.values(), ids=NO_NUMBERS)
def test_what_is_no_real_number_is_refused(values: Any) -> None:
    for call in (
        lambda: evaluate_arrays(values, [[1, 0]], "RR"),
        lambda: evaluate_arrays([[0.5, 0.7]], values, "RR"),
        lambda: Run.from_arrays(values),
        lambda: Judgments.from_arrays(values),
    ):
        with pytest.raises(InputError, match="must hold real numbers"):
            call()


def tensors() -> dict[str, Any]:
    torch = pytest.importorskip("torch")
    floats = torch.tensor([[0.5, 0.7]])
    return {
        "float8": floats.to(torch.float8_e4m3fn),
        "sparse": floats.to_sparse(),
        "conjugate": torch.tensor([[1j, 2.0]]).conj(),
        "complex": torch.tensor([[1j, 2.0]]),
        "negated": torch.tensor([[1j, 2.0]]).conj().imag,
    }


@pytest.mark.parametrize("kind", ["float8", "sparse", "conjugate", "complex", "negated"])
def test_tensors_that_numpy_cannot_hold_are_refused(kind: str) -> None:
    tensor = tensors()[kind]
    for call in (
        lambda: evaluate_arrays(tensor, [[1, 0]], "RR"),
        lambda: evaluate_arrays([tensor[0]], [[1, 0]], "RR"),
        lambda: Run.from_arrays(tensor),
        lambda: Judgments.from_arrays(tensor),
    ):
        with pytest.raises(InputError, match="real numbers"):
            call()


SCORES = np.ma.masked_array([[9.0, 0.5, 0.4], [0.3, 0.2, 9.0]], mask=[[1, 0, 0], [0, 0, 1]])
GRADES = np.array([[0, 1, 0], [0, 1, 0]])


def test_masked_scores_are_left_out() -> None:
    """Without its mask the 9.0 would be first, and RR of the first query 1/2."""
    for scores in (SCORES, list(SCORES)):
        assert evaluate_arrays(scores, GRADES, "RR")["RR"].expected == (1 + 1 / 2) / 2
        assert Run.from_arrays(scores).frame.rows() == [
            ("0", "1", 0.5),
            ("0", "2", 0.4),
            ("1", "0", 0.3),
            ("1", "1", 0.2),
        ]


def test_a_mask_is_kept_beside_the_argument_and_over_nan() -> None:
    scores = np.ma.masked_invalid([[np.nan, 0.5, 0.4]])
    inside = np.array([[True, False, True]])
    assert evaluate_arrays(scores, [[1, 1, 1]], "R@10", mask=inside).ties.documents == 1
    assert Run.from_arrays(scores, mask=inside).frame["doc_id"].to_list() == ["2"]


def test_masked_grades_are_unjudged() -> None:
    grades = np.ma.masked_array([[1, 1]], mask=[[True, False]])
    assert evaluate_arrays([[0.9, 0.5]], grades, "RR")["RR"].expected == 1 / 2
    assert Judgments.from_arrays(grades).frame.rows() == [("0", "1", 1.0)]


def test_a_masked_array_that_masks_nothing_is_an_array() -> None:
    assert evaluate_arrays(np.ma.masked_array([[0.9, 0.5]]), [[0, 1]], "RR")["RR"].expected == 1 / 2


def test_numbers_of_any_other_kind_are_read() -> None:
    for scores in ([[True, False]], [[np.float32(0.5), 0]], np.array([[0.5, 0.25]], np.float16), [[None, 1]]):
        assert Judgments.from_arrays(scores).frame.height >= 1


@pytest.mark.parametrize("grade", [np.inf, -np.inf])
def test_infinite_grades_are_refused(grade: float) -> None:
    with pytest.raises(InputError, match="A grade is infinite: list 1, document 0"):
        evaluate_arrays([[0.5], [0.7]], [[1.0], [grade]], "nDCG@10")
    with pytest.raises(InputError, match="finite"):
        Judgments.from_arrays([[1.0], [grade]])
