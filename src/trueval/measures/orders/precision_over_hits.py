"""Average precision divided by the hits: the mean precision at the relevant documents of the top k (torchmetrics).

The number of hits is random when the cutoff falls inside a tie group. Given j of its r relevant documents among the T
ranks before the cutoff, the group behaves like one of T documents with j relevant ones::

    E = sum over j of Hyp(j; m, r, T) [E_above + E_cut(j)] / (R + j),   a term with R + j = 0 is 0

and similarly for the second moment. "Relevant first" need not be the maximum: the extremes are taken over all feasible
j, with the relevant documents first or last within the T ranks. Source: docs/formulas.md §3; letters as in
precision_sums.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trueval.measures.measure import Values, no_values
from trueval.measures.orders.precision_sums import (
    RelevantGroups,
    SumMoments,
    moments,
    sums_together,
    tie_broken_hits,
    tie_broken_sum,
)
from trueval.standings.groups import ranges
from trueval.standings.standings import NO_LIMIT, Bools, Floats, Ints, Standings, sum_by


class Splits(NamedTuple):
    """The outcomes of the cutoff: one row per number j of relevant documents before it in the group that it cuts.

    Attributes:
        query: [split] index of the query; each has at least one split.
        chance: [split] probability of j; 1 for a query whose groups are uncut.
        cut: [split] the group as one of T documents, j relevant; T = j = 0 for a query whose groups are uncut.
        share: [split] 1 / (R + j), or 0.
    """

    query: Ints
    chance: Floats
    cut: RelevantGroups
    share: Floats


def over_hits(standings: Standings, relevant: Bools, groups: RelevantGroups, last: int, undefined: Bools) -> Values:
    """Evaluate average precision divided by the hits.

    Args:
        relevant: [row] whether the document is relevant.
        groups: tie groups with a relevant document.
        last: the last rank that counts.
        undefined: [query] whether there is nothing to measure.
    """
    queries = standings.queries
    whole = groups.take(groups.within == groups.tied)
    splits = _splits(groups.take((groups.within > 0) & (groups.within < groups.tied)), whole, queries)
    best = _values(splits, whole, queries, whole.above, splits.cut.above)
    last_in_whole, last_in_cut = (each.above + each.tied - each.relevant for each in (whole, splits.cut))
    worst = _values(splits, whole, queries, last_in_whole, last_in_cut)
    highest, lowest = np.full(queries, -np.inf), np.full(queries, np.inf)
    np.maximum.at(highest, splits.query, best)
    np.minimum.at(lowest, splits.query, worst)
    given = _moments_of_splits(splits, whole, queries)
    expected = np.clip(sum_by(splits.query, splits.chance * given.mean, queries), lowest, highest)
    spread = splits.chance * (given.variance + (given.mean - expected[splits.query]) ** 2)
    sd = np.where(highest > lowest, np.sqrt(sum_by(splits.query, spread, queries)), 0.0)
    tie_broken = no_values(queries)
    if standings.order_is_known:
        hits, total = tie_broken_hits(standings, relevant, last), tie_broken_sum(standings, relevant, last)
        tie_broken = np.clip(np.divide(total, hits, out=np.zeros(queries), where=hits > 0), lowest, highest)
    return Values(expected, lowest, highest, tie_broken, sd, undefined)


def _splits(across: RelevantGroups, whole: RelevantGroups, queries: int) -> Splits:
    """List the splits of every query: those of the group across the cutoff, or the single one of a query without it."""
    least = np.maximum(across.within - (across.tied - across.relevant), 0)
    count = np.minimum(across.relevant, across.within) - least + 1
    group, j = np.repeat(np.arange(len(count)), count), ranges(least, count)
    inside = across.take(group)
    plain = np.setdiff1d(np.arange(queries), across.query)
    above = sum_by(whole.query, whole.relevant, queries).astype(np.int64)[plain]
    none = np.zeros_like(plain)
    empty = RelevantGroups(plain, none, none, none, above, none)
    held = inside._replace(tied=inside.within, relevant=j)
    cut = RelevantGroups(*(np.concatenate(pair) for pair in zip(empty, held, strict=True)))
    hits = cut.relevant_above + cut.relevant
    share = np.divide(1.0, hits, out=np.zeros(len(hits)), where=hits > 0)
    return Splits(cut.query, np.concatenate([np.ones(len(plain)), _hypergeometric(inside, j, group)]), cut, share)


def _hypergeometric(group: RelevantGroups, j: Ints, owner: Ints) -> Floats:
    """[split] C(r, j) C(m - r, T - j) / C(m, T), from ratios of neighbors; the splits of an owner ascend."""
    if not len(j):
        return np.zeros(0)
    r, m, T = group.relevant, group.tied, group.within
    first = np.append(True, owner[1:] != owner[:-1])
    ratio = np.where(first, 1.0, (r - j + 1) * (T - j + 1) / np.where(first, 1, j * (m - r - T + j)))
    # All owners in one running sum of logarithms, each then scaled by its largest probability.
    logs, starts = np.cumsum(np.log(ratio)), np.flatnonzero(first)
    weight = np.exp(logs - np.maximum.reduceat(logs, starts)[owner])
    chance: Floats = weight / np.add.reduceat(weight, starts)[owner]
    return chance


def _values(splits: Splits, whole: RelevantGroups, queries: int, before: Ints, before_cut: Ints) -> Floats:
    """[split] value when the relevant documents of each group come together, right after the given ranks."""
    # All of these ranks are before the cutoff.
    above = sum_by(whole.query, sums_together(whole, before, NO_LIMIT), queries)[splits.query]
    return (above + sums_together(splits.cut, before_cut, NO_LIMIT)) * splits.share


def _moments_of_splits(splits: Splits, whole: RelevantGroups, queries: int) -> SumMoments:
    """[split] mean and variance of the value, given the split."""
    of_whole = _moments(whole)
    above = SumMoments(*(sum_by(whole.query, each, queries)[splits.query] for each in of_whole))
    inside = _moments(splits.cut)
    return SumMoments((above.mean + inside.mean) * splits.share, (above.variance + inside.variance) * splits.share**2)


def _moments(groups: RelevantGroups) -> SumMoments:
    """[group] mean and variance of its sum of precisions; if all of a group is relevant, the sum itself."""
    mean = sums_together(groups, groups.above, NO_LIMIT)
    variance = np.zeros_like(mean)
    undecided = np.flatnonzero((groups.relevant > 0) & (groups.relevant < groups.tied))
    some = groups.take(undecided)
    mean[undecided], variance[undecided] = moments(some)
    return SumMoments(mean, variance)
