"""Text with a header line: BEIR's tsv, csv, and the like."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import polars as pl

from trueval.errors import InputError
from trueval.files.columns import as_ids, as_numbers, pick_columns
from trueval.files.content import Content, decoding_error
from trueval.files.layout import first_line
from trueval.files.table import Kind, Table, in_canonical_order, value_column

__all__ = ["canonical_table", "read_delimited", "sniff_delimiter"]


def sniff_delimiter(line: str) -> str:
    r"""Tell what stands between the fields of a header line: a tab, a comma, a semicolon, or blanks.

    >>> sniff_delimiter("query-id\tcorpus-id\tscore"), sniff_delimiter("qid,docno,score")
    ('\t', ',')
    """
    return next((c for c in "\t,;" if c in line), " ")


def read_delimited(content: Content, kind: Kind, facets: bool = False) -> Table:
    """Read text whose first line names the columns; quotes are those of csv.

    Raises:
        InputError: a column is missing, a line has too many or too few fields, or the text is not UTF-8.
    """
    if b"\n" not in content.data:
        content = replace(content, data=content.data.replace(b"\r", b"\n"))
    delimiter = sniff_delimiter(first_line(content))
    strings = _parse(content, delimiter)
    empty = strings.select(pl.all_horizontal(pl.all().is_null()).alias("empty"))["empty"]
    if empty.any():
        strings = strings.filter(~empty)
    if b" " in content.data:
        strings = strings.with_columns(pl.all().str.strip_chars(" "))
    line = partial(_line_of_record, content.data, delimiter)
    return canonical_table(strings, kind, content.source, facets, line)


def _parse(content: Content, delimiter: str) -> pl.DataFrame:
    try:
        return pl.read_csv(
            content.data.lstrip(b"\r\n"),
            separator=delimiter,
            quote_char='"' if b'"' in content.data else None,
            infer_schema=False,
        )
    except pl.exceptions.PolarsError as error:
        if (undecodable := decoding_error(content)) is not None:
            raise undecodable from None
        raise _width_error(content, delimiter) or InputError(
            f"{content.source}: cannot be read as text with a header line ({str(error).splitlines()[0]}). "
            "Quotes must come in pairs around a field, and a quote inside one must be doubled. Correct them."
        ) from error


def _width_error(content: Content, delimiter: str) -> InputError | None:
    reader = csv.reader(io.StringIO(content.data.decode(), newline=""), delimiter=delimiter)
    header = next((record for record in reader if record), [])
    for record in reader:
        if len(record) > len(header):
            return InputError(
                f"{content.source}:{reader.line_num}: {len(record)} fields. The header line has {len(header)}. "
                "Correct the line, or quote the field that holds the separator."
            )
    return None


def _line_of_record(data: bytes, delimiter: str, row: int) -> int:
    """Find the line where a record starts; called for error messages only."""
    reader = csv.reader(io.StringIO(data.decode(), newline=""), delimiter=delimiter)
    start, left = 1, row + 2  # the header line, and rows count from 0
    for record in reader:
        left -= any(record)
        if left == 0:
            return start
        start = reader.line_num + 1
    return start


def canonical_table(
    frame: pl.DataFrame, kind: Kind, source: str, facets: bool = False, line: Callable[[int], int] | None = None
) -> Table:
    """Give the columns of a frame their canonical names and types.

    A run with ranks and no scores gets score = -rank.

    Raises:
        InputError: a column is missing or of the wrong type, or a number does not parse.
    """
    columns = pick_columns(frame.columns, kind, source if line is None else f"{source}:{line(-1)}", facets)
    table = Table(frame, source, line)
    value = value_column(kind)
    picked = [as_ids(frame[columns[name]], name, source) for name in ("query_id", "doc_id", "facet") if name in columns]
    notes: tuple[str, ...] = ()
    if "rank" in columns:
        ranks, notes = _ranks(table, columns["rank"], needed=value not in columns)
        picked += ranks
    if value in columns:
        picked.append(_numbers(table, columns[value], value))
    result = pl.DataFrame(picked)
    if value not in columns:
        result = result.with_columns(score=-pl.col("rank").cast(pl.Float64))
    return Table(in_canonical_order(result), source, line, notes)


def _numbers(table: Table, column: str, name: str) -> pl.Series:
    raw = table.frame[column]
    numbers = as_numbers(raw, name, table.source)
    unparsed = numbers.is_null()
    if unparsed.any():
        row = int(unparsed.arg_max() or 0)
        raise table.error(row, f"the {name} is {raw[row]!r}. It must be a number. Correct or remove the row.")
    return numbers


def _ranks(table: Table, column: str, needed: bool) -> tuple[list[pl.Series], tuple[str, ...]]:
    numbers = as_numbers(table.frame[column], "rank", table.source)
    wrong = (numbers.is_null() | (numbers != numbers.round()) | ~numbers.is_finite()).fill_null(value=True)
    if not wrong.any():
        return [numbers.cast(pl.Int64)], ()
    row = int(wrong.arg_max() or 0)
    if needed:
        raise table.error(
            row, f"the rank is {table.frame[column][row]!r}. It must be an integer. Correct or remove the row."
        )
    return [], (f"{table.place(row)}: a rank is not an integer, so the rank column is not used",)
