"""Time and peak memory of a collection with many short passages: reading it, and BM25 over it, each in a process.

Run `python benchmarks/large_corpus.py --passages 8000000 --folder DIR`. Passages are made here: 56 words (about 370
bytes) of sentences drawn from 200,000, whose words follow Zipf's law; every fourth one brings a word of its own, as
rare words do. MS MARCO has 8.8 million passages of 56 words. Without --folder they go to a temporary one.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np
from support.apart import as_json, machine, whole_process

WORDS, SENTENCES, SENTENCE, PASSAGE = 300_000, 200_000, 14, 4  # words in all; sentences; their words; of a passage
QUERIES, DEPTH = 20, 100
TOGETHER = 20_000  # passages that are made at once
FORMS = ("jsonl", "parquet")


def sentences(rng: np.random.Generator) -> list[str]:
    """Sentences of words by Zipf's law."""
    letters = rng.integers(97, 123, (WORDS, 9), dtype=np.uint8)
    words = [row[:length].tobytes().decode() for row, length in zip(letters, rng.integers(2, 10, WORDS), strict=True)]
    chances = np.cumsum(1 / np.arange(1, WORDS + 1))
    drawn = np.searchsorted(chances / chances[-1], rng.random((SENTENCES, SENTENCE)))
    return [" ".join(map(words.__getitem__, row)) for row in drawn.tolist()]


def make(folder: Path, passages: int, form: str) -> None:
    """Write a collection, unless it is there."""
    rng = np.random.default_rng(0)
    pool = sentences(rng)
    folder.mkdir(parents=True, exist_ok=True)
    queries = [{"_id": f"q{at}", "text": pool[at][:30]} for at in range(QUERIES)]
    (folder / "queries.jsonl").write_text("".join(json.dumps(query) + "\n" for query in queries))
    lines = folder / "corpus.jsonl"
    with lines.open("w") as file:
        for begin in range(0, passages, TOGETHER):
            drawn = rng.integers(0, SENTENCES, (min(TOGETHER, passages - begin), PASSAGE)).tolist()
            for at, row in enumerate(drawn, begin):
                text = " ".join(map(pool.__getitem__, row)) + (f" x{at:x}" if at % 4 == 0 else "")
                file.write(f'{{"_id": "{at}", "title": "", "text": "{text}", "metadata": {{}}}}\n')
    if form == "parquet":
        import polars as pl

        columns = dict.fromkeys(("_id", "title", "text"), pl.String)
        pl.scan_ndjson(lines, schema=columns).sink_parquet(folder / "corpus.parquet")
        lines.unlink()


def measure(folder: Path, task: str) -> None:
    """Do one task, and print how long its steps take."""
    from trueval.collection import Collection, texts_in_order
    from trueval.retrieval.indexes.index import make_index

    found = {}
    begin, started = time.perf_counter(), time.process_time()
    collection = Collection.read(str(folder))
    found["read"], processor = time.perf_counter() - begin, time.process_time() - started
    if task == "bm25":
        begin = time.perf_counter()
        index = make_index("bm25")
        index.build(texts_in_order(collection.documents))
        found["build"] = time.perf_counter() - begin
        begin = time.perf_counter()
        hits = index.search(list(collection.queries.values()), DEPTH)
        found["search"] = time.perf_counter() - begin
        found |= {"hits": len(hits.places), "bytes": index.size()}
    print(json.dumps({**found, "passages": len(collection.documents), "processor": processor}))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--passages", type=int, default=50_000)
    options.add_argument("--form", choices=FORMS, default=FORMS[0])
    options.add_argument("--folder", type=Path, help="keeps the collection; made there where it is absent")
    options.add_argument("--task", choices=("read", "bm25"), help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.task is not None:
        measure(given.folder, given.task)
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        if not (folder / f"corpus.{given.form}").exists():
            make(folder, given.passages, given.form)
        size = (folder / f"corpus.{given.form}").stat().st_size
        print(f"{machine('bm25s')}\n\ncorpus.{given.form} of {size / 1e9:.2f} GB\n")
        names = (
            "task",
            "passages",
            "read",
            "processor time",
            "passages a second of it",
            "BM25 built",
            "search, a query",
            "peak memory",
        )
        print(f"| {' | '.join(names)} |\n{'|---' * len(names)}|")
        for task in ("read", "bm25"):
            done = whole_process(__file__, "--folder", str(folder), "--task", task)
            print(f"| {task} | {' | '.join(cells(as_json(done.output)))} | {done.mebibytes:,.0f} MiB |", flush=True)


def cells(found: dict[str, float]) -> list[str]:
    """What a row of the table says of times."""
    passages, processor = found["passages"], found["processor"]
    shown = [f"{passages:,}", f"{found['read']:.1f} s", f"{processor:.1f} s", f"{passages / processor:,.0f}"]
    if "build" not in found:
        return [*shown, "", ""]
    return [*shown, f"{found['build']:.1f} s", f"{found['search'] / QUERIES * 1000:.0f} ms"]


if __name__ == "__main__":
    main()
