"""What a design makes of one measure, and the t interval of an estimate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from trueval.comparison.corrected import Bounded, Open, Stratum
from trueval.standings.standings import Floats, Ints, sum_by

# What an estimate is of: the mean over queries of which these are a sample, or over these alone, had people graded all.
NEW: Final = "new queries"
THESE: Final = "these queries"
TARGETS: Final = (NEW, THESE)

# A standard error below this part of its value is rounding.
ROUNDING: Final = 1e-9

# Queries that are named as those in which judge and people differ most.
OPEN_QUERIES: Final = 10


@dataclass(frozen=True, eq=False)
class Estimated:
    """What a design makes of one measure.

    Attributes:
        people: by people's labels alone.
        corrected: with the tuned weight.
        untuned: with the weight 1.
        weight: mean of the tuned ones.
        correlation: of the values of audited units.
        queries: that count by people's labels.
        population: [stratum] units.
        drawn: [stratum] audited units.
        spread: [stratum] variance of the residuals in units of the corrected value.
        parts: [stratum] in the variance of the corrected value.
        fixed: the part that no label takes away.
        residual: [unit] of the corrected value.
        of_query: [unit] number of its query.
    """

    people: Bounded
    corrected: Bounded
    untuned: Bounded
    weight: float
    correlation: float
    queries: int
    population: Floats
    drawn: Floats
    spread: Floats
    parts: Floats
    fixed: float
    residual: Floats
    of_query: Ints

    def strata(self, names: Sequence[str]) -> tuple[Stratum, ...]:
        """Where more labels are worth how much.

        Args:
            names: [stratum].
        """
        # The variance has population^2 spread / drawn of each: one more unit takes 1 / (drawn + 1) of that off.
        worth = np.where(self.drawn < self.population, self.parts_without_end / (self.drawn + 1), 0.0)
        share = self.parts / self.parts.sum() if self.parts.any() else np.zeros(len(self.parts))
        rows = zip(names, self.population, self.drawn, self.spread, share, worth, strict=True)
        return tuple(Stratum(name, int(of), int(drawn), *map(float, numbers)) for name, of, drawn, *numbers in rows)

    @property
    def is_partial(self) -> bool:
        """Whether some unit is not graded."""
        return bool((self.drawn < self.population).any())

    @property
    def parts_without_end(self) -> Floats:
        """[stratum] what its part of the variance would be if no end of its population were near."""
        return self.population**2 * self.spread / self.drawn

    def open(self, query_ids: Sequence[str]) -> tuple[Open, ...]:
        """The queries in which people say otherwise than the judge lets expect, the most first.

        Args:
            query_ids: [query].
        """
        squares = sum_by(self.of_query, self.residual**2, len(query_ids))
        order = np.argsort(-squares, kind="stable")[:OPEN_QUERIES]
        return tuple(
            Open(query_ids[at], float(squares[at] / squares.sum())) for at in order.tolist() if squares[at] > 0
        )


def varies(value: Bounded) -> bool:
    """Whether an estimate has a standard error that is no rounding."""
    return not value.se <= ROUNDING * (1 + abs(value.estimate))


def without_interval(value: Bounded) -> Bounded:
    """The estimate alone: units that are all alike tell nothing of how much the others vary."""
    return Bounded(value.estimate, math.nan, math.nan, math.nan, math.nan)


def interval(estimate: float, variance: float, degrees: float, level: float) -> Bounded:
    """A t interval.

    Args:
        estimate: its middle.
        variance: of the estimate.
        degrees: of freedom.
        level: 0.95.

    >>> [round(end, 2) for end in interval(0.5, 0.01, 9, 0.95)[:3]]
    [0.5, 0.27, 0.73]
    """
    from scipy.special import stdtrit

    se = math.sqrt(max(variance, 0.0))
    half = float(stdtrit(degrees, (1 + level) / 2)) * se
    return Bounded(estimate, estimate - half, estimate + half, se, degrees)
