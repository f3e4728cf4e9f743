"""Novelty: a measure of evidence in which a source counts in full once and less again.

    gain = sum over sources among the first K documents of [max w + beta (sum of w - max w)], beta in [0, 1)
    ideal = the K largest of {max w of each source, beta times the others} in the judgments

It does not depend on the order inside the first K, unlike P-B's "first occurrence". When K cuts a group of m tied
documents and T of them are in, the largest w of a source among them is at least u unless none of its n documents with
w >= u is drawn, which has the chance q(n) = C(m-n, T) / C(m, T); so mean and variance have closed forms. The best order
takes the documents that add most one by one; the worst, found by dynamic programming, as few and as cheap as it can.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trueval.errors import MeasureError
from trueval.measures.evidence import cutoff_of
from trueval.measures.measure import Definition, Measure, Values, no_values, register
from trueval.measures.worth import worth_of
from trueval.specs import bounded
from trueval.standings.standings import Bools, Floats, Ints, Standings, sum_by

INNER = ("RA-nWG", "nWG", "N-Recall4+", "N-Recall5")


BETA = bounded(0.5, 0, 1, "what a further document of a source counts for", below=True)


class Cut(NamedTuple):
    """A tie group that the last rank cuts, and what surely comes before it.

    Attributes:
        tied: documents in the group, m.
        drawn: documents of it within the last rank, T.
        held: [source] the largest weight that surely comes before the group.
        weights: [source] the weights above 0 of the source in the group, ascending.
        beta: what a further document of a source counts for.
    """

    tied: int
    drawn: int
    held: list[float]
    weights: list[Floats]
    beta: float


def _novelty(standings: Standings, measure: Measure) -> Values:
    inner, beta = _inner(measure), measure.number("beta")
    worth = worth_of(standings, inner, cutoff_of(measure))
    source = _sources(standings, measure)
    pool = worth.weights[standings.pool_query, standings.pool_grade.astype(np.int64)]
    ideal = _ideal(standings, pool, source[standings.pool_item], beta, cutoff_of(measure))
    weights, of_row, last = worth.of_rows(standings), source[standings.item], standings.limit(measure.cutoff)

    def gain(inside: Bools) -> Floats:
        values = _discounted(standings.query[inside], of_row[inside], weights[inside], beta)
        return sum_by(standings.query[inside], values, standings.queries)

    surely = standings.above + standings.tied <= last
    lowest, sd = gain(surely), np.zeros(standings.queries)
    highest, expected = lowest.copy(), lowest.copy()
    cut_rows = (standings.above < last) & ~surely & (weights > 0)
    for query in np.unique(standings.query[cut_rows]).tolist():
        cut = _cut(standings, query, cut_rows, surely, weights, of_row, last, beta)
        lowest[query] += _least(cut)
        highest[query] += _most(cut)
        expected[query], sd[query] = expected[query] + _mean(cut), np.sqrt(max(_variance(cut), 0))
    tie_broken = gain(standings.tie_broken_rank <= last) if standings.order_is_known else no_values(standings.queries)
    sd[lowest == highest] = 0
    scale = np.divide(1.0, ideal, out=np.zeros_like(ideal), where=ideal > 0)
    columns = (np.clip(expected, lowest, highest), lowest, highest, tie_broken, sd)
    expected, lowest, highest, tie_broken, sd = (column * scale for column in columns)
    return Values(expected, lowest, highest, tie_broken, sd, ideal == 0)


def _inner(measure: Measure) -> Measure:
    inner = measure.inner
    if inner is None or inner.name not in INNER or inner.cutoff is not None or inner["unjudged"] != "nothing":
        raise MeasureError(
            f"novelty takes one of {', '.join(INNER)}, without cutoff or bound, for example "
            f"novelty(RA-nWG, beta=.5)@10. Got {inner}."
        )
    return inner


def _sources(standings: Standings, measure: Measure) -> Ints:
    """[item] code of the source of every judged document."""
    if standings.sources is None:
        raise MeasureError(
            f"{measure.name} needs the source of each document. Give --sources FILE, or in Python "
            "judgments.with_sources({document: source})."
        )
    return standings.sources


def _discounted(query: Ints, source: Ints, weights: Floats, beta: float) -> Floats:
    """[document] its weight if it is the first of the largest of its source, else beta times that."""
    order = np.lexsort((-weights, source, query))
    first = np.ones(len(order), dtype=bool)
    first[1:] = (query[order][1:] != query[order][:-1]) | (source[order][1:] != source[order][:-1])
    values = np.empty(len(order))
    values[order] = np.where(first, 1.0, beta) * weights[order]
    return values


def _ideal(standings: Standings, weights: Floats, source: Ints, beta: float, cutoff: int) -> Floats:
    """[query] gain of the best K documents of the judgments."""
    values = _discounted(standings.pool_query, source, weights, beta)
    best = values[np.lexsort((-values, standings.pool_query))]
    return standings.sum_pool(np.where(standings.pool_place < cutoff, best, 0.0))


def _cut(
    standings: Standings,
    query: int,
    cut_rows: Bools,
    surely: Bools,
    weights: Floats,
    source: Ints,
    last: int,
    beta: float,
) -> Cut:
    rows = np.arange(*np.searchsorted(standings.query, [query, query + 1]))
    inside, before = rows[cut_rows[rows]], rows[surely[rows]]
    names = np.unique(source[inside])
    held = [float(weights[before][source[before] == name].max(initial=0)) for name in names]
    grouped = [np.sort(weights[inside][source[inside] == name]) for name in names]
    first = int(inside[0])
    return Cut(int(standings.tied[first]), last - int(standings.above[first]), held, grouped, beta)


class Step(NamedTuple):
    """A level that the largest weight of a source reaches if any of its n documents at or above it is drawn."""

    source: int
    size: int
    rise: float
    weight: float


def _steps(cut: Cut) -> list[Step]:
    """Levels above what is held, each with the documents that reach it, its height and the sum of their weights."""
    steps = []
    for source, (held, weights) in enumerate(zip(cut.held, cut.weights, strict=True)):
        low = held
        for level in np.unique(weights[weights > held]).tolist():
            reach = weights[weights >= level]
            steps.append(Step(source, len(reach), level - low, float(reach.sum())))
            low = level
    return steps


def _none_drawn(cut: Cut) -> Floats:
    """[n] q(n) = C(m-n, T) / C(m, T) for n = 0 .. all documents with a weight."""
    n = np.arange(sum(map(len, cut.weights)))
    return np.concatenate(([1.0], np.cumprod(np.maximum(cut.tied - cut.drawn - n, 0) / (cut.tied - n))))


def _mean(cut: Cut) -> float:
    chance = _none_drawn(cut)
    largest = sum(step.rise * (1 - chance[step.size]) for step in _steps(cut))
    total = sum(float(weights.sum()) for weights in cut.weights)
    return float((1 - cut.beta) * largest + cut.beta * total * cut.drawn / cut.tied)


def _variance(cut: Cut) -> float:
    """Of (1-beta) sum of rises reached + beta sum of weights drawn; J says that no document of a step is drawn."""
    m, t, beta, chance = cut.tied, cut.drawn, cut.beta, _none_drawn(cut)
    weights = np.concatenate(cut.weights)
    total, squares = float(weights.sum()), float((weights**2).sum())
    variance = beta**2 * t * (m - t) / (m - 1) * (squares / m - (total / m) ** 2)
    # Each level is reached or not: the covariance of two is that of "none of n" and "none of n'", one inside the other
    # for the same source, disjoint for two; the last term is that of the levels with the sum of weights.
    steps = _steps(cut)
    if not steps:
        return variance
    source, size = np.array([s.source for s in steps]), np.array([s.size for s in steps])
    rise, reach = np.array([s.rise for s in steps]), np.array([s.weight for s in steps])
    none = chance[size]
    union = np.where(source[:, None] == source, np.maximum(size[:, None], size), size[:, None] + size)
    both = chance[union] - none[:, None] * none
    with_sum = none * (total - reach) * t / np.maximum(m - size, 1) - none * total * t / m
    return float(variance + (1 - beta) ** 2 * (rise @ both @ rise) - 2 * beta * (1 - beta) * (rise @ with_sum))


def _most(cut: Cut) -> float:
    """What the T documents that add most add; of a source the largest comes first, so each adds no more than before."""
    added: list[float] = []
    for held, weights in zip(cut.held, cut.weights, strict=True):
        added.append((1 - cut.beta) * max(float(weights[-1]) - held, 0) + cut.beta * float(weights[-1]))
        added.extend((cut.beta * weights[:-1]).tolist())
    return sum(sorted(added, reverse=True)[: cut.drawn])


def _least(cut: Cut) -> float:
    """What the T documents that add least add: all those without weight, then the cheapest split over sources."""
    needed = max(0, cut.drawn - (cut.tied - sum(map(len, cut.weights))))
    least = np.full(needed + 1, np.inf)
    least[0] = 0
    for held, weights in zip(cut.held, cut.weights, strict=True):
        cost = (1 - cut.beta) * np.maximum(weights - held, 0) + cut.beta * np.cumsum(weights)
        found = least.copy()
        for number in range(1, min(needed, len(weights)) + 1):
            found[number:] = np.minimum(found[number:], least[: needed + 1 - number] + cost[number - 1])
        least = found
    return float(least[needed])


novelty = register(
    Definition(
        "novelty",
        "A measure of evidence that counts further documents of the same source only in part.",
        "sum over sources in the first K of [max w + beta (sum w - max w)] / the same of the best K in the judgments",
        "P-B (Dallaire 2025) §2.3, novelty discount, without its dependence on order; docs/formulas.md §5",
        _novelty,
        cutoff_use="required",
        parameters={"beta": BETA},
        empty="na",
        needs_zeros=True,
        takes_measure=True,
    )
)
