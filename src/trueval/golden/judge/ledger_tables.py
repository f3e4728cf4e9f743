"""The tables of a ledger in SQLite: calls, labels, texts and claims, and the mapping of calls to rows."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from trueval.errors import InputError
from trueval.files.texts.text_store import as_bytes
from trueval.golden.judge.sqlite_files import look_into

# 1: first version.
FORMAT_VERSION: Final = 1
KIND: Final = "ledger"
BUSY: Final = 60.0  # seconds that a write waits for another process
LOOK: Final = 0.02  # seconds between checks of a file that another process prepares
TABLES: Final = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS calls (
    key TEXT PRIMARY KEY, judge TEXT NOT NULL, task TEXT NOT NULL, identity TEXT NOT NULL, query TEXT NOT NULL,
    passages TEXT NOT NULL, sample INTEGER NOT NULL, labels TEXT NOT NULL, ranking TEXT NOT NULL, text TEXT NOT NULL,
    raw TEXT NOT NULL, problems TEXT NOT NULL, model TEXT NOT NULL, tokens_in INTEGER, tokens_out INTEGER, cost REAL,
    seconds REAL NOT NULL, time TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS labels (
    call TEXT NOT NULL REFERENCES calls (key), query TEXT NOT NULL, text TEXT NOT NULL, slot INTEGER NOT NULL,
    grade INTEGER NOT NULL, reason TEXT NOT NULL, PRIMARY KEY (call, slot)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS labels_by_text ON labels (query, text);
CREATE TABLE IF NOT EXISTS texts (hash TEXT PRIMARY KEY, text BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS claims (key TEXT PRIMARY KEY, until REAL NOT NULL, owner TEXT NOT NULL) WITHOUT ROWID;
"""
_COLUMNS: Final = (
    *("key", "judge", "task", "identity", "query", "passages", "sample", "labels", "ranking", "text", "raw"),
    *("problems", "model", "tokens_in", "tokens_out", "cost", "seconds", "time"),
)
LABEL_COLUMNS: Final = ("call", "query", "text", "slot", "grade", "reason")
# Columns that hold JSON.
_NESTED: Final = ("identity", "passages", "labels", "ranking", "raw", "problems")
EVERY: Final = f"SELECT {', '.join(_COLUMNS)} FROM calls"  # noqa: S608  the names are ours
_ADD: Final = f"INSERT OR IGNORE INTO calls VALUES ({', '.join('?' * len(_COLUMNS))})"  # noqa: S608


def make_tables(base: sqlite3.Connection) -> None:
    """Create the tables that do not exist."""
    for statement in TABLES.split(";"):
        base.execute(statement)


def check_columns(base: sqlite3.Connection) -> None:
    """Select each column without rows, so that SQLite names a missing one.

    Raises:
        sqlite3.OperationalError: a column is not there.
    """
    columns = {"calls": _COLUMNS, "labels": LABEL_COLUMNS, "texts": ("hash", "text"), "claims": ("until", "owner")}
    for table, names in columns.items():
        base.execute(f"SELECT {', '.join(names)} FROM {table} LIMIT 0")  # noqa: S608  the names are ours


def write_ahead(base: sqlite3.Connection) -> None:
    """Switch to WAL mode, with our own retries: SQLite does not wait for another process that switches."""
    until = time.monotonic() + BUSY
    while True:
        try:
            base.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
        time.sleep(LOOK)


def is_ledger(path: Path) -> bool:
    """Whether a file is a ledger; False for a missing or new one. The file is not modified.

    Raises:
        InputError: it is something else, or a ledger of a newer version.
    """
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: a ledger is kept in a file, and this is none. Name another one.")
    try:
        tables, about = look_into(path)
    except sqlite3.Error as error:
        raise unusable(path, error) from error
    if not tables:
        return False
    if about.get("kind") != KIND:
        raise InputError(f"{path}: not a ledger of trueval, but another SQLite file. Name another file.")
    number = about.get("format", "")
    if not number.isdecimal() or int(number) > FORMAT_VERSION:
        raise InputError(
            f"{path}: format {number} of kind {KIND}. This version reads ledgers up to {FORMAT_VERSION}. "
            "Update trueval."
        )
    return True


def unusable(path: Path, error: sqlite3.Error) -> InputError:
    """The error for a file that cannot be used.

    Args:
        error: error of SQLite.
    """
    if getattr(error, "sqlite_errorcode", None) in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_BUSY):
        return InputError(
            f"{path}: cannot be written ({error}). Make room on the disk, or end the program that holds the file, and "
            "run the same command again: what was written is kept."
        )
    return InputError(
        f"{path}: cannot be used as a ledger ({error}). It must be a file that trueval made, in a folder that can be "
        "written. Name another file, or move this one away."
    )


def insert(base: sqlite3.Connection, row: Mapping[str, object], texts: list[tuple[str, str]]) -> bool:
    """Insert a call with its labels and texts; returns whether it was new.

    Args:
        row: value of each column.
        texts: hash and text of all texts in the call.
    """
    packed = [json.dumps(row[name], sort_keys=True) if name in _NESTED else row[name] for name in _COLUMNS]
    if not base.execute(_ADD, packed).rowcount:
        return False
    base.executemany("INSERT OR IGNORE INTO texts VALUES (?, ?)", [(key, as_bytes(text)) for key, text in texts])
    base.executemany("INSERT INTO labels VALUES (?, ?, ?, ?, ?, ?)", label_rows(row))
    return True


def label_rows(call: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """The label rows of a call, in the order of `LABEL_COLUMNS`.

    Args:
        call: value of each column.
    """
    return [
        (call["key"], call["query"], call["passages"][slot], slot, *label)
        for slot, label in enumerate(call["labels"])
        if label is not None
    ]


def unpack_row(row: tuple[Any, ...]) -> dict[str, Any]:
    """A row of calls by its columns."""
    return {name: json.loads(value) if name in _NESTED else value for name, value in zip(_COLUMNS, row, strict=True)}
