"""The end of the page: the choices behind the numbers, and where they come from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trueval.report.content import Block, Cell, Column, Row, Table, Words
from trueval.report.directory import ResultFile, pointer
from trueval.report.numbers import NOT_AVAILABLE
from trueval.tie_order import TIE_ORDERS

MEANINGS: Mapping[str, str] = {
    "convention": "the tool whose choices were taken over",
    "tie_order": "order of equal scores behind the oblivious value",
    "tie_precision": "number format or grid that decides which scores are equal",
    "rel": "grade from which a document is relevant, for measures that do not name their own",
    "base": "what the ideal and the number of relevant documents come from",
    "empty": "queries without a relevant document",
    "missing": "judged queries that a run lacks",
    "depth": "ranks past this one count for nothing",
    "judged_only": "whether documents without a grade were left out of the lists",
    "seed": "of the random tie order",
}
DEFAULTS: Mapping[str, str] = {"convention": "our own", "tie_precision": "as read", "depth": "no limit"}


def policy_block(file: ResultFile) -> Block:
    """Every choice that changes a number.

    Args:
        file: results with a policy.

    Returns:
        A table with one row for each choice.
    """
    policy = file.data["policy"]
    rows = tuple(Row(pointer("policy"), _policy_cells(name, value)) for name, value in policy.items())
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
        words = f"{file.name} was written by trueval {file.data['trueval']}; no details stand beside it."
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
    return Block("provenance", "Provenance", tables=(table,), facts=tuple(_facts(data)))


def _policy_cells(name: str, value: Any) -> tuple[Cell, ...]:
    shown = DEFAULTS.get(name, "none") if value is None else {True: "yes", False: "no"}.get(value, value)
    if isinstance(value, float | int) and not isinstance(value, bool):
        shown = f"{value:g}"
    meaning = MEANINGS.get(name, "")
    if name == "tie_order":
        meaning += f": {TIE_ORDERS.get(str(value), 'not known to this version')}"
    return Cell(name.replace("_", " "), name), Cell(str(shown), str(shown)), Cell(meaning, meaning or None)


def _file_cells(file: Mapping[str, Any]) -> Iterator[Cell]:
    size, digest = file["bytes"], file["sha256"]
    yield Cell(file["role"], file["role"])
    yield Cell("standard input" if file["path"] == "-" else file["path"], file["path"])
    yield Cell(NOT_AVAILABLE if size is None else f"{size:,}", size)
    yield Cell(digest or NOT_AVAILABLE, digest)


def _facts(data: Mapping[str, Any]) -> Iterator[tuple[str, Words]]:
    yield "Written", (data["written"],)
    yield "Command", (data["command"],)
    yield "Versions", (", ".join(f"{name} {number}" for name, number in data["versions"].items()),)
