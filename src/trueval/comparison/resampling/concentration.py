"""Concentration: whether a difference rests on few queries, so that resampling and tests are unreliable.

A resample contains only what some query showed. Where differences are constant but for a few queries, the uncertainty
comes from these few alone, and a rare one that was not sampled is missing: intervals are too short, and p too small.
With residuals r_i = d_i - the mean difference (for a cluster: the sum of its differences less its size times the mean):

    one query carries most    max r_i^2 > 1/2 sum r_i^2
    few queries carry it      the largest tenth of the r_i^2, at least one, is more than .8 sum r_i^2
    nothing varies            all r_i are 0 within rounding, and the mean is not
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from trueval.standings.standings import Floats

# A unit with a larger share of the variance than this is named.
MOST_OF_ALL: Final = 0.5
# Share of the units that, with a larger share of the variance than this, dominate the others.
FEW: Final = 0.1
NEARLY_ALL: Final = 0.8
# One of the units named in sentences.
ONE: Final = {"queries": "query", "clusters": "cluster"}
# Maximum named units per pair, and pairs per measure; JSON has all.
NAMED: Final = 3
# Differences of the same doubles in another order differ by less.
ROUNDING: Final = 1e-12


@dataclass(frozen=True)
class Concentration:
    """The few queries, or clusters, that account for most of the variance of a difference.

    Attributes:
        units: their names, the largest first; empty where nothing varies.
        share: their share of the variance; 0 where nothing varies.
        of: number of all units.
    """

    units: tuple[str, ...]
    share: float
    of: int

    def sentence(self, called: str) -> str:
        """The concentration as a predicate, without a subject.

        Args:
            called: "queries" or "clusters".
        """
        if not self.units:
            return f"all {self.of:,} {called} differ by the same"
        names, more = ", ".join(self.units[:NAMED]), len(self.units) - NAMED
        names += f" and {more:,} more" if more > 0 else ""
        who = f"{ONE[called]} {names} carries" if len(self.units) == 1 else f"{called} {names} carry"
        return f"{who} {self.share:.0%} of the variance over {self.of:,} {called}"

    def to_dict(self) -> dict[str, object]:
        """The concentration as a dict for JSON."""
        return {**vars(self), "units": list(self.units)}


def concentration(sums: Floats, sizes: Floats, names: Sequence[str]) -> Concentration | None:
    """Find the few units that account for most of the variance; None where many do, or nothing differs.

    Args:
        sums: [unit] sums of the differences of the queries of a unit.
        sizes: [unit] number of queries.
        names: [unit] names of queries or clusters.

    >>> found = concentration(np.array([0.05] * 11 + [-0.95]), np.ones(12), [f"q{at}" for at in range(12)])
    >>> found.sentence("queries")
    'query q11 carries 92% of the variance over 12 queries'
    """
    if len(sums) < 2:
        return None
    squares = (sums - sums.sum() / sizes.sum() * sizes) ** 2
    total = float(squares.sum())
    if total <= len(sums) * (ROUNDING * max(1.0, float(np.abs(sums).max()))) ** 2:
        differs = abs(float(sums.sum())) > ROUNDING * sizes.sum()
        return Concentration((), 0.0, len(sums)) if differs else None
    order = np.argsort(-squares, kind="stable")[: max(1, int(FEW * len(sums)))]
    shares = np.cumsum(squares[order]) / total
    if shares[0] > MOST_OF_ALL:
        return Concentration((names[order[0]],), float(shares[0]), len(sums))
    if shares[-1] > NEARLY_ALL:
        count = int(np.argmax(shares > NEARLY_ALL)) + 1
        return Concentration(tuple(names[at] for at in order[:count]), float(shares[count - 1]), len(sums))
    return None
