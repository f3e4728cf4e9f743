"""Reciprocal rank: one over the rank of the first relevant document."""

from __future__ import annotations

import numpy as np

from trueval.measures.measure import Definition, Measure, Values, no_values, register
from trueval.measures.orders.first_relevant import FirstRelevant, first_relevant, first_relevant_rank
from trueval.measures.parameters import REL, count_relevant
from trueval.standings.standings import NO_LIMIT, Floats, Ints, Standings

# Terms computed at once, groups times offsets: 8 MiB per array.
BLOCK = 1 << 20


def _reciprocal_rank(standings: Standings, measure: Measure) -> Values:
    """RR@k from the first group with r >= 1 relevant of m documents, c above it.

    p_t = q_t r / (m - t), the chance that the first relevant one stands at offset t; q_0 = 1,
    q_{t+1} = q_t (m - r - t) / (m - t). E[RR] = sum of p_t / (c + t + 1) over ranks <= k.
    """
    last = standings.limit(measure.cutoff)
    first = first_relevant(standings, measure)
    highest, lowest, expected, sd = (np.zeros(standings.queries) for _ in range(4))
    highest[first.query] = expected[first.query] = _reciprocal(first.above + 1, last)
    lowest[first.query] = _reciprocal(first.above + first.tied - first.relevant + 1, last)
    several = ((first.relevant < first.tied) & (first.above < last)).nonzero()[0]
    mean, deviation = _moments(first.take(several), last)
    query = first.query[several]
    expected[query] = np.minimum(np.maximum(mean, lowest[query]), highest[query])
    sd[query] = deviation
    oblivious = no_values(standings.queries)
    if standings.order_is_known:
        oblivious = _reciprocal(first_relevant_rank(standings, measure), last)
    return Values(expected, lowest, highest, oblivious, sd, count_relevant(standings, measure) == 0)


def _reciprocal(rank: Ints, last: int) -> Floats:
    """1 / rank, and 0 past the last rank that counts."""
    return (rank <= min(last, NO_LIMIT - 1)) / rank


def _moments(first: FirstRelevant, last: int) -> tuple[Floats, Floats]:
    """[group] mean and standard deviation of RR over the orders of each group, in blocks of groups of like size."""
    terms = np.minimum(first.tied - first.relevant + 1, last - first.above)
    mean, deviation = np.zeros(len(terms)), np.zeros(len(terms))
    order = np.argsort(terms, kind="stable")
    end = len(order)
    while end > 0:
        width = int(terms[order[end - 1]])
        begin = max(0, end - max(1, BLOCK // width))
        block = order[begin:end]
        mean[block], deviation[block] = _block_moments(first.take(block), terms[block], width)
        end = begin
    return mean, deviation


def _block_moments(first: FirstRelevant, terms: Ints, width: int) -> tuple[Floats, Floats]:
    """[group] mean and standard deviation from all offsets t = 0 .. width - 1 at once."""
    above, tied, relevant = first.above, first.tied, first.relevant
    offset = np.arange(width)[None, :]
    rest = np.maximum(tied[:, None] - offset, 1)
    misses = np.maximum(rest - relevant[:, None], 0) / rest
    none_before = np.ones((len(tied), width))
    np.cumprod(misses[:, :-1], axis=1, out=none_before[:, 1:])
    chance = np.where(offset < terms[:, None], none_before * relevant[:, None] / rest, 0.0)
    head: Floats = 1.0 / (above + 1)
    value: Floats = 1.0 / (above[:, None] + offset + 1)
    mean: Floats = np.einsum("ij,ij->i", chance, value)
    # 1 / (c + 1) less the value, as values deep down the list are nearly the same.
    value *= offset
    value *= head[:, None]
    past = np.where(terms == tied - relevant + 1, 0.0, np.maximum(1 - chance.sum(axis=1), 0))
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
    )
)
