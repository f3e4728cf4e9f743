"""The time of a comparison: 20 runs, 50 queries, 10 measures, all pairs, 10,000 resamples; and what the seed promises.

Run `python benchmarks/compare.py`. Scores are simulated, a tenth of them tied, so that only the comparison is timed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from importlib.metadata import version

import numpy as np

from trueval.comparison.compare import compare_scores
from trueval.evaluation.scores import Scores
from trueval.evaluation.ties import TieSummary
from trueval.measures import parse_list
from trueval.policy.conventions import Policy

MEASURES = "nDCG@5 nDCG@10 nDCG@20 AP@10 AP@100 RR@10 P@5 P@10 R@10 R@100"


def simulate(runs: int, queries: int, seed: int = 0) -> list[Scores]:
    """Scores of systems whose queries differ in difficulty, with small tie intervals on a tenth of the values."""
    rng, measures = np.random.default_rng(seed), parse_list(MEASURES)
    difficulty = rng.normal(0, 0.2, (queries, len(measures)))
    out = []
    for run in range(runs):
        expected = np.clip(0.5 + difficulty + rng.normal(0.005 * run, 0.15, difficulty.shape), 0, 1)
        reach = np.where(rng.random(expected.shape) < 0.1, 0.05, 0.0)
        statistics = {
            "expected": expected,
            "lowest": expected - reach,
            "highest": expected + reach,
            "tie_broken": expected + reach * rng.uniform(-1, 1, expected.shape),
            "sd": reach / 2,
        }
        ids = tuple(map(str, range(queries)))
        exact = (True,) * len(measures)
        out.append(Scores(f"run{run}", ids, measures, **statistics, exact=exact, ties=TieSummary(0.1, 2, ()),
                          missing_queries=(), unjudged_queries=(), policy=Policy(), notes=()))  # fmt: skip
    return out


def measure(scores: list[Scores], threads: int, resamples: int, repeats: int = 3) -> tuple[float, str]:
    """Best time in seconds, and the result as text."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        result = compare_scores(scores, threads=threads, resamples=resamples)
        times.append(time.perf_counter() - begin)
    return min(times), json.dumps(result.to_dict())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--resamples", type=int, default=10_000)
    options = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} processors; Python {platform.python_version()}, "
          f"numpy {np.__version__}, scipy {version('scipy')}")  # fmt: skip
    scores = simulate(options.runs, options.queries)
    print(f"{options.runs} runs x {options.queries} queries x 10 measures, all pairs, {options.resamples} resamples")
    results = set()
    for threads in (1, 2):
        seconds, text = measure(scores, threads, options.resamples)
        results.add(text)
        print(f"{threads} thread{'s' * (threads > 1)}: {seconds:.2f} s")
    print("the results are", "identical" if len(results) == 1 else "NOT identical")


if __name__ == "__main__":
    main()
