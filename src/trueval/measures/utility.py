"""Utility and distraction: what the first K documents, taken as a set, do for or against a reader that answers.

    UDCG@K = sigmoid((1/K) [sum over relevant d of u(d) - (1/3) sum over the others of u(d)]),   rank(d) <= K

The published measure takes u from a model: how little it abstains when shown the document alone. Without a model the
proxy here takes both from the grade g of the rubric 1 to 5: relevant = g >= 4, u = (g - 1) / 4. Documents without a
grade count 0. The form does not depend on the order within K, so only a tie across K matters.
"""

from __future__ import annotations

import numpy as np

from trueval.measures.evidence import cut_counts, cutoff_of
from trueval.measures.measure import Definition, Measure, Values, no_values, register
from trueval.measures.orders.draws import draw, moments
from trueval.measures.rarity import check_rubric
from trueval.standings.standings import Floats, Standings

# By grade 0 (never used), 1 .. 5: u where relevant, -u/3 where not.
UTILITY = np.array([0.0, 0.0, -1 / 12, -1 / 6, 3 / 4, 1.0])
# K documents of grade 3, the most distracting one.
WORST = float(1 / (1 + np.exp(1 / 6)))


def _udcg(standings: Standings, measure: Measure) -> Values:
    check_rubric(standings, measure)
    cutoff, last = cutoff_of(measure), standings.limit(measure.cutoff)
    utility = UTILITY[standings.grade.astype(np.int64)]
    surely = standings.sum_by_query(np.where(standings.above + standings.tied <= last, utility, 0.0))
    expected = _sigmoid(surely / cutoff)
    lowest, highest, sd = expected.copy(), expected.copy(), np.zeros(standings.queries)
    cut = (standings.above < last) & (standings.above + standings.tied > last)
    for query in np.unique(standings.query[cut]).tolist():
        counts, tied, population, drawn = cut_counts(standings, query, last)
        outcomes = draw(tied.astype(int).tolist(), population, drawn)
        values = _sigmoid((counts + outcomes.counts) @ UTILITY / cutoff)
        expected[query], sd[query] = moments(values, outcomes.chance)
        lowest[query], highest[query] = values.min(), values.max()
    tie_broken = no_values(standings.queries)
    if standings.order_is_known:
        inside = np.where(standings.tie_broken_rank <= last, utility, 0.0)
        tie_broken = np.clip(_sigmoid(standings.sum_by_query(inside) / cutoff), lowest, highest)
    undefined = standings.sum_pool(np.ones(len(standings.pool_grade))) == 0
    return Values(expected, lowest, highest, tie_broken, sd, undefined)


def _sigmoid(value: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-value)))


UDCG_proxy = register(
    Definition(
        "UDCG-proxy",
        "Utility and distraction of the first K documents, with grades in place of a model's own utilities.",
        "sigmoid((1/K) sum over rank(d) <= K of [u if g >= 4, -u/3 if not]), u = (g - 1) / 4",
        "Trappolini et al. 2025, order-free form of the authors' code; the proxy is docs/formulas.md §3",
        _udcg,
        cutoff_use="required",
        worst=WORST,
        empty="na",
        needs_zeros=True,
    )
)
