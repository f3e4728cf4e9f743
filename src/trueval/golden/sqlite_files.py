"""SQLite files: what one holds, told without changing it, before a file that is not ours is written to.

Opening a file for writing may change it before anything is asked: the journal mode is in its header, and what a killed
program left in a log beside it is moved into it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

# What each of our files has: values by name, of which "kind" and "format" say what the file is.
ABOUT = "about"


class Contents(NamedTuple):
    """What a SQLite file holds.

    Attributes:
        tables: their names, and those of views; none where there is no file, or it is new.
        about: value by name, of the table about; empty where there is none of this form.
    """

    tables: frozenset[str]
    about: Mapping[str, str]


def look_into(path: Path, wait: float = 5.0) -> Contents:
    """Look at a file, opened for reading alone.

    A log beside the file (path-wal) is read too, and then SQLite may put its index (path-shm) beside them.

    Args:
        path: of the file.
        wait: seconds, at most, for another process that has the file for itself.

    Raises:
        sqlite3.Error: it cannot be read, is not SQLite, or another process has it for itself.
    """
    if not path.exists():
        return Contents(frozenset(), {})
    uri, log = path.resolve().as_uri(), Path(f"{path}-wal")
    if not log.exists():
        try:
            # Without a log nothing else is needed: "immutable" makes no file beside it either.
            return _read(f"{uri}?immutable=1", wait)
        except sqlite3.Error:
            pass  # another process may have begun to write just now: its log is read below
    return _read(f"{uri}?mode=ro", wait)


def _read(uri: str, wait: float) -> Contents:
    with closing(sqlite3.connect(uri, uri=True, timeout=wait)) as base:
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
