"""The value of a grade of the rubric 1..5 for a prompt: fixed, or scaled by the rarity of the grade in the query.

    n_g = graded documents of grade g in the judgments of the query; b5 = 1, b4 = .5, b3 = .1, b2 = b1 = 0
    n5 > 0:  w5 = 1, w4 = min(b4 (n5/n4)^alpha, cap4), w3 = min(b3 (n5/n3)^alpha, cap3)
    n5 = 0:  w5 = 1, w4 = 1, w3 = .2
    w2 = w1 = 0

The number of graded documents cancels. Source: P-B (Dallaire 2025, arXiv 2511.09545) §2.4.
"""

from __future__ import annotations

import numpy as np

from trueval.errors import InputError
from trueval.measures.measure import Measure
from trueval.standings.standings import Floats, Standings

# Columns of tables by grade: 0 (never used, so that a grade is its own column), 1, 2, 3, 4, 5.
COLUMNS = 6
BASE_GAINS = np.array([0.0, 0.0, 0.0, 0.1, 0.5, 1.0])
FALLBACK = np.array([0.0, 0.0, 0.0, 0.2, 1.0, 1.0])


def check_rubric(standings: Standings, measure: Measure) -> None:
    """Refuse judgments with grades other than 1 to 5: a 0..3 scale would silently get the fallback weights.

    Raises:
        InputError: names the grade and the cure.
    """
    check_grades(standings.pool_grade, measure)


def check_grades(grades: Floats, measure: Measure) -> None:
    """Refuse grades other than 1, 2, 3, 4 and 5, as `check_rubric` does.

    Raises:
        InputError: names the grade and the cure.
    """
    outside = ~np.isin(grades, np.arange(1.0, 6.0))
    if outside.any():
        raise InputError(
            f"{measure.name} reads grades on the rubric 1 to 5. Got grade {grades[outside][0]:g}; {int(outside.sum())}"
            " judgments are not on it. Map the grades, for example --grades 0:1,1:3,2:4,3:5"
            " (in Python judgments.map_grades({0: 1, 1: 3, 2: 4, 3: 5}))."
        )


def grade_counts(standings: Standings) -> Floats:
    """[query, grade] n_g, number of judged documents of each grade of the rubric."""
    place = standings.pool_query * COLUMNS + standings.pool_grade.astype(np.int64)
    counts = np.bincount(place, minlength=standings.queries * COLUMNS)
    return counts.reshape(standings.queries, COLUMNS).astype(float)


def rarity_weights(counts: Floats, alpha: float = 1.0, cap4: float = 1.0, cap3: float = 0.25) -> Floats:
    """[query, grade] w_g of RA-nWG.

    Args:
        counts: [query, grade] n_g.
        alpha: exponent of rarity scaling; 0 for no scaling.
        cap4: maximum of w4.
        cap3: maximum of w3.

    >>> rarity_weights(np.array([[0, 0, 0, 2, 4, 1]]))[0].tolist()  # .1 * 1/2 and .5 * 1/4
    [0.0, 0.0, 0.0, 0.05, 0.125, 1.0]
    """
    rarity = (counts[:, 5:] / np.maximum(counts, 1)) ** alpha
    scaled = np.minimum(BASE_GAINS * rarity, [0, 0, 0, cap3, cap4, 1])
    scaled[counts == 0] = 0
    return np.where(counts[:, 5:] > 0, scaled, FALLBACK)


def best_gain(counts: Floats, weights: Floats, size: int) -> Floats:
    """[query] sum of the `size` largest weights among documents counted by grade.

    A grade 3 can weigh more than a grade 4 (many 4s, few 3s), so the grades are ordered by their weight.

    Args:
        counts: [query, grade] number of documents.
        weights: [query, grade] value of each, 0 or more.
        size: maximum number of documents chosen.

    >>> best_gain(np.array([[0, 0, 0, 0, 3.0, 1]]), np.array([[0, 0, 0, 0, 0.5, 1]]), 3).tolist()
    [2.0]
    """
    order = np.argsort(-weights, axis=1, kind="stable")
    counts, weights = np.take_along_axis(counts, order, 1), np.take_along_axis(weights, order, 1)
    total: Floats = (_first(counts, size) * weights).sum(axis=1)
    return total


def best_counts(counts: Floats, values: Floats, size: int) -> Floats:
    """[grade] number of documents of each grade among the `size` most valuable.

    Args:
        counts: [grade] number of documents.
        values: [grade] value of each, of any sign.
        size: number chosen; all, where there are no more.

    >>> best_counts(np.array([0, 0, 0, 2.0, 3, 1]), np.array([0, 0, 0, 0.1, 0.5, 1]), 3).tolist()
    [0.0, 0.0, 0.0, 0.0, 2.0, 1.0]
    """
    order = np.argsort(-values, kind="stable")
    chosen = np.empty_like(counts)
    chosen[order] = _first(counts[order], size)
    return chosen


def _first(counts: Floats, size: int) -> Floats:
    """[.., kind] number of documents of each kind among the first `size`, kind by kind."""
    before = np.cumsum(counts, axis=-1) - counts
    return np.asarray(np.clip(size - before, 0, counts))
