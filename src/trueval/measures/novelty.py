"""Novelty: an evidence measure in which the first passage of a source counts in full and further ones less.

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
from trueval.measures.grade_values import weigh_grades
from trueval.measures.measure import Definition, Measure, Values, no_values, register
from trueval.measures.span import UNIT
from trueval.specs import number_in_range
from trueval.standings.standings import Bools, Floats, Ints, Standings, sum_by

INNER = ("RA-nWG", "nWG", "N-Recall4+", "N-Recall5")


BETA = number_in_range(0.5, 0, 1, "what a further document of a source counts for", below=True)


class CutGroup(NamedTuple):
    """A tie group that the last rank cuts, and the documents that surely precede it.

    Attributes:
        tied: number of documents in the group, m.
        drawn: number of them within the last rank, T.
        source: [document with a weight above 0] index of its source, from 0 up, ascending.
        weights: [document] its weight, ascending within a source.
        held: [document] the largest weight of its source that surely precedes the group.
        beta: discount of a further document of a source.
    """

    tied: int
    drawn: int
    source: Ints
    weights: Floats
    held: Floats
    beta: float

    @property
    def heaviest(self) -> Bools:
        """[document] whether it is the last of its source, so that none is heavier."""
        return np.append(self.source[1:] != self.source[:-1], True)


def _novelty(standings: Standings, measure: Measure) -> Values:
    inner, beta = _inner(measure), measure.number("beta")
    worth = weigh_grades(standings, inner, cutoff_of(measure))
    source = _sources(standings, measure)
    pool = worth.weights[standings.pool_query, standings.pool_grade.astype(np.int64)]
    ideal = _ideal(standings, pool, source[standings.pool_item], beta, cutoff_of(measure))
    weights, of_row, last = worth.of_rows(standings), source[standings.item], standings.limit(measure.cutoff)

    def gain(inside: Bools) -> Floats:
        values = _discount_repeats(standings.query[inside], of_row[inside], weights[inside], beta)
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
    lowest, highest, expected = (np.minimum(column, ideal) for column in (lowest, highest, expected))
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


def _discount_repeats(query: Ints, source: Ints, weights: Floats, beta: float) -> Floats:
    """[document] its weight if it is the first of the heaviest of its source, otherwise beta times that."""
    order = np.lexsort((-weights, source, query))
    first = np.ones(len(order), dtype=bool)
    first[1:] = (query[order][1:] != query[order][:-1]) | (source[order][1:] != source[order][:-1])
    values = np.empty(len(order))
    values[order] = np.where(first, 1.0, beta) * weights[order]
    return values


def _ideal(standings: Standings, weights: Floats, source: Ints, beta: float, cutoff: int) -> Floats:
    """[query] gain of the best K judged documents."""
    values = _discount_repeats(standings.pool_query, source, weights, beta)
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
) -> CutGroup:
    rows = np.arange(*np.searchsorted(standings.query, [query, query + 1]))
    inside, before = rows[cut_rows[rows]], rows[surely[rows]]
    names, number = np.unique(source[inside], return_inverse=True)
    order = np.lexsort((weights[inside], number))
    place = np.minimum(np.searchsorted(names, source[before]), len(names) - 1)
    same, held = names[place] == source[before], np.zeros(len(names))
    np.maximum.at(held, place[same], weights[before][same])
    first, number = int(inside[0]), number[order]
    drawn = last - int(standings.above[first])
    return CutGroup(int(standings.tied[first]), drawn, number, weights[inside][order], held[number], beta)


class Steps(NamedTuple):
    """Levels that the largest weight of a source reaches if any of its n documents at or above it is drawn.

    Attributes:
        source: [step] ascending; the levels of a source ascend.
        size: [step] n.
        rise: [step] its height above the level before, or above what is held.
        reach: [step] sum of the weights of the n documents.
    """

    source: Ints
    size: Ints
    rise: Floats
    reach: Floats

    @classmethod
    def of(cls, cut: CutGroup) -> Steps:
        """The steps of a cut group."""
        weights, heaviest = cut.weights, np.flatnonzero(cut.heaviest)
        below = np.append(0.0, weights[:-1])
        below[np.append(0, heaviest[:-1] + 1)] = 0
        rise = weights - np.maximum(below, cut.held)
        steps = np.flatnonzero(rise > 0)
        end = heaviest[cut.source] + 1
        sums = np.append(0.0, np.cumsum(weights))
        return cls(cut.source[steps], (end - np.arange(len(end)))[steps], rise[steps], (sums[end] - sums[:-1])[steps])


def _probability_of_none(cut: CutGroup) -> Floats:
    """[n] q(n) = C(m-n, T) / C(m, T) for n = 0 .. all documents with a weight."""
    n = np.arange(len(cut.weights))
    return np.concatenate(([1.0], np.cumprod(np.maximum(cut.tied - cut.drawn - n, 0) / (cut.tied - n))))


def _mean(cut: CutGroup) -> float:
    steps = Steps.of(cut)
    largest = float(steps.rise @ (1 - _probability_of_none(cut)[steps.size]))
    return (1 - cut.beta) * largest + cut.beta * float(cut.weights.sum()) * cut.drawn / cut.tied


def _variance(cut: CutGroup) -> float:
    """Variance of (1-beta) sum of rises reached + beta sum of weights drawn."""
    m, t, beta, steps = cut.tied, cut.drawn, cut.beta, Steps.of(cut)
    total, squares = float(cut.weights.sum()), float((cut.weights**2).sum())
    variance = beta**2 * t * (m - t) / (m - 1) * (squares / m - (total / m) ** 2)
    # Covariance of the levels with the sum of weights.
    none = _probability_of_none(cut)[steps.size]
    with_sum = none * (total - steps.reach) * t / np.maximum(m - steps.size, 1) - none * total * t / m
    rises = (1 - beta) ** 2 * _variance_of_rises(cut, steps)
    return float(variance + rises - 2 * beta * (1 - beta) * (steps.rise @ with_sum))


def _variance_of_rises(cut: CutGroup, steps: Steps) -> float:
    """Variance of the sum of rises reached.

    Each level is reached or not: the covariance of two is that of "none of n" and "none of n'", one inside the other
    for the same source, disjoint for two. Sources are many and different n few, so all pairs are first taken as
    disjoint, n by n, and then the pairs of levels of one source, one, two, .. levels apart, are put right.
    """
    chance = _probability_of_none(cut)
    size, which = np.unique(steps.size, return_inverse=True)
    rise = np.bincount(which, weights=steps.rise)
    # Levels of one source can have more documents together than the group; their terms are corrected below.
    disjoint = chance[np.minimum(np.add.outer(size, size), len(chance) - 1)]
    variance = float(rise @ (disjoint - np.multiply.outer(chance[size], chance[size])) @ rise)
    for apart in range(len(steps.size)):
        lower = np.flatnonzero(steps.source[apart:] == steps.source[: len(steps.source) - apart])
        if not len(lower):
            break
        larger, smaller = steps.size[lower], steps.size[lower + apart]
        wrong = chance[np.minimum(larger + smaller, len(chance) - 1)]
        pairs = steps.rise[lower] * steps.rise[lower + apart] * (chance[larger] - wrong)
        variance += float(pairs.sum()) * (2 if apart else 1)
    return variance


def _most(cut: CutGroup) -> float:
    """Sum of the T largest additions; within a source the heaviest document comes first, so additions decrease."""
    rise = np.where(cut.heaviest, np.maximum(cut.weights - cut.held, 0), 0)
    added = np.sort((1 - cut.beta) * rise + cut.beta * cut.weights)
    # Summed one by one like the ideal, so that both round alike.
    return float(added[::-1][: cut.drawn].cumsum()[-1])


def _least(cut: CutGroup) -> float:
    """Sum of the T smallest additions: all documents without weight, then the cheapest split over sources."""
    needed = max(0, cut.drawn - (cut.tied - len(cut.weights)))
    least = np.full(needed + 1, np.inf)
    least[0] = 0
    ends = (np.flatnonzero(cut.heaviest) + 1).tolist()
    for start, end in zip([0, *ends[:-1]], ends, strict=True):
        weights, held = cut.weights[start:end], cut.held[start:end]
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
        span=UNIT,
    )
)
