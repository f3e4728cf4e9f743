"""Corrections from whole queries: people graded every judged passage of n of N queries, drawn at random.

A query counts as d = 1, or as d = 0 where the policy excludes it under those labels: a query whose only relevant
passages are the judge's errors is empty by people's labels. The mean is then the ratio of two totals over the same N
queries, with the weights l_i of prediction_powered.py for both:

    theta     total of d H / total of d: theta_0 + total of d (H - theta_0) / total of d
    variance  of the total of d (H - theta) [1 - n/N parts], over (total of d)^2; for new queries and that of
              S^2 = Var(d (H - theta)) between queries, times N
    interval  as design_estimate.py has it, t with n - 1 degrees of freedom

Queries of which the judge graded no passage cannot be drawn: they are not among the N, their values are known, and both
totals include them as they are.

Where every query counts, this is mean over N of l M^J + mean over n of (M^H - l M^J), with the variance
(1 - f) Var(M^H - l M^J) / n for these queries, and f Var(M^H) / n + (1 - f) Var(M^H - l M^J) / n for new ones.

Sources: docs/formulas.md §7; Cochran 1977 §6 (ratios).
"""

from __future__ import annotations

import math

import numpy as np

from trueval.comparison.labels.both_labels import PairedValues
from trueval.comparison.labels.correction import NOTHING
from trueval.comparison.labels.design_estimate import NEW, DesignEstimate, interval
from trueval.comparison.labels.prediction_powered import (
    LabeledUnits,
    TotalEstimate,
    correlation,
    rounding_tolerance,
    total,
    tune_judge_weights,
)
from trueval.evaluation.corrected_values import EstimateWithInterval
from trueval.measures.span import ANYTHING, ValueRange
from trueval.standings.standings import Bools, Floats


def by_queries(
    values: PairedValues, whole: Bools, target: str, level: float, span: ValueRange = ANYTHING
) -> DesignEstimate | None:
    """Correct the mean of a measure over queries.

    Args:
        values: values of all N queries by both labels.
        whole: [query] whether people graded all of it.
        target: one of TARGETS.
        level: level of the intervals.
        span: range of the values.

    Returns:
        The estimates; None where fewer than 2 graded queries count.
    """
    # A query that the run lacks is left out under any labels, so there is nothing to estimate.
    asked = values.there & whole
    drawn = np.flatnonzero(asked)
    judge, people = values.judge[values.there & ~values.settled], values.people[asked]
    own = values.judge[asked]
    counts = int((~np.isnan(people)).sum())
    if len(drawn) < 2 or counts < 2:
        return None
    ratio = _Ratio(people, own, judge, values.judge[values.settled], span, values.rounding)
    weights = tune_judge_weights(ratio.units(ratio.start))
    told = [ratio.estimate(each, target, level) for each in (np.zeros(len(own)), weights, np.ones(len(own)))]
    bounds, found = [each[0] for each in told], told[1][1]
    if any(math.isnan(each.estimate) for each in (bounds[0], bounds[1])):
        return None
    size = ratio.count(weights)
    return DesignEstimate(
        people=bounds[0],
        corrected=bounds[1],
        untuned=bounds[2],
        weight=float(weights.mean()),
        correlation=correlation(ratio.units(ratio.start)),
        queries=counts,
        population=np.array([float(len(judge))]),
        drawn=np.array([float(len(drawn))]),
        spread=found.spread / size**2,
        parts=found.parts / size**2,
        fixed=told[1][2],
        residual=found.residual / size,
        of_query=drawn,
    )


class _Ratio:
    """The mean over the queries that count, as a ratio of totals.

    Args:
        people: [audited] values by people's labels, NaN where the query does not count.
        own: [audited] values by the judge's.
        judge: [query] values by the judge's labels of all queries that can be drawn.
        settled: [query] values of the others, which labels do not affect.
        span: range of the values.
        least: values of the judge that differ by at most this are equal.
    """

    def __init__(
        self, people: Floats, own: Floats, judge: Floats, settled: Floats, span: ValueRange, least: float = 0.0
    ) -> None:
        self.settled, self.span = settled, span
        self.values = tuple(np.nan_to_num(each) for each in (people, own, judge))
        self.counted = tuple((~np.isnan(each)).astype(np.float64) for each in (people, own, judge))
        self.start = float(self.values[0].sum() / self.counted[0].sum())
        # Units are values minus theta, which is rounded too.
        self.rounding = max(least, rounding_tolerance(np.array([self.start])))

    def units(self, theta: float) -> LabeledUnits:
        """Values of queries relative to theta."""
        return self._units([value - theta * count for value, count in zip(self.values, self.counted, strict=True)])

    def count(self, weights: Floats) -> float:
        """The estimated number of queries that count."""
        return total(self._units(list(self.counted)), weights).estimate + len(self.settled)

    def estimate(self, weights: Floats, target: str, level: float) -> tuple[EstimateWithInterval, TotalEstimate, float]:
        """The mean, the units of its total, and the part of its variance between queries."""
        size, units = self.count(weights), self.units(self.start)
        if not size > 0:
            return NOTHING, total(units, weights), 0.0
        theta = self.start + (total(units, weights).estimate + float((self.settled - self.start).sum())) / size
        units = self.units(theta)
        found = total(units, weights)
        between = self._between(units, theta) / size**2 if target == NEW else 0.0
        variance = found.variance / size**2 + between
        return interval(theta, variance, len(units.people) - 1, level, self.span), found, between

    def _between(self, units: LabeledUnits, theta: float) -> float:
        """N^2 times the part of the variance of the mean over N queries that lies between queries: N S^2."""
        beyond, drawable, settled = units.center(units.people), float(units.population[0]), self.settled - theta
        number, own = drawable + len(settled), float(units.people.mean())
        mean = (drawable * own + float(settled.sum())) / number
        inside = (drawable - 1) * float(beyond @ beyond) / (len(beyond) - 1)
        apart = drawable * (own - mean) ** 2 + float(((settled - mean) ** 2).sum())
        return (inside + apart) * number / (number - 1)

    def _units(self, values: list[Floats]) -> LabeledUnits:
        people, own, judge = values
        stratum = np.zeros(len(people), dtype=np.int64)
        return LabeledUnits(people, own, stratum, np.array([float(len(judge))]), float(judge.sum()), self.rounding)
