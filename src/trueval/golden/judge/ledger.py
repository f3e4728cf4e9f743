"""The ledger: every call of a judge and every label, in SQLite, committed before they are used.

    calls   key, judge, task, identity, query, passages, sample, answer, tokens, cost, time ...
    labels  call, query, text, slot, grade, reason      one row for each passage that a call graded
    texts   hash, text                                  so that each label can be traced to what was read
    claims  key, until, owner                           who is asking now, so that no other process asks the same

A call is looked up by the hash of everything that determines its answer (judge.key_of). One process at a time owns the
file, so that limits of money hold; another one that would write it is refused. It is in WAL mode: readers never wait,
and a killed process loses only its calls in flight. Judging never leaves the process of the command, whatever
`executor=` is: workers on other machines would need a ledger on a network folder, which is refused, so that no question
is paid twice.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import polars as pl

from trueval.errors import InputError, Place
from trueval.files.atomic_files import write_whole
from trueval.files.network_folders import refuse_network_folder
from trueval.files.ownership import Ownership
from trueval.golden.judge.judge import AnswerKey, Judge, JudgeAnswer, Question, Task, key_for, key_of
from trueval.golden.judge.ledger_calls import BilledUsage, answer_of, lines_in, question_of, read_call
from trueval.golden.judge.ledger_tables import (
    BUSY,
    EVERY,
    FORMAT_VERSION,
    KIND,
    LABEL_COLUMNS,
    check_columns,
    insert,
    is_ledger,
    label_rows,
    make_tables,
    unpack_row,
    unusable,
    write_ahead,
)
from trueval.golden.judge.sqlite_files import connect_read_only
from trueval.models.hosted.call_owners import OWNER, is_alive

CLAIM: Final = 900.0  # seconds after which a claim of another machine counts as abandoned
POLL: Final = 0.2  # seconds between checks of another process's question

_LABELS: Final = {
    "judge": pl.String,
    "identity": pl.String,
    "call": pl.String,
    "query": pl.String,
    "text": pl.String,
    "slot": pl.Int64,
    "slots": pl.Int64,
    "sample": pl.Int64,
    "grade": pl.Int64,
    "reason": pl.String,
    "model": pl.String,
    "time": pl.String,
}


class LedgerTotals(NamedTuple):
    """Totals of a ledger.

    Attributes:
        calls: number of answered calls.
        labels: number of valid labels.
        invalid: number of calls with a partly invalid answer.
        tokens_in: tokens of prompts, where reported.
        tokens_out: tokens of answers, where reported.
        cost: total cost, where known.
    """

    calls: int
    labels: int
    invalid: int
    tokens_in: int
    tokens_out: int
    cost: float


class Ledger:
    """A ledger file, created if absent. Use `open_ledger`, which closes it.

    Args:
        path: path of the file; its folder must exist.
        read_only: whether the file is only read: nothing is created or written, not even next to it.

    Raises:
        InputError: it is not a ledger, is newer than us, is on a network folder, is another process's, or cannot be
            written.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._owner: Ownership | None = None
        is_ledger(path)  # refuses other files
        if not read_only:
            refuse_network_folder(path, "A ledger")
            self._owner = Ownership(path, "A ledger")
        try:
            self._open(read_only=read_only)
        except BaseException:
            self._release()
            raise

    def _open(self, *, read_only: bool) -> None:
        path = self.path
        try:
            if read_only:
                self._base = connect_read_only(path, BUSY)
                check_columns(self._base)
                return
            # One connection shared by all threads, since a write takes a tenth of a millisecond.
            self._base = sqlite3.connect(path, timeout=BUSY, isolation_level=None, check_same_thread=False)
            write_ahead(self._base)
            with self._writing() as base:
                make_tables(base)
                base.execute("INSERT OR IGNORE INTO about VALUES ('kind', ?)", (KIND,))
                base.execute("INSERT OR IGNORE INTO about VALUES ('format', ?)", (str(FORMAT_VERSION),))
                check_columns(base)
        except sqlite3.Error as error:
            raise unusable(path, error) from error

    # FULL: a paid answer survives a crash of the machine, not only of the process.
    @contextmanager
    def _writing(self, synchronous: str = "FULL") -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                self._base.execute(f"PRAGMA synchronous = {synchronous}")
                self._base.execute("BEGIN IMMEDIATE")
                try:
                    yield self._base
                except BaseException:
                    if self._base.in_transaction:  # SQLite itself ends one that a full disk stopped
                        self._base.execute("ROLLBACK")
                    raise
                self._base.execute("COMMIT")
            except sqlite3.Error as error:
                raise unusable(self.path, error) from error

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Use the single connection, and report what is wrong with a damaged file."""
        with self._lock:
            try:
                yield
            except sqlite3.Error as error:
                raise unusable(self.path, error) from error

    @contextmanager
    def _readable(self, call: str) -> Iterator[None]:
        """Refuse values in the columns of a call that we did not write."""
        try:
            yield
        except (ValueError, TypeError, LookupError, AttributeError, pl.exceptions.PolarsError) as error:
            raise InputError(
                f"{self.path}: {call[:12]}: cannot be read ({type(error).__name__}: {error}); somebody changed it. Put "
                "back a copy of the ledger, or delete this call from its tables calls and labels: it is asked again."
            ) from error

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._base.close()
            self._release()

    def _release(self) -> None:
        if self._owner is not None:
            self._owner.release()

    def find(self, key: AnswerKey) -> JudgeAnswer | None:
        """The answer to a question; None where it was never asked."""
        with self._reading():
            row = self._base.execute(f"{EVERY} WHERE key = ?", (key.call,)).fetchone()
        if row is None:
            return None
        with self._readable(key.call):
            return answer_of(unpack_row(row))

    def ask(
        self,
        judge: Judge,
        question: Question,
        *,
        now: Callable[[], float] = time.time,
        wait: Callable[[float], None] = time.sleep,
    ) -> tuple[JudgeAnswer, bool]:
        """Return the answer from the ledger, or ask the judge and record its answer.

        While another process asks the same question, this waits for its answer.

        Args:
            now: clock in seconds, common to all processes.
            wait: sleep function, in seconds.

        Returns:
            The answer, and whether the judge was asked now.

        Raises:
            InputError: the judge cannot be asked.
        """
        key = key_of(judge, question)
        while (known := self.find(key)) is None and not self._claim(key, now()):
            wait(POLL)
        if known is not None:
            return known, False
        try:
            return self.add(judge, question, judge.ask(question)), True
        except BaseException:
            with self._writing() as base:
                base.execute("DELETE FROM claims WHERE key = ?", (key.call,))
            raise

    def _claim(self, key: AnswerKey, now: float) -> bool:
        """Whether this process may ask: the question is unclaimed, or its claimant has ended."""
        # A claim need not survive a crash of the machine, so it does not wait for the disk.
        with self._writing("NORMAL") as base:
            if base.execute("SELECT 1 FROM calls WHERE key = ?", (key.call,)).fetchone():
                return False  # answered since the last check: the next check finds it
            held = base.execute("SELECT until, owner FROM claims WHERE key = ?", (key.call,)).fetchone()
            if held is not None and held[0] >= now and is_alive(held[1]):
                return False
            base.execute("INSERT OR REPLACE INTO claims VALUES (?, ?, ?)", (key.call, now + CLAIM, OWNER))
            return True

    def add(self, judge: Judge, question: Question, answer: JudgeAnswer) -> JudgeAnswer:
        """Record an answer and return it; where the question has an answer already, return that one unchanged."""
        identity = judge.identity(question.task)
        key = key_for(identity, question)
        written = datetime.now(UTC).isoformat(timespec="milliseconds")
        row = {
            "key": key.call,
            "judge": judge.name,
            "task": question.task,
            "identity": dict(identity),
            "query": key.query,
            "passages": key.passages,
            "sample": question.sample,
            "labels": answer.labels,
            "ranking": answer.order,
            "text": answer.text,
            "raw": answer.raw,
            "problems": answer.problems,
            "model": answer.model,
            **answer.usage._asdict(),
            "seconds": answer.seconds,
            "time": written,
        }
        texts = [(key.query, question.query), *zip(key.passages, question.passages, strict=True)]
        with self._writing() as base:
            new = insert(base, row, texts)
            base.execute("DELETE FROM claims WHERE key = ?", (key.call,))
        return answer if new else self.find(key) or answer

    def labels(self, judge: str | None = None) -> pl.DataFrame:
        """All labels, in chronological order.

        Args:
            judge: name of one judge; all if None.

        Returns:
            judge, identity, call, query, text, slot, slots, sample, grade, reason, model, time; identity is JSON, query
            and text are hashes.
        """
        query = (
            "SELECT calls.judge, calls.identity, calls.key, labels.query, labels.text, labels.slot, "
            "json_array_length(calls.passages), calls.sample, labels.grade, labels.reason, calls.model, calls.time "
            "FROM labels JOIN calls ON calls.key = labels.call WHERE ?1 IS NULL OR calls.judge = ?1 "
            "ORDER BY calls.time, calls.key, labels.slot"
        )
        with self._reading():
            rows = self._base.execute(query, (judge,)).fetchall()
        with self._readable("labels"):
            return pl.DataFrame(rows, schema=_LABELS, orient="row")

    def times(self) -> dict[str, str]:
        """Key → time of the answer."""
        with self._reading():
            return dict(self._base.execute("SELECT key, time FROM calls").fetchall())

    def totals(self) -> LedgerTotals:
        """The totals of the ledger."""
        query = (
            "SELECT COUNT(*), (SELECT COUNT(*) FROM labels), COALESCE(SUM(problems != '[]'), 0), "
            "COALESCE(SUM(tokens_in), 0), COALESCE(SUM(tokens_out), 0), COALESCE(SUM(cost), 0.0) FROM calls"
        )
        with self._reading():
            return LedgerTotals(*self._base.execute(query).fetchone())

    def billed_usage(self, judge: Judge, task: Task) -> BilledUsage:
        """Billed usage of earlier answers to a task by the same model, parameters and prompt.

        Args:
            judge: the judge that answered.
        """
        query = (
            "SELECT COUNT(*), COALESCE(SUM(json_array_length(passages)), 0), COALESCE(SUM(tokens_out), 0) FROM calls "
            "WHERE task = ? AND identity = ? AND tokens_out IS NOT NULL"
        )
        with self._reading():
            identity = json.dumps(dict(judge.identity(task)), sort_keys=True)
            return BilledUsage(*self._base.execute(query, (task, identity)).fetchone())

    def calls(self) -> Iterator[dict[str, Any]]:
        """All calls in key order, with texts in place of their hashes."""
        with self._reading():
            rows = self._base.execute(f"{EVERY} ORDER BY key").fetchall()
            found = self._base.execute("SELECT hash, text FROM texts").fetchall()
        texts = {key: text.decode("utf-8", "surrogatepass") for key, text in found}
        for row in rows:
            with self._readable(str(row[0])):
                call = unpack_row(row)
                call |= {"query": texts[call["query"]], "passages": [texts[each] for each in call["passages"]]}
                answer_of(call)
            yield call

    def export(self, path: Path) -> int:
        """Write all calls with their texts as JSON lines.

        Args:
            path: output file, which appears once it is complete.

        Returns:
            Number of calls written.
        """
        lines = [json.dumps(call) + "\n" for call in self.calls()]
        write_whole(path, lambda file: file.write_text("".join(lines), encoding="utf-8", newline="\n"))
        return len(lines)

    def take(self, path: Path) -> int:
        """Import the calls of an exported file that this ledger lacks.

        Returns:
            Number of new calls.

        Raises:
            InputError: a line is not a call, or its key is not that of what it holds; nothing is taken then.
        """
        calls = [read_call(line, Place(str(path), number)) for number, line in enumerate(lines_in(path), start=1)]
        with self._writing() as base:
            return sum(insert(base, row, texts) for row, texts in calls)

    def audit(self) -> list[str]:
        """Integrity problems, one line each: keys that do not match their questions, changed labels."""
        with self._reading():
            calls = self._base.execute(f"{EVERY} ORDER BY key").fetchall()
            rows = self._base.execute(f"SELECT {', '.join(LABEL_COLUMNS)} FROM labels").fetchall()  # noqa: S608  ours
        kept: dict[str, set[tuple[Any, ...]]] = {}
        for call, *label in rows:
            kept.setdefault(call, set()).add((call, *label))
        wrong = [
            f"call {call['key'][:12]}: its key is not that of what was asked; somebody changed it."
            for call in self.calls()
            if key_for(call["identity"], question_of(call)).call != call["key"]
        ]
        changed = [row[0] for row in calls if kept.pop(row[0], set()) != set(label_rows(unpack_row(row)))]
        return wrong + [
            f"call {key[:12]}: its labels are not those of its answer; somebody changed them."
            for key in sorted({*changed, *kept})
        ]


@contextmanager
def open_existing_ledger(path: Path) -> Iterator[Ledger | None]:
    """Open a ledger read-only and close it at the end; None if there is no file.

    Raises:
        InputError: as in Ledger.
    """
    if not path.exists() or not is_ledger(path):
        yield None
        return
    with closing(Ledger(path, read_only=True)) as ledger:
        yield ledger


@contextmanager
def open_ledger(path: Path) -> Iterator[Ledger]:
    """Open a ledger and close it at the end.

    Args:
        path: path of the file, created if absent.

    Raises:
        InputError: as in Ledger.
    """
    ledger = Ledger(path)
    try:
        yield ledger
    finally:
        ledger.close()
