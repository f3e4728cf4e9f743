"""A value with its interval, as the result files of sweeps and frontiers hold it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class IntervalEstimate:
    """A value with the interval over resamples of queries, of times, or of both.

    Attributes:
        value: None where it could not be measured.
        low: lower end of the interval; None without one.
        high: upper end; None without one, or where the samples are too few to know it.
    """

    value: float | None
    low: float | None
    high: float | None
