"""Values with bootstrap intervals; queries are resampled, since the labels of one query are correlated.

Percentile intervals, at the tails of comparison/resampling/bootstrap_intervals.py, which correct for the small variance
of resampled sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from trueval.comparison.resampling.bootstrap_intervals import tail
from trueval.comparison.resampling.resampled_sums import bootstrap_sums, to_grid
from trueval.errors import PolicyError
from trueval.numerics import or_null
from trueval.report.json_fields import OMITTED
from trueval.standings.standings import Floats

# Maximum share of resamples in which a value may be undefined, such as κ where only one grade was drawn; above it there
# is no interval.
UNKNOWN: Final = 0.05


@dataclass(frozen=True)
class ValueWithInterval:
    """A number with its confidence interval over queries.

    Attributes:
        value: None if undefined.
        low: lower end of the interval; None without one.
        high: upper end; None without one.
        reason: why something is None; else empty.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    reason: str = field(default="", metadata=OMITTED)


def unknown(names: Iterable[str], reason: str) -> dict[str, ValueWithInterval]:
    """Values that cannot be computed, with the reason."""
    return {name: ValueWithInterval(None, reason=reason) for name in names}


class Resampler(NamedTuple):
    """Settings of the bootstrap over queries."""

    resamples: int = 2000
    seed: int = 0
    level: float = 0.95

    def validate(self) -> Resampler:
        """The settings, validated.

        Raises:
            PolicyError: there are too few resamples, or the level is none.
        """
        if self.resamples < 100:
            raise PolicyError(f"resamples must be an integer >= 100. Got {self.resamples}.")
        if not 0.5 < self.level < 1:
            raise PolicyError(f"level must be between 0.5 and 1, such as 0.95. Got {self.level:g}.")
        return self

    def values(self, parts: Floats, found: Callable[[Floats], Mapping[str, Floats]]) -> dict[str, ValueWithInterval]:
        """Functions of sums over queries, with bootstrap intervals.

        Args:
            parts: [query, ...] contribution of each query to the sums; a query that contributes nothing is not counted.
            found: name → function from [..., *shape] sums to [...] values; NaN where undefined.
        """
        shape = parts.shape[1:]
        flat = parts.reshape(len(parts), -1)
        flat = flat[np.any(flat != 0, axis=1)]
        values = {name: float(each) for name, each in found(parts.sum(axis=0)).items()}
        if len(flat) < 2:
            return {name: _alone(value, "one query only: no interval") for name, value in values.items()}
        sums = bootstrap_sums(to_grid(flat), self.resamples, self.seed, threads=1).T.reshape(-1, *shape)
        share = tail(len(flat), self.level)
        return {name: percentile_interval(values[name], drawn, share) for name, drawn in found(sums).items()}


def _alone(value: float, reason: str) -> ValueWithInterval:
    return ValueWithInterval(or_null(value), reason=reason if value == value else "nothing to compare")


def percentile_interval(value: float, drawn: Floats, share: float) -> ValueWithInterval:
    """A value with the percentiles of its resampled ones; without an interval where many of these are undefined.

    Args:
        value: NaN if undefined.
        drawn: [resample] resampled values; NaN where undefined.
        share: share of the resamples to leave out at each end (bootstrap_intervals.tail).
    """
    if np.isnan(value):
        return ValueWithInterval(None, reason="nothing to compare")
    missing = float(np.isnan(drawn).mean())
    if missing > UNKNOWN:
        return ValueWithInterval(value, reason=f"unknown in {missing:.0%} of the resamples: no interval")
    low, high = np.nanquantile(drawn, [share, 1 - share]).tolist()
    return ValueWithInterval(value, low, high)
