"""Estimates: arithmetic and geometric means over queries, with their distribution over tie orders."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from trueval.numerics import or_null
from trueval.standings.standings import Floats

# trec_eval MIN_GEO_MEAN: with ln 0, one failed query would determine the mean.
LEAST_IN_GEOMETRIC_MEAN = 1e-5


class Estimate(NamedTuple):
    """The mean of a measure over queries, with its distribution over tie orders.

    Attributes:
        expected: mean over all tie orders.
        lowest: mean of the lowest values per query.
        highest: mean of the highest values per query.
        tie_broken: mean under the tie order; NaN where the order is not known.
        sd: standard deviation of the mean over tie orders, sqrt(sum of variances) / queries.
        queries: number of queries in the mean; for others the value is not available.
    """

    expected: float
    lowest: float
    highest: float
    tie_broken: float
    sd: float
    queries: int

    @property
    def range(self) -> float:
        """Tie range, highest - lowest; P-A eq. 4."""
        return self.highest - self.lowest

    @property
    def bias(self) -> float:
        """Tie bias, tie-broken - expected; P-A eq. 5."""
        return self.tie_broken - self.expected

    @property
    def z(self) -> float:
        """Bias / sd: how unusual the tie order is; NaN where sd is 0."""
        return self.bias / self.sd if self.sd else math.nan

    def to_dict(self, *names: str) -> dict[str, float | None]:
        """The given statistics, by default all, and the number of queries; null if not available."""
        chosen = names or ("expected", "lowest", "highest", "range", "tie_broken", "bias", "sd")
        return {**{name: or_null(getattr(self, name)) for name in chosen}, "queries": self.queries}


def arithmetic_mean(values: Floats) -> float:
    """The arithmetic mean, also where the sum of the values overflows."""
    with np.errstate(over="ignore"):
        mean = float(np.mean(values))
    return mean if math.isfinite(mean) or not np.isfinite(values).all() else float((values / len(values)).sum())


def geometric_mean(values: Floats) -> float:
    """The exponential of the mean of ln max(value, 0.00001), with the floor of trec_eval's gm_map.

    >>> round(geometric_mean(np.array([0.25, 1.0])), 12), round(geometric_mean(np.array([0.0])), 12)
    (0.5, 1e-05)
    """
    return float(np.exp(np.log(np.maximum(values, LEAST_IN_GEOMETRIC_MEAN)).mean()))
