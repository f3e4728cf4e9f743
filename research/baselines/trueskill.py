"""TrueSkill: normal beliefs about the skill of each document, updated by orders, with a stopping rule for the top."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from trueval.golden.refine.judge_orders import Ask, ask_round
from trueval.standings.standings import Floats

SPREAD: Final = 0.5  # standard deviation of a belief before any order, in grades
# Noise of a performance: half the spread, as Herbrich et al. 2006 have it.
PERFORMANCE: Final = SPREAD / 2
SWEEPS: Final = 50
CONVERGED: Final = 1e-9


class SkillRanking(NamedTuple):
    """The ranking of TrueSkill and the calls it took.

    Attributes:
        ranking: all documents, the highest mean first.
        overlap: expected share of the returned documents that belong to the best.
    """

    ranking: list[int]
    overlap: float


def trueskill_stop(
    grades: Floats,
    ask: Ask,
    rng: np.random.Generator,
    *,
    top: int = 20,
    batch: int = 5,
    budget: int = 80,
    doubt: float = 0.05,
) -> SkillRanking:
    """Rank by TrueSkill, asking about documents whose membership in the top is uncertain.

    In the style of AcuRank (Yoon et al. 2025, arXiv 2505.18512): documents whose probability to belong to the best is
    within (doubt, 1 − doubt) are dealt by their means into batches, which are asked; it stops when less than two are
    left.

    Args:
        grades: [document], the means before any order.
        ask: the judge.
        rng: where the order of showing comes from.
        top: how many are the best.
        batch: documents of one call.
        budget: calls at most.
        doubt: probability of error that is accepted for each document.
    """
    means, variances = grades.astype(np.float64), np.full(len(grades), SPREAD**2)
    calls = 0
    while calls < budget:
        members = belongs(means, variances, top)
        unsure = np.flatnonzero((members > doubt) & (members < 1 - doubt))
        if len(unsure) < 2:
            break
        unsure = unsure[np.argsort(-means[unsure], kind="stable")]
        groups = [unsure[begin : begin + batch] for begin in range(0, len(unsure), batch)]
        batches = [tuple(map(int, rng.permutation(group))) for group in groups if len(group) > 1][: budget - calls]
        for order in ask_round(ask, batches):
            if order is not None:
                seen = list(order.best_first)
                means[seen], variances[seen] = update_beliefs(means[seen], variances[seen])
        calls += len(batches)
    members = belongs(means, variances, top)
    ranking = np.argsort(-means, kind="stable")
    return SkillRanking([int(each) for each in ranking], float(members[ranking[:top]].mean()))


def update_beliefs(means: Floats, variances: Floats, performance: float = PERFORMANCE) -> tuple[Floats, Floats]:
    """Update the beliefs with an order, by expectation propagation.

    Performances are skills plus N(0, performance²); the order says that each is above the next. Herbrich, Minka and
    Graepel 2006, without draws, every document a team of its own.

    Args:
        means: [place] of the skills, the best first.
        variances: [place] of the skills.
        performance: standard deviation of a performance around its skill.

    Returns:
        [place] means, [place] variances.

    >>> means, variances = update_beliefs(np.array([25.0, 25.0]), np.full(2, (25 / 3) ** 2), 25 / 6)
    >>> means.round(3).tolist(), np.sqrt(variances).round(3).tolist()  # as trueskill 0.4.5
    ([29.205, 20.795], [7.194, 7.194])
    """
    from scipy.special import log_ndtr

    count = len(means)
    # Each constraint "above the next" is a site on one difference of neighbors: precision and precision times mean.
    differences = np.eye(count - 1, count) - np.eye(count - 1, count, 1)
    prior = np.diag(1 / (variances + performance**2))
    site_precision, site_shift = np.zeros(count - 1), np.zeros(count - 1)
    for _ in range(SWEEPS):
        before = site_shift.copy()
        for place, direction in enumerate(differences):
            covariance = np.linalg.inv(prior + (differences.T * site_precision) @ differences)
            mean = covariance @ (prior @ means + differences.T @ site_shift)
            variance, center = direction @ covariance @ direction, direction @ mean
            precision = 1 / variance - site_precision[place]
            shift = center / variance - site_shift[place]
            t = shift / np.sqrt(precision)
            v = np.exp(-0.5 * t * t - log_ndtr(t)) / np.sqrt(2 * np.pi)
            w = v * (v + t)
            new_precision = precision / (1 - w)
            new_shift = new_precision * (shift / precision + v / np.sqrt(precision))
            site_precision[place], site_shift[place] = new_precision - precision, new_shift - shift
        if np.abs(site_shift - before).max() <= CONVERGED * max(np.abs(site_shift).max(), 1.0):
            break
    covariance = np.linalg.inv(prior + (differences.T * site_precision) @ differences)
    mean = covariance @ (prior @ means + differences.T @ site_shift)
    # From performances back to skills: a skill moves by the share of the variance that is its own.
    share = variances / (variances + performance**2)
    found: Floats = variances + share**2 * (covariance.diagonal() - variances - performance**2)
    return means + share * (mean - means), found


def belongs(means: Floats, variances: Floats, top: int) -> Floats:
    """The probability that each document belongs to the best: P(skill > c), with c such that they sum to `top`.

    Args:
        means: [document].
        variances: [document].
        top: how many are the best.

    >>> belongs(np.array([1.0, 0.0]), np.ones(2), 1).round(3).tolist()
    [0.691, 0.309]
    """
    from scipy.special import ndtr

    if top >= len(means):
        return np.ones(len(means))
    sd = np.sqrt(variances)
    low, high = float((means - 40 * sd).min()), float((means + 40 * sd).max())
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if ndtr((means - middle) / sd).sum() > top else (low, middle)
    found: Floats = ndtr((means - low) / sd)
    return found
