"""Where the records of csv begin, how wide they are, and whether their quotes are in order (RFC 4180)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueval.errors import Place
from trueval.files.source.encoding import line_at, quote_line

QUOTE, NEWLINE, RETURN = b'"\n\r'
Offsets = NDArray[np.int64]


class Records(NamedTuple):
    """The records of a text, empty lines left out.

    Args:
        lines: [record] the line (from 1) on which each starts.
        starts: [record] the offset of its first byte.
        widths: [record] the number of fields.
    """

    lines: NDArray[np.int64]
    starts: Offsets
    widths: NDArray[np.int64]


def find_records(data: bytes, delimiter: str, source: str, before: int = 0) -> Records:
    r"""Split a text into records; a newline or delimiter between quotes belongs to the field.

    >>> records = find_records(b'a,b\n\n"c\nd",e\nf,g', ",", "x.csv")
    >>> records.lines.tolist(), records.widths.tolist()
    ([1, 3, 5], [2, 2, 2])

    Args:
        data: text.
        delimiter: separator of the fields.
        source: name of the text in errors.
        before: number of lines of the source before the text.

    Raises:
        InputError: a quote is inside a field without quotes, or is never closed.
    """
    text = np.frombuffer(data, np.uint8)
    quotes = np.flatnonzero(text == QUOTE) if QUOTE in data else np.empty(0, np.int64)
    _refuse_stray_quotes(text, quotes, delimiter, data, source, before)
    newlines = np.flatnonzero(text == NEWLINE)
    ends = newlines[_outside(newlines, quotes)]
    if not data.endswith(b"\n"):
        ends = np.append(ends, len(text))
    starts = np.concatenate(([0], ends[:-1] + 1))
    delimiters = np.flatnonzero(text == ord(delimiter))
    delimiters = delimiters[_outside(delimiters, quotes)]
    widths = np.diff(np.searchsorted(delimiters, ends), prepend=0) + 1
    lines = np.searchsorted(newlines, starts) + 1 + before
    is_empty = (ends == starts) | ((ends == starts + 1) & (text[np.minimum(starts, len(text) - 1)] == RETURN))
    return Records(lines[~is_empty], starts[~is_empty], widths[~is_empty])


def _outside(places: Offsets, quotes: Offsets) -> NDArray[np.bool_]:
    """Tell what is between no quotes: an even number of them comes before. A doubled quote counts as two."""
    outside: NDArray[np.bool_] = np.searchsorted(quotes, places) % 2 == 0
    return outside


def _refuse_stray_quotes(
    text: NDArray[np.uint8], quotes: Offsets, delimiter: str, data: bytes, source: str, before: int
) -> None:
    """Quotes open at the start of a field and close at its end; inside, each is doubled."""
    if not len(quotes):
        return
    edges = np.array([ord(delimiter), NEWLINE, RETURN], np.uint8)
    opening, closing = quotes[::2], quotes[1::2]
    doubled = np.diff(quotes, append=-1) == 1
    starts_field = (opening == 0) | np.isin(text[opening - 1], edges)
    # A doubled quote inside a field looks like one that closes it and one that immediately reopens it.
    starts_field[1:] |= doubled[1::2][: len(opening) - 1]
    ends_field = (closing + 1 == len(text)) | np.isin(text[np.minimum(closing + 1, len(text) - 1)], edges)
    ends_field |= doubled[1::2][: len(closing)]
    stray = np.concatenate((opening[~starts_field], closing[~ends_field], quotes[-1:] if len(quotes) % 2 else []))
    if len(stray):
        at = int(stray.min())
        line = data[data.rfind(b"\n", 0, at) + 1 : at + 80]
        raise Place(source, line_at(data, at) + before).error(
            f"a quote out of place ({quote_line(line)}). Quotes must come in pairs around a whole field, and a quote "
            "inside one must be doubled. Correct them."
        )
