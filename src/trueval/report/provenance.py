"""Where numbers come from: files with their sizes and hashes, versions, command, date."""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

LIBRARIES = ("numpy", "polars")


def provenance(files: Sequence[tuple[str, str]], now: datetime | None = None) -> dict[str, Any]:
    """What someone needs to repeat an evaluation and to check that it is the same.

    Args:
        files: pairs of role ("judgments", "run") and path; "-" is standard input, which cannot be hashed afterwards.
        now: the date; the clock's, or that of SOURCE_DATE_EPOCH, if None.

    Returns:
        written, command, versions and files with bytes and sha256.
    """
    if now is None:
        epoch = os.environ.get("SOURCE_DATE_EPOCH")  # reproducible-builds.org/specs/source-date-epoch
        now = datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC)
    return {
        "written": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "command": shlex.join(["trueval", *sys.argv[1:]]),
        "versions": versions(),
        "files": [{"role": role, "path": path, **_fingerprint(path)} for role, path in files],
    }


def versions() -> dict[str, str]:
    """Versions of this package, Python and the libraries that compute."""
    from trueval.version import __version__

    libraries = {name: version(name) for name in LIBRARIES}
    return {"trueval": __version__, "python": platform.python_version(), **libraries}


def _fingerprint(path: str) -> Mapping[str, Any]:
    if path == "-":
        return {"bytes": None, "sha256": None}
    with Path(path).open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"bytes": file.tell(), "sha256": digest}
