"""Percentiles of latency with bootstrap intervals: queries are resampled, each with all its repeats.

    quantile(p) = x[j] + (h - j) (x[j+1] - x[j]),   h = (n - 1) p,   j = floor(h),   x sorted, from 0

which is type 7 of Hyndman & Fan 1996, the default of NumPy, R and spreadsheets. Repeats of one query are alike, so a
resample draws queries, and takes every repeat of those (Davison & Hinkley 1997, section 3.8); the shares that are cut
off at the ends are those of comparison/resampling/bootstrap_intervals.py for as many queries.

No resample has a value above the highest measured one, and with few samples that is too often below a high percentile:
the upper end is then unknown, and None. It counts as known if the largest of n samples is above the percentile with
probability 1 - p^n of at least (1 + level) / 2; n is the effective number of samples, since repeats of one query are
correlated:

    n = samples / (1 + (repeats - 1) rho),   rho the intraclass correlation of the ranks of the samples

At .95 a p95 needs 72 samples that are independent, a p99 368.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trueval.comparison.resampling.bootstrap_intervals import tail
from trueval.errors import InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NAMES: Final = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
CELLS: Final = 1 << 22  # maximum resamples times samples per block


class PercentileEstimate(NamedTuple):
    """A percentile with its interval.

    Attributes:
        value: percentile of the samples, in seconds.
        low: lower end of its interval; None below two queries.
        high: upper end; also None if there are too few samples to know it.
    """

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True, eq=False)
class Times:
    """Times of one stage, or of a whole system.

    Attributes:
        query: [sample] index of the query, from 0.
        repeat: [sample] index of the repeat.
        started: [sample] seconds since 1970, UTC; for several stages, the start of the first.
        seconds: [sample] duration.
    """

    query: Ints
    repeat: Ints
    started: Floats
    seconds: Floats

    def __len__(self) -> int:
        return len(self.seconds)

    def of(self, repeat: int) -> Floats:
        """[sample] seconds in one repeat."""
        found: Floats = self.seconds[self.repeat == repeat]
        return found


@dataclass(frozen=True)
class Latency:
    """Percentiles of one stage, or of the total."""

    p50: PercentileEstimate
    p95: PercentileEstimate
    p99: PercentileEstimate
    samples: int

    def to_dict(self) -> dict[str, object]:
        """The JSON form."""
        return {name: getattr(self, name)._asdict() for name in NAMES} | {"samples": self.samples}


def times_of(samples: pl.DataFrame, tasks: Sequence[str]) -> Times:
    """Total time of tasks: their sum per query and repeat.

    A (query, repeat) is left out if one of the tasks lacks it. A system may have the same task twice.

    Args:
        samples: columns task, query_id, repeat, started, seconds.
        tasks: names of the tasks of a stage, or of all stages of a system.

    Raises:
        InputError: no query has samples of all the tasks.

    >>> rows = [("a", "q", 0, 0.0, 1.0), ("b", "q", 0, 2.0, 0.5), ("a", "q", 1, 4.0, 1.5)]
    >>> frame = pl.DataFrame(rows, schema=["task", "query_id", "repeat", "started", "seconds"], orient="row")
    >>> times_of(frame, ["a", "b"]).seconds.tolist()
    [1.5]
    """
    wanted = pl.DataFrame({"task": list(tasks)}).group_by("task").len("times")
    together = (
        samples.join(wanted, on="task")
        .group_by("query_id", "repeat", maintain_order=True)
        .agg(
            pl.col("task").n_unique().alias("tasks"),
            pl.col("started").min(),
            (pl.col("seconds") * pl.col("times")).sum(),
        )
        .filter(pl.col("tasks") == len(wanted))
        .with_columns(query=pl.col("query_id").rank("dense").cast(pl.Int64) - 1)
    )
    if together.is_empty():
        raise InputError(f"No query was timed with all of {', '.join(tasks)}. Measure them with the same queries.")
    query, repeat, started, seconds = (together[name].to_numpy() for name in ("query", "repeat", "started", "seconds"))
    return Times(query, repeat, started, seconds)


def latency(times: Times, *, rng: np.random.Generator, level: float = 0.95, resamples: int = 2000) -> Latency:
    """p50, p95 and p99, each with its interval.

    Args:
        times: times of a stage or a total.
        resamples: number of resamples of queries.

    >>> four = Times(np.arange(4), np.zeros(4, dtype=int), np.zeros(4), np.array([1.0, 2.0, 3.0, 5.0]))
    >>> found = latency(four, rng=np.random.default_rng(0))
    >>> found.p50.value, round(found.p95.value, 6), found.p95.high
    (2.5, 4.7, None)
    """
    shares = list(NAMES.values())
    values = np.quantile(times.seconds, shares).tolist()
    queries = len(np.unique(times.query))
    if queries < 2:
        return _latency([PercentileEstimate(value, None, None) for value in values], times)
    far = tail(queries, level)
    ends = np.quantile(resample_quantiles(times, shares, resamples, rng), [far, 1 - far], axis=0)
    counted = independent(times)
    found = [
        PercentileEstimate(value, float(low), float(high) if 1 - share**counted >= (1 + level) / 2 else None)
        for share, value, low, high in zip(shares, values, *ends, strict=True)
    ]
    return _latency(found, times)


def _latency(found: Sequence[PercentileEstimate], times: Times) -> Latency:
    p50, p95, p99 = found
    return Latency(p50, p95, p99, len(times))


def resample_quantiles(times: Times, shares: Sequence[float], resamples: int, rng: np.random.Generator) -> Floats:
    """[resample, share] quantiles over resampled queries.

    Args:
        times: times of a stage or a total.
        shares: [share] percentiles as fractions.
        resamples: number of resamples of queries.
        rng: draws them.
    """
    order = np.argsort(times.seconds, kind="stable")
    seconds = times.seconds[order]
    _, query = np.unique(times.query, return_inverse=True)
    queries = int(query.max()) + 1
    found = np.empty((resamples, len(shares)))
    at_once = max(CELLS // len(seconds), 1)
    for start in range(0, resamples, at_once):
        rows = slice(start, min(start + at_once, resamples))
        drawn = rng.multinomial(queries, np.full(queries, 1 / queries), size=rows.stop - start)
        found[rows] = _weighted_quantiles(seconds, drawn[:, query[order]], shares)
    return found


def _weighted_quantiles(seconds: Floats, times: Ints, shares: Sequence[float]) -> Floats:
    """[row, share] quantiles of sorted values with multiplicities.

    >>> _weighted_quantiles(np.array([1.0, 2.0, 4.0]), np.array([[1, 1, 1], [0, 3, 1]]), [0.5, 0.75]).tolist()
    [[2.0, 3.0], [2.0, 2.5]]
    """
    upto = np.cumsum(times, axis=1)
    found = np.empty((len(times), len(shares)))
    for column, share in enumerate(shares):
        h = (upto[:, -1] - 1) * share
        below = np.floor(h)
        # The value in place j is the first one with more than j values up to it.
        first = seconds[(upto > below[:, None]).argmax(axis=1)]
        next_one = seconds[(upto > np.minimum(below + 1, upto[:, -1] - 1)[:, None]).argmax(axis=1)]
        found[:, column] = first + (h - below) * (next_one - first)
    return found


def independent(times: Times) -> float:
    """Effective number of independent samples: repeats of one query are correlated.

    n / (1 + (m - 1) rho), with m repeats and rho the intraclass correlation of the ranks by a one-way analysis of
    variance (Kish 1965, section 5.4, where the denominator is the design effect).

    >>> alike = Times(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.zeros(4), np.array([1.0, 1.0, 2.0, 2.0]))
    >>> independent(alike)
    2.0
    """
    _, query, sizes = np.unique(times.query, return_inverse=True, return_counts=True)
    samples, queries = len(times), len(sizes)
    if samples == queries or queries < 2:
        return float(queries)
    ranks = pl.Series(times.seconds).rank().to_numpy()
    middle = np.bincount(query, ranks) / sizes
    between = float((sizes * (middle - ranks.mean()) ** 2).sum()) / (queries - 1)
    within = float(((ranks - middle[query]) ** 2).sum()) / (samples - queries)
    repeats = (samples - (sizes**2).sum() / samples) / (queries - 1)
    alike = (between - within) / (between + (repeats - 1) * within) if between + within else 0.0
    return float(samples / (1 + (samples / queries - 1) * min(max(alike, 0.0), 1.0)))
