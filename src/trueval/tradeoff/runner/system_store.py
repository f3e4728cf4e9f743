"""The system store: the directory of a sweep with each finished system, read when the sweep is resumed.

systems/KEY.json    what was made and how; there when the run is
runs/KEY.parquet    the run
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from trueval.errors import InputError
from trueval.evaluation.content_hashes import run_hash
from trueval.files.atomic_files import write_whole
from trueval.run import Run
from trueval.version import __version__

# 1: first version.
FORMAT: Final = 1
KIND: Final = "sweep-system"
SYSTEMS, RUNS, SAMPLES = "systems", "runs", "samples"
KEY_LENGTH: Final = 16
# Fields of a system's file in addition to its kind, format and key.
KEYS: Final = ("settings", "collection", "seconds", "run", "recall", "memory", "tokens")


class SystemStore:
    """The directory of a sweep; without a directory, in memory.

    Args:
        folder: created on the first write; None keeps everything in memory.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder

    def about(self, key: str) -> Path:
        """Path of a system's file, relative to the directory."""
        return Path(SYSTEMS) / f"{key}.json"

    def run(self, key: str) -> Path:
        """Path of a system's run, relative to the directory."""
        return Path(RUNS) / f"{key}.parquet"

    def has(self, key: str) -> bool:
        """Whether a system is finished."""
        return self.folder is not None and (self.folder / self.about(key)).is_file()

    def read(self, key: str) -> tuple[dict[str, Any], Run] | None:
        """The record and run of a system; None where it is not finished.

        Raises:
            InputError: one of the files is damaged.
        """
        if self.folder is None or not self.has(key):
            return None
        path = self.folder / self.about(key)
        try:
            about = json.loads(path.read_text(encoding="utf-8"))
            if about["kind"] != KIND or about["format"] > FORMAT or about["key"] != key:
                raise ValueError("it is of another kind, system or version")
            if lacking := [name for name in KEYS if name not in about]:
                raise ValueError(f"it has no {', '.join(lacking)}")
            run = Run.read(self.folder / self.run(key), name=key)
            if about["run"]["content"] != run_hash(run):
                raise ValueError("its run is another one")
        except (OSError, ValueError, KeyError, TypeError) as error:  # an InputError of the run is a ValueError
            raise InputError(f"{path}: a damaged system ({error}). Remove the file, and it is made again.") from error
        return about, replace(run, notes=())

    def write(self, key: str, about: Mapping[str, object], run: Run) -> dict[str, Any]:
        """Store a system: the run first, so that a reader of the record always finds the run.

        Returns:
            The record of the system.
        """
        told = {"kind": KIND, "format": FORMAT, "trueval": __version__, "key": key, **about}
        if self.folder is not None:
            for name in (SYSTEMS, RUNS):
                (self.folder / name).mkdir(parents=True, exist_ok=True)
            run.write(self.folder / self.run(key))
            write_json(self.folder / self.about(key), told)
        return told


def write_json(path: Path, value: object) -> None:
    """Write a value as JSON, atomically."""
    text = json.dumps(value, indent=1, ensure_ascii=False) + "\n"
    write_whole(path, lambda file: file.write_bytes(text.encode("utf-8", errors="backslashreplace")))
