"""Aggregates: the one grade of a passage that several labels make.

    median     the middle label; of an even number the lower one of the middle two
    majority   the most frequent label; of several the one nearest to the median, of these the lower one
    posterior  the most probable grade g under P(g) ∏ P(label | g): P(g) the share of grades in all pools, and
               P(label | g) a normal error of one standard deviation, cut into grades, both found by EM

The median forgets one wild label in three. The posterior pulls a lone 5 among many 1s towards them as far as the
judge's labels differ between rounds, and no farther: without repeated labels it is the label.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueval.errors import PolicyError, nearest

Floats = NDArray[np.float64]
GRADES: Final = (1, 2, 3, 4, 5)
STEPS: Final = 200  # of EM, which is done when the error moves by less than SMALL
SMALL: Final = 1e-5
# Of the error in grades: a smaller one cannot be told from none by whole grades, a larger one says nothing.
LEAST, MIDDLE, MOST = 0.05, 0.5, 5.0


def median(labels: Sequence[int]) -> int:
    """The middle label; of an even number the lower one of the middle two.

    >>> median([5, 1, 4]), median([2, 4])
    (4, 2)
    """
    return sorted(labels)[(len(labels) - 1) // 2]


def majority(labels: Sequence[int]) -> int:
    """The most frequent label; of several the one nearest to the median, of these the lower one.

    >>> majority([1, 5, 5, 1, 4]), majority([2, 3])
    (5, 2)
    """
    times, middle = Counter(labels), median(labels)
    most = max(times.values())
    return min((label for label in times if times[label] == most), key=lambda label: (abs(label - middle), label))


class Errors(NamedTuple):
    """What the labels of a judge say about its errors.

    Attributes:
        sd: of a label around the grade.
        shares: [grade] share of each grade.
        likelihood: [grade, label] chance of each label.
    """

    sd: float
    shares: Floats
    likelihood: Floats


def errors_of(labels: Sequence[Sequence[int]]) -> Errors:
    """The errors of a judge that graded some passages more than once, by EM.

    Args:
        labels: [passage] its labels, one at least.
    """
    from scipy.optimize import minimize_scalar  # late: it takes as long as the start of a command

    counts = _counts(labels)
    repeated = bool((counts.sum(axis=1) > 1).any())
    sd, shares = (MIDDLE if repeated else LEAST), counts.sum(axis=0) / counts.sum()
    for _ in range(STEPS if repeated else 0):
        weights = _posterior(counts, shares, _likelihood(sd))
        shares, pairs = weights.mean(axis=0), weights.T @ counts  # [grade, label] expected numbers

        def surprise(each: float, pairs: Floats = pairs) -> float:
            return -float((pairs * _logs(_likelihood(each))).sum())

        new = float(minimize_scalar(surprise, bounds=(LEAST, MOST), method="bounded").x)
        done, sd = abs(new - sd) < SMALL, new
        if done:
            break
    return Errors(sd, shares, _likelihood(sd))


def posterior(labels: Sequence[Sequence[int]]) -> list[int]:
    """[passage] the most probable grade; of equally probable ones the lower.

    Args:
        labels: [passage] its labels, one at least, of all pools together.
    """
    if not len(labels):
        return []
    found = errors_of(labels)
    best = np.argmax(_posterior(_counts(labels), found.shares, found.likelihood), axis=1)
    return [GRADES[place] for place in best.tolist()]


def _counts(labels: Sequence[Sequence[int]]) -> Floats:
    """[passage, grade] how often each was given."""
    counts = np.zeros((len(labels), len(GRADES)))
    for place, each in enumerate(labels):
        np.add.at(counts[place], np.array(each) - 1, 1)
    return counts


def _likelihood(sd: float) -> Floats:
    """[grade, label] chances of a normal error that is cut at the middle between grades; the ends take all beyond."""
    from scipy.special import ndtr  # late: it takes as long as the start of a command

    edges = np.array([-np.inf, 1.5, 2.5, 3.5, 4.5, np.inf])
    below = np.asarray(ndtr((edges[None, :] - np.array(GRADES)[:, None]) / sd), dtype=np.float64)
    chances: Floats = np.diff(below, axis=1)
    return chances


def _posterior(counts: Floats, shares: Floats, likelihood: Floats) -> Floats:
    """[passage, grade] chances of each grade."""
    logs = counts @ _logs(likelihood).T + _logs(shares)
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    shares_of: Floats = weights / weights.sum(axis=1, keepdims=True)
    return shares_of


def _logs(chances: Floats) -> Floats:
    logs: Floats = np.log(np.maximum(chances, np.finfo(np.float64).tiny))
    return logs


def _each(one: Callable[[Sequence[int]], int]) -> Callable[[Sequence[Sequence[int]]], list[int]]:
    return lambda labels: [one(each) for each in labels]


AGGREGATES: Final[Mapping[str, Callable[[Sequence[Sequence[int]]], list[int]]]] = MappingProxyType(
    {"median": _each(median), "majority": _each(majority), "posterior": posterior}
)


def aggregated(name: str, labels: Sequence[Sequence[int]]) -> list[int]:
    """[passage] the grade that its labels make.

    Args:
        name: median, majority or posterior.
        labels: [passage] its labels, one at least.

    Raises:
        PolicyError: there is no such aggregate.
    """
    if name not in AGGREGATES:
        raise PolicyError(f"aggregate must be one of {', '.join(AGGREGATES)}. Got {name!r}.{nearest(name, AGGREGATES)}")
    return AGGREGATES[name](labels)
