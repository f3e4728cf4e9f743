"""A thousand calls on 10 lists of 20 documents, as a training loop makes them: trueval, pytrec_eval and ranx.

Run `python benchmarks/small_calls.py`. Each is called once before the clock starts (ranx compiles then);
how long that took is printed too. pytrec_eval and ranx get dictionaries and objects ready-made, and made anew from
the arrays for every call, as a loop must that has arrays.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from typing import TYPE_CHECKING

import numpy as np
from support.apart import machine

if TYPE_CHECKING:
    from collections.abc import Callable

QUERIES, DOCUMENTS = 10, 20
MEASURES = ["nDCG@10", "RR@10"]
Dictionaries = dict[str, dict[str, float]]


def batches(calls: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Scores and binary grades, one document in five relevant."""
    rng = np.random.default_rng(0)
    shape = (QUERIES, DOCUMENTS)
    return [(rng.random(shape).round(2), (rng.random(shape) > 0.8).astype(int)) for _ in range(calls)]


def dictionaries(values: np.ndarray) -> Dictionaries:
    """What pytrec_eval and ranx take."""
    return {str(q): {str(d): value for d, value in enumerate(row)} for q, row in enumerate(values.tolist())}


def contenders() -> dict[str, tuple[Callable[[np.ndarray, np.ndarray], object], Callable[[object], object]]]:
    """For each contender, what makes its input from arrays (not timed), and the call (timed)."""
    import pytrec_eval
    import ranx

    from trueval import evaluate_arrays

    def pytrec(ready: tuple[Dictionaries, Dictionaries]) -> object:
        return pytrec_eval.RelevanceEvaluator(ready[1], {"ndcg_cut.10", "recip_rank"}).evaluate(ready[0])

    def both(scores: np.ndarray, grades: np.ndarray) -> tuple[Dictionaries, Dictionaries]:
        return dictionaries(scores), dictionaries(grades)

    def ranx_objects(scores: np.ndarray, grades: np.ndarray) -> tuple[object, object]:
        return ranx.Run(dictionaries(scores)), ranx.Qrels(dictionaries(grades))

    def ranx_call(ready: tuple[object, object]) -> object:
        return ranx.evaluate(ready[1], ready[0], ["ndcg@10", "mrr@10"])

    return {
        "trueval": (lambda *arrays: arrays, lambda arrays: evaluate_arrays(*arrays, MEASURES)),
        "pytrec_eval, ready": (both, pytrec),
        "pytrec_eval, from arrays": (lambda *arrays: arrays, lambda arrays: pytrec(both(*arrays))),
        "ranx, ready": (ranx_objects, ranx_call),
        "ranx, from arrays": (lambda *arrays: arrays, lambda arrays: ranx_call(ranx_objects(*arrays))),
    }


def main() -> None:
    """Print the first call, the median of the others and their sum."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=1000)
    calls = parser.parse_args().calls
    warnings.simplefilter("ignore")
    print(f"{calls} calls on {QUERIES} x {DOCUMENTS}; {machine('pytrec_eval-terrier', 'ranx')}")
    for name, (make, call) in contenders().items():
        inputs = [make(*arrays) for arrays in batches(calls + 1)]
        seconds = []
        for one in inputs:
            begin = time.perf_counter()
            call(one)
            seconds.append(time.perf_counter() - begin)
        first, others = seconds[0], seconds[1:]
        print(
            f"{name:<26} first {first * 1e3:>9.2f} ms   then {statistics.median(others) * 1e3:>7.3f} ms each"
            f"   all {sum(others):>7.3f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
