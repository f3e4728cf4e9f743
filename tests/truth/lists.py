"""Generated lists for the truth suites: small ones to enumerate, long ones to sample, all from named seeds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

# U+FB01 sorts before U+1D11E by bytes and after it by UTF-16 units; "d10" sorts before "d9" as text alone
IDS = ("d1", "d10", "d9", "Z", "é", "\ufb01", "\U0001d11e", "a", "_")
GRADES = (None, -1, 0, 0, 1, 1, 2, 3, 4, 0.5, 2.5)


@dataclass(frozen=True)
class Query:
    """One query: scores in input order, ranks that break ties at random, and grades of listed and other documents."""

    scores: Mapping[str, float]
    grades: Mapping[str, float]
    ranks: Mapping[str, int]


class Queries(dict[str, Query]):
    """Queries by name. The same object is read once, however many measures look at it: suites cache what they read."""

    __hash__ = object.__hash__  # type: ignore[assignment]


def query(scores: Mapping[str, float], grades: Mapping[str, float], rng: np.random.Generator) -> Query:
    drawn = sorted(rng.permutation(list(scores)).tolist(), key=lambda document: -scores[document])
    ranks = {document: rank for rank, document in enumerate(drawn, 1)}
    return Query(dict(scores), dict(grades), ranks)


def random_query(documents: int, distinct: int, rng: np.random.Generator) -> Query:
    """Draw a list with at most so many distinct scores, unjudged documents, and up to three judged ones not listed."""
    ids = rng.permutation(IDS)[:documents].tolist()
    scores = {d: float(rng.integers(distinct)) for d in ids}
    drawn = {d: GRADES[rng.integers(len(GRADES))] for d in ids}
    drawn |= {f"missed{i}": GRADES[rng.integers(len(GRADES))] for i in range(rng.integers(4))}
    grades = {d: grade for d, grade in drawn.items() if grade is not None} or {"missed": 0}
    return query(scores, grades, rng)


def small_queries(count: int = 60, seed: int = 5) -> Queries:
    """Return many lists of up to five documents; some are without relevant documents, some without ties."""
    rng = np.random.default_rng(seed)
    return Queries({f"q{i}": random_query(1 + i % 5, 1 + i % 4, rng) for i in range(count)})


def seven_document_queries() -> Queries:
    """Return lists of seven: one tied throughout, one in groups of two and five, one in groups of three and four."""
    rng = np.random.default_rng(7)
    ids = list("bdacgfe")
    shapes = {"all": [0] * 7, "two-five": [1, 1, 0, 0, 0, 0, 0], "three-four": [0, 1, 0, 1, 0, 0, 1]}
    grades = {"all": "110020-", "two-five": "0-30112", "three-four": "2041-10"}
    return Queries(
        (
            name,
            query(
                dict(zip(ids, map(float, shape), strict=True)),
                {d: float(g) for d, g in zip(ids, grades[name], strict=True) if g != "-"}
                | {"missed": 2.0, "other": 0.0},
                rng,
            ),
        )
        for name, shape in shapes.items()
    )


# Every grade above on the rubric 1 to 5 of the measures of evidence; unjudged stays unjudged.
RUBRIC = {0: 1.0, 0.5: 2.0, 1: 3.0, 2: 4.0, 2.5: 2.0, 3: 5.0, 4: 4.0, 5: 5.0}


def on_rubric(query: Query) -> Query:
    """Return the same lists with grades of 1 to 5."""
    return Query(query.scores, {d: g if g < 0 else RUBRIC[g] for d, g in query.grades.items()}, query.ranks)


def long_query(documents: int = 1000, seed: int = 11) -> Query:
    """Return a long list of coarse scores: groups of one to some hundred documents, every eighth document judged."""
    rng = np.random.default_rng(seed)
    scores = {f"d{i:04}": float(s) for i, s in enumerate(np.round(rng.normal(0.0, 4.0, documents)))}
    judged = rng.choice(documents, documents // 8, replace=False)
    grades = {f"d{i:04}": float(rng.choice([0, 0, 0, 1, 1, 2, 3])) for i in judged} | {"missed1": 1.0, "missed2": 3.0}
    return query(scores, grades, rng)
