"""Prediction-powered totals: estimated from people's labels of a sample, with the judge's labels of all as predictions.

Units (queries, or passages) are drawn at random without replacement inside strata, n_h of N_h. H is a unit's value by
people's labels, known where it was drawn; J its value by the judge's, whose sum over all units C is known:

    estimate  sum of N_h mean_h(H) - l (sum of N_h mean_h(J) - C)
              - sum over h of (N_h - n_h) / n_h times sum of l_i (J_i - mean_h(J))
    weight    l_i = Cov(H, J) / Var(J) without unit i, clipped to [0, 1]; l their mean. Over strata both are sums, each
              times N_h^2 (1 - n_h / N_h) / n_h, the part of a stratum in the variance; 0 where all that J varies by
              without unit i is rounding
    variance  sum of N_h^2 (1 - n_h / N_h) / n_h s_h^2, s_h^2 of the residuals H - mean_h(H) - l_i (J - mean_h(J))

With one l for all units the estimate is the known one, sum of N_h mean_h(H - l J) + l C. Weights that leave out the
unit that they are applied to keep it unbiased: with one stratum exactly, for every sample size; and with all units
drawn it is the sum of H, whatever the weights (tests/comparison/labels/test_prediction_powered.py enumerates all
samples).

Sources: Angelopoulos et al. 2023; PPI++ (Angelopoulos, Duchi, Zrnic 2023), whose two samples are disjoint, while here
one is part of the other; Cochran 1977 §5.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from trueval.standings.standings import Bools, Floats, Ints, sum_by

# Values that differ by at most this many units in the last place of the largest count as equal.
LAST_PLACES: Final = 16

# If a leave-one-out sum is below this share of the whole, it is summed again, since the difference has lost digits.
REMAINDER: Final = 1e-6


def rounding_tolerance(values: Floats) -> float:
    """How far rounding alone may separate equal values, or differences of two of them.

    Args:
        values: values before any subtraction; NaN if there is none.

    >>> rounding_tolerance(np.array([0.6, -0.8, np.nan])) == 16 * 2**-53
    True
    """
    return LAST_PLACES * float(np.spacing(np.nan_to_num(np.abs(values)).max(initial=0.0)))


class LabeledUnits(NamedTuple):
    """The units that people labeled, and the population they were drawn from.

    Attributes:
        people: [unit] value by people's labels.
        judge: [unit] value by the judge's labels.
        stratum: [unit] index of its stratum, from 0.
        population: [stratum] number of its units, N_h.
        total: sum of the judge's values over all units, labeled or not.
        rounding: values of the judge that differ by at most this are equal.
    """

    people: Floats
    judge: Floats
    stratum: Ints
    population: Floats
    total: float
    rounding: float = 0.0

    @property
    def drawn(self) -> Floats:
        """[stratum] number of units that people labeled, n_h."""
        return np.bincount(self.stratum, minlength=len(self.population)).astype(np.float64)

    @property
    def free(self) -> Floats:
        """[stratum] degrees of freedom, n_h - 1; a stratum of a single unit, which is drawn, does not vary."""
        return np.maximum(self.drawn - 1, 1.0)

    @property
    def factors(self) -> Floats:
        """[stratum] N_h^2 (1 - n_h / N_h) / n_h, the factor from the variance of units to that of the estimate."""
        return self.population * (self.population - self.drawn) / self.drawn

    def center(self, values: Floats) -> Floats:
        """[unit] values minus the mean of their stratum."""
        means = sum_by(self.stratum, values, len(self.population)) / np.maximum(self.drawn, 1.0)
        return np.asarray(values - means[self.stratum])

    def ranges(self, values: Floats) -> Floats:
        """[stratum] greatest value minus least; 0 where there is none."""
        least, most = np.full(len(self.population), np.inf), np.full(len(self.population), -np.inf)
        np.minimum.at(least, self.stratum, values)
        np.maximum.at(most, self.stratum, values)
        return np.where(self.drawn > 0, most - np.where(self.drawn > 0, least, 0.0), 0.0)

    def without(self, unit: int) -> LabeledUnits:
        """These units without one of them."""
        kept = np.arange(len(self.people)) != unit
        return self._replace(people=self.people[kept], judge=self.judge[kept], stratum=self.stratum[kept])


class TotalEstimate(NamedTuple):
    """An estimate of the sum of H over all units.

    Attributes:
        estimate: estimated sum.
        residual: [unit] residual, minus the mean of its stratum.
        spread: [stratum] variance of the residuals, s_h^2.
        parts: [stratum] its part of the variance of the estimate.
        degrees: degrees of freedom of the variance, `degrees_of_sum` over strata.
    """

    estimate: float
    residual: Floats
    spread: Floats
    parts: Floats
    degrees: float

    @property
    def variance(self) -> float:
        """Variance of the estimate over all samples that could have been drawn."""
        return float(self.parts.sum())


def tune_judge_weights(units: LabeledUnits) -> Floats:
    """[unit] l_i, the optimal weight of the judge, from all labeled units except this one.

    Args:
        units: at least two per stratum that is not drawn completely.

    >>> people, judge = np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 5.0])
    >>> tune_judge_weights(LabeledUnits(people, judge, np.zeros(3, dtype=np.int64), np.array([9.0]), 27.0)).tolist()
    [0.5, 0.5, 0.5]
    """
    people, judge = units.center(units.people), units.center(units.judge)
    products, squares = (
        _leave_one_out_covariances(units, people * judge),
        _leave_one_out_covariances(units, judge * judge),
    )
    varies, factors = _varies_without(units), _weights_of_strata(units)
    whole = float(factors / units.free @ sum_by(units.stratum, judge * judge, len(factors)))
    for unit in np.flatnonzero(varies & (squares < REMAINDER * whole)).tolist():
        rest = units.without(unit)
        judge, share = rest.center(rest.judge), factors / rest.free
        of_people = sum_by(rest.stratum, rest.center(rest.people) * judge, len(factors))
        products[unit], squares[unit] = share @ of_people, share @ sum_by(rest.stratum, judge * judge, len(factors))
    known = varies & (squares > 0)
    weights: Floats = np.clip(np.divide(products, squares, out=np.zeros_like(products), where=known), 0.0, 1.0)
    return weights


def _varies_without(units: LabeledUnits) -> Bools:
    """[unit] whether the judge's values of the other units differ within a stratum by more than rounding."""
    order = np.lexsort((units.judge, units.stratum))
    values, owner, count = units.judge[order], units.stratum[order], units.drawn.astype(np.int64)
    first = (np.cumsum(count) - count)[owner]
    last, at = first + count[owner] - 1, np.arange(len(order))
    # Without the smallest value of a stratum, the next one is the smallest.
    least, most = np.where(at == first, first + 1, first), np.where(at == last, last - 1, last)
    apart = np.where(most > least, values[np.minimum(most, last)] - values[np.minimum(least, last)], 0.0)
    counts = _weights_of_strata(units) > 0
    whole = counts & (units.ranges(units.judge) > units.rounding)
    found = np.empty(len(order), dtype=bool)
    found[order] = (whole.sum() > whole[owner]) | (counts[owner] & (apart > units.rounding))
    return found


def _leave_one_out_covariances(units: LabeledUnits, products: Floats) -> Floats:
    """[unit] sum over strata of factor times (co)variance, without this unit.

    Args:
        units: units, each left out once.
        products: [unit] product of two centered values.
    """
    drawn, factors = units.drawn, _weights_of_strata(units)
    sums = sum_by(units.stratum, products, len(drawn))
    whole = factors * sums / units.free
    own, count = units.stratum, drawn[units.stratum]
    # Leaving out one of n values reduces the sum by n / (n - 1) times its product, since the mean moves too.
    moved = count / units.free[own] * products
    rest = np.where(count > 2, (sums[own] - moved) / np.maximum(count - 2, 1), 0.0)
    return np.asarray(whole.sum() - whole[own] + factors[own] * rest)


def _weights_of_strata(units: LabeledUnits) -> Floats:
    """[stratum] its factor; where all units of all strata are drawn, the factor as if more were left."""
    factors = units.factors
    return factors if factors.any() else units.population**2 / units.drawn


def total(units: LabeledUnits, weights: Floats) -> TotalEstimate:
    """Estimate the sum of H over all units.

    Args:
        units: at least two per stratum that is not drawn completely.
        weights: [unit] l_i, as `tune_judge_weights` returns them; all 0 for people's labels alone, all 1 for the
            untuned judge.

    >>> human, judge = np.array([1.0, 2.0]), np.array([1.0, 3.0])
    >>> units = LabeledUnits(human, judge, np.zeros(2, dtype=np.int64), np.array([4.0]), 10.0)
    >>> total(units, np.zeros(2)).estimate, total(units, np.ones(2)).estimate
    (6.0, 8.0)
    """
    drawn, strata = units.drawn, len(units.population)
    scale = units.population / drawn
    people = float(sum_by(units.stratum, units.people, strata) @ scale)
    judge = float(sum_by(units.stratum, units.judge, strata) @ scale)
    around = units.center(units.judge)
    spread_of_weights = sum_by(units.stratum, weights * around, strata) @ (scale - 1)
    estimate = people - float(weights.mean()) * (judge - units.total) - float(spread_of_weights)
    residual = units.center(units.people) - weights * around
    spread = sum_by(units.stratum, residual**2, strata) / units.free
    parts = units.factors * spread
    moments = sum_by(units.stratum, residual**4, strata) / drawn
    errors = units.factors**2 * variance_of_variance(spread, moments, drawn)
    return TotalEstimate(estimate, residual, spread, parts, degrees_of_sum(parts, errors, float(units.free.sum())))


def variance_of_variance(spread: Floats, moments: Floats, drawn: Floats) -> Floats:
    """[stratum] variance of a sample variance: from fourth moments, and at least that of normal values.

    max(2 s^4 / (n - 1), (m_4 - s^4 (n - 3) / (n - 1)) / n); Cramér 1946 §27.4. Most passages contribute 0 and few
    contribute much, so the variance is known far less precisely than the number of answers suggests.

    Args:
        spread: [stratum] sample variance s^2.
        moments: [stratum] m_4, mean fourth power around the mean.
        drawn: [stratum] number of values, n.

    >>> variance_of_variance(np.array([1.0, 1.0]), np.array([3.0, 9.0]), np.array([11.0, 11.0])).tolist()
    [0.2, 0.7454545454545454]
    """
    free = np.maximum(drawn - 1, 1.0)
    found: Floats = np.maximum(2 * spread**2 / free, (moments - spread**2 * (drawn - 3) / free) / drawn)
    return found


def degrees_of_sum(parts: Floats, errors: Floats, most: float) -> float:
    """Degrees of freedom of a sum of variances: 2 (sum of parts)^2 / sum of their variances, at least 1.

    Source: Satterthwaite 1946, whose parts have the variance 2 part^2 / (n_h - 1).

    Args:
        parts: parts of the variance.
        errors: variance of each part.
        most: result where nothing varies.
    """
    return max(1.0, float(2 * parts.sum() ** 2 / errors.sum())) if errors.any() else most


def correlation(units: LabeledUnits) -> float:
    """Correlation of the two values of units within strata, -1 to 1; NaN where one varies by no more than rounding."""
    least = max(units.rounding, rounding_tolerance(units.people))
    if not (units.ranges(units.people) > least).any() or not (units.ranges(units.judge) > units.rounding).any():
        return math.nan
    people, judge = units.center(units.people), units.center(units.judge)
    return float(people @ judge) / math.sqrt(float(people @ people) * float(judge @ judge))
