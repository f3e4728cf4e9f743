"""Rows checked and grouped: ids, numbers, duplicates, and the rows of each query adjacent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trueval.errors import InputError
from trueval.files.checks.duplicates import find_duplicate, half_hashes
from trueval.files.frame import Kind, Stretches, Table, value_column

__all__ = ["Rows", "check_rows"]


class Rows(NamedTuple):
    """Rows that keep what Run and Judgments promise.

    Args:
        table: the rows, those of one query adjacent, in the order of the input; without their queries where it was
            read without.
        query_ids: String, unique, in order of first appearance.
        offsets: [queries + 1]; rows of query i are frame[offsets[i]:offsets[i + 1]].
        hashes: [row] half_hashes of doc_id.
    """

    table: Table
    query_ids: pl.Series
    offsets: NDArray[np.int64]
    hashes: NDArray[np.uint32]

    @property
    def documents(self) -> pl.DataFrame:
        """The rows without their queries."""
        return self.table.frame.drop("query_id", strict=False)


def check_rows(table: Table, kind: Kind) -> Rows:
    """Check the rows and bring those of each query together.

    Raises:
        InputError: no row, an empty id, a NaN score, a grade that is not finite, or a document twice in a query.
    """
    if table.frame.height == 0:
        raise InputError(
            f"{table.source}: no rows. There must be at least one. Check that the file was written to the end."
        )
    _check_ids(table)
    _check_numbers(table, kind)
    rows = _group(table)
    _check_duplicates(rows, kind)
    return rows


def _check_ids(table: Table) -> None:
    if table.plain:
        return
    for name in [name for name in ("query_id", "doc_id", "facet") if name in table.frame.columns]:
        ids = table.frame[name]
        if ids.null_count() or (ids.str.len_bytes() == 0).any():
            row = int((ids.is_null() | (ids == "")).fill_null(value=True).arg_max() or 0)
            raise table.error(row, f"the {name} is empty. It must be a string. Correct or remove the row.")


def _check_numbers(table: Table, kind: Kind) -> None:
    name = value_column(kind)
    values = table.frame[name]
    good = values.is_finite() if kind == "judgments" else values.is_not_nan()
    if values.null_count() or not good.all():
        row = int((~good.fill_null(value=False)).arg_max() or 0)
        ids = table.frame.row(row, named=True)
        got = "missing" if values[row] is None else str(values[row])
        must = (
            "finite number; leave out documents that nobody judged"
            if kind == "judgments"
            else "number; inf and -inf are fine. Correct or remove the row"
        )
        raise table.error(
            row,
            f"the {name} of document {ids['doc_id']!r} in query {table.query_of(row)!r} is {got}. It must be a {must}.",
        )


def _group(table: Table) -> Rows:
    stretches = table.stretches or _find_stretches(table)
    if stretches.query_ids.n_unique() != len(stretches.query_ids):
        table = _sort_by_first_appearance(table)
        stretches = _find_stretches(table)
    return Rows(table, *stretches, half_hashes(table.frame["doc_id"]))


def _find_stretches(table: Table) -> Stretches:
    found = table.frame["query_id"].rle().struct.unnest()
    offsets = np.concatenate(([0], np.cumsum(found["len"].to_numpy(), dtype=np.int64)))
    return Stretches(found["value"].alias("query_id"), offsets)


def _sort_by_first_appearance(table: Table) -> Table:
    table = replace(table, frame=table.whole(), stretches=None)
    ids = table.frame["query_id"]
    codes = ids.cast(pl.Enum(ids.unique(maintain_order=True))).to_physical().to_numpy()
    order = np.argsort(codes, kind="stable")
    line = None if table.line is None else partial(_line_before_sorting, table.line, order)
    return replace(table, frame=table.frame[order], line=line)


def _line_before_sorting(line: Callable[[int], int], order: NDArray[np.int64], row: int) -> int:
    return line(int(order[row]))


def _check_duplicates(rows: Rows, kind: Kind) -> None:
    table = rows.table
    pair = find_duplicate(table.frame, rows.offsets, rows.hashes)
    if pair is None:
        return
    ids = table.frame.row(pair.second, named=True)
    cure = "Keep one of them."
    if kind == "judgments" and "facet" not in ids:
        cure += " If the second column holds facets (diversity judgments), read them with --facets (facets=True)."
    facet = f" for facet {ids['facet']!r}" if "facet" in ids else ""
    query = table.query_of(pair.second)
    first = table.place(pair.first).removeprefix(f"{table.source}:").strip()
    raise table.error(
        pair.second,
        f"document {ids['doc_id']!r} is in query {query!r}{facet} twice (first on "
        f"{'line ' if table.line else ''}{first}). "
        f"Each document must be listed once. {cure}",
    )
