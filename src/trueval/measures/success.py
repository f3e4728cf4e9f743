"""Success: whether any relevant document is among the first k."""

from __future__ import annotations

import numpy as np

from trueval.measures.measure import Definition, Measure, Values, no_values, register
from trueval.measures.orders.first_relevant import FirstRelevant, first_relevant, first_relevant_rank
from trueval.measures.parameters import REL, count_relevant
from trueval.measures.span import UNIT
from trueval.standings.standings import NO_LIMIT, Floats, Standings


def _success(standings: Standings, measure: Measure) -> Values:
    """Success@k: 1 if the first relevant group ends by k, 1 - C(m-r, T)/C(m, T) if k cuts it, else 0.

    c, m, r: documents above, tied and relevant of the first group with a relevant document; T = k - c places in it.
    """
    last = standings.limit(measure.cutoff)
    first = first_relevant(standings, measure)
    highest, lowest, miss = (np.zeros(standings.queries), np.zeros(standings.queries), np.ones(standings.queries))
    highest[first.query] = first.above + 1 <= last
    lowest[first.query] = first.above + first.tied - first.relevant + 1 <= last
    miss[first.query] = _none_relevant(first, last)
    tie_broken = no_values(standings.queries)
    if standings.order_is_known:
        rank = first_relevant_rank(standings, measure)
        tie_broken = ((rank <= last) & (rank < NO_LIMIT)).astype(float)
    # From the probability of a miss itself: one below 1e-16 would vanish in 1 - miss.
    sd = np.sqrt(miss * (1 - miss))
    return Values(1 - miss, lowest, highest, tie_broken, sd, count_relevant(standings, measure) == 0)


def _none_relevant(first: FirstRelevant, last: int) -> Floats:
    """[query with a relevant document] C(m - r, T) / C(m, T), the chance that its T places hold nothing relevant.

    The product of (m - T - j) / (m - j) for j < r, or of (m - r - j) / (m - j) for j < T, whichever is shorter.
    """
    taken = np.clip(last - first.above, 0, first.tied)
    factors, other = np.minimum(taken, first.relevant), np.maximum(taken, first.relevant)
    chance = np.ones(len(taken))
    for j in range(int(factors.max(initial=0))):
        active = np.flatnonzero((j < factors) & (chance > 0))
        if not len(active):
            break
        rest = first.tied[active] - j
        chance[active] *= np.maximum(rest - other[active], 0) / rest
    return chance


Success = register(
    Definition(
        "Success",
        "1 if any of the first k documents is relevant, else 0; the hit rate.",
        "1[some relevant d has rank(d) <= k]; under a tie across k: 1 - C(m-r, k-c) / C(m, k-c)",
        "trec_eval success; docs/formulas.md §3",
        _success,
        parameters={"rel": REL},
        span=UNIT,
    )
)
