"""Measures of diversity: a document gains for each facet of the query, less for a facet already seen.

    ng(r) = sum over facets i of J(d_r, i) (1 - alpha)^{C_i},   C_i documents about i above rank r
    alpha-nDCG@k = sum over r <= k of ng(r) / log2(r + 1), over that of the greedy ideal
    NRBP = (1 - (1 - alpha) beta) / M  sum over r of beta^{r-1} ng(r),   M facets with a relevant document

How often a facet was seen above a tie group does not depend on orders, so groups are independent, and inside a group
each facet is a discounted survival (survival.py): expectation and variance are exact for any group. The best and the
worst order of a group follow from the best and the worst way to each set of its documents; where those are too many,
each facet by itself bounds both. The ideal is greedy as published, so a run can beat it and values can pass 1.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from trueval.measures.facets import About, Kinds, about, greedy_gains, kinds_of
from trueval.measures.linear import linear
from trueval.measures.measure import Definition, Measure, Parameter, Value, Values, no_values, register
from trueval.measures.parameters import REL, bounded, choice
from trueval.measures.survival import (
    Factors,
    Slots,
    expected_total,
    falls,
    joint_survival,
    repeated,
    sum_pairs,
    survival,
)
from trueval.measures.weights import Table, discounts
from trueval.standings import Bools, Floats, Ints, Standings, sum_by

# Sets of documents of one group, counted by kind, through which best and worst order are searched.
MOST_SETS = 1 << 13
# Ranks of one group before the cutoff for which pairs are summed; beyond, there is no standard deviation.
MOST_RANKS = 2048
# Pairs of ranks held at once: 32 MiB per array.
BLOCK = 1 << 22
LEAST_ALPHA = 0.05
# Groups walked at once, times their documents that are about something: 512 KiB per array.
STATES = 1 << 16
# Weights of the last ranks whose sum is less than this part of all can change no digit.
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
    """What a measure of diversity adds up.

    Attributes:
        of: facets of the documents.
        keep: 1 - alpha.
        weights: of the ranks.
        last: the last rank that counts.
    """

    of: About
    keep: float
    weights: Table
    last: int


class GroupValues(NamedTuple):
    """Statistics of what tie groups add.

    Attributes:
        expected: [group].
        lowest: [group] least over its orders, or a lower bound.
        highest: [group] greatest over its orders, or an upper bound.
        variance: [group] NaN where it is not computed.
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
    weights = Table(beta ** np.arange(min(last, standings.table_length), dtype=float))
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
    """Evaluate the sum of weighted novelty gains, times a scale for each query."""
    undefined = gains.of.facets == 0
    if gains.keep == 1:  # nothing is ever taken away: a linear measure
        norm = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
        return linear(standings, gains.of.rows.sum(axis=1).astype(float), gains.weights, norm, undefined)
    groups = standings.groups
    undecided = _undecided(standings, gains)
    some_rank = standings.above + 1 + groups.place
    sure = np.where(undecided[groups.of_row], 0.0, _in_order(standings, gains, some_rank))
    parts = _parts(standings, gains, np.flatnonzero(undecided))
    query = groups.query[undecided]

    def total(name: str) -> Floats:
        return (standings.sum_by_query(sure) + sum_by(query, getattr(parts, name), standings.queries)) * scale

    lowest, highest = total("lowest"), total("highest")
    oblivious = no_values(standings.queries)
    if standings.order_is_known:
        in_order = standings.sum_by_query(_in_order(standings, gains, standings.oblivious_rank)) * scale
        oblivious = np.clip(in_order, lowest, highest)
    variance = sum_by(query, parts.variance, standings.queries)
    expected = np.clip(total("expected"), lowest, highest)
    sd = np.where(highest > lowest, np.sqrt(variance) * scale, 0.0)
    return Values(expected, lowest, highest, oblivious, sd, undefined, bool(parts.exact.all()))


def _undecided(standings: Standings, gains: Gains) -> Bools:
    """[group] whether the order of its documents matters: some are about other facets than others."""
    groups, rows = standings.groups, gains.of.rows
    if not len(rows):
        return np.zeros(0, dtype=bool)
    low, high = (way.reduceat(rows, groups.start, axis=0) for way in (np.logical_and, np.logical_or))
    alike = (low == high).all(axis=1) & ((groups.judged == groups.tied) | ~high.any(axis=1))
    return np.asarray(~alike & (groups.tied > 1) & (groups.above < gains.last))


def _in_order(standings: Standings, gains: Gains, rank: Ints) -> Floats:
    """[row] what every document adds in one order."""
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
    """[undecided group] what it adds: together where its documents are about the same facets or none, else one by one."""
    groups, rows, size = standings.groups, gains.of.rows, len(undecided)
    expected, lowest, highest, variance = np.zeros((4, size))
    values = GroupValues(expected, lowest, highest, variance, np.ones(size, dtype=bool))
    if not size:
        return values
    counts = np.add.reduceat(rows, groups.start, axis=0, dtype=np.int64)
    novel = np.add.reduceat(rows.any(axis=1), groups.start, dtype=np.int64)
    seen = np.cumsum(counts, axis=0) - counts
    seen -= seen[np.searchsorted(groups.query, groups.query)]
    left = np.where(counts > 0, gains.keep ** seen.astype(float), 0.0)
    width = np.minimum(groups.tied, gains.last - groups.above)
    alike = ((counts == 0) | (counts == novel[:, None])).all(axis=1) & (width <= MOST_RANKS)
    at = np.flatnonzero(alike[undecided])
    at = at[np.lexsort((width[undecided[at]], np.frexp(novel[undecided[at]])[1]))]
    same = Alike(standings, gains, novel, left.sum(axis=1), width)
    for begin, end in _stretches(novel[undecided[at]]):
        for column, found in zip(values, _alike_values(same, undecided[at[begin:end]]), strict=True):
            column[at[begin:end]] = found
    for place in np.flatnonzero(~alike[undecided]).tolist():
        for column, value in zip(values, _group_values(standings, gains, int(undecided[place]), left), strict=True):
            column[place] = value
    return values


class Alike(NamedTuple):
    """Tie groups in which all documents that are about something are about the same.

    Attributes:
        standings: whose groups they are.
        gains: what is added up.
        novel: [group] documents that are about something.
        left: [group] what the first of them gains.
        width: [group] ranks that count.
    """

    standings: Standings
    gains: Gains
    novel: Ints
    left: Floats
    width: Ints


def _stretches(novel: Ints) -> list[tuple[int, int]]:
    """Blocks of groups with numbers of documents between the same powers of two, none too large to hold at once."""
    power = np.frexp(novel)[1]
    edges = [0, *(np.flatnonzero(np.diff(power)) + 1).tolist(), len(novel)]
    stretches = []
    for begin, end in pairwise(edges):
        step = max(1, STATES // int(novel[begin:end].max(initial=1)))
        stretches += [(at, min(at + step, end)) for at in range(begin, end, step)]
    return stretches


def _alike_values(same: Alike, groups: Ints) -> GroupValues:
    """[group] what some groups add whose documents are about the same facets: they stand first or last, or anywhere."""
    found, gains, novel = same.standings.groups, same.gains, same.novel[groups]
    query, above, tied, left = found.query[groups], found.above[groups], found.tied[groups], same.left[groups]
    k = np.arange(int(novel.max()))
    powers = np.where(k < novel[:, None], gains.keep ** k.astype(float), 0.0)

    def in_row(before: Ints) -> Floats:
        rank = before[:, None] + k + 1
        weights = gains.weights.at(rank, np.broadcast_to(query[:, None], rank.shape))
        return np.asarray(left * (powers * weights).sum(axis=1))

    high, low = in_row(above), in_row(above + tied - novel)
    weights = _that_matter(Slots(query, above, tied, int(same.width[groups].max())).weights(gains.weights))
    moments = repeated(tied, novel, gains.keep, weights)
    expected = np.clip(moments.mean * left, low, high)
    return GroupValues(expected, low, high, moments.variance * left**2, np.ones(len(groups), dtype=bool))


def _that_matter(weights: Floats) -> Floats:
    """[group, offset] weights without the last offsets, whose sum is nothing beside the sum of all."""
    rest = np.cumsum(weights[:, ::-1], axis=1)[:, ::-1]
    return weights[:, : int((rest > NOTHING * rest[:, :1]).sum(axis=1).max(initial=1))]


def _group_values(standings: Standings, gains: Gains, group: int, left: Floats) -> tuple[float, ...]:
    """What one undecided group adds, over its orders: the statistics in the order of GroupValues."""
    groups = standings.groups
    start, count = int(groups.start[group]), int(groups.judged[group])
    above, tied = int(groups.above[group]), int(groups.tied[group])
    documents = gains.of.rows[start : start + count]
    facets = np.flatnonzero(documents.any(axis=0))
    width = min(tied, gains.last - above)
    slots = Slots(groups.query[group : group + 1], np.array([above]), np.array([tied]), width)
    weights = slots.weights(gains.weights)
    documents = documents[documents.any(axis=1)][:, facets]
    mean, variance = _moments(documents, left[group, facets], gains.keep, tied, _that_matter(weights)[0])
    padded = np.concatenate((weights[0], np.zeros(tied - width)))
    low, high, exact = _extremes(kinds_of(documents), left[group, facets], gains.keep, padded)
    return min(max(mean, low), high), low, high, variance, exact


def _moments(documents: Bools, left: Floats, keep: float, tied: int, weights: Floats) -> tuple[float, float]:
    """Mean and variance of what a group adds.

    Args:
        documents: [document, facet] those that are about something.
        left: [facet] what it still gains at the head of the group.
        keep: 1 - alpha.
        tied: documents in the group, those about nothing included.
        weights: [offset] of its ranks within the cutoff.
    """
    facets, width = documents.shape[1], len(weights)
    factors = np.where(documents.T, keep, 1.0)
    size, count = np.full(facets, tied), np.full(facets, len(documents))
    survived = survival(size, Factors(factors, count), width)
    rows = np.broadcast_to(weights, (facets, width))
    scale = left / (1 - keep)
    mean = float(scale @ expected_total(survived, rows))
    if width > MOST_RANKS:
        return mean, math.nan
    steps = falls(weights[None, :])
    second = 0.0
    pairs = [(i, j) for i in range(facets) for j in range(facets)]
    at_once = max(1, BLOCK // (width + 1) ** 2)
    for begin in range(0, len(pairs), at_once):
        i, j = np.array(pairs[begin : begin + at_once]).T
        many = np.full(len(i), tied)
        joint = joint_survival(many, factors[i] * factors[j], factors[j], np.full(len(i), len(documents)), width)
        both = 2 * sum_pairs(joint, steps, steps, equal=True) - (joint[:, :, 0] * steps**2).sum(axis=1)
        second += float((scale[i] * scale[j]) @ both)
    return mean, max(second - float(scale @ (survived @ steps[0])) ** 2, 0.0)


def _extremes(kinds: Kinds, left: Floats, keep: float, weights: Floats) -> tuple[float, float, bool]:
    """Least and greatest sum over orders of a group, and whether they are reached.

    Documents about nothing stand last in the best order and first in the worst; of the others every set is reached in
    its best and its worst way from the sets with one document less.

    Args:
        kinds: its documents by what they are about.
        left: [facet] what it still gains at the head of the group.
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
        "Clarke et al. 2008; ndeval; judgments read with facets",
        _alpha_ndcg,
        parameters={"alpha": ALPHA, "ideal": IDEAL, "rel": REL},
        needs_facets=True,
    )
)
NRBP = register(
    Definition(
        "NRBP",
        "Novelty- and rank-biased precision over the facets of a query.",
        "(1 - (1 - alpha) beta) / M  sum over r of beta^(r-1) ng(r), M facets with a relevant d, ng as alpha_nDCG",
        "Clarke et al. 2009; ndeval; judgments read with facets",
        _nrbp,
        parameters={
            "alpha": ALPHA,
            "beta": bounded(0.5, 0, 1, "the chance that a reader goes on to the next document"),
            "rel": REL,
        },
        needs_facets=True,
    )
)
