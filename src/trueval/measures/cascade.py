"""Expected reciprocal rank: a user reads down the list and stops at the first document that satisfies.

    ERR@k = sum over ranks r <= k of (1/r) R_r (1 - R_1) .. (1 - R_{r-1}),   R = (2^g - 1) / 2^gmax

The chance to get past a tie group is the same in every order, so groups are independent. Of two neighbors the one that
satisfies more belongs in front: the difference is (R_a - R_b)(1/r - 1/(r+1)), so sorting gives both extremes.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from trueval.errors import MeasureError
from trueval.measures.linear import extreme_ranks
from trueval.measures.measure import Definition, Measure, Values, no_values, register
from trueval.measures.orders.arrivals import ArrivalKinds, PairSums, few_chances
from trueval.measures.orders.blocks import blocks
from trueval.measures.orders.facet_pairs import blocks as alike_blocks
from trueval.measures.orders.survival import GroupTakers, expected_totals, horizon, second_moments
from trueval.measures.parameters import exponential_gain
from trueval.measures.span import UNIT
from trueval.specs import number_in_range
from trueval.standings.standings import Bools, Floats, Ints, Standings, root_sum_squares, sum_by

# Offsets held at once, groups times ranks: 8 MiB per array.
BLOCK = 1 << 20
# Ranks times pairs of counts of satisfying documents above which a group is not walked but its documents arrive at
# random times; and up to which it is walked if that leaves digits in doubt.
LONG, MOST_CELLS = 1 << 21, 1 << 24
# A group with more relevant ranks than this has no standard deviation.
MOST_RANKS = 1 << 14
# A variance is not reported if more than this share of it is uncertain.
CLOSE = 2.0**-23
# A deviation below this share of another changes no digit of their root sum of squares.
NO_DIGIT = 2.0**-27
# Probabilities below this are scaled by the largest of their group.
LEAST_CHANCE = 2.0**-300


class Stops(NamedTuple):
    """Contributions of the rows in one order of the documents.

    Attributes:
        before: [row] probability that the user reaches the document.
        share: [row] its contribution to ERR.
    """

    before: Floats
    share: Floats


def _err(standings: Standings, measure: Measure) -> Values:
    stop = _chances(standings.grade, measure)
    undefined = standings.sum_pool(_chances(standings.pool_grade, measure)) == 0
    last = standings.limit(measure.cutoff)
    ranks, queries = extreme_ranks(standings, stop), standings.queries
    best = _stops(standings, stop, ranks.highest, last)
    highest = standings.sum_by_query(best.share)
    lowest = np.minimum(standings.sum_by_query(_stops(standings, stop, ranks.lowest, last).share), highest)
    tie_broken = no_values(queries)
    if standings.order_is_known:
        shares = _stops(standings, stop, standings.tie_broken_rank, last).share
        tie_broken = np.clip(standings.sum_by_query(shares), lowest, highest)
    undecided = np.flatnonzero(~ranks.decided & (standings.groups.above < last))
    change, deviation = _moments(standings, stop, undecided, best, last)
    query = standings.groups.query[undecided]
    expected = np.clip(highest + sum_by(query, change, queries), lowest, highest)
    sd = np.where(highest > lowest, root_sum_squares(query, np.nan_to_num(deviation), queries), 0.0)
    # A group that hardly any user reaches changes no digit, even if its own deviation is unknown.
    most = best.before[standings.groups.start[undecided]] / (standings.groups.above[undecided] + 1)
    sd[query[np.isnan(deviation) & (most > NO_DIGIT * sd[query])]] = np.nan
    return Values(expected, lowest, highest, tie_broken, sd, undefined)


def _chances(grades: Floats, measure: Measure) -> Floats:
    """R of each grade.

    Raises:
        MeasureError: a grade is above gmax.
    """
    largest = measure.number("gmax")
    if len(grades) and grades.max() > largest:
        raise MeasureError(
            f"ERR has grades up to gmax={largest:g}. Got {grades.max():g}. Name the largest grade of the judgments: "
            f"ERR(gmax={np.ceil(grades.max()):g})."
        )
    return exponential_gain(grades) / 2**largest


def _stops(standings: Standings, stop: Floats, rank: Ints, last: int) -> Stops:
    """Follow the user down all queries at once, one satisfying document at a time."""
    rows = np.flatnonzero((stop > 0) & (rank <= last))
    rows = rows[np.lexsort((rank[rows], standings.query[rows]))]
    count = np.bincount(standings.query[rows], minlength=standings.queries)
    start, arrived = np.cumsum(count) - count, np.ones(standings.queries)
    before, share = np.zeros(len(stop)), np.zeros(len(stop))
    # The probability of arriving is a product, computed query by query or rank by rank, whichever are fewer: a running
    # sum of logarithms would fail for R = 1.
    some = np.flatnonzero(count)
    if len(some) < int(count.max(initial=0)):
        for only in some.tolist():
            row = rows[start[only] : start[only] + count[only]]
            before[row] = np.cumprod(np.append(1.0, 1 - stop[row[:-1]]))
        share[rows] = before[rows] * stop[rows] / rank[rows]
        return Stops(before, share)
    for place in range(int(count.max(initial=0))):
        query = np.flatnonzero(count > place)
        row = rows[start[query] + place]
        before[row] = arrived[query]
        share[row] = arrived[query] * stop[row] / rank[row]
        arrived[query] *= 1 - stop[row]
    return Stops(before, share)


def _moments(standings: Standings, stop: Floats, groups: Ints, best: Stops, last: int) -> tuple[Floats, Floats]:
    """[group] E - highest, and the standard deviation, of the contributions of the given groups."""
    found = standings.groups
    start, tied = found.start[groups], found.tied[groups]
    arrived, highest = best.before[start], np.add.reduceat(best.share, found.start)[groups]
    mean, deviation = np.zeros(len(groups)), np.zeros(len(groups))
    taken = np.add.reduceat(stop * (2 - stop), found.start)[groups] / tied
    spans = _spans(tied, np.minimum(tied, last - found.above[groups]), taken)
    takers = np.add.reduceat(stop > 0, found.start, dtype=np.int64)[groups]
    counts = np.minimum(takers, spans.ranks)
    cells = (takers + spans.ranks) / 2 * (counts + 1.0) ** 2
    walked = spans.ranks <= MOST_RANKS
    long = ~(walked & (cells <= LONG))
    short = np.flatnonzero(~long)
    for alike in alike_blocks(np.column_stack((counts, counts))[short], spans.ranks[short]):
        for block in blocks(spans.ranks[short[alike]] + 1, BLOCK):
            some = short[alike[block]]
            mean[some], deviation[some] = _block_moments(standings, stop, groups[some], spans.take(some))
    for each in np.flatnonzero(long).tolist():
        own = groups[[each]], spans.take(np.array([each]))
        mean[each], deviation[each] = _long_moments(standings, stop, *own)
        if np.isnan(deviation[each]) and walked[each] and cells[each] <= MOST_CELLS:
            mean[[each]], deviation[[each]] = _block_moments(standings, stop, *own)
    return arrived * mean - highest, arrived * deviation


class RankSpans(NamedTuple):
    """The ranks of groups that affect the value.

    Attributes:
        ranks: [group] number of ranks.
        ends: [group] whether its last rank closes it: the probability of having stopped by then is the same in every
            order.
        taken: [group] mean over its documents of 1 - (1 - R)^2.
    """

    ranks: Ints
    ends: Bools
    taken: Floats

    def take(self, chosen: Ints) -> RankSpans:
        """Some of the groups."""
        return RankSpans(self.ranks[chosen], self.ends[chosen], self.taken[chosen])


def _spans(tied: Ints, within: Ints, taken: Floats) -> RankSpans:
    """Drop the ranks that no user reaches; `within` ranks are before the cutoff."""
    ranks = np.minimum(within, horizon(taken))
    return RankSpans(ranks, (ranks < within) | (within == tied), taken)


class ReciprocalSteps(NamedTuple):
    """The decreases of 1 / r over the ranks of the given groups.

    Attributes:
        all: [group, t] including the last one, down to 0.
        open: [group, t] without the last one if the probability of having stopped by then is the same in every order:
            deep in the list it would mask the differences between orders.
    """

    all: Floats
    open: Floats


def _falls(above: Ints, spans: RankSpans) -> ReciprocalSteps:
    t = np.arange(int(spans.ranks.max()) + 1)
    rank = above[:, None] + t + 0.0
    steps = np.where((t > 0) & (t < spans.ranks[:, None]), 1 / np.maximum(rank, 1) / (rank + 1), 0.0)
    own = np.arange(len(above)), spans.ranks
    steps[own] = 1 / rank[own]
    still_open = steps.copy()
    still_open[own] *= ~spans.ends
    return ReciprocalSteps(steps, still_open)


def _block_moments(standings: Standings, stop: Floats, groups: Ints, spans: RankSpans) -> tuple[Floats, Floats]:
    """[group] mean and standard deviation of a group's contribution, given that the user reaches it."""
    tied, takers, unit = standings.groups.tied[groups], *_takers(standings, stop, groups)
    steps, width = _falls(standings.groups.above[groups], spans), int(spans.ranks.max())
    c = expected_totals(tied, takers, width)
    second = second_moments(tied, takers, steps.open)
    variance = second - (steps.open * c).sum(axis=1) ** 2
    return unit * (steps.all * c).sum(axis=1), unit * np.sqrt(np.maximum(variance, 0))


def _long_moments(standings: Standings, stop: Floats, group: Ints, spans: RankSpans) -> tuple[float, float]:
    """Mean and standard deviation of the contribution of one long group; NaN deviation where it is imprecise."""
    tied, takers, unit = standings.groups.tied[group], *_takers(standings, stop, group)
    steps, width = _falls(standings.groups.above[group], spans), int(spans.ranks[0])
    c = expected_totals(tied, takers, width)
    mean = float(unit[0] * (steps.all * c).sum())
    if width > MOST_RANKS:
        return mean, math.nan
    # If probabilities are so small that their squares underflow, the sum is proportional to them.
    scale = max(float(unit[0]), LEAST_CHANCE)
    chances, number = few_chances(takers.taken[0] * scale)
    total, doubt = PairSums.of(int(tied[0]), steps.open[0], float(spans.taken[0])).sum(
        ArrivalKinds(chances, chances, number)
    )
    variance = 2 * total / scale**2 - float((steps.open * c).sum()) ** 2
    known = 2 * doubt / scale**2 <= CLOSE * variance
    return mean, float(unit[0]) * math.sqrt(variance) if known else math.nan


def _takers(standings: Standings, stop: Floats, groups: Ints) -> tuple[GroupTakers, Floats]:
    """R of the documents of some groups in units of the largest, so that no square is out of range, and these units.

    Rows are sorted by grade, so those that satisfy come first.
    """
    found = standings.groups
    count = np.add.reduceat(stop > 0, found.start, dtype=np.int64)[groups]
    place = np.arange(int(count.max(initial=0)))
    inside, unit = place < count[:, None], stop[found.start[groups]]
    chance = np.where(inside, stop[np.where(inside, found.start[groups, None] + place, 0)], 0.0)
    return GroupTakers(chance / unit[:, None], 1 - chance, count), unit


ERR = register(
    Definition(
        "ERR",
        "Expected reciprocal rank of the document at which a reader, who may stop at each, stops.",
        "sum over r <= k of (1/r) R_r (1 - R_1) .. (1 - R_{r-1}), R = (2^g - 1) / 2^gmax",
        "Chapelle et al. 2009; gdeval.pl; under ties docs/formulas.md §3",
        _err,
        parameters={"gmax": number_in_range(4, 0, 64, "the largest grade there can be; a grade above it is an error")},
        span=UNIT,
    )
)
