"""Text without a header line: TREC runs and judgments, MS MARCO runs of three columns."""

from __future__ import annotations

from functools import partial

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trueval.errors import InputError
from trueval.files.blanks import make_regular
from trueval.files.content import Content, decoding_error
from trueval.files.layout import Layout, find_layout, first_fields, ranks_or_scores, refuse_ranks
from trueval.files.table import Kind, Table, count_lines_from_one, in_canonical_order

__all__ = ["read_trec"]

OTHER_BLANKS = (b"\r", b"\v", b"\f")


def read_trec(content: Content, kind: Kind, facets: bool = False) -> Table:
    """Read `query iteration document rank score tag`, `query document rank`, or `query iteration document grade`.

    Source: trec_eval 10 for blanks, comment lines and text after the tag.
    A text with one separator throughout is parsed as it is; any other is made regular first.

    Args:
        content: text.
        kind: what the text must be.
        facets: keep the second column of judgments as the facet.

    Raises:
        InputError: a field is missing, a number does not parse, or the columns are those of the other kind.
    """
    layout = find_layout(first_fields(content), kind, content.source, facets)
    separator = _only_separator(content.data)
    frame = None if separator is None else _parse(content.data, separator, layout)
    if frame is not None and _is_whole(frame, content.data):
        return _finish(frame, layout, Table(pl.DataFrame(), content.source, count_lines_from_one))
    regular = make_regular(content.data)
    table = Table(pl.DataFrame(), content.source, partial(_true_line, regular.lines))
    frame = _parse(regular.text, " ", layout)
    if frame is None or frame.height != len(regular.lines) or _has_nulls(frame):
        frame = _parse_with_care(regular.text, layout, table, content)
    return _finish(frame, layout, table)


def _true_line(lines: NDArray[np.int64], row: int) -> int:
    return int(lines[row])


def _only_separator(data: bytes) -> str | None:
    if any(blank in data for blank in OTHER_BLANKS):
        return None
    tabs, spaces = b"\t" in data, b" " in data
    return None if tabs == spaces else "\t" if tabs else " "


def _parse(text: bytes, separator: str, layout: Layout, as_strings: bool = False) -> pl.DataFrame | None:
    types = {} if as_strings else layout.types
    schema = {name: types.get(name, pl.String) for name in layout.names}
    try:
        return (
            pl.scan_csv(
                text, separator=separator, has_header=False, quote_char=None, schema=schema,
                truncate_ragged_lines=layout.text_may_follow,
            )
            .select(layout.needed)
            .collect()
        )  # fmt: skip
    except pl.exceptions.PolarsError:
        return None


def _has_nulls(frame: pl.DataFrame) -> bool:
    return any(frame[name].null_count() for name in frame.columns)


def _is_whole(frame: pl.DataFrame, data: bytes) -> bool:
    """Check that every line became one row with every field, and that no row is a comment."""
    lines = data.count(b"\n") + (not data.endswith(b"\n"))
    if frame.height != lines or _has_nulls(frame):
        return False
    queries = frame["query_id"].rle().struct.field("value")
    return not queries.str.starts_with("#").any()


def _parse_with_care(text: bytes, layout: Layout, table: Table, content: Content) -> pl.DataFrame:
    """Find the row at fault; or, where only ranks do not parse, read the rest."""
    if (error := decoding_error(content)) is not None:
        raise error
    _refuse_wrong_width(text, layout, table)
    strings = _parse(text, " ", layout, as_strings=True)
    if strings is None:
        raise InputError(f"{table.source}: the text cannot be read as {layout.words}.")
    numbers = strings.with_columns(
        pl.col(name).cast(kind, strict=False) for name, kind in layout.types.items() if name in strings.columns
    )
    for name in layout.numbers:
        if (row := numbers[name].is_null().arg_max()) is not None and numbers[name][row] is None:
            raise table.error(
                row,
                f"the {name} {strings[name][row]!r} of document {strings['doc_id'][row]!r} is not a number. "
                f"Each line must be: {layout.words}. Correct the line.",
            )
    return numbers


def _refuse_wrong_width(text: bytes, layout: Layout, table: Table) -> None:
    data = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(data == ord("\n"))
    widths = np.diff(np.searchsorted(np.flatnonzero(data == ord(" ")), ends), prepend=0) + 1
    wrong = (widths < layout.fewest) if layout.text_may_follow else (widths != layout.fewest)
    if wrong.any():
        row = int(wrong.argmax())
        line = text[ends[row - 1] + 1 if row else 0 : ends[row]].decode()
        raise table.error(
            row, f"{widths[row]} fields ({line[:80]!r}). It must be: {layout.words}. Correct or remove the line."
        )


def _finish(frame: pl.DataFrame, layout: Layout, table: Table) -> Table:
    notes: tuple[str, ...] = ()
    if "rank" in frame.columns and frame["rank"].null_count():
        row = int(frame["rank"].is_null().arg_max() or 0)
        frame, notes = (
            frame.drop("rank"),
            (f"{table.place(row)}: a rank is not an integer, so the rank column is not used",),
        )
    if layout.third_is_rank_or_score:
        frame, notes = ranks_or_scores(frame, table.source)
    if layout.names == ("query_id", "doc_id", "grade"):
        refuse_ranks(frame, table.source)
    return Table(in_canonical_order(frame), table.source, table.line, notes)
