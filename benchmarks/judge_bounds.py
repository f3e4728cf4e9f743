"""Verdicts for every judge inside the bounds of an audit: seconds for many runs, by sums and by quotients.

    python benchmarks/judge_bounds.py [--runs 40] [--queries 200] [--documents 100] [--errors 0.15]

A judge errs on so many of the passages, more on some queries than on others; people label 1,500 passages in each of two
strata. Sums (DCG, P) are compared for all pairs, quotients (nDCG, R) with the first run.
"""

import argparse
import time

import numpy as np
import polars as pl

from trueval import Judgments, Policy, Run
from trueval.comparison.judges.judge_verdicts import bounded_verdicts
from trueval.comparison.labels.audit_sample import AuditSample
from trueval.measures import parse


def audit(judge: np.ndarray, people: np.ndarray, size: int, rng: np.random.Generator) -> AuditSample:
    """People's labels of passages drawn in two strata, of low and of high grades by the judge."""
    chosen, strata, population = [], [], {}
    for name, inside in (("low", judge < 2), ("high", judge >= 2)):
        places = np.argwhere(inside)
        drawn = places[rng.permutation(len(places))[:size]]
        population[name] = len(places)
        chosen += drawn.tolist()
        strata += [name] * len(drawn)
    ids = {"query_id": [f"q{query}" for query, _ in chosen], "doc_id": [f"d{document}" for _, document in chosen]}
    grades = pl.DataFrame({**ids, "grade": [float(people[query, document]) for query, document in chosen]})
    return AuditSample("documents", pl.DataFrame({**ids, "stratum": strata}), grades, population, (0.0, 3.0))


def main() -> None:
    """Print the seconds of each measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("runs", 40), ("queries", 200), ("documents", 100)):
        parser.add_argument(f"--{name}", type=int, default=value, help=f"number of {name} (default {value})")
    parser.add_argument("--errors", type=float, default=0.15, help="share of passages that the judge mislabels")
    chosen = parser.parse_args()
    rng = np.random.default_rng(0)
    people = rng.choice(4, p=[0.75, 0.12, 0.08, 0.05], size=(chosen.queries, chosen.documents))
    wrong = rng.random(people.shape) < rng.beta(1, 1 / chosen.errors - 1, size=(chosen.queries, 1))
    judge = np.clip(np.where(wrong, people + rng.choice([-1, 1, 2], size=people.shape), people), 0, 3)
    runs = []
    for quality in np.linspace(0.2, 1.5, chosen.runs).tolist():
        scores = (people * quality + rng.normal(size=people.shape)).round(2)
        lists = {
            f"q{at}": {f"d{place}": float(score) for place, score in enumerate(row)} for at, row in enumerate(scores)
        }
        runs.append(Run.from_dict(lists, name=f"run {len(runs)}"))
    labels = Judgments.from_dict(
        {f"q{at}": {f"d{place}": int(grade) for place, grade in enumerate(row)} for at, row in enumerate(judge)}
    )
    sample = audit(judge, people, 1500, rng)
    for name, baseline in (("DCG@10", None), ("P@10", None), ("nDCG@10", "run 0"), ("R@10", "run 0")):
        began = time.perf_counter()
        found, _ = bounded_verdicts(runs, labels, sample, [parse(name)], Policy(), baseline=baseline)
        seconds = time.perf_counter() - began
        verdicts = ", ".join(
            f"{sum(each.verdict == kind for each in found)} {kind}" for kind in sorted({v.verdict for v in found})
        )
        print(f"{name}: {len(found)} pairs in {seconds:.1f} s ({verdicts})", flush=True)


if __name__ == "__main__":
    main()
