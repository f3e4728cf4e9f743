"""Aggregation: several labels of a passage combined into one grade.

    median     the middle label; for an even number the lower of the middle two
    majority   the most frequent label; ties go to the one nearest to the median, then to the lower one
    posterior  the highest grade g with P(grade >= g | labels) >= F/2, under P(g) ∏ P(label | g): P(g) the share of
               grades in all pools, and P(label | g) a normal error of one standard deviation, cut into grades, or with
               chance γ a gross error, any grade alike; all three found by EM. F is the highest F1 of "grade g or more"
               that these chances let expect, and half of it the threshold that gives it (Lipton et al. 2014), here at
               least .4: where hardly any passage has the grade, F1 would give it to all

The median ignores one outlier among three labels. The posterior shrinks a lone 5 among many 1s as far as the judge's
labels differ between rounds, and no farther: without repeated labels it equals the label. The most probable grade would
maximize accuracy, but it loses relevant passages, which are rare, where the judge errs often.

σ and γ are estimated jointly, since noise alone makes labels of one passage differ by two grades now and then: noise of
.8 in 13 % of them. A judge repeats its misreadings, so the γ estimated from differing labels is a lower bound.
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
STEPS: Final = 200  # maximum number of EM steps; EM stops when the error changes by less than SMALL
SMALL: Final = 1e-5
# Limits of the error in grades: a smaller one cannot be distinguished from 0 with integer grades, a larger one is
# uninformative.
LEAST, MIDDLE, MOST = 0.05, 0.5, 5.0
LEAST_SURE: Final = 0.4  # minimum probability that a passage has at least its assigned grade
RIGHT: Final = 19  # of Beta(1, 19), the prior of γ: FORMULAS §7
MOST_GROSS: Final = 0.99  # a grade is never entirely uninformative
GROSS: Final = 1 / (1 + RIGHT)  # its mean: γ if no passage has two labels


def median(labels: Sequence[int]) -> int:
    """The median label; for an even number, the lower of the middle two.

    >>> median([5, 1, 4]), median([2, 4])
    (4, 2)
    """
    return sorted(labels)[(len(labels) - 1) // 2]


def majority(labels: Sequence[int]) -> int:
    """The most frequent label; ties go to the one nearest to the median, then to the lower one.

    >>> majority([1, 5, 5, 1, 4]), majority([2, 3])
    (5, 2)
    """
    times, middle = Counter(labels), median(labels)
    most = max(times.values())
    return min((label for label in times if times[label] == most), key=lambda label: (abs(label - middle), label))


class JudgeErrors(NamedTuple):
    """The error model of a judge, estimated from its labels.

    Attributes:
        sd: σ, standard deviation of a label around the grade.
        gross: γ, share of labels that are uniform over grades, whatever the passage.
        shares: [grade] share of each grade.
        likelihood: [grade, label] probability of the label given the grade.
    """

    sd: float
    gross: float
    shares: Floats
    likelihood: Floats


def errors_of(labels: Sequence[Sequence[int]]) -> JudgeErrors:
    """Estimate the error model of a judge that graded some passages more than once, by EM.

    Args:
        labels: [passage] labels, at least one each.
    """
    from scipy.optimize import minimize_scalar  # late: the import takes as long as starting a command

    counts = _counts(labels)
    sd, gross, shares = MIDDLE, GROSS, counts.sum(axis=0) / counts.sum()
    if not (counts.sum(axis=1) > 1).any():
        return JudgeErrors(LEAST, GROSS, shares, _likelihood(LEAST, 0.0))  # nothing is learned: the label is the grade
    for _ in range(STEPS):
        weights = _posterior(counts, shares, _likelihood(sd, gross))
        shares, pairs = weights.mean(axis=0), weights.T @ counts  # [grade, label] expected counts
        wild = pairs * _wild(sd, gross)
        fair = pairs - wild

        def surprise(each: float, pairs: Floats = fair) -> float:
            return -float((pairs * _logs(_likelihood(each, 0.0))).sum())

        new = float(minimize_scalar(surprise, bounds=(LEAST, MOST), method="bounded").x)
        share = float((1 + wild.sum()) / (1 + RIGHT + pairs.sum()))
        done, sd, gross = abs(new - sd) + abs(share - gross) < SMALL, new, share
        if done:
            break
    return JudgeErrors(sd, gross, shares, _likelihood(sd, gross))


def posterior(labels: Sequence[Sequence[int]]) -> list[int]:
    """[passage] the grade that maximizes the expected F1 of each threshold "this grade or more".

    Args:
        labels: [passage] labels, at least one each, over all pools.
    """
    if not len(labels):
        return []
    chances, _ = _chances(labels)
    at_least = np.cumsum(chances[:, ::-1], axis=1)[:, ::-1]  # [passage, grade] P(grade >= g)
    taken = at_least >= [_best_threshold(each) for each in at_least.T]
    taken[:, 0] = True
    places: list[int] = np.where(taken, np.arange(len(GRADES)), 0).max(axis=1).tolist()
    return [GRADES[place] for place in places]


def _best_threshold(chances: Floats) -> float:
    """The probability above which including a passage raises the expected F1, 2·Σ taken/(taken + Σ all): half of it."""
    ordered = np.sort(chances)[::-1]
    f1 = 2 * ordered.cumsum() / (np.arange(1, len(ordered) + 1) + ordered.sum())
    return max(float(f1.max()) / 2, LEAST_SURE)


class ExpectedGrade(NamedTuple):
    """The posterior of a passage's grade given its labels.

    Attributes:
        grade: expected grade, a real number.
        gross: probability that the true grade is more than one grade away from it. It starts at .05 and labels only
            raise it, since a judge repeats its misreadings and rounds do not reveal these.
    """

    grade: float
    gross: float


def expectations(labels: Sequence[Sequence[int]]) -> list[ExpectedGrade]:
    """[passage] expected grade, and probability of a gross error.

    Args:
        labels: [passage] labels, at least one each, over all pools.

    >>> [tuple(round(number, 2) for number in found) for found in expectations([[4], [1]])]
    [(4.0, 0.05), (1.0, 0.05)]
    """
    if not len(labels):
        return []
    chances, errors = _chances(labels)
    grades = chances @ np.array(GRADES, np.float64)
    away = np.abs(np.array(GRADES) - grades[:, None]) > 1
    gross = np.clip((chances * away).sum(axis=1), max(errors.gross, GROSS), MOST_GROSS)
    return [ExpectedGrade(*found) for found in zip(grades.tolist(), gross.tolist(), strict=True)]


def _chances(labels: Sequence[Sequence[int]]) -> tuple[Floats, JudgeErrors]:
    """[passage, grade] posterior probability of each grade, and the error model behind it."""
    errors = errors_of(labels)
    return _posterior(_counts(labels), errors.shares, errors.likelihood), errors


def _counts(labels: Sequence[Sequence[int]]) -> Floats:
    """[passage, grade] number of labels with this grade."""
    counts = np.zeros((len(labels), len(GRADES)))
    for place, each in enumerate(labels):
        np.add.at(counts[place], np.array(each) - 1, 1)
    return counts


def _likelihood(sd: float, gross: float) -> Floats:
    """[grade, label] probabilities: a mixture component of uniform labels, or normal errors cut midway between grades.

    The lowest and highest grade absorb everything beyond.
    """
    from scipy.special import ndtr  # late: it takes as long as the start of a command

    edges = np.array([-np.inf, 1.5, 2.5, 3.5, 4.5, np.inf])
    below = np.asarray(ndtr((edges[None, :] - np.array(GRADES)[:, None]) / sd), dtype=np.float64)
    chances: Floats = (1 - gross) * np.diff(below, axis=1) + gross / len(GRADES)
    return chances


def _wild(sd: float, gross: float) -> Floats:
    """[grade, label] probability that the label is a gross error, given the true grade."""
    chances: Floats = gross / len(GRADES) / _likelihood(sd, gross)
    return chances


def _posterior(counts: Floats, shares: Floats, likelihood: Floats) -> Floats:
    """[passage, grade] posterior probability of each grade."""
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


def aggregate_labels(name: str, labels: Sequence[Sequence[int]]) -> list[int]:
    """[passage] the aggregated grade of its labels.

    Args:
        name: "median", "majority" or "posterior".
        labels: [passage] labels, at least one each.

    Raises:
        PolicyError: there is no such aggregate.
    """
    if name not in AGGREGATES:
        raise PolicyError(f"aggregate must be one of {', '.join(AGGREGATES)}. Got {name!r}.{nearest(name, AGGREGATES)}")
    return AGGREGATES[name](labels)
