"""Files of a folder are the old ones or the new ones, wherever the program that writes them is stopped."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from trueval.errors import InputError
from trueval.report.atomic_folders import DECIDED, UNFINISHED, alone, replace_together

# All by which the module changes a disk, or waits for one.
STEPS = (
    *((Path, name) for name in ("mkdir", "rename", "replace", "unlink", "rmdir", "write_text", "write_bytes")),
    *((shutil, name) for name in ("rmtree", "copy2")),
    (os, "fsync"),
)

OLD = {"results.json": "old", "results.csv": "old", "figures/a.svg": "old", "figures/b.svg": "old"}
NEW = {"results.json": "new", "results.csv": "new", "figures/a.svg": "new"}
THEIRS = {"notes.txt": "mine", "figures/mine.svg": "mine", "logits/shard": "mine"}


@pytest.fixture(autouse=True)
def fast_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)


class Killed(BaseException):
    """As SIGKILL: nothing happens after it, no cleaning up either."""


@contextmanager
def killed_at(step: int) -> Iterator[list[str]]:
    """Stops at a step, counted from 0; yields the names of the steps that were made."""
    made: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        for owner, name in STEPS:
            patch.setattr(owner, name, _mortal(getattr(owner, name), name, step, made))
        with suppress(Killed):
            yield made


def _mortal(function: Callable[..., Any], name: str, step: int, made: list[str]) -> Callable[..., Any]:
    def call(*arguments: Any, **named: Any) -> Any:
        if len(made) >= step:
            raise Killed
        made.append(name)
        return function(*arguments, **named)

    return call


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def held(folder: Path) -> dict[str, str]:
    """The files in a folder, without what is hidden."""
    names = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    shown = [name for name in names if not name.parts[0].startswith(".")]
    return {name.as_posix(): (folder / name).read_text(encoding="utf-8") for name in shown}


def replace(folder: Path) -> None:
    def make(stage: Path) -> dict[str, str]:
        write(stage, NEW)
        return {"figures/b.svg": sha256(b"old").hexdigest()}

    replace_together(folder, make)


def steps_of(folder: Path) -> int:
    with killed_at(10_000) as made:
        replace(folder)
    return len(made)


def test_a_folder_that_is_killed_at_any_step_is_the_old_one_or_the_new_one(tmp_path: Path) -> None:
    write(tmp_path / "whole", OLD | THEIRS)
    steps = steps_of(tmp_path / "whole")
    assert held(tmp_path / "whole") == NEW | THEIRS
    assert steps > 20
    seen = []
    for step in range(steps):
        folder = tmp_path / str(step)
        write(folder, OLD | THEIRS)
        with killed_at(step):
            replace(folder)
        if not (folder / DECIDED).exists():
            assert held(folder) in (OLD | THEIRS, NEW | THEIRS)  # as they lie there, before anybody of ours looks
        with alone(folder):
            seen.append(held(folder))
        assert seen[-1] in (OLD | THEIRS, NEW | THEIRS)
        replace(folder)
        assert held(folder) == NEW | THEIRS
        assert [path.name for path in folder.iterdir() if path.name.startswith(".")] == []
    decided = seen.index(NEW | THEIRS)
    assert seen == [OLD | THEIRS] * decided + [NEW | THEIRS] * (steps - decided)
    assert 5 < decided < steps - 5


def test_a_new_folder_that_is_killed_at_any_step_is_whole_or_not_there(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    steps = steps_of(folder)
    whole = []
    for step in range(steps):
        shutil.rmtree(folder)
        with killed_at(step):
            replace(folder)
        whole.append(folder.exists())
        assert not folder.exists() or held(folder) == NEW
        replace(folder)
        assert held(folder) == NEW
        assert list(tmp_path.iterdir()) == [folder], f"step {step}: what was abandoned is removed"
    assert whole == sorted(whole)
    assert set(whole) == {False, True}


def test_a_failure_leaves_the_old_files_and_nothing_else(tmp_path: Path) -> None:
    write(tmp_path, OLD)

    def make(stage: Path) -> dict[str, str]:
        write(stage, NEW)
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        replace_together(tmp_path, make)
    with pytest.raises(OSError, match="disk full"):
        replace_together(tmp_path / "new", make)
    assert held(tmp_path) == OLD
    assert sorted(path.name for path in tmp_path.iterdir()) == ["figures", "results.csv", "results.json"]


def test_an_old_file_that_was_changed_since_stays(tmp_path: Path) -> None:
    write(tmp_path, OLD | {"figures/b.svg": "drawn over"})
    replace(tmp_path)
    assert held(tmp_path) == NEW | {"figures/b.svg": "drawn over"}


@pytest.mark.parametrize("taken", ["results.csv/mine", "figures"])
def test_a_name_that_is_taken_is_refused_before_anything_changes(tmp_path: Path, taken: str) -> None:
    theirs = {taken: "mine", "results.json": "old"}
    write(tmp_path, theirs)
    with pytest.raises(InputError, match=r"has the name of a result. Rename it"):
        replace(tmp_path)
    assert held(tmp_path) == theirs
    assert not list(tmp_path.glob(".*"))


def test_the_folder_stays_the_same_one(tmp_path: Path) -> None:
    """A shell that is in it, or a container that mounts it, sees the new files."""
    write(tmp_path, OLD)
    before = tmp_path.stat().st_ino
    replace(tmp_path)
    assert tmp_path.stat().st_ino == before


def test_who_may_only_read_is_told_that_a_write_must_be_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError("not yours")

    write(tmp_path, {f"{DECIDED}/results.json": "new"})
    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(InputError, match="a program was stopped while it wrote here"), alone(tmp_path):
        pass


def test_new_files_have_the_rights_of_any_new_file(tmp_path: Path) -> None:
    write(tmp_path / "plain", NEW)
    replace(tmp_path / "out")
    for name in ("", "results.json", "figures", "figures/a.svg"):
        assert (tmp_path / "out" / name).stat().st_mode == (tmp_path / "plain" / name).stat().st_mode


@pytest.mark.skipif(not hasattr(os, "fork"), reason="folders are locked on POSIX systems only")
def test_the_hidden_folder_of_a_living_program_stays(tmp_path: Path) -> None:
    found = []

    def make(stage: Path) -> dict[str, str]:
        if stage.parent == tmp_path and not found:
            found.append(stage)
            replace_together(tmp_path / "other", make)  # which looks for what was abandoned beside it
        write(stage, NEW)
        return {}

    replace_together(tmp_path / "out", make)
    assert held(tmp_path / "out") == held(tmp_path / "other") == NEW
    assert found[0].name.startswith(UNFINISHED)
