"""Printable texts: control characters in text from files are escaped, so that none moves the cursor or ends a line."""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from typing import Any, Final

# C0, DEL and C1; direction marks and overrides (Unicode Bidi_Control); line and paragraph separators; lone surrogates,
# which come from file names that are not UTF-8 and cannot be encoded.
_HIDDEN: Final = "\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
_CONTROL: Final = re.compile(f"[{_HIDDEN}]")
_CONTROL_IN_LINES: Final = re.compile(f"(?!\n)[{_HIDDEN}]")
_LONG_WORD: Final = re.compile(r"\S{301,}")
SHORT: Final = 80  # characters kept of a word of more than 300, which is longer than file names
LONGEST: Final = 4000  # maximum characters of a message
ELLIPSIS: Final = "…"


def printable(text: str) -> str:
    r"""The text with control characters escaped as Python does; other text is unchanged.

    Args:
        text: an id, a name, or a line with some.

    Example:
        >>> print(printable("q1\nmap all 1.0"), printable("\x1b[2J"), printable("a\u202eb"), printable("é b"))
        q1\nmap all 1.0 \x1b[2J a\u202eb é b
    """
    return _CONTROL.sub(_escape_match, text) if not text.isprintable() and _CONTROL.search(text) else text


def encodable(text: str) -> str:
    r"""The text with lone surrogates escaped, as in file names that are not UTF-8, so that UTF-8 can encode it.

    Args:
        text: a path, or a name made of one.

    Example:
        >>> print(encodable("b\udce9b\udce9.trec"), encodable("bébé.trec"))
        b\udce9b\udce9.trec bébé.trec
    """
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def printable_all(value: object) -> Any:
    r"""A JSON value with all texts and keys made printable; the same object if nothing changes.

    Args:
        value: JSON value.

    Example:
        >>> printable_all({"name": "a\n", "queries": [1, None]})
        {'name': 'a\\n', 'queries': [1, None]}
    """
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        names = [printable(name) if isinstance(name, str) else name for name in value]
        several = [printable_all(each) for each in value.values()]
        same = all(map(operator.is_, names, value)) and all(map(operator.is_, several, value.values()))
        return value if same else dict(zip(names, several, strict=True))
    if isinstance(value, (list, tuple)):
        several = [printable_all(each) for each in value]
        return value if all(map(operator.is_, several, value)) else several
    return value


def printable_message(text: str, *, lines: bool = False) -> str:
    r"""A message for people: printable, with very long ids shortened in the middle.

    Args:
        text: message, with ids and names in it.
        lines: whether line feeds in it are intended.

    Example:
        >>> print(printable_message("query " + "x" * 1_000_000 + " appears twice."))
        query xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx appears twice.
    """
    if len(text) > SHORT:
        text = _LONG_WORD.sub(lambda found: _without_middle(found[0], SHORT), text)
    if len(text) > LONGEST:
        text = _without_middle(text, LONGEST)
    return _CONTROL_IN_LINES.sub(_escape_match, text) if lines else printable(text)


def _without_middle(text: str, length: int) -> str:
    end = (length - 1) // 2
    return f"{text[: length - 1 - end]}{ELLIPSIS}{text[len(text) - end :]}"


def _escape_match(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")


def first_ids(ids: Sequence[str], most: int = 3) -> str:
    """The first few ids, quoted, for a message.

    Args:
        most: number of ids to show.

    >>> first_ids(["a", "b", "c", "d"]), first_ids(["a", "b", "c"])
    ("'a', 'b', 'c', ...", "'a', 'b', 'c'")
    """
    shown = ", ".join(repr(each if len(each) <= SHORT else f"{each[:SHORT]}{ELLIPSIS}") for each in ids[:most])
    return shown + (", ..." if len(ids) > most else "")
