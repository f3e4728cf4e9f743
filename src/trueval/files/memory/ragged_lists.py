"""Scores and grades of the same documents as one flat pair of arrays: what evaluate_arrays reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueval.errors import InputError
from trueval.files.memory.plain import find_mask, plain_numbers


class RaggedLists(NamedTuple):
    """Lists of scored and graded documents, one after another.

    Attributes:
        scores: [document] without NaN.
        grades: [document] NaN where unjudged.
        offsets: [list + 1] where each list starts.
    """

    scores: NDArray[np.float64]
    grades: NDArray[np.float64]
    offsets: NDArray[np.int64]


def flatten_lists(score_lists: object, grade_lists: object, mask: object = None) -> RaggedLists:
    """Flatten [query, document] arrays, tensors, or ragged lists of scores and grades.

    What a masked array of scores masks is left out, as by mask; what one of grades masks is unjudged.

    Args:
        score_lists: scores; higher is better.
        grade_lists: grades of the same documents; NaN or below 0 means unjudged.
        mask: the same shape, False for padding; None if there is none.

    Raises:
        InputError: shapes differ, a value is not a number, a score is NaN, or a grade is infinite.

    >>> flatten_lists([[0.5, 0.7], [0.1]], [[1, 0], [2]]).offsets.tolist()
    [0, 2, 3]
    """
    scores, lengths = _flatten(score_lists, "score_lists")
    grades, grade_lengths = _flatten(grade_lists, "grade_lists")
    _check_shapes(lengths, grade_lengths, "grade_lists")
    keep = _find_unmasked(score_lists)
    if mask is not None:
        inside, mask_lengths = _flatten(mask, "mask")
        _check_shapes(lengths, mask_lengths, "mask")
        keep = inside != 0 if keep is None else keep & (inside != 0)
    if keep is not None:
        lengths = np.bincount(np.repeat(np.arange(len(lengths)), lengths)[keep], minlength=len(lengths))
        scores, grades = scores[keep], grades[keep]
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    lengths.cumsum(out=offsets[1:])
    if np.isnan(scores).any():
        raise InputError(
            f"A score is NaN: {_where(np.isnan(scores), offsets)}. Scores must be numbers. "
            "Mask padding with mask=, and mend the model that gave NaN."
        )
    if np.isinf(grades).any():
        raise InputError(
            f"A grade is infinite: {_where(np.isinf(grades), offsets)}. Grades must be finite, or NaN for documents "
            "that nobody judged. Map it to a finite grade."
        )
    return RaggedLists(scores, grades, offsets)


def _where(wrong: NDArray[np.bool_], offsets: NDArray[np.int64]) -> str:
    """The first document at fault, in words."""
    position = int(wrong.argmax())
    query = int(np.searchsorted(offsets, position, side="right")) - 1
    return f"list {query}, document {position - int(offsets[query])}"


def _find_unmasked(values: Any) -> NDArray[np.bool_] | None:
    """[document] what masked arrays do not mask; None where no array masks anything."""
    rows = [values] if hasattr(values, "ndim") else values
    hidden = [find_mask(row) for row in rows]
    if all(each is None for each in hidden):
        return None
    return ~np.concatenate(
        [np.zeros(np.size(row), bool) if each is None else each.ravel() for row, each in zip(rows, hidden, strict=True)]
    )


def _flatten(values: object, name: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The numbers of all lists, and the length of each."""
    if hasattr(values, "ndim") or hasattr(values, "detach"):
        matrix = plain_numbers(values, name)
        if matrix.ndim != 2:
            raise InputError(f"{name} must have two dimensions, [query, document]. Got {matrix.ndim}.")
        return matrix.ravel(), np.full(matrix.shape[0], matrix.shape[1], dtype=np.int64)
    if isinstance(values, (str, bytes, dict)) or not isinstance(values, Sequence):
        raise InputError(
            f"{name} must be an array [query, document] or one list per query. Got {type(values).__name__}."
        )
    rows = [plain_numbers(row, name) for row in values]
    wrong = next((index for index, row in enumerate(rows) if row.ndim != 1), None)
    if wrong is not None:
        raise InputError(
            f"{name} must be one list of numbers per query. Got {rows[wrong].ndim} dimensions in list {wrong}."
        )
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    return np.concatenate([*rows, np.empty(0)]), lengths


def _check_shapes(lengths: NDArray[np.int64], others: NDArray[np.int64], name: str) -> None:
    if len(lengths) != len(others):
        raise InputError(f"{name} must have one list per query. Got {len(others)} lists for {len(lengths)}.")
    wrong = (lengths != others).nonzero()[0]
    if len(wrong):
        query = int(wrong[0])
        raise InputError(
            f"{name} must be shaped as score_lists. List {query} has {others[query]} items for {lengths[query]} scores."
        )
