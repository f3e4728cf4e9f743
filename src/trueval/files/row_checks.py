"""Row checks: ids, numbers and duplicates, and grouping of the rows of each query."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trueval.errors import Place
from trueval.files.checks.duplicates import find_duplicate, half_hashes
from trueval.files.frame import Kind, RowTable, Stretches, value_column
from trueval.forks import need_polars


class CheckedRows(NamedTuple):
    """Rows that satisfy the guarantees of Run and Judgments.

    Args:
        table: the rows, those of one query adjacent, in the order of the input; without their queries where it was
            read without.
        query_ids: String, unique, in order of first appearance.
        offsets: [queries + 1]; rows of query i are frame[offsets[i]:offsets[i + 1]].
        hashes: [row] half_hashes of doc_id.
    """

    table: RowTable
    query_ids: pl.Series
    offsets: NDArray[np.int64]
    hashes: NDArray[np.uint32]

    @property
    def documents(self) -> pl.DataFrame:
        """The rows without their queries."""
        return self.table.frame.drop("query_id", strict=False)


def check_rows(table: RowTable, kind: Kind) -> CheckedRows:
    """Check the rows and bring those of each query together.

    Raises:
        InputError: no row, an empty id, a NaN score, a grade that is not finite, or a document twice in a query.
    """
    need_polars()
    if table.frame.height == 0:
        raise Place(table.source).error(
            "no rows. There must be at least one. Check that the file was written to the end."
        )
    _check_ids(table)
    _check_numbers(table, kind)
    stretches = table.stretches or _find_stretches(table)
    if stretches.query_ids.n_unique() != len(stretches.query_ids):  # a query occurs again after another one
        table = _sort_by_first_appearance(table)
        stretches = _find_stretches(table)
    rows = CheckedRows(table, *stretches, half_hashes(table.frame["doc_id"]))
    _check_duplicates(rows, kind)
    return rows


def _check_ids(table: RowTable) -> None:
    if "" in table.empty:
        raise Place(table.source).error("the query_id is empty. It must be a string. Correct or remove the row.")
    if table.plain:  # the reader has seen that every field has a character
        return
    for name in [name for name in ("query_id", "doc_id", "facet") if name in table.frame.columns]:
        ids = table.frame[name]
        if ids.null_count() or (ids.str.len_bytes() == 0).any():
            row = int((ids.is_null() | (ids == "")).fill_null(value=True).arg_max() or 0)
            raise table.error(row, f"the {name} is empty. It must be a string. Correct or remove the row.")


def _check_numbers(table: RowTable, kind: Kind) -> None:
    name = value_column(kind)
    values = table.frame[name]
    good = values.is_finite() if kind == "judgments" else values.is_not_nan()
    if values.null_count() or not good.all():
        row = int((~good.fill_null(value=False)).arg_max() or 0)
        what = f"the {name} of document {table.frame['doc_id'][row]!r} in query {table.query_of(row)!r}"
        got = "missing" if values[row] is None else str(values[row])
        must = (
            "finite number; leave out documents that nobody judged"
            if kind == "judgments"
            else "number; inf and -inf are fine. Correct or remove the row"
        )
        raise table.error(row, f"{what} is {got}. It must be a {must}.")


def _find_stretches(table: RowTable) -> Stretches:
    found = table.frame["query_id"].rle().struct.unnest()
    offsets = np.concatenate(([0], np.cumsum(found["len"].to_numpy(), dtype=np.int64)))
    return Stretches(found["value"].alias("query_id"), offsets)


def _sort_by_first_appearance(table: RowTable) -> RowTable:
    table = table._replace(frame=table.whole(), stretches=None)
    ids = table.frame["query_id"]
    # An Enum numbers its values in the given order; a stable sort keeps the row order within a query.
    codes = ids.cast(pl.Enum(ids.unique(maintain_order=True))).to_physical().to_numpy()
    order = np.argsort(codes, kind="stable")
    before = table.line
    line = None if before is None else lambda row: before(int(order[row]))
    rows = None if table.rows is None else table.rows[order]
    return table._replace(frame=table.frame[order], line=line, rows=rows)


def _check_duplicates(rows: CheckedRows, kind: Kind) -> None:
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
    first = f"row {table.source_row(pair.first) + 1}" if table.line is None else f"line {table.line(pair.first)}"
    raise table.error(
        pair.second,
        f"document {ids['doc_id']!r} is in query {query!r}{facet} twice (first on {first}). "
        f"Each document must be listed once. {cure}",
    )
