"""The evaluator against pytrec_eval and the paper's own package (trm): time and peak memory on the same input.

Run `python benchmarks/evaluator.py` (700 queries) or `python benchmarks/evaluator.py --queries 6980` (the size of the
MS MARCO development set). Every contender runs once in a process of its own; its imports are not timed, reading is.
Peak memory is that of the whole process, imports included.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

DOCUMENTS = 1000  # listed for each query
CUTOFFS = (10, 100, 1000)
FILE_MEASURES = [f"{name}@{k}" for name in ("nDCG", "AP", "R", "P") for k in CUTOFFS]
PEER_FILE_MEASURES = {f"{name}.10,100,1000" for name in ("ndcg_cut", "map_cut", "recall", "P")}
ARRAY_MEASURES = [f"{name}@{k}" for name in ("nDCG", "RR", "AP", "R") for k in CUTOFFS]
PEER_ARRAY_MEASURES = ["ndcg", "mrr", "map", "recall"]
ONE_LIST_CUTOFFS = (10, 1000, 10_000)
ONE_LIST_MEASURES = [f"{name}@{k}" for name in ("nDCG", "RR", "AP", "R") for k in ONE_LIST_CUTOFFS]


# --- data -------------------------------------------------------------------------------------------------------------


def bfloat16(scores: np.ndarray) -> np.ndarray:
    """Round float32 scores to bfloat16 (half up in the dropped bits, which is enough to make its ties)."""
    bits = scores.astype(np.float32).view(np.uint32)
    return ((bits + 0x8000) & 0xFFFF0000).view(np.float32)


def generate_files(folder: Path, queries: int) -> None:
    """Write a run of bfloat16 scores and judgments of ten listed and ten other documents a query."""
    rng = np.random.default_rng(0)
    with (folder / "run.trec").open("w") as run, (folder / "qrels.trec").open("w") as qrels:
        for query in range(1_000_000, 1_000_000 + queries):
            ids = rng.choice(8_841_823, DOCUMENTS, replace=False).tolist()
            scores = bfloat16(np.sort(rng.normal(20, 3, DOCUMENTS))[::-1]).tolist()
            run.writelines(
                f"{query} Q0 {d} {i} {s:.6f} b\n" for i, (d, s) in enumerate(zip(ids, scores, strict=True), 1)
            )
            judged = [ids[i] for i in rng.choice(DOCUMENTS, 10, replace=False)] + list(range(9_000_000, 9_000_010))
            qrels.writelines(f"{query} 0 {d} {int(i % 10 < 3)}\n" for i, d in enumerate(judged))


def generate_arrays(folder: Path, queries: int) -> None:
    """Save [query, document] bfloat16 scores and binary grades, one document in a hundred relevant."""
    rng = np.random.default_rng(1)
    np.save(folder / "scores.npy", bfloat16(rng.normal(20, 3, (queries, DOCUMENTS))).astype(np.float64))
    np.save(folder / "grades.npy", (rng.random((queries, DOCUMENTS)) < 0.01).astype(np.float64))


def tied_list(documents: int) -> tuple[np.ndarray, np.ndarray]:
    """Return one list tied throughout, one document in a hundred relevant."""
    return np.zeros((1, documents)), (np.arange(documents) % 100 == 7)[None].astype(np.float64)


# --- contenders: each returns its import-free work as a function ------------------------------------------------------


def files_trueval(folder: Path) -> Callable[[], object]:
    from trueval.evaluate import evaluate
    from trueval.judgments import Judgments
    from trueval.run import Run

    return lambda: evaluate(Run.read(folder / "run.trec"), Judgments.read(folder / "qrels.trec"), FILE_MEASURES)


def read_dictionary(path: Path, column: int, number: type) -> dict[str, dict[str, float]]:
    """Read a TREC file into the dictionaries that pytrec_eval takes, as its users do."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    with path.open() as lines:
        for line in lines:
            fields = line.split()
            found[fields[0]][fields[2]] = number(fields[column])
    return found


def files_pytrec_eval(folder: Path) -> Callable[[], object]:
    import pytrec_eval

    def work() -> object:
        qrels = read_dictionary(folder / "qrels.trec", 3, int)
        run = read_dictionary(folder / "run.trec", 4, float)
        return len(pytrec_eval.RelevanceEvaluator(qrels, PEER_FILE_MEASURES).evaluate(run))

    return work


def arrays_trueval(folder: Path) -> Callable[[], object]:
    from trueval.evaluate import evaluate_arrays

    scores, grades = np.load(folder / "scores.npy"), np.load(folder / "grades.npy")
    return lambda: evaluate_arrays(scores, grades, ARRAY_MEASURES)


def arrays_trm(folder: Path) -> Callable[[], object]:
    import trm

    scores, grades = np.load(folder / "scores.npy").tolist(), (np.load(folder / "grades.npy") > 0).tolist()
    return lambda: trm.evaluate(scores, grades, PEER_ARRAY_MEASURES, list(CUTOFFS))


def one_list_trueval(documents: int) -> Callable[[Path], Callable[[], object]]:
    def prepare(_: Path) -> Callable[[], object]:
        from trueval.evaluate import evaluate_arrays

        scores, grades = tied_list(documents)
        return lambda: evaluate_arrays(scores, grades, ONE_LIST_MEASURES)

    return prepare


def one_list_trm(folder: Path) -> Callable[[], object]:
    import trm

    scores, grades = tied_list(10_000)
    lists = scores.tolist(), (grades > 0).tolist()
    return lambda: trm.evaluate(*lists, PEER_ARRAY_MEASURES, list(ONE_LIST_CUTOFFS))


CONTENDERS: dict[str, Callable[[Path], Callable[[], object]]] = {
    "files: trueval": files_trueval,
    "files: pytrec_eval": files_pytrec_eval,
    "arrays: trueval": arrays_trueval,
    "arrays: trm": arrays_trm,
    "10,000 tied: trueval": one_list_trueval(10_000),
    "10,000 tied: trm": one_list_trm,
    "1,000,000 tied: trueval": one_list_trueval(1_000_000),
}


# --- measuring --------------------------------------------------------------------------------------------------------


def measure_here(contender: str, folder: Path) -> dict[str, float]:
    """Run one contender in this process: seconds of its work, peak memory of the process in MiB."""
    work = CONTENDERS[contender](folder)
    gc.collect()
    begin = time.perf_counter()
    work()
    seconds = time.perf_counter() - begin
    return {"seconds": seconds, "mebibytes": peak_mebibytes()}


def peak_mebibytes() -> float:
    """Return the peak resident memory of this program; on Linux without that of the process that started it."""
    status = Path("/proc/self/status")
    if status.exists():
        peak = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(peak.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure_apart(contender: str, folder: Path) -> dict[str, float]:
    """Run one contender in a process of its own."""
    command = [sys.executable, __file__, "--contender", contender, "--folder", str(folder)]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    return found


def report(contenders: Iterable[str], folder: Path) -> None:
    """Print a line for each contender, and for each peer how many times longer and larger it is than ours."""
    ours: dict[str, dict[str, float]] = {}
    for contender in contenders:
        task, name = contender.split(": ")
        found = measure_apart(contender, folder)
        line = f"{task:<16} {name:<12} {found['seconds']:>9.3f} s {found['mebibytes']:>8.0f} MiB"
        if name == "trueval":
            ours[task] = found
        elif task in ours:
            ratios = [found[unit] / ours[task][unit] for unit in ("seconds", "mebibytes")]
            line += f"   {ratios[0]:>7.1f} x time {ratios[1]:>5.1f} x memory"
        print(line, flush=True)


def main() -> None:
    """Generate the data into a temporary folder and compare, or run one contender."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=700, help="queries of 1,000 documents each (default 700)")
    parser.add_argument("--only", default="", help="contenders whose name begins so: files, arrays, 10,000, 1,000,000")
    parser.add_argument("--contender", choices=CONTENDERS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.contender:
        print(json.dumps(measure_here(options.contender, options.folder)))
        return
    packages = ("numpy", "polars", "pytrec_eval-terrier", "tie-aware-retrieval-metrics")
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    print(
        f"{options.queries} queries x {DOCUMENTS} documents; {os.cpu_count()} cores, {platform.machine()}; {versions}"
    )
    with tempfile.TemporaryDirectory() as name:
        generate_files(Path(name), options.queries)
        generate_arrays(Path(name), options.queries)
        report([contender for contender in CONTENDERS if contender.startswith(options.only)], Path(name))


if __name__ == "__main__":
    main()
