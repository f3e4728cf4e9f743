"""Stage cache: the candidates of a stage, in a file named by the hash of everything that determines them."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from trueval.errors import TruevalWarning
from trueval.files.atomic_files import write_whole
from trueval.files.digests import digest, file_damage, is_sound, touch_entry, with_digest
from trueval.report.json_fields import decode, encode
from trueval.retrieval.repair.rescore import StageRepair
from trueval.run import Run


class StageCandidates(NamedTuple):
    """The candidates of a stage, as computed.

    Attributes:
        given: number of input candidates, those in several runs counted once; None if it searched the collection.
        searched: description of the index that it searched; None without one.
        repair: what a stage [repair] scored again; None of another stage.
    """

    run: Run
    notes: tuple[str, ...]
    seconds: float
    given: int | None = None
    searched: Mapping[str, object] | None = None
    repair: StageRepair | None = None


def read_candidates(file: Path, name: str, key: str) -> StageCandidates | None:
    """Read what `keep` wrote; None if it is missing, or damaged, with a warning: then it is recomputed.

    Args:
        file: file of the candidates, .parquet.
        name: name of the run.
        key: key of the candidates.
    """
    if not has_candidates(file):
        return None
    try:
        about = json.loads(_metadata_path(file).read_text(encoding="utf-8"))
        if not is_sound(about):
            raise ValueError(f"{_metadata_path(file).name} is not what was written")
        if about["of"] != key:
            raise ValueError("it is another entry")
        if damaged := file_damage(file, about["candidates"]):
            raise ValueError(damaged)
        touch_entry(_metadata_path(file))
        # Remarks on the file would differ from those of the stored run, and would contain a local path.
        run = replace(Run.read(file, name=name), notes=())
        repair = about.get("repair")
        return StageCandidates(
            run,
            tuple(about["notes"]),
            float(about["seconds"]),
            about["given"],
            about["searched"],
            None if repair is None else decode(StageRepair, repair, name),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:  # an InputError of the run is a ValueError
        warnings.warn(f"{file}: damaged candidates ({error}). It is made again.", TruevalWarning, stacklevel=2)
        return None


def has_candidates(file: Path) -> bool:
    """Whether the candidates exist, complete.

    Args:
        file: file of the candidates, .parquet.
    """
    return file.is_file() and _metadata_path(file).is_file()


def keep(file: Path, made: StageCandidates, key: str) -> None:
    """Write candidates; they count as stored once the JSON file next to them exists.

    Args:
        file: file of the candidates, .parquet; remarks and digests go into a JSON file next to it.
        made: candidates to store.
        key: key of the candidates.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    made.run.write(file)
    about = {"notes": made.notes, "seconds": made.seconds, "given": made.given, "searched": made.searched}
    if made.repair is not None:
        about["repair"] = encode(made.repair)
    text = json.dumps(with_digest({"of": key, "candidates": digest(file), **about})) + "\n"
    write_whole(_metadata_path(file), lambda path: path.write_text(text, encoding="utf-8"))


def _metadata_path(file: Path) -> Path:
    return file.with_suffix(".json")
