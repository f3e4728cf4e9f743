"""Diversity measures: a document gains for each facet of the query, less for a facet already covered.

    ng(r) = sum over facets i of J(d_r, i) (1 - alpha)^{C_i},   C_i documents about i above rank r
    alpha-nDCG@k = sum over r <= k of ng(r) / log2(r + 1), over that of the greedy ideal
    NRBP = (1 - (1 - alpha) beta) / M  sum over r of beta^{r-1} ng(r),   M facets with a relevant document

How often a facet was seen above a tie group does not depend on orders, so groups are independent. Inside a group each
facet is walked down rank by rank (survival.py) and every two facets too (facet_pairs.py), many groups at once; a group
with many documents about two facets goes by times of arrival (arrivals.py). Expectation and variance are exact for any
group. The best and the worst order of a group follow from the best and the worst way to each set of its documents;
where those are too many, each facet by itself bounds both. The ideal is greedy as published, so a run can beat it and
pass 1.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from trueval.measures.linear import linear
from trueval.measures.measure import Definition, Measure, Values, no_values, register
from trueval.measures.orders import arrivals
from trueval.measures.orders.facet_pairs import FacetPairs, blocks, covariances, facet_pairs
from trueval.measures.orders.facets import About, FacetKinds, about, greedy_gains, kinds_of
from trueval.measures.orders.survival import (
    GroupTakers,
    Repeats,
    Slots,
    discounted_moments,
    expected_totals,
    falls,
    horizon,
)
from trueval.measures.orders.weights import WeightTable, discounts
from trueval.measures.parameters import REL
from trueval.measures.span import FROM_ZERO, UNIT
from trueval.specs import Parameter, Value, choice, number_in_range
from trueval.standings.standings import Bools, Floats, Ints, Standings, sum_by

# Maximum number of document subsets of one group, counted by kind, for the search of best and worst order.
MOST_SETS = 1 << 13
# A group with more relevant ranks than this has no standard deviation.
MOST_RANKS = 1 << 14
LEAST_ALPHA = 0.05
# Maximum number of states of documents about either of two facets, or both, and of states times ranks, for walking a
# group; in longer groups documents arrive at random times.
MOST_STATES, MOST_STEPS = 1 << 12, 1 << 18
# A variance is not reported if more than this share of it is uncertain.
CLOSE = 2.0**-23
# Trailing weights whose sum is below this share of all change no digit.
NOTHING = 2.0**-60


def _alpha(value: Value) -> Value:
    """alpha, or ValueError: below this, differences of survivals would lose too many digits."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise ValueError(value)
    if 0 < value < LEAST_ALPHA:
        raise ValueError(value)
    return value


ALPHA = Parameter(0.5, "0, or a number from 0.05 to 1", _alpha, "how much of a facet's gain each document takes away")
IDEAL = choice(
    "greedy",
    "ndeval",
    about="which of equally novel documents the greedy ideal takes: that about earlier facets, or as ndeval that of "
    "the largest document id, so that names can change values",
)


class Gains(NamedTuple):
    """The terms that a diversity measure sums.

    Attributes:
        of: facets of the documents.
        keep: 1 - alpha.
        weights: weights of the ranks.
        last: the last rank that counts.
    """

    of: About
    keep: float
    weights: WeightTable
    last: int


class GroupValues(NamedTuple):
    """Statistics of the contributions of tie groups.

    Attributes:
        expected: [group] mean over its orders.
        lowest: [group] lowest over its orders, or a lower bound.
        highest: [group] highest over its orders, or an upper bound.
        variance: [group] variance over its orders; NaN where not computed.
        exact: [group] whether lowest and highest are reached.
    """

    expected: Floats
    lowest: Floats
    highest: Floats
    variance: Floats
    exact: Bools


def _alpha_ndcg(standings: Standings, measure: Measure) -> Values:
    last, of = standings.limit(measure.cutoff), about(standings, measure)
    gains = Gains(of, 1 - measure.number("alpha"), discounts(last, standings.table_length), last)
    ideal = _ideal(standings, measure, of)
    return _novelty(standings, gains, np.divide(1.0, ideal, out=np.zeros_like(ideal), where=ideal > 0))


def _nrbp(standings: Standings, measure: Measure) -> Values:
    last, of = standings.limit(measure.cutoff), about(standings, measure)
    keep, beta = 1 - measure.number("alpha"), measure.number("beta")
    weights = WeightTable(beta ** np.arange(min(last, standings.table_length), dtype=float))
    facets = of.facets.astype(float)
    scale = np.divide(1 - keep * beta, facets, out=np.zeros_like(facets), where=facets > 0)
    return _novelty(standings, Gains(of, keep, weights, last), scale)


def _ideal(standings: Standings, measure: Measure, of: About) -> Floats:
    """[query] the sum for the greedy ranking of all judged documents."""
    keep = 1 - measure.number("alpha")
    start = np.searchsorted(standings.pool_query, np.arange(standings.queries + 1)).tolist()
    longest = int(np.diff(start).max(initial=1))
    table = discounts(longest if measure.cutoff is None else measure.cutoff, longest).weights
    ideal = np.zeros(standings.queries)
    for query in np.flatnonzero(of.facets).tolist():
        own = slice(start[query], start[query + 1])
        place = of.place[own] if measure["ideal"] == "ndeval" else None
        gains = greedy_gains(kinds_of(of.pool[own, : of.facets[query]]), keep, len(table), place)
        ideal[query] = float(gains @ table[: len(gains)])
    return ideal


def _novelty(standings: Standings, gains: Gains, scale: Floats) -> Values:
    """Evaluate the sum of weighted novelty gains, times a scale per query."""
    undefined = gains.of.facets == 0
    if gains.keep == 1:  # nothing is ever taken away: a linear measure
        norm = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
        return linear(standings, gains.of.rows.sum(axis=1).astype(float), gains.weights, norm, undefined)
    groups = standings.groups
    undecided = _order_matters(standings, gains)
    some_rank = standings.above + 1 + groups.place
    sure = np.where(undecided[groups.of_row], 0.0, _in_order(standings, gains, some_rank))
    parts = _parts(standings, gains, np.flatnonzero(undecided))
    query = groups.query[undecided]

    def total(name: str) -> Floats:
        return (standings.sum_by_query(sure) + sum_by(query, getattr(parts, name), standings.queries)) * scale

    lowest, highest = total("lowest"), total("highest")
    tie_broken = no_values(standings.queries)
    if standings.order_is_known:
        in_order = standings.sum_by_query(_in_order(standings, gains, standings.tie_broken_rank)) * scale
        tie_broken = np.clip(in_order, lowest, highest)
    variance = sum_by(query, parts.variance, standings.queries)
    expected = np.clip(total("expected"), lowest, highest)
    sd = np.where(highest > lowest, np.sqrt(variance) * scale, 0.0)
    return Values(expected, lowest, highest, tie_broken, sd, undefined, bool(parts.exact.all()))


def _order_matters(standings: Standings, gains: Gains) -> Bools:
    """[group] whether its order matters: some of its documents cover other facets than others."""
    groups, rows = standings.groups, gains.of.rows
    if not len(rows):
        return np.zeros(0, dtype=bool)
    low, high = (way.reduceat(rows, groups.start, axis=0) for way in (np.logical_and, np.logical_or))
    alike = (low == high).all(axis=1) & ((groups.judged == groups.tied) | ~high.any(axis=1))
    return np.asarray(~alike & (groups.tied > 1) & (groups.above < gains.last))


def _in_order(standings: Standings, gains: Gains, rank: Ints) -> Floats:
    """[row] contribution of every document in one order."""
    order = np.lexsort((rank, standings.query))
    query, rows = standings.query[order], gains.of.rows[order]
    seen = np.zeros((len(rows) + 1, rows.shape[1]), dtype=np.int64)
    np.cumsum(rows, axis=0, out=seen[1:])
    before = seen[:-1] - seen[np.searchsorted(query, query)]
    novel = np.where(rows, gains.keep ** before.astype(float), 0.0).sum(axis=1)
    added = np.empty(len(rows))
    added[order] = novel * gains.weights.at(rank[order], query)
    return added


def _parts(standings: Standings, gains: Gains, undecided: Ints) -> GroupValues:
    """[undecided group] its contribution: jointly where all its documents cover the same facets."""
    expected, lowest, highest, variance = np.zeros((4, len(undecided)))
    values = GroupValues(expected, lowest, highest, variance, np.ones(len(undecided), dtype=bool))
    if not len(undecided):
        return values
    found = _open(standings, gains)
    reach = found.reach.max(axis=1)
    alike = ((found.counts == 0) | (found.counts == found.novel[:, None])).all(axis=1) & (reach <= MOST_RANKS)
    some = np.flatnonzero(alike[undecided])
    for block in blocks(found.novel[undecided[some], None], reach[undecided[some]]):
        for column, part in zip(values, _alike_values(found, undecided[some[block]]), strict=True):
            column[some[block]] = part
    others = np.flatnonzero(~alike[undecided])
    moments = _moments_of(found, undecided[others])
    for at, place in enumerate(others.tolist()):
        low, high, exact = _group_extremes(found, int(undecided[place]))
        mean = min(max(float(moments.mean[at]), low), high)
        for column, value in zip(values, (mean, low, high, moments.variance[at], exact), strict=True):
            column[place] = value
    return values


class FacetGroups(NamedTuple):
    """Tie groups by the facets of their documents.

    Attributes:
        standings: standings with the groups.
        gains: terms of the sum.
        counts: [group, facet] number of documents about it.
        novel: [group] number of documents with any facet.
        left: [group, facet] gain of its first document.
        width: [group] number of ranks that count.
        reach: [group, facet] number of those ranks after which the facet may still gain.
    """

    standings: Standings
    gains: Gains
    counts: Ints
    novel: Ints
    left: Floats
    width: Ints
    reach: Ints

    def weights(self, groups: Ints, reach: Ints) -> Floats:
        """[group, offset] weights of the first ranks of some groups, 0 past the reach of each."""
        found, width = self.standings.groups, max(int(reach.max()), 0)
        slots = Slots(found.query[groups], found.above[groups], np.minimum(found.tied[groups], reach), width)
        return slots.weights(self.gains.weights)

    def documents(self, group: int) -> Bools:
        """[document, facet] facets of the group's documents that have any."""
        start = self.standings.groups.start[group]
        rows = self.gains.of.rows[start : start + self.standings.groups.judged[group]]
        return np.asarray(rows[rows.any(axis=1)][:, self.counts[group] > 0])


def _open(standings: Standings, gains: Gains) -> FacetGroups:
    groups, rows = standings.groups, gains.of.rows
    counts = np.add.reduceat(rows, groups.start, axis=0, dtype=np.int64)
    novel = np.add.reduceat(rows.any(axis=1), groups.start, dtype=np.int64)
    seen = np.cumsum(counts, axis=0) - counts
    seen -= seen[np.searchsorted(groups.query, groups.query)]
    left = np.where(counts > 0, gains.keep ** seen.astype(float), 0.0)
    width = np.minimum(groups.tied, gains.last - groups.above)
    taken = counts / groups.tied[:, None] * (1 - gains.keep**2)
    reach = np.where(counts > 0, np.minimum(width[:, None], horizon(taken)), 0)
    return FacetGroups(standings, gains, counts, novel, left, width, reach)


def _alike_values(found: FacetGroups, groups: Ints) -> GroupValues:
    """[group] contribution of groups whose documents have the same facets: they come first, last, or anywhere."""
    own, gains, novel = found.standings.groups, found.gains, found.novel[groups]
    query, above, tied, left = own.query[groups], own.above[groups], own.tied[groups], found.left[groups].sum(axis=1)
    k = np.arange(int(novel.max()))
    powers = np.where(k < novel[:, None], gains.keep ** k.astype(float), 0.0)

    def in_row(before: Ints) -> Floats:
        rank = before[:, None] + k + 1
        weights = gains.weights.at(rank, np.broadcast_to(query[:, None], rank.shape))
        return np.asarray(left * (powers * weights).sum(axis=1))

    high, low = in_row(above), in_row(above + tied - novel)
    moments = discounted_moments(
        tied, novel, gains.keep, _that_matter(found.weights(groups, found.reach[groups].max(axis=1)))
    )
    expected = np.clip(moments.mean * left, low, high)
    return GroupValues(expected, low, high, moments.variance * left**2, np.ones(len(groups), dtype=bool))


def _moments_of(found: FacetGroups, groups: Ints) -> Repeats:
    """[group] mean and variance: those of each facet, and the covariance of every two."""
    mean, variance = np.zeros((2, len(groups)))
    place, facet = np.nonzero(found.counts[groups])
    left = found.left[groups[place], facet]
    alone = _facet_moments(found, groups[place], facet)
    np.add.at(mean, place, left * alone.mean)
    np.add.at(variance, place, left**2 * alone.variance)
    pairs = facet_pairs(found.gains.of.rows, found.standings.groups, groups)
    states = np.zeros(len(groups))
    np.maximum.at(states, pairs.group, (pairs.sizes + 1.0).prod(axis=1))
    width = found.reach[groups].max(axis=1, initial=0)
    walked = (states <= MOST_STATES) & (states * width <= MOST_STEPS)
    short = pairs.take(np.flatnonzero(walked[pairs.group]))
    np.add.at(variance, short.group, _short_covariances(found, groups, short))
    for long in np.flatnonzero(~walked & (states > 0)).tolist():
        added = _long_covariances(found, int(groups[long]), pairs.take(np.flatnonzero(pairs.group == long)))
        variance[long] += added.total
        if not added.doubt <= CLOSE * variance[long]:
            variance[long] = math.nan
    return Repeats(mean, np.maximum(variance, 0))


def _facet_moments(found: FacetGroups, groups: Ints, facet: Ints) -> Repeats:
    """[place] mean and variance of a group's gain from a facet not covered before."""
    reach, tied, count = found.reach[groups, facet], found.standings.groups.tied[groups], found.counts[groups, facet]
    mean, variance = np.zeros(len(groups)), np.full(len(groups), np.nan)
    some = np.flatnonzero(reach <= MOST_RANKS)
    for block in blocks(count[some, None], reach[some]):
        own = some[block]
        weights = _that_matter(found.weights(groups[own], reach[own]))
        mean[own], variance[own] = discounted_moments(tied[own], count[own], found.gains.keep, weights)
    for each in np.flatnonzero(reach > MOST_RANKS).tolist():
        own = np.array([each])
        steps = falls(_that_matter(found.weights(groups[own], reach[own])))
        mean[each] = float((steps * _expected_takes(tied[own], count[own], found.gains.keep, steps.shape[1] - 1)).sum())
    return Repeats(mean, variance)


def _expected_takes(tied: Ints, count: Ints, keep: float, width: int) -> Floats:
    """[group, t] what the documents about one facet take, in units of what each takes, 1 - keep."""
    documents = np.ones((len(tied), int(count.max(initial=0))))
    return expected_totals(tied, GroupTakers(documents, keep * documents, count), width)


def _short_covariances(found: FacetGroups, groups: Ints, pairs: FacetPairs) -> Floats:
    """[pair] contribution of two facets to the variance of a group, for many groups at once."""
    added = np.zeros(len(pairs.group))
    own = groups[pairs.group]
    reach = found.reach[own].max(axis=1, initial=0)
    scale = 2 * found.left[own, pairs.one] * found.left[own, pairs.other]
    for block in blocks(pairs.sizes, reach):
        weights, tied = _that_matter(found.weights(own[block], reach[block])), found.standings.groups.tied[own[block]]
        added[block] = scale[block] * covariances(tied, pairs.sizes[block], found.gains.keep, weights)
    return added


def _long_covariances(found: FacetGroups, group: int, pairs: FacetPairs) -> arrivals.Sum:
    """Contribution of every two facets to the variance of a long group, from arrival times."""
    own = np.array([group])
    tied, keep, width = found.standings.groups.tied[own], found.gains.keep, int(found.width[group])
    reach, share = int(found.reach[group].max()), 1 - keep
    if reach > MOST_RANKS:
        return arrivals.Sum(math.nan, math.nan)
    steps = falls(_that_matter(found.weights(own, np.array([reach]))))[0]
    if reach < width or width == tied[0]:
        steps[-1] = 0  # the total taken is the same in every order
    facets = np.flatnonzero(found.counts[group])
    alone = np.zeros(found.counts.shape[1])
    alone[facets] = _expected_takes(tied.repeat(len(facets)), found.counts[group, facets], keep, len(steps) - 1) @ steps
    taken = float(found.counts[group].max()) / int(tied[0]) * (1 - keep**2)
    sums = arrivals.PairSums.of(int(tied[0]), steps, taken)
    first, second = np.array([share, 0.0, share]), np.array([0.0, share, share])
    total = doubt = 0.0
    for one, other, sizes in zip(pairs.one.tolist(), pairs.other.tolist(), pairs.sizes, strict=True):
        scale = 2 * float(found.left[group, one] * found.left[group, other])
        both = [sums.sum(arrivals.ArrivalKinds(*order, sizes)) for order in ((first, second), (second, first))]
        total += scale * (sum(each.total for each in both) / share**2 - float(alone[one] * alone[other]))
        doubt += scale * sum(each.doubt for each in both) / share**2
    return arrivals.Sum(total, doubt)


def _that_matter(weights: Floats) -> Floats:
    """[group, offset] weights without trailing offsets whose sum is negligible."""
    rest = np.cumsum(weights[:, ::-1], axis=1)[:, ::-1]
    return weights[:, : int((rest > NOTHING * rest[:, :1]).sum(axis=1).max(initial=1))]


def _group_extremes(found: FacetGroups, group: int) -> tuple[float, float, bool]:
    """Lowest and highest contribution of one group, and whether they are reached."""
    weights = found.weights(np.array([group]), found.width[[group]])[0]
    padded = np.concatenate((weights, np.zeros(int(found.standings.groups.tied[group]) - len(weights))))
    left = found.left[group, found.counts[group] > 0]
    return _extremes(kinds_of(found.documents(group)), left, found.gains.keep, padded)


def _extremes(kinds: FacetKinds, left: Floats, keep: float, weights: Floats) -> tuple[float, float, bool]:
    """Lowest and highest sum over orders of a group, and whether they are reached.

    Documents about nothing come last in the best order and first in the worst; of the others every set is reached in
    its best and its worst way from the sets with one document less.

    Args:
        kinds: its documents by facets.
        left: [facet] its gain at the start of the group.
        keep: 1 - alpha.
        weights: [rank of the group] 0 past the cutoff.
    """
    novel = int(kinds.size.sum())
    front, back = weights[:novel], weights[len(weights) - novel :]
    if math.prod((kinds.size + 1).tolist()) > MOST_SETS:
        each = (kinds.about * kinds.size[:, None]).sum(axis=0).astype(int).tolist()
        high = sum(part * float(keep ** np.arange(n) @ front[:n]) for part, n in zip(left, each, strict=True))
        low = sum(part * float(keep ** np.arange(n) @ back[novel - n :]) for part, n in zip(left, each, strict=True))
        return float(low), float(high), False
    sets = np.indices((kinds.size + 1).tolist()).reshape(len(kinds.size), -1).T
    gain = (left * keep ** (sets @ kinds.about)) @ kinds.about.T
    stride = np.cumprod(np.append(1, (kinds.size + 1)[:0:-1]))[::-1]
    size = sets.sum(axis=1)
    best, worst = np.full(len(sets), -np.inf), np.full(len(sets), np.inf)
    best[0] = worst[0] = 0.0
    for taken in range(novel):
        layer = np.flatnonzero(size == taken)
        for kind, step in enumerate(stride.tolist()):
            source = layer[sets[layer, kind] < kinds.size[kind]]
            target = source + step
            best[target] = np.maximum(best[target], best[source] + front[taken] * gain[source, kind])
            worst[target] = np.minimum(worst[target], worst[source] + back[taken] * gain[source, kind])
    return float(worst[-1]), float(best[-1]), True


alpha_nDCG = register(
    Definition(
        "alpha_nDCG",
        "Novelty-biased nDCG over the facets of a query; it can pass 1, as its ideal is greedy.",
        "sum over r <= k of ng(r) / log2(r + 1), over that of the greedy ideal; "
        "ng(r) = sum over facets i of J(d_r, i) (1 - alpha)^(documents about i above r)",
        "Clarke et al. 2008; ndeval, which in pyndeval breaks ties of a run by ascending id, tie_order='docid-asc'; "
        "judgments read with facets",
        _alpha_ndcg,
        parameters={"alpha": ALPHA, "ideal": IDEAL, "rel": REL},
        needs_facets=True,
        span=FROM_ZERO,
    )
)
NRBP = register(
    Definition(
        "NRBP",
        "Novelty- and rank-biased precision over the facets of a query.",
        "(1 - (1 - alpha) beta) / M  sum over r of beta^(r-1) ng(r), M facets with a relevant d, ng as alpha_nDCG",
        "Clarke et al. 2009; ndeval, with ties as alpha_nDCG; judgments read with facets",
        _nrbp,
        parameters={
            "alpha": ALPHA,
            "beta": number_in_range(0.5, 0, 1, "the chance that a reader goes on to the next document"),
            "rel": REL,
        },
        needs_facets=True,
        span=UNIT,
    )
)
