"""Lines of TOML: on which line each table and each key of a file begins, so that an error can say so.

`tomllib` gives values without their places. What it has read is good TOML, so this only has to find where keys begin:
it follows tables, dotted keys, inline tables and arrays, and steps over strings and comments.
"""

from __future__ import annotations

import re
import tomllib
from typing import Any, Final, NamedTuple, TypeAlias

from trueval.errors import Place

# A key, the names of the tables around it before it, and the number of an item of an array.
Path: TypeAlias = tuple[str | int, ...]

_BLANK: Final = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE: Final = re.compile(r"[ \t]*")
_NAME: Final = re.compile(r"[A-Za-z0-9_-]+|\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'")
_TEXT: Final = re.compile(
    r'"""(?:[^"\\]|\\[\s\S]|"(?!""))*"{3,5}' r"|'''(?:[^']|'(?!''))*'{3,5}" r'|"(?:[^"\\\n]|\\.)*"' r"|'[^'\n]*'"
)
_BARE: Final = re.compile(r"[^,\]}#\n]*")  # a number, a date, true or false


class Toml(NamedTuple):
    """What a file of TOML holds, and where.

    Attributes:
        source: what errors call it.
        values: as tomllib reads them.
        lines: of each table, key and item, from 1.
    """

    source: str
    values: dict[str, Any]
    lines: dict[Path, int]

    def place(self, *path: str | int) -> Place:
        """Where a table or a key is; the nearest table around it where the file does not have it."""
        line = next((self.lines[path[:end]] for end in range(len(path), 0, -1) if path[:end] in self.lines), None)
        return Place(self.source, line)


def read_toml(text: str, source: str) -> Toml:
    """Read TOML, with the lines of its keys.

    Args:
        text: of the file.
        source: what errors call it.

    Raises:
        InputError: it is not TOML.

    >>> read_toml("[a]\\nb.c = 1  # [d]\\ne = [{f = 2}]", "x.toml").lines
    {('a',): 1, ('a', 'b', 'c'): 2, ('a', 'e'): 3, ('a', 'e', 0, 'f'): 3}
    """
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r" \(at line (\d+), column \d+\)", str(error))
        said = str(error).replace(found[0], "") if found else str(error)
        place = Place(source, int(found[1]) if found else None)
        raise place.error(f"not TOML: {said[:1].lower()}{said[1:]}. Correct it.") from None
    return Toml(source, values, _Scanner(text.replace("\r\n", "\n")).scan())


class _Scanner:
    """Goes through a text of good TOML once.

    Args:
        text: of the file, lines ended by a line feed.
    """

    def __init__(self, text: str) -> None:
        self.text, self.at, self.line, self.counted = text, 0, 1, 0
        self.lines: dict[Path, int] = {}
        self.items: dict[Path, int] = {}  # tables of each array of tables so far

    def scan(self) -> dict[Path, int]:
        """The line of each table and key."""
        table: Path = ()
        while self.skip(_BLANK) and self.at < len(self.text):
            table = self.header() if self.text[self.at] == "[" else self.pair(table)
        return self.lines

    def header(self) -> Path:
        """The table that begins here; one of an array of tables with its number."""
        several = self.text.startswith("[[", self.at)
        self.at += 1 + several
        table: Path = ()
        names = self.key()
        for place, name in enumerate(names):
            table = (*table, name)
            if several and place == len(names) - 1:
                self.items[table] = self.items.get(table, -1) + 1
            if table in self.items:  # a table below an array belongs to its last item
                table = (*table, self.items[table])
        self.note(table)
        self.at = self.text.index("]", self.at) + 1 + several
        return table

    def pair(self, table: Path) -> Path:
        """A key with its value; gives the table back."""
        here = self.here()
        path = (*table, *self.key())
        self.lines.setdefault(path, here)
        self.at += 1  # =
        self.value(path)
        return table

    def key(self) -> list[str]:
        """The names of a dotted key, up to what comes after them."""
        names: list[str] = []
        while True:
            self.skip(_SPACE)
            name = _NAME.match(self.text, self.at)
            if name is None:
                return names
            self.at = name.end()
            names.append(_unquoted(name[0]))
            self.skip(_SPACE)
            if not self.text.startswith(".", self.at):
                return names
            self.at += 1

    def value(self, path: Path) -> None:
        """Step over a value; keys of the inline tables in it are noted."""
        self.skip(_SPACE)
        letter = self.text[self.at]
        if letter in "\"'":
            self.skip(_TEXT)
        elif letter in "[{":
            self.items_of(path, "]" if letter == "[" else "}")
        else:
            self.skip(_BARE)

    def items_of(self, path: Path, end: str) -> None:
        """Step over an array or an inline table."""
        self.at += 1
        number = 0
        while self.skip(_BLANK) and self.text[self.at] != end:
            if end == "]":
                self.value((*path, number))
                number += 1
            else:
                self.pair(path)
            self.skip(_BLANK)
            self.at += self.text[self.at] == ","
        self.at += 1

    def skip(self, pattern: re.Pattern[str]) -> bool:
        """Step over what a pattern finds here."""
        found = pattern.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return True

    def note(self, path: Path) -> None:
        """Remember where something begins."""
        self.lines.setdefault(path, self.here())

    def here(self) -> int:
        """The line, from 1; counted from where it was last asked for."""
        self.line += self.text.count("\n", self.counted, self.at)
        self.counted = self.at
        return self.line


def _unquoted(name: str) -> str:
    return name if name[0] not in "\"'" else str(next(iter(tomllib.loads(f"{name} = 0"))))
