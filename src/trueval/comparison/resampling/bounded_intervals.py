"""Intervals of pairs by betting in place of resampling: for measures with values between two known ends.

A realized difference, what one order of ties in each list leaves, has the farther of two ends on each side, as where a
variance over ties is not known (bootstrap_intervals.py): that of bets on the least difference L which the orders of a
query allow, and that of the expected difference moved by what the orders can take from the measured queries, mean(L -
D).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from trueval.comparison.choices import ANYTIME, BOOTSTRAP, ComparisonChoices
from trueval.comparison.resampling.alignment import AlignedScores
from trueval.comparison.resampling.betting import Bets, lower_ends
from trueval.comparison.resampling.bootstrap_intervals import Intervals
from trueval.comparison.resampling.clusters import Clusters, QueryUnits
from trueval.errors import MeasureError
from trueval.measures import Measure
from trueval.standings.standings import Bools, Floats


class Differences(NamedTuple):
    """Sums of differences over the queries of units, in the order of arrival.

    Attributes:
        expected: [unit, comparison] sums of differences of expected values.
        lowest: [unit, comparison] sums of the lowest differences over tie orders; NaN if unknown.
        highest: [unit, comparison] sums of the highest.
        tied: [comparison] whether ties affect any difference.
        sizes: [unit] number of queries.
        reach: [comparison] the largest possible difference of a query.
    """

    expected: Floats
    lowest: Floats
    highest: Floats
    tied: Bools
    sizes: Floats
    reach: Floats


def bets_of(chosen: ComparisonChoices, clusters: Clusters | None, threads: int) -> Bets | None:
    """Settings of the bets behind the intervals; None where intervals are bootstrapped.

    Args:
        chosen: choices of the comparison.
        clusters: which queries belong together; the size of the largest cluster is known before any difference.
    """
    if chosen.intervals == BOOTSTRAP:
        return None
    largest = 1.0 if clusters is None else float(clusters.largest)
    return Bets(chosen.alpha, chosen.intervals == ANYTIME, largest, chosen.seed, threads)


def reach_of(measures: Iterable[Measure]) -> Floats:
    """[measure] the largest possible difference of two values.

    Raises:
        MeasureError: a measure has values without end.

    >>> from trueval.measures import parse_list
    >>> reach_of(parse_list("nDCG@10 Hits@5")).tolist()
    [1.0, 5.0]
    """
    found = []
    for measure in measures:
        low, high, _ = measure.span
        if not np.isfinite(high - low):
            raise MeasureError(
                f"Intervals by bets need a measure whose values lie between two known ends, and {measure} has none. "
                "Take one such as nDCG@10, or --intervals bootstrap."
            )
        found.append(high - low)
    return np.array(found)


def intervals_by_bets(apart: Differences, bets: Bets) -> Intervals:
    """Intervals of pairs, each at the level of the bets; NaN if there is no unit.

    Args:
        apart: differences of the pairs.
        bets: settings of the bets.
    """
    expected = np.full((len(apart.reach), 2), np.nan)
    if len(apart.sizes) == 0:
        return Intervals(expected, expected.copy(), np.zeros(len(expected), dtype=bool))
    low, high = (sign * lower_ends(sign * apart.expected, apart.sizes, apart.reach, bets) for sign in (1, -1))
    expected = np.stack([low, high], axis=1)
    realized, tied = expected.copy(), np.flatnonzero(apart.tied)
    total = apart.sizes.sum()
    for side, sign, ends in ((0, 1, apart.lowest), (1, -1, apart.highest)):
        some = sign * ends[:, tied]
        moved = (some - sign * apart.expected[:, tied]).sum(axis=0) / total
        known = np.isfinite(some).all(axis=0)
        alone = lower_ends(np.where(known, some, 0.0), apart.sizes, apart.reach[tied], bets)
        farther = np.minimum(alone, np.maximum(sign * expected[tied, side] + moved, -apart.reach[tied]))
        realized[tied, side] = np.where(known, sign * farther, np.nan)
    realized[np.isnan(realized).any(axis=1)] = np.nan
    return Intervals(expected, realized, apart.tied & ~np.isnan(realized[:, 0]))


def widths(aligned: AlignedScores, clusters: Clusters | None, chosen: ComparisonChoices, pairs: int) -> Iterator[str]:
    """Width of the intervals of each measure where nothing differs, which shows at once when queries are too few.

    Args:
        aligned: scores on aligned queries.
        clusters: which queries belong together.
        chosen: choices of the comparison, with intervals by bets.
        pairs: number of pairs in a family of each measure.
    """
    bets = bets_of(chosen, clusters, 1)
    tests = pairs * (len(aligned.measures) if chosen.family == "all" else 1)
    for at, (measure, reach) in enumerate(zip(aligned.measures, reach_of(aligned.measures), strict=True)):
        ids = [aligned.query_ids[query] for query in np.flatnonzero(aligned.kept[:, at]).tolist()]
        sizes = QueryUnits.of(np.arange(len(ids)) if clusters is None else clusters.codes(ids)).sizes
        if bets is None or not ids:
            continue
        nothing = np.zeros((len(sizes), 1))
        (low,) = lower_ends(nothing, sizes, np.array([reach]), bets._replace(alpha=bets.alpha / tests)).tolist()
        units = "queries" if clusters is None else "clusters"
        yield (
            f"{measure}: intervals by bets hold for any law of the differences; where nothing differs those of "
            f"{len(sizes):,} {units} reach from {low:.3g} to {-low:+.3g}."
        )
