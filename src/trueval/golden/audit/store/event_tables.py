"""The tables of an audit's events in SQLite: append-only, with constraints that refuse invalid rows."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Final

from trueval.errors import InputError
from trueval.golden.audit.store.audit_manifest import Item
from trueval.golden.audit.store.events import Event

# 1: first version.
FORMAT_VERSION: Final = 1
# A grade carries the scale of its item: the foreign key ensures that it is the item's scale, the check that the grade
# is on it.
_TABLES: Final = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS items (
    item TEXT PRIMARY KEY, task TEXT NOT NULL CHECK (task IN ('grade', 'order', 'answer')), low INTEGER NOT NULL,
    high INTEGER NOT NULL, UNIQUE (item, task, low, high)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS events (
    number INTEGER PRIMARY KEY AUTOINCREMENT, event TEXT NOT NULL UNIQUE CHECK (length(event) BETWEEN 1 AND 100),
    kind TEXT NOT NULL CHECK (kind IN ('grade', 'skip', 'note', 'undo')),
    rater TEXT NOT NULL CHECK (length(rater) BETWEEN 1 AND 64), item TEXT NOT NULL, task TEXT NOT NULL,
    low INTEGER NOT NULL, high INTEGER NOT NULL,
    grade INTEGER CHECK (grade IS NULL OR (typeof(grade) = 'integer' AND grade BETWEEN low AND high)),
    note TEXT NOT NULL CHECK (length(note) <= 10000), seconds REAL CHECK (seconds >= 0), time TEXT NOT NULL,
    undone INTEGER UNIQUE REFERENCES events (number), FOREIGN KEY (item, task, low, high)
    REFERENCES items (item, task, low, high), CHECK ((kind = 'grade') = (grade IS NOT NULL)),
    CHECK ((kind = 'undo') = (undone IS NOT NULL))
);
CREATE TABLE IF NOT EXISTS shown (
    rater TEXT NOT NULL, item TEXT NOT NULL REFERENCES items (item), until REAL NOT NULL, PRIMARY KEY (rater, item)
) WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS events_stay BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'events stay'); END;
CREATE TRIGGER IF NOT EXISTS events_last BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'events stay'); END
"""


def make_tables(base: sqlite3.Connection) -> None:
    """Create the tables that do not exist."""
    statement = ""
    for part in _TABLES.split(";"):
        statement += part
        if sqlite3.complete_statement(f"{statement};"):
            base.execute(statement)
            statement = ""
        else:
            statement += ";"


def insert(
    base: sqlite3.Connection, event: Event, item: Item, written: str, undone: int | None = None
) -> dict[str, object]:
    """Append one event.

    Args:
        event: validated event.
        written: time of writing, in UTC.
        undone: number of the answer that is undone; None for other kinds.

    Returns:
        The stored row.
    """
    row = {
        "event": event.event,
        "kind": event.kind,
        "rater": event.rater,
        "item": item.item,
        "task": item.task,
        "low": item.low,
        "high": item.high,
        "grade": event.grade,
        "note": event.note,
        "seconds": event.seconds,
        "time": written,
        "undone": undone,
    }
    added = base.execute(
        f"INSERT INTO events ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",  # noqa: S608  the names are ours
        tuple(row.values()),
    )
    return {"number": added.lastrowid, **row}


def unusable(path: Path, error: sqlite3.Error) -> InputError:
    """The error for a file that cannot be used, or that another process has open.

    Args:
        error: error of SQLite.
    """
    if "locked" in str(error):
        return InputError(
            f"{path}: another trueval golden audit has these labels open. Stop it first, or let raters use its address."
        )
    return InputError(
        f"{path}: cannot be used ({error}). It must be a file that trueval golden audit made, in a folder that can be "
        "written. Put it back as it was."
    )
