"""Heterogeneity: how much the number of relevant documents varies over the queries of a golden set.

P-B §3.5 gives medians and means of the number of passages of a grade for each query, and the median share of the pool.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from trueval.golden.refine.aggregate import GRADES

USEFUL: Final = 4  # the grade from which a passage is useful (P-B §2.4)


@dataclass(frozen=True)
class GradeSpread:
    """The number of passages of a grade, over queries with a judged passage.

    Attributes:
        median: passages per query; None where nothing is judged.
        mean: passages per query.
        share: median share of a query's judged passages.
        without: queries without such a passage.
    """

    median: float | None
    mean: float | None
    share: float | None
    without: int


@dataclass(frozen=True)
class QueryGrades:
    """The passages of a query by grade."""

    query: str
    judged: int
    unjudged: int
    grades: Mapping[str, int]


@dataclass(frozen=True)
class Heterogeneity:
    """How much the numbers of each grade vary over queries ; useful passages have grade 4 or 5."""

    queries: int
    grades: Mapping[str, GradeSpread]
    useful: GradeSpread
    by_query: tuple[QueryGrades, ...]


def heterogeneity(grades: pl.DataFrame) -> Heterogeneity:
    """Counts and shares of each grade, over queries.

    Args:
        grades: columns query_id, doc_id, grade, as in `GradedPools.grades`; null means unjudged.

    >>> frame = pl.DataFrame({"query_id": ["a", "a", "b"], "doc_id": ["1", "2", "1"], "grade": [5, 1, 1]})
    >>> heterogeneity(frame).useful
    GradeSpread(median=0.5, mean=0.5, share=0.25, without=1)
    """
    by_query = [
        _counts(str(query), each["grade"])
        for (query,), each in grades.group_by("query_id", maintain_order=True)
    ]  # fmt: skip
    known = [each for each in by_query if each.judged]  # without a judged passage the counts are unknown
    counts = {grade: [each.grades[str(grade)] for each in known] for grade in GRADES}
    useful = [sum(each.grades[str(grade)] for grade in GRADES if grade >= USEFUL) for each in known]
    judged = [each.judged for each in known]
    return Heterogeneity(
        len(by_query),
        {str(grade): _spread(counts[grade], judged) for grade in GRADES},
        _spread(useful, judged),
        tuple(by_query),
    )


def _counts(query: str, grades: pl.Series) -> QueryGrades:
    known = grades.drop_nulls()
    by_grade = {str(grade): int((known == grade).sum()) for grade in GRADES}
    return QueryGrades(query, len(known), len(grades) - len(known), by_grade)


def _spread(counts: list[int], judged: list[int]) -> GradeSpread:
    without = sum(count == 0 for count in counts)
    if not counts:
        return GradeSpread(None, None, None, without)
    shares = [count / of for count, of in zip(counts, judged, strict=True)]
    return GradeSpread(float(np.median(counts)), float(np.mean(counts)), float(np.median(shares)), without)
