"""Jitter: by how much the latency of one configuration differs from itself, and what is more than that.

    jitter = t_{R-1}(.975) s sqrt(2 / R)

with s the standard deviation of a percentile over whole repeats, R of them: 95 % of the differences between two
measurements of the same configuration, R repeats each, are smaller. P-B takes 75 ms for all (§3.2.2), of services over
a network. Of two configurations it is the root of the mean square of both.

P-B §5.4 found medians that jump from 494 to 2,720 ms between K = 100 and 150, and took them for a fault of the service.
Here a value is a discontinuity where it is off by more than the jitter, and by more than a factor from what the last
regular one lets expect: at least that value, at most that value times the growth of K.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from trueval.tradeoff.percentiles import Floats, Ints, Times

LEVEL: Final = 0.95
FACTOR: Final = 2.0  # between 1.28 and 2.35 it flags what P-B's Table 15 marks, and nothing of Table 16
GAP: Final = 30.0  # minutes without a sample that end a session


def jitter(times: Times, share: float = 0.5, *, level: float = LEVEL) -> float | None:
    """The difference that two measurements of one configuration stay below, at a level, in seconds.

    Args:
        times: of a stage or a total, of some repeats.
        share: of the percentile, .5 for p50.
        level: of the differences.

    Returns:
        Seconds; None of a single repeat, which says nothing of it.

    >>> seconds = np.array([1.0, 1.1, 1.2])
    >>> round(jitter(Times(np.zeros(3, dtype=int), np.arange(3), np.zeros(3), seconds)), 4)  # 4.3027 * .1 * sqrt(2 / 3)
    0.3513
    """
    from scipy.special import stdtrit

    repeats = np.unique(times.repeat).tolist()
    if len(repeats) < 2:
        return None
    found = [float(np.quantile(times.of(repeat), share)) for repeat in repeats]
    t = float(stdtrit(len(repeats) - 1, (1 + level) / 2))
    return t * float(np.std(found, ddof=1)) * math.sqrt(2 / len(repeats))


def jitter_of_two(one: float | None, other: float | None) -> float | None:
    """The jitter of a difference between two configurations; None where one is not known.

    >>> jitter_of_two(0.003, 0.004), jitter_of_two(0.003, None)
    (0.0035355339059327377, None)
    """
    return None if one is None or other is None else math.sqrt((one**2 + other**2) / 2)


def is_difference(one: float, other: float, *, jitter: float | None = None, band: float | None = None) -> bool | None:
    """Whether two latencies differ by more than the jitter, or than a band where one is given.

    Args:
        one: percentile of a configuration, in seconds.
        other: the same of another one.
        jitter: of the two, as jitter_of_two gives it.
        band: takes the place of the jitter (P-B: 0.075).

    Returns:
        None where neither is known.

    >>> is_difference(0.333, 0.404, band=0.075), is_difference(0.333, 0.478, band=0.075), is_difference(0.333, 0.478)
    (False, True, None)
    """
    least = jitter if band is None else band
    return None if least is None else abs(one - other) > least


def sessions(started: Floats, *, gap: float = GAP) -> Ints:
    """The session of each sample, from 0: a new one begins after so many minutes without any.

    Args:
        started: [sample] seconds since 1970, in any order.
        gap: minutes.

    >>> sessions(np.array([7200.0, 0.0, 60.0])).tolist()
    [1, 0, 0]
    """
    order = np.argsort(started, kind="stable")
    found = np.empty(len(started), dtype=np.int64)
    found[order] = np.concatenate(([0], np.cumsum(np.diff(started[order]) > 60 * gap)))[: len(started)]
    return found


def session_medians(times: Times, session: Ints) -> Floats:
    """[session] medians, one after another in time.

    Args:
        times: of a stage or a total.
        session: [sample] what `sessions` gave.
    """
    return np.array([np.median(times.seconds[session == each]) for each in np.unique(session)])


def discontinuities(
    values: Sequence[float] | Floats,
    sizes: Sequence[float] | Ints | None = None,
    *,
    jitter: float = 0.0,
    factor: float = FACTOR,
) -> NDArray[np.bool_]:
    """Which of some latencies are off: x > factor x' max(K / K', 1), or x < x' min(K / K', 1) / factor.

    x' is the last one before it that is not off, at K'. The first one counts as regular.

    Args:
        values: of sessions in the order of time, or of one configuration at growing K.
        sizes: K of each; None where nothing grows.
        jitter: a difference below is none, in the unit of the values.
        factor: above 1.

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
        off[place] = apart and abs(value - before) > jitter
        regular = regular if off[place] else place
    return off
