"""The careful reader: any text that the grammar allows, and for any other the line at fault and the reason."""

from __future__ import annotations

import numpy as np
import polars as pl

from trueval.errors import Place
from trueval.files.columns import check_lost_values, may_have_lost_values, refuse_equal_integers
from trueval.files.frame import Kind, RowTable, in_canonical_order
from trueval.files.source.encoding import find_decoding_error, quote_line
from trueval.files.source.line_parts import PART
from trueval.files.source.memory_estimate import MemoryCost, check_cost
from trueval.files.source.source_bytes import SourceBytes
from trueval.files.trec.long_rows import refuse_cut_line, refuse_shifted_rows, row_of
from trueval.files.trec.regular_reader import has_nulls, parse_rows
from trueval.files.trec.row_forms import MOST_FIELDS, RowForm, find_row_form, first_fields, settle_third_column
from trueval.files.trec.separators import RegularText, make_regular
from trueval.threads import in_threads

DEL = 0x7F
CAREFUL = MemoryCost(8.5, ((b"\n", 130),))  # measured: docs/files.md


def read_trec(content: SourceBytes, kind: Kind, facets: bool = False) -> RowTable:
    """Read text of the grammar in trueval.files.trec, after converting it to regular form.

    Args:
        content: text of the file.
        kind: required kind of the text.
        facets: whether to keep the second column of judgments as the facet.

    Raises:
        InputError: a field is missing, a number does not parse, or the columns are those of the other kind.
    """
    check_cost(CAREFUL, content.data, content.source)
    fields = first_fields(content)
    form = find_row_form(fields, kind, content.source, facets)
    if form.text_may_follow:
        refuse_cut_line(content.data, len(fields), content.source)
    if (error := find_decoding_error(content)) is not None:
        raise error
    regular = make_regular(content.data)
    lines = regular.lines  # so that the table keeps only these in memory, not the text
    table = RowTable(pl.DataFrame(), content.source, lambda row: int(lines[row]))
    _refuse_wrong_width(regular, form, table)
    if form.text_may_follow:
        refuse_shifted_rows(regular, fields[1], table)
    # Try the fast reader first, since a text that only had comments or double spaces is now regular.
    frame = parse_rows(regular.text, " ", form, columns=form.needed, more=True)
    if frame is None or frame.height != len(regular.lines) or has_nulls(frame):
        frame = _parse_numbers_apart(regular.text, form, table)
    return _finish(frame, regular.text, form, table)


def _parse_numbers_apart(text: bytes, form: RowForm, table: RowTable) -> pl.DataFrame:
    """Find the row at fault; or, where only ranks do not parse, read the rest."""
    frame = parse_rows(text, " ", form, columns=form.needed, strings=True, more=True)
    if frame is None:
        raise Place(table.source).error(f"the text cannot be read as {form.words}. Write it again, one row a line.")
    for name, kind in form.types.items():
        if name not in frame.columns:
            continue
        numbers = frame[name].cast(kind, strict=False)
        if name in form.numbers and numbers.null_count():
            row = int(numbers.is_null().arg_max() or 0)
            raise table.error(
                row,
                f"the {name} {frame[name][row]!r} of document {frame['doc_id'][row]!r} is not a number. "
                f"Each line must be: {form.words}. Correct the line.",
            )
        frame = frame.with_columns(numbers)
    return frame


def _refuse_wrong_width(regular: RegularText, form: RowForm, table: RowTable) -> None:
    most = MOST_FIELDS if form.text_may_follow else form.fewest
    wrong = (regular.widths < form.fewest) | (regular.widths > most)
    if wrong.any():
        row = int(wrong.argmax())
        line = row_of(regular.text, row)
        raise table.error(
            row,
            f"{regular.widths[row]} fields ({quote_line(line)}). It must be: {form.words}. Correct or remove the line.",
        )


def _finish(frame: pl.DataFrame, text: bytes, form: RowForm, table: RowTable) -> RowTable:
    numbers = frame[form.numbers[0]]
    notes: tuple[str, ...] = ()
    if may_have_lost_values(numbers):  # infinite, 0 or large values may have been written differently
        written = parse_rows(text, " ", form, columns=[numbers.name], strings=True, more=True)
        if written is not None:
            notes = check_lost_values(numbers, written[numbers.name], table)
            refuse_equal_integers(numbers, written[numbers.name], frame["query_id"], table)
    if "rank" in frame.columns and frame["rank"].null_count():
        row = int(frame["rank"].is_null().arg_max() or 0)
        frame = frame.drop("rank")
        notes += (f"{table.place(row)}: a rank is not an integer, so the rank column is not used",)
    frame, more = settle_third_column(frame, form, table.source)
    # check_text has refused all control characters except DEL and separators.
    chunks = np.array_split(np.frombuffer(text, np.uint8), -(-len(text) // PART))
    plain = all(in_threads(lambda chunk: bool(chunk.max() < DEL), chunks))
    return RowTable(in_canonical_order(frame), table.source, table.line, notes + more, plain)
