"""A result directory: a folder of JSON files, each of a kind that a section of the page knows.

What a file promises: the top level is an object with "kind" (a text) and "format" (an integer that grows when a reader
of the old form would misread the new one). The rest belongs to the kind. A file without a kind is of the kind whose
section names keys that it has. Other files are left alone and named at the end of the page.

How a section registers itself: the page module of its room ends with
`register(Section(kind, format, order, build, keys))`, and report/kinds.py imports the module. `build`
takes the file and the directory, so that it may look at files of other kinds, and returns a Part of the page
(report/content.py).

| kind | file | written by |
|---|---|---|
| evaluate | results.json | `trueval evaluate --out` |
| evaluate-details | details.json | the same: queries, tie groups, worst queries, provenance |
| compare | comparison.json | `trueval compare --out` |
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from trueval.errors import InputError
from trueval.report.content import Part


class ResultFile(NamedTuple):
    """One JSON file of a result directory.

    Attributes:
        name: of the file, inside the directory.
        kind: what it holds.
        data: its content.
    """

    name: str
    kind: str
    data: Mapping[str, Any]

    def source(self, *keys: str | int) -> str:
        """Where a value stands: the file's name and a JSON pointer (RFC 6901) as a fragment.

        Args:
            keys: names and indices from the top level down.

        Example:
            >>> ResultFile("results.json", "evaluate", {}).source("runs", 0, "measures", "nDCG@10")
            'results.json#/runs/0/measures/nDCG@10'
        """
        return f"{quote(self.name)}#{pointer(*keys)}"


@dataclass(frozen=True)
class Directory:
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


@dataclass(frozen=True)
class Section:
    """What the page makes of one kind of file.

    Attributes:
        kind: of the files it reads.
        format: the newest format it understands.
        order: place on the page; lower comes first.
        build: makes the part of the page; None for files that another section reads.
        keys: at the top level of a file, by which one without a kind is known; empty if every file names its kind.
    """

    kind: str
    format: int
    order: int
    build: Callable[[ResultFile, Directory], Part] | None = None
    keys: frozenset[str] = frozenset()


_SECTIONS: dict[str, Section] = {}


def register(section: Section) -> Section:
    """Make a section known; its kind must be new.

    Raises:
        ValueError: another section has the kind.
    """
    if section.kind in _SECTIONS:
        raise ValueError(f"A section of kind {section.kind!r} is registered already. Choose another kind.")
    _SECTIONS[section.kind] = section
    return section


def registered() -> tuple[Section, ...]:
    """Every section, in the order of the page."""
    return tuple(sorted(_SECTIONS.values(), key=lambda section: section.order))


def read_directory(path: Path) -> Directory:
    """Read the result files of a folder.

    Args:
        path: what `--out` named.

    Raises:
        InputError: there is no such folder, no result in it, a file is no JSON, or a newer trueval wrote it.
    """
    if not path.is_dir():
        raise InputError(f"{path}: no such folder. It must be what --out of another command named. Correct the path.")
    found = tuple(_read(path))
    files = tuple(file for file in found if file.kind in _SECTIONS)
    if not any(_SECTIONS[file.kind].build for file in files):
        raise InputError(f"{path}: no result to report. {_why_none(found)}")
    return Directory(path, files, tuple(file.name for file in found if file.kind not in _SECTIONS))


def _why_none(found: tuple[ResultFile, ...]) -> str:
    """What is there instead of a result, and what to do."""
    newest = max(section.format for section in registered())
    for file in found:
        number = file.data.get("format")
        if file.kind not in _SECTIONS and isinstance(number, int) and number > newest:
            return (
                f"{file.name} has format {number} and no kind that is known. This version reads formats up to "
                f"{newest}. Update trueval."
            )
    kinds = ", ".join(section.kind for section in registered() if section.build)
    return f"It must hold a JSON file of kind {kinds}. Make one with trueval evaluate --out, or trueval compare --out."


def pointer(*keys: str | int) -> str:
    """A JSON pointer (RFC 6901) in its form for fragments.

    >>> pointer("measures", "R(rel=2, base='list')@10", 0)
    "/measures/R(rel=2,%20base='list')@10/0"
    """
    escaped = (str(key).replace("~", "~0").replace("/", "~1") for key in keys)
    return "".join(f"/{quote(key, safe='@!$&()*+,;=:~-._' + chr(39))}" for key in escaped)


def _read(path: Path) -> Iterator[ResultFile]:
    for file in sorted(path.glob("*.json")):
        try:
            data = json.loads(file.read_text(encoding="utf-8"))
        except ValueError as error:
            raise InputError(f"{file}: not JSON ({error}). Write it again, or move it out of the folder.") from error
        kind = _kind(data)
        known = _SECTIONS.get(kind)
        if known and data.get("format", 0) > known.format:
            raise InputError(
                f"{file}: format {data['format']} of kind {kind}. This version reads up to {known.format}. "
                "Update trueval."
            )
        yield ResultFile(file.name, kind, data if isinstance(data, dict) else {})


def _kind(data: Any) -> str:
    if not isinstance(data, dict):
        return ""
    if "kind" in data:
        return str(data["kind"])
    matching = (section.kind for section in registered() if section.keys and section.keys <= data.keys())
    return next(matching, "")
