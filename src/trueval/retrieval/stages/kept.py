"""Kept candidates: what a stage gave, in a file by the hash of all that decides it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from trueval.errors import InputError
from trueval.files.whole import write_whole
from trueval.run import Run


class Candidates(NamedTuple):
    """What a stage gave when it was made.

    Attributes:
        run: the candidates.
        notes: one-line remarks.
        seconds: that it took.
        given: candidates that went in, those of several runs once; None where it searched the collection.
        searched: what an index that it searched says of itself; None where there is none.
    """

    run: Run
    notes: tuple[str, ...]
    seconds: float
    given: int | None = None
    searched: Mapping[str, Any] | None = None


def read_kept(file: Path, name: str) -> Candidates | None:
    """Read what `keep` wrote; None if there is nothing.

    Args:
        file: of the candidates, .parquet.
        name: of the run.

    Raises:
        InputError: it is damaged.
    """
    if not file.is_file():
        return None
    try:
        about = json.loads(_beside(file).read_text(encoding="utf-8"))
        notes = tuple(map(str, about["notes"]))
        # Remarks on the file would be others than those of the run that was kept, and name a place of this machine.
        run = replace(Run.read(file, name=name), notes=())
        return Candidates(run, notes, float(about["seconds"]), about["given"], about["searched"])
    except (OSError, ValueError, KeyError, TypeError) as error:  # an InputError of the run is a ValueError
        raise InputError(f"{file}: damaged candidates ({error}). Remove the file, and they are made again.") from error


def keep(file: Path, made: Candidates) -> None:
    """Write candidates; the file is there when all of them are.

    Args:
        file: of the candidates, .parquet; the remarks go into a JSON file beside it.
        made: what to keep.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    about = {"notes": made.notes, "seconds": made.seconds, "given": made.given, "searched": made.searched}
    write_whole(_beside(file), lambda path: path.write_text(json.dumps(about) + "\n", encoding="utf-8"))
    made.run.write(file)


def _beside(file: Path) -> Path:
    return file.with_suffix(".json")
