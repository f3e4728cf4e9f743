"""Changes: means over queries and their paired changes, with bootstrap intervals over the same resamples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueval.comparison.resampling.bootstrap_intervals import bootstrap_intervals
from trueval.comparison.resampling.resampled_sums import thread_count
from trueval.errors import PolicyError
from trueval.numerics import or_null

Floats = NDArray[np.float64]


class MeanEstimate(NamedTuple):
    """A mean over queries, with the confidence interval of the population mean.

    Attributes:
        value: mean; NaN if no query has a value.
        low: lower end of the interval; NaN below two queries.
        high: upper end of the interval.
        queries: number of queries in the mean.
    """

    value: float
    low: float
    high: float
    queries: int

    def to_dict(self) -> dict[str, object]:
        """The JSON form in result files; null where unknown."""
        ends = {"value": or_null(self.value), "low": or_null(self.low), "high": or_null(self.high)}
        return {**ends, "queries": self.queries}


@dataclass(frozen=True)
class Bootstrap:
    """The bootstrap over queries.

    Args:
        threads: number of threads; one per processor if None.

    Raises:
        PolicyError: a level outside (0, 1), or fewer than one resample.

    >>> found = Bootstrap(resamples=100).change(np.array([1.0, 0.5, 0.0]), np.array([0.5, 0.0, np.nan]))
    >>> found.value, found.low, found.high, found.queries
    (0.5, 0.5, 0.5, 2)
    """

    level: float = 0.95
    resamples: int = 2000
    seed: int = 0
    threads: int | None = None

    def __post_init__(self) -> None:
        if not 0 < self.level < 1:
            raise PolicyError(f"level must be a number between 0 and 1. Got {self.level!r}.")
        if self.resamples < 1:
            raise PolicyError(f"resamples must be an integer >= 1. Got {self.resamples!r}.")

    def mean(self, values: Floats) -> MeanEstimate:
        """The mean of a measure, with its interval.

        Args:
            values: [query] values; NaN where missing, and left out.
        """
        return self.change(values, np.zeros(len(values)))

    def change(self, values: Floats, before: Floats) -> MeanEstimate:
        """The mean of values - before, paired by query, with its interval.

        Args:
            values: [query] values; NaN where missing.
            before: [query] baseline values; a query that lacks one of the two is left out.
        """
        known = ~(np.isnan(values) | np.isnan(before))
        columns = np.stack([values[known], before[known]], axis=1)
        if not len(columns):
            return MeanEstimate(np.nan, np.nan, np.nan, 0)
        found = bootstrap_intervals(
            columns,
            np.zeros_like(columns),
            np.array([0]),
            np.array([1]),
            level=self.level,
            resamples=self.resamples,
            seed=self.seed,
            threads=thread_count(self.threads),
        )
        low, high = found.expected[0].tolist()
        return MeanEstimate(float((columns[:, 0] - columns[:, 1]).mean()), low, high, len(columns))
