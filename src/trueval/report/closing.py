"""What every page ends with: the choices behind the numbers, and where they come from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from trueval.policy.policy import OPTIONS
from trueval.report.content import Block, Cell, Column, Row, Table, Words
from trueval.report.directory import ResultFile, pointer
from trueval.report.text import NOT_AVAILABLE

DEFAULTS: Mapping[str, str] = {"convention": "our own", "tie_precision": "as read", "depth": "no limit"}


def policy_block(file: ResultFile) -> Block:
    """Every choice that changes a number.

    Args:
        file: results with a policy.

    Returns:
        A table with one row for each choice.
    """
    policy = file.data["policy"]
    rows = tuple(Row(pointer("policy", name), _policy_cells(name, value)) for name, value in policy.items())
    caption = ("The choices behind the numbers.",)
    columns = (Column("choice"), Column("value"), Column("meaning"))
    return Block("conventions", "Conventions", tables=(Table("policy", caption, file.name, columns, rows),))


def provenance_block(file: ResultFile, details: ResultFile | None) -> Block:
    """Files, versions, command, date.

    Args:
        file: results of an evaluation.
        details: of the same evaluation, None where there are none.

    Returns:
        A table of files, and facts.
    """
    if details is None:
        words = f"{file.name} was written by trueval {file.data['trueval']}; there are no details beside it."
        return Block("provenance", "Provenance", words=((words,),))
    data = details.data
    columns = (
        Column("role", "/role"),
        Column("file", "/path"),
        Column("bytes", "/bytes", numeric=True),
        Column("SHA-256", "/sha256"),
    )
    rows = tuple(Row(pointer("files", place), tuple(_file_cells(each))) for place, each in enumerate(data["files"]))
    table = Table("files", ("The files that were read.",), details.name, columns, rows)
    facts: tuple[tuple[str, Words], ...] = (
        ("Written", (data["written"],)),
        ("Command", (data["command"],)),
        ("Versions", (", ".join(f"{name} {number}" for name, number in data["versions"].items()),)),
    )
    return Block("provenance", "Provenance", tables=(table,), facts=facts)


def _policy_cells(name: str, value: Any) -> tuple[Cell, ...]:
    option, shown = OPTIONS.get(name), _shown(name, value)
    meaning = option.about if option is not None else ""
    if option is not None and isinstance(value, str) and value in option.words:
        meaning += f": {option.words[value]}"
    return Cell(name.replace("_", " "), name), Cell(shown, shown), Cell(meaning, meaning or None)


def _shown(name: str, value: Any) -> str:
    if value is None:
        return DEFAULTS.get(name, "none")
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float | int):
        return f"{value:g}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _file_cells(file: Mapping[str, Any]) -> Iterator[Cell]:
    size, digest = file["bytes"], file["sha256"]
    yield Cell(file["role"], file["role"])
    yield Cell("standard input" if file["path"] == "-" else file["path"], file["path"])
    yield Cell(NOT_AVAILABLE if size is None else f"{size:,}", size)
    yield Cell(digest or NOT_AVAILABLE, digest)
