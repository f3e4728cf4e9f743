"""Corrections from single passages, drawn at random within strata, for measures that are sums over passages.

A unit is a passage, and its value is its contribution to the measure (contributions.py); the estimate is the total of
prediction_powered.py, divided by the N queries. With V the variance of the total over samples, V_i the part of it from
query i, T_i the estimated value of query i and S^2 the variance between queries:

    these queries   V / N^2
    new queries     V / N^2 + max(0, S^2(T) - (sum of V_i - V / N) / (N - 1)) / N

In the second, what the sample adds to the differences between queries is taken out, so that it counts once. Strata with
fewer than two answers are merged with the one whose rate of answers is nearest, so that no estimate mixes passages that
were drawn often with passages that were drawn rarely more than it must.

Degrees of freedom of t: 2 V^2 / Var(V), Satterthwaite's over strata, since most of the variance may come from one with
few answers, with fourth moments, since most passages add nothing and few much. For new queries at most those of S^2(T),
N - 1 or fewer by the fourth moment.

Sources: docs/formulas.md §7; Cochran 1977 §5; Satterthwaite 1946.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from trueval.comparison.labels.contributions import Contributions
from trueval.comparison.labels.design_estimate import NEW, DesignEstimate, interval
from trueval.comparison.labels.prediction_powered import (
    LabeledUnits,
    TotalEstimate,
    correlation,
    degrees_of_sum,
    total,
    tune_judge_weights,
    variance_of_variance,
)
from trueval.evaluation.corrected_values import EstimateWithInterval
from trueval.measures.span import ANYTHING, ValueRange
from trueval.standings.standings import Floats, Ints, sum_by

FEWEST = 2  # minimum number of answers in a stratum for a variance


class Strata(NamedTuple):
    """Strata that each have enough answers.

    Attributes:
        names: [stratum] names.
        population: [stratum] number of passages.
        of_label: [label] its stratum.
    """

    names: tuple[str, ...]
    population: Floats
    of_label: Ints


def merge_strata(population: Mapping[str, int], of_label: Sequence[str]) -> Strata:
    """Merge strata with fewer than two answers, unless that is all, with the one whose rate of answers is nearest.

    Args:
        population: stratum → number of its passages.
        of_label: [label] name of its stratum; two labels at least.

    >>> merge_strata({"a": 10, "b": 90, "c": 80}, ["a", "a", "b", "c"])[:2]
    (('a', 'b + c'), array([ 10., 170.]))
    """
    names = [[name] for name in population]
    sizes, number = list(population.values()), {name: at for at, name in enumerate(population)}
    answers = np.bincount([number[name] for name in of_label], minlength=len(sizes)).tolist()
    while len(sizes) > 1:
        rates = [count / size for count, size in zip(answers, sizes, strict=True)]
        short = [at for at, count in enumerate(answers) if count < min(FEWEST, sizes[at])]
        if not short:
            break
        low = min(short, key=lambda at: (answers[at], rates[at]))
        near = min((at for at in range(len(sizes)) if at != low), key=lambda at: (abs(rates[at] - rates[low]), at))
        keep, drop = sorted((low, near))
        names[keep] += names.pop(drop)
        sizes[keep] += sizes.pop(drop)
        answers[keep] += answers.pop(drop)
    place = {name: at for at, group in enumerate(names) for name in group}
    found = np.array([place[name] for name in of_label], dtype=np.int64)
    return Strata(tuple(" + ".join(group) for group in names), np.array(sizes, dtype=np.float64), found)


def by_documents(
    added: Contributions,
    labels: Ints,
    strata: Strata,
    owner: Ints,
    target: str,
    level: float,
    span: ValueRange = ANYTHING,
) -> DesignEstimate:
    """Correct the mean of a measure over queries.

    Args:
        added: contribution of each judged passage to the measure.
        labels: [label] row of the judgments that people graded.
        strata: strata of the labels.
        owner: [row of the judgments] index of its query.
        target: one of TARGETS.
        level: level of the intervals.
        span: range of the values of queries.
    """
    counts = added.there[owner]
    judge, people = np.where(counts, added.judge, 0.0), np.where(counts, added.people, 0.0)
    own = people[labels], judge[labels]
    units = LabeledUnits(*own, strata.of_label, strata.population, float(judge.sum()), added.rounding)
    of_query = _OfQueries(units, sum_by(owner, judge, len(added.there)), added, owner[labels], span)
    weights = tune_judge_weights(units)
    told = [of_query.estimate(each, target, level) for each in (np.zeros(len(labels)), weights, np.ones(len(labels)))]
    found, number = told[1].total, float(of_query.number)
    return DesignEstimate(
        people=told[0].bounded,
        corrected=told[1].bounded,
        untuned=told[2].bounded,
        weight=float(weights.mean()),
        correlation=correlation(units),
        queries=int(added.there.sum()),
        population=units.population,
        drawn=units.drawn,
        spread=found.spread / number**2,
        parts=found.parts / number**2,
        fixed=told[1].between,
        residual=found.residual / number,
        of_query=owner[labels],
    )


class _StratifiedEstimate(NamedTuple):
    """An estimate with its interval, the underlying total, and the part of its variance between queries."""

    bounded: EstimateWithInterval
    total: TotalEstimate
    between: float


class _OfQueries:
    """The estimate as a mean over queries.

    Args:
        units: audited passages.
        judge: [query] value by the judge's labels.
        added: contributions of passages, and the constant values of queries.
        of_query: [unit] index of its query.
        span: range of the values of queries.
    """

    def __init__(
        self, units: LabeledUnits, judge: Floats, added: Contributions, of_query: Ints, span: ValueRange
    ) -> None:
        self.units, self.judge, self.added, self.of_query, self.span = units, judge, added, of_query, span
        self.number = int(added.there.sum())

    def estimate(self, weights: Floats, target: str, level: float) -> _StratifiedEstimate:
        """The mean over queries with given weights of the judge."""
        found = total(self.units, weights)
        mean = (found.estimate + float(self.added.constant[self.added.there].sum())) / self.number
        variance, degrees, between = found.variance / self.number**2, found.degrees, 0.0
        if target == NEW:
            between, of_spread = self._between(float(weights.mean()), found.variance)
            degrees = min(degrees, of_spread)
        return _StratifiedEstimate(interval(mean, variance + between, degrees, level, self.span), found, between)

    def _between(self, weight: float, variance: float) -> tuple[float, float]:
        """The part of the variance between queries, without the sample's own part, and its degrees of freedom."""
        units, queries = self.units, len(self.judge)
        left = units.people - weight * units.judge
        scale = units.population / units.drawn
        values = self.added.constant + weight * self.judge + sum_by(self.of_query, scale[units.stratum] * left, queries)
        counting = values[self.added.there]
        spread = float(counting.var(ddof=1))
        cell = self.of_query * len(scale) + units.stratum
        sums = sum_by(cell, left, queries * len(scale)).reshape(queries, len(scale))
        squares = sum_by(units.stratum, left**2, len(scale))
        of_queries = float(units.factors / units.free @ (squares - (sums**2).sum(axis=0) / units.drawn))
        noise = (of_queries - variance / self.number) / (self.number - 1)
        return max(0.0, spread - noise) / self.number, degrees_of_spread(counting, spread)


def degrees_of_spread(values: Floats, spread: float) -> float:
    """Degrees of freedom of the variance of given values."""
    one, number = np.array([spread]), float(len(values))
    moments = np.array([float(((values - values.mean()) ** 4).mean())])
    return degrees_of_sum(one, variance_of_variance(one, moments, np.array([number])), number - 1)
