"""Databases are refused on folders of a network, by the table of mounted file systems."""

from __future__ import annotations

from pathlib import Path

import pytest

from trueval.errors import InputError
from trueval.files import network_folders
from trueval.files.network_folders import network_type, refuse_network_folder
from trueval.golden.judge.ledger import Ledger

TABLE = r"""sysfs /sys sysfs rw 0 0
/dev/sda1 / ext4 rw 0 0
server:/home /home nfs4 rw,addr=10.0.0.2 0 0
tmpfs /home/me/fast tmpfs rw 0 0
//server/share /mnt/my\040share cifs rw 0 0
me@host:/data /mnt/ssh fuse.sshfs rw 0 0
portal /run/user/0/doc fuse.portal rw 0 0
10.0.0.3@tcp:/scratch /scratch lustre rw 0 0
/dev/sdb1 /scratch ext4 rw 0 0
"""


@pytest.fixture
def mounts(tmp_path: Path) -> Path:
    file = tmp_path / "mounts"
    file.write_text(TABLE)
    return file


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/me/golden/ledger.sqlite", "nfs4"),
        ("/home/me/fast/ledger.sqlite", None),
        ("/homes/ledger.sqlite", None),
        ("/mnt/my share/a/b", "cifs"),
        ("/mnt/ssh", "fuse.sshfs"),
        ("/run/user/0/doc/x", None),
        ("/scratch/x", None),  # a local disk was mounted over it
        ("/var/x", None),
    ],
)
def test_the_innermost_file_system_counts(mounts: Path, path: str, kind: str | None) -> None:
    assert network_type(Path(path), mounts) == kind


def test_without_a_table_nothing_is_refused(tmp_path: Path) -> None:
    assert network_type(tmp_path, tmp_path / "none") is None
    refuse_network_folder(tmp_path, "A ledger", tmp_path / "none")


def test_a_ledger_on_a_network_is_refused_with_the_cure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tmp_path / "mounts"
    table.write_text(f"server:/x {str(tmp_path).replace(' ', chr(92) + '040')} nfs rw 0 0\n")
    monkeypatch.setattr(network_folders, "MOUNTS", table)
    file = tmp_path / "ledger.sqlite"
    with pytest.raises(InputError, match=r"on a network \(nfs\).*needs a disk of this machine.*copy it when"):
        Ledger(file)
    assert not file.exists()
    table.write_text("/dev/sda1 / ext4 rw 0 0\n")
    Ledger(file).close()
    table.write_text(f"server:/x {str(tmp_path).replace(' ', chr(92) + '040')} nfs rw 0 0\n")
    Ledger(file, read_only=True).close()
