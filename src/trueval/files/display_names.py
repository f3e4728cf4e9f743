"""Display names of files: their own name, the name in name=path, or as much of the path as is unique."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from os import PathLike, fspath
from pathlib import Path
from typing import Final, NamedTuple

from trueval.files.source.source_bytes import stem
from trueval.printable import encodable

OF_TABLE: Final = "::"  # between the path of a table of runs and the name of one of them


class NamedFile(NamedTuple):
    """A file with its name in tables.

    Attributes:
        name: unique among the files that are named together, and UTF-8, whatever the path.
        path: "-" for standard input.
    """

    name: str
    path: str


class TableRun(NamedTuple):
    """A run of a table of runs: the path of the table, and the run's name in it."""

    path: str
    run: str

    def __str__(self) -> str:
        """The text that names it where a path may be."""
        return f"{self.path}{OF_TABLE}{self.run}"


def split_table(source: object) -> TableRun | None:
    """The parts of `path::run`; None for any other source, and for a file that is called so.

    >>> str(TableRun("runs.parquet", "org/model")), split_table("runs/bm25.trec")
    ('runs.parquet::org/model', None)
    """
    if not isinstance(source, str | PathLike) or OF_TABLE not in (text := str(fspath(source))) or Path(text).exists():
        return None
    path, _, run = text.partition(OF_TABLE)
    return TableRun(path, run) if run and Path(path).is_file() else None


def file_of(path: str) -> str:
    """The file that a path reads: of `path::run` the table.

    >>> file_of("runs/bm25.trec")
    'runs/bm25.trec'
    """
    found = split_table(path)
    return path if found is None else found.path


def path_of(text: str) -> str:
    """The path in `name=path`; the text itself where it names no other.

    >>> path_of("new=runs/bm25.trec"), path_of("runs/bm25.trec"), path_of("runs/a=b.trec")
    ('runs/bm25.trec', 'runs/bm25.trec', 'runs/a=b.trec')
    """
    return _split(text)[1]


def name_files(texts: Sequence[str]) -> tuple[NamedFile, ...]:
    """Give each file a unique name.

    A file gets the name before "=", a run of a table its name there, any other file its own without suffixes. Files
    with equal names get the shortest ends of their paths that differ.

    Args:
        texts: paths or name=path. If a file exists under the whole text, that file is meant.

    Returns:
        The files in order.

    >>> [file.name for file in name_files(["a/run.trec", "b/run.trec.gz", "new=c/run.trec", "b/other.trec"])]
    ['a/run', 'b/run', 'new', 'other']
    """
    parts = [_split(text) for text in texts]
    taken = {name for name, _ in parts if name}
    # The names of all files with one name grow in step, so that they look alike.
    groups: dict[str, list[str]] = {}
    for name, path in parts:
        if not name:
            groups.setdefault(_end(path, 0), []).append(path)
    found = {path: name for group in groups.values() for path, name in _tell_apart(group, taken).items()}
    return tuple(NamedFile(encodable(name or found[path]), path) for name, path in parts)


def _tell_apart(paths: Sequence[str], taken: set[str]) -> dict[str, str]:
    """The shortest distinct names that are not explicitly given to another file; whole paths if there are none."""
    above = {path: Path(path).parts[:-1] for path in paths}
    # Folders common to all paths are dropped; a single path is only distinguished from explicitly given names.
    levels = zip(*above.values(), strict=False)
    shared = sum(1 for _ in takewhile(lambda level: len(set(level)) == 1, levels)) if len(above) > 1 else 0
    for suffixes in (False, True):
        for folders in range(max(map(len, above.values())) - shared + 1):
            names = {path: _end(path, min(folders, len(above[path]) - shared), suffixes=suffixes) for path in paths}
            if len(set(names.values())) == len(names) and taken.isdisjoint(names.values()):
                return names
    return {path: path for path in paths}


def _end(path: str, folders: int, *, suffixes: bool = False) -> str:
    """The file name with a number of its folders, without known suffixes."""
    if path == "-":
        return "<stdin>"
    above = Path(path).parts[:-1]
    return "/".join([*above[len(above) - folders :], Path(path).name if suffixes else stem(path)])


def _split(text: str) -> tuple[str, str]:
    if (found := split_table(text)) is not None:
        return found.run, text
    name, equals, path = text.partition("=")
    if not (name and equals and path) or "/" in name or Path(text).exists():
        return "", text
    return name, path
