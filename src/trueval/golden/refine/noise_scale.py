"""Scale: the weight of a grade relative to the judge's noise, and the rate of wrong grades, learned from the orders."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from trueval.golden.refine.judge_orders import OrderBatch
from trueval.golden.refine.plackett_luce import NOISE
from trueval.golden.refine.posterior import Prior
from trueval.golden.refine.posterior_mode import Mode, fit
from trueval.standings.standings import Floats

STEP: Final = 1.25  # factor between adjacent grid points
# The grid has (2·17 + 1)² points: κ from 0.09 to 178, and ratios likewise.
REACH: Final = 17
# Standard deviation of the normal priors of ln κ and ln(τ/κ) around the default.
WIDTH: Final = 0.8
RATIO_WIDTH: Final = 0.5
# Factor between adjacent odds of gross errors, and the number of steps: from 5 % to 57 %.
GROSS_STEP: Final = 1.5
GROSS_REACH: Final = 8
RIGHT: Final = 19  # of Beta(1, 19), the prior of γ: FORMULAS §7


class ScorePrior(NamedTuple):
    """The prior of scores, in units in which the judge's noise is that of a logistic choice.

    Attributes:
        per_grade: κ, score difference per grade.
        spread: τ, standard deviation of the scores of one grade.
    """

    per_grade: float = 4.0
    spread: float = 1.5


class LearnedScale(NamedTuple):
    """A posterior mode, with the prior that was learned.

    Attributes:
        mode: of the posterior of the scores.
        prior: prior under which it is the mode.
        more: steps of `GROSS_STEP` by which the odds of gross errors exceed the given ones.
    """

    mode: Mode
    prior: Prior
    scale: ScorePrior
    more: int = 0


def learn(
    orders: OrderBatch,
    grades: Floats,
    start: LearnedScale | None = None,
    noise: float = NOISE,
    biases: tuple[float, ...] = (),
    covariates: Floats | None = None,
    gross: Floats | None = None,
) -> LearnedScale:
    """The scale that maximizes the posterior probability of the orders, and the posterior mode under it.

    Maximizes the Laplace approximation of the evidence, times a wide prior of ln κ and ln(τ/κ) around `ScorePrior()`,
    by hill climbing on a grid with factors of 1.25: a judge that contradicts itself more has a smaller κ and τ.
    Otherwise the stated certainty of a refinement would depend on a guess. The odds of gross errors are raised from the
    given ones in factors of 1.5, with the prior Beta(1, 19) of their mean: a judge repeats its misreadings, so the
    error rate estimated from grades is a lower bound. FORMULAS §7.

    Args:
        grades: [document] grades.
        start: start of the search, such as the result for fewer orders; the default scale if None.
        noise: ε.
        biases: prior standard deviations of the covariates' effects.
        covariates: [order, rank, covariate] values.
        gross: [document] minimum probability that its grade is a gross error; None for no gross errors.
    """
    tried: dict[tuple[int, int, int], tuple[float, LearnedScale]] = {}

    def score(place: tuple[int, int, int], near: LearnedScale | None) -> float:
        if place not in tried:
            scale, chances = _scale(*place[:2]), _raise_odds(gross, place[2])
            prior = Prior.of_grades(grades, *scale, noise, biases, chances)
            begin = None if near is None else _starting_values(near, scale)
            found = fit(orders, prior, covariates, begin)
            belief = (place[0] / WIDTH) ** 2 + (place[1] / RATIO_WIDTH) ** 2
            value = found.evidence - 0.5 * belief * math.log(STEP) ** 2 + _belief_of_gross(chances)
            tried[place] = (value, LearnedScale(found, prior, scale, place[2]))
        return tried[place][0]

    at = (0, 0, 0) if start is None else (*_place(start.scale), start.more)
    best = score(at, start)
    while True:
        around = _around(at, grossly=gross is not None and len(orders) > 0 and bool(gross.any()))
        values = [score(place, tried[at][1]) for place in around]
        if max(values) <= best:
            return tried[at][1]
        best = max(values)
        at = around[values.index(best)]


def _around(at: tuple[int, int, int], *, grossly: bool) -> list[tuple[int, int, int]]:
    """Neighbors in the grid."""
    up, wide, more = at
    found = [(up + 1, wide, more), (up - 1, wide, more), (up, wide + 1, more), (up, wide - 1, more)]
    found = [place for place in found if max(map(abs, place[:2])) <= REACH]
    return found + [(up, wide, each) for each in (more - 1, more + 1) if grossly and 0 <= each <= GROSS_REACH]


def _raise_odds(gross: Floats | None, more: int) -> Floats | None:
    """Probabilities with the odds multiplied by a factor."""
    if gross is None or not more:
        return gross
    odds = GROSS_STEP**more * gross / (1 - gross)
    return np.asarray(odds / (1 + odds), np.float64)


def _belief_of_gross(gross: Floats | None) -> float:
    """Log density of ln γ, where γ ~ Beta(1, 19), up to a constant."""
    mean = 0.0 if gross is None else float(gross.mean())
    return math.log(mean) + (RIGHT - 1) * math.log1p(-mean) if 0 < mean < 1 else 0.0


def _scale(up: int, wide: int) -> ScorePrior:
    """The grid point some factors from the default."""
    base = ScorePrior()
    per_grade = base.per_grade * STEP**up
    return ScorePrior(per_grade, per_grade * base.spread / base.per_grade * STEP**wide)


def _place(scale: ScorePrior) -> tuple[int, int]:
    base = ScorePrior()
    up = math.log(scale.per_grade / base.per_grade, STEP)
    wide = math.log(scale.spread / scale.per_grade * base.per_grade / base.spread, STEP)
    return round(up), round(wide)


def _starting_values(near: LearnedScale, scale: ScorePrior) -> Floats:
    """Starting values of Newton's method: the mode of a neighbor, rescaled."""
    return np.concatenate([near.mode.scores * (scale.per_grade / near.scale.per_grade), near.mode.biases])
