"""Limits: what runs must keep, as data; a gate holds runs against them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias

from trueval.errors import PolicyError
from trueval.measures import parse

if TYPE_CHECKING:
    from trueval.measures import Measure


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
    """The widest range of values that the order of ties may leave to a mean.

    Attributes:
        measure: text form of the measure; None for every one.
        limit: on the scale of the measure, so 0.02 is two points of a hundred.
    """

    name = "max-range"
    example = "X or MEASURE=X with a number X >= 0, such as 0.02 or nDCG@10=0.02"


@dataclass(frozen=True)
class Minimum(_Limit):
    """The least expected mean that passes.

    Attributes:
        measure: text form of the measure, one of which more is better.
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

    It is held against the joint interval of the difference, which holds the uncertainty of both queries and ties, and
    which is simultaneous over all such checks of a call.

    Attributes:
        measure: text form of the measure; None for every one.
        limit: on the scale of the measure.
    """

    name = "max-drop"
    example = "X or MEASURE=X with a number X >= 0, such as 0.01 or nDCG@10=0.01"


Limit: TypeAlias = MaxRange | Minimum | MaxDrop
LIMITS: Final[dict[str, type[Limit]]] = {each.name: each for each in (MaxRange, Minimum, MaxDrop)}


def parse_limit(name: str, text: str) -> Limit:
    """Read a limit as the command line has it.

    Args:
        name: "max-range", "min" or "max-drop".
        text: "X", or "MEASURE=X" for one measure.

    Raises:
        MeasureError: the measure cannot be read.
        PolicyError: X is not a number from 0, or the limit needs a measure.

    >>> parse_limit("max-range", "nDCG(gain='exp')@10=0.1")
    MaxRange(measure="nDCG(gain='exp')@10", limit=0.1)
    """
    kind = LIMITS[name]
    measure, _, number = text.rpartition("=")
    try:
        limit = float(number)
    except ValueError:
        limit = -1.0
    if not 0 <= limit < math.inf or (kind is Minimum and not measure):
        raise PolicyError(f"--{name} must be {kind.example}. Got {text}.")
    return kind(measure or None, limit)


def check_limits(limits: Iterable[Limit], measures: Sequence[Measure], *, baseline: bool) -> None:
    """Refuse limits that nothing can be held against, before any work is done.

    Args:
        limits: as in `gate`.
        measures: those evaluated.
        baseline: whether there is one.

    Raises:
        PolicyError: a limit names a measure that is not evaluated, or a loss has no baseline.
    """
    names = [str(measure) for measure in measures]
    for limit in limits:
        if limit.measure is not None and limit.measure not in names:
            raise PolicyError(
                f"--{limit.name}: {limit.measure} is not evaluated. Add it with -m, or name one of {' '.join(names)}."
            )
        if isinstance(limit, MaxDrop) and not baseline:
            raise PolicyError("--max-drop needs --baseline RUN. `trueval compare` shows differences without a gate.")
