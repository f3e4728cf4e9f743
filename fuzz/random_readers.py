"""Feed every reader with random inputs for a long time: python fuzz/random_readers.py 1000000 [seed [reader ...]].

A number of inputs, or of seconds, as 3000s. Needs nothing that is not installed, unlike fuzz_readers.py, and counts
what it tried.
"""

from __future__ import annotations

import math
import os
import random
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

os.environ.setdefault("POLARS_MAX_THREADS", "1")
sys.path[:0] = [str(Path(__file__).parents[1] / "src"), str(Path(__file__).parents[1])]

from fuzz.build import build  # noqa: E402 -- after the path is set
from fuzz.checks import CHECKS, SPELLED, SPELLS, spell  # noqa: E402


def one_input(rng: random.Random, name: str) -> bytes:
    """A file nearly in order; once in five times pieces of text, or any bytes, without order."""
    if name not in SPELLS:
        return rng.randbytes(rng.randint(1, 12))
    if rng.random() < 0.8:
        return build(name, rng.randbytes(150))
    highest = 255 if rng.random() < 0.2 else len(SPELLED) - 1
    return spell(bytes(rng.randint(0, highest) for _ in range(rng.randint(0, 24))))


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def work_asked_for(amount: str) -> tuple[int, float]:
    """The most inputs and the most seconds, from one of them: 1000000 or 3000s."""
    return (sys.maxsize, float(amount[:-1])) if amount.endswith("s") else (int(amount), math.inf)


def main() -> int:
    """Print the number of inputs of each reader, also when interrupted; fail if there were findings."""
    inputs, most_seconds = work_asked_for(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else time.time_ns() % 2**32
    rng, counts, names = random.Random(seed), Counter[str](), sys.argv[3:] or list(CHECKS)  # noqa: S311 -- repeatable
    start = time.monotonic()
    findings = 0
    with suppress(KeyboardInterrupt):
        for number in range(inputs):
            name = names[number % len(names)]
            data = one_input(rng, name)
            counts[name] += 1
            try:
                CHECKS[name](data)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # noqa: BLE001 -- a panic of polars is not an Exception
                findings += 1
                say(f"{name}: {data!r}: {type(error).__name__}: {str(error)[:300]}")
            if findings == 20 or time.monotonic() - start > most_seconds:
                break
    seconds = time.monotonic() - start
    say(f"seed {seed}: {sum(counts.values())} inputs in {seconds:.0f} s, {findings} findings: {dict(counts)}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
