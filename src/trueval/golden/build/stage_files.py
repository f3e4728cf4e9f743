"""Stages: the output files of each stage of a golden set, with a manifest of everything that determines them.

A stage is complete where its manifest has the current key and its files are unchanged; else it is recomputed, with
earlier answers of the judge from the ledger. Files are written before the manifest: an interrupted stage has none.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from trueval.files.atomic_files import write_whole
from trueval.golden.judge.judge import JudgeAnswer, Question
from trueval.report.formats import to_json
from trueval.report.provenance import date
from trueval.version import __version__

# 1: first version. Another number recomputes all stages.
FORMAT_VERSION: Final = 1
FOLDER: Final = "stages"
NAMES: Final = ("rewrite", "pool", "grade", "prune", "refine", "regrade")

Write = Callable[[Path], object]


class StageFiles:
    """The stages of a golden set in its folder.

    Args:
        folder: existing folder of the golden set.
        now: monotonic clock in seconds.
    """

    def __init__(self, folder: Path, now: Callable[[], float] = time.perf_counter) -> None:
        self.folder, self._now = folder, now
        self._began = now()

    def read(self, name: str) -> dict[str, Any] | None:
        """The manifest of a stage; None where it is missing or unreadable."""
        try:
            found = json.loads((self.folder / FOLDER / f"{name}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) and found.get("format") == FORMAT_VERSION else None

    def find_complete(self, name: str, key: str) -> dict[str, object] | None:
        """The manifest of a complete, current stage; None where it must be computed.

        Args:
            key: hash of everything that determines it.
        """
        self._began = self._now()
        found = self.read(name)
        if found is None or found.get("key") != key:
            return None
        same = all(file_hash(self.folder / file) == sha256 for file, sha256 in found["outputs"].items())
        return found if same else None

    def keep(self, name: str, key: str, files: Mapping[str, Write], about: Mapping[str, object]) -> dict[str, Any]:
        """Write the files of a stage, and then its manifest.

        Args:
            key: hash of everything that determines it.
            files: name → writer of the file.
            about: further entries of the manifest.
        """
        for file, write in files.items():
            write_whole(self.folder / file, write)
        manifest = {
            "stage": name,
            "format": FORMAT_VERSION,
            "trueval": __version__,
            "key": key,
            "outputs": {file: file_hash(self.folder / file) for file in files},
            **about,
            "seconds": round(self._now() - self._began, 3),
            "written": date().strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        (self.folder / FOLDER).mkdir(exist_ok=True)
        write_whole(
            self.folder / FOLDER / f"{name}.json", lambda file: file.write_text(to_json(manifest), encoding="utf-8")
        )
        return manifest


def key_for_stage(name: str, inputs: Mapping[str, object], parameters: Mapping[str, object]) -> str:
    """Hash of everything that determines a stage.

    Args:
        inputs: name → hash.
        parameters: JSON values.
    """
    about = json.dumps([FORMAT_VERSION, name, dict(inputs), dict(parameters)], sort_keys=True)
    return hashlib.sha256(about.encode("utf-8", "surrogatepass")).hexdigest()


def file_hash(path: Path) -> str | None:
    """The SHA-256 of a file; None where it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def lines_of(rows: Iterable[Mapping[str, object]]) -> Write:
    """A writer of rows as JSON lines.

    Args:
        rows: JSON values.
    """
    text = "".join(json.dumps(row, ensure_ascii=True) + "\n" for row in rows)
    return lambda file: file.write_text(text, encoding="utf-8", newline="\n")


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The rows that `lines_of` wrote."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def usage_of(asked: Iterable[Question], answers: Iterable[JudgeAnswer]) -> dict[str, Any]:
    """Usage and served models of answers, as manifests store them.

    Args:
        asked: questions of one stage; duplicates, such as those of equal texts, were asked once.
        answers: [asked] answers; those from the ledger count too, since they were paid for once.
    """
    found = list(dict(zip(asked, answers, strict=True)).values())
    return {
        "calls": len(found),
        "invalid": sum(bool(each.problems) for each in found),
        "problems": dict(Counter(one for each in found for one in dict.fromkeys(each.problems)).most_common(20)),
        "models": dict(sorted(Counter(each.model for each in found).items())),
        "tokens_in": _sum(each.usage.tokens_in for each in found),
        "tokens_out": _sum(each.usage.tokens_out for each in found),
        "cost": _sum(each.usage.cost for each in found),
        "judge_seconds": round(sum(each.seconds for each in found), 3),
    }


def _sum(values: Iterable[Any]) -> Any:
    known = [value for value in values if value is not None]
    return round(sum(known), 9) if known else None
