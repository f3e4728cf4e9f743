"""A sweep in a process that may be killed at any moment: test_kills.py runs it with a file, a directory, a log.

The models take their time, and the log says which texts and pairs they saw, and which of these were kept.
"""

import hashlib
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.tradeoff import made

from trueval.models import output_part
from trueval.tradeoff.runner.sweep import sweep
from trueval.tradeoff.runner.timing import Timer

SECONDS = 0.003  # that a text or a pair takes


class Seen(list[Any]):
    """What goes through a model, in a file before anything goes on; slowly."""

    def __init__(self, log: Path) -> None:
        super().__init__()
        self.file = log.open("a", encoding="utf-8", buffering=1)
        self.silent = False

    def __iadd__(self, items: Any) -> "Seen":
        names = [hashlib.sha256(repr(each).encode()).hexdigest()[:16] for each in items]
        self.extend(names)
        if not self.silent:
            self.file.write(f"saw {' '.join(names)}\n")
        time.sleep(SECONDS * len(names))
        return self

    def stop(self) -> None:
        """Say nothing more: who is timed sees a text again and again."""
        self.silent = True

    def kept(self) -> None:
        self.file.write(f"kept {' '.join(self)}\n")
        self.clear()


def main(file: str, out: str, log: str) -> None:
    """Make the sweep."""
    seen, write = Seen(Path(log)), output_part.write_shard
    made.use(pytest.MonkeyPatch(), seen)

    def write_and_say(*given: Any) -> None:
        write(*given)
        seen.kept()

    time_them = Timer.time

    def time_silently(self: Timer, systems: Any) -> Any:
        seen.stop()
        return time_them(self, systems)

    Timer.time = time_silently  # type: ignore[method-assign]  # watched
    output_part.write_shard, output_part.BATCHES = write_and_say, 2
    print("ready", flush=True)
    sweep(file, out=Path(out), cache=Path(out) / "cache")  # of its own: the plain one has made everything


if __name__ == "__main__":
    main(*sys.argv[1:])
