"""Heterogeneity: how much the number of relevant documents varies over the queries of a golden set.

P-B §3.5 gives medians and means of the number of passages of a grade for each query, and the median share of the pool.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import polars as pl

from trueval.golden.refine.aggregate import GRADES

USEFUL: Final = 4  # the grade from which a passage is useful (P-B §2.4)


def heterogeneity(grades: pl.DataFrame) -> dict[str, Any]:
    """Counts and shares of each grade, over queries.

    Args:
        grades: columns query_id, doc_id, grade, as in `GradedPools.grades`; null means unjudged.

    Returns:
        "queries"; "grades", by grade, and "useful", grade 4 and above: median and mean number of passages per query,
        median share of the judged pool, and the number of queries without any, over queries with a judged passage;
        "by_query": judged, unjudged and counts of every query.

    >>> frame = pl.DataFrame({"query_id": ["a", "a", "b"], "doc_id": ["1", "2", "1"], "grade": [5, 1, 1]})
    >>> found = heterogeneity(frame)
    >>> found["useful"]
    {'median': 0.5, 'mean': 0.5, 'share': 0.25, 'without': 1}
    """
    by_query = [
        _counts(str(query), each["grade"])
        for (query,), each in grades.group_by("query_id", maintain_order=True)
    ]  # fmt: skip
    known = [each for each in by_query if each["judged"]]  # without a judged passage the counts are unknown
    counts = {grade: [each["grades"][str(grade)] for each in known] for grade in GRADES}
    useful = [sum(each["grades"][str(grade)] for grade in GRADES if grade >= USEFUL) for each in known]
    judged = [each["judged"] for each in known]
    return {
        "queries": len(by_query),
        "grades": {str(grade): _about(counts[grade], judged) for grade in GRADES},
        "useful": _about(useful, judged),
        "by_query": by_query,
    }


def _counts(query: str, grades: pl.Series) -> dict[str, Any]:
    known = grades.drop_nulls()
    return {
        "query": query,
        "judged": len(known),
        "unjudged": len(grades) - len(known),
        "grades": {str(grade): int((known == grade).sum()) for grade in GRADES},
    }


def _about(counts: list[int], judged: list[int]) -> Mapping[str, Any]:
    shares = [count / of for count, of in zip(counts, judged, strict=True)]
    return {
        "median": float(np.median(counts)) if counts else None,
        "mean": float(np.mean(counts)) if counts else None,
        "share": float(np.median(shares)) if shares else None,
        "without": sum(count == 0 for count in counts),
    }
