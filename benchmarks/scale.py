"""What executors cost: processes and Ray against threads, on exhaustive standings and on embeddings.

Run it with: python benchmarks/scale.py [--documents 1000000] [--queries 200] [--texts 20000] [--on threads,ray]
Every executor has as many workers as the machine has processors, and is started, with its imports, before the clock.
Documents are a memory map in a temporary folder, which all workers see. Embeddings are those of all-MiniLM-L6-v2 in
float32, with --threads of torch in each process, here too; workers load the model while the clock runs. Results are
compared byte by byte. Seconds of the processors, of this process and all that it started, are what to compare on a
machine that does other work too. Ray needs the extra scale.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import random
import resource
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from trueval.retrieval.exhaustive import Embeddings, evaluate_corpus
from trueval.threads import Executor, Processes

DIMENSION = 384
ROWS = 50_000  # made at once
WORDS = "the wing of a plane pushes air down so lift keeps it up while drag slows each part".split()  # noqa: SIM905


@contextmanager
def executor(name: str) -> Iterator[Executor | None]:
    """An executor whose workers have started."""
    count = os.cpu_count() or 1
    with ExitStack() as stack:
        found: Any = None
        if name == "processes":
            found = stack.enter_context(Processes(count))
        elif name == "ray":
            from trueval.scale.ray_executor import Ray

            found = stack.enter_context(Ray())
        if found is not None:
            list(found.map(warm, range(2 * count)))
        yield found


class ProcessorTime:
    """Seconds of the processors that this process and its descendants have taken (Linux).

    A thread looks every tenth of a second, and what was seen of a process stays: workers of Ray end with each call, and
    their time with them.
    """

    def __init__(self) -> None:
        self._seen: dict[tuple[int, str], float] = {}  # process and when it started → seconds
        self._ours = {os.getpid()}
        self._lock = threading.Lock()
        threading.Thread(target=self._watch, daemon=True).start()

    def seconds(self) -> float:
        """Seconds until now."""
        with self._lock:
            self._look()
            return sum(self._seen.values())

    def _watch(self) -> None:
        while True:
            time.sleep(0.1)
            with self._lock:
                self._look()

    def _look(self) -> None:
        found = {}
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                found[int(stat.parent.name)] = stat.read_text(errors="replace").rpartition(")")[2].split()
            except OSError:  # it has ended
                continue
        while more := {each for each, fields in found.items() if int(fields[1]) in self._ours} - self._ours:
            self._ours |= more
        self._ours &= found.keys()
        for process in self._ours:
            fields = found[process]
            taken = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
            self._seen[process, fields[19]] = taken


def warm(item: int) -> int:
    """Import what workers need."""
    import trueval.models.model_shards
    import trueval.retrieval.exhaustive  # noqa: F401

    time.sleep(0.5)  # so that each worker gets one
    return item


def corpus(folder: Path, documents: int) -> Path:
    """The file of unit vectors, to be opened as a memory map."""
    rng = np.random.default_rng(0)
    file = folder / "documents.npy"
    rows = np.lib.format.open_memmap(file, "w+", np.float32, (documents, DIMENSION))
    for start in range(0, documents, ROWS):
        block = rng.standard_normal((min(ROWS, documents - start), DIMENSION), dtype=np.float32)
        rows[start : start + ROWS] = block / np.linalg.norm(block, axis=1, keepdims=True)
    rows.flush()
    return file


def standings(chosen: Any, folder: Path) -> Callable[[Executor | None], tuple[float, str]]:
    """Scores of queries with five judged documents each over the corpus."""
    file, rng = corpus(folder, chosen.documents), np.random.default_rng(1)
    queries = rng.standard_normal((chosen.queries, DIMENSION), dtype=np.float32)
    ids = [f"q{i}" for i in range(chosen.queries)], [f"d{i}" for i in range(chosen.documents)]
    source = Embeddings(queries, np.load(file, mmap_mode="r"), *ids, format="bfloat16")
    judged = {q: {ids[1][d]: 1 for d in rng.integers(0, chosen.documents, 5).tolist()} for q in ids[0]}

    def run(taken: Executor | None) -> tuple[float, str]:
        began = time.perf_counter()
        # Opened anew as in a command: a map whose pages were read before is quicker, and only here.
        opened = replace(source, documents=np.load(file, mmap_mode="r"))
        found = evaluate_corpus(opened, judged, "nDCG@10 RR AP", executor=taken)
        seconds = time.perf_counter() - began
        return seconds, hashlib.sha256(found.expected.tobytes() + found.tie_broken.tobytes()).hexdigest()

    return run


def embedding(chosen: Any, folder: Path) -> Callable[[Executor | None], tuple[float, str]]:
    """Embeddings of made-up passages of 20 to 60 words."""
    from trueval.models.loading import load_model
    from trueval.models.model_settings import settings_of
    from trueval.models.output_part import OutputPart
    from trueval.models.outputs import part_outputs

    rng = random.Random(7)
    texts = [f"{i} " + " ".join(rng.choices(WORDS, k=rng.randint(20, 60))) for i in range(chosen.texts)]
    model: Any = load_model("all-MiniLM-L6-v2", dtype="float32", device="cpu")
    part = OutputPart("documents", texts, texts, model.embed_documents, len)

    def run(taken: Executor | None) -> tuple[float, str]:
        with tempfile.TemporaryDirectory(dir=folder) as store:
            began = time.perf_counter()
            found = part_outputs(model, part, settings_of(model), folder=Path(store), executor=taken)
            seconds = time.perf_counter() - began
            return seconds, hashlib.sha256(np.ascontiguousarray(found.rows).tobytes()).hexdigest()

    return run


def main() -> None:
    """Measure, and print a table."""
    options = argparse.ArgumentParser(description="What executors cost.")
    options.add_argument("--documents", type=int, default=1_000_000)
    options.add_argument("--queries", type=int, default=200)
    options.add_argument("--texts", type=int, default=20_000)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--threads", type=int, default=1, help="of torch, in each process")
    options.add_argument("--only", choices=["standings", "embedding"])
    options.add_argument("--on", default="threads,processes,ray")
    chosen = options.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(chosen.threads)
    print(f"{os.cpu_count()} cores, {platform.machine()}, load {os.getloadavg()[0]:.1f}")
    print("| work | on | seconds, median | against threads | of the processors | against threads | load | same bytes |")
    print("|---|---|---:|---:|---:|---:|---:|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, make in (("standings", standings), ("embedding", embedding)):
            if chosen.only in (None, name):
                if name == "embedding":
                    import torch

                    torch.set_num_threads(chosen.threads)
                compare(chosen, name, make(chosen, Path(folder)))
    workers = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory: {own:.0f} MiB here, {workers:.0f} MiB of the largest other process")


def compare(chosen: Any, name: str, run: Callable[[Executor | None], tuple[float, str]]) -> None:
    """All executors take turns, so that what else the machine does falls on each."""
    processors = ProcessorTime()
    with ExitStack() as stack:
        taken: dict[str, Executor | None] = {}
        for on in chosen.on.split(","):
            try:
                taken[on] = stack.enter_context(executor(on))
            except ImportError:
                print(f"| {name} | {on} | nothing measured: not installed |")
        clock, work, loads = ({on: list[float]() for on in taken} for _ in range(3))
        digests = {on: set[str]() for on in taken}
        for _ in range(chosen.rounds):
            for on, each in taken.items():
                before = processors.seconds()
                seconds, digest = run(each)
                clock[on].append(seconds)
                work[on].append(processors.seconds() - before)
                loads[on].append(os.getloadavg()[0])
                digests[on].add(digest)
    first = next(iter(taken))
    for on in taken:
        cells = []
        for times in (clock, work):
            ratio = statistics.median(one / other for one, other in zip(times[on], times[first], strict=True))
            cells += [f"{statistics.median(times[on]):.1f}", f"{ratio:.2f} x"]
        same = digests[on] == digests[first] and len(digests[on]) == 1
        shown = " | ".join([*cells, f"{statistics.median(loads[on]):.1f}", "yes" if same else "NO"])
        print(f"| {name} | {on} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
