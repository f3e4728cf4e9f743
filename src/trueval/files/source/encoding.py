"""Bytes checked to be text with lines, before any reader sees them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trueval.errors import InputError, Place
from trueval.files.source.decompression import BOM
from trueval.files.source.line_limits import LINE
from trueval.files.source.memory_estimate import PARSED, MemoryCost, check_cost
from trueval.files.source.source_bytes import SourceBytes
from trueval.threads import in_threads

UTF_16_BOMS = (b"\xff\xfe", b"\xfe\xff")
UTF_32_BOM = b"\xff\xfe\0\0"
CHUNK = 1 << 22  # bytes; a chunk and its flags stay in the processor's cache
WHITE = b"\t\n\v\f\r"
CONTROL = bytes(code for code in range(32) if code not in WHITE)


def line_at(data: bytes, offset: int) -> int:
    r"""Give the line (from 1) of a byte.

    >>> line_at(b"a\nb\nc", 4)
    3
    """
    return data.count(b"\n", 0, offset) + 1


def is_unicode(text: str) -> bool:
    r"""Tell whether a string has no lone surrogate, which JSON can write but no file can contain.

    >>> is_unicode("e\u0301"), is_unicode("\ud800")
    (True, False)
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def quote_line(line: bytes) -> str:
    """Give the beginning of a line as an error message quotes it.

    >>> quote_line(b"q1 Q0")
    "'q1 Q0'"
    """
    return repr(line[:80].decode(errors="replace"))


def check_text(content: SourceBytes, *, is_json: bool = False, cost: MemoryCost | None = PARSED) -> SourceBytes:
    """Refuse bytes that are not UTF-8 text with lines, or take more memory than they may.

    Args:
        content: bytes of any text format.
        cost: memory that the text takes once it is read; None where its format is not known yet.
        is_json: whether line ends have no meaning, so that one line may contain everything.

    Returns:
        The text; if only carriage returns end its lines (old Macintosh), with newlines instead.

    Raises:
        InputError: UTF-16, NUL and other control characters, a byte order mark or a lone carriage return inside, or a
            line without end, with its line.
    """
    data = content.data
    if cost is not None:
        check_cost(cost, data, content.source)
    if data.startswith(UTF_16_BOMS):
        found = "UTF-32" if data.startswith(UTF_32_BOM) else "UTF-16"
        raise Place(content.source).error(f"the text is {found}. It must be UTF-8. Save it again as UTF-8.")
    if b"\r" in data and not is_json:
        if b"\n" not in data:
            data = data.replace(b"\r", b"\n")
        _refuse_lone_returns(data, content.source)
    _refuse_control_characters(data, content.source)
    if not data.isascii() and (mark := data.find(BOM)) >= 0:
        raise Place(content.source, line_at(data, mark)).error(
            "a byte order mark (U+FEFF) inside the text; files were joined. It would become part of an id. Remove it."
        )
    if not is_json and (begin := find_long_line(data)) is not None:
        raise Place(content.source, line_at(data, begin)).error(
            f"a line of more than {LINE.value:,} bytes. Newlines may be lost. {LINE.cure}"
        )
    return content if data is content.data else content._replace(data=data)


def _refuse_lone_returns(data: bytes, source: str) -> None:
    if data.count(b"\r") == data.count(b"\r\n"):  # counting is fast, and enough for valid text
        return
    at = data.find(b"\r")
    while data[at + 1 : at + 2] == b"\n":
        at = data.find(b"\r", at + 1)
    raise Place(source, line_at(data, at)).error(
        "a carriage return without a newline. It may be a lost line end or part of an id. "
        "End every line with a newline."
    )


def _refuse_control_characters(data: bytes, source: str) -> None:
    codes = np.frombuffer(data, np.uint8)
    chunks = [codes[start : start + CHUNK] for start in range(0, len(codes), CHUNK)]
    found = in_threads(_holds_control_character, chunks)
    if True not in found:
        return
    index = found.index(True)
    at = index * CHUNK + int(np.flatnonzero(np.isin(chunks[index], np.frombuffer(CONTROL, np.uint8)))[0])
    if data[at] == 0:
        raise Place(source, line_at(data, at)).error(
            "a NUL byte. The file must be UTF-8 text; NUL bytes come from UTF-16 or from a binary format. "
            "Save it again as UTF-8."
        )
    raise Place(source, line_at(data, at)).error(
        f"the control character U+{data[at]:04X}. The file must be text; such bytes come from damage or "
        "from a binary format. Remove it."
    )


def _holds_control_character(codes: NDArray[np.uint8]) -> bool:
    """Tell by counting, which takes fewer passes than searching: most text has only newlines below the space."""
    low = np.count_nonzero(codes < 32)
    newlines = np.count_nonzero(codes == WHITE[1])
    return bool(low != newlines and low != sum(np.count_nonzero(codes == code) for code in WHITE))


def find_long_line(data: bytes) -> int | None:
    r"""Find a line of more bytes than the limit.

    Returns:
        the offset of its first byte; None if there is no such line.

    >>> find_long_line(b"q1 0 d1 1\n") is None
    True
    """
    most = LINE.value
    # A line longer than the limit covers a whole window of half the limit, wherever it begins: only around a window
    # without a newline are the two ends of the line searched, so most texts are passed in a few large steps.
    step = max(1, most // 2)
    for start in range(0, len(data) - step + 1, step):
        if data.find(b"\n", start, start + step) >= 0:
            continue
        begin = data.rfind(b"\n", 0, start) + 1
        end = data.find(b"\n", start)
        if (len(data) if end < 0 else end) - begin > most:
            return begin
    return None


def find_decoding_error(content: SourceBytes) -> InputError | None:
    """Find the first byte that is not UTF-8, with its line; None if all are."""
    data = content.data
    if data.isascii():
        return None
    start = 0
    while start < len(data):
        stop = data.find(b"\n", start + CHUNK) + 1 or len(data)
        try:
            data[start:stop].decode()
        except UnicodeDecodeError as error:
            at = start + error.start
            return Place(content.source, line_at(data, at)).error(
                f"byte 0x{data[at]:02x} is not UTF-8. The text must be UTF-8. "
                "Convert it, for instance with: iconv -f latin1 -t utf-8"
            )
        start = stop
    return None
