"""TREC text made regular: one blank between fields, no empty or comment lines, and the true line of every row."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["RegularText", "count_rows", "make_regular"]

CHUNK = 1 << 22  # bytes; a few copies of a chunk fit in the processor's cache
SMALL_CHUNK = 1 << 19  # bytes; for passes that keep little
LAST_BLANK = 32  # the space; all below are blanks and control characters
BLANKS_TO_SPACE = bytes.maketrans(b"\t\r\v\f", b"    ")
SPACE, NEWLINE, HASH = b" \n#"


class RegularText(NamedTuple):
    """Text with one blank between fields.

    Args:
        text: lines that are neither empty nor comments, each ending in a newline.
        lines: [rows] the line (from 1) that each row has in the source.
        widths: [rows] the number of fields.
    """

    text: bytes
    lines: NDArray[np.int64]
    widths: NDArray[np.int32]


def make_regular(data: bytes) -> RegularText:
    r"""Collapse blanks and drop empty lines and comment lines, as trec_eval 10 reads them.

    A comment is a line whose first character after blanks is "#"; a "#" inside an id is part of the id.

    >>> regular = make_regular(b"# note\n\n 1\t Q0  d#1 \r\n2 Q0 d2")
    >>> regular.text, regular.lines.tolist()
    (b'1 Q0 d#1\n2 Q0 d2\n', [3, 4])
    """
    if b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    joined, lines, widths, before = io.BytesIO(), [np.empty(0, np.int64)], [np.empty(0, np.int32)], 0
    for chunk in _chunks_of_lines(data):
        text = _collapse_blanks(chunk)
        ends = np.flatnonzero(text == NEWLINE)
        starts = np.concatenate(([0], ends[:-1] + 1))
        kept = (ends > starts) & (text[starts] != HASH)
        joined.write((text if kept.all() else text[np.repeat(kept, ends + 1 - starts)]).data)
        lines.append(np.flatnonzero(kept) + (before + 1))
        widths.append(_count_fields(text, ends)[kept])
        before += len(ends)
    return RegularText(joined.getvalue(), np.concatenate(lines), np.concatenate(widths))


def _count_fields(text: NDArray[np.uint8], ends: NDArray[np.int64]) -> NDArray[np.int32]:
    blanks = np.searchsorted(np.flatnonzero(text == SPACE), ends)
    return (np.diff(blanks, prepend=0) + 1).astype(np.int32)


def count_rows(data: bytes, separator: str, width: int) -> int | None:
    r"""Count the lines if every one has the same number of fields, one separator between them and no other blank.

    Parsers of csv fill narrow lines and cut wide ones silently.

    Returns:
        the lines; None if one has other fields or blanks, or ends in another way than the first.

    >>> count_rows(b"a b\nc d\n", " ", 2), count_rows(b"a b\nc d e\n", " ", 2), count_rows(b"a b\nc\td\n", " ", 2)
    (2, None, None)
    """
    end = b"\r\n" if data[: data.find(b"\n") + 1].endswith(b"\r\n") else b"\n"
    line = separator.encode() * (width - 1) + end
    text, before, adjacent = np.frombuffer(data, np.uint8), 0, 0
    marks_must_be = np.frombuffer(line * (min(len(text), SMALL_CHUNK) // len(line) + 2), np.uint8)
    for start in range(0, len(text), SMALL_CHUNK):
        chunk = text[start : start + SMALL_CHUNK + 1]  # with the first byte of the next chunk
        is_mark = chunk <= LAST_BLANK
        adjacent += int(np.count_nonzero(is_mark[1:] & is_mark[:-1]))
        marks = chunk[np.flatnonzero(is_mark[:SMALL_CHUNK])]
        phase = before % len(line)
        if not np.array_equal(marks, marks_must_be[phase : phase + len(marks)]):
            return None
        before += len(marks)
    if data.endswith(separator.encode()):  # the file was cut before its last field
        return None
    rows, rest = divmod(before + (0 if data.endswith(b"\n") else len(end)), len(line))
    ends_alone = rows - (not data.endswith(b"\n"))
    return rows if rest == 0 and adjacent == ends_alone * (len(end) - 1) else None


def _chunks_of_lines(text: bytes) -> Iterator[NDArray[np.uint8]]:
    start = 0
    while start < len(text):
        stop = text.find(b"\n", start + CHUNK) + 1 or len(text)
        chunk = text[start:stop].translate(BLANKS_TO_SPACE)
        yield np.frombuffer(chunk if chunk.endswith(b"\n") else chunk + b"\n", np.uint8)
        start = stop


def _collapse_blanks(text: NDArray[np.uint8]) -> NDArray[np.uint8]:
    blank = text == SPACE
    after_edge = np.empty(len(text), bool)
    after_edge[0] = True
    np.logical_or(blank[:-1], text[:-1] == NEWLINE, out=after_edge[1:])
    text = text[~(blank & after_edge)]
    before_newline = np.zeros(len(text), bool)
    np.equal(text[1:], NEWLINE, out=before_newline[:-1])
    kept: NDArray[np.uint8] = text[~((text == SPACE) & before_newline)]
    return kept
