"""The runner: parts that were never run, failed or stand on changed code, the oldest first, while there is time."""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from evidence.parts import ROOT, find_parts, part_digest
from evidence.record import FOLDER, Record, read_head, write, write_index

# Of one core, for one part; a part with more to do runs as many of its tests as fit, in an order drawn by the seed.
MINUTES: Final = 30.0
# The test that runs when the time of its part ends may go on for so many minutes.
GRACE: Final = 15.0


def due_parts(parts: Sequence[str], root: Path = ROOT, folder: Path = FOLDER) -> list[str]:
    """The parts to run: first those without a page, then those that failed or changed, the oldest first."""
    due = []
    for part in parts:
        head = read_head(part, folder)
        if head.get("digest") != part_digest(part, root) or "failed" in head.get("outcome", "") or not head:
            due.append((head.get("date", ""), part))
    return [part for _, part in sorted(due)]


def run_part(part: str, minutes: float, seed: int, root: Path = ROOT) -> Record:
    """Run the long tests of a part in one process and say what they printed.

    Args:
        part: path of the test file from the root.
        minutes: after which no further test begins.
        seed: of the order of its tests, where these may not all fit.
        root: of the checkout.
    """
    digest, before = part_digest(part, root), _processor_seconds()
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.json"
        settings = {"report": str(report), "seconds": 60 * minutes, "seed": seed}
        command = [
            *(sys.executable, "-m", "pytest", "-q", "-p", "evidence.recorder", "-p", "no:cacheprovider"),
            *("-m", "evidence or hypothesis", "--hypothesis-profile=thorough", part),
        ]
        environment = {**os.environ, "TRUEVAL_EVIDENCE": json.dumps(settings), "OMP_NUM_THREADS": "1"}
        try:
            ended = subprocess.run(
                command,
                check=False,
                cwd=root,
                env=environment,
                timeout=60 * (minutes + GRACE),
                capture_output=True,
                text=True,
            )
            said = ended.stdout[-2000:]
        except subprocess.TimeoutExpired:
            said = f"1 error: a test was stopped after {minutes + GRACE:g} minutes"
        found = json.loads(report.read_text(encoding="utf-8")) if report.exists() else {"outcome": said, "figures": {}}
    taken = (_processor_seconds() - before) / 60
    return Record(part, datetime.now(UTC).date().isoformat(), taken, found["outcome"], digest, found["figures"])


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is due; status 1 where a part failed."""
    parser = argparse.ArgumentParser(prog="python -m evidence", description=__doc__)
    parser.add_argument("--hours", type=float, default=2.5, help="by the clock; a part that began is ended")
    parser.add_argument("--minutes", type=float, default=MINUTES, help="of one core for one part")
    parser.add_argument("--seed", type=int, default=1, help="of the order of the tests of a part")
    parser.add_argument("--list", action="store_true", help="say what is due and run nothing")
    parser.add_argument("parts", nargs="*", help="files or folders of tests/; all by default. They run, due or not")
    options = parser.parse_args(arguments)
    wanted = tuple(f"tests/{part.removeprefix('tests/').rstrip('/')}" for part in options.parts)
    parts = [part for part in find_parts() if not wanted or part.startswith(wanted)]
    due = parts if wanted else due_parts(parts)
    print(f"{len(due)} of {len(parts)} parts are due")
    if options.list:
        print(*due, sep="\n")
        return 0
    end, failed = time.monotonic() + 3600 * options.hours, []
    for part in due:
        if time.monotonic() >= end:
            print(f"the time has ended; {len(due) - due.index(part)} parts are left")
            break
        record = run_part(part, options.minutes, options.seed)
        write(record)
        failed += [part] if record.failed else []
        print(f"{part}: {record.outcome}, {record.minutes:.1f} minutes of processors", flush=True)
    write_index(find_parts())
    return 1 if failed else 0
