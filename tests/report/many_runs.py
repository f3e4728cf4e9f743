"""A directory of results of many runs, made from random scores with ties: what a page must stay light with."""

from pathlib import Path

import numpy as np

import trueval as tv
from trueval.comparison.compare import compare
from trueval.comparison.views.kind import COMPARE
from trueval.evaluation.scores import results
from trueval.evaluation.views.details import DETAILS, run_evidence, to_details
from trueval.evaluation.views.kind import EVALUATE

MEASURES = ["nDCG@10", "AP", "RR@10", "P@10", "R@100"]


def made_results(folder: Path, *, runs: int, queries: int, documents: int = 120) -> None:
    """Writes results.json, details.json and comparison.json.

    Args:
        folder: exists.
        runs: how many; each is a little better than the next one.
        queries: how many.
        documents: of each query, a tenth of them relevant.
    """
    rng = np.random.default_rng(7)
    names = [f"d{place:03}" for place in range(documents)]
    grades = {
        f"q{query:02}": {name: int(rng.random() < 0.1) for name in names} | {"d000": 1} for query in range(queries)
    }
    judgments = tv.Judgments.from_dict(grades)
    made = []
    for place in range(runs):
        noise, digits = 0.4 + place / 20, 1 if place % 3 == 2 else 6
        scores = {
            query: {name: round(grade + rng.normal(0, noise), digits) for name, grade in graded.items()}
            for query, graded in grades.items()
        }
        made.append(tv.Run.from_dict(scores, name=f"reranker-{place:02}-of-{runs}"))
    found = [tv.evaluate(run, judgments, MEASURES) for run in made]
    details = to_details(
        [run_evidence(run, judgments, scores) for run, scores in zip(made, found, strict=True)],
        found,
        [],
    )
    for kind, result, name in (
        (EVALUATE, results(found), "results.json"),
        (DETAILS, details, "details.json"),
        (COMPARE, compare(made, judgments, MEASURES, resamples=1000).to_dict(), "comparison.json"),
    ):
        (folder / name).write_text(kind.write(result, "json"), encoding="utf-8")
