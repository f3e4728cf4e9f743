"""The store of an audit: every label is on disk before its rater gets the confirmation.

Events are appended to one SQLite file and never changed: a grade, a skip, a note, or an undo. The state follows from
them (assignment_queue.py). A killed process loses at most the event that it had not acknowledged; the browser sends it
again, and its id makes it count once.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from trueval.errors import InputError
from trueval.files.network_folders import refuse_network_folder
from trueval.golden.audit.store.assignment_queue import AssignmentQueue
from trueval.golden.audit.store.audit_items import AuditItem, AuditLabel, Progress
from trueval.golden.audit.store.audit_manifest import AuditManifest, read_sample, read_texts
from trueval.golden.audit.store.event_tables import FORMAT_VERSION, insert, make_tables, unusable
from trueval.golden.audit.store.events import (
    ANSWERS,
    Event,
    RefusedError,
    check_event,
    check_id,
    check_rater,
    out_of_turn,
)
from trueval.golden.judge.sqlite_files import ABOUT, Contents, look_into

EVENTS: Final = "audit.sqlite"
HOLD: Final = 900.0  # seconds for which an item is held for the rater to whom it was shown


class AuditStore:
    """The store of an audit. Open it with `AuditStore.open`, and close it.

    Args:
        texts: hash → text.
        base: the open file.
        now: clock, in seconds since 1970.
    """

    def __init__(
        self,
        folder: Path,
        sample: AuditManifest,
        texts: Mapping[str, str],
        base: sqlite3.Connection,
        now: Callable[[], float],
    ) -> None:
        self.folder, self.sample, self._texts, self._base, self._now = folder, sample, texts, base, now
        self.items: Final = {each.item: each for each in sample.items}
        self._lock = threading.RLock()
        self._turns = AssignmentQueue(self.items, sample.raters)

    @classmethod
    def open(cls, folder: Path, *, now: Callable[[], float] = time.time) -> AuditStore:
        """Open the store of an audit whose sample was drawn; creates it if absent.

        Args:
            now: clock, in seconds since 1970.

        Raises:
            InputError: the folder holds no audit or a damaged one, is on a network, or another process has it open.
        """
        sample = read_sample(folder)
        texts = read_texts(folder, sample.items)
        path = folder / EVENTS
        refuse_network_folder(path, "An audit")
        base: sqlite3.Connection | None = None
        try:
            _refuse_other(path, look_into(path, wait=0))  # before anything is written to it
            base = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
            base.row_factory = sqlite3.Row
            # Locked until it is closed or its process ends, since two servers would serve an item twice.
            base.execute("PRAGMA locking_mode = EXCLUSIVE")
            base.execute("PRAGMA journal_mode = WAL")
            base.execute("PRAGMA foreign_keys = ON")
            store = cls(folder, sample, texts, base, now)
            store._begin(path)
        except sqlite3.Error as error:
            if base is not None:
                base.close()
            raise unusable(path, error) from error
        except BaseException:
            if base is not None:
                base.close()
            raise
        return store

    def _begin(self, path: Path) -> None:
        with self._writing() as base:
            make_tables(base)
            base.execute("INSERT OR IGNORE INTO about VALUES ('format', ?)", (str(FORMAT_VERSION),))
            self._check(path)
            rows = [(each.item, each.task, each.low, each.high) for each in self.items.values()]
            base.executemany("INSERT OR IGNORE INTO items VALUES (?, ?, ?, ?)", rows)
        self._follow()

    def _check(self, path: Path) -> None:
        """Refuse labels of another sample before anything is written."""
        ours = {each.item: (each.task, each.low, each.high) for each in self.items.values()}
        stored = self._base.execute("SELECT item, task, low, high FROM items").fetchall()
        strange = [each["item"] for each in stored if ours.get(each["item"]) != tuple(each)[1:]]
        if strange:
            raise InputError(
                f"{path}: holds labels of another sample ({len(strange)} items, such as {strange[0]}, are not those of "
                "items.jsonl). Put the files of the audit back as they were."
            )

    def _follow(self) -> None:
        """Replay the events of earlier sessions."""
        for row in self._base.execute("SELECT * FROM events ORDER BY number"):
            self._turns.take(dict(row))
        for row in self._base.execute("SELECT rater, item, until FROM shown"):
            self._turns.show(row["rater"], row["item"], row["until"])

    def __enter__(self) -> AuditStore:
        """The store itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self.close()

    def close(self) -> None:
        """Close the file, so that others may open it."""
        with self._lock:
            self._base.close()

    # FULL: an acknowledged label survives a crash of the machine, not only of the process.
    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            self._base.execute("PRAGMA synchronous = FULL")
            self._base.execute("BEGIN IMMEDIATE")
            try:
                yield self._base
                self._base.execute("COMMIT")
            except BaseException as error:
                if self._base.in_transaction:
                    self._base.execute("ROLLBACK")
                if isinstance(error, sqlite3.Error):
                    raise unusable(self.folder / EVENTS, error) from error
                raise

    def next_item(self, rater: str, task: str | None = None) -> AuditItem | None:
        """The item to show a rater now: one the rater already holds, else the first that needs a label.

        Args:
            task: task of the item; None for any, in sample order.

        Returns:
            The item, now held for the rater; None if nothing is left for this rater at present.

        Raises:
            RefusedError: the name of the rater, or the task, cannot be used.
        """
        return next(iter(self.next_items(rater, 1, task)), None)

    def next_items(self, rater: str, most: int, task: str | None = None) -> list[AuditItem]:
        """The items to show a rater now and next, so that a page can prefetch the next one.

        Args:
            most: maximum number of items, including those that the rater already holds.

        Returns:
            As in `next_item`, at most this many.

        Raises:
            RefusedError: as in `next_item`.
        """
        check_rater(rater)
        if task is not None and task not in self.sample.scales:
            raise RefusedError(f"a task must be one of {', '.join(self.sample.scales)}. Got {task!r}.", "task")
        with self._lock:
            now = self._now()
            found = self._turns.next_items(rater, most, task, now)
            self._hold(rater, found, now + HOLD)
            return [self.read_item(item) for item in found]

    def _hold(self, rater: str, items: Sequence[str], until: float) -> None:
        # Durable like labels: an answer to an item without a record of being shown would be refused.
        with self._writing() as base:
            base.executemany("INSERT OR REPLACE INTO shown VALUES (?, ?, ?)", [(rater, each, until) for each in items])
        for item in items:
            self._turns.show(rater, item, until)

    def read_item(self, item: str) -> AuditItem:
        """The fields of an item that raters see."""
        found = self.items[item]
        question, *texts = (self._texts[each] for each in found.texts)
        return AuditItem(found.item, found.task, question, tuple(texts), found.low, found.high)

    def record(self, event: Event) -> bool:
        """Record a rater's answer to an item the rater was shown; it is on disk when this returns.

        Args:
            event: event as sent by the browser.

        Returns:
            Whether it is new; False if the same event was recorded before.

        Raises:
            RefusedError: something in it is wrong, the rater was never shown the item or has answered it already, or
                another event has its id.
        """
        with self._lock:
            event = check_event(event, self.items)
            if self._came_before(event):
                return False
            if event.rater not in self._turns.shown.get(event.item, ()):
                raise RefusedError(
                    f"item {event.item} was never shown to {event.rater}. Ask for the next item.", "shown"
                )
            self._append([event])
            return True

    def record_all(self, events: Iterable[Event]) -> list[bool]:
        """Record answers that raters gave elsewhere: all of them, or none.

        Args:
            events: events of raters who had the items as a file.

        Returns:
            [event] whether it is new.

        Raises:
            RefusedError: as in `record`, of the first that is wrong; nothing is written then.
        """
        with self._lock:
            checked = [check_event(each, self.items) for each in events]
            new = [not self._came_before(each) for each in checked]
            self._append([each for each, is_new in zip(checked, new, strict=True) if is_new])
            return new

    def _came_before(self, event: Event) -> bool:
        row = self._row(event.event)
        if row is None:
            return False
        if (row["rater"], row["item"], row["kind"], row["grade"], row["note"]) == event[1:6]:
            return True
        raise RefusedError(f"another event has the id {event.event}. Each must have its own.", "event")

    def _append(self, events: list[Event]) -> None:
        rows: list[dict[str, Any]] = []
        answered: set[tuple[str, str]] = set()  # by earlier events of this call
        with self._writing() as base:
            for event in events:
                pair = (event.rater, event.item)
                known = pair in answered or self._turns.has_answered(event.rater, event.item)
                if (event.kind in ANSWERS) == known:
                    raise out_of_turn(event)
                answered.add(pair)
                item = self.items[event.item]
                rows.append(insert(base, event, item, self._date()))
        for row in rows:
            self._turns.take(row)

    def undo(self, rater: str, event: str, of: str | None = None) -> AuditItem | None:
        """Undo a rater's answer; the rater holds the item again.

        Args:
            event: id of the undo from the browser; an id sent twice counts once.
            of: id of the answer to undo; by default the last one that is not undone. A page names it, so that a second
                page of the same rater, or a late request, undoes the answer that its rater saw.

        Returns:
            The item; None if the rater has nothing to undo.

        Raises:
            RefusedError: the name or the id cannot be used, another event has that id, or `of` is not an answer of this
                rater that counts.
        """
        check_rater(rater), check_id(event)
        with self._lock:
            row = self._row(event)
            number = self._number(rater, of, came_before=row is not None)
            if row is not None and (row["kind"], row["rater"], row["undone"]) != (
                "undo",
                rater,
                number or row["undone"],
            ):
                raise RefusedError(f"another event has the id {event}. Each must have its own.", "event")
            if row is not None:
                return self.read_item(row["item"])
            if number is None:
                return None
            item = self.items[self._turns.about[number]]
            with self._writing() as base:
                added = insert(base, Event(event, rater, item.item, "undo"), item, self._date(), number)
            self._turns.take(added)
            self._hold(rater, [item.item], self._now() + HOLD)
            return self.read_item(item.item)

    def _number(self, rater: str, of: str | None, *, came_before: bool) -> int | None:
        """Number of the answer to undo: that of the named event, or the rater's last for None; None without one."""
        standing = self._turns.order.get(rater, [])
        if of is None:
            return None if came_before or not standing else standing[-1]
        row = self._row(of)
        number = None if row is None else int(row["number"])
        if number is not None and (number in standing or (came_before and number in self._turns.about)):
            return number
        raise RefusedError(f"{rater} has no answer that is called {of} and counts. There is nothing to undo.", "undo")

    def _row(self, event: str) -> sqlite3.Row | None:
        found: sqlite3.Row | None = self._base.execute("SELECT * FROM events WHERE event = ?", (event,)).fetchone()
        return found

    def _date(self) -> str:
        return datetime.fromtimestamp(self._now(), UTC).isoformat(timespec="milliseconds")

    def labels(self) -> dict[str, tuple[AuditLabel, ...]]:
        """The answers of raters, as in `AssignmentQueue.labels`."""
        with self._lock:
            return self._turns.labels()

    def progress(self) -> tuple[Progress, ...]:
        """Progress of each task."""
        with self._lock:
            return tuple(self._turns.progress(task) for task in self.sample.scales)


def _refuse_other(path: Path, found: Contents) -> None:
    """Refuse a file that is not an audit store, or one of a newer version.

    Raises:
        InputError: it is.
    """
    if not found.tables:
        return
    if not {ABOUT, "items", "events", "shown"} <= found.tables or "kind" in found.about:
        raise InputError(f"{path}: not the labels of an audit, but another SQLite file. Move it away.")
    number = found.about.get("format", "")
    if not number.isdecimal() or int(number) > FORMAT_VERSION:
        raise InputError(f"{path}: format {number}, and this version reads up to {FORMAT_VERSION}. Update trueval.")
