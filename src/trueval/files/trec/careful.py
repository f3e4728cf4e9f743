"""Text without a header line: TREC runs and judgments, MS MARCO runs of three columns."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trueval.errors import InputError
from trueval.files.columns import lost_values, may_have_lost
from trueval.files.frame import Kind, Table, in_canonical_order
from trueval.files.source.content import Content
from trueval.files.source.encoding import decoding_error, shown
from trueval.files.source.lines import PART
from trueval.files.trec.long_rows import refuse_cut_line, refuse_shifted_rows, row_of
from trueval.files.trec.regular import has_nulls, parse_rows
from trueval.files.trec.row_forms import MOST_FIELDS, Layout, find_layout, first_fields, settle_third_column
from trueval.files.trec.separators import RegularText, make_regular
from trueval.threads import in_threads

__all__ = ["read_trec"]

DEL = 0x7F


def read_trec(content: Content, kind: Kind, facets: bool = False) -> Table:
    """Read `query iteration document rank score tag`, `query document rank`, or `query iteration document grade`.

    Source: trec_eval 10 for blanks, comment lines and text after the tag.
    The text is made regular first; regular_text.py reads one that is regular as it stands, and gives the same rows.

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
    if (error := decoding_error(content)) is not None:
        raise error
    regular = make_regular(content.data)
    text = _Text(regular.text, content.source, partial(_true_line, regular.lines))
    table = Table(pl.DataFrame(), content.source, text.line)
    _refuse_wrong_width(regular, layout, table)
    if layout.text_may_follow:
        refuse_shifted_rows(regular, fields[1], table)
    frame = parse_rows(regular.text, " ", layout, columns=layout.needed, more=True)
    if frame is None or frame.height != len(regular.lines) or has_nulls(frame):
        frame = _parse_numbers_apart(text, layout, table)
    return _finish(frame, layout, text)


class _Text(NamedTuple):
    """The text that a frame was parsed from."""

    data: bytes
    source: str
    line: Callable[[int], int]


def _true_line(lines: NDArray[np.int64], row: int) -> int:
    return int(lines[row])


def _parse_numbers_apart(text: _Text, layout: Layout, table: Table) -> pl.DataFrame:
    """Find the row at fault; or, where only ranks do not parse, read the rest."""
    frame = parse_rows(text.data, " ", layout, columns=layout.needed, strings=True, more=True)
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
    frame, more = settle_third_column(frame, layout, table.source)
    return Table(in_canonical_order(frame), table.source, table.line, notes + more, _is_plain(text.data))


def _is_plain(data: bytes) -> bool:
    """Tell whether all is ASCII without DEL; check_text has refused other control characters."""
    chunks = np.array_split(np.frombuffer(data, np.uint8), -(-len(data) // PART))
    return all(in_threads(lambda chunk: bool(chunk.max() < DEL), chunks))


def _lost_values(numbers: pl.Series, text: _Text, layout: Layout, table: Table) -> tuple[str, ...]:
    """Parse the numbers again as they are written where some are infinite or 0, which may have been something else."""
    if not may_have_lost(numbers):
        return ()
    frame = parse_rows(text.data, " ", layout, columns=[numbers.name], strings=True, more=True)
    return () if frame is None else lost_values(numbers, frame[numbers.name], table)
