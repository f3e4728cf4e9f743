"""Spans: the lowest and highest possible values of a measure, whatever the run and the judgments."""

from __future__ import annotations

import math
from typing import Final, NamedTuple


class ValueRange(NamedTuple):
    """A range of values.

    Attributes:
        low: lowest value; -inf where unbounded.
        high: highest value; inf where unbounded.
        per_place: whether `high` is per place of the list, so that a cutoff multiplies it.
    """

    low: float
    high: float
    per_place: bool = False

    def at(self, cutoff: int | None) -> ValueRange:
        """The range of a measure with a cutoff.

        Args:
            cutoff: number of places that count; None for all.

        >>> PLACES.at(10), UNIT.at(10) == UNIT
        (ValueRange(low=0.0, high=10.0, per_place=False), True)
        """
        return ValueRange(self.low, self.high * (math.inf if cutoff is None else cutoff)) if self.per_place else self

    def cut(self, value: float) -> float:
        """The value clipped to the range; NaN stays NaN.

        >>> [UNIT.cut(value) for value in (-0.5, 0.5, 1.5, math.nan)]
        [0.0, 0.5, 1.0, nan]
        """
        return min(max(value, self.low), self.high)

    @property
    def of_differences(self) -> ValueRange:
        """The range of the difference of two values.

        >>> UNIT.of_differences[:2]
        (-1.0, 1.0)
        """
        return ValueRange(self.low - self.high, self.high - self.low)


UNIT: Final = ValueRange(0.0, 1.0)
FROM_ZERO: Final = ValueRange(0.0, math.inf)
PLACES: Final = ValueRange(0.0, 1.0, per_place=True)
ANYTHING: Final = ValueRange(-math.inf, math.inf)
