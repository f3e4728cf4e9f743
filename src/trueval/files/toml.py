"""TOML that a person wrote, and the lines of its keys: what a message must name, and tomllib does not keep.

toml_tables.py holds what is in such a file against the tables that it may have.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from trueval.errors import InputError, Place
from trueval.files.source.memory_estimate import PARSED, check_cost

# From a table, and a key of it, to what an error calls these.
Where: TypeAlias = Callable[..., Place]

_PARTS = 100
_LARGE = 2**63  # TOML need not hold more, and Python does not write a number of 4,301 digits
# tomllib takes time cubic in the number of key parts: a line of 50,000 would take a minute. Possessive quantifiers keep
# this search linear.
_LONG_KEY = re.compile(rf"""(?<![\w.-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{_PARTS}}}""")
# Tokens of a valid file that matter for brackets and line ends: strings with either quotes, single-line or multi-line,
# which may end in up to two more quotes; comments; brackets; line ends.
_TOKEN = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*"{3,5}|'
    r"'''(?:[^']|'(?!''))*'{3,5}|"
    r'"(?:[^"\\\n]|\\.)*"|'
    r"'[^'\n]*'|"
    r"#[^\n]*|"
    r"[\[\]{}\n]",
    re.DOTALL,
)


@dataclass(frozen=True)
class Toml:
    """A TOML file.

    Attributes:
        source: name of the file in messages.
        text: content of the file.
    """

    source: str
    text: str
    tables: Mapping[str, Any]

    @classmethod
    def read(cls, path: Path, what: str) -> Toml:
        """Read a file.

        Args:
            path: path of the file.
            what: it must be, in words: "the TOML file of a sweep".

        Raises:
            InputError: it cannot be read, or is not TOML; the line is in the message.
        """
        place = Place(str(path))
        try:
            text = path.read_text(encoding="utf-8-sig")
            if deep := _LONG_KEY.search(text):
                place = Place(str(path), text.count("\n", 0, deep.start()) + 1)
                raise place.error(f"a key has more than {_PARTS} parts between dots. It must be {what}.")
            check_cost(PARSED, text.encode(), str(path))
            found = cls(str(path), text, tomllib.loads(text))
        except InputError:  # is a ValueError, too
            raise
        except RecursionError:
            raise place.error(f"tables or lists are nested too deep to be read. It must be {what}.") from None
        except OSError as error:
            raise place.error(f"cannot be read ({error.strerror}). It must be {what}.") from None
        except ValueError as error:  # also bytes that are not UTF-8, a path with a NUL, and a number of 4,301 digits
            raise place.error(f"not TOML: {error}. Correct it.") from None
        large = next((way for way, value in _ways(found.tables) if type(value) is int and abs(value) >= _LARGE), None)
        if large is not None:
            *_, name = filter(lambda key: isinstance(key, str), large)
            raise found.place(*large).error(f"{name} must be between -2^63 and 2^63, as integers of TOML are.")
        return found

    def line(self, *keys: str | int) -> int | None:
        r"""The line, from 1, where a table or a key begins; None if there is none of that name.

        Args:
            keys: the way to it, such as ("limits", "cost"); a number is the place in a list of tables.

        >>> toml = Toml("a.toml", "# comment\n[a]\nb = [\n 1]\nc = 2\n", {"a": {"b": [1], "c": 2}})
        >>> toml.line("a"), toml.line("a", "b"), toml.line("a", "c"), toml.line("d")
        (2, 3, 5, None)
        """
        return self._lines.get(keys)

    @cached_property
    def _lines(self) -> dict[tuple[str | int, ...], int]:
        """The first line of each table, key and element, in one pass over the file."""
        lines: dict[tuple[str | int, ...], int] = {}
        table: tuple[str | int, ...] = ()
        elements: dict[tuple[str | int, ...], int] = {}  # number of tables of a [[list]] so far
        for first, statement in _statements(self.text):
            said = tomllib.loads(statement)
            if statement.lstrip().startswith("["):
                table = self._header(said, elements)
                for end in range(1, len(table) + 1):
                    lines.setdefault(table[:end], first)
            else:
                for way, _ in _ways(said, table):
                    lines.setdefault(way, first)
        return lines

    def _header(self, said: Any, elements: dict[tuple[str | int, ...], int]) -> tuple[str | int, ...]:
        """The way to the table that a header opens; a name on it that is a list means the list's last table."""
        way: tuple[str | int, ...] = ()
        tables: Any = self.tables
        while said:
            if isinstance(said, list):  # [[name]] starts another table of the list
                elements[way] = elements.get(way, 0) + 1
                said = said[0]
            else:
                (name, said) = next(iter(said.items()))
                way, tables = (*way, name), tables[name]
            if isinstance(tables, list) and not isinstance(said, list):
                number = elements[way] - 1
                way, tables = (*way, number), tables[number]
        return way

    def place(self, *keys: str | int) -> Place:
        """Where a table or a key is; the table around it where the file does not have it."""
        ways = (keys[:end] for end in range(len(keys), 0, -1))
        return Place(self.source, next(filter(None, map(self._lines.get, ways)), None))


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Each header or `key = value` of a valid file, with its first line: one ends with a line, outside of brackets."""
    text = text.replace("\r\n", "\n") + "\n"
    begin, first, line, depth = 0, 1, 1, 0
    for token in _TOKEN.finditer(text):
        found = token[0]
        depth += (found in "[{") - (found in "]}")
        line += found.count("\n")
        if found == "\n" and not depth:
            statement = text[begin : token.end()]
            if statement.strip() and not statement.lstrip().startswith("#"):
                yield first, statement
            begin, first = token.end(), line


def _ways(said: Any, before: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """The way to every key and element of what a file or a statement says, and its value."""
    for key, value in said.items() if isinstance(said, dict) else enumerate(said):
        yield (*before, key), value
        if isinstance(value, dict | list):
            yield from _ways(value, (*before, key))
