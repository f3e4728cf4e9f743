"""Sources of a pool: the passages found by each search, those found by no other, and the ceiling of its pool (PROC).

Two searches also say what differences the judged queries separate: those of other runs vary from query to query much as
theirs do.
"""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from trueval.comparison.labels.correct import FEW_LABELS, correct
from trueval.comparison.labels.label_source import audit_beside, join
from trueval.comparison.power.sample_size import least_difference
from trueval.errors import TruevalWarning
from trueval.evaluation.evaluate import evaluate
from trueval.golden.build.golden_result import AuditedDifference, DecidableDifference, PoolSource, SourceCeiling
from trueval.golden.build.pooling import FUSED, searches_of, sources_of
from trueval.golden.refine.heterogeneity import USEFUL
from trueval.judgments import Judgments
from trueval.report.number_texts import count_phrase
from trueval.run import Run

K: Final = 10
MEASURE: Final = "RA-nWG"
# What runs are compared by: a set of ten passages is often the same set, its order is not.
ORDERED: Final = f"nDCG(gain='rubric')@{K}"
# Where people graded single passages, no measure with an ideal list can be corrected.
WITHOUT_IDEAL: Final = f"DCG(gain='rubric')@{K}"
LEVEL, POWER = 0.95, 0.8


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
    present = searches_of(pool)
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


def audited_difference(pool: pl.DataFrame, qrels: Path) -> AuditedDifference | None:
    """The least difference that values corrected by people's labels separate, of runs like the first two searches.

        (t_{df}((1 + level) / 2) + t_{df}(power)) se

    of the corrected difference of the two searches, which has the errors of the judge's labels in its standard error:
    docs/formulas.md §7.

    Args:
        pool: frame of the pools, as `QueryPools.frame`.
        qrels: judgments of a golden set; its folder may have an audit.

    Returns:
        None without an audit of these judgments that people answered, or with fewer than two searches.
    """
    folder, runs = audit_beside(str(qrels)), _searches(pool)
    if folder is None or len(runs) < 2:
        return None
    audited = join(Judgments.read(qrels), folder, found=True).audited
    if audited is None:
        return None
    measure = ORDERED if audited.design == "queries" else WITHOUT_IDEAL
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruevalWarning)
        found = correct(runs[:2], Judgments.read(qrels), audited, [measure], level=LEVEL).differences[0]
    value = found.corrected
    if not value.se > 0 or found.labels < FEW_LABELS:
        few = f"{count_phrase(len(audited.labels), 'label', 'labels')} of people are too few"
        equal = f"the two searches do not differ in {measure}"
        unusable = (found.refused or (equal if value.se == 0 else few)).rstrip(".")
        return AuditedDifference(measure, len(audited.labels), None, None, unusable)
    number = value.degrees + 1  # of independent values with the standard error of the corrected difference
    least = least_difference(value.se * math.sqrt(number), number, level=LEVEL, power=POWER)
    return AuditedDifference(measure, found.labels, value.estimate, least)


def _searches(pool: pl.DataFrame) -> list[Run]:
    """The runs of the searches, without that of their fusion."""
    return [run for name, run in sources_of(pool).items() if name != FUSED] if pool.height else []


def decidable_difference(pool: pl.DataFrame, judged: pl.DataFrame) -> DecidableDifference | None:
    """The least difference that a paired t test of these queries finds, of runs like the first two searches.

    Args:
        pool: frame of the pools, as `QueryPools.frame`.
        judged: columns query_id, doc_id and grade of the judged passages.

    Returns:
        None with fewer than two searches, or fewer than two queries with a value.
    """
    runs = _searches(pool)
    if len(runs) < 2 or not judged.height:
        return None
    judgments = Judgments.from_frame(judged.select("query_id", "doc_id", "grade"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruevalWarning)
        values = [evaluate(run, judgments, [ORDERED]).expected[:, 0] for run in runs[:2]]
    differences = values[0] - values[1]
    differences = differences[~np.isnan(differences)]
    count = len(differences)
    if count < 2:
        return None
    sd = float(differences.std(ddof=1))
    least = least_difference(sd, count, level=LEVEL, power=POWER) if sd > 0 else None
    mean = float(differences.mean())
    return DecidableDifference(ORDERED, runs[0].name, runs[1].name, count, mean, sd, least, LEVEL, POWER)
