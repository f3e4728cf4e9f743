"""Pools: the judged documents of all evaluated queries, listed by a run or not."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from trueval.numerics import distinct
from trueval.standings.standings import Facets, Floats, Ints

if TYPE_CHECKING:
    from trueval.judgments import Judgments


class JudgedPool(NamedTuple):
    """Judged documents, in any order.

    Attributes:
        query: [document] index of the evaluated query.
        grade: [document] grade, 0 or more.
        item: [document] index in the judgments, or in the flat grades.
        judged: [query] number of judged documents, including those left out of the pool.
        facets: facets of the documents; None where the judgments have none.
    """

    query: Ints
    grade: Floats
    item: Ints
    judged: Ints
    facets: Facets | None = None


def pool_of(judgments: Judgments) -> JudgedPool:
    """The pool of judged documents: those with a grade of at least 0."""
    grades = judgments.frame["grade"].to_numpy()
    owner = np.repeat(np.arange(len(judgments.query_ids)), np.diff(judgments.offsets))
    item, facets = np.flatnonzero(grades >= 0), None
    if "facet" in judgments.frame.columns:
        facets = _facets(judgments.frame, owner)
        grades = grades.copy()
        np.maximum.at(grades, facets.item, facets.grade)
        item = distinct(facets.item)
    return JudgedPool(
        owner[item], grades[item], item, np.bincount(owner[item], minlength=len(judgments.query_ids)), facets
    )


def _facets(frame: pl.DataFrame, owner: Ints) -> Facets:
    """The facets of every document judged for one; a document has the index of its first row.

    Args:
        frame: frame of the judgments.
        owner: [row] index of the query.
    """
    rows = frame.with_columns(query=owner).with_row_index("row")
    rows = rows.with_columns(
        item=pl.col("row").min().over("query", "doc_id").cast(pl.Int64),
        code=pl.col("facet").rank("dense").cast(pl.Int64) - 1,
        place=pl.col("doc_id").rank("dense", descending=True).cast(pl.Int64) - 1,
    )
    judged = rows.filter(pl.col("grade") >= 0).sort("item", "code")
    item, code, grade = (judged[name].to_numpy() for name in ("item", "code", "grade"))
    return Facets(item, code, grade, rows["place"].to_numpy())
