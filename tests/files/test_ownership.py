"""A file has one owner, whose lock ends with its process."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from trueval.errors import InputError
from trueval.files.ownership import Ownership

OWNER = """
import sys
from pathlib import Path
from trueval.files.ownership import Ownership
kept = Ownership(Path(sys.argv[1]), "A ledger")
print("owns", flush=True)
input()
kept.release()
"""


def start(path: Path) -> subprocess.Popen[str]:
    """A process that owns the file."""
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert owner.stdout is not None
    assert owner.stdout.readline() == "owns\n"
    return owner


def test_the_lock_of_a_killed_process_ends_with_it(tmp_path: Path) -> None:
    path = tmp_path / "a"
    owner = start(path)
    for _ in range(2):
        with pytest.raises(InputError, match=f"process {owner.pid} of this machine"):
            Ownership(path, "A ledger")
    owner.kill()
    owner.communicate()
    assert [file.name for file in tmp_path.iterdir()] == [".a.owner"]
    kept = Ownership(path, "A ledger")
    kept.release()
    kept.release()
    assert list(tmp_path.iterdir()) == []


def test_owners_in_one_process_share_the_lock(tmp_path: Path) -> None:
    first, second = Ownership(tmp_path / "a", "A ledger"), Ownership(tmp_path / "a", "A ledger")
    first.release()
    first.release()
    assert (tmp_path / ".a.owner").exists()
    second.release()
    owner = start(tmp_path / "a")
    owner.communicate("\n")
    assert owner.returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_left_to_the_writer(tmp_path: Path) -> None:
    Ownership(tmp_path / "none" / "a", "A ledger").release()


def test_a_file_with_hard_links_is_refused(tmp_path: Path) -> None:
    """Under its other name another process would own it too."""
    (tmp_path / "a").write_text("rows", encoding="utf-8")
    (tmp_path / "b").hardlink_to(tmp_path / "a")
    for name in ("a", "b"):
        with pytest.raises(InputError, match=r"has 2 names \(hard links\).* copy the file"):
            Ownership(tmp_path / name, "A ledger")
    (tmp_path / "b").unlink()
    Ownership(tmp_path / "a", "A ledger").release()


def test_a_clock_that_is_wrong_by_a_day_changes_no_ownership(tmp_path: Path) -> None:
    """Neither times of files nor the clock decide who owns: the lock does."""
    owner = start(tmp_path / "a")
    for shift in (-86_400, 86_400):
        moment = time.time() + shift
        os.utime(tmp_path / ".a.owner", (moment, moment))
        with pytest.raises(InputError, match="is writing this ledger"):
            Ownership(tmp_path / "a", "A ledger")
    owner.kill()
    owner.communicate()
    Ownership(tmp_path / "a", "A ledger").release()
