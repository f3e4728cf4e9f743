"""bpref: how often judged non-relevant documents rank above relevant ones; unjudged documents are ignored.

    bpref = (1/R) sum over relevant d of [1 - min(n(d), B) / B],   n(d) judged non-relevant documents above d,
                                                                   B = min(R, N) of the judgments; 1 where N = 0

Among the r relevant and n other judged documents of a tie group every order is equally likely, whatever is between:
a relevant one has u = 0 .. n of the others before it with equal chance, and two of them have u <= v with equal chance
for every such pair. With f(u) = 1 - min(a + u, B) / B, a others above the group, S1 and S2 the sums of f and f^2::

    E = r S1 / (n+1),   E[square] = r S2 / (n+1) + r (r-1) (S1^2 + S2) / ((n+1)(n+2))

Where the depth cuts a group, this holds for what is left of it, given how many of either kind that is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trueval.measures.linear import extreme_ranks
from trueval.measures.measure import Definition, Measure, Values, no_values, register
from trueval.measures.orders.group_draws import draw
from trueval.measures.parameters import REL, count_relevant, is_relevant, relevant_by_group
from trueval.measures.span import UNIT
from trueval.specs import choice
from trueval.standings.standings import Bools, Floats, Ints, Standings, sum_by


class JudgedKinds(NamedTuple):
    """Counts of judged documents per tie group.

    Attributes:
        others_above: [group] a, number of judged non-relevant documents above it.
        relevant: [group] r, number of relevant documents in it.
        others: [group] n, number of judged non-relevant documents in it.
        most: [group] B.
    """

    others_above: Floats
    relevant: Floats
    others: Floats
    most: Floats


def _bpref(standings: Standings, measure: Measure) -> Values:
    last = standings.limit(None)
    relevant, wanted = is_relevant(standings.grade, measure), count_relevant(standings, measure)
    most = np.minimum(wanted, standings.sum_pool(~is_relevant(standings.pool_grade, measure)))
    ranks = extreme_ranks(standings, relevant.astype(float))
    scale = np.divide(1.0, wanted, out=np.zeros_like(wanted), where=wanted > 0)
    highest = _value(standings, relevant, ranks.highest, most) * scale
    lowest = _value(standings, relevant, ranks.lowest, most) * scale
    tie_broken = no_values(standings.queries)
    if standings.order_is_known:
        tie_broken = _value(standings, relevant, standings.tie_broken_rank, most) * scale
    if measure["unopposed"] == "undefined":
        # B = 0 makes the share of every listed relevant document 1, as in trec_eval.
        tie_broken = np.where((most == 0) & (standings.sum_by_query(relevant) > 0), np.nan, tie_broken)
    mean, variance = _moments(standings, relevant, most, last)
    open_queries = highest > lowest
    expected = np.where(open_queries, np.clip(mean * scale, lowest, highest), highest)
    sd = np.where(open_queries, np.sqrt(variance) * scale, 0.0)
    return Values(expected, lowest, highest, tie_broken, sd, wanted == 0)


def _value(standings: Standings, relevant: Bools, rank: Ints, most: Floats) -> Floats:
    """[query] the sum over relevant documents, in one order."""
    order = np.lexsort((rank, standings.query))
    query, counted = standings.query[order], relevant[order] & (rank[order] <= standings.limit(None))
    others = np.concatenate(([0], np.cumsum(~relevant[order])))
    start = np.searchsorted(query, query)
    above, most = (others[:-1] - others[start]).astype(float), most[query]
    # If only relevant documents are judged, each is preferred to all others.
    against = np.divide(np.minimum(above, most), most, out=np.zeros_like(above), where=most > 0)
    return sum_by(query, np.where(counted, 1 - against, 0.0), standings.queries)


def _moments(standings: Standings, relevant: Bools, most: Floats, last: int) -> tuple[Floats, Floats]:
    """[query] mean and variance of the sum over relevant documents; groups are independent."""
    groups = standings.groups
    r = relevant_by_group(standings, relevant)
    others = groups.judged - r
    above = np.cumsum(others) - others
    above = above - above[np.searchsorted(groups.query, groups.query)]
    kinds = JudgedKinds(above.astype(float), r.astype(float), others.astype(float), most[groups.query])
    mean, second = _of_whole(kinds)
    inside = groups.above < last
    # Across the depth, the remaining documents behave as a whole group, given how many of each kind remain.
    for group in np.flatnonzero(inside & (groups.above + groups.tied > last) & (r > 0)).tolist():
        drawn = last - int(groups.above[group])
        mean[group], second[group] = _of_cut(kinds, group, int(groups.tied[group]), drawn)
    mean, second = np.where(inside, mean, 0.0), np.where(inside, second, 0.0)
    variance = np.maximum(second - mean**2, 0)
    return sum_by(groups.query, mean, standings.queries), sum_by(groups.query, variance, standings.queries)


def _of_whole(kinds: JudgedKinds) -> tuple[Floats, Floats]:
    """[group] first and second moment of the sum over its relevant documents."""
    a, r, n, most = kinds
    scale = np.divide(1.0, most, out=np.zeros_like(most), where=most > 0)
    lost = (_sum_capped(a + n, most) - _sum_capped(a - 1, most)) * scale
    squares = (_sum_capped_squares(a + n, most) - _sum_capped_squares(a - 1, most)) * scale**2
    s1, s2 = n + 1 - lost, n + 1 - 2 * lost + squares
    mean = r * s1 / (n + 1)
    return mean, r * s2 / (n + 1) + r * (r - 1) * (s1**2 + s2) / ((n + 1) * (n + 2))


def _sum_capped(last: Floats, most: Floats) -> Floats:
    """Sum of min(i, B) for i = 0 .. last; 0 for last = -1."""
    low = np.minimum(last, most)
    return np.asarray(low * (low + 1) / 2 + (last - low) * most)


def _sum_capped_squares(last: Floats, most: Floats) -> Floats:
    """Sum of min(i, B)^2 for i = 0 .. last."""
    low = np.minimum(last, most)
    return np.asarray(low * (low + 1) * (2 * low + 1) / 6 + (last - low) * most**2)


def _of_cut(kinds: JudgedKinds, group: int, tied: int, drawn: int) -> tuple[float, float]:
    """First and second moment for a group of which only some documents, drawn at random, are within the depth."""
    outcomes = draw([int(kinds.relevant[group]), int(kinds.others[group])], tied, drawn)
    same = np.ones(len(outcomes.chance))
    r, n = outcomes.counts.T
    mean, second = _of_whole(JudgedKinds(kinds.others_above[group] * same, r, n, kinds.most[group] * same))
    return float(mean @ outcomes.chance), float(second @ outcomes.chance)


UNOPPOSED = (
    "the tie-broken value where nothing judged is not relevant: 1 for each relevant document listed, or 0 / 0, not "
    "available"
)

bpref = register(
    Definition(
        "bpref",
        "Binary preference: how rarely judged documents that are not relevant come above relevant ones.",
        "(1/R) sum over relevant d of [1 - min(n(d), B) / B], n(d) judged other documents above d, B = min(R, N)",
        "Buckley & Voorhees 2004, as trec_eval bpref has it; under ties closed form, derived in bpref.py",
        _bpref,
        cutoff_use="none",
        parameters={"rel": REL, "unopposed": choice("one", "undefined", about=UNOPPOSED)},
        needs_zeros=True,
        span=UNIT,
    )
)
