"""Jitter: the relative run-to-run variation of latency, and which latencies differ by more.

Noise of machines and networks is proportional to latency, so jitter is computed on logs:

    y_r = ln of a percentile of repeat r,    s^2 the variance of y_r over R repeats
    jitter = t_{R-1}(.975) s sqrt(2 / R)

95 % of the log ratios of two measurements of one configuration, R repeats each, are below its jitter. Configurations a
and b are separated if

    |mean y_a - mean y_b| > t(.975) sqrt(s_a^2 / R_a + s_b^2 / R_b)

Configurations of one method do the same work, so s^2 is pooled over them with sum (R_c - 1) degrees of freedom. Methods
differ in s^2, so between two of them the degrees of freedom are those of Welch 1947 ("The generalization of 'Student's'
problem when several different population variances are involved", Biometrika 34: 28-35). With one repeat nothing is
separated. P-B uses 75 ms for everything (section 3.2.2), for services over a network: a band replaces the test.

P-B section 5.4 found medians that jump from 494 to 2,720 ms between K = 100 and 150, and attributed them to a fault of
the service. Here a value is a discontinuity where it deviates by more than the jitter, and by more than a factor from
the range predicted by the last regular value: at least that value, at most that value times the growth of K.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from trueval.latency.percentiles import Floats, Ints, Times
from trueval.standings.standings import Bools

LEVEL: Final = 0.95
FACTOR: Final = 2.0  # values from 1.28 to 2.35 flag what P-B's Table 15 marks, and nothing in Table 16
GAP: Final = 30.0  # minutes without a sample after which a session ends
TICK: Final = 1e-9  # seconds: the resolution of clocks, since logs need values above 0


def jitter(times: Times, share: float = 0.5, *, level: float = LEVEL) -> float | None:
    """Upper bound, at a level, of the log ratio between two measurements of one configuration.

    Args:
        times: times of a stage or a total, over some repeats.
        share: the percentile as a fraction, .5 for p50.

    Returns:
        The bound: 0.1 is about 10 %. None for a single repeat.

    >>> seconds = np.exp([0.0, 0.1, 0.2])
    >>> round(jitter(Times(np.zeros(3, dtype=int), np.arange(3), np.zeros(3), seconds)), 4)  # 4.3027 * .1 * sqrt(2 / 3)
    0.3513
    """
    from scipy.special import stdtrit

    repeats = np.unique(times.repeat).tolist()
    if len(repeats) < 2:
        return None
    found = [math.log(max(float(np.quantile(times.of(repeat), share)), TICK)) for repeat in repeats]
    t = float(stdtrit(len(repeats) - 1, (1 + level) / 2))
    return t * float(np.std(found, ddof=1)) * math.sqrt(2 / len(repeats))


def log_percentiles(totals: Floats, share: float) -> Floats:
    """[system, repeat] log of a percentile over the queries of each repeat; NaN without samples.

    Args:
        totals: [system, query, repeat] seconds; NaN without a sample.
    """
    found = np.full((totals.shape[0], totals.shape[2]), np.nan)
    timed = ~np.isnan(totals).all(axis=1)
    rows = totals.transpose(0, 2, 1)[timed]
    if rows.size:
        found[timed] = np.log(np.maximum(np.nanquantile(rows, share, axis=1), TICK))
    return found


class Separation(NamedTuple):
    """Which systems differ in latency by more than their jitter.

    Attributes:
        apart: [system, system] whether their latencies differ; symmetric.
        bounds: [system, system] log ratio above which two differ; inf if the jitter is unknown.
    """

    apart: Bools
    bounds: Floats


def compare_latencies(logs: Floats, latencies: Floats, methods: Sequence[str], *, level: float = LEVEL) -> Separation:
    """Test the latency difference of every pair of systems.

    Where the means of logs order two systems differently from their latencies, these tie.

    Args:
        logs: [system, repeat] log percentile, from `log_percentiles`.
        latencies: [system] the same percentile over all repeats.
        methods: [system] name of its method.
        level: of the test of two systems.

    >>> logs = np.log([[1.0, 1.1], [1.1, 1.0], [9.0, 9.9]])
    >>> compare_latencies(logs, np.array([1.05, 1.04, 9.5]), ["dense"] * 3).apart.astype(int).tolist()
    [[0, 0, 1], [0, 0, 1], [1, 1, 0]]
    """
    counts = (~np.isnan(logs)).sum(axis=1)
    means = np.nansum(logs, axis=1) / np.maximum(counts, 1)
    squares = np.nansum((logs - means[:, None]) ** 2, axis=1)
    _, method = np.unique(np.asarray(methods, dtype=np.str_), return_inverse=True)
    degrees = np.bincount(method, np.maximum(counts - 1, 0)).astype(np.float64)
    variances = np.bincount(method, squares) / np.maximum(degrees, 1)
    # Systems with the same method and number of repeats have the same error, so there are few kinds.
    kinds, kind = np.unique(np.stack([method, counts], axis=1), axis=0, return_inverse=True)
    known = (kinds[:, 1] > 0) & (degrees[kinds[:, 0]] > 0)
    errors = np.where(known, variances[kinds[:, 0]] / np.maximum(kinds[:, 1], 1), np.nan)
    places = kind.ravel()
    bounds = _bounds(errors, kinds[:, 0], degrees[kinds[:, 0]], level)[places[:, None], places]
    gaps, order = means[:, None] - means, latencies[:, None] - latencies
    return Separation((np.abs(gaps) > bounds) & (gaps * order > 0), bounds)


def _bounds(errors: Floats, methods: Ints, degrees: Floats, level: float) -> Floats:
    """[kind, kind] critical difference of two means of logs.

    Args:
        errors: [kind] squared standard error of a mean; NaN if unknown.
        methods: [kind] index of its method.
        degrees: [kind] degrees of freedom.
    """
    from scipy.special import stdtrit

    total = errors[:, None] + errors
    with np.errstate(invalid="ignore", divide="ignore"):
        welch = total**2 / (errors[:, None] ** 2 / degrees[:, None] + errors**2 / degrees)
    # Two systems of one method share its estimate of the variance, and its degrees of freedom.
    freedom = np.where(methods[:, None] == methods, degrees[:, None], welch)
    some = total > 0
    bounds = np.where(np.isnan(total), np.inf, 0.0)
    bounds[some] = stdtrit(freedom[some], (1 + level) / 2) * np.sqrt(total[some])
    return bounds


def sessions(started: Floats, *, gap: float = GAP) -> Ints:
    """Session of each sample, from 0: a new one begins after a pause.

    Args:
        started: [sample] seconds since 1970, in any order.
        gap: length of the pause in minutes.

    >>> sessions(np.array([7200.0, 0.0, 60.0])).tolist()
    [1, 0, 0]
    """
    order = np.argsort(started, kind="stable")
    found = np.empty(len(started), dtype=np.int64)
    found[order] = np.concatenate(([0], np.cumsum(np.diff(started[order]) > 60 * gap)))[: len(started)]
    return found


def session_medians(times: Times, session: Ints) -> Floats:
    """[session] medians, in chronological order.

    Args:
        times: times of a stage or a total.
        session: [sample] session, from `sessions`.
    """
    return np.array([np.median(times.seconds[session == each]) for each in np.unique(session)])


def discontinuities(
    values: Sequence[float] | Floats,
    sizes: Sequence[float] | Ints | None = None,
    *,
    jitter: float = 0.0,
    factor: float = FACTOR,
) -> Bools:
    """Which latencies are implausible: x > factor x' max(K / K', 1), or x < x' min(K / K', 1) / factor.

    x' is the last regular value before it, at K'. The first value counts as regular.

    Args:
        values: latencies of sessions in chronological order, or of one configuration at increasing K.
        sizes: K of each; None if K is constant.
        jitter: log ratio below which a deviation is not a discontinuity.
        factor: minimum factor of a discontinuity, above 1.

    Source: P-B §5.4, Table 15.

    >>> discontinuities([332.9, 494.1, 2720.7, 2931.1], [50, 100, 150, 200]).tolist()
    [False, False, True, True]
    """
    at = np.ones(len(values)) if sizes is None else np.asarray(sizes, dtype=np.float64)
    off = np.zeros(len(values), dtype=bool)
    regular = 0
    for place in range(1, len(values)):
        value, before, grown = float(values[place]), float(values[regular]), float(at[place] / at[regular])
        apart = value > factor * before * max(grown, 1.0) or value < before * min(grown, 1.0) / factor
        off[place] = apart and abs(math.log(max(value, TICK) / max(before, TICK))) > jitter
        regular = regular if off[place] else place
    return off
