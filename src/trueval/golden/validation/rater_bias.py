"""Bias: the mean difference between the grades of two raters, overall and by grade, slot and length.

The mean of second − first in each group. By the grade of the first rater the means fall even without a bias: no grade
is below the lowest, and where both raters err the second is nearer to the middle (regression to the mean). So both
directions are reported; only what both of them show is a bias.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from trueval.golden.validation.agreement_intervals import Resampler, ValueWithInterval
from trueval.golden.validation.agreement_result import GroupBias, LengthBias
from trueval.standings.standings import Floats, Ints

PARTS = 5  # number of groups of lengths, of equal size


class RaterDifferences(NamedTuple):
    """Grade differences between two raters.

    Attributes:
        difference: [observation] second − first, in grades.
        query: [observation] index of the query.
        weight: [observation] weight.
    """

    difference: Floats
    query: Ints
    weight: Floats

    def of(self, some: Any) -> RaterDifferences:
        """A subset of the differences."""
        return RaterDifferences(self.difference[some], self.query[some], self.weight[some])

    def mean(self, draw: Resampler) -> ValueWithInterval:
        """The weighted mean, with its interval over queries."""
        if not len(self.difference):
            return ValueWithInterval(None, reason="no item")
        count = int(self.query.max()) + 1
        sums = [np.bincount(self.query, each, minlength=count) for each in (self.difference * self.weight, self.weight)]
        return draw.values(np.column_stack(sums), _ratio)["mean"]


def _ratio(sums: Floats) -> dict[str, Floats]:
    weight = sums[..., 1]
    mean = np.divide(sums[..., 0], weight, out=np.full(np.shape(weight), np.nan), where=weight > 0)
    return {"mean": mean}


def by_group(seen: RaterDifferences, groups: Sequence[Any], of: ArrayLike, draw: Resampler) -> tuple[GroupBias, ...]:
    """The mean difference in each group.

    Args:
        seen: the differences.
        groups: groups whose means are computed.
        of: [observation] group.
    """
    place = np.asarray(of)
    return tuple(
        GroupBias(group, int((place == group).sum()), *astuple(seen.of(place == group).mean(draw)))
        for group in groups
        if (place == group).any()
    )


def by_length(seen: RaterDifferences, lengths: Ints, draw: Resampler, parts: int = PARTS) -> tuple[LengthBias, ...]:
    """The mean difference by passage length, in groups of about equal size.

    Args:
        seen: the differences.
        lengths: [observation] length in characters.
        parts: maximum number of groups.
    """
    edges = np.unique(np.quantile(lengths, np.linspace(0, 1, parts + 1), method="inverted_cdf"))
    # The last edge is the longest passage, which belongs to the last group.
    of = np.clip(np.searchsorted(edges, lengths, side="right") - 1, 0, max(len(edges) - 2, 0))
    found = []
    for group in np.unique(of).tolist():
        mine = of == group
        ends = int(lengths[mine].min()), int(lengths[mine].max())
        found.append(LengthBias(*ends, int(mine.sum()), *astuple(seen.of(mine).mean(draw))))
    return tuple(found)
