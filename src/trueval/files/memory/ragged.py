"""Scores and grades of the same documents as one flat pair of arrays: what evaluate_arrays reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueval.errors import InputError


class Ragged(NamedTuple):
    """Lists of scored and graded documents, one after another.

    Attributes:
        scores: [document] without NaN.
        grades: [document] NaN where unjudged.
        offsets: [list + 1] where each list starts.
    """

    scores: NDArray[np.float64]
    grades: NDArray[np.float64]
    offsets: NDArray[np.int64]


def ragged(score_lists: Any, grade_lists: Any, mask: Any = None) -> Ragged:
    """Flatten [query, document] arrays, tensors, or ragged lists of scores and grades.

    Args:
        score_lists: scores; higher is better.
        grade_lists: grades of the same documents; NaN or below 0 means unjudged.
        mask: the same shape, False for padding; None if there is none.

    Raises:
        InputError: shapes differ, a value is not a number, or a score is NaN.

    >>> ragged([[0.5, 0.7], [0.1]], [[1, 0], [2]]).offsets.tolist()
    [0, 2, 3]
    """
    scores, lengths = _flatten(score_lists, "score_lists")
    grades, grade_lengths = _flatten(grade_lists, "grade_lists")
    _check_shapes(lengths, grade_lengths, "grade_lists")
    if mask is not None:
        inside, mask_lengths = _flatten(mask, "mask")
        _check_shapes(lengths, mask_lengths, "mask")
        keep = inside != 0
        lengths = np.bincount(np.repeat(np.arange(len(lengths)), lengths)[keep], minlength=len(lengths))
        scores, grades = scores[keep], grades[keep]
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    lengths.cumsum(out=offsets[1:])
    if np.isnan(scores).any():
        position = int(np.flatnonzero(np.isnan(scores))[0])
        query = int(np.searchsorted(offsets, position, side="right")) - 1
        raise InputError(
            f"A score is NaN: list {query}, document {position - int(offsets[query])}. Scores must be numbers. "
            "Mask padding with mask=, and mend the model that gave NaN."
        )
    return Ragged(scores, grades, offsets)


def _flatten(values: Any, name: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The numbers of all lists, and the length of each."""
    if hasattr(values, "ndim") or hasattr(values, "detach"):
        matrix = _numbers(values, name)
        if matrix.ndim != 2:
            raise InputError(f"{name} must have two dimensions, [query, document]. Got {matrix.ndim}.")
        return matrix.ravel(), np.full(matrix.shape[0], matrix.shape[1], dtype=np.int64)
    if isinstance(values, (str, bytes, dict)) or not isinstance(values, Sequence):
        raise InputError(
            f"{name} must be an array [query, document] or one list per query. Got {type(values).__name__}."
        )
    rows = [_numbers(row, name) for row in values]
    wrong = next((index for index, row in enumerate(rows) if row.ndim != 1), None)
    if wrong is not None:
        raise InputError(
            f"{name} must be one list of numbers per query. Got {rows[wrong].ndim} dimensions in list {wrong}."
        )
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    return np.concatenate([*rows, np.empty(0)]), lengths


def _numbers(values: Any, name: str) -> NDArray[np.float64]:
    """Float64 of an array, tensor or list; None becomes NaN, as frames have it."""
    if hasattr(values, "detach"):
        # NumPy has no bfloat16 of its own; float32 holds every value of it.
        values = values.detach().cpu()
        values = values.float().numpy() if "bfloat16" in str(values.dtype) else values.numpy()
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        got = repr(values)
        got = got if len(got) <= 60 else got[:57] + "..."
        raise InputError(f"{name} must hold numbers, one list per query. Got {got}.") from None


def _check_shapes(lengths: NDArray[np.int64], others: NDArray[np.int64], name: str) -> None:
    if len(lengths) != len(others):
        raise InputError(f"{name} must have one list per query. Got {len(others)} lists for {len(lengths)}.")
    wrong = (lengths != others).nonzero()[0]
    if len(wrong):
        query = int(wrong[0])
        raise InputError(
            f"{name} must be shaped as score_lists. List {query} has {others[query]} items for {lengths[query]} scores."
        )
