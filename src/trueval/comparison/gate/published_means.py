"""Published means: the interval that a mean's number of queries supports, without the runs behind it.

Let m be the mean over n queries of a measure between 0 and 1, whatever its distribution. With probability at least 1 -
a, a = 1 - level, the true mean lies in

    {x: n kl(m, x) <= ln(2 / a)},   kl(m, x) = m ln(m / x) + (1 - m) ln((1 - m) / (1 - x))

(Hoeffding 1963, theorem 1). Where every value is 0 or 1 the interval of Clopper & Pearson (1934) is shorter and exact.

A measure of grain g takes only multiples of g: success, and recall of one relevant document, have a grain of 1, P@10 of
.1. Differences of queries are then whole numbers of grains, n d / g in sum for a mean difference d. Whatever they are,
a share of at least 2^(1 - min(n, n d / g)) of the sign patterns of the paired randomization test reaches that sum: of
N signed whole numbers, Erdős (1945) bounds how many sums can be nearer to 0, and fewest reach it where each query
differs by one grain or none. No p of that test is smaller. Reciprocal ranks and nDCG have no grain, and nothing is
claimed of their p; expected values under ties have none either.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar

from trueval.comparison.comparison import Interval
from trueval.errors import PolicyError
from trueval.report.result import Result

# Bisections of [0, 1] until the ends are adjacent doubles.
HALVINGS = 60

# Published means have few digits; more than this many are rounding noise.
DIGITS = 12


@dataclass(frozen=True, repr=False)
class PublishedMean(Result):
    """A published mean with the interval that its number of queries supports.

    Attributes:
        value: the mean, a fraction of 1.
        queries: number of queries averaged.
        grain: step of which all values are multiples; None if there is none.
        difference: difference published with it; None where none was given.
        level: level of the interval; p is compared with 1 - level.
        interval: interval of the true mean over queries of this kind.
        method: "clopper-pearson" where values are 0 or 1, else "kl".
        least_p: the least two-sided p that the difference could have; NaN without a difference or a grain.
    """

    KIND: ClassVar = "published"
    FORMAT: ClassVar = 1

    value: float
    queries: int
    grain: float | None
    difference: float | None
    level: float
    interval: Interval
    method: str
    least_p: float

    @property
    def separable(self) -> bool | None:
        """Whether any values could make the difference significant at the level; None where no claim is made."""
        return None if math.isnan(self.least_p) else self.least_p < round(1 - self.level, 12)

    def to_dict(self) -> dict[str, object]:
        """The JSON of `trueval power --value`; null if not available."""
        return {**super().to_dict(), "separable": self.separable}


def published(
    value: float,
    queries: int,
    grain: float | None = None,
    difference: float | None = None,
    level: float = 0.95,
) -> PublishedMean:
    """Compute the interval of a published mean, and the least p of a published difference.

    Args:
        value: the mean of a measure from 0 to 1.
        queries: number of queries averaged, each its own cluster.
        grain: step of which every value is a multiple; 1 means that values are 0 or 1. None if there is none.
        difference: difference of two published means; its sign does not matter.
        level: level of the interval, 0.95.

    Raises:
        PolicyError: a number is out of range, or no values of this grain have such a mean or difference.

    >>> [tuple(round(end, 4) for end in published(0.8, 50, grain).interval) for grain in (None, 1)]
    [(0.6223, 0.9214), (0.6628, 0.8997)]
    >>> published(0.8, 50, grain=1, difference=0.06).least_p
    0.25
    """
    _check(value, queries, grain, difference, level)
    binary = grain == 1
    ends = clopper_pearson(round(value * queries), queries, level) if binary else kl_interval(value, queries, level)
    least_p = math.nan
    if grain is not None and difference is not None:
        least_p = least_randomization_p(abs(difference), queries, grain)
    method = "clopper-pearson" if binary else "kl"
    return PublishedMean(value, queries, grain, difference, level, ends, method, least_p)


def kl_interval(mean: float, queries: int, level: float) -> Interval:
    """The means x in [0, 1] with n kl(m, x) <= ln(2 / (1 - level)), for any values between 0 and 1.

    Args:
        mean: mean m.
        queries: number of queries n.
        level: minimum coverage of the interval.

    >>> low, high = kl_interval(0.0, 10, 0.95)
    >>> low, round(high, 12) == round(1 - 0.025 ** 0.1, 12)
    (0.0, True)
    """
    bound = math.log(2 / (1 - level)) / queries

    def last(end: float) -> float:
        """The last point from the mean towards an end of [0, 1] that satisfies the inequality."""
        near, far = mean, end
        for _ in range(HALVINGS):
            middle = (near + far) / 2
            near, far = (middle, far) if _kl(mean, middle) <= bound else (near, middle)
        return far

    return Interval(last(0.0), last(1.0))


def clopper_pearson(successes: int, queries: int, level: float) -> Interval:
    """The interval of a proportion whose tails of the binomial distribution are at most (1 - level) / 2 each.

    Args:
        successes: queries of value 1.
        level: minimum coverage of the interval.

    >>> clopper_pearson(0, 10, 0.95)
    Interval(low=0.0, high=0.308...)
    """
    from scipy.special import betaincinv

    tail, failures = (1 - level) / 2, queries - successes
    low = float(betaincinv(successes, failures + 1, tail)) if successes else 0.0
    high = float(betaincinv(successes + 1, failures, 1 - tail)) if failures else 1.0
    return Interval(low, high)


def least_randomization_p(difference: float, queries: int, grain: float) -> float:
    """The least two-sided p of the paired randomization test, of a mean difference of values that are multiples of g.

    2^(1 - min(n, n d / g)), at most 1.

    Args:
        difference: difference of the means, d >= 0.
        queries: number of queries n.
        grain: grain g of the values.

    >>> least_randomization_p(0.1, 50, 1.0), least_randomization_p(0.0, 50, 1.0)
    (0.0625, 1.0)
    """
    grains = min(queries, round(queries * difference / grain, DIGITS - 3))
    return min(1.0, math.exp2(1 - grains))


def _kl(mean: float, other: float) -> float:
    """Kullback-Leibler divergence of two Bernoulli distributions; infinite where the second cannot give the mean."""
    return math.fsum(
        0.0 if one == 0 else math.inf if two == 0 else one * math.log(one / two)
        for one, two in ((mean, other), (1 - mean, 1 - other))
    )


def _check(value: float, queries: int, grain: float | None, difference: float | None, level: float) -> None:
    if not 0 <= value <= 1:
        raise PolicyError(f"value must be between 0 and 1; divide points by 100. Got {value!r}.")
    if isinstance(queries, bool) or not float(queries).is_integer() or queries < 1:
        raise PolicyError(f"queries must be an integer >= 1. Got {queries!r}.")
    if grain is not None and not 0 < grain <= 1:
        raise PolicyError(f"grain must be above 0 and at most 1, such as 1 for values of 0 or 1. Got {grain!r}.")
    if not 0.5 < level < 1:
        raise PolicyError(f"level must be between 0.5 and 1, such as 0.95. Got {level!r}.")
    if difference is not None and not abs(difference) <= max(value, 1 - value) + 10.0**-DIGITS:
        raise PolicyError(
            f"difference must leave the other mean between 0 and 1, so be at most {max(value, 1 - value):g} beside "
            f"{value:g}. Got {difference!r}."
        )
    for name, number in (("mean", value), ("mean difference", difference)):
        if grain is not None and number is not None:
            _check_grain(name, number, queries, grain)


def _check_grain(name: str, number: float, queries: int, grain: float) -> None:
    """Refuse a mean that no values of the grain have, printed with so many digits (GRIM, Brown & Heathers 2017)."""
    nearest = round(number * queries / grain) * grain / queries
    exponent = Decimal(repr(float(number))).as_tuple().exponent
    digits = min(-exponent, DIGITS) if isinstance(exponent, int) else DIGITS
    if abs(nearest - number) > 0.5 * 10.0**-digits + 10.0**-DIGITS:
        raise PolicyError(
            f"No {queries} values that are multiples of {grain:g} have a {name} of {number:g}; the nearest is "
            f"{nearest:.6g}. Correct value, difference, queries or grain, or leave the grain out."
        )
