"""Rare losses: what n queries can say about a loss that only few queries have.

An interval made from the measured differences does not account for what no query showed. A system that fails on one
query in twenty shows no failure in 20 queries with a probability of .36, and then nothing differs. Where k of C queries
are worse, however many are better, the share of all queries that are worse is, at the level, at most the upper end of
Clopper & Pearson (1934):

    share = the p for which P(Binomial(C, p) <= k) = 1 - level;   for k = 0: 1 - (1 - level)^(1 / C)

Losses up to share * (the largest possible loss of a query) are therefore not excluded. Clusters count once each.
"""

from __future__ import annotations

import math
from typing import NamedTuple


class RareLosses(NamedTuple):
    """A bound on rare losses from the number of queries that are worse.

    Attributes:
        worse: number of queries, or clusters of them, on which the run is worse than its baseline.
        units: number of queries, or clusters, compared.
        share: upper bound of the share of all queries that are worse.
        loss: upper bound of the mean loss, where each of these loses as much as the measure allows; infinite where the
            measure is unbounded.
    """

    worse: int
    units: int
    share: float
    loss: float

    def to_dict(self) -> dict[str, float | None]:
        """The bound as a dict, as in the JSON of a check."""
        return {**self._asdict(), "loss": self.loss if math.isfinite(self.loss) else None}

    def sentence(self, units: str) -> str:
        """The losses that are not excluded, as a sentence that begins in lower case.

        Args:
            units: "queries" or "clusters".
        """
        counted = f"{self.worse or 'none'} of {self.units:,} {units} {'is' if self.worse < 2 else 'are'} worse"
        if not math.isfinite(self.loss):
            return f"{counted}; losses on up to {self.share:.1%} of {units} are not excluded."
        where = ", if such queries can lose all" if self.worse else ""
        return f"{counted}; losses up to {self.loss:.3g} are not excluded{where}."


def rare_losses(worse: int, units: int, largest: float, level: float) -> RareLosses:
    """Compute the losses that a number of queries does not exclude.

    Args:
        worse: number of queries, or clusters, that are worse.
        units: number of queries, or clusters, at least one.
        largest: the largest loss that the measure allows on one query; infinite where the measure is unbounded.
        level: one-sided level of the bound; 1 - level is divided among the checks of a call.

    >>> rare_losses(0, 20, 1.0, 0.95).sentence("queries")
    'none of 20 queries is worse; losses up to 0.139 are not excluded.'
    """
    from scipy.special import betaincinv

    share = 1.0 if worse >= units else float(betaincinv(worse + 1, units - worse, level))
    return RareLosses(worse, units, share, share * largest)
