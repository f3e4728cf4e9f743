"""Scale: how much a grade weighs against the judge's own noise, learned from the orders themselves."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from trueval.golden.orders import Orders
from trueval.golden.plackett_luce import NOISE
from trueval.golden.posterior import Posterior, Prior, fit
from trueval.standings.standings import Floats

STEP: Final = 1.25  # factor between neighbors of the search
# The grid has (2·17 + 1)² points: κ from 0.09 to 178, and ratios likewise.
REACH: Final = 17
# What is believed of ln κ and ln(τ/κ) before any order: normal, around the default, so wide.
WIDTH: Final = 0.8
RATIO_WIDTH: Final = 0.5


class Scale(NamedTuple):
    """The prior of scores, in units in which the judge's noise is that of a logistic choice.

    Attributes:
        per_grade: κ, by how much one grade moves a score.
        spread: τ, standard deviation of the scores of one grade.
    """

    per_grade: float = 4.0
    spread: float = 1.5


class Learned(NamedTuple):
    """A posterior, and the scale of its prior.

    Attributes:
        posterior: of the scores.
        scale: of the prior.
    """

    posterior: Posterior
    scale: Scale


def learn(
    orders: Orders,
    grades: Floats,
    start: Learned | None = None,
    noise: float = NOISE,
    biases: tuple[float, ...] = (),
    covariates: Floats | None = None,
) -> Learned:
    """The scale under which the orders are most probable, and the posterior under it.

    Maximizes Laplace's evidence times a wide prior of ln κ and ln(τ/κ) around `Scale()`, on a grid of factors of 1.25,
    from neighbor to neighbor: a judge that contradicts itself more has a smaller κ and τ. Without this, what a
    refinement says of its own certainty would depend on a guess.

    Args:
        orders: what the judge said.
        grades: [document].
        start: where the search begins, the result for fewer orders; the default scale if None.
        noise: ε.
        biases: standard deviations of the covariates.
        covariates: [order, place, covariate].
    """
    tried: dict[tuple[int, int], tuple[float, Learned]] = {}

    def score(place: tuple[int, int], near: Learned | None) -> float:
        if place not in tried:
            scale = _scale(*place)
            prior = Prior.of_grades(grades, *scale, noise, biases)
            begin = None if near is None else _moved(near, scale)
            found = fit(orders, prior, covariates, begin)
            belief = (place[0] / WIDTH) ** 2 + (place[1] / RATIO_WIDTH) ** 2
            tried[place] = (found.evidence - 0.5 * belief * math.log(STEP) ** 2, Learned(found, scale))
        return tried[place][0]

    at = (0, 0) if start is None else _place(start.scale)
    best = score(at, start)
    while True:
        around = [(at[0] + up, at[1] + wide) for up, wide in ((1, 0), (-1, 0), (0, 1), (0, -1))]
        around = [place for place in around if max(map(abs, place)) <= REACH]
        values = [score(place, tried[at][1]) for place in around]
        if max(values) <= best:
            return tried[at][1]
        best = max(values)
        at = around[values.index(best)]


def _scale(up: int, wide: int) -> Scale:
    """The point of the grid so many factors from the default."""
    base = Scale()
    per_grade = base.per_grade * STEP**up
    return Scale(per_grade, per_grade * base.spread / base.per_grade * STEP**wide)


def _place(scale: Scale) -> tuple[int, int]:
    base = Scale()
    up = math.log(scale.per_grade / base.per_grade, STEP)
    wide = math.log(scale.spread / scale.per_grade * base.per_grade / base.spread, STEP)
    return round(up), round(wide)


def _moved(near: Learned, scale: Scale) -> Floats:
    """Where Newton's method begins: scores in the proportions of a neighbor."""
    import numpy as np

    return np.concatenate([near.posterior.scores * (scale.per_grade / near.scale.per_grade), near.posterior.biases])
