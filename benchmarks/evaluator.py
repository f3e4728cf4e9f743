"""The evaluator against pytrec_eval, ir_measures, ranx and the paper's own package (trm): time and peak memory.

Run `python benchmarks/evaluator.py` (700 queries) or `python benchmarks/evaluator.py --queries 6980` (the size of the
MS MARCO development set). Every contender runs in a process of its own, as often as --runs says; the contenders of a
task take turns, and the fastest run of each counts. In the task `command` the whole process counts, start and imports
included; in the others the imports do not, and reading does where a task reads.
Peak memory is that of the whole process, imports included. nDCG@10 stands beside each, so that one sees that they
computed the same.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import tempfile
import time
import warnings
from collections import defaultdict
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from support.apart import as_json, machine, whole_process
from support.generated import DOCUMENTS, JUDGED, generate_arrays, generate_files, tied_list

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

CUTOFFS = (10, 100, 1000)
MEASURES = [f"{name}@{k}" for name in ("nDCG", "AP", "R", "P") for k in CUTOFFS]
TREC_MEASURES = {f"{name}.10,100,1000" for name in ("ndcg_cut", "map_cut", "recall", "P")}
RANX_MEASURES = [f"{name}@{k}" for name in ("ndcg", "map", "recall", "precision") for k in CUTOFFS]
ARRAY_MEASURES = [f"{name}@{k}" for name in ("nDCG", "RR", "AP", "R") for k in CUTOFFS]
TRM_MEASURES = ["ndcg", "mrr", "map", "recall"]
ONE_LIST_CUTOFFS = (10, 1000, 10_000)
ONE_LIST_MEASURES = [f"{name}@{k}" for name in ("nDCG", "RR", "AP", "R") for k in ONE_LIST_CUTOFFS]
THREE_MEASURES = ["RR", "AP", "nDCG"]

Work: TypeAlias = "Callable[[], float]"


# --- contenders: each imports what it needs, and returns the work that is timed; the work returns nDCG@10 -------------


def files_trueval(folder: Path) -> Work:
    from trueval import Judgments, Run, evaluate

    def work() -> float:
        scores = evaluate(Run.read(folder / "run.trec"), Judgments.read(folder / "qrels.trec"), MEASURES)
        return float(scores.mean("nDCG@10").tie_broken)

    return work


def read_dictionary(path: Path, column: int, number: type) -> dict[str, dict[str, float]]:
    """Read a TREC file into the dictionaries that pytrec_eval takes, as its users do."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    with path.open() as lines:
        for line in lines:
            fields = line.split()
            found[fields[0]][fields[2]] = number(fields[column])
    return found


def read_dictionaries(folder: Path) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, float]]]:
    """Read the judgments and the run."""
    return read_dictionary(folder / "qrels.trec", 3, int), read_dictionary(folder / "run.trec", 4, float)


def trec_ndcg(found: dict[str, dict[str, float]]) -> float:
    """Average over queries, as users of pytrec_eval do."""
    return float(np.mean([values["ndcg_cut_10"] for values in found.values()]))


def files_pytrec_eval(folder: Path) -> Work:
    import pytrec_eval

    def work() -> float:
        qrels, run = read_dictionaries(folder)
        return trec_ndcg(pytrec_eval.RelevanceEvaluator(qrels, TREC_MEASURES).evaluate(run))

    return work


def files_ranx(folder: Path) -> Work:
    ranx = compiled_ranx(folder)

    def work() -> float:
        qrels = ranx.Qrels.from_file(str(folder / "qrels.trec"), kind="trec")
        run = ranx.Run.from_file(str(folder / "run.trec"), kind="trec")
        return float(ranx.evaluate(qrels, run, RANX_MEASURES)["ndcg@10"])

    return work


def compiled_ranx(folder: Path) -> Any:
    """Import ranx and let numba compile all that is timed, on the first two queries."""
    import ranx

    for name, lines in (("run.trec", 2 * DOCUMENTS), ("qrels.trec", 2 * JUDGED)):
        with (folder / name).open() as whole:
            (folder / f"few-{name}").write_text("".join(islice(whole, lines)))
    qrels = ranx.Qrels.from_file(str(folder / "few-qrels.trec"), kind="trec")
    ranx.evaluate(qrels, ranx.Run.from_file(str(folder / "few-run.trec"), kind="trec"), RANX_MEASURES)
    return ranx


def ready_arrays_trueval(folder: Path) -> Work:
    from trueval import evaluate_arrays

    scores, grades = np.load(folder / "run-scores.npy"), np.load(folder / "run-grades.npy")
    return lambda: float(evaluate_arrays(scores, grades, MEASURES).mean("nDCG@10").tie_broken)


def ready_run_trueval(folder: Path) -> Work:
    from trueval import Judgments, Run, evaluate

    run, judgments = Run.read(folder / "run.trec"), Judgments.read(folder / "qrels.trec")
    return lambda: float(evaluate(run, judgments, MEASURES).mean("nDCG@10").tie_broken)


def ready_pytrec_eval(folder: Path) -> Work:
    import pytrec_eval

    qrels, run = read_dictionaries(folder)
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, TREC_MEASURES)
    found: list[object] = []
    return lambda: found.append(evaluator.evaluate(run)) or trec_ndcg(found[0])


def ready_ranx(folder: Path) -> Work:
    ranx = compiled_ranx(folder)
    qrels = ranx.Qrels.from_file(str(folder / "qrels.trec"), kind="trec")
    run = ranx.Run.from_file(str(folder / "run.trec"), kind="trec")
    return lambda: float(ranx.evaluate(qrels, run, RANX_MEASURES)["ndcg@10"])


def arrays_trueval(folder: Path) -> Work:
    from trueval import evaluate_arrays

    scores, grades = np.load(folder / "scores.npy"), np.load(folder / "grades.npy")
    return lambda: float(evaluate_arrays(scores, grades, ARRAY_MEASURES).mean("nDCG@10").expected)


def arrays_trm(folder: Path) -> Work:
    import trm

    scores, grades = np.load(folder / "scores.npy").tolist(), (np.load(folder / "grades.npy") > 0).tolist()
    return lambda: trm.evaluate(scores, grades, TRM_MEASURES, list(CUTOFFS)).metrics["ndcg"][10].expected


def one_list_trueval(documents: int, measures: list[str]) -> Callable[[Path], Work]:
    def prepare(_: Path) -> Work:
        from trueval import evaluate_arrays

        scores, grades = tied_list(documents)

        def work() -> float:
            found = evaluate_arrays(scores, grades, measures)
            return float(found.mean(measures[-1] if measures is THREE_MEASURES else "nDCG@10").expected)

        return work

    return prepare


def one_list_trm(_: Path) -> Work:
    import trm

    scores, grades = tied_list(10_000)
    lists = scores.tolist(), (grades > 0).tolist()
    return lambda: trm.evaluate(*lists, TRM_MEASURES, list(ONE_LIST_CUTOFFS)).metrics["ndcg"][10].expected


TIMED: dict[str, Callable[[Path], Work]] = {
    "files: trueval": files_trueval,
    "files: pytrec_eval": files_pytrec_eval,
    "files: ranx": files_ranx,
    "ready: trueval arrays": ready_arrays_trueval,
    "ready: trueval run": ready_run_trueval,
    "ready: pytrec_eval": ready_pytrec_eval,
    "ready: ranx": ready_ranx,
    "arrays: trueval": arrays_trueval,
    "arrays: trm": arrays_trm,
    "10,000 tied: trueval": one_list_trueval(10_000, ONE_LIST_MEASURES),
    "10,000 tied: trm": one_list_trm,
    "1,000,000 tied: trueval": one_list_trueval(1_000_000, THREE_MEASURES),
}


# --- whole commands ---------------------------------------------------------------------------------------------------


def command_trueval(folder: Path) -> tuple[str, ...]:
    named = [argument for measure in MEASURES for argument in ("-m", measure)]
    return ("trueval", "evaluate", str(folder / "qrels.trec"), str(folder / "run.trec"), *named, "--format", "json")


def command_without_kernel(folder: Path) -> tuple[str, ...]:
    return (str(Path(__file__).parent / "support" / "without_kernel.py"), *command_trueval(folder)[1:])


def command_pytrec_eval(folder: Path) -> tuple[str, ...]:
    return (__file__, "--contender", "files: pytrec_eval", "--folder", str(folder))


def command_ir_measures(folder: Path) -> tuple[str, ...]:
    return ("ir_measures", str(folder / "qrels.trec"), str(folder / "run.trec"), " ".join(MEASURES), "--places", "8")


def read_trueval(output: str) -> float:
    return float(json.loads(output)["runs"][0]["measures"]["nDCG@10"]["tie_broken"])


def read_ir_measures(output: str) -> float:
    return float(next(line.split()[1] for line in output.splitlines() if line.startswith("nDCG@10\t")))


class Command(NamedTuple):
    """A whole process: its program and arguments, and how nDCG@10 is read from what it prints."""

    arguments: Callable[[Path], tuple[str, ...]]
    value: Callable[[str], float]


COMMANDS = {
    "command: trueval": Command(command_trueval, read_trueval),
    "command: no kernel": Command(command_without_kernel, read_trueval),
    "command: pytrec_eval": Command(command_pytrec_eval, lambda output: as_json(output)["value"]),
    "command: ir_measures": Command(command_ir_measures, read_ir_measures),
}


# --- measuring --------------------------------------------------------------------------------------------------------


class Result(NamedTuple):
    """What a contender took, and the nDCG@10 that it found."""

    seconds: float
    mebibytes: float
    value: float


def measure_here(contender: str, folder: Path) -> dict[str, float]:
    """Run one contender in this process: seconds of its work, and its nDCG@10."""
    warnings.simplefilter("ignore")
    work = TIMED[contender](folder)
    gc.collect()
    begin = time.perf_counter()
    value = work()
    return {"seconds": time.perf_counter() - begin, "value": value}


def measure_apart(contender: str, folder: Path) -> Result:
    """Run one contender in a process of its own."""
    if contender in COMMANDS:
        command = COMMANDS[contender]
        cost = whole_process(*command.arguments(folder))
        return Result(cost.seconds, cost.mebibytes, command.value(cost.output))
    cost = whole_process(__file__, "--contender", contender, "--folder", str(folder))
    found = as_json(cost.output)
    return Result(found["seconds"], cost.mebibytes, found["value"])


def fastest(contenders: Iterable[str], folder: Path, runs: int) -> dict[str, Result]:
    """Measure the contenders in turn, so that a slow minute of the machine meets all, and keep the fastest of each."""
    found: dict[str, list[Result]] = defaultdict(list)
    for _ in range(runs):
        for contender in contenders:
            found[contender].append(measure_apart(contender, folder))
    return {contender: min(results) for contender, results in found.items()}


def report(results: dict[str, Result]) -> None:
    """Print a line for each contender, and for each peer how many times longer and larger it is than our first."""
    ours: dict[str, Result] = {}
    for contender, found in results.items():
        task, name = contender.split(": ")
        line = f"{task:<16} {name:<15} {found.seconds:>9.3f} s {found.mebibytes:>8.0f} MiB   nDCG {found.value:.7f}"
        if task in ours:
            ratios = (found.seconds / ours[task].seconds, found.mebibytes / ours[task].mebibytes)
            line += f"   {ratios[0]:>7.1f} x time {ratios[1]:>5.1f} x memory"
        ours.setdefault(task, found)
        print(line, flush=True)


def main() -> None:
    """Generate the data into a temporary folder and compare, or run one contender."""
    contenders = [*COMMANDS, *TIMED]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=700, help="queries of 1,000 documents each (default 700)")
    parser.add_argument("--only", default="", help="contenders whose name begins so: command, files, ready, arrays ...")
    parser.add_argument(
        "--runs", type=int, default=1, help="of each contender, in turn; the fastest counts (default 1)"
    )
    parser.add_argument("--contender", choices=TIMED, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.contender:
        print(json.dumps(measure_here(options.contender, options.folder)))
        return
    packages = ("pytrec_eval-terrier", "ir-measures", "ranx", "tie-aware-retrieval-metrics")
    print(f"{options.queries} queries x {DOCUMENTS} documents; {machine(*packages)}")
    with tempfile.TemporaryDirectory() as name:
        folder = options.folder or Path(name)
        generate_files(folder, options.queries)
        generate_arrays(folder, options.queries)
        wanted = [contender for contender in contenders if contender.startswith(options.only)]
        for _, task in groupby(wanted, key=lambda contender: contender.split(": ")[0]):
            report(fastest(list(task), folder, options.runs))


if __name__ == "__main__":
    sys.exit(main())
