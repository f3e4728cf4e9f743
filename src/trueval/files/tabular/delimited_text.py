"""Text with a header line: BEIR's tsv, csv, and the like."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trueval.errors import Place
from trueval.files.columns import (
    as_ids,
    as_numbers,
    check_lost_values,
    may_have_lost_values,
    pick_columns,
    refuse_equal_integers,
    refuse_repeated_columns,
    run_column,
    squash,
)
from trueval.files.frame import Kind, RowTable, in_canonical_order, value_column
from trueval.files.source.decompression import prevent_decompression
from trueval.files.source.encoding import find_decoding_error
from trueval.files.source.line_limits import LINE
from trueval.files.source.memory_estimate import MemoryCost, check_cost
from trueval.files.source.source_bytes import SourceBytes
from trueval.files.tabular.csv_records import Records, find_records
from trueval.files.trec.row_forms import first_line, first_offset

MOST_COLUMNS = 4096  # maximum number of columns, since each costs memory for every row
BYTE, RECORD, FIELD, QUOTE = 3.6, 100, 50, 20  # bytes of memory for each of these, as measured: docs/files.md
MOST_GRADES = 6  # number of levels that judgments have


def sniff_delimiter(line: str) -> str:
    r"""Tell what is between the fields of a header line: a tab, a comma, a semicolon, or spaces.

    >>> sniff_delimiter("query-id\tcorpus-id\tscore"), sniff_delimiter("qid,docno,score")
    ('\t', ',')
    """
    return next((c for c in "\t,;" if c in line), " ")


class DelimitedRows(NamedTuple):
    """The fields of a text with a header line.

    Attributes:
        frame: strings, under the names of the header line; repeated ones are numbered.
        names: header line.
        lines: gives the line of the header line, then that of each row, from 1.
    """

    frame: pl.DataFrame
    names: list[str]
    lines: Callable[[], NDArray[np.int64]]


def read_delimited(content: SourceBytes, kind: Kind, facets: bool = False) -> RowTable:
    """Read text whose first line names the columns.

    Raises:
        InputError: as `delimited_rows`; or a column is missing.
    """
    found = delimited_rows(content, kind, facets)
    table = canonical_table(found.frame, kind, content.source, facets, lambda row: int(found.lines()[row + 1]))
    return table._replace(notes=table.notes + _judgments_note(found.names, kind, table))


def delimited_rows(content: SourceBytes, kind: Kind, facets: bool = False) -> DelimitedRows:
    """Parse text whose first line names the columns; quotes are those of csv.

    Spaces around fields are dropped where the header line has them too ("a, b, c"); else they belong to the field.
    Comment lines are skipped before the header line only, for an id may begin with "#".

    Raises:
        InputError: a column is there twice, a line has too many or too few fields, a quote is out of place, or the
            text is not UTF-8.
    """
    if (undecodable := find_decoding_error(content)) is not None:
        raise undecodable
    header = first_line(content)
    delimiter = sniff_delimiter(header)
    cost = MemoryCost(BYTE, ((b"\n", RECORD), (delimiter.encode(), FIELD), (b'"', QUOTE)))
    check_cost(cost, content.data, content.source)
    start = first_offset(content.data)
    body, before = content.data[start:], content.data.count(b"\n", 0, start)
    place = Place(content.source, before + 1)
    records = find_records(body, delimiter, content.source, before) if b'"' in body else None
    names = _header(body, delimiter, place)
    strings = _parse(body, delimiter)
    if strings is None or not _is_whole(strings, records, body, delimiter):
        records = records or find_records(body, delimiter, content.source, before)
        _refuse_wrong_width(records, len(names), content.source)
        strings = _without_empty_lines(strings, records, body, content.source)
    if f"{delimiter} " in header or f" {delimiter}" in header:
        strings = strings.with_columns(pl.all().str.strip_chars(" "))
        names = [name.strip() for name in names]
    refuse_repeated_columns(names, kind, facets, place)
    # polars renames other repeated columns, and would hide those that must be refused.
    strings.columns = [name if name not in names[:at] else f"{name} {at}" for at, name in enumerate(names)]
    # The starts of records are computed again, only for error messages: storing them would take memory for every row.
    return DelimitedRows(strings, names, lambda: find_records(body, delimiter, "", before).lines)


def _header(body: bytes, delimiter: str, place: Place) -> list[str]:
    text = io.StringIO(body[: LINE.value].decode(errors="replace"), newline="")  # csv splits lines by itself
    try:
        names = next(csv.reader(text, delimiter=delimiter))
    except csv.Error as error:
        raise place.error(f"the header line cannot be read: {error}. Correct it.") from error
    if len(names) > MOST_COLUMNS:
        raise place.error(f"{len(names)} columns. There can be at most {MOST_COLUMNS}. Newlines may be lost.")
    return names


def _parse(body: bytes, delimiter: str) -> pl.DataFrame | None:
    quote = '"' if b'"' in body else None
    try:
        return pl.read_csv(prevent_decompression(body), separator=delimiter, quote_char=quote, infer_schema=False)
    except pl.exceptions.PolarsError:
        return None


def _is_whole(strings: pl.DataFrame, records: Records | None, body: bytes, delimiter: str) -> bool:
    """Check that every record became one row, as wide as the header line; polars fills narrow and empty lines."""
    if strings.select(pl.all_horizontal(pl.all().is_null()).any()).item():  # an empty line, or one of delimiters
        return False
    if records is None:  # no row is wider, so none is narrower if they have enough delimiters together
        return body.count(delimiter.encode()) == (strings.height + 1) * (strings.width - 1)
    return strings.height + 1 == len(records.lines) and bool((records.widths == strings.width).all())


def _refuse_wrong_width(records: Records, width: int, source: str) -> None:
    wrong = records.widths != width
    if wrong.any():
        row = int(wrong.argmax())
        raise Place(source, int(records.lines[row])).error(
            f"{records.widths[row]} fields. The header line has {width}. "
            "Correct the line, or quote the field that holds the separator."
        )


def _without_empty_lines(strings: pl.DataFrame | None, records: Records, body: bytes, source: str) -> pl.DataFrame:
    if strings is not None:
        strings = strings.filter(~pl.all_horizontal(pl.all().is_null()))
    if strings is not None and strings.height + 1 == len(records.lines):
        return strings
    ends = [*records.starts[1:].tolist(), len(body)]
    for start, end, line in zip(records.starts.tolist(), ends, records.lines.tolist(), strict=True):
        if not body[start:end].strip(b',;\t "\r\n'):
            raise Place(source, line).error("a row without any value. Correct or remove it.")
    read = 0 if strings is None else strings.height
    raise Place(source).error(f"only {read} of {len(records.lines) - 1} rows can be read. Give another format.")


def _judgments_note(names: list[str], kind: Kind, table: RowTable) -> tuple[str, ...]:
    """Remark on the columns of BEIR's judgments with few whole scores, given as a run."""
    if kind != "run" or "corpusid" not in map(squash, names) or table.frame.is_empty():
        return ()
    scores = table.frame["score"]
    distinct = scores.unique().sort()
    # Scores that repeat and are few integers; a run of one row, or with distinct scores, is not suspicious.
    if len(distinct) > MOST_GRADES or len(distinct) == len(scores) or (distinct != distinct.round()).any():
        return ()
    shown = ", ".join(f"{value:g}" for value in distinct)
    return (
        f"{table.source}: the scores are only {shown}, and the columns are those of BEIR's judgments; are these "
        "judgments given as a run?",
    )


def canonical_table(
    frame: pl.DataFrame,
    kind: Kind,
    source: str,
    facets: bool = False,
    line: Callable[[int], int] | None = None,
    rows: NDArray[np.int64] | None = None,
) -> RowTable:
    """Give the columns of a frame their canonical names and types.

    A run with ranks and no scores gets score = -rank.

    Raises:
        InputError: a column is missing or of the wrong type, a number does not parse, or the rows are of several runs.
    """
    header = Place(source, None if line is None else line(-1))  # row -1 is the header line
    columns = pick_columns(frame.columns, kind, header, facets)
    if kind == "run":
        _refuse_several_runs(frame, header)
    table = RowTable(frame, source, line, rows=rows)
    value = value_column(kind)
    picked = [as_ids(frame[columns[name]], name, source) for name in ("query_id", "doc_id", "facet") if name in columns]
    notes: tuple[str, ...] = ()
    if "rank" in columns:
        ranks, notes = _ranks(table, columns["rank"], needed=value not in columns)
        picked += ranks
    if value in columns:
        numbers, lost = _numbers(table, columns[value], value)
        if not frame[columns[value]].dtype.is_float():  # integers, decimals and text
            refuse_equal_integers(numbers, frame[columns[value]], picked[0], table)
        picked.append(numbers)
        notes += lost
    result = pl.DataFrame(picked)
    if value not in columns:
        result = result.with_columns(score=-pl.col("rank").cast(pl.Float64))
    return RowTable(in_canonical_order(result), source, line, notes, rows=rows)


def _refuse_several_runs(frame: pl.DataFrame, header: Place) -> None:
    """Refuse a table whose column of runs has several values: their rows would be mixed."""
    column = run_column(frame.columns)
    if column is None or (count := frame[column].n_unique()) < 2:
        return
    raise header.error(
        f"the rows are of {count:,} runs (column {column!r}), and one run belongs here. Name one of a file, "
        f"FILE::{str(frame[column][0])[:80]}; or take all, one at a time, with trueval.Run.each(...)."
    )


def _numbers(table: RowTable, column: str, name: str) -> tuple[pl.Series, tuple[str, ...]]:
    raw = table.frame[column]
    numbers = as_numbers(raw, name, table.source)
    unparsed = numbers.is_null()
    if unparsed.any():
        row = int(unparsed.arg_max() or 0)
        found = "missing" if raw[row] is None else repr(raw[row])
        raise table.error(row, f"the {name} is {found}. It must be a number. Correct or remove the row.")
    if raw.dtype == pl.String and may_have_lost_values(numbers):
        return numbers, check_lost_values(numbers, raw, table)
    return numbers, ()


def _ranks(table: RowTable, column: str, needed: bool) -> tuple[list[pl.Series], tuple[str, ...]]:
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
