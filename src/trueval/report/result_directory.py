"""A result directory: a folder of JSON files, each of a kind (report/kinds.py)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote


class ResultFile(NamedTuple):
    """One JSON file of a result directory.

    Attributes:
        name: name of the file, inside the directory.
        kind: what it holds.
        data: its content.
    """

    name: str
    kind: str
    data: Mapping[str, Any]

    def source(self, *keys: str | int) -> str:
        """Where a value is: the file's name and a JSON pointer (RFC 6901) as a fragment.

        Args:
            keys: names and indices from the top level down.

        Example:
            >>> ResultFile("results.json", "evaluate", {}).source("runs", 0, "measures", "nDCG@10")
            'results.json#/runs/0/measures/nDCG@10'
        """
        return f"{quote(self.name)}#{pointer(*keys)}"


class Directory(NamedTuple):
    """The result files of a folder.

    Attributes:
        path: the folder.
        files: those of a known kind, by name.
        others: names of JSON files of no known kind.
    """

    path: Path
    files: tuple[ResultFile, ...]
    others: tuple[str, ...] = ()

    def of(self, kind: str) -> tuple[ResultFile, ...]:
        """The files of a kind, by name."""
        return tuple(file for file in self.files if file.kind == kind)


def pointer(*keys: str | int) -> str:
    """A JSON pointer (RFC 6901) in its form for fragments.

    >>> pointer("measures", "R(rel=2, base='list')@10", 0)
    "/measures/R(rel=2,%20base='list')@10/0"
    """
    escaped = (str(key).replace("~", "~0").replace("/", "~1") for key in keys)
    return "".join(f"/{quote(key, safe='@!$&()*+,;=:~-._' + chr(39))}" for key in escaped)
