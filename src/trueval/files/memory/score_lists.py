"""Matrices, ragged lists and tensors: one list of numbers for each query."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trueval.errors import InputError
from trueval.files.frame import Kind, RowTable, empty_note, value_column
from trueval.files.memory.plain import find_mask, plain_array, plain_numbers
from trueval.forks import need_polars


def read_arrays(
    values: object, kind: Kind, doc_ids: object = None, query_ids: object = None, mask: object = None
) -> RowTable:
    """Read one list of scores or grades for each query.

    Args:
        values: [query, document] array or tensor, or a ragged list of them. What a masked array masks is left out.
        kind: what the numbers are.
        doc_ids: ids shaped as the values, or one list for all queries; positions from 0 without it.
        query_ids: one for each list; positions from 0 without it.
        mask: shaped as the values, True where there is a document; without it everywhere.

    Raises:
        InputError: shapes differ, values are not numbers, or ids are neither strings nor integers.
    """
    need_polars()
    name = f"{value_column(kind)}s"
    lists = _lists(values, name)
    rows = _numbers(lists, name)
    lengths = [len(row) for row in rows]
    queries = _ids(range(len(rows)) if query_ids is None else query_ids, "query_ids")
    if len(queries) != len(rows):
        raise InputError(f"query_ids must have one id for each list. Got {len(queries)} ids for {len(rows)} lists.")
    documents = _documents(doc_ids, lengths)
    frame = pl.DataFrame(
        {
            "query_id": queries.gather(pl.Series(np.repeat(np.arange(len(rows)), lengths), dtype=pl.UInt32)),
            "doc_id": pl.concat(documents) if documents else pl.Series([], dtype=pl.String),
            value_column(kind): np.concatenate(rows) if rows else np.empty(0),
        }
    )
    inside = np.ones(frame.height, bool) if mask is None else _flags(mask, lengths)
    if kind == "run":  # for judgments, NaN already means unjudged
        hidden = [find_mask(row) for row in lists]
        inside &= ~np.concatenate([np.zeros(n, bool) if h is None else h for h, n in zip(hidden, lengths, strict=True)])
    if not inside.all():
        frame = frame.filter(pl.Series(inside, dtype=pl.Boolean))
    if kind == "judgments":
        return RowTable(frame, "arrays")
    bare = tuple(queries.filter(~queries.is_in(frame["query_id"].implode())).unique(maintain_order=True).to_list())
    return RowTable(frame, "arrays", notes=empty_note("arrays", bare), empty=bare)


def _lists(values: object, name: str) -> list[object]:
    """One list per query; a matrix gives its rows."""
    if hasattr(values, "ndim"):
        matrix = values if isinstance(values, np.ma.MaskedArray) else plain_array(values, name)
        if matrix.ndim == 2:
            return list(matrix)
        raise InputError(f"{name} must be two-dimensional, [query, document]. Got {matrix.ndim} dimensions.")
    if not isinstance(values, Iterable) or isinstance(values, (str, bytes, dict)):
        raise InputError(f"{name} must be one list for each query. Got {type(values).__name__}.")
    return list(values)


def _numbers(lists: Sequence[object], name: str) -> list[NDArray[np.float64]]:
    rows = [plain_numbers(row, name) for row in lists]
    wrong = next((i for i, row in enumerate(rows) if row.ndim != 1), None)
    if wrong is not None:
        raise InputError(
            f"{name} must be one list for each query. Got {rows[wrong].ndim} dimensions in list {wrong}; nest it once."
        )
    return rows


def _documents(doc_ids: Any, lengths: Sequence[int]) -> list[pl.Series]:
    if doc_ids is None:
        return [pl.int_range(0, length, eager=True).cast(pl.String).alias("doc_id") for length in lengths]
    # A single list for all queries contains ids; zero-dimensional elements are those of a tensor or array of ids.
    shared = all(isinstance(i, (str, int, np.integer)) or getattr(i, "ndim", 1) == 0 for i in doc_ids)
    series = [_ids(doc_ids, "doc_ids")] * len(lengths) if shared else [_ids(row, "doc_ids") for row in doc_ids]
    if [len(ids) for ids in series] != list(lengths):
        raise InputError(
            f"doc_ids must be shaped as the values. Got {[len(ids) for ids in series][:5]} ids for "
            f"lists of {list(lengths)[:5]}."
        )
    return series


def _ids(ids: Any, name: str) -> pl.Series:
    plain = (
        np.asarray(ids.detach().cpu() if hasattr(ids, "detach") else ids).tolist()
        if hasattr(ids, "dtype") and not isinstance(ids, pl.Series)
        else list(ids)
    )
    for i in plain:
        if not isinstance(i, (str, int, np.integer)) or isinstance(i, bool):
            raise InputError(f"{name} must be strings or integers. Got {i!r}, a {type(i).__name__}.")
    return pl.Series(name, [str(i) for i in plain], dtype=pl.String)


def _flags(mask: object, lengths: Sequence[int]) -> NDArray[np.bool_]:
    rows = _numbers(_lists(mask, "mask"), "mask")
    if [len(row) for row in rows] != list(lengths):
        raise InputError(
            f"mask must be shaped as the values. Got {[len(row) for row in rows][:5]}, need {list(lengths)[:5]}."
        )
    return np.concatenate(rows).astype(bool) if rows else np.empty(0, bool)
