"""Exhaustive standings against the bare product, naive counting, and FAISS flat with an evaluation of its lists.

Run it with: python benchmarks/exhaustive.py [--documents 100000,1000000] [--queries 500] [--judged 5] [--device cuda]
Vectors are random and of length 1. Judged documents are drawn among the first 1,000 of each query ("near", as a trained
model ranks most of what was judged), or among all ("far", which nothing can be dismissed for). All contenders take
turns in one process, so that what else the machine does falls on each. Ratios are medians over the rounds: the time of
the bare product, the faster of two, by that of the contender in the same round; of the clock, and of the processors,
which other work disturbs less. The bare product writes its tiles, and nobody reads them.
"""

import argparse
import os
import platform
import resource
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import trueval as tv
from trueval.policy.policy import OURS
from trueval.retrieval.exhaustive import Embeddings
from trueval.standings.counting import count

DEPTH = 1000
MEASURES = "nDCG@10 RR AP"


def unit(rng: np.random.Generator, rows: int, dimension: int) -> Any:
    vectors = rng.standard_normal((rows, dimension), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def product(source: Embeddings) -> None:
    """The tiles alone, as the exhaustive way makes them."""
    for block in source.blocks(np.arange(len(source.query_ids))):
        block.map(lambda tiles: sum(1 for _ in tiles))
    if source.device:
        import torch

        torch.cuda.synchronize()


def library(source: Embeddings, width: int = 8192) -> None:
    """Blocks of the product, on the threads of the library behind NumPy."""
    out = np.empty((len(source.queries), width), np.float32)
    for start in range(0, len(source.documents) - width + 1, width):
        np.matmul(source.queries, source.documents[start : start + width].T, out=out)


def naive(source: Embeddings, judged: np.ndarray, width: int = 8192) -> Any:
    """Blocks of the product compared with each judged score, once for above and once for tied."""
    own = np.einsum("qd,qjd->qj", source.queries, source.documents[judged])
    above, tied = np.zeros(judged.shape, int), np.zeros(judged.shape, int)
    for start in range(0, len(source.documents), width):
        scores = source.queries @ source.documents[start : start + width].T
        for j in range(judged.shape[1]):
            above[:, j] += np.count_nonzero(scores > own[:, j, None], axis=1)
            tied[:, j] += np.count_nonzero(scores == own[:, j, None], axis=1)
    return above, tied


def main() -> None:
    options = argparse.ArgumentParser(description="Exhaustive standings.")
    options.add_argument("--documents", default="100000,1000000")
    options.add_argument("--dimension", type=int, default=384)
    options.add_argument("--queries", type=int, default=500)
    options.add_argument("--judged", type=int, default=5)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--format", default="float32")
    options.add_argument("--device", default=None, help="as torch calls it; NumPy without it")
    options.add_argument("--without", default="", help="contenders to leave out, separated by semicolons")
    chosen = options.parse_args()
    print(f"{os.cpu_count()} cores, {platform.machine()}, load {os.getloadavg()[0]:.1f}, {chosen.device or 'NumPy'}")
    for documents in map(int, chosen.documents.split(",")):
        compare(chosen, documents)


def compare(chosen: Any, documents: int) -> None:
    rng = np.random.default_rng(0)
    corpus, queries = unit(rng, documents, chosen.dimension), unit(rng, chosen.queries, chosen.dimension)
    ids = [f"d{number}" for number in range(documents)], [f"q{number}" for number in range(chosen.queries)]
    given = corpus, queries
    if chosen.device:
        import torch

        given = tuple(torch.from_numpy(each).to(chosen.device) for each in given)
    source = Embeddings(given[1], given[0], ids[1], ids[0], format=chosen.format, device=chosen.device)
    import faiss

    index = faiss.IndexFlatIP(chosen.dimension)
    index.add(corpus)
    _, best = index.search(queries, DEPTH)
    columns = np.argsort(rng.random((chosen.queries, DEPTH)), axis=1)[:, : chosen.judged]
    judged = {
        "near": np.take_along_axis(best, columns, axis=1),
        "far": np.array([rng.choice(documents, chosen.judged, replace=False) for _ in range(chosen.queries)]),
    }
    judgments = {
        kind: tv.Judgments.of({ids[1][q]: {ids[0][d]: 1 for d in row} for q, row in enumerate(rows.tolist())})
        for kind, rows in judged.items()
    }

    def listed() -> None:
        scores, places = index.search(queries, DEPTH)
        names = np.array(ids[0], dtype=object)[places]
        run = tv.Run.from_arrays(scores, names, ids[1])
        tv.evaluate(run, judgments["near"], MEASURES)

    contenders: dict[str, Callable[[], Any]] = {
        "product, our tiles": lambda: product(source),
        "product, library's threads": lambda: library(source),
        "exhaustive, near": lambda: count(source, judgments["near"], OURS),
        "exhaustive, far": lambda: count(source, judgments["far"], OURS),
        "naive counting": lambda: naive(source, judged["near"]),
        "FAISS top 1,000 alone": lambda: index.search(queries, DEPTH),
        "FAISS top 1,000, evaluated": listed,
    }
    left_out = set(filter(None, chosen.without.split(";")))
    if chosen.device:
        left_out |= {"product, library's threads", "naive counting"}
    print(f"{documents:,} documents x {chosen.dimension}, {chosen.queries} queries, {chosen.judged} judged each")
    show({name: call for name, call in contenders.items() if name not in left_out}, chosen.rounds)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MiB, vectors {corpus.nbytes >> 20}")


def show(contenders: dict[str, Callable[[], Any]], rounds: int) -> None:
    """Let all take turns, and print their times beside that of the product."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, call in contenders.items():
            begin = time.perf_counter(), time.process_time()
            call()
            times[name].append((time.perf_counter() - begin[0], time.process_time() - begin[1]))
    products = np.array([found for name, found in times.items() if name.startswith("product")])
    bare = products.min(axis=0)  # [round, clock or processors]
    print(f"{'':28} {'fastest':>9} {'median':>9} {'counting':>9} {'of the product: clock':>22} {'processors':>11}")
    for name, each in times.items():
        found = np.array(each)
        clock, processors = np.median(bare / found, axis=0)
        beyond = statistics.median(found[:, 0] - bare[:, 0])
        print(f"{name:28} {found[:, 0].min():8.3f}s {np.median(found[:, 0]):8.3f}s {beyond:8.3f}s", end=" ")
        print(f"{clock:22.0%} {processors:11.0%}")


if __name__ == "__main__":
    main()
