"""Dynamic K on real collections: does a signal say which queries to rerank deeper?

    python benchmarks/routing.py cranfield csfcube scifact-test --cache DIR --drop 4

MiniLM, flat, pools of 100; epqa-reranker at 128 tokens over 50 and 100 candidates; 100 judged queries drawn with seed
0, all where there are fewer. A collection takes an hour of one core without a cache, seconds with one.
--drop adds a signal: how far the vector of a query moves under chatter of that level. docs/tradeoff.md has what came
out.
"""

import argparse
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np

from trueval import Judgments
from trueval.collection import Collection
from trueval.errors import TruevalWarning
from trueval.retrieval.pipeline.config import settings_of_tables
from trueval.tradeoff.diagnosis.loss_decomposition import decompose_loss
from trueval.tradeoff.diagnosis.query_performance_predictors import QueryNoise, route_pipeline
from trueval.tradeoff.route.route import RouterOutcome

SHARED = Path(__file__).resolve().parents[2] / "shared"
TABLES = {
    "embed": {"model": "all-MiniLM-L6-v2", "dtype": "float32", "device": "cpu"},
    "index": {"depth": 100},
    "rerank": {
        "model": str(SHARED / "models" / "epqa-reranker"),
        "dtype": "float32",
        "device": "cpu",
        "max_length": 128,
        "depth": 100,
    },
}
# Grades on the scale of RA-nWG, where a collection has others.
GRADES = {"csfcube": {0: 1, 1: 3, 2: 4, 3: 5}, "scifact-test": {0: 1, 1: 5}}
# On the scale of RA-nWG a document is relevant from 3 on.
MEASURES = ("nDCG@10", "RA-nWG@10", "RA-nWG@30", "R(rel=3)@30")


def sample(name: str, queries: int) -> Collection:
    """A collection with some of its judged queries."""
    found = Collection.read(str(SHARED / "data" / "collections" / name))
    known = set(found.graded.query_ids.to_list())
    judged = [query for query in found.queries if query in known]
    if len(judged) > queries:
        rng = np.random.default_rng(0)
        judged = [judged[place] for place in np.sort(rng.choice(len(judged), queries, replace=False))]
    return replace(found, queries={query: found.queries[query] for query in judged})


def told(router: RouterOutcome) -> str:
    """One line."""
    ends = {name: f"{each.value:+.4f} [{each.low:+.4f}, {each.high:+.4f}]" for name, each in router.over.items()}
    shown = ", ".join(f"over {name} {each}" for name, each in ends.items())
    return (
        f"  {router.name:24} share {router.share:.3f} quality {router.quality.value:.4f} {shown} {router.beats_random}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--drop", type=int, metavar="LEVEL", help="the drop under chatter of 1 to 4 as a signal too")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore", TruevalWarning)
    settings = settings_of_tables(TABLES, "benchmark")
    for name in chosen.names:
        collection = sample(name, chosen.queries)
        grades = GRADES.get(name)
        judgments = collection.graded
        if grades is not None:
            frame = judgments.frame
            judgments = Judgments.from_frame(frame.with_columns(frame["grade"].replace_strict(grades)))
        for step in decompose_loss(collection, settings, judgments, "nDCG@10", cache=chosen.cache).steps:
            print(f"{name}, nDCG@10, {step.name}: {step.measures['nDCG@10'].value:.4f}")
        for measure in MEASURES:
            found = route_pipeline(
                collection,
                settings,
                judgments,
                measure,
                rng=np.random.default_rng(0),
                noise=None if chosen.drop is None else QueryNoise(chosen.drop),
                cache=chosen.cache,
            )
            print(f"{name}, {measure}, {found.queries} queries", flush=True)
            for router in (*found.constants, *found.rules, *found.oracles):
                print(told(router))


if __name__ == "__main__":
    main()
