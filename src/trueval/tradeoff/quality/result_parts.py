"""Parts that the result files of sweeps and of frontiers share."""

from __future__ import annotations

from dataclasses import dataclass, field

from trueval.report.json_fields import OMITTED, json_key


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


@dataclass(frozen=True)
class MeanInterval(IntervalEstimate):
    """A mean over queries with its interval, and their number."""

    queries: int


@dataclass(frozen=True)
class OmittedConfiguration:
    """A configuration or system that is not in the results, with the reason; `key` is that of a system."""

    name: str
    reason: str
    key: str = field(default="", metadata=OMITTED)


@dataclass(frozen=True)
class MeasureMean:
    """The mean of a measure over queries.

    Attributes:
        expected: over all orders of ties; None without a value, as of all others.
        lowest: under the worst order of ties.
        highest: under the best one.
        range: highest - lowest.
        sd: standard deviation over orders of ties.
        queries: number of queries.
        low: lower end of the bootstrap interval over queries.
        high: its upper end.
    """

    expected: float | None
    lowest: float | None
    highest: float | None
    range: float | None
    sd: float | None
    queries: int
    low: float | None
    high: float | None


@dataclass(frozen=True)
class PoolCeiling:
    """What the best order of the pool would be worth (docs/design/tradeoff.md, P-B section 5.1).

    Attributes:
        proc: quality with the best K of the pool first.
        actual: quality, over the same queries.
        share: actual / PROC; None for a ceiling of 0.
        mean_share: mean of the ratios of queries.
        retrieval_headroom: 1 - PROC.
        ordering_headroom: PROC - actual.
        queries: number of queries.
    """

    proc: float | None = field(metadata=json_key("PROC"))
    actual: float | None
    share: float | None
    mean_share: float | None
    retrieval_headroom: float | None
    ordering_headroom: float | None
    queries: int
