"""Text without a header line that is regular as it stands: the separators of its first line throughout.

Such a text is parsed part by part as it is read, so that it is never held as a whole: by the compiled kernel where it
can (scan.py), else by polars. Whatever is not regular is left to trec.py, which gives the same rows for a regular text,
and knows what is wrong with a bad one.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from threading import Event
from typing import NamedTuple

import numpy as np
import polars as pl

from trueval.errors import InputError
from trueval.files.columns import loses_values, may_have_lost
from trueval.files.frame import CANONICAL_COLUMNS, Kind, Stretches, Table, count_lines_from_one, in_canonical_order
from trueval.files.source.content import BOM
from trueval.files.source.encoding import find_long_line
from trueval.files.source.lines import PART, LineParts
from trueval.files.source.packing import shielded
from trueval.files.trec.kernel.scan import scan_text
from trueval.files.trec.long_rows import is_number
from trueval.files.trec.row_forms import Layout, find_layout, first_fields, settle_third_column
from trueval.files.trec.separators import count_rows
from trueval.threads import in_threads

__all__ = ["has_nulls", "parse_rows", "read_regular"]

DEL = 0x7F


class _Rows(NamedTuple):
    """The rows of one part, and whether they are visible ASCII characters only."""

    frame: pl.DataFrame
    plain: bool


def read_regular(text: LineParts, kind: Kind, facets: bool = False) -> Table | None:
    """Read a regular text with the columns of read_trec.

    Args:
        text: in parts.
        kind: what the text must be.
        facets: keep the second column of judgments as the facet.

    Returns:
        the rows; None if the text is not regular, or anything in it is wrong.

    Raises:
        InputError: the third of three columns is that of the other kind.
    """
    head, layout, fields = text.head, None, []
    with suppress(InputError):
        fields = first_fields(head)
        layout = find_layout(fields, kind, head.source, facets)
    separator = _first_separator(head.data)
    if layout is None or separator is None or _may_be_shifted(fields, layout):
        return None
    if (scanned := scan_text(text, separator, layout)) is not None:
        return _settle(*scanned, kind, layout, head.source)
    irregular = Event()

    def parse(part: slice) -> _Rows | None:
        rows = None if irregular.is_set() else _parse_part(text.read(part), separator, layout, len(fields))
        if rows is None:
            irregular.set()
        return rows

    whole = [rows for rows in in_threads(parse, text.cut(PART)) if rows is not None]
    if irregular.is_set():
        return None
    frame, notes = settle_third_column(pl.concat(part.frame for part in whole), layout, head.source)
    plain = all(part.plain for part in whole)
    return Table(in_canonical_order(frame), head.source, count_lines_from_one, notes, plain)


def _settle(documents: pl.DataFrame, stretches: Stretches, kind: Kind, layout: Layout, source: str) -> Table:
    """Make a table of what the kernel read; a column of queries only where somebody will look at it."""
    if kind == "run" and not layout.third_is_rank_or_score:
        return Table(documents, source, count_lines_from_one, plain=True, stretches=stretches)
    frame, notes = settle_third_column(stretches.before(documents), layout, source)
    return Table(in_canonical_order(frame), source, count_lines_from_one, notes, plain=True)


def _may_be_shifted(fields: Sequence[str], layout: Layout) -> bool:
    """Tell whether the run tag of the first line is a number, or text follows it."""
    return layout.text_may_follow and (len(fields) > 6 or (len(fields) == 6 and is_number(fields[5])))


def _first_separator(data: bytes) -> str | None:
    """Tell what stands between the fields of the first line; None if both tabs and spaces, or neither, do."""
    line = data[: data.find(b"\n") + 1] or data
    tabs, spaces = b"\t" in line, b" " in line
    return None if tabs == spaces else "\t" if tabs else " "


def _parse_part(text: bytes, separator: str, layout: Layout, width: int) -> _Rows | None:
    """Parse the needed columns; None if a line is a comment, or not one row with every field, or says anything odd."""
    rows = count_rows(text, separator, width)
    if rows is None or find_long_line(text) is not None:
        return None
    plain = bool(np.frombuffer(text, np.uint8).max() < DEL)
    columns = [name for name in CANONICAL_COLUMNS if name in layout.needed]
    frame = parse_rows(text, separator, layout, columns=columns)
    if frame is None or frame.height != rows or has_nulls(frame) or (not plain and BOM in text):
        return None
    odd = (b"#" in text and _has_comments(frame)) or _loses_values(frame, text, separator, layout)
    return None if odd else _Rows(frame, plain)


def _has_comments(frame: pl.DataFrame) -> bool:
    return bool(frame["query_id"].str.starts_with("#").any())


def has_nulls(frame: pl.DataFrame) -> bool:
    """Tell whether a field of any row is missing.

    >>> has_nulls(pl.DataFrame({"score": [1.0, None]}))
    True
    """
    return any(frame[name].null_count() for name in frame.columns)


def _loses_values(frame: pl.DataFrame, text: bytes, separator: str, layout: Layout) -> bool:
    """Parse the numbers again as they are written where some are infinite or 0, which may have been something else."""
    numbers = frame[layout.numbers[0]]
    if not may_have_lost(numbers):
        return False
    written = parse_rows(text, separator, layout, columns=[numbers.name], strings=True)
    return written is None or loses_values(numbers, written[numbers.name])


def parse_rows(
    text: bytes, separator: str, layout: Layout, *, columns: Sequence[str], strings: bool = False, more: bool = False
) -> pl.DataFrame | None:
    """Parse some columns; None if polars cannot.

    Args:
        text: lines of fields.
        separator: what stands between them.
        layout: the columns.
        columns: those to give.
        strings: whether numbers stay as they are written.
        more: a line may have more fields than the first.
    """
    types = {} if strings else layout.types
    schema = {name: types.get(name, pl.String) for name in layout.names}
    try:
        return (
            pl.scan_csv(
                shielded(text), separator=separator, has_header=False, quote_char=None, schema=schema,
                truncate_ragged_lines=more,
            )
            .select(columns)
            .collect()
        )  # fmt: skip
    except pl.exceptions.PolarsError:
        return None
