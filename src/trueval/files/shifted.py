"""Lines of a run with more fields than a row has: text after the run tag, or a row whose columns are shifted.

A lost newline puts two rows on one line, and a blank inside an id moves every later field: the score is then read from
the rank. Both look like text after the run tag, which trec_eval allows.
"""

from __future__ import annotations

import re

from trueval.errors import InputError
from trueval.files.blanks import RegularText
from trueval.files.layout import RUN_WORDS
from trueval.files.table import Table
from trueval.files.text import line_at, shown

__all__ = ["is_number", "refuse_cut_line", "refuse_shifted_rows"]

NUMBER = rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
IS_NUMBER = re.compile(NUMBER)
INTEGER = rb"[+-]?\d+"
FIELD = rb"[^ \n]+"
FIVE_FIELDS = rb"^(?:" + FIELD + rb" ){5}"
NUMBER_AFTER_SCORE = re.compile(FIVE_FIELDS + NUMBER + rb" ", re.MULTILINE)
NUMBER_AT_END = re.compile(FIVE_FIELDS + NUMBER + rb"$", re.MULTILINE)
NO_RANK = re.compile(
    rb"^(?:" + FIELD + rb" ){3}(?!" + NUMBER + rb" )" + FIELD + rb" " + NUMBER + rb" " + NUMBER + rb"(?: |$)",
    re.MULTILINE,
)
ROW_WIDTHS = (5, 6)  # without and with a run tag


def is_number(field: str) -> bool:
    """Tell a number, such as a score, from the word that a run tag is.

    >>> is_number("-1.5e3"), is_number("bm25")
    (True, False)
    """
    return IS_NUMBER.fullmatch(field.encode()) is not None


def refuse_shifted_rows(regular: RegularText, second: str, table: Table) -> None:
    """Refuse a row whose fields are shifted by a blank inside an id, and a line that holds two rows.

    Args:
        regular: a run with one blank between fields.
        second: what the second column holds in the first row, such as Q0.
        table: knows the line of each row.

    Raises:
        InputError: a number stands where the run tag should, or text after the tag is a whole row.
    """
    widest = int(regular.widths.max(initial=0))
    if widest > ROW_WIDTHS[1]:
        _refuse(regular, NUMBER_AFTER_SCORE, table, SHIFTED)
        _refuse(regular, _row_inside(second), table, JOINED)
    if widest >= ROW_WIDTHS[1] and int(regular.widths.min()) == ROW_WIDTHS[0]:
        _refuse(regular, NUMBER_AT_END, table, SHIFTED)
    _refuse(regular, NO_RANK, table, SHIFTED)


SHIFTED = (
    "a number after the score, where the run tag should be. An id may hold a blank and move the later fields. Write "
    "csv with a header line, or take the blank out"
)
JOINED = "two rows on one line. A newline was lost. Correct the line"


def _row_inside(second: str) -> re.Pattern[bytes]:
    words = re.escape(second.encode()) + rb" " + FIELD + rb" " + INTEGER + rb" " + NUMBER + rb"(?: |$)"
    return re.compile(FIVE_FIELDS + rb"(?:[^\n]* )?" + words, re.MULTILINE)


def _refuse(regular: RegularText, pattern: re.Pattern[bytes], table: Table, reason: str) -> None:
    found = pattern.search(regular.text)
    if found is None:
        return
    row = regular.text.count(b"\n", 0, found.start())
    line = regular.text[found.start() : regular.text.find(b"\n", found.start())]
    raise table.error(row, f"{reason} ({shown(line)}). It must be: {RUN_WORDS}.")


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
        raise InputError(
            f"{source}:{line_at(data, len(data))}: the file ends in the middle of a line ({shown(last)}), and its "
            "score may be cut. Copy or write it again to the end, or remove the line."
        )
