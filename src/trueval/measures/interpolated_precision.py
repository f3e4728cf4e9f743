"""Interpolated precision: the highest precision at or above a recall level, and its mean over eleven levels.

    IPrec(recall=x) = max over j >= c of j / rank_j,   rank_j of the j-th relevant document
    IPrec11         = mean of IPrec at recall 0, .1, .., 1

The documents c that reach the recall are x R rounded up, as in trec_eval 9 and pytrec_eval (which add 0.9 and cut, so
that less than a tenth is dropped), or to the nearest, as in trec_eval 10.

Every j / rank_j is largest with relevant documents first, so both extremes are sorted orders, always exact. The maximum
is at most v if each group of ties keeps its own j / rank_j at most v; the chance of that, for every value v there can
be, gives the expectation (best_precision.py, curve_moments.py). Where those are too many, as with hundreds of relevant
documents in one group, some of them bound it: `expected` is then the middle of its bounds, IPrec has no standard
deviation, and the measure is marked as not exact.
"""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np

from trueval.measures.linear import extreme_ranks
from trueval.measures.measure import Definition, Measure, Values, no_values, register
from trueval.measures.orders.curve_moments import CurveMoments, Levels, curve_moments
from trueval.measures.orders.group_draws import moments
from trueval.measures.orders.precision_sums import RelevantGroups, relevant_groups
from trueval.measures.parameters import REL, count_relevant, is_relevant
from trueval.measures.span import UNIT
from trueval.specs import choice, number_in_range
from trueval.standings.standings import Bools, Floats, Ints, Standings

# Amount that trec_eval 9 and 10 add to x R before truncating it (10 calls lround).
PARTS = {"up": 0.9, "nearest": 0.5}
ROUNDING = choice(
    "up",
    "nearest",
    about="documents that reach a recall: rounded up as trec_eval 9 and pytrec_eval, or to the nearest as trec_eval 10",
)
LEVELS = tuple(level / 10 for level in range(11))
# Bounds of an expectation this close count as one value.
SAME = 1e-12
# Maximum number of orders of a query enumerated for the standard deviation of the curve's mean.
MOST_ORDERS = 5040


def _interpolated_precision(standings: Standings, measure: Measure) -> Values:
    """Interpolated precision at the measure's recall level; without one, its mean over the eleven levels."""
    levels = (measure.number("recall"),) if "recall" in measure.definition.parameters else LEVELS
    last, relevant = standings.limit(None), is_relevant(standings.grade, measure)
    wanted = count_relevant(standings, measure)
    needed = [documents_needed(level, wanted, str(measure["rounding"])) for level in levels]
    ranks = extreme_ranks(standings, relevant.astype(float))
    highest = _values(standings, relevant, ranks.highest, needed)
    lowest = _values(standings, relevant, ranks.lowest, needed)
    tie_broken = no_values(standings.queries)
    if standings.order_is_known:
        tie_broken = _values(standings, relevant, standings.tie_broken_rank, needed).mean(axis=0)
    expected, width, sd = highest.copy(), np.zeros_like(highest), np.zeros(standings.queries)
    groups = relevant_groups(standings, relevant, last)
    ends = np.searchsorted(groups.query, np.arange(standings.queries + 1)).tolist()
    cuts = np.stack(needed)
    known: dict[tuple[bytes, ...], tuple[CurveMoments, float]] = {}  # equal lists, such as one list under many orders
    for query in np.flatnonzero((highest > lowest).any(axis=0)).tolist():
        own = groups.take(np.arange(ends[query], ends[query + 1]))
        some = np.flatnonzero(highest[:, query] > lowest[:, query])
        key = tuple(each.tobytes() for each in (*own[1:], cuts[:, query], lowest[:, query], highest[:, query]))
        if key not in known:
            curve = curve_moments(own, Levels(cuts[some, query], lowest[some, query], highest[some, query]))
            several = len(levels) > 1
            known[key] = curve, _deviation(own, last, cuts[:, query].tolist()) if several else float(curve.sd[0])
        found, sd[query] = known[key]
        expected[some, query], width[some, query] = found.mean, found.width
    low, high = lowest.mean(axis=0), highest.mean(axis=0)
    margin = width.mean(axis=0) / 2
    exact = bool((margin <= SAME).all())
    values = Values(np.clip(expected.mean(axis=0), low, high), low, high, tie_broken, sd, wanted == 0, exact)
    return values if exact else values._replace(margin=margin)


def documents_needed(recall: float, wanted: Floats, rounding: str) -> Ints:
    """[query] number of relevant documents that reach a recall level, at least one.

    >>> relevant = np.array([4.0, 5.0])
    >>> documents_needed(0.3, relevant, "up").tolist(), documents_needed(0.3, relevant, "nearest").tolist()
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


def _deviation(groups: RelevantGroups, last: int, cuts: list[int]) -> float:
    """Standard deviation of the mean over levels, by enumerating placements of relevant documents; NaN if too many."""
    # The levels are dependent, so their deviations do not determine that of their mean.
    if _placements(groups) > MOST_ORDERS:
        return math.nan
    places = [
        [tuple(c + 1 + place for place in chosen) for chosen in combinations(range(m), r)]
        for c, m, r in zip(groups.above.tolist(), groups.tied.tolist(), groups.relevant.tolist(), strict=True)
    ]
    rank = np.array([sum(parts, ()) for parts in product(*places)])
    precision = np.where(rank <= last, np.arange(1, rank.shape[1] + 1) / rank, 0.0)
    best = np.maximum.accumulate(precision[:, ::-1], axis=1)[:, ::-1]
    reached = [best[:, cut - 1] if cut <= rank.shape[1] else np.zeros(len(rank)) for cut in cuts]
    return moments(np.mean(reached, axis=0), np.full(len(rank), 1 / len(rank)))[1]


def _placements(groups: RelevantGroups) -> int:
    """Number of placements of the relevant documents in their groups; above the maximum where a group is large."""
    mixed = groups.relevant < groups.tied
    if (groups.tied[mixed] > MOST_ORDERS).any():
        return MOST_ORDERS + 1
    return math.prod(map(math.comb, groups.tied[mixed].tolist(), groups.relevant[mixed].tolist()))


IPrec = register(
    Definition(
        "IPrec",
        "Interpolated precision: the best precision at any rank from a level of recall on.",
        "max over j >= c of j / rank of the j-th relevant d, c = recall R rounded, at least 1",
        "trec_eval iprec_at_recall; Manning et al. 2008 §8.4; under ties best_precision.py",
        _interpolated_precision,
        cutoff_use="none",
        parameters={"recall": number_in_range(0.5, 0, 1, "the level of recall"), "rel": REL, "rounding": ROUNDING},
        span=UNIT,
    )
)
IPrec11 = register(
    Definition(
        "IPrec11",
        "Eleven-point average: the mean of interpolated precision at recall 0, .1, .., 1.",
        "(1/11) sum over x = 0, .1, .., 1 of IPrec(recall=x)",
        "trec_eval 11pt_avg; Manning et al. 2008 §8.4",
        _interpolated_precision,
        cutoff_use="none",
        parameters={"rel": REL, "rounding": ROUNDING},
        span=UNIT,
    )
)


def interpolated_curve(rel: float | None = None) -> tuple[Measure, ...]:
    """The eleven measures of the interpolated precision-recall curve, from recall 0 to 1.

    Args:
        rel: a document is relevant if its grade is at least this; None leaves it to the policy, as IPrec11 does.

    >>> [str(m) for m in interpolated_curve()[:2]]
    ['IPrec(recall=0.0)', 'IPrec(recall=0.1)']
    """
    return tuple(IPrec(recall=level) if rel is None else IPrec(recall=level, rel=rel) for level in LEVELS)
