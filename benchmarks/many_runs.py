"""An archive of runs in one table: processor seconds and peak memory of evaluate, compare and leaderboard over it.

Data: made here, one parquet table; each run lists 100 of 300 documents for every query, scores are multiples of 1/8, so
that they tie, and systems differ in ability. Linux: peak resident set of the whole process, as the kernel counts it.
"""

import argparse
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

MEASURES = "nDCG@10 AP RR@10 P@5 R@100 Success@5"
DOCUMENTS, DEPTH, RELEVANT = 300, 100, 25
COMMANDS = {
    "evaluate": ("evaluate", "qrels.trec", "runs.parquet"),
    "compare --baseline": ("compare", "qrels.trec", "runs.parquet", "--baseline", "system-0000"),
    "leaderboard --out": ("leaderboard", "qrels.trec", "runs.parquet", "--out", "board"),
}


def make(folder: Path, runs: int, queries: int) -> None:
    rng = np.random.default_rng(0)
    names = np.array([f"d{name}" for name in rng.permutation(DOCUMENTS)])
    with (folder / "qrels.trec").open("w") as file:
        for query in range(queries):
            grades = rng.integers(0, 3, RELEVANT).tolist()
            file.writelines(f"q{query} 0 {names[at]} {grade}\n" for at, grade in enumerate(grades))
    parts = []
    for run, ability in enumerate(rng.normal(1, 0.6, runs).tolist()):
        scores = rng.normal(0, 1, (queries, DOCUMENTS))
        scores[:, :RELEVANT] += ability
        scores = np.round(scores * 8) / 8
        top = np.argsort(-scores, axis=1, kind="stable")[:, :DEPTH]
        columns = {
            "run": [f"system-{run:04}"] * top.size,
            "query": np.repeat([f"q{query}" for query in range(queries)], DEPTH),
            "document": names[top.ravel()],
            "score": np.take_along_axis(scores, top, 1).ravel(),
        }
        parts.append(pl.DataFrame(columns).with_columns(pl.col("run", "query", "document").cast(pl.Categorical)))
    pl.concat(parts).with_columns(pl.col("run", "query", "document").cast(pl.String)).write_parquet(
        folder / "runs.parquet", row_group_size=1 << 18
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1_000)
    parser.add_argument("--queries", type=int, default=200)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        # In a process of its own: a child's peak begins with the memory of the process that it was forked from.
        maker = multiprocessing.get_context("spawn").Process(target=make, args=(Path(name), asked.runs, asked.queries))
        maker.start()
        maker.join()
        assert maker.exitcode == 0, f"the maker of the data: exit status {maker.exitcode}"
        print("| command | seconds | of processors | MiB |\n|---|---|---|---|")
        for command, arguments in COMMANDS.items():
            begin = time.perf_counter()
            process = subprocess.Popen(
                [sys.executable, "-m", "trueval", *arguments, "-m", MEASURES, "--format", "json"],
                cwd=name,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            assert process.returncode == 0, f"{command}: exit status {process.returncode}"
            taken, cpu = time.perf_counter() - begin, usage.ru_utime + usage.ru_stime
            print(f"| {command} | {taken:.0f} | {cpu:.0f} | {usage.ru_maxrss >> 10} |", flush=True)


if __name__ == "__main__":
    main()
