"""On which line of a JSON text a key is; used for error messages only."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]', re.DOTALL)


class JsonMember(NamedTuple):
    """A key of an object, or an item of a list.

    Args:
        path: keys and list positions from the outermost.
        opens: index of the object or list that contains it, in order of opening.
    """

    path: tuple[str | int, ...]
    offset: int
    opens: int


@dataclass
class _Level:
    """An object or list that is not yet closed."""

    opens: int
    is_list: bool
    key: str | int | None = field(default=None)


def members(text: str) -> Iterator[JsonMember]:
    """Iterate over the keys of a JSON text and the items of its lists, in order.

    The json module gives no offsets, so the text is tokenized again; it is known to be valid up to the position sought,
    and a string followed by a colon is a key.

    >>> [member.path for member in members('{"q": {"d": 1}, "r": [2]}')]
    [('q',), ('q', 'd'), ('r',), ('r', 0)]
    """
    levels: list[_Level] = []
    opened, previous = 0, (0, "")
    for found in TOKEN.finditer(text):
        mark = found[0]
        if mark in "{[":
            levels.append(_Level(opened, mark == "["))
            opened += 1
            if levels[-1].is_list:
                levels[-1].key = 0
                yield JsonMember(_path(levels), found.end(), levels[-1].opens)
        elif mark in "}]" and levels:
            levels.pop()
        elif mark == "," and levels and levels[-1].is_list:
            levels[-1].key = int(levels[-1].key or 0) + 1
            yield JsonMember(_path(levels), found.end(), levels[-1].opens)
        elif mark == ":" and levels and previous[1].startswith('"'):
            levels[-1].key = str(json.loads(previous[1], strict=False))
            yield JsonMember(_path(levels), previous[0], levels[-1].opens)
        previous = (found.start(), mark)


def _path(levels: list[_Level]) -> tuple[str | int, ...]:
    return tuple(level.key for level in levels if level.key is not None)


def find_repeated_key(text: str) -> int:
    """Give the line (from 1) of the first key that is in its object already."""
    seen: set[tuple[int, str | int]] = set()
    for member in members(text):
        key = (member.opens, member.path[-1])
        if key in seen:
            return _line(text, member.offset)
        seen.add(key)
    return 1


def find_line(text: str, path: tuple[str | int, ...], *, from_outermost: bool = False) -> int:
    r"""Give the line (from 1) of the first key whose path ends in the given one, or is the given one.

    >>> find_line('{"q":\n {"d": 1,\n  "e": 2}}', ("q", "e"))
    3
    """
    length = None if from_outermost else -len(path)
    offset = next((member.offset for member in members(text) if member.path[length:] == path), 0)
    return _line(text, offset)


def item_lines(text: str) -> list[int]:
    r"""Give the line (from 1) of each item of the outermost list.

    >>> item_lines('[{"q": 1},\n {"q": [2,\n3]}, 4]')
    [1, 2, 3]
    """
    begins = [found.offset for found in members(text) if len(found.path) == 1]
    lines, line, before = [], 1, 0
    for offset in begins:
        found = re.compile(r"\s*").match(text, offset)
        end = found.end() if found else offset
        line, before = line + text.count("\n", before, end), end
        lines.append(line)
    return lines


def _line(text: str, offset: int) -> int:
    """Count the lines up to the first character that is not white space."""
    found = re.compile(r"\s*").match(text, offset)
    return text.count("\n", 0, found.end() if found else offset) + 1
