"""Reciprocal rank fusion of two runs: ours, ranx's, and a loop over dictionaries.

Run it with: python benchmarks/fusion.py [--queries 1000] [--documents 1000] [--corpus 100000]
Each contender gets its own objects ready-made and is called once before the clock starts (ranx compiles then); the
fastest of five calls is shown, and the seconds of processors that it took. The share that ties is that of the first
100 queries, counted with one routine from the scores that each gave; "exact" counts with fractions.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from support.apart import machine

from trueval import Run
from trueval.retrieval.fusion.fuse import reciprocal_rank_fusion

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

K = 60
COUNTED = 100
Lists = dict[str, dict[str, float]]


def made(queries: int, documents: int, corpus: int, seed: int) -> Run:
    """A run of so many documents of a corpus for each query, best first, without ties."""
    rng = np.random.default_rng(seed)
    chosen = np.concatenate([rng.choice(corpus, documents, replace=False) for _ in range(queries)])
    frame = {
        "query_id": np.repeat([f"q{query}" for query in range(queries)], documents),
        "doc_id": [f"doc{document}" for document in chosen],
        "score": -np.sort(-rng.random((queries, documents)), axis=1).ravel(),
    }
    return Run.from_frame(pl.DataFrame(frame), name=f"run {seed}")


def dictionaries(run: Run) -> Lists:
    """What a loop and ranx take."""
    ids, scores = run.documents["doc_id"].to_list(), run.documents["score"].to_list()
    ends = zip(run.query_ids.to_list(), run.offsets[:-1].tolist(), run.offsets[1:].tolist(), strict=True)
    return {query: dict(zip(ids[begin:end], scores[begin:end], strict=True)) for query, begin, end in ends}


def loop(runs: list[Lists], one: Any = 1.0) -> Lists:
    """The formula, written down."""
    fused: Lists = {}
    for run in runs:
        for query, documents in run.items():
            sums = fused.setdefault(query, {})
            for rank, document in enumerate(sorted(documents, key=documents.__getitem__, reverse=True), start=1):
                sums[document] = sums.get(document, 0) + one / (K + rank)
    return {query: dict(sorted(sums.items(), key=lambda item: -item[1])) for query, sums in fused.items()}


def tied(scores: Mapping[str, Mapping[str, Any]]) -> float:
    """Share of documents whose score another one of the query has."""
    chosen = [Counter(documents.values()) for documents in list(scores.values())[:COUNTED]]
    return sum(n for each in chosen for n in each.values() if n > 1) / sum(sum(each.values()) for each in chosen)


def seconds(call: Callable[[], Any]) -> tuple[float, float]:
    """Seconds and processor seconds of the fastest of five calls, after one."""
    call()
    found = []
    for _ in range(5):
        begin, used = time.perf_counter(), time.process_time()
        call()
        found.append((time.perf_counter() - begin, time.process_time() - used))
    return min(found)


def main() -> None:
    """Print a line for each contender."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("queries", 1000), ("documents", 1000), ("corpus", 100_000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    import ranx

    runs = [made(chosen.queries, chosen.documents, chosen.corpus, seed) for seed in (0, 1)]
    lists = [dictionaries(run) for run in runs]
    rivals = [ranx.Run(each) for each in lists]
    contenders: dict[str, tuple[Callable[[], Any], Callable[[Any], Lists]]] = {
        "trueval": (lambda: reciprocal_rank_fusion(runs, k=K).run, dictionaries),
        "ranx": (lambda: ranx.fuse(rivals, method="rrf", norm=None, params={"k": K}), lambda run: run.to_dict()),
        "loop over dictionaries": (lambda: loop(lists), lambda scores: scores),
    }
    print(
        machine("ranx"), f"{chosen.queries} queries x 2 lists of {chosen.documents}, corpus {chosen.corpus}", sep="\n"
    )
    print(f"{'':24} {'s':>7} {'cpu s':>7} {'tied':>9}")
    for name, (call, as_lists) in contenders.items():
        wall, used = seconds(call)
        print(f"{name:24} {wall:7.3f} {used:7.3f} {tied(as_lists(call())):9.5f}")
    few = [dict(list(each.items())[:COUNTED]) for each in lists]
    print(f"{'exact':24} {'':7} {'':7} {tied(loop(few, Fraction(1))):9.5f}")


if __name__ == "__main__":
    main()
