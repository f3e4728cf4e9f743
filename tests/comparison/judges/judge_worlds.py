"""Worlds with a judge, people, and an audit of some labels."""

from typing import NamedTuple

import numpy as np
import polars as pl

import trueval as tv
from trueval.comparison.labels.audit_sample import AuditSample

HIGHEST = 3


class World(NamedTuple):
    """Labels of all passages by judge and people, an audit of some, and runs."""

    judge: tv.Judgments
    people: tv.Judgments
    audit: AuditSample
    runs: list[tv.Run]


def judgments(grades: np.ndarray) -> tv.Judgments:
    found = {
        f"q{query}": {f"d{document}": int(grade) for document, grade in enumerate(row)}
        for query, row in enumerate(grades)
    }
    return tv.Judgments.from_dict(found)


def audit_of(judge: np.ndarray, people: np.ndarray, design: str, size: int, rng: np.random.Generator) -> AuditSample:
    """An audit of whole queries, or of passages in strata of one grade or two."""
    queries, documents = judge.shape
    if design == "queries":
        chosen = [(query, document) for query in rng.permutation(queries)[:size] for document in range(documents)]
        strata, population = ["queries"] * len(chosen), {"queries": queries}
    else:
        low = judge < 2
        chosen, strata, population = [], [], {}
        for name, inside in (("low", low), ("high", ~low)):
            places = np.argwhere(inside)
            drawn = places[rng.permutation(len(places))[: min(size, len(places))]]
            population[name] = len(places)
            chosen += [tuple(each) for each in drawn.tolist()]
            strata += [name] * len(drawn)
    items = pl.DataFrame(
        {"query_id": [f"q{q}" for q, _ in chosen], "doc_id": [f"d{d}" for _, d in chosen], "stratum": strata}
    )
    said = items.select("query_id", "doc_id").with_columns(grade=pl.Series([float(people[place]) for place in chosen]))
    return AuditSample(design, items, said, population, (0.0, float(HIGHEST)))


def world(
    rng: np.random.Generator,
    design: str = "queries",
    *,
    queries: int = 40,
    documents: int = 15,
    size: int = 20,
    errors: float = 0.15,
    favor: float = 0.0,
    runs: int = 2,
) -> World:
    """A world.

    Args:
        errors: mean share of labels in which judge and people differ; queries have more and fewer of them.
        favor: chance that the judge gives a passage at the top of the first run one grade more.
    """
    people = rng.choice(HIGHEST + 1, p=[0.55, 0.2, 0.15, 0.1], size=(queries, documents))
    rate = rng.beta(1, 1 / errors - 1, size=(queries, 1))
    wrong = rng.random(people.shape) < rate
    judge = np.clip(np.where(wrong, people + rng.choice([-1, 1, 2], size=people.shape), people), 0, HIGHEST)
    found = []
    for at in range(runs):
        scores = (people * (0.2, 0.25, 1.5)[min(at, 2)] + rng.normal(size=people.shape)).round(1)
        if at == 0:
            top = np.argsort(-scores, axis=1)[:, :5]
            lifted = rng.random(top.shape) < favor
            np.put_along_axis(judge, top, np.minimum(np.take_along_axis(judge, top, axis=1) + lifted, HIGHEST), axis=1)
        ranked = {
            f"q{query}": {f"d{document}": float(score) for document, score in enumerate(row)}
            for query, row in enumerate(scores)
        }
        found.append(tv.Run.of(ranked, name=f"run{at}"))
    return World(judgments(judge), judgments(people), audit_of(judge, people, design, size, rng), found)
