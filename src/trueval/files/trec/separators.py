"""TREC text made regular: one space between fields, no empty or comment lines, and the true line of every row.

Everything here is passes of NumPy over bytes, chunk by chunk: a loop over lines in Python would take far longer.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

CHUNK = 1 << 22  # bytes per chunk, of which a few copies fit in the processor's cache
SMALL_CHUNK = 1 << 19  # bytes per chunk for passes that keep little
LAST_SEPARATOR = 32  # the space; all below are separators, line ends and control characters
SEPARATORS_TO_SPACE = bytes.maketrans(b"\t\r\v\f", b"    ")
SPACE, NEWLINE, HASH = b" \n#"


class RegularText(NamedTuple):
    """Text with one space between fields.

    Args:
        text: lines that are neither empty nor comments, each ending in a newline.
        lines: [rows] the line (from 1) that each row has in the source.
        widths: [rows] the number of fields.
    """

    text: bytes
    lines: NDArray[np.int64]
    widths: NDArray[np.int32]


def make_regular(data: bytes) -> RegularText:
    r"""Collapse separators, and drop empty lines and comment lines.

    >>> regular = make_regular(b"# note\n\n 1\t Q0  d#1 \r\n2 Q0 d2")
    >>> regular.text, regular.lines.tolist()
    (b'1 Q0 d#1\n2 Q0 d2\n', [3, 4])
    """
    if b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    joined, lines, widths, before = io.BytesIO(), [np.empty(0, np.int64)], [np.empty(0, np.int32)], 0
    for chunk in _chunks_of_lines(data):
        text = _collapse_spaces(chunk)
        ends = np.flatnonzero(text == NEWLINE)
        starts = np.concatenate(([0], ends[:-1] + 1))
        kept = (ends > starts) & (text[starts] != HASH)
        # A flag per line, repeated for each of its bytes including the newline, removes the bytes of empty lines.
        joined.write((text if kept.all() else text[np.repeat(kept, ends + 1 - starts)]).data)
        lines.append(np.flatnonzero(kept) + (before + 1))
        spaces_before = np.searchsorted(np.flatnonzero(text == SPACE), ends)
        widths.append((np.diff(spaces_before, prepend=0) + 1).astype(np.int32)[kept])
        before += len(ends)
    return RegularText(joined.getvalue(), np.concatenate(lines), np.concatenate(widths))


def count_rows(data: bytes, separator: str, width: int) -> int | None:
    r"""Count the lines if every one has the same number of fields, one separator between them and no other.

    Parsers of csv fill narrow lines and cut wide ones silently.

    Returns:
        the lines; None if one has other fields or separators, or ends in another way than the first.

    >>> count_rows(b"a b\nc d\n", " ", 2), count_rows(b"a b\nc d e\n", " ", 2), count_rows(b"a b\nc\td\n", " ", 2)
    (2, None, None)
    """
    # The separators and line ends of a regular text, without anything else, repeat those of its first line. This misses
    # empty fields, where two of them are adjacent, as only "\r" and "\n" of a line end may be.
    end = b"\r\n" if data[: data.find(b"\n") + 1].endswith(b"\r\n") else b"\n"
    line = separator.encode() * (width - 1) + end
    text, before, adjacent = np.frombuffer(data, np.uint8), 0, 0
    marks_must_be = np.frombuffer(line * (min(len(text), SMALL_CHUNK) // len(line) + 2), np.uint8)
    for start in range(0, len(text), SMALL_CHUNK):  # lines and their marks continue from chunk to chunk
        chunk = text[start : start + SMALL_CHUNK + 1]  # with the first byte of the next chunk
        is_mark = chunk <= LAST_SEPARATOR
        adjacent += int(np.count_nonzero(is_mark[1:] & is_mark[:-1]))
        marks = chunk[np.flatnonzero(is_mark[:SMALL_CHUNK])]
        phase = before % len(line)  # position in a line at which the chunk begins, in marks
        if not np.array_equal(marks, marks_must_be[phase : phase + len(marks)]):
            return None
        before += len(marks)
    if data.endswith(separator.encode()):  # the file was cut before its last field
        return None
    rows, rest = divmod(before + (0 if data.endswith(b"\n") else len(end)), len(line))
    ends_alone = rows - (not data.endswith(b"\n"))  # "\r\n" of each complete line is one pair
    return rows if rest == 0 and adjacent == ends_alone * (len(end) - 1) else None


def _chunks_of_lines(text: bytes) -> Iterator[NDArray[np.uint8]]:
    start = 0
    while start < len(text):
        stop = text.find(b"\n", start + CHUNK) + 1 or len(text)
        chunk = text[start:stop].translate(SEPARATORS_TO_SPACE)
        yield np.frombuffer(chunk if chunk.endswith(b"\n") else chunk + b"\n", np.uint8)
        start = stop


def _collapse_spaces(text: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Drop every space after a space or at the start of a line, then the one that may be left before a newline."""
    space = text == SPACE
    after_edge = np.empty(len(text), bool)  # after a space or a newline; the chunk begins a line
    after_edge[0] = True
    np.logical_or(space[:-1], text[:-1] == NEWLINE, out=after_edge[1:])
    text = text[~(space & after_edge)]
    before_newline = np.zeros(len(text), bool)
    np.equal(text[1:], NEWLINE, out=before_newline[:-1])
    kept: NDArray[np.uint8] = text[~((text == SPACE) & before_newline)]
    return kept
