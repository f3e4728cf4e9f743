"""Limits that runs must keep, as data; a gate checks runs against them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias

from trueval.errors import PolicyError
from trueval.evaluation.defaults import resolve_measure
from trueval.measures import parse

if TYPE_CHECKING:
    from trueval.measures import Measure
    from trueval.policy.policy import Policy

# Sums of the same doubles in another order differ by less, relative to values above 1: a value that equals its limit up
# to rounding keeps it.
ROUNDING: Final = 1e-12


@dataclass(frozen=True)
class _Limit:
    name: ClassVar[str]
    example: ClassVar[str]

    measure: str | None
    limit: float

    def __post_init__(self) -> None:
        limit: object = self.limit
        if not isinstance(limit, int | float) or not 0 <= limit < math.inf:
            raise PolicyError(f"--{self.name} must be a number >= 0. Got {self.limit!r}.")
        if self.measure is not None:
            object.__setattr__(self, "measure", str(parse(self.measure)))  # as scores name it

    def __str__(self) -> str:
        """The limit as an option of the command line."""
        return f"--{self.name} {'' if self.measure is None else f'{self.measure}='}{self.limit:g}"


@dataclass(frozen=True)
class MaxRange(_Limit):
    """The widest range of a mean over tie orders that passes.

    Attributes:
        measure: the measure's text form; None for every measure.
        limit: on the scale of the measure: 0.02 is two points out of a hundred.
    """

    name = "max-range"
    example = "X or MEASURE=X with a number X >= 0, such as 0.02 or nDCG@10=0.02"


@dataclass(frozen=True)
class Minimum(_Limit):
    """The lowest expected mean that passes.

    Attributes:
        measure: the measure's text form; a measure where higher is better.
        limit: on the scale of the measure.
    """

    name = "min"
    example = "MEASURE=X with a number X >= 0, such as nDCG@10=0.3"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.measure is None:
            raise PolicyError(f"--min must be {self.example}. Got {self.limit:g}.")
        if parse(self.measure).better == "lower":
            raise PolicyError(f"--min is for measures of which more is better. Of {self.measure}, less is.")


@dataclass(frozen=True)
class MaxDrop(_Limit):
    """The largest loss against a baseline that passes.

    The limit is compared with the joint interval of the difference, which includes the uncertainty of both queries and
    ties and is simultaneous over all such checks of a call.

    Attributes:
        measure: the measure's text form; None for every measure.
        limit: on the scale of the measure.
    """

    name = "max-drop"
    example = "X or MEASURE=X with a number X >= 0, such as 0.01 or nDCG@10=0.01"


@dataclass(frozen=True)
class MinQueries:
    """How many judged queries a run must have, and how many of them must have a relevant document for a measure.

    Without this limit a gate requires all judged queries, unless the policy says how missing ones count.

    Attributes:
        count: number of queries, at least 1; None where a share is required.
        share: share of the judged queries, above 0 and at most 1; at least FEWEST queries.
    """

    name: ClassVar[str] = "min-queries"
    example: ClassVar[str] = "all, a whole number N >= 1, or a share such as 95%"
    measure: ClassVar[None] = None  # it applies to each

    count: int | None = None
    share: float | None = None

    def __post_init__(self) -> None:
        count: object = self.count
        good = isinstance(count, int) and count >= 1 if self.share is None else count is None and 0 < self.share <= 1
        if not good:
            got = f"count={self.count!r}, share={self.share!r}"
            raise PolicyError(f"--{self.name} must be {self.example}. Got {got}.")

    def of_judged(self, judged: int) -> int:
        """The number of queries a run must have, given the number of judged queries.

        >>> MinQueries(share=0.95).of_judged(40), MinQueries(count=50).of_judged(40)
        (38, 50)
        """
        # 0.07 of 100 is 7.000000000000001 in double precision.
        return math.ceil(round((self.share or 0) * judged, 9)) if self.count is None else self.count

    @property
    def at_all(self) -> int:
        """The number of queries that every value must come from, however few are judged."""
        return FEWEST if self.count is None else self.count

    def __str__(self) -> str:
        """The limit as an option of the command line."""
        share = "all" if self.share == 1 else f"{100 * (self.share or 0):g}%"
        return f"--{self.name} {share if self.count is None else self.count}"


# With fewer pairs of queries, no randomization test separates two systems at 95 %: for n = 5, two of 2^n sign patterns
# are as extreme as the most extreme one, and 2 / 2^5 is above .05.
FEWEST: Final = 6
EVERY: Final = MinQueries(share=1.0)

Limit: TypeAlias = MaxRange | Minimum | MaxDrop | MinQueries
LIMITS: Final[dict[str, type[MaxRange | Minimum | MaxDrop]]] = {
    each.name: each for each in (MaxRange, Minimum, MaxDrop)
}


def rounding_tolerance(*values: float) -> float:
    """How far rounding alone can move a number from its limit, when computed from values of this size.

    >>> rounding_tolerance(0.1), rounding_tolerance(-300.0, 2.0)
    (1e-12, 3e-10)
    """
    return ROUNDING * max(1.0, *map(abs, values))


def parse_limit(name: str, text: str) -> Limit:
    """Read a limit in the syntax of the command line.

    Args:
        name: "max-range", "min", "max-drop" or "min-queries".
        text: "X", or "MEASURE=X" for one measure; for "min-queries" "all", "N" or "N%".

    Raises:
        MeasureError: the measure cannot be read.
        PolicyError: X is not a number from 0, or the limit needs a measure.

    >>> parse_limit("max-range", "nDCG(gain='exp')@10=0.1")
    MaxRange(measure="nDCG(gain='exp')@10", limit=0.1)
    >>> parse_limit("min-queries", "95%")
    MinQueries(count=None, share=0.95)
    """
    if name == MinQueries.name:
        return _parse_min_queries(text)
    kind = LIMITS[name]
    measure, _, number = text.rpartition("=")
    try:
        limit = float(number)
    except ValueError:
        limit = -1.0
    if not 0 <= limit < math.inf or (kind is Minimum and not measure):
        raise PolicyError(f"--{name} must be {kind.example}. Got {text}.")
    return kind(measure or None, limit)


def _parse_min_queries(text: str) -> MinQueries:
    """Read the value of "min-queries"."""
    try:
        if text == "all":
            return EVERY
        return MinQueries(share=float(text[:-1]) / 100) if text.endswith("%") else MinQueries(int(text))
    except ValueError as error:  # a PolicyError is one too
        raise PolicyError(f"--{MinQueries.name} must be {MinQueries.example}. Got {text}.") from error


def name_measures(limits: Iterable[Limit], measures: Sequence[Measure], policy: Policy) -> tuple[Limit, ...]:
    """The limits with full measure names: RR@10 is RR(rel=4)@10 on a golden set.

    Args:
        limits: limits as given.
        policy: policy of the evaluation.

    >>> from trueval.policy.policy import Policy
    >>> name_measures([Minimum("RR@10", 0.3)], [parse("RR(rel=4)@10")], Policy(rel=4))
    (Minimum(measure='RR(rel=4)@10', limit=0.3),)
    """
    return tuple(
        limit
        if isinstance(limit, MinQueries) or limit.measure is None
        else replace(limit, measure=str(resolve_measure(parse(limit.measure), measures, policy)))
        for limit in limits
    )


def check_limits(limits: Iterable[Limit], measures: Sequence[Measure], *, baseline: bool) -> None:
    """Refuse limits that cannot be checked, before any work is done.

    Args:
        baseline: whether there is a baseline.

    Raises:
        PolicyError: a limit names a measure that is not evaluated, nothing is evaluated, or a loss has no baseline.
    """
    names, limits = [str(measure) for measure in measures], tuple(limits)
    if sum(isinstance(limit, MinQueries) for limit in limits) > 1:
        raise PolicyError("--min-queries is given twice. Give the larger one.")
    if limits and not names:
        raise PolicyError("A gate needs a measure, or nothing is held against its limits. Name one with -m.")
    for limit in limits:
        if limit.measure is not None and limit.measure not in names:
            raise PolicyError(
                f"--{limit.name}: {limit.measure} is not evaluated. Add it with -m, or name one of {' '.join(names)}."
            )
        if isinstance(limit, MaxDrop) and not baseline:
            raise PolicyError("--max-drop needs --baseline RUN. `trueval compare` shows differences without a gate.")
