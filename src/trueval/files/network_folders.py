"""Network folders: file systems that several machines write to, on which SQLite's write-ahead log must not be used.

All processes with a database in WAL mode share memory, so they must run on one machine (sqlite.org/wal.html, "WAL does
not work over a network filesystem"); two machines would each see a log of their own, and lose the other's rows.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from trueval.errors import InputError

MOUNTS: Final = Path("/proc/mounts")
# Types of /proc/mounts (man 5 proc); those of fuse are named fuse.PROGRAM.
NETWORK: Final = re.compile(
    "afs|beegfs|ceph|cifs|coda|davfs|fhgfs|gfs2|glusterfs|gpfs|lustre|ncpfs|nfs4?|ocfs2|orangefs|panfs|pvfs2|smb3|smbfs"
    r"|wekafs|fuse\w*\.(blobfuse2|ceph|ceph-fuse|davfs2|gcsfuse|glusterfs|goofys|juicefs|mount-s3|rclone|s3fs|sshfs)"
)
OCTAL: Final = re.compile(r"\\([0-7]{3})")


def network_type(path: Path, mounts: Path | None = None) -> str | None:
    """The type of the file system of a path if it is one of a network; None otherwise, and where it is not known.

    Args:
        path: a path, existing or not.
        mounts: table of the mounted file systems, in the order in which they were mounted; None for the
            system's.
    """
    try:
        lines = (mounts or MOUNTS).read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:  # not Linux
        return None
    place, found, kind = path.resolve(), Path("/"), ""
    for line in lines:
        _, folder, named, *_ = line.split(" ")
        where = Path(OCTAL.sub(lambda code: chr(int(code[1], 8)), folder))
        if place.is_relative_to(where) and len(where.parts) >= len(found.parts):  # a later one hides an earlier one
            found, kind = where, named
    return kind if NETWORK.fullmatch(kind) else None


def refuse_network_folder(path: Path, what: str, mounts: Path | None = None) -> None:
    """Refuse a database on a network folder.

    Args:
        path: path of the database.
        what: what it is, as the subject of a sentence.

    Raises:
        InputError: it is on one.
    """
    kind = network_type(path, mounts)
    if kind is not None:
        raise InputError(
            f"{path}: this folder is on a network ({kind}), where machines would overwrite each other's rows. {what} "
            "needs a disk of this machine, and one command that owns it: name a folder there, and copy it when the "
            "work has ended."
        )
