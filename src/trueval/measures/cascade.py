"""Expected reciprocal rank: a reader goes down the list and stops at the first document that satisfies.

    ERR@k = sum over ranks r <= k of (1/r) R_r (1 - R_1) .. (1 - R_{r-1}),   R = (2^g - 1) / 2^gmax

The chance to get past a tie group is the same in every order, so groups are independent. Of two neighbors the one that
satisfies more belongs in front: the difference is (R_a - R_b)(1/r - 1/(r+1)), so sorting gives both extremes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trueval.errors import MeasureError
from trueval.measures.linear import extreme_ranks
from trueval.measures.measure import Definition, Measure, Values, no_values, register
from trueval.measures.orders.blocks import blocks
from trueval.measures.orders.survival import Takers, gone, gone_together, sum_pairs
from trueval.measures.parameters import exponential_gain
from trueval.specs import bounded
from trueval.standings.standings import Floats, Ints, Standings, root_sum_squares, sum_by

# Pairs of offsets held at once, groups times ranks squared: 8 MiB per array.
BLOCK = 1 << 20
# A group with more ranks before the cutoff than this has no standard deviation: its pairs would take 128 MiB an array.
MOST_RANKS = 4096


class Stops(NamedTuple):
    """What each row adds in one order of the documents.

    Attributes:
        before: [row] chance to get as far as the document.
        share: [row] what it adds to ERR.
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
    unknown = np.isnan(deviation)
    sd = np.where(highest > lowest, root_sum_squares(query, np.where(unknown, 0.0, deviation), queries), 0.0)
    sd[query[unknown]] = np.nan
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
    """Follow the reader down every query at once, one satisfying document at a time."""
    rows = np.flatnonzero((stop > 0) & (rank <= last))
    rows = rows[np.lexsort((rank[rows], standings.query[rows]))]
    count = np.bincount(standings.query[rows], minlength=standings.queries)
    start, arrived = np.cumsum(count) - count, np.ones(standings.queries)
    before, share = np.zeros(len(stop)), np.zeros(len(stop))
    # The chance to arrive is a product, found place by place: a running sum of logarithms would lose R = 1.
    for place in range(int(count.max(initial=0))):
        query = np.flatnonzero(count > place)
        row = rows[start[query] + place]
        before[row] = arrived[query]
        share[row] = arrived[query] * stop[row] / rank[row]
        arrived[query] *= 1 - stop[row]
    return Stops(before, share)


def _moments(standings: Standings, stop: Floats, groups: Ints, best: Stops, last: int) -> tuple[Floats, Floats]:
    """[group] E - highest, and the standard deviation, of what each of some groups adds."""
    found = standings.groups
    start, within = found.start[groups], np.minimum(found.tied[groups], last - found.above[groups])
    arrived, highest = best.before[start], np.add.reduceat(best.share, found.start)[groups]
    mean, deviation = np.zeros(len(groups)), np.zeros(len(groups))
    for block in blocks((within + 1) ** 2, BLOCK):
        mean[block], deviation[block] = _block_moments(standings, stop, groups[block], within[block])
    return arrived * mean - highest, arrived * deviation


def _block_moments(standings: Standings, stop: Floats, groups: Ints, within: Ints) -> tuple[Floats, Floats]:
    """[group] mean and standard deviation of what a group adds for a reader who gets to it."""
    found, width = standings.groups, int(within.max())
    tied, takers, unit = found.tied[groups], *_takers(standings, stop, groups)
    t = np.arange(width + 1)
    rank = found.above[groups, None] + t + 0.0
    # The falls of 1 / r, the last one down to 0.
    steps = np.where((t > 0) & (t < within[:, None]), 1 / np.maximum(rank, 1) / (rank + 1), 0.0)
    own = np.arange(len(groups)), within
    steps[own] = 1 / rank[own]
    c = gone(tied, takers, width)
    mean = unit * (steps * c).sum(axis=1)
    if width > MOST_RANKS:
        return mean, np.full(len(groups), np.nan)
    # What all documents of a group take together is the same in every order. Deep down it would hide what differs.
    steps[own] *= within < tied
    joint = gone_together(tied, takers, takers, width)
    second = sum_pairs(joint, steps, steps, equal=True) + sum_pairs(joint, steps, steps, equal=False)
    return mean, unit * np.sqrt(np.maximum(second - (steps * c).sum(axis=1) ** 2, 0))


def _takers(standings: Standings, stop: Floats, groups: Ints) -> tuple[Takers, Floats]:
    """R of the documents of some groups in units of the largest, so that no square is out of range, and these units.

    Rows are sorted by grade, so those that satisfy come first.
    """
    found = standings.groups
    count = np.add.reduceat(stop > 0, found.start, dtype=np.int64)[groups]
    place = np.arange(int(count.max(initial=0)))
    inside, unit = place < count[:, None], stop[found.start[groups]]
    chance = np.where(inside, stop[np.where(inside, found.start[groups, None] + place, 0)], 0.0)
    return Takers(chance / unit[:, None], 1 - chance, count), unit


ERR = register(
    Definition(
        "ERR",
        "Expected reciprocal rank of the document at which a reader, who may stop at each, stops.",
        "sum over r <= k of (1/r) R_r (1 - R_1) .. (1 - R_{r-1}), R = (2^g - 1) / 2^gmax",
        "Chapelle et al. 2009; gdeval.pl; under ties docs/formulas.md §3",
        _err,
        parameters={"gmax": bounded(4, 0, 64, "the largest grade there can be; a grade above it is an error")},
    )
)
