"""Estimates of one measure under a sampling design, and the interval of an estimate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from trueval.comparison.labels.correction import StratumGain
from trueval.evaluation.corrected_values import EstimateWithInterval, OpenQuery
from trueval.measures.span import ANYTHING, ValueRange
from trueval.standings.standings import Floats, Ints, sum_by

# Targets of an estimate: the mean over the population of queries, or over these queries alone, had people graded all.
NEW: Final = "new queries"
THESE: Final = "these queries"
TARGETS: Final = (NEW, THESE)

# A standard error below this share of its value is rounding noise.
ROUNDING: Final = 1e-9

# Number of queries listed as those in which judge and people differ most.
OPEN_QUERIES: Final = 10


@dataclass(frozen=True, eq=False)
class DesignEstimate:
    """Estimates of one measure under a sampling design.

    Attributes:
        people: estimate by people's labels alone.
        corrected: estimate with the tuned weight.
        untuned: estimate with weight 1.
        weight: mean of the tuned weights.
        correlation: correlation of the two values of audited units.
        queries: number of queries that count by people's labels.
        population: [stratum] number of units.
        drawn: [stratum] number of audited units.
        spread: [stratum] variance of the residuals in units of the corrected value.
        parts: [stratum] its part of the variance of the corrected value.
        fixed: part of the variance that no label removes.
        residual: [unit] residuals of the corrected value.
        of_query: [unit] index of its query.
    """

    people: EstimateWithInterval
    corrected: EstimateWithInterval
    untuned: EstimateWithInterval
    weight: float
    correlation: float
    queries: int
    population: Floats
    drawn: Floats
    spread: Floats
    parts: Floats
    fixed: float
    residual: Floats
    of_query: Ints

    def strata(self, names: Sequence[str]) -> tuple[StratumGain, ...]:
        """Gain of more labels per stratum.

        Args:
            names: [stratum] names.
        """
        # The variance has population^2 spread / drawn of each: one more unit takes 1 / (drawn + 1) of that off.
        worth = np.where(self.drawn < self.population, self.parts_without_end / (self.drawn + 1), 0.0)
        share = self.parts / self.parts.sum() if self.parts.any() else np.zeros(len(self.parts))
        rows = zip(names, self.population, self.drawn, self.spread, share, worth, strict=True)
        return tuple(StratumGain(name, int(of), int(drawn), *map(float, numbers)) for name, of, drawn, *numbers in rows)

    @property
    def is_partial(self) -> bool:
        """Whether some units are not graded."""
        return bool((self.drawn < self.population).any())

    @property
    def parts_without_end(self) -> Floats:
        """[stratum] its part of the variance without the finite population correction."""
        return self.population**2 * self.spread / self.drawn

    def open(self, query_ids: Sequence[str]) -> tuple[OpenQuery, ...]:
        """The queries on which people's labels differ most from what the judge's predict, largest first.

        Args:
            query_ids: [query] ids.
        """
        squares = sum_by(self.of_query, self.residual**2, len(query_ids))
        order = np.argsort(-squares, kind="stable")[:OPEN_QUERIES]
        return tuple(
            OpenQuery(query_ids[at], float(squares[at] / squares.sum())) for at in order.tolist() if squares[at] > 0
        )


def varies(value: EstimateWithInterval) -> bool:
    """Whether an estimate has a standard error beyond rounding."""
    return not value.se <= ROUNDING * (1 + abs(value.estimate))


def without_interval(value: EstimateWithInterval) -> EstimateWithInterval:
    """The estimate alone: equal units say nothing about how much the others vary."""
    return EstimateWithInterval(value.estimate, math.nan, math.nan, math.nan, math.nan)


def interval(
    estimate: float, variance: float, degrees: float, level: float, span: ValueRange = ANYTHING
) -> EstimateWithInterval:
    """The interval of a mean of values that lie in a span; each end is the farther one of two.

        t      estimate - t se, estimate + t se, cut to the span
        score  the x with |m - x| = t se sqrt(v(x) / v(m)), v(x) = (x - low) (high - x)

    m is the estimate cut to the span; an infinite end is no factor of v. Near an end of the span values vary less: a t
    interval with the variance seen misses means that are farther from that end. Of values 0 and 1 the score interval is
    Wilson's, of as many observations as m (1 - m) / se^2 says. No distance in v(m) counts as less than se: the
    mean of a sample of such values is never nearer to an end.

    Sources: Wilson 1927; with t and effective numbers of observations Franco, Little, Louis, Slud 2019 (of surveys);
    v for values between 0 and 1: Papke & Wooldridge 1996. Measured in docs/audit.md.

    Args:
        estimate: estimated mean; it may lie outside the span.
        variance: variance of the estimate.
        degrees: degrees of freedom.
        level: coverage of the interval, 0.95 for example.
        span: range of the values.

    >>> round(interval(0.5, 0.01, 9, 0.95).low, 2)
    0.27
    >>> round(interval(0.95, 0.05**2, 19, 0.95, ValueRange(0.0, 1.0)).low, 2)
    0.74
    """
    from scipy.special import stdtrit

    se = math.sqrt(max(variance, 0.0))
    half = float(stdtrit(degrees, (1 + level) / 2)) * se
    ends = estimate - half, estimate + half
    if half > 0 and span != ANYTHING:
        near, far = _score_ends(span.cut(estimate), half, se, span)
        ends = min(span.cut(ends[0]), near), max(span.cut(ends[1]), far)
    return EstimateWithInterval(estimate, *ends, se, degrees)


def _score_ends(middle: float, half: float, se: float, span: ValueRange) -> tuple[float, float]:
    """The two solutions x of (x - m)^2 = half^2 v(x) / v(m), a quadratic equation in x - m."""
    below, above = middle - span.low, span.high - middle
    # v(x) = value + slope (x - m) + curve (x - m)^2
    if math.isinf(above):
        value, slope, curve, spread = below, 1.0, 0.0, max(below, se)
    elif math.isinf(below):
        value, slope, curve, spread = above, -1.0, 0.0, max(above, se)
    else:
        value, slope, curve, spread = below * above, above - below, -1.0, max(below, se) * max(above, se)
    scale = half**2 / spread
    shift, square = scale * slope, 1 - scale * curve
    root = math.sqrt(shift**2 + 4 * square * scale * value)
    low, high = middle + (shift - root) / (2 * square), middle + (shift + root) / (2 * square)
    return span.cut(low), span.cut(high)  # rounding
