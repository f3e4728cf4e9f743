"""TOML that a person wrote, and the lines of its keys: what a message must name, and tomllib does not keep."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trueval.errors import InputError, Place


@dataclass(frozen=True)
class Toml:
    """A TOML file.

    Attributes:
        source: what messages call it.
        text: as it was written.
        tables: what it says.
    """

    source: str
    text: str
    tables: Mapping[str, Any]

    @classmethod
    def read(cls, path: Path, what: str) -> Toml:
        """Read a file.

        Args:
            path: of the file.
            what: it must be, in words: "the TOML file of a sweep".

        Raises:
            InputError: it cannot be read, or is not TOML; the line is in the message.
        """
        place = Place(str(path))
        try:
            text = path.read_text(encoding="utf-8-sig")
            return cls(str(path), text, tomllib.loads(text))
        except OSError as error:
            raise place.error(f"cannot be read ({error.strerror}). It must be {what}.") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise place.error(f"not TOML: {error}. Correct it.") from None

    def line(self, *keys: str | int) -> int | None:
        r"""The line, from 1, where a table or a key begins; None where there is none of that name.

        Args:
            keys: the way to it, such as ("limits", "cost"); a number is the place in a list of tables.

        >>> toml = Toml("a.toml", "# comment\n[a]\nb = [\n 1]\nc = 2\n", {})
        >>> toml.line("a"), toml.line("a", "b"), toml.line("a", "c"), toml.line("d")
        (2, 3, 5, None)
        """
        lines = self.text.replace("\r\n", "\n").split("\n")
        begin = 1
        # The reader itself says after which lines a key is there: no grammar of our own to disagree with it. It is
        # quadratic, but files are short, and this is done once, for an error.
        for end in range(1, len(lines) + 1):
            try:
                tables = tomllib.loads("\n".join(lines[:end]))
            except tomllib.TOMLDecodeError:  # inside a value of several lines
                continue
            if _has(tables, keys):
                return begin
            begin = end + 1
        return None

    def error(self, message: str, *keys: str | int) -> InputError:
        """An error at a table or key; without keys, or where it has no line, of the file.

        Args:
            message: what is wrong there, and the cure.
            keys: as in `line`.
        """
        return Place(self.source, self.line(*keys) if keys else None).error(message)

    def place(self, *keys: str | int) -> Place:
        """Where a table or a key is; the table around it where the file does not have it.

        Args:
            keys: as in `line`.
        """
        ways = (keys[:end] for end in range(len(keys), 0, -1))
        return Place(self.source, next((self.line(*way) for way in ways if _has(self.tables, way)), None))

    def has(self, *keys: str | int) -> bool:
        """Whether there is a table or a key of this name."""
        return _has(self.tables, keys)


def _has(tables: Any, keys: Sequence[str | int]) -> bool:
    for key in keys:
        if isinstance(tables, list):
            if not isinstance(key, int) or key >= len(tables):
                return False
        elif not isinstance(tables, dict) or key not in tables:
            return False
        tables = tables[key]
    return True
