"""Every registered measure on one query whose documents all tie: seconds, memory, and how both grow.

Run `python benchmarks/hostile_ties.py`, or `--only ERR alpha_nDCG`, `--lists "ten facets"`, `--sizes 500 10000`. Every
measure, list and cutoff has a process of its own, which evaluates the sizes from the smallest to the largest. It may
use --memory MiB of address space and --limit seconds for each size; one that fails or goes on for longer is said so in
the table, and the next measure follows. Seconds are those that processors spend in `evaluate`, with a run and judgments
in memory. MiB are the peak of resident memory above what the process held before it evaluated anything.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
from support.apart import machine, peak_mebibytes

import trueval as tv
from trueval.errors import InputError, TruevalError
from trueval.measures import Measure, registry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SIZES = (500, 1000, 2000, 5000, 10_000)
CUTOFFS = (10, 1000)
FACETS = 10
# What a measure may take for one query of 10,000 documents.
MOST_SECONDS, MOST_MEBIBYTES = 5.0, 1024
# Seconds below this are those of the call, and say nothing of growth.
SHORT = 0.05


class List(NamedTuple):
    """One query.

    Attributes:
        groups: [document] number of the tie group, from the top.
        grades: [document] 0 to 5, where it is judged at all: NaN where it is not.
        facets: [document, facet] whether it is about the facet.
        sources: sources of documents.
    """

    groups: np.ndarray
    grades: np.ndarray
    facets: np.ndarray
    sources: int


def _some_facets(size: int, share: float, rng: np.random.Generator) -> np.ndarray:
    return rng.random((size, FACETS)) < share


def judged(size: int, rng: np.random.Generator) -> List:
    """All of them judged, grades 0 to 5, each about some of ten facets."""
    return List(np.zeros(size), rng.integers(0, 6, size) * 1.0, _some_facets(size, 0.3, rng), size // 10)


def rare(size: int, rng: np.random.Generator) -> List:
    """All of them judged, one in fifty with grade 1 to 5 and the others with 0 (1 on the rubric)."""
    some = rng.random(size) < 0.02
    return List(np.zeros(size), np.where(some, rng.integers(1, 6, size), 0.0), _some_facets(size, 0.02, rng), 10)


def half(size: int, rng: np.random.Generator) -> List:
    """Half of them judged, grades 1 and 2, and one source for each document."""
    grades = np.where(rng.random(size) < 0.5, rng.integers(1, 3, size), np.nan)
    return List(np.zeros(size), grades, _some_facets(size, 0.1, rng), size)


def distinct(size: int, rng: np.random.Generator) -> List:
    """All of them judged, no two with the same grade (whole grades for measures on the rubric)."""
    return List(np.zeros(size), rng.permutation(np.linspace(0, 5, size)), _some_facets(size, 0.5, rng), 2)


def pairs(size: int, rng: np.random.Generator) -> List:
    """All of them judged, in tie groups of two."""
    return List(np.arange(size) // 2, rng.integers(0, 6, size) * 1.0, _some_facets(size, 0.3, rng), size // 10)


LISTS: dict[str, Callable[[int, np.random.Generator], List]] = {
    "judged": judged, "rare": rare, "half": half, "distinct": distinct, "pairs": pairs,
}  # fmt: skip


def run_and_judgments(made: List, measure: Measure) -> tuple[tv.Run, tv.Judgments]:
    """The list as evaluate takes it: grades on the rubric 1 to 5 for measures of evidence."""
    documents = np.array([f"d{number:06}" for number in range(len(made.groups))])
    run = pl.DataFrame({"query_id": "q", "doc_id": documents, "score": -made.groups})
    if measure.needs_facets:
        document, facet = np.nonzero(made.facets & ~np.isnan(made.grades)[:, None])
        columns = {"query_id": "q", "facet": facet.astype(str), "doc_id": documents[document], "grade": 1.0}
        return tv.Run.from_frame(run), tv.Judgments.from_frame(pl.DataFrame(columns), facets=True)
    grades = made.grades
    if on_rubric(measure):
        grades = np.clip(np.round(grades), 1, 5)
    known = ~np.isnan(grades)
    frame = pl.DataFrame({"query_id": "q", "doc_id": documents[known], "grade": grades[known]})
    of = {document: f"s{number % made.sources}" for number, document in enumerate(documents.tolist())}
    return tv.Run.from_frame(run), tv.Judgments.from_frame(frame).with_sources(of)


def on_rubric(measure: Measure) -> bool:
    """Whether grades other than 1 to 5 are an error: what it does with a grade of 0 tells."""
    try:
        tv.evaluate_arrays([[1.0]], [[0.0]], str(measure))
    except InputError:
        return True
    except TruevalError:
        return False
    return False


def forms(measure: Measure) -> Iterator[Measure]:
    """The measure as it is evaluated here: with what it needs, at each cutoff that it takes."""
    known = registry()
    if measure.definition.takes_measure:
        measure = measure(known["AP"] if measure.name == "gm" else known["RA-nWG"])
    if measure.name == "ERR":
        measure = measure(gmax=5)
    if measure.cutoff_use != "required":
        yield measure
    if measure.cutoff_use != "none":
        yield from (measure @ cutoff for cutoff in CUTOFFS)


def variants() -> Iterator[Measure]:
    """Parameters under which a measure is computed in another way."""
    known = registry()
    yield from (known["AP"](norm="hits") @ cutoff for cutoff in (1000, 5000))
    yield known["nDCG"](base="list")
    yield from (known["IPrec"](recall=level) for level in (0, 1))
    yield known["alpha_nDCG"](ideal="ndeval")
    yield known["alpha_nDCG"](alpha=0.05)
    yield known["NRBP"](beta=1)


def work(text: str, name: str, sizes: list[int], mebibytes: int) -> None:
    """Evaluate one measure on one list at every size, and say a line of JSON for each."""
    resource.setrlimit(resource.RLIMIT_AS, (mebibytes << 20, mebibytes << 20))
    measure = tv.measures.parse(text)
    small = LISTS[name](20, np.random.default_rng(0))
    tv.evaluate(*run_and_judgments(small, measure), text)  # what is loaded late is loaded now
    print("ready", flush=True)
    for size in sizes:
        run, judgments = run_and_judgments(LISTS[name](size, np.random.default_rng(size)), measure)
        before = peak_mebibytes()
        begin = time.process_time()
        scores = tv.evaluate(run, judgments, text)
        seconds = time.process_time() - begin
        told = {"size": size, "seconds": seconds, "mebibytes": peak_mebibytes() - before}
        print(json.dumps({**told, "exact": scores.exact[0], "sd": bool(np.isfinite(scores.sd).all())}), flush=True)


class Row(NamedTuple):
    """What one measure took on one list.

    Attributes:
        measure: its text form.
        name: of the list.
        told: one entry for each size that ended.
        end: why it went no further; empty if it did.
    """

    measure: str
    name: str
    told: list[dict[str, float]]
    end: str

    @property
    def growth(self) -> float:
        """The power of the size with which the last of its seconds grow; NaN where they are too few to say."""
        last = self.told[-2:]
        if len(last) < 2 or last[0]["seconds"] < SHORT:
            return math.nan
        return math.log(last[1]["seconds"] / last[0]["seconds"]) / math.log(last[1]["size"] / last[0]["size"])

    @property
    def within(self) -> bool:
        """Whether it ended, in the time and the memory that a measure may take."""
        memory = max((one["mebibytes"] for one in self.told), default=0)
        seconds = max((one["seconds"] for one in self.told), default=0)
        return not self.end and seconds <= MOST_SECONDS and memory <= MOST_MEBIBYTES

    def line(self, sizes: list[int]) -> str:
        """A row of the table."""
        seconds = {int(one["size"]): f"{one['seconds']:.2f}" for one in self.told}
        memory = f"{max(one['mebibytes'] for one in self.told):.0f}" if self.told else ""
        growth = "" if math.isnan(self.growth) else f"{self.growth:.1f}"
        exact = "" if all(one["exact"] for one in self.told) else "bounds"
        null = [int(one["size"]) for one in self.told if not one["sd"]]
        remarks = [each for each in (exact, f"no sd from {null[0]:,} on" if null else "", self.end) if each]
        remarks += [] if self.within else ["**over**"]
        cells = [self.measure, self.name, *(seconds.get(size, "") for size in sizes), memory, growth]
        return f"| {' | '.join(cells)} | {', '.join(remarks)} |"


def measure_row(text: str, name: str, sizes: list[int], options: argparse.Namespace) -> Row:
    """Let a process of its own do the work, size by size, and end it where one takes too long."""
    command = [sys.executable, __file__, "--work", text, name, json.dumps(sizes), str(options.memory)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        told: list[dict[str, float]] = []
        late = False
        line = process.stdout.readline() if process.stdout else ""
        while line and len(told) < len(sizes):
            clock = threading.Timer(options.limit, process.kill)
            clock.start()
            line = process.stdout.readline() if process.stdout else ""
            late = not clock.is_alive()
            clock.cancel()
            if line:
                told.append(json.loads(line))
        _, errors = process.communicate()
    if len(told) == len(sizes):
        return Row(text, name, told, "")
    why = f"more than {options.limit:.0f} s" if late else (errors.strip().splitlines() or ["killed"])[-1][:120]
    return Row(text, name, told, f"{sizes[len(told)]:,}: {why}")


def main() -> None:
    """Measure what is asked for, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[], help="names of measures")
    parser.add_argument("--lists", nargs="+", default=list(LISTS), choices=list(LISTS), help="which lists")
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES), help="documents of the query")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for one size")
    parser.add_argument("--memory", type=int, default=6144, help="MiB of address space of a process")
    options = parser.parse_args()
    sizes = sorted(options.sizes)
    print(machine())
    print(f"| measure | list | {' | '.join(f'{size:,}' for size in sizes)} | MiB | growth | |")
    print(f"|---|---|{'---|' * (len(sizes) + 3)}")
    chosen = [form for measure in registry().values() for form in forms(measure)] + list(variants())
    rows = []
    for form in chosen:
        if options.only and form.name not in options.only:
            continue
        for name in options.lists:
            rows.append(measure_row(str(form), name, sizes, options))
            print(rows[-1].line(sizes), flush=True)
    over = [f"{row.measure} ({row.name})" for row in rows if not row.within]
    print(f"{len(rows)} rows, {len(over)} over {MOST_SECONDS:g} s or {MOST_MEBIBYTES} MiB: {', '.join(over) or 'none'}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        work(sys.argv[2], sys.argv[3], json.loads(sys.argv[4]), int(sys.argv[5]))
    else:
        main()
