"""Bounds on a judge's errors from an audit: how many of its passages have each grade by people's labels.

Passages are in classes: those of one grade by the judge, or of one grade that favor one of two systems. For a class of
N_c passages and a grade h the audit bounds the number of passages with grade h, at a level for all of them together
(Bonferroni):

    documents   per stratum s of N_s passages, n_s drawn at random: Clopper-Pearson of the k of n_s that are in the
                class and have the grade, times N_s; summed over strata. Of draws without replacement it is conservative
    queries     N_c times the ratio of totals over audited queries, with Student's t (Cochran 1977 §6), and no nearer
                to 0 or 1 than Clopper-Pearson allows when each query counts as one observation

No bound is inside of what the audit has seen: at least the passages with the grade, at most those and all unaudited.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trueval.comparison.judges.worst_labels import ErrorBounds
from trueval.standings.standings import Floats, Ints, sum_by


class AuditCounts(NamedTuple):
    """Labels of an audit by row of the judgments.

    Attributes:
        rows: [audited] row of the judgments.
        grade: [audited] index of people's grade.
        query: [audited] index of its query.
        stratum: [audited] index of its stratum; None where whole queries were drawn.
        population: [stratum] number of its passages; for whole queries [1] the number of queries.
        grades: [grade] the scale, ascending.
    """

    rows: Ints
    grade: Ints
    query: Ints
    stratum: Ints | None
    population: Floats
    grades: Floats

    def open_bounds(self, bounds: ErrorBounds, classes: Ints) -> ErrorBounds:
        """Bounds on the passages without people's labels.

        Args:
            bounds: bounds on all passages.
            classes: [row of the judgments] index of its class; below 0 for rows of no class.
        """
        seen = np.zeros(bounds.least.shape, dtype=np.int64)
        np.add.at(seen, (classes[self.rows], self.grade), 1)
        return bounds._replace(least=bounds.least - seen, most=bounds.most - seen)


def classes_by_system(apart: Floats, grade: Ints) -> Ints:
    """[row] classes by grade and by the run that a passage favors, or none.

    Args:
        apart: [row] weight of the passage in one run less that in the other.
        grade: [row] index of the judge's grade; below 0 where it gave none, which have no class.
    """
    side = np.where(apart > 0, 0, np.where(apart < 0, 1, 2))
    return np.where(grade >= 0, 3 * grade + side, -1).astype(np.int64)


def bound_errors(audit: AuditCounts, classes: Ints, level: float) -> ErrorBounds:
    """Bounds on the number of passages of each class and grade.

    Args:
        audit: people's labels.
        classes: [row of the judgments] index of its class; below 0 for rows of no class.
        level: chance that all bounds hold together.
    """
    number = int(classes.max(initial=-1)) + 1
    sizes = np.bincount(classes[classes >= 0], minlength=number).astype(np.float64)
    kept = classes[audit.rows] >= 0
    own, grade = classes[audit.rows[kept]], audit.grade[kept]
    shape = (number, len(audit.grades))
    seen = np.zeros(shape)
    np.add.at(seen, (own, grade), 1.0)
    left = sizes - seen.sum(axis=1)
    if audit.stratum is None:
        low, high = _of_queries(audit.query[kept], own, grade, sizes, shape, float(audit.population[0]), level)
    else:
        low, high = _of_strata(audit, kept, own, grade, shape, level)
    least = np.maximum(np.ceil(low - 1e-9), seen)
    most = np.minimum(np.floor(high + 1e-9), seen + left[:, None])
    return ErrorBounds(audit.grades, least.astype(np.int64), np.maximum(most, least).astype(np.int64))


def _of_strata(
    audit: AuditCounts, kept: np.ndarray, own: Ints, grade: Ints, shape: tuple[int, int], level: float
) -> tuple[Floats, Floats]:
    """[class, grade] bounds from passages drawn inside strata."""
    strata = len(audit.population)
    every = np.asarray(audit.stratum)
    drawn = np.bincount(every, minlength=strata).astype(np.float64)
    counts = np.zeros((strata, *shape))
    np.add.at(counts, (every[kept], own, grade), 1.0)
    low, high = clopper_pearson(counts, drawn[:, None, None], (1 - level) / counts.size)
    population = audit.population[:, None, None]
    return (low * population).sum(axis=0), (high * population).sum(axis=0)


def _of_queries(
    query: Ints, own: Ints, grade: Ints, sizes: Floats, shape: tuple[int, int], queries: float, level: float
) -> tuple[Floats, Floats]:
    """[class, grade] bounds from queries drawn at random, all passages of which were graded."""
    from scipy.special import stdtrit

    ids, at = np.unique(query, return_inverse=True)
    drawn, alpha = len(ids), (1 - level) / (shape[0] * shape[1])
    counts = np.zeros((drawn, *shape))
    np.add.at(counts, (at, own, grade), 1.0)
    of_class = counts.sum(axis=2)  # [query, class]
    totals = of_class.sum(axis=0)
    ratio = counts.sum(axis=0) / np.maximum(totals, 1.0)[:, None]
    apart = counts - ratio[None] * of_class[:, :, None]
    spread = (apart**2).sum(axis=0) / max(drawn - 1, 1)
    left = max(1 - drawn / queries, 0.0)
    half = stdtrit(max(drawn - 1, 1), 1 - alpha / 2) * queries * np.sqrt(left * spread / drawn)
    whole = sizes[:, None]
    # A query is one observation: that has a passage of the grade, or nothing else.
    there = (of_class > 0).sum(axis=0)[:, None].astype(np.float64)
    some = (counts > 0).sum(axis=0).astype(np.float64)
    alone = ((counts > 0) & (counts == of_class[:, :, None])).sum(axis=0).astype(np.float64)
    most = clopper_pearson(some, there, alpha)[1] * whole
    least = clopper_pearson(alone, there, alpha)[0] * whole
    seen = totals[:, None] > 0
    low = np.where(seen, np.minimum(whole * ratio - half, least), 0.0)
    high = np.where(seen, np.maximum(whole * ratio + half, most), whole)
    if left == 0:
        low = high = sum_by(own * shape[1] + grade, np.ones(len(own)), shape[0] * shape[1]).reshape(shape)
    return low, high


def clopper_pearson(counts: Floats, drawn: Floats, alpha: float) -> tuple[Floats, Floats]:
    """Two-sided bounds of a share, each end with half of alpha; 0 and 1 where nothing was drawn.

    >>> [float(round(end[0], 4)) for end in clopper_pearson(np.array([0.0]), np.array([20.0]), 0.05)]
    [0.0, 0.1684]
    """
    from scipy.special import betaincinv

    counts, drawn = np.broadcast_arrays(counts, drawn)
    low, high = np.zeros(counts.shape), np.ones(counts.shape)
    some, other = counts > 0, counts < drawn
    low[some] = betaincinv(counts[some], drawn[some] - counts[some] + 1, alpha / 2)
    high[other] = betaincinv(counts[other] + 1, drawn[other] - counts[other], 1 - alpha / 2)
    return low, high
