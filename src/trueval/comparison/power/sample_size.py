"""Sample sizes by Student's t: the least difference that n queries detect, and the queries that a difference needs.

Paired: with C clusters (each query is its own cluster unless clusters are given) and a standard deviation sd between
them, the least difference that a test at a level detects with a power is

    (t_{C-1}((1 + level) / 2) + t_{C-1}(power)) sd / sqrt(C)

in which the second quantile is in place of a noncentral t: from 8 clusters on the power differs by less than .003 from
the exact one (docs/power.md). A power of 0.5 adds nothing to the first quantile, and so gives the half width of the
interval of a mean difference.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

from trueval.errors import PolicyError

# More queries than this count as never: they cannot be judged, and differences that need them are rounding noise.
MOST = 10**12

# Rounding error of a least difference that is passed back to compute its queries.
ROUNDING = 1e-12

# No rule needs less than this share of what the t test needs.
LEAST_PART = 0.7


def least_difference(sd: float, queries: float, *, level: float, power: float) -> float:
    """The least difference that a number of queries detects with the power.

    Args:
        sd: standard deviation of paired differences between queries, or between clusters.
        queries: number of queries, or of clusters; fractional where it is an effective number of equal-sized clusters.
        level: level of the test, 0.95 for example.
        power: probability of detection, 0.8 for example; 0.5 gives the half width of an interval.

    Returns:
        The difference on the scale of the measure; NaN below two queries, and where sd is NaN.

    Raises:
        PolicyError: level or power is out of range.

    >>> round(least_difference(0.2, 50, level=0.95, power=0.8), 4)
    0.0809
    """
    check_chances(level, power)
    return sd * _factor(queries, level, power) if queries >= 2 else math.nan


def queries_needed(
    difference: float, sd: float, *, level: float, power: float, rise: Callable[[float], float] | None = None
) -> int | None:
    """The least number of queries whose least detectable difference is at or below a given one.

    For the number of queries that decides a check against a limit, pass the distance to the limit as the difference and
    a power of 0.5: the interval is then just narrow enough to end at the limit.

    Args:
        difference: difference to detect; its sign does not matter.
        sd: as in least_difference.
        level: level of the test, 0.95 for example.
        power: probability of detection, 0.8 for example; 0.5 for an interval whose half width is the difference.
        rise: factor by which the least difference of another rule is larger, at a number of queries; None for the t
            test.

    Returns:
        Two or more queries, or clusters where sd is between clusters; None where no number is enough: the difference
        is 0, would need more than 10^12, or one of the two is not known (NaN).

    Raises:
        PolicyError: level or power is out of range.

    >>> queries_needed(0.05, 0.2, level=0.95, power=0.8), queries_needed(0.05, 0.2, level=0.95, power=0.5)
    (128, 64)
    >>> queries_needed(0.0, 0.2, level=0.95, power=0.8) is None
    True
    """
    from scipy.special import ndtri

    check_chances(level, power)
    size = abs(difference)
    if math.isnan(size) or math.isnan(sd):
        return None
    wanted = size / sd * (1 + ROUNDING) if sd else math.inf * size
    if not wanted > 0:  # no difference, or a negligible one compared with the sd
        return None
    # Quantiles of the normal distribution are below those of t, so no smaller number is enough.
    first = float(ndtri((1 + level) / 2) + ndtri(power)) / wanted
    if first > math.sqrt(MOST):
        return None

    def is_enough(queries: int) -> bool:
        factor = _factor(queries, level, power)
        return factor * (1.0 if rise is None else rise(queries)) <= wanted

    low = high = max(2, int((first * (1.0 if rise is None else LEAST_PART)) ** 2))
    step = 1
    while not is_enough(high):
        low, high, step = high + 1, high + step, 2 * step
        if high > MOST:
            return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle + 1, high)
    return high


def check_chances(level: float, power: float) -> None:
    """Refuse a level or a power that is out of range.

    Raises:
        PolicyError: the level is not between 0.5 and 1, or the power is not at least 0.5 and below 1.
    """
    if not 0.5 < level < 1:
        raise PolicyError(f"level must be between 0.5 and 1, such as 0.95. Got {level!r}.")
    if not 0.5 <= power < 1:
        raise PolicyError(f"power must be at least 0.5 and below 1, such as 0.8. Got {power!r}.")


@lru_cache(maxsize=4096)
def _factor(queries: float, level: float, power: float) -> float:
    """The least difference in units of sd; it falls with the number of queries."""
    from scipy.special import stdtrit

    free = queries - 1
    return float(stdtrit(free, (1 + level) / 2) + stdtrit(free, power)) / math.sqrt(queries)
