"""A driver of the evidence of scale: each shard of standings, or group of a sweep, in a process of its own.

    python memory_trial.py standings|sweep FOLDER KIND DOCUMENTS DIMENSION

KIND of standings is mapped, rounded, float16, float8 or maxsim; of a sweep, the methods and the spec of the index, as
"dense flat". Prints for each process what its item says it needs and the most that it took, in bytes.
"""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

QUERIES = 200
MOST = 3  # items that get a process; the others are worked on here
SWEEP = """
[corpus]
path = "made"

[pipeline]
methods = [{methods}]

[embed]
model = "counts"

[index]
spec = "{spec}"
depth = 100

[sparse]
index = "bm25(language=None)"
depth = 100

[fuse]
depth = 100

[generate]
contexts = [3]

[measure]
names = ["nDCG@10"]
resamples = 100

[latency]
queries = 0
"""


class InProcesses:
    """An executor whose items each get a process, which tells the memory that it took."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.count = folder, 0

    def map(self, work: Callable[[Any], Any], items: Iterable[Any], /) -> Iterator[Any]:
        """Results in the order of the items."""
        for item in items:
            self.count += 1
            if self.count > MOST:
                yield work(item)
                continue
            file = self.folder / "item"
            file.write_bytes(pickle.dumps((work, item)))
            done = subprocess.run(
                [sys.executable, "-W", "ignore", __file__, "work", str(file)], check=True, stdout=subprocess.PIPE
            )
            print(done.stdout.decode(), end="")
            yield pickle.loads((self.folder / "item.result").read_bytes())


def work_on(file: str) -> None:
    """Work on an item, and tell what it took."""
    work, item = pickle.loads(Path(file).read_bytes())
    result = work(item)
    Path(f"{file}.result").write_bytes(pickle.dumps(result))
    # The maximum of getrusage has also what the parent took before it became this program.
    peak = int(next(line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line).split()[1])
    peak <<= 10
    print(json.dumps({"item": str(item), "needs": item.needs.memory, "peak": peak}))


def standings(folder: Path, kind: str, documents: int, dimension: int) -> None:
    """Count the standings of QUERIES queries."""
    import numpy as np

    from trueval.retrieval.exhaustive import Embeddings, evaluate_corpus

    rng = np.random.default_rng(0)

    def vectors(count: int) -> Any:
        return rng.standard_normal((count, dimension), dtype=np.float32)

    queries, rows, choices = vectors(QUERIES), None, dict[str, Any]()
    if kind == "maxsim":
        queries, rows = [vectors(32) for _ in range(QUERIES)], [vectors(20 + at % 60) for at in range(documents)]
        choices["scoring"] = "maxsim"
    else:
        rows = vectors(documents)
        if kind == "float16":
            rows = rows.astype(np.float16)
        else:
            np.save(folder / "rows", rows)
            rows = np.load(folder / "rows.npy", mmap_mode="r")
            choices |= {"rounded": {"storage": "bfloat16"}, "float8": {"storage": "float8_e4m3fn"}}.get(kind, {})
    ids = [f"d{i}" for i in range(documents)]
    judged = {f"q{i}": {ids[at]: 1 for at in rng.integers(0, documents, 9).tolist()} for i in range(QUERIES)}
    source = Embeddings(queries, rows, list(judged), ids, format="bfloat16", **choices)
    found = [evaluate_corpus(source, judged, "nDCG@10 RR", executor=each) for each in (InProcesses(folder), None)]
    assert found[0].expected.tobytes() == found[1].expected.tobytes()


def sweep(folder: Path, kind: str, documents: int, dimension: int) -> None:
    """Make the systems of a sweep over random words."""
    import numpy as np
    import pytest
    from tests.retrieval import models

    from trueval.tradeoff.runner.sweep import sweep

    rng = np.random.default_rng(1)
    words = [f"word{at}" for at in range(20_000)]

    class Model:
        """Embeds by the length of a text and its number: this trial is about memory."""

        name, dtype, scoring, batch_size = "counts", "float32", "product", 1 << 20

        def settings(self) -> dict[str, Any]:
            return {"model": self.name, "path": "nowhere", "dtype": self.dtype}

        def embed_documents(self, texts: list[str], names: list[str]) -> Any:
            return np.random.default_rng(len(texts[0])).standard_normal((len(texts), dimension), dtype=np.float32)

        embed_queries = embed_documents

    models.use(pytest.MonkeyPatch(), lambda name: Model())
    made = folder / "made"
    made.mkdir()
    texts = {
        "corpus": [" ".join(words[at] for at in rng.zipf(1.3, 60) % len(words)) for _ in range(documents)],
        "queries": [" ".join(rng.choice(words[:500], 4)) for _ in range(QUERIES)],
    }
    for name, lines in texts.items():
        rows = [json.dumps({"_id": f"{name[0]}{at}", "text": line}) for at, line in enumerate(lines)]
        (made / f"{name}.jsonl").write_text("\n".join(rows) + "\n")
    grades = [f"q{at} 0 c{doc} 1" for at in range(QUERIES) for doc in rng.integers(0, documents, 5).tolist()]
    (made / "qrels.trec").write_text("\n".join(dict.fromkeys(grades)) + "\n")
    methods, spec = kind.split(" ", 1)
    names = ", ".join(f'"{each}"' for each in methods.split("+"))
    file = folder / "sweep.toml"
    file.write_text(SWEEP.format(methods=names, spec=spec))
    found = sweep(file, out=folder / "out", cache=folder / "cache", executor=InProcesses(folder))
    assert not found.failed, found.failed


def main(what: str, *given: str) -> None:
    """Work on an item, or begin a trial."""
    if what == "work":
        work_on(*given)
        return
    folder, kind, documents, dimension = given
    trial = {"standings": standings, "sweep": sweep}[what]
    trial(Path(folder), kind, int(documents), int(dimension))


if __name__ == "__main__":
    main(*sys.argv[1:])
