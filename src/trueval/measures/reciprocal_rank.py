"""Reciprocal rank: one over the rank of the first relevant document."""

from __future__ import annotations

import numpy as np

from trueval.measures.measure import Definition, Measure, Values, no_values, register
from trueval.measures.orders.blocks import blocks
from trueval.measures.orders.first_relevant import FirstRelevant, first_relevant, first_relevant_rank
from trueval.measures.parameters import REL, count_relevant
from trueval.measures.span import UNIT
from trueval.standings.standings import NO_LIMIT, Floats, Ints, Standings

# Terms computed at once, groups times offsets: 8 MiB per array.
BLOCK = 1 << 20
# The first t of m documents contain none of r relevant ones with probability below exp(-t r / m): beyond this multiple
# of m / r ranks, 1e-28 remains, which changes no digit.
ENOUGH = 64


def _reciprocal_rank(standings: Standings, measure: Measure) -> Values:
    """RR@k from the first group with r >= 1 relevant of m documents, c above it.

    p_t = q_t r / (m - t), the chance that the first relevant one is at offset t; q_0 = 1,
    q_{t+1} = q_t (m - r - t) / (m - t). E[RR] = sum of p_t / (c + t + 1) over ranks <= k.
    """
    last = standings.limit(measure.cutoff)
    first = first_relevant(standings, measure)
    highest, lowest, expected, sd = (np.zeros(standings.queries) for _ in range(4))
    highest[first.query] = expected[first.query] = _reciprocal(first.above + 1, last)
    lowest[first.query] = _reciprocal(first.above + first.tied - first.relevant + 1, last)
    several = ((first.relevant < first.tied) & (first.above < last)).nonzero()[0]
    first = first.take(several)
    possible = np.minimum(first.tied - first.relevant + 1, ENOUGH * first.tied // first.relevant + 1)
    terms = np.minimum(possible, last - first.above)
    for block in blocks(terms, BLOCK):
        mean, deviation = _moments(first.take(block), terms[block], possible[block])
        query = first.query[block]
        expected[query], sd[query] = np.minimum(np.maximum(mean, lowest[query]), highest[query]), deviation
    tie_broken = no_values(standings.queries)
    if standings.order_is_known:
        tie_broken = _reciprocal(first_relevant_rank(standings, measure), last)
    return Values(expected, lowest, highest, tie_broken, sd, count_relevant(standings, measure) == 0)


def _reciprocal(rank: Ints, last: int) -> Floats:
    """1 / rank, or 0 past the last rank that counts."""
    return (rank <= min(last, NO_LIMIT - 1)) / rank


def _moments(first: FirstRelevant, terms: Ints, possible: Ints) -> tuple[Floats, Floats]:
    """[group] mean and standard deviation from the offsets t = 0 .. terms - 1, all at once.

    Where `terms` are fewer than are possible, RR is 0 in the orders that are left.
    """
    above, tied, relevant = first.above[:, None], first.tied[:, None], first.relevant[:, None]
    offset = np.arange(int(terms.max()), dtype=float)
    rest = np.maximum(tied - offset, 1)
    chance = np.ones_like(rest)
    np.cumprod((np.maximum(rest - relevant, 0) / rest)[:, :-1], axis=1, out=chance[:, 1:])
    chance *= relevant / rest
    chance[offset >= terms[:, None]] = 0
    head: Floats = 1.0 / (first.above + 1)
    value: Floats = 1.0 / (above + 1 + offset)
    mean: Floats = np.einsum("ij,ij->i", chance, value)
    # 1 / (c + 1) minus the value, since values deep in the list are nearly equal.
    value *= offset
    value *= head[:, None]
    past = np.where(terms == possible, 0.0, np.maximum(1 - chance.sum(axis=1), 0))
    mean_lost: Floats = np.einsum("ij,ij->i", chance, value) + past * head
    value -= mean_lost[:, None]
    inside: Floats = np.einsum("ij,ij,ij->i", chance, value, value)
    return mean, np.sqrt(inside + past * (head - mean_lost) ** 2)


RR = register(
    Definition(
        "RR",
        "Reciprocal rank of the first relevant document; its mean over queries is MRR.",
        "1 / rank of the first relevant d if that is <= k, else 0",
        "Voorhees 1999; ties: McSherry & Najork 2008; P-A eq. 18-22",
        _reciprocal_rank,
        parameters={"rel": REL},
        span=UNIT,
    )
)
