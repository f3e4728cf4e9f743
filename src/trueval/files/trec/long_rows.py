"""Lines of a run with more fields than a row has: text after the run tag, or a row whose columns are shifted.

A lost newline puts two rows on one line, and a space inside an id shifts every later field: the score is then read from
the rank. Both look like text after the run tag, which is allowed.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trueval.errors import InputError, Place
from trueval.files.frame import RowTable
from trueval.files.source.decompression import prevent_decompression
from trueval.files.source.encoding import line_at, quote_line
from trueval.files.trec.row_forms import RUN_WORDS
from trueval.files.trec.separators import RegularText

NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
IS_NUMBER = re.compile(NUMBER)
COLUMNS = ("query_id", "iteration", "doc_id", "rank", "score", "tag")
ROW_WIDTHS = (5, 6)  # without and with a run tag


def is_number(field: str) -> bool:
    """Tell a number, such as a score, from the word that a run tag is.

    >>> is_number("-1.5e3"), is_number("bm25")
    (True, False)
    """
    return IS_NUMBER.fullmatch(field) is not None


def refuse_shifted_rows(regular: RegularText, second: str, table: RowTable) -> None:
    """Refuse a row whose fields are shifted by a space inside an id, and a line with two rows.

    Args:
        second: second column of the first row, such as Q0.
        table: table with the line of each row.

    Raises:
        InputError: a number is where the run tag should be, or text after the tag is a whole row.
    """
    widths = regular.widths
    if widths[0] == ROW_WIDTHS[0] and widths.max() > widths[0]:
        # polars assumes the width of the first row for all, and would not see the tags of the others.
        _refuse_match(rf"^(?:[^ \n]+ ){{5}}{NUMBER}(?: |$)", regular.text, table, SHIFTED)
    elif widths[0] > ROW_WIDTHS[0]:
        # Some tags are numbers. One is not a tag where lines differ in width, or where its rank is not a number.
        numeric = _are_numbers(_column(regular.text, "tag", int(widths[0])))
        other = (widths > ROW_WIDTHS[1]) | (widths.min() == ROW_WIDTHS[0])
        if numeric.any():
            ranked = _are_numbers(_column(regular.text, "rank", int(widths[0])))
            wrong = numeric & (other | ~ranked)
            if wrong.any():
                raise _error(int(wrong.argmax()), regular.text, table, SHIFTED)
    if widths.max() >= 2 * ROW_WIDTHS[0]:
        # The query of the second row may be joined to the tag of the first, so the second field must follow.
        row = rf" {re.escape(second)} [^ \n]+ [+-]?[0-9]+ {NUMBER}(?: |$)"
        _refuse_match(rf"^(?:[^ \n]+ ){{5}}[^\n]*{row}", regular.text, table, JOINED)


def _column(text: bytes, name: str, width: int) -> pl.Series:
    schema = dict.fromkeys((*COLUMNS, *(f"text{place}" for place in range(len(COLUMNS), width))), pl.String)
    options: dict[str, Any] = {"has_header": False, "quote_char": None, "truncate_ragged_lines": True}
    return (
        pl.scan_csv(prevent_decompression(text), separator=" ", schema=schema, **options).select(name).collect()[name]
    )


def _are_numbers(texts: pl.Series) -> NDArray[np.bool_]:
    return texts.str.contains(f"^{NUMBER}$").fill_null(value=False).to_numpy()


SHIFTED = (
    "a number after the score, where the run tag should be. An id may hold a space and move the later fields. Write "
    "csv with a header line, or take the space out"
)
JOINED = "two rows on one line. A newline was lost. Correct the line"


def _error(row: int, text: bytes, table: RowTable, reason: str) -> InputError:
    return table.error(row, f"{reason} ({quote_line(row_of(text, row))}). It must be: {RUN_WORDS}.")


def _refuse_match(pattern: str, text: bytes, table: RowTable, reason: str) -> None:
    found = re.compile(pattern.encode(), re.MULTILINE).search(text)
    if found is not None:
        raise _error(text.count(b"\n", 0, found.start()), text, table, reason)


def row_of(text: bytes, row: int) -> bytes:
    r"""Give a row of a regular text.

    >>> row_of(b"a b\nc d\n", 1)
    b'c d'
    """
    start = 0
    for _ in range(row):
        start = text.index(b"\n", start) + 1
    return text[start : text.index(b"\n", start)]


def refuse_cut_line(data: bytes, width: int, source: str) -> None:
    """Refuse a last line that ends after the score, without a newline, where the first line has a run tag.

    The file was cut, and the score may have lost digits.

    Raises:
        InputError: the last line is such a line.
    """
    if data.endswith(b"\n") or width < ROW_WIDTHS[1]:
        return
    last = data[data.rfind(b"\n") + 1 :]
    fields = last.split()
    if len(fields) == ROW_WIDTHS[0] and not fields[0].startswith(b"#"):
        raise Place(source, line_at(data, len(data))).error(
            f"the file ends in the middle of a line ({quote_line(last)}), and its score may be cut. "
            "Copy or write it again to the end, or remove the line."
        )
