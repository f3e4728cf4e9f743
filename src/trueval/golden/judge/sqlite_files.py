"""SQLite files: identify a file's contents read-only, before anything is written to a file that may not be ours.

Opening a file for writing may already change it: the journal mode is in its header, and the write-ahead log of a killed
program is merged into it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

# The table `about` of each of our files: values by name, of which "kind" and "format" identify the file.
ABOUT = "about"


class Contents(NamedTuple):
    """The contents of a SQLite file.

    Attributes:
        tables: names of tables and views; empty if the file is missing or new.
        about: name → value, from the table `about`; empty if there is no such table.
    """

    tables: frozenset[str]
    about: Mapping[str, str]


def look_into(path: Path, wait: float = 5.0) -> Contents:
    """Inspect a file through a read-only connection.

    The write-ahead log (path-wal) is read too, for which SQLite may create its index (path-shm).

    Args:
        wait: maximum seconds to wait for another process that has locked the file.

    Raises:
        sqlite3.Error: it cannot be read, is not SQLite, or another process has it for itself.
    """
    if not path.exists():
        return Contents(frozenset(), {})
    if not Path(f"{path}-wal").exists():
        try:
            return _read(connect_read_only(path, wait))
        except sqlite3.Error:
            pass  # another process may have begun to write just now: its log is read below
    return _read(_connect(path, "mode=ro", wait))


def connect_read_only(path: Path, wait: float) -> sqlite3.Connection:
    """A read-only connection, usable from any thread.

    Args:
        path: existing file.
    """
    # Without a log nothing else is needed: "immutable" makes no file beside it either.
    return _connect(path, "mode=ro" if Path(f"{path}-wal").exists() else "mode=ro&immutable=1", wait)


def _connect(path: Path, how: str, wait: float) -> sqlite3.Connection:
    uri = f"{path.resolve().as_uri()}?{how}"
    return sqlite3.connect(uri, uri=True, timeout=wait, isolation_level=None, check_same_thread=False)


def _read(connection: sqlite3.Connection) -> Contents:
    with closing(connection) as base:
        found = base.execute("SELECT type, name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'").fetchall()
        tables = frozenset(str(name) for kind, name in found if kind in ("table", "view"))
        if ("table", ABOUT) not in found:
            return Contents(tables, {})
        try:
            rows = base.execute(f"SELECT name, value FROM {ABOUT}").fetchall()  # noqa: S608  the name is ours
        except sqlite3.OperationalError as error:
            if "no such column" not in str(error):
                raise
            return Contents(tables, {})
        return Contents(tables, {str(name): str(value) for name, value in rows})
