"""A SQLite file that is not ours is left as it is: looked at first, and written only where it is."""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.golden import small
from tests.golden.audit.small_audit import small_audit

from trueval.errors import InputError
from trueval.golden.audit.store.audit_store import EVENTS, AuditStore
from trueval.golden.build import judge_choice
from trueval.golden.build.build import build, dry_run
from trueval.golden.build.golden_plan import GoldenPlan
from trueval.golden.judge.ledger import Ledger, open_existing_ledger, open_ledger
from trueval.golden.judge.sqlite_files import look_into


def made(path: Path, *statements: str, mode: str = "DELETE") -> Path:
    base = sqlite3.connect(path, isolation_level=None)
    base.execute(f"PRAGMA journal_mode = {mode}")
    for statement in statements:
        base.execute(statement)
    base.close()
    return path


def songs(path: Path) -> Path:
    return made(path, "CREATE TABLE songs (name TEXT)", "INSERT INTO songs VALUES ('la')")


def songs_ahead(path: Path) -> Path:
    return made(path, "CREATE TABLE songs (name TEXT)", mode="WAL")


def songs_in_the_log(path: Path) -> Path:
    """All of it in the -wal file, as a program that was killed leaves it."""
    base = sqlite3.connect(path, isolation_level=None)
    base.execute("PRAGMA journal_mode = WAL")
    base.execute("CREATE TABLE songs (name TEXT)")
    for end in ("", "-wal"):
        shutil.copy(f"{path}{end}", f"{path}.killed{end}")
    base.close()
    for end in ("", "-wal"):
        shutil.move(f"{path}.killed{end}", f"{path}{end}")
    return path


def about(path: Path) -> Path:
    """A table of the same name, as other programs have one too."""
    return made(
        path, "CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT)", "INSERT INTO about VALUES ('kind', 'x')"
    )


def about_by_a_view(path: Path) -> Path:
    return made(path, "CREATE VIEW about AS SELECT 'kind' AS name, 'x' AS value")


def about_nothing(path: Path) -> Path:
    return made(path, "CREATE TABLE about (author INTEGER)")


def newer(path: Path) -> Path:
    rows = "INSERT INTO about VALUES ('kind', 'ledger'), ('format', '99')"
    return made(path, "CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT)", rows)


def no_number(path: Path) -> Path:
    rows = "INSERT INTO about VALUES ('kind', 'ledger'), ('format', 'x')"
    return made(path, "CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT)", rows)


def text(path: Path) -> Path:
    path.write_bytes(b"not SQLite, and long enough for a header of a hundred bytes" * 9)
    return path


def ledger(path: Path) -> Path:
    with open_ledger(path):
        pass
    return path


def audit(path: Path) -> Path:
    with AuditStore.open(small_audit(path.parent / "of another")):
        pass
    shutil.copy(path.parent / "of another" / EVENTS, path)
    return path


def replay(path: Path) -> object:
    return judge_choice._replay(cast(Any, SimpleNamespace(model=f"replay:{path}#judge")))


def contents(path: Path) -> dict[str, str]:
    """The hashes of a file and its log, and what lies beside them, but for SQLite's index of the log."""
    found = {each.name: each for each in path.parent.iterdir() if each.is_file() and not each.name.endswith("-shm")}
    return {name: hashlib.sha256(each.read_bytes()).hexdigest() for name, each in found.items()}


FOREIGN = (songs, songs_ahead, songs_in_the_log, about, about_by_a_view, about_nothing, newer, no_number, text)


@pytest.mark.parametrize("make", [*FOREIGN, audit])
@pytest.mark.parametrize("open_it", ["ledger", "replay"])
def test_a_file_that_is_no_ledger_is_refused_as_it_is(
    tmp_path: Path, make: Callable[[Path], Path], open_it: str
) -> None:
    path = make(tmp_path / "odd name?#%20.sqlite")
    before = contents(path)
    with pytest.raises(InputError, match=r"odd name\?#%20\.sqlite: "):
        Ledger(path) if open_it == "ledger" else replay(path)
    assert contents(path) == before


@pytest.mark.parametrize("make", [*FOREIGN, ledger])
def test_a_file_that_holds_no_labels_is_refused_as_it_is(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    folder = small_audit(tmp_path / "audit")
    path = make(folder / EVENTS)
    before = contents(path)
    with pytest.raises(InputError, match=r"audit\.sqlite: "):
        AuditStore.open(folder)
    assert contents(path) == before


def test_a_replay_makes_no_ledger(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    with pytest.raises(InputError, match="no ledger"):
        replay(tmp_path / "empty")
    assert (tmp_path / "empty").read_bytes() == b""
    assert [each.name for each in tmp_path.iterdir()] == ["empty"]


def test_what_is_in_the_log_of_our_own_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "l.sqlite"
    with open_ledger(path):
        assert Path(f"{path}-wal").stat().st_size > 0
        assert look_into(path).about["kind"] == "ledger"
        Ledger(path).close()
    assert look_into(path).about["kind"] == "ledger"
    assert look_into(tmp_path / "none") == (frozenset(), {})


def test_a_store_that_is_served_is_said_to_be(tmp_path: Path) -> None:
    folder = small_audit(tmp_path / "audit")
    with AuditStore.open(folder), pytest.raises(InputError, match="has these labels open"):
        AuditStore.open(folder)
    with AuditStore.open(folder):
        pass


def test_a_dry_run_and_a_replay_write_nothing_beside_a_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in a folder that cannot be written, which SQLite's WAL mode would need."""
    monkeypatch.setenv("TEST_JUDGE_KEY", "k")
    plan = GoldenPlan.read(small.written(tmp_path / "p", small.LABELS, queries=1))
    out, seen = tmp_path / "out", list[str]()
    build(plan, out, until="grade")
    before = contents(out / "ledger.sqlite")
    connect = sqlite3.connect

    def read_alone(name: object, **named: Any) -> sqlite3.Connection:
        assert str(name).endswith(("?mode=ro&immutable=1", "?mode=ro")), "opened to be written"
        seen.append(str(name))
        return connect(str(name), **named)

    monkeypatch.setattr("sqlite3.connect", read_alone)
    task = next(each for each in dry_run(plan, out, ledger=out / "ledger.sqlite").work if each.stage == "grade")
    assert (task.calls, task.kept) == (0, 16)
    with open_existing_ledger(out / "ledger.sqlite") as ledger:
        assert ledger is not None
        (name,) = set(ledger.labels()["judge"])
        found = judge_choice._replay(cast(Any, SimpleNamespace(model=f"replay:{out / 'ledger.sqlite'}#{name}")))
        assert found.name == name
        found.ledger.close()
    assert len(seen) > 3
    assert contents(out / "ledger.sqlite") == before
    (tmp_path / "empty").write_bytes(b"")
    with open_existing_ledger(tmp_path / "empty") as ledger:
        assert ledger is None


@pytest.mark.parametrize("make", [Path.mkdir, *([os.mkfifo] if hasattr(os, "mkfifo") else [])])
def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path: Path, make: Callable[[Path], object]) -> None:
    make(tmp_path / "l.sqlite")
    for opens in (Ledger, look_at):
        with pytest.raises(InputError, match=r"l\.sqlite: a ledger is kept in a file, and this is none"):
            opens(tmp_path / "l.sqlite")


def look_at(path: Path) -> None:
    with open_existing_ledger(path):
        pass


@pytest.mark.parametrize("content", [None, b""])
def test_a_ledger_that_is_only_read_is_never_made(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "ledger.sqlite"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError):
        Ledger(path, read_only=True)
    assert (path.read_bytes() if path.exists() else None) == content
    assert {each.name for each in tmp_path.iterdir()} <= {"ledger.sqlite"}
