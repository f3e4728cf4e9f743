"""Peak memory of every command that reads runs, at two sizes, and what a further query costs: it must be a constant.

Data: made here, runs of 10 documents a query with scores of two decimals, 2 relevant ones; 5 measures. Linux: peak
resident set of the process, as the kernel counts it.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

SIZES = (50_000, 100_000)
FILES = ("{n}.qrels", "{n}a.trec")
BOTH = (*FILES, "{n}b.trec")
COMMANDS: dict[str, Sequence[str]] = {
    "evaluate": ("evaluate", *FILES),
    "evaluate, two runs": ("evaluate", *BOTH),
    "evaluate --out": ("evaluate", *FILES, "--out", "{n}out"),
    "evaluate --per-query --format json": ("evaluate", *FILES, "--per-query", "--format", "json"),
    "evaluate --per-query --format csv": ("evaluate", *FILES, "--per-query", "--format", "csv"),
    "evaluate --baseline DIR": (
        "evaluate",
        "{n}.qrels",
        "{n}b.trec",
        "--baseline",
        "{n}out",
        "--max-drop",
        "RR@10=0.1",
    ),
    "report --no-figures": ("report", "{n}out", "--no-figures"),
    "compare": ("compare", *BOTH, "--resamples", "1000"),
    "power": ("power", *BOTH),
    "explain": ("explain", *FILES, "-m", "nDCG@10"),
}


def make(folder: Path, queries: int) -> None:
    rng = np.random.default_rng(7)
    for name in "ab":
        with (folder / f"{queries}{name}.trec").open("w") as file:
            for query, scores in enumerate(np.sort(rng.integers(0, 100, (queries, 10)) / 100)[:, ::-1].tolist()):
                file.writelines(f"q{query} Q0 d{query}x{at} {at + 1} {score} x\n" for at, score in enumerate(scores))
    with (folder / f"{queries}.qrels").open("w") as file:
        file.writelines(f"q{query} 0 d{query}x{at} 1\n" for query in range(queries) for at in (0, 3))


def peak(arguments: Sequence[str], folder: Path) -> int:
    """Kibibytes of one command."""
    process = subprocess.Popen(
        [sys.executable, "-m", "trueval", *arguments], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, f"{' '.join(arguments)}: exit status {process.returncode}"
    return usage.ru_maxrss


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, nargs=2, default=SIZES, metavar=("FEW", "MANY"))
    sizes = parser.parse_args().queries
    print(f"| command | {' | '.join(f'{size:,} queries' for size in sizes)} | bytes a further query |")
    with tempfile.TemporaryDirectory() as place:
        for size in sizes:
            make(Path(place), size)
        for name, words in COMMANDS.items():
            small, large = (peak([word.format(n=size) for word in words], Path(place)) for size in sizes)
            more = (large - small) * 1024 / (sizes[1] - sizes[0])
            print(f"| `{name}` | {small / 1024:,.0f} MiB | {large / 1024:,.0f} MiB | {more:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
