"""AllGold: whether all the evidence is among the first K documents; P-B's Hit@K."""

from __future__ import annotations

import numpy as np

from trueval.measures.measure import Definition, Measure, Values, no_values, register
from trueval.measures.parameters import REL, count_relevant, is_relevant, relevant_by_group
from trueval.measures.span import UNIT
from trueval.standings.standings import Bools, Standings, sum_by


def _all_gold(standings: Standings, measure: Measure) -> Values:
    """AllGold@K: 0 if gold is not listed, 1 if every gold group ends by K, C(m-r, T-r)/C(m, T) if K cuts the last."""
    last = standings.limit(measure.cutoff)
    gold = is_relevant(standings.grade, measure)
    wanted = count_relevant(standings, measure)
    complete = (standings.sum_by_query(gold) == wanted) & (wanted > 0)
    best, worst, chance = np.zeros(standings.queries), np.zeros(standings.queries), complete.astype(float)
    groups, r = standings.groups, relevant_by_group(standings, gold)
    np.maximum.at(best, groups.query, np.where(r > 0, groups.above + r, 0))
    np.maximum.at(worst, groups.query, np.where(r > 0, groups.above + groups.tied, 0))
    cut = np.flatnonzero((r > 0) & (groups.above + groups.tied > last))
    for group in cut:
        drawn = last - int(groups.above[group])
        chance[groups.query[group]] *= _probability_of_all(int(groups.tied[group]), int(r[group]), drawn)
    highest, lowest = complete & (best <= last), complete & (worst <= last)
    expected = np.clip(chance, lowest, highest)
    tie_broken = no_values(standings.queries)
    if standings.order_is_known:
        late = sum_by(standings.query, gold & (standings.tie_broken_rank > last), standings.queries)
        tie_broken = (complete & (late == 0)).astype(float)
    sd = np.sqrt(expected * (1 - expected))
    return Values(expected, lowest.astype(float), highest.astype(float), tie_broken, sd, wanted == 0)


def _probability_of_all(tied: int, gold: int, drawn: int) -> float:
    """C(m - r, T - r) / C(m, T), the probability that T of m tied documents include all r gold ones.

    >>> _probability_of_all(4, 2, 2) == 1 / 6
    True
    """
    if drawn < gold:
        return 0.0
    steps = np.arange(gold)
    return float(np.prod((drawn - steps) / (tied - steps)))


def _details(standings: Standings, measure: Measure, counted: Bools) -> dict[str, float]:
    """Number of queries with more than K gold documents, which no run can satisfy."""
    wanted = count_relevant(standings, measure)[counted]
    if measure.cutoff is None or not len(wanted):
        return {}
    impossible = int((wanted > measure.cutoff).sum())
    return {"impossible_queries": float(impossible), "impossible_share": impossible / len(wanted)}


AllGold = register(
    Definition(
        "AllGold",
        "1 if all relevant documents are among the first K, else 0; P-B's Hit@K.",
        "1[every relevant d has rank(d) <= K]; under a tie across K: C(m-r, K-c-r) / C(m, K-c)",
        "P-B (Dallaire 2025) §2.3.1; docs/formulas.md §3",
        _all_gold,
        parameters={"rel": REL},
        empty="na",
        details=_details,
        span=UNIT,
    )
)
