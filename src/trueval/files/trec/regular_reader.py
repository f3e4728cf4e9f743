"""Regular text without a header line: the separators of its first line throughout.

Such a text is parsed part by part while it is read, so it is never in memory as a whole: by the compiled kernel if
possible, else by polars. Other text is left to grammar_reader.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from threading import Event
from typing import NamedTuple

import numpy as np
import polars as pl

from trueval.errors import InputError, Place
from trueval.files.columns import loses_values, may_have_lost_values
from trueval.files.frame import CANONICAL_COLUMNS, Kind, RowTable, Stretches, count_lines_from_one, in_canonical_order
from trueval.files.source.decompression import BOM, prevent_decompression
from trueval.files.source.encoding import find_long_line
from trueval.files.source.line_parts import PART, LineParts
from trueval.files.source.memory_estimate import MemoryCost, check_memory
from trueval.files.trec.kernel.scan import scan_text
from trueval.files.trec.long_rows import is_number
from trueval.files.trec.row_forms import RowForm, find_row_form, first_fields, settle_third_column
from trueval.files.trec.separators import count_rows
from trueval.threads import in_threads

DEL = 0x7F
REGULAR = MemoryCost(3.5, ((b"\n", 120),))  # measured: docs/files.md


class _Rows(NamedTuple):
    """The rows of one part, and whether they are visible ASCII characters only."""

    frame: pl.DataFrame
    plain: bool


def read_regular(text: LineParts, kind: Kind, facets: bool = False) -> RowTable | None:
    """Read a regular text with the columns of read_trec.

    Args:
        text: parts of the text.
        kind: required kind of the text.
        facets: whether to keep the second column of judgments as the facet.

    Returns:
        The rows; None if the text is not regular, or has any error.

    Raises:
        InputError: the third of three columns is that of the other kind, or the rows take more memory than they may.
    """
    head, form, fields = text.head, None, []
    with suppress(InputError):  # the grammar reader reports the error
        fields = first_fields(head)
        form = find_row_form(fields, kind, head.source, facets)
    line = head.data[: head.data.find(b"\n") + 1] or head.data
    tabs, spaces = b"\t" in line, b" " in line
    if form is None or tabs == spaces:
        return None
    # If the first tag is a number, or text follows it, long_rows must check every line.
    if form.text_may_follow and (len(fields) > 6 or (len(fields) == 6 and is_number(fields[5]))):
        return None
    separator = "\t" if tabs else " "
    if (scanned := scan_text(text, separator, form)) is not None:
        return _settle(*scanned, kind, form, head.source)
    check_memory(_cost(text), Place(head.source))
    irregular = Event()  # after one irregular part, later ones need not be parsed

    def parse(part: slice) -> _Rows | None:
        rows = None if irregular.is_set() else _parse_part(text.read(part), separator, form, len(fields))
        if rows is None:
            irregular.set()
        return rows

    whole = [rows for rows in in_threads(parse, text.cut(PART)) if rows is not None]
    if irregular.is_set():
        return None
    frame, notes = settle_third_column(pl.concat(part.frame for part in whole), form, head.source)
    plain = all(part.plain for part in whole)
    return RowTable(in_canonical_order(frame), head.source, count_lines_from_one, notes, plain)


def _cost(text: LineParts) -> int:
    """What rows of polars take; the text is not held, but for its ids."""
    return sum(REGULAR.of(text.look(part)) for part in text.cut(PART))


def _settle(documents: pl.DataFrame, stretches: Stretches, kind: Kind, form: RowForm, source: str) -> RowTable:
    """Make a table from the kernel's result; the query column is built only if needed."""
    if kind == "run" and not form.third_is_rank_or_score:
        return RowTable(documents, source, count_lines_from_one, plain=True, stretches=stretches)
    frame, notes = settle_third_column(stretches.before(documents), form, source)
    return RowTable(in_canonical_order(frame), source, count_lines_from_one, notes, plain=True)


def _parse_part(text: bytes, separator: str, form: RowForm, width: int) -> _Rows | None:
    """Parse the needed columns; None if a line is a comment, or not one row with every field, or says anything odd."""
    # Check first for what polars would silently repair: it fills narrow lines, truncates wide ones and skips empty
    # ones.
    rows = count_rows(text, separator, width)
    if rows is None or find_long_line(text) is not None:
        return None
    plain = bool(np.frombuffer(text, np.uint8).max() < DEL)  # count_rows has found no other control characters
    columns = [name for name in CANONICAL_COLUMNS if name in form.needed]
    frame = parse_rows(text, separator, form, columns=columns)
    if frame is None or frame.height != rows or has_nulls(frame) or (not plain and BOM in text):
        return None
    has_comments = b"#" in text and frame["query_id"].str.starts_with("#").any()
    return None if has_comments or _loses_values(frame, text, separator, form) else _Rows(frame, plain)


def has_nulls(frame: pl.DataFrame) -> bool:
    """Tell whether a field of any row is missing.

    >>> has_nulls(pl.DataFrame({"score": [1.0, None]}))
    True
    """
    return any(frame[name].null_count() for name in frame.columns)


def _loses_values(frame: pl.DataFrame, text: bytes, separator: str, form: RowForm) -> bool:
    """Check the numbers as written if some are infinite, 0 or large, and may have lost their value."""
    numbers = frame[form.numbers[0]]
    if not may_have_lost_values(numbers):
        return False
    written = parse_rows(text, separator, form, columns=[numbers.name], strings=True)
    return written is None or loses_values(numbers, written[numbers.name])


def parse_rows(
    text: bytes, separator: str, form: RowForm, *, columns: Sequence[str], strings: bool = False, more: bool = False
) -> pl.DataFrame | None:
    """Parse some columns; None if polars cannot.

    Args:
        text: lines of fields.
        separator: separator of the fields.
        form: form of the rows.
        strings: whether to keep numbers as written.
        more: whether a line may have more fields than the first.
    """
    types = {} if strings else form.types
    schema = {name: types.get(name, pl.String) for name in form.names}
    try:
        return (
            pl.scan_csv(
                prevent_decompression(text), separator=separator, has_header=False, quote_char=None, schema=schema,
                truncate_ragged_lines=more,
            )
            .select(columns)
            .collect()
        )  # fmt: skip
    except pl.exceptions.PolarsError:
        return None
