"""Text without a header line: TREC runs and judgments, MS MARCO runs of three columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trueval.errors import InputError
from trueval.files.blanks import RegularText, count_rows, make_regular
from trueval.files.columns import lost_values, may_have_lost
from trueval.files.content import Content
from trueval.files.layout import MOST_FIELDS, Layout, find_layout, first_fields, ranks_or_scores, refuse_ranks
from trueval.files.parts import byte_parts, in_threads, line_parts
from trueval.files.shifted import is_number, refuse_cut_line, refuse_shifted_rows, row_of
from trueval.files.table import Kind, Table, count_lines_from_one, in_canonical_order
from trueval.files.text import decoding_error, shown

__all__ = ["read_trec"]

DEL = 0x7F


def read_trec(content: Content, kind: Kind, facets: bool = False) -> Table:
    """Read `query iteration document rank score tag`, `query document rank`, or `query iteration document grade`.

    Source: trec_eval 10 for blanks, comment lines and text after the tag.
    A text with the separators of its first line throughout is parsed as it is; any other is made regular first.

    Args:
        content: text.
        kind: what the text must be.
        facets: keep the second column of judgments as the facet.

    Raises:
        InputError: a field is missing, a number does not parse, or the columns are those of the other kind.
    """
    fields = first_fields(content)
    layout = find_layout(fields, kind, content.source, facets)
    if layout.text_may_follow:
        refuse_cut_line(content.data, len(fields), content.source)
    separator = None if _may_be_shifted(fields, layout) else _first_separator(content.data)
    if separator is not None:
        frame = _parse_parts(content.data, separator, layout, len(fields))
        if frame is not None:
            return _finish(frame, layout, _Text(content.data, separator, content.source, count_lines_from_one))
    return _read_with_care(content, layout, fields)


def _may_be_shifted(fields: Sequence[str], layout: Layout) -> bool:
    """Tell whether the run tag of the first line is a number, or text follows it."""
    return layout.text_may_follow and (len(fields) > 6 or (len(fields) == 6 and is_number(fields[5])))


class _Text(NamedTuple):
    """The text that a frame was parsed from."""

    data: bytes
    separator: str
    source: str
    line: Callable[[int], int]


def _read_with_care(content: Content, layout: Layout, fields: Sequence[str]) -> Table:
    if (error := decoding_error(content)) is not None:
        raise error
    regular = make_regular(content.data)
    text = _Text(regular.text, " ", content.source, partial(_true_line, regular.lines))
    table = Table(pl.DataFrame(), content.source, text.line)
    _refuse_wrong_width(regular, layout, table)
    if layout.text_may_follow:
        refuse_shifted_rows(regular, fields[1], table)
    frame = _parse(regular.text, " ", layout, columns=layout.needed, more=True)
    if frame is None or frame.height != len(regular.lines) or _has_nulls(frame):
        frame = _parse_numbers_apart(text, layout, table)
    return _finish(frame, layout, text)


def _true_line(lines: NDArray[np.int64], row: int) -> int:
    return int(lines[row])


def _first_separator(data: bytes) -> str | None:
    """Tell what stands between the fields of the first line; None if both tabs and spaces, or neither, do."""
    line = data[: data.find(b"\n") + 1] or data
    tabs, spaces = b"\t" in line, b" " in line
    return None if tabs == spaces else "\t" if tabs else " "


def _parse(
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
                text, separator=separator, has_header=False, quote_char=None, schema=schema,
                truncate_ragged_lines=more,
            )
            .select(columns)
            .collect()
        )  # fmt: skip
    except pl.exceptions.PolarsError:
        return None


def _has_nulls(frame: pl.DataFrame) -> bool:
    return any(frame[name].null_count() for name in frame.columns)


def _parse_parts(text: bytes, separator: str, layout: Layout, width: int) -> pl.DataFrame | None:
    """Parse the needed columns, part by part; None if a line is a comment, or not one row with every field."""

    def parse_part(lines: slice) -> pl.DataFrame | None:
        part = text[lines]
        rows = count_rows(part, separator, width)
        frame = None if rows is None else _parse(part, separator, layout, columns=layout.needed)
        if frame is None or frame.height != rows or _has_nulls(frame) or _has_comments(frame):
            return None
        return frame

    frames = in_threads(parse_part, line_parts(text))
    whole = [frame for frame in frames if frame is not None]
    if not whole or len(whole) < len(frames):
        return None
    return pl.concat(whole)


def _has_comments(frame: pl.DataFrame) -> bool:
    return bool(frame["query_id"].rle().struct.field("value").str.starts_with("#").any())


def _parse_numbers_apart(text: _Text, layout: Layout, table: Table) -> pl.DataFrame:
    """Find the row at fault; or, where only ranks do not parse, read the rest."""
    frame = _parse(text.data, text.separator, layout, columns=layout.needed, strings=True, more=True)
    if frame is None:
        raise InputError(f"{table.source}: the text cannot be read as {layout.words}.")
    for name, kind in layout.types.items():
        if name not in frame.columns:
            continue
        numbers = frame[name].cast(kind, strict=False)
        if name in layout.numbers and numbers.null_count():
            row = int(numbers.is_null().arg_max() or 0)
            raise table.error(
                row,
                f"the {name} {frame[name][row]!r} of document {frame['doc_id'][row]!r} is not a number. "
                f"Each line must be: {layout.words}. Correct the line.",
            )
        frame = frame.with_columns(numbers)
    return frame


def _refuse_wrong_width(regular: RegularText, layout: Layout, table: Table) -> None:
    most = MOST_FIELDS if layout.text_may_follow else layout.fewest
    wrong = (regular.widths < layout.fewest) | (regular.widths > most)
    if wrong.any():
        row = int(wrong.argmax())
        line = row_of(regular.text, row)
        raise table.error(
            row,
            f"{regular.widths[row]} fields ({shown(line)}). It must be: {layout.words}. Correct or remove the line.",
        )


def _finish(frame: pl.DataFrame, layout: Layout, text: _Text) -> Table:
    table = Table(frame, text.source, text.line)
    name = layout.numbers[0]
    notes = _lost_values(frame[name], text, layout, table)
    if "rank" in frame.columns and frame["rank"].null_count():
        row = int(frame["rank"].is_null().arg_max() or 0)
        frame = frame.drop("rank")
        notes += (f"{table.place(row)}: a rank is not an integer, so the rank column is not used",)
    if layout.third_is_rank_or_score:
        frame, more = ranks_or_scores(frame, table.source)
        notes += more
    if layout.names == ("query_id", "doc_id", "grade"):
        refuse_ranks(frame, table.source)
    return Table(in_canonical_order(frame), table.source, table.line, notes, _is_plain(text.data))


def _is_plain(data: bytes) -> bool:
    """Tell whether all is ASCII without DEL; check_text has refused other control characters."""
    codes = np.frombuffer(data, np.uint8)
    return all(in_threads(lambda part: bool(codes[part].max(initial=0) < DEL), byte_parts(len(codes))))


def _lost_values(numbers: pl.Series, text: _Text, layout: Layout, table: Table) -> tuple[str, ...]:
    """Parse the numbers again as they are written where some are infinite or 0, which may have been something else."""
    if not may_have_lost(numbers):
        return ()
    frame = _parse(text.data, text.separator, layout, columns=[numbers.name], strings=True, more=True)
    return () if frame is None else lost_values(numbers, frame[numbers.name], table)
