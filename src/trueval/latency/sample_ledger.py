"""Sample ledgers: one JSON line per timed call, appended at once, so that an interrupted sweep can resume."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from trueval.errors import Place
from trueval.latency.latency import SAMPLES, TimedCall


@dataclass(frozen=True)
class SampleLedger:
    """A file of latency samples.

    Attributes:
        path: path of the .jsonl file, which need not exist yet.
        machine: where calls are timed: those of other machines are not read; None for those of any.
    """

    path: Path
    machine: str | None = None

    def append(self, sample: TimedCall) -> None:
        """Append a sample; it is written to the file on return, even if the process is killed afterwards.

        Raises:
            InputError: the file cannot be written.
        """
        line = (json.dumps([*sample, self.machine]) + "\n").encode()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a+b") as file:
                # A killed process or a full disk may have left half a line, which must not corrupt this one.
                if file.seek(0, os.SEEK_END) and file.seek(-1, os.SEEK_END) >= 0 and file.read(1) != b"\n":
                    line = b"\n" + line
                file.write(line)
        except OSError as error:
            raise Place(str(self.path)).error(f"cannot be written ({error.strerror}). Name another folder.") from error

    def read(self) -> pl.DataFrame:
        """Read the samples; truncated lines are skipped, and the first of duplicates counts.

        Raises:
            InputError: the file cannot be read.
        """
        try:
            lines = self.path.read_bytes().splitlines() if self.path.exists() else []
        except OSError as error:
            raise Place(str(self.path)).error(f"cannot be read ({error.strerror}). Remove or repair it.") from error
        frame = pl.DataFrame(list(_samples(lines, self.machine)), schema=SAMPLES, orient="row")
        return frame.unique(["task", "query_id", "repeat"], keep="first", maintain_order=True)


def _samples(lines: list[bytes], machine: str | None) -> Iterator[TimedCall]:
    for line in lines:
        try:
            task, query_id, repeat, started, seconds, *rest = json.loads(line)
            if machine is not None and any(each != machine for each in rest):  # none is known of older ones
                continue
            yield TimedCall(str(task), str(query_id), int(repeat), float(started), float(seconds))
        except (ValueError, TypeError):  # half a line
            continue
