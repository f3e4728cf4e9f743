"""Sources of a pool: the passages found by each search, those found by no other, and the ceiling of its pool (PROC)."""

from __future__ import annotations

import warnings
from typing import Final

import polars as pl

from trueval.errors import TruevalWarning
from trueval.evaluation.evaluate import evaluate
from trueval.golden.build.golden_result import PoolSource, SourceCeiling
from trueval.golden.build.pooling import SOURCES, sources_of
from trueval.golden.refine.heterogeneity import USEFUL
from trueval.judgments import Judgments
from trueval.run import Run

K: Final = 10
MEASURE: Final = "RA-nWG"


def summarize_sources(pool: pl.DataFrame, judged: pl.DataFrame) -> tuple[PoolSource, ...]:
    """The contribution of each search to the pools.

    The ceiling is PROC(RA-nWG)@10: the best ten documents of a search, over the best ten of all judged. Documents that
    no search found are unjudged, so a ceiling of 1 means that nothing better was found, not that nothing better exists.

    Args:
        pool: frame of the pools, as `QueryPools.frame`.
        judged: columns query_id, doc_id and grade of the judged passages.

    Returns:
        One for each search, and one for the pool.
    """
    graded = pool.join(judged.select("query_id", "doc_id", "grade"), on=("query_id", "doc_id"), how="left")
    present = [name for name in SOURCES if name in pool.columns]
    found = []
    runs = sources_of(pool) if pool.height else {}
    for name, run in runs.items():
        own = graded.filter(pl.col(name).is_not_null()) if name in present else graded
        others = [each for each in present if each != name]
        alone = (
            own.filter(pl.all_horizontal(pl.lit(True), *(pl.col(each).is_null() for each in others)))
            if name in present
            else own
        )
        found.append(
            PoolSource(
                name,
                own.height,
                alone.height,
                useful=own.filter(pl.col("grade") >= USEFUL).height,
                useful_alone=alone.filter(pl.col("grade") >= USEFUL).height,
                ceiling=_ceiling(run, judged),
            )
        )
    return tuple(found)


def _ceiling(run: Run, judged: pl.DataFrame) -> SourceCeiling | None:
    if not judged.height:
        return None
    measure = f"PROC({MEASURE})@{K}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruevalWarning)
        value = evaluate(run, Judgments.from_frame(judged.select("query_id", "doc_id", "grade")), [measure])[measure]
    return SourceCeiling(value.expected, value.lowest, value.highest) if value.queries else None
