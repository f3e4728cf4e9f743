"""Utility and distraction: how the first K documents, as a set, help or distract a reader that answers.

    UDCG@K = sigmoid((1/K) [sum over relevant d of u(d) - (1/3) sum over the others of u(d)]),   rank(d) <= K

The published measure takes u from a model: how little it abstains when shown the document alone. Without a model the
proxy here takes both from the grade g of the rubric 1 to 5: relevant = g >= 4, u = (g - 1) / 4. Documents without a
grade count 0. The form does not depend on the order within K, so only a tie across K matters.

Of a tie group that K cuts, let x_g documents of grade g be within it: four numbers, with far too many outcomes. But
given s = x2 + x3, x2 is independent of how many of the other grades there are, and what grades 2 and 3 take away, at
most 1/6 in all, enters the sigmoid so smoothly that a polynomial has every digit of it::

    sigmoid(a + b) = sum over nodes j of l_j(a) sigmoid(a_j + b),   l_j the polynomial that is 1 at a_j, 0 at the others

With 12 Chebyshev nodes a_j on an interval of half width 1/12 the error is below 4 M r^-11 / (r - 1) < 10^-20, where
r = 70 is the size of an ellipse clear of the poles at i pi, and M = 25 bounds the square of the sigmoid there. So only
means of l_j given s and of sigmoid(a_j + b) given m = x4 + x5 are needed, and both join through P(s, m).
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from trueval.measures.evidence import cut_counts, cutoff_of
from trueval.measures.measure import Definition, Measure, Values, no_values, register
from trueval.measures.orders.group_draws import MOST_KEPT, likely
from trueval.measures.rarity import best_counts, check_rubric
from trueval.measures.span import UNIT
from trueval.standings.standings import Floats, Standings

# Contribution in twelfths by grade, 0 (unjudged) and 1 .. 5: u if relevant, else -u/3.
TWELFTHS = np.array([0.0, 0.0, -1.0, -2.0, 9.0, 12.0])
UNITS = 12
NODES = 12
# K documents of grade 3, the most distracting one.
WORST = float(1 / (1 + np.exp(1 / 6)))


def _udcg(standings: Standings, measure: Measure) -> Values:
    check_rubric(standings, measure)
    last, scale = standings.limit(measure.cutoff), 1 / (UNITS * cutoff_of(measure))
    utility = TWELFTHS[standings.grade.astype(np.int64)]
    surely = standings.sum_by_query(np.where(standings.above + standings.tied <= last, utility, 0.0))
    expected = _sigmoid(surely * scale)
    lowest, highest, sd = expected.copy(), expected.copy(), np.zeros(standings.queries)
    cut = (standings.above < last) & (standings.above + standings.tied > last)
    for query in np.unique(standings.query[cut]).tolist():
        group = _Group.cut(standings, query, last)
        lowest[query], highest[query] = _sigmoid((surely[query] + group.extremes()) * scale)
        if highest[query] > lowest[query]:
            expected[query], sd[query] = _moments(group, float(surely[query]), scale)
    tie_broken = no_values(standings.queries)
    if standings.order_is_known:
        inside = np.where(standings.tie_broken_rank <= last, utility, 0.0)
        tie_broken = np.clip(_sigmoid(standings.sum_by_query(inside) * scale), lowest, highest)
    undefined = standings.sum_pool(np.ones(len(standings.pool_grade))) == 0
    return Values(np.clip(expected, lowest, highest), lowest, highest, tie_broken, sd, undefined)


class _Group(NamedTuple):
    """A tie group that K cuts.

    Attributes:
        tied: number of documents of each grade from 0; unjudged documents count as grade 0.
        drawn: number of documents within K.
    """

    tied: tuple[float, ...]
    drawn: int

    @classmethod
    def cut(cls, standings: Standings, query: int, last: int) -> _Group:
        _, tied, population, drawn = cut_counts(standings, query, last)
        tied[0] += population - tied.sum()
        return cls(tuple(tied.tolist()), drawn)

    def extremes(self) -> Floats:
        """The lowest and highest contribution of those within K, in twelfths."""
        return np.array([best_counts(np.array(self.tied), sign * TWELFTHS, self.drawn) @ TWELFTHS for sign in (-1, 1)])


# Cached, since a query recurs under many single orders, as for win probabilities, with the same group.
@lru_cache(maxsize=64)
def _moments(group: _Group, surely: float, scale: float) -> tuple[float, float]:
    """Mean and standard deviation of the sigmoid.

    Args:
        group: the group that K cuts.
        surely: contribution of documents within K in every order, in twelfths.
        scale: from twelfths to the argument of the sigmoid.
    """
    population, (_, _, twos, threes, fours, fives) = int(sum(group.tied)), map(int, group.tied)
    low, high = twos + threes, fours + fives
    most = 2 * min(group.drawn, low)
    nodes, basis = _kept_interpolation(most) if most <= MOST_KEPT else _interpolation(most)
    center = float(_sigmoid((surely + TWELFTHS @ np.array(group.tied) * (group.drawn / population)) * scale))
    of_high = likely(population, high, group.drawn)
    table = np.empty((2, len(of_high.chance), len(nodes)))
    for place, number in enumerate(of_high.numbers.tolist()):
        best = likely(high, fives, number)
        gained = surely + 9 * number + 3 * best.numbers
        apart = _sigmoid(np.subtract.outer(gained, nodes) * scale) - center
        table[:, place] = best.chance @ apart, best.chance @ apart**2
    total, of_low = np.zeros(2), likely(population, low, group.drawn)
    for number, chance in zip(of_low.numbers.tolist(), of_low.chance.tolist(), strict=True):
        worst, rest = likely(low, threes, number), likely(population - low, high, group.drawn - number)
        lost = basis[number + worst.first :][: len(worst.chance)]
        # Numbers that are likely only together with an unlikely number here are not in the table.
        begin, end = max(rest.first, of_high.first), min(rest.end, of_high.end)
        gained = (
            rest.chance[begin - rest.first : end - rest.first] @ table[:, begin - of_high.first : end - of_high.first]
        )
        total += chance * (gained @ (worst.chance @ lost))
    mean, square = total.tolist()
    return center + mean, float(np.sqrt(max(square - mean**2, 0)))


def _interpolation(most: int) -> tuple[Floats, Floats]:
    """The nodes a_j, and the polynomials l_j at every a = 0 .. most that there can be: [a, node]."""
    values = np.arange(most + 1.0)
    if most < NODES:
        return values, np.eye(most + 1)
    nodes = most / 2 * (1 - np.cos((np.arange(NODES) + 0.5) * np.pi / NODES))
    others = [np.delete(nodes, j) for j in range(NODES)]
    return nodes, np.stack(
        [np.prod((values[:, None] - rest) / (node - rest), axis=1) for node, rest in zip(nodes, others, strict=True)],
        axis=1,
    )


_kept_interpolation = lru_cache(maxsize=256)(_interpolation)


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
        span=UNIT,
    )
)
