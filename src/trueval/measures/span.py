"""Spans: the least and the greatest value that a measure can have, whatever the run and the labels are."""

from __future__ import annotations

import math
from typing import Final, NamedTuple


class ValueRange(NamedTuple):
    """The values between two ends.

    Attributes:
        low: least value; -inf where none is known.
        high: greatest value; inf where none is known.
        per_place: whether `high` is of one place of the list, so that a cutoff multiplies it.
    """

    low: float
    high: float
    per_place: bool = False

    def at(self, cutoff: int | None) -> ValueRange:
        """The span of a measure with a cutoff.

        Args:
            cutoff: places that count; None for all.

        >>> PLACES.at(10), UNIT.at(10) == UNIT
        (ValueRange(low=0.0, high=10.0, per_place=False), True)
        """
        return ValueRange(self.low, self.high * (math.inf if cutoff is None else cutoff)) if self.per_place else self

    def cut(self, value: float) -> float:
        """The value, or the end that it is beyond; NaN stays.

        >>> [UNIT.cut(value) for value in (-0.5, 0.5, 1.5, math.nan)]
        [0.0, 0.5, 1.0, nan]
        """
        return min(max(value, self.low), self.high)

    @property
    def of_differences(self) -> ValueRange:
        """The span of one value less another.

        >>> UNIT.of_differences[:2]
        (-1.0, 1.0)
        """
        return ValueRange(self.low - self.high, self.high - self.low)


UNIT: Final = ValueRange(0.0, 1.0)
FROM_ZERO: Final = ValueRange(0.0, math.inf)
PLACES: Final = ValueRange(0.0, 1.0, per_place=True)
ANYTHING: Final = ValueRange(-math.inf, math.inf)
