"""Bytes checked to be text with lines, before any reader sees them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from trueval.errors import InputError
from trueval.files.source.content import BOM, Content
from trueval.files.source.limits import LINE
from trueval.threads import in_threads

__all__ = ["check_text", "decoding_error", "find_long_line", "is_unicode", "line_at", "shown"]

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
    r"""Tell whether a string has no half of a surrogate pair, which JSON can write and no file can hold.

    >>> is_unicode("e\u0301"), is_unicode("\ud800")
    (True, False)
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def shown(line: bytes) -> str:
    """Give the beginning of a line as an error message quotes it.

    >>> shown(b"q1 Q0")
    "'q1 Q0'"
    """
    return repr(line[:80].decode(errors="replace"))


def check_text(content: Content, *, is_json: bool = False) -> Content:
    """Refuse bytes that are no UTF-8 text with lines.

    Args:
        content: bytes of any text format.
        is_json: line ends mean nothing, and one line may hold everything.

    Returns:
        the text; where only carriage returns end its lines (old Macintosh), with newlines for them.

    Raises:
        InputError: UTF-16, NUL and other control characters, a byte order mark or a lone carriage return inside, or a
            line without end, with its line.
    """
    data = content.data
    if data.startswith(UTF_16_BOMS):
        found = "UTF-32" if data.startswith(UTF_32_BOM) else "UTF-16"
        raise InputError(f"{content.source}: the text is {found}. It must be UTF-8. Save it again as UTF-8.")
    if b"\r" in data and not is_json:
        if b"\n" not in data:
            data = data.replace(b"\r", b"\n")
        _refuse_lone_returns(data, content.source)
    _refuse_control_characters(data, content.source)
    if not data.isascii() and (mark := data.find(BOM)) >= 0:
        raise InputError(
            f"{content.source}:{line_at(data, mark)}: a byte order mark (U+FEFF) inside the text; files were joined. "
            "It would become part of an id. Remove it."
        )
    if not is_json:
        _refuse_long_lines(data, content.source)
    return content if data is content.data else replace(content, data=data)


def _refuse_lone_returns(data: bytes, source: str) -> None:
    if data.count(b"\r") == data.count(b"\r\n"):
        return
    at = data.find(b"\r")
    while data[at + 1 : at + 2] == b"\n":
        at = data.find(b"\r", at + 1)
    raise InputError(
        f"{source}:{line_at(data, at)}: a carriage return without a newline. It may be a lost line end or part of an "
        "id. End every line with a newline."
    )


def _refuse_control_characters(data: bytes, source: str) -> None:
    codes = np.frombuffer(data, np.uint8)
    chunks = [codes[start : start + CHUNK] for start in range(0, len(codes), CHUNK)]
    for index, found in enumerate(in_threads(_holds_control_character, chunks)):
        if not found:
            continue
        at = index * CHUNK + int(np.flatnonzero(np.isin(chunks[index], np.frombuffer(CONTROL, np.uint8)))[0])
        place = f"{source}:{line_at(data, at)}"
        if data[at] == 0:
            raise InputError(
                f"{place}: a NUL byte. The file must be UTF-8 text; NUL bytes come from "
                "UTF-16 or from a binary format. "
                "Save it again as UTF-8."
            )
        raise InputError(
            f"{place}: the control character U+{data[at]:04X}. The file must be text; such bytes come from damage or "
            "from a binary format. Remove it."
        )


def _holds_control_character(codes: NDArray[np.uint8]) -> bool:
    low = np.count_nonzero(codes < 32)
    newlines = np.count_nonzero(codes == WHITE[1])
    return bool(low != newlines and low != sum(np.count_nonzero(codes == code) for code in WHITE))


def _refuse_long_lines(data: bytes, source: str) -> None:
    begin = find_long_line(data)
    if begin is not None:
        raise InputError(
            f"{source}:{line_at(data, begin)}: a line of more than {LINE.value:,} bytes. Newlines may be lost. "
            f"{LINE.cure}"
        )


def find_long_line(data: bytes) -> int | None:
    r"""Find a line of more bytes than the limit.

    Returns:
        the offset of its first byte; None if there is no such line.

    >>> find_long_line(b"q1 0 d1 1\n") is None
    True
    """
    most = LINE.value
    step = max(1, most // 2)  # a line longer than this holds a whole window without a newline
    for start in range(0, len(data) - step + 1, step):
        if data.find(b"\n", start, start + step) >= 0:
            continue
        begin = data.rfind(b"\n", 0, start) + 1
        end = data.find(b"\n", start)
        if (len(data) if end < 0 else end) - begin > most:
            return begin
    return None


def decoding_error(content: Content) -> InputError | None:
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
            return InputError(
                f"{content.source}:{line_at(data, at)}: byte 0x{data[at]:02x} is not UTF-8. The text must be UTF-8. "
                "Convert it, for instance with: iconv -f latin1 -t utf-8"
            )
        start = stop
    return None
