"""Rare losses: what n queries can tell of a loss that few queries have.

An interval made from the measured differences knows nothing of what no query showed. A system that fails on one query
in twenty has no failure in 20 queries with a chance of .36, and then nothing differs. Where k of C queries are worse,
however many are better, the share of all queries that are worse is, at the level, at most the upper end of Clopper &
Pearson (1934):

    share = the p for which P(Binomial(C, p) <= k) = 1 - level;   for k = 0: 1 - (1 - level)^(1 / C)

Losses up to share * (the largest loss that a query can have) are therefore not excluded. Clusters count once each.
"""

from __future__ import annotations

import math
from typing import NamedTuple


class RareLosses(NamedTuple):
    """What the queries that are worse say of those that nobody measured.

    Attributes:
        worse: queries, or clusters of them, on which the run is worse than its baseline.
        units: queries, or clusters, compared.
        share: the largest share of all queries that may be worse.
        loss: the largest mean loss, where each of these loses as much as the measure allows; infinite where it sets no
            limit.
    """

    worse: int
    units: int
    share: float
    loss: float

    def to_dict(self) -> dict[str, float | None]:
        """As it appears in the JSON of a check."""
        return {**self._asdict(), "loss": self.loss if math.isfinite(self.loss) else None}

    def sentence(self, units: str) -> str:
        """What is not excluded, without the first word's capital.

        Args:
            units: "queries" or "clusters".
        """
        counted = f"{self.worse or 'none'} of {self.units:,} {units} {'is' if self.worse < 2 else 'are'} worse"
        if not math.isfinite(self.loss):
            return f"{counted}; losses on up to {self.share:.1%} of {units} are not excluded."
        where = ", if such queries can lose all" if self.worse else ""
        return f"{counted}; losses up to {self.loss:.3g} are not excluded{where}."


def rare_losses(worse: int, units: int, largest: float, level: float) -> RareLosses:
    """The losses that so many queries do not exclude.

    Args:
        worse: queries, or clusters, that are worse.
        units: all of them, at least one.
        largest: the largest loss that the measure allows on one query; infinite where it sets no limit.
        level: of the bound, on one side; shared out between the checks of a call.

    >>> rare_losses(0, 20, 1.0, 0.95).sentence("queries")
    'none of 20 queries is worse; losses up to 0.139 are not excluded.'
    """
    from scipy.special import betaincinv

    share = 1.0 if worse >= units else float(betaincinv(worse + 1, units - worse, level))
    return RareLosses(worse, units, share, share * largest)
