"""stdout and stderr that are closed, are a broken pipe, or have an encoding that lacks characters."""

import codecs
import errno
import io
import os
import sys
from contextlib import suppress
from typing import Any, Final, TextIO, cast

from trueval.errors import InputError

ESCAPED: Final = "trueval.escaped"


def prepare() -> None:
    """Set up both streams so that text can be written to them in any case."""
    _occupy()
    codecs.register_error(ESCAPED, _escape_as_json)
    if sys.stdout is None:
        sys.stdout = cast(TextIO, _ClosedOutput())
    elif isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors=ESCAPED)
    if not isinstance(sys.stderr, _Talk):
        sys.stderr = cast(TextIO, _Talk(sys.stderr))


def flush() -> str | None:
    """Flush all of stdout to the system.

    Returns:
        The reason of a failure: empty for a broken pipe, which needs no message; None on success.
    """
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        with suppress(OSError, ValueError):  # Python would try again at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return "" if error.errno == errno.EPIPE else f"stdout: {error.strerror}."
    return None


class _ClosedOutput(io.TextIOBase):
    """A stdout that the shell closed: writing to it is an error."""

    def write(self, text: str) -> int:
        """Refuse any text."""
        if text:
            raise InputError("stdout is closed, and the results go there. Send them to a file, or to /dev/null.")
        return 0


class _Talk:
    """A stderr whose errors are ignored: messages that cannot be written are lost, and the work continues."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def isatty(self) -> bool:
        return self._stream is not None and self._stream.isatty()

    def write(self, text: str) -> int:
        with suppress(OSError, ValueError):
            if self._stream is not None:
                self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            if self._stream is not None:
                self._stream.flush()


def _occupy() -> None:
    """Occupy the file descriptors of closed streams, so that no other file gets their numbers."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free descriptor, which is this one


def _escape_as_json(error: UnicodeError) -> tuple[str, int]:
    r"""Escape characters that an encoding lacks as in JSON, so that JSON stays valid.

    >>> "é 😀 \udce9".encode("ascii", errors=_register_escapes())
    b'\\u00e9 \\ud83d\\ude00 \\udce9'
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", errors="surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2)), error.end


def _register_escapes() -> str:
    codecs.register_error(ESCAPED, _escape_as_json)
    return ESCAPED
