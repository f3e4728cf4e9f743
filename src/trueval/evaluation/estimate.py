"""Estimates: means over queries, arithmetic and geometric, and what tie orders can do to them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from trueval.numerics import or_null
from trueval.standings.standings import Floats

# trec_eval MIN_GEO_MEAN: ln 0 would make one failed query decide everything.
LEAST_IN_GEOMETRIC_MEAN = 1e-5


class Estimate(NamedTuple):
    """The mean of a measure over queries, and what tie orders can do to it.

    Attributes:
        expected: mean over all orders of tied documents.
        lowest: mean of the lowest values.
        highest: mean of the highest values.
        tie_broken: mean under the tie order; NaN where that is not known.
        sd: standard deviation of the mean over tie orders, sqrt(sum of variances) / queries.
        queries: queries averaged over; the others were not available.
    """

    expected: float
    lowest: float
    highest: float
    tie_broken: float
    sd: float
    queries: int

    @property
    def range(self) -> float:
        """Highest - lowest; P-A eq. 4."""
        return self.highest - self.lowest

    @property
    def bias(self) -> float:
        """Tie-broken - expected; P-A eq. 5."""
        return self.tie_broken - self.expected

    @property
    def z(self) -> float:
        """Bias / sd: how unlikely the tie-broken order is; NaN where sd is 0."""
        return self.bias / self.sd if self.sd else math.nan

    def to_dict(self, *names: str) -> dict[str, Any]:
        """Some of its numbers, all unless told otherwise, and its queries; null where not available."""
        chosen = names or ("expected", "lowest", "highest", "range", "tie_broken", "bias", "sd")
        return {**{name: or_null(getattr(self, name)) for name in chosen}, "queries": self.queries}


def arithmetic_mean(values: Floats) -> float:
    """The mean, also where the sum of the values is out of range."""
    with np.errstate(over="ignore"):
        mean = float(np.mean(values))
    return mean if math.isfinite(mean) or not np.isfinite(values).all() else float((values / len(values)).sum())


def geometric_mean(values: Floats) -> float:
    """Exp of the mean of ln max(value, 0.00001), the least value of trec_eval's gm_map.

    >>> round(geometric_mean(np.array([0.25, 1.0])), 12), round(geometric_mean(np.array([0.0])), 12)
    (0.5, 1e-05)
    """
    return float(np.exp(np.log(np.maximum(values, LEAST_IN_GEOMETRIC_MEAN)).mean()))
