"""Label choice: the chances with which passages are drawn for the next labels, by what their grades would change.

    size(d)    (1 - f) D(d) / sum of D + f E(d) / sum of E,   f = FLOOR
    D(d)       s(d) sqrt(sum over open pairs of (a_first(d) - a_second(d))^2)
    E(d)       sqrt(sum over runs of a(d)^2)
    chance(d)  min(1, c size(d)), with c such that the chances sum to the size of the batch

a(d) is what the passage is worth to a run (passage_worth.py), with ties and whether or not the judge graded it; s(d)
the standard deviation of the gain of people's grade, given the judge's, by a Dirichlet posterior whose prior falls by
DECAY for each grade of distance from the judge's. The variance of a difference is the sum of (1 - chance) / chance
(a s)^2 over passages, which these chances make least for their number (Hansen & Hurwitz 1943; Cochran 1977 §9A). The
floor gives every passage that weighs in any run a chance: where the posterior is wrong, estimates stay unbiased, and
other pairs and runs can be corrected too.

The shares of batches in an estimate must not follow from labels (poisson_design.py). They are proportional to 1 / V_t
with the variances V_t that are expected before the first label, when the chance that a passage is left after batch t
is the product of 1 - chance over these batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from trueval.standings.standings import Floats, Ints

# Share of the sample that goes to passages by what they are worth to runs, whatever the judge graded and is decided.
FLOOR: Final = 0.1

# Ratio of the prior probabilities of two grades, one farther from the judge's by 1. With it people's grades spread by
# .82 grades; those of LLMJudge, given the grades of 17 judges, spread by .75, .96, 1.05 and 1.18 on average.
DECAY: Final = 0.4

# Number of labels that the prior counts for.
PRIOR: Final = 4.0

# Least expected variance of a batch, as a share of that of the first.
LEAST: Final = 1e-9


def grade_posterior(classes: Ints, grades: Ints, known: Sequence[int], number: int) -> Floats:
    """[class, grade] probabilities of people's grades.

    Args:
        classes: [label] index of the judge's grade.
        grades: [label] index of people's grade.
        known: [class] index of the judge's grade on the scale; of passages without one, of the lowest.
        number: number of grades of the scale.

    >>> grade_posterior(np.array([0] * 6), np.array([1] * 6), [0, 1], 2).round(3).tolist()
    [[0.286, 0.714], [0.286, 0.714]]
    """
    apart = np.abs(np.asarray(known)[:, None] - np.arange(number))
    prior = DECAY**apart
    counts = np.zeros(apart.shape)
    np.add.at(counts, (classes, grades), 1.0)
    found = PRIOR * prior / prior.sum(axis=1, keepdims=True) + counts
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def spread_of_gains(posterior: Floats, gains: Floats) -> Floats:
    """[class] standard deviation of the gain of people's grade.

    Args:
        posterior: [class, grade] probabilities.
        gains: [grade] gains.

    >>> spread_of_gains(np.array([[0.5, 0.5], [0.2, 0.8]]), np.array([0.0, 1.0])).round(3).tolist()
    [0.5, 0.4]
    """
    apart = gains - (posterior @ (gains - gains[0]) + gains[0])[:, None]  # exactly 0 where all gains are equal
    return np.asarray(np.sqrt((posterior * apart**2).sum(axis=1)))


def passage_sizes(worth: Floats, pairs: Sequence[tuple[int, int]], spread: Floats) -> Floats:
    """[row] sizes to which chances are proportional; 0 where no run has the passage where it counts.

    Args:
        worth: [run, row] what passages are worth.
        pairs: pairs of runs whose difference is open.
        spread: [row] standard deviation of the gain of people's grade.
    """
    squares = sum(((worth[first] - worth[second]) ** 2 for first, second in pairs), np.zeros(worth.shape[1]))
    deciding, every = spread * np.sqrt(squares), np.sqrt((worth**2).sum(axis=0))
    found = every * (FLOOR / every.sum()) if every.any() else every
    return np.asarray(found + deciding * ((1 - FLOOR) / deciding.sum())) if deciding.any() else found


def batch_chances(sizes: Floats, expected: float) -> Floats:
    """[row] chances proportional to sizes, at most 1, that sum to the expected number.

    Args:
        sizes: [row] sizes, at least 0.
        expected: expected number of passages; all of them where fewer have a size.

    >>> batch_chances(np.array([1.0, 1.0, 6.0, 0.0]), 2.0).tolist()
    [0.5, 0.5, 1.0, 0.0]
    """
    return _chances_of(sizes, np.ones(len(sizes)), expected)


def batch_precision(sizes: Floats, spread: Floats, batches: Sequence[float]) -> Floats:
    """[batch] 1 / V_t, as expected before the first label, relative to the first.

    Args:
        sizes: [row] sizes of all batches.
        spread: [row] what the error of a prediction is worth.
        batches: [batch] expected numbers of passages.

    >>> batch_precision(np.ones(4), np.ones(4), [2.0, 1.0]).round(12).tolist()
    [1.0, 2.0]
    """
    left, found = np.ones(len(sizes)), np.zeros(len(batches))
    for at, expected in enumerate(batches):
        # As many copies of each passage as are expected to be left: a chance of 1 is reached by all or none.
        chance = _chances_of(sizes, left, expected)
        open_ones = chance > 0
        terms = left[open_ones] * (1 - chance[open_ones]) / chance[open_ones] * spread[open_ones] ** 2
        found[at] = terms.sum()
        left = left * (1 - chance)
    if not found[0]:
        return np.ones(len(batches))
    return np.asarray(found[0] / np.maximum(found, LEAST * found[0]))


def _chances_of(sizes: Floats, left: Floats, expected: float) -> Floats:
    """[row] chances of passages that are left with some probability, so that left times chance sums to a number."""
    order = np.argsort(-sizes, kind="stable")
    order = order[sizes[order] > 0]
    chances = (sizes > 0).astype(np.float64)
    held, weight = left[order], (sizes * left)[order]
    if held.sum() <= expected:
        return chances
    # With the k largest at 1, the others need the factor (expected - k of them) / sum of the others.
    rest = np.cumsum(weight[::-1])[::-1]
    factors = (expected - np.concatenate(([0.0], np.cumsum(held)[:-1]))) / rest
    return np.asarray(np.minimum(chances, sizes * factors[int(np.argmax(factors * sizes[order] <= 1))]))
