"""Linear measures: a sum of gains, each weighted by the document's rank.

    M = (1/Z) sum over d of gain(d) * w(rank(d)),   w non-increasing

    expected   (1/Z) sum of gain * mean w of the ranks above + 1 .. above + tied
    variance   (1/Z^2) sum over groups of Q(gain) Q(w) / (m - 1), Q the sum of (value - mean)^2 over
               the documents of a group, or over its ranks
    highest    gains descending from rank above + 1;   lowest: gains descending from rank above + tied upward

Sources: P-A eq. 10-17; McSherry & Najork 2008 for graded ties. The registered measures are at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from trueval.errors import MeasureError
from trueval.measures.list_end import ends_at_depth
from trueval.measures.measure import Definition, Measure, Values, no_values, register
from trueval.measures.orders.weights import Top, Weights, WeightTable, discounts, geometric
from trueval.measures.parameters import (
    BASE,
    GAIN,
    REL,
    count_relevant,
    cutoff_or_listed,
    gains_of,
    is_relevant,
)
from trueval.measures.span import FROM_ZERO, PLACES, UNIT
from trueval.specs import choice, number_in_range
from trueval.standings.groups import ranges
from trueval.standings.standings import (
    NO_LIMIT,
    Bools,
    Floats,
    Ints,
    Standings,
    place_in_query,
    root_sum_squares,
    sum_by,
)


def linear(standings: Standings, gains: Floats, weights: Weights, norm: Floats, undefined: Bools) -> Values:
    """Evaluate a linear measure for every query.

    Args:
        standings: standings of one run.
        gains: [row] gain of each judged document that the run lists, 0 or more.
        weights: weights of the ranks.
        norm: [query] Z; where it is 0 the value is 0.
        undefined: [query] whether the query has no relevant document.

    Returns:
        Values, exact; lowest <= expected <= highest always, and all equal where no order changes the value.
    """
    ranks, query, groups = extreme_ranks(standings, gains), standings.query, standings.groups
    positive = norm > 0
    scale = positive / np.where(positive, norm, 1)

    def total(values: Floats) -> Floats:
        return standings.sum_by_query(gains * values) * scale

    best = weights.at(ranks.highest, query)
    highest, lowest = total(best), total(weights.at(ranks.lowest, query))

    def within(values: Floats) -> Floats:
        # Sums in another order round differently; the extremes bound the effect.
        return np.minimum(np.maximum(total(values), lowest), highest)

    mean, sd = best, np.zeros(standings.queries)
    some = (~ranks.decided).nonzero()[0]
    # Beyond the last weight, a group gains nothing in any order.
    some = some[weights.at(groups.above[some] + 1, groups.query[some]) > 0]
    if len(some):
        tied, judged, of_some = groups.tied[some], groups.judged[some], groups.query[some]
        spans = weights.spans(groups.above[some], tied, of_some)
        rows, mean = ranges(groups.start[some], judged), best.copy()
        mean[rows] = np.repeat(spans.mean, judged)
        deviations = gain_deviations(gains[rows], judged, tied) * scale[of_some] * spans.deviation
        sd = root_sum_squares(of_some, deviations / np.sqrt(tied - 1), standings.queries)
    expected = within(mean)
    tie_broken = no_values(standings.queries)
    if standings.order_is_known:
        tie_broken = within(weights.at(standings.tie_broken_rank, query))
    return Values(expected, lowest, highest, tie_broken, sd, undefined)


class ExtremeRanks(NamedTuple):
    """Ranks that documents take in the best and the worst order.

    Attributes:
        highest: [row] rank when the largest gain of each group comes first.
        lowest: [row] rank when it comes last.
        decided: [group] whether all its documents have the same gain, so that order does not matter.
    """

    highest: Ints
    lowest: Ints
    decided: Bools


def extreme_ranks(standings: Standings, gains: Floats) -> ExtremeRanks:
    """Find the ranks of documents in the best and the worst order.

    Args:
        standings: standings of one run.
        gains: [row] gain of each judged document that the run lists, 0 or more.
    """
    groups, above = standings.groups, standings.above
    place = _place_by_gain(standings, gains)
    decided = groups.tied == 1
    several = (~decided).nonzero()[0]
    if len(several):
        low = np.minimum.reduceat(gains, groups.start)[several]
        high = np.maximum.reduceat(gains, groups.start)[several]
        complete = groups.judged[several] == groups.tied[several]
        decided[several] = (low == high) & (complete | (high == 0))
    highest = above + 1 + place
    return ExtremeRanks(highest, np.where(decided[groups.of_row], highest, above + standings.tied - place), decided)


def _place_by_gain(standings: Standings, gains: Floats) -> Ints:
    """[row] place in its group, largest gain first; rows are sorted by grade, the same for most gains."""
    groups = standings.groups
    rises = gains[1:] > gains[:-1]
    if not bool((rises & (groups.place[1:] > 0)).any()):
        return groups.place
    order = np.lexsort((-gains, groups.of_row))
    place = np.empty_like(order)
    place[order] = groups.place
    return place


def gain_deviations(gains: Floats, judged: Ints, tied: Ints) -> Floats:
    """[group] root of the sum of (gain - mean)^2 over its documents.

    Args:
        gains: gains of the judged documents, group by group; the others gain 0.
        judged: [group] number of judged documents.
        tied: [group] number of documents.
    """
    start = np.cumsum(judged) - judged
    if ((gains == 0) | (gains == 1)).all():
        ones = np.add.reduceat(gains, start)
        return np.asarray(np.sqrt(ones * ((tied - ones) / tied)))
    most = np.maximum.reduceat(gains, start)
    # Scaled by the largest: squares cannot overflow, and underflow only where they are negligible.
    lost = 1 - gains / np.repeat(most, judged)
    mean_lost = np.add.reduceat(lost, start) / judged
    squares = np.add.reduceat((lost - np.repeat(mean_lost, judged)) ** 2, start)
    outside = (1 - mean_lost) ** 2 * (judged * ((tied - judged) / tied))
    return np.asarray(most * np.sqrt(squares + outside))


def _binary(
    weights: Callable[[Standings, Measure], Weights], norm: Callable[[Standings, Measure], Floats]
) -> Callable[[Standings, Measure], Values]:
    """The compute function of a measure of relevant documents."""

    @ends_at_depth(is_relevant)
    def compute(standings: Standings, measure: Measure) -> Values:
        relevant = is_relevant(standings.grade, measure).astype(float)
        undefined = count_relevant(standings, measure) == 0
        return linear(standings, relevant, weights(standings, measure), norm(standings, measure), undefined)

    return compute


def _top(standings: Standings, measure: Measure) -> Top:
    return Top(standings.limit(measure.cutoff))


def _one(standings: Standings, measure: Measure) -> Floats:
    return np.ones(standings.queries)


def _precision_norm(standings: Standings, measure: Measure) -> Floats:
    norm = cutoff_or_listed(standings, measure)
    return np.minimum(norm, standings.listed) if measure["short"] == "listed" else norm


def _f1_norm(standings: Standings, measure: Measure) -> Floats:
    return (cutoff_or_listed(standings, measure) + count_relevant(standings, measure)) / 2


@ends_at_depth(is_relevant)
def _rprec(standings: Standings, measure: Measure) -> Values:
    wanted = count_relevant(standings, measure)
    relevant = is_relevant(standings.grade, measure).astype(float)
    last = np.minimum(wanted.astype(np.int64), standings.limit(None))
    return linear(standings, relevant, Top(last), wanted, wanted == 0)


def _discounts(standings: Standings, measure: Measure) -> WeightTable:
    return discounts(standings.limit(measure.cutoff), standings.table_length)


def ideal_gain(standings: Standings, measure: Measure, gains: Floats) -> Floats:
    """[query] DCG@k of the best order of the judged documents, or of the listed ones if the measure has base='list'."""
    query, place = standings.pool_query, standings.pool_place
    if measure["base"] == "list":
        query, gains = query[standings.list_base], gains[standings.list_base]
        place = place_in_query(query, standings.queries)
    if bool(((gains[1:] > gains[:-1]) & (place[1:] > 0)).any()):
        gains = gains[np.lexsort((-gains, query))]
    # The table ends with the last document that has a gain.
    some = np.flatnonzero(gains)
    query, rank = query[some], place[some] + 1
    weights = discounts(NO_LIMIT if measure.cutoff is None else measure.cutoff, int(rank.max(initial=1)))
    return sum_by(query, gains[some] * weights.at(rank, query), standings.queries)


# Gains in this range are summed directly; sums of others could leave the range of a double.
LEAST_GAIN, MOST_GAIN = 2.0**-900, 2.0**900
# Grades from which exponential gains are computed relative to that of the largest grade.
LARGE_GRADE = 900


def _rescale_gains(standings: Standings, measure: Measure) -> tuple[Floats, Floats]:
    """[row] and [pool] gains for a measure that is invariant to a factor per query.

    Gains of ordinary size are themselves; others are divided by a power of two near the largest of the query.
    """
    rows, pool = gains_of(standings.grade, measure), gains_of(standings.pool_grade, measure)
    if not ((pool >= MOST_GAIN) | ((pool > 0) & (pool < LEAST_GAIN))).any():
        return rows, pool
    counted = standings.list_base if measure["base"] == "list" else np.ones(len(pool), dtype=bool)

    def largest(values: Floats) -> Floats:
        most = np.zeros(standings.queries)
        np.maximum.at(most, standings.pool_query[counted], values[counted])
        return most

    top = np.floor(largest(standings.pool_grade))
    scale = np.frexp(largest(pool))[1]

    def scaled_gains(gains: Floats, grades: Floats, query: Ints) -> Floats:
        with np.errstate(over="ignore", under="ignore"):
            scaled = np.ldexp(gains, -scale[query])
            relative = np.exp2(grades - top[query]) - np.exp2(-top[query])
        return np.where((top[query] > LARGE_GRADE) & (measure["gain"] == "exp"), relative, scaled)

    return scaled_gains(rows, standings.grade, standings.query), scaled_gains(
        pool, standings.pool_grade, standings.pool_query
    )


def _gain_levels(grade: Floats, measure: Measure) -> Floats:
    """Keys of documents for nDCG. Two gains may both overflow, so the index of the grade distinguishes them."""
    gains = gains_of(grade, measure)
    return gains if measure["gain"] == "binary" else (gains > 0) * (1.0 + np.searchsorted(np.unique(grade), grade))


@ends_at_depth(_gain_levels)
def _ndcg(standings: Standings, measure: Measure) -> Values:
    rows, pool = _rescale_gains(standings, measure)
    ideal = ideal_gain(standings, measure, pool)
    return linear(standings, rows, _discounts(standings, measure), ideal, ideal == 0)


def _dcg(standings: Standings, measure: Measure) -> Values:
    gains = gains_of(standings.grade, measure)
    undefined = ~(standings.sum_pool(gains_of(standings.pool_grade, measure) > 0) > 0)
    with np.errstate(over="ignore", invalid="ignore"):
        values = linear(standings, gains, _discounts(standings, measure), np.ones(standings.queries), undefined)
    if not np.isfinite(values.highest).all():
        raise MeasureError(
            f"{measure} is beyond the largest number of 64 bits. Got grade {standings.grade.max():g}. Map the grades "
            "to smaller ones, or take nDCG, which needs their ratios only."
        )
    return values


def _rbp(standings: Standings, measure: Measure) -> Values:
    def gains(grade: Floats) -> Floats:
        if measure["scale"] is None:
            return is_relevant(grade, measure).astype(float)
        scale = measure.number("scale")
        return np.minimum(grade, scale) / scale

    weights = geometric(measure.number("p"), standings.limit(measure.cutoff), standings.table_length)
    undefined = standings.sum_pool(gains(standings.pool_grade)) == 0
    return linear(standings, gains(standings.grade), weights, np.ones(standings.queries), undefined)


def _rbp_residual(standings: Standings, measure: Measure) -> Values:
    """1 - the weight of the ranks with graded documents; ranks past the end of the list count as unknown."""
    weights = geometric(measure.number("p"), standings.limit(measure.cutoff), standings.table_length)
    nobody = np.zeros(standings.queries, dtype=bool)
    ones = np.ones(len(standings.grade))
    return linear(standings, ones, weights, np.ones(standings.queries), nobody).complement()


def _judged_share(standings: Standings, measure: Measure) -> Values:
    listed = np.minimum(standings.listed, standings.limit(measure.cutoff)).astype(float)
    never = np.zeros(standings.queries, dtype=bool)
    return linear(standings, np.ones(len(standings.query)), _top(standings, measure), listed, never)


Hits = register(
    Definition(
        "Hits",
        "Number of relevant documents among the first k.",
        "sum of rel(d) 1[rank(d) <= k]",
        "P-A eq. 10",
        _binary(_top, _one),
        parameters={"rel": REL},
        span=PLACES,
    )
)
P = register(
    Definition(
        "P",
        "Precision: share of the first k that is relevant; without a cutoff, of all listed documents.",
        "Hits@k / k, or / min(k, listed) with short='listed'",
        "P-A eq. 12; trec_eval P, set_P",
        _binary(_top, _precision_norm),
        parameters={
            "rel": REL,
            "short": choice("k", "listed", about="divide a list of fewer than k documents by k, or by their number"),
        },
        span=UNIT,
    )
)
R = register(
    Definition(
        "R",
        "Recall: share of the relevant documents that are among the first k.",
        "Hits@k / N+",
        "P-A eq. 11; trec_eval recall, set_recall",
        _binary(_top, count_relevant),
        parameters={"rel": REL, "base": BASE},
        span=UNIT,
    )
)
F1 = register(
    Definition(
        "F1",
        "Harmonic mean of precision and recall at k.",
        "2 Hits@k / (k + N+)",
        "P-A eq. 13; trec_eval set_F",
        _binary(_top, _f1_norm),
        parameters={"rel": REL, "base": BASE},
        span=UNIT,
    )
)
Rprec = register(
    Definition(
        "Rprec",
        "Precision at rank N+, the number of relevant documents.",
        "Hits@N+ / N+",
        "trec_eval Rprec",
        _rprec,
        cutoff_use="none",
        parameters={"rel": REL, "base": BASE},
        span=UNIT,
    )
)
nDCG = register(
    Definition(
        "nDCG",
        "Normalized discounted cumulative gain.",
        "DCG@k / ideal DCG@k, DCG@k = sum of gain(d) 1[rank(d) <= k] / log2(rank(d) + 1)",
        "Järvelin & Kekäläinen 2002; ties: McSherry & Najork 2008; P-A eq. 14-17",
        _ndcg,
        parameters={"gain": GAIN, "base": BASE},
        span=UNIT,
    )
)
DCG = register(
    Definition(
        "DCG",
        "Discounted cumulative gain, not normalized.",
        "sum of gain(d) 1[rank(d) <= k] / log2(rank(d) + 1)",
        "Järvelin & Kekäläinen 2002; P-A eq. 15",
        _dcg,
        parameters={"gain": GAIN},
        span=FROM_ZERO,
    )
)
PERSISTENCE = number_in_range(0.8, 0, 1, "the chance that a reader goes on to the next document", below=True)
RBP = register(
    Definition(
        "RBP",
        "Rank-biased precision: rate of gain of a reader who goes on with probability p.",
        "(1 - p) sum of gain(d) p^(rank(d) - 1)",
        "Moffat & Zobel 2008",
        _rbp,
        parameters={
            "p": PERSISTENCE,
            "rel": REL,
            "scale": number_in_range(
                None, 0, np.inf, "largest grade; if given, gain is grade / scale, at most 1, instead of rel", above=True
            ),
        },
        span=UNIT,
    )
)
RBP_residual = register(
    Definition(
        "RBP-residual",
        "What RBP could still gain if every document without a grade were relevant; lower is better.",
        "1 - (1 - p) sum over judged d with rank(d) <= k of p^(rank(d) - 1)",
        "Moffat & Zobel 2008; trec_eval rbp_resid",
        _rbp_residual,
        parameters={"p": PERSISTENCE},
        better="lower",
        worst=1.0,
        needs_zeros=True,
        span=UNIT,
    )
)
Judged = register(
    Definition(
        "Judged",
        "Share of the first k listed documents that have a grade.",
        "sum of judged(d) 1[rank(d) <= k] / min(k, listed)",
        "ir_measures Judged",
        _judged_share,
        needs_zeros=True,
        span=UNIT,
    )
)
