"""Interpolated precision: the best precision from a level of recall on, and its mean over the eleven levels.

    IPrec(recall=x) = max over j >= c of j / rank_j,   rank_j of the j-th relevant document
    IPrec11         = mean of IPrec at recall 0, .1, .., 1

The documents c that reach the recall are x R rounded up, as in trec_eval 9 and pytrec_eval (which add 0.9 and cut, so
that less than a tenth is dropped), or to the nearest, as in trec_eval 10.

Every j / rank_j is largest with relevant documents first, so both extremes are sorted orders. The maximum is at most v
if each group of ties keeps its own j / rank_j at most v: a walk down the group counts those orders, for every value v
there can be.
"""

from __future__ import annotations

import math
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from trueval.errors import MeasureError
from trueval.measures.draws import moments
from trueval.measures.linear import extreme_ranks
from trueval.measures.measure import Definition, Measure, Values, no_values, register
from trueval.measures.parameters import REL, bounded, choice, count_relevant, is_relevant
from trueval.measures.precision_sums import RelevantGroups, relevant_groups
from trueval.standings import Bools, Floats, Ints, Standings

# What trec_eval 9 and 10 add to x R before they cut it to a whole number (10 calls lround).
PARTS = {"up": 0.9, "nearest": 0.5}
ROUNDING = choice(
    "up",
    "nearest",
    about="documents that reach a recall: rounded up as trec_eval 9 and pytrec_eval, or to the nearest as trec_eval 10",
)
LEVELS = tuple(level / 10 for level in range(11))
# Steps of the walk for one query, about half a minute; more is refused.
MOST_STEPS = 1 << 34
# Walks held at once, values times relevant documents: 32 MiB.
BLOCK = 1 << 22
# Orders of a query listed for the standard deviation of the curve's mean.
MOST_ORDERS = 5040


class Curve(NamedTuple):
    """What the curve of one query needs.

    Attributes:
        groups: its tie groups with a relevant document.
        last: the last rank that counts.
    """

    groups: RelevantGroups
    last: int


def _iprec(standings: Standings, measure: Measure) -> Values:
    return _interpolated(standings, measure, (measure.number("recall"),))


def _iprec11(standings: Standings, measure: Measure) -> Values:
    return _interpolated(standings, measure, LEVELS)


def _interpolated(standings: Standings, measure: Measure, levels: tuple[float, ...]) -> Values:
    """The mean of interpolated precision at some levels of recall."""
    last, relevant = standings.limit(None), is_relevant(standings.grade, measure)
    wanted = count_relevant(standings, measure)
    needed = [needed_for(level, wanted, str(measure["rounding"])) for level in levels]
    ranks = extreme_ranks(standings, relevant.astype(float))
    highest = _values(standings, relevant, ranks.highest, needed)
    lowest = _values(standings, relevant, ranks.lowest, needed)
    oblivious = no_values(standings.queries)
    if standings.order_is_known:
        oblivious = _values(standings, relevant, standings.oblivious_rank, needed).mean(axis=0)
    expected, sd = highest.copy(), np.zeros(standings.queries)
    groups = relevant_groups(standings, relevant, last)
    for query in np.flatnonzero((highest > lowest).any(axis=0)).tolist():
        curve = Curve(groups.take(groups.query == query), last)
        cuts = [int(each[query]) for each in needed]
        found = [_moments(curve, cut, lowest[at, query], highest[at, query]) for at, cut in enumerate(cuts)]
        expected[:, query] = [mean for mean, _ in found]
        sd[query] = found[0][1] if len(levels) == 1 else _deviation(curve, cuts)
    low, high = lowest.mean(axis=0), highest.mean(axis=0)
    return Values(np.clip(expected.mean(axis=0), low, high), low, high, oblivious, sd, wanted == 0)


def needed_for(recall: float, wanted: Floats, rounding: str) -> Ints:
    """[query] relevant documents that reach a level of recall, at least one.

    >>> needed_for(0.3, np.array([4.0, 5.0]), "up").tolist(), needed_for(0.3, np.array([4.0, 5.0]), "nearest").tolist()
    ([2, 2], [1, 2])
    """
    return np.maximum(np.floor(recall * wanted + PARTS[rounding]).astype(np.int64), 1)


def _values(standings: Standings, relevant: Bools, rank: Ints, needed: list[Ints]) -> Floats:
    """[level, query] interpolated precision in one order."""
    rows = np.flatnonzero(relevant & (rank <= standings.limit(None)))
    rows = rows[np.lexsort((rank[rows], standings.query[rows]))]
    query = standings.query[rows]
    found = np.arange(len(rows)) - np.searchsorted(query, query) + 1
    precision = found / rank[rows]
    values = np.zeros((len(needed), standings.queries))
    for level, cut in enumerate(needed):
        counts = found >= cut[query]
        np.maximum.at(values[level], query[counts], precision[counts])
    return values


def _moments(curve: Curve, cut: int, lowest: float, highest: float) -> tuple[float, float]:
    """Mean and standard deviation over all orders, from the chance of every value."""
    if lowest == highest:
        return float(lowest), 0.0
    groups = curve.groups
    some = np.flatnonzero(
        (groups.within > 0)
        & (groups.relevant < groups.tied)
        & (groups.relevant_above + groups.relevant >= cut)
        & ((groups.relevant_above + groups.relevant) > lowest * groups.above)
    )
    walks = [_Walk.of(groups, group, cut, lowest, curve.last) for group in some.tolist()]
    candidates = np.concatenate([[lowest], *(walk.candidates(highest) for walk in walks)])
    values = np.unique(candidates)
    steps = sum(len(values) * (walk.relevant + 1) * walk.ranks for walk in walks)
    if steps > MOST_STEPS:
        raise MeasureError(
            f"IPrec of a list with {int(groups.tied.max())} tied documents, {int(groups.relevant.max())} of them "
            f"relevant, would take {steps:.1e} steps. Limit it with depth, or leave the measure out."
        )
    at_most = np.ones(len(values))
    for walk in walks:
        at_most *= walk.at_most(values)
    chance = np.diff(at_most, prepend=0.0)
    return moments(values, chance)


class _Walk(NamedTuple):
    """A walk down one tie group.

    Attributes:
        above: c, documents above it.
        tied: m.
        relevant: r.
        relevant_above: R.
        cut: relevant documents from which on precision counts.
        ranks: of its ranks, those on which precision can pass the lowest value.
        lowest: the lowest value over all orders.
    """

    above: int
    tied: int
    relevant: int
    relevant_above: int
    cut: int
    ranks: int
    lowest: float

    @classmethod
    def of(cls, groups: RelevantGroups, group: int, cut: int, lowest: float, last: int) -> _Walk:
        above, within = int(groups.above[group]), int(groups.within[group])
        most = int(groups.relevant_above[group] + groups.relevant[group])
        reach = within if lowest == 0 else min(within, math.ceil(most / lowest) - above)
        tied, relevant = int(groups.tied[group]), int(groups.relevant[group])
        return cls(above, tied, relevant, int(groups.relevant_above[group]), cut, max(reach, 0), lowest)

    def candidates(self, highest: float) -> Floats:
        """The values above the lowest that precision can take here."""
        found = self.relevant_above + np.arange(1, self.relevant + 1)[:, None]
        rank = self.above + np.arange(1, self.ranks + 1)
        precision = np.where(found >= self.cut, found / rank, 0.0)
        possible = (found - self.relevant_above <= rank - self.above) & (precision > self.lowest)
        return np.asarray(precision[possible & (precision <= highest)])

    def at_most(self, values: Floats) -> Floats:
        """[value] the chance that no precision here is above it."""
        size = max(1, BLOCK // (self.relevant + 1))
        blocks = [self._block(values[begin : begin + size]) for begin in range(0, len(values), size)]
        return np.concatenate(blocks)

    def _block(self, values: Floats) -> Floats:
        """Chances of i = 0 .. r relevant documents so far with every precision at most the value, rank by rank."""
        i = np.arange(self.relevant)
        found = self.relevant_above + i + 1
        state = np.zeros((len(values), self.relevant + 1))
        state[:, 0] = 1.0
        for offset in range(self.ranks):
            chance = np.minimum((self.relevant - i) / (self.tied - offset), 1.0)
            precision = np.where(found >= self.cut, found / (self.above + offset + 1), 0.0)
            moved = state[:, :-1] * chance
            state[:, :-1] -= moved
            state[:, 1:] += moved * (precision <= values[:, None])
        return np.asarray(state.sum(axis=1))


def _deviation(curve: Curve, cuts: list[int]) -> float:
    """Standard deviation of the mean over levels, from every placement of the relevant documents; NaN if too many."""
    groups = curve.groups
    if math.prod(math.comb(int(m), int(r)) for m, r in zip(groups.tied, groups.relevant, strict=True)) > MOST_ORDERS:
        return math.nan
    places = [
        [tuple(c + 1 + place for place in chosen) for chosen in combinations(range(m), r)]
        for c, m, r in zip(groups.above.tolist(), groups.tied.tolist(), groups.relevant.tolist(), strict=True)
    ]
    rank = np.array([sum(parts, ()) for parts in product(*places)])
    precision = np.where(rank <= curve.last, np.arange(1, rank.shape[1] + 1) / rank, 0.0)
    best = np.maximum.accumulate(precision[:, ::-1], axis=1)[:, ::-1]
    reached = [best[:, cut - 1] if cut <= rank.shape[1] else np.zeros(len(rank)) for cut in cuts]
    return moments(np.mean(reached, axis=0), np.full(len(rank), 1 / len(rank)))[1]


IPrec = register(
    Definition(
        "IPrec",
        "Interpolated precision: the best precision at any rank from a level of recall on.",
        "max over j >= c of j / rank of the j-th relevant d, c = recall R rounded, at least 1",
        "trec_eval iprec_at_recall; Manning et al. 2008 §8.4; under ties counted by a walk, interpolated.py",
        _iprec,
        cutoff_use="none",
        parameters={"recall": bounded(0.5, 0, 1, "the level of recall"), "rel": REL, "rounding": ROUNDING},
    )
)
IPrec11 = register(
    Definition(
        "IPrec11",
        "Eleven-point average: the mean of interpolated precision at recall 0, .1, .., 1.",
        "(1/11) sum over x = 0, .1, .., 1 of IPrec(recall=x)",
        "trec_eval 11pt_avg; Manning et al. 2008 §8.4",
        _iprec11,
        cutoff_use="none",
        parameters={"rel": REL, "rounding": ROUNDING},
    )
)


def interpolated_curve(rel: float = 1) -> tuple[Measure, ...]:
    """The eleven measures of the interpolated precision-recall curve, from recall 0 to 1.

    Args:
        rel: a document is relevant if its grade is at least this.

    >>> [str(m) for m in interpolated_curve()[:2]]
    ['IPrec(recall=0.0, rel=1)', 'IPrec(recall=0.1, rel=1)']
    """
    return tuple(IPrec(recall=level, rel=rel) for level in LEVELS)
