"""Linear measures: a sum of gains, each weighted by the document's rank.

    M = (1/Z) sum over d of gain(d) * w(rank(d)),   w non-increasing, W and V its running sums and sums of squares

    expected   (1/Z) sum of gain * [W(above + tied) - W(above)] / tied
    variance   (1/Z^2) sum over groups of [S2 - S1^2/m] [dV - dW^2/m] / (m - 1), S1 and S2 the sums of gains and squares
    highest    gains descending from rank above + 1;   lowest: gains descending from rank above + tied upward

Sources: P-A eq. 10-17; McSherry & Najork 2008 for graded ties. The registered measures stand at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from trueval.measures.list_end import ends_at_depth
from trueval.measures.measure import Definition, Measure, Values, no_values, register
from trueval.measures.orders.weights import Table, Top, Weights, discounts, geometric
from trueval.measures.parameters import (
    BASE,
    GAIN,
    REL,
    bounded,
    choice,
    count_relevant,
    cutoff_or_listed,
    gains_of,
    is_relevant,
)
from trueval.standings.standings import NO_LIMIT, Bools, Floats, Ints, Standings, place_in_query, sum_by


def linear(standings: Standings, gains: Floats, weights: Weights, norm: Floats, undefined: Bools) -> Values:
    """Evaluate a linear measure for every query.

    Args:
        standings: of one run.
        gains: [row] gain of each judged document that the run lists, 0 or more.
        weights: of the ranks.
        norm: [query] Z; where it is 0 the value is 0.
        undefined: [query] where the measure has nothing to measure.

    Returns:
        Values, exact; lowest <= expected <= highest always, and all equal where no order changes the value.
    """
    ranks = extreme_ranks(standings, gains)
    query, group = standings.query, standings.groups.of_row
    positive = norm > 0
    scale = positive / np.where(positive, norm, 1)

    def total(values: Floats) -> Floats:
        return standings.sum_by_query(gains * values) * scale

    last = standings.above + standings.tied
    span = weights.total(last, query) - weights.total(standings.above, query)
    best = weights.at(ranks.highest, query)
    highest, lowest = total(best), total(weights.at(ranks.lowest, query))

    def within(values: Floats) -> Floats:
        # Prefix sums round; the extremes are plain sums of weights, so they bound what rounding may do to the rest.
        return np.minimum(np.maximum(total(values), lowest), highest)

    expected = within(np.where(ranks.decided[group], best, span / standings.tied))
    oblivious = no_values(standings.queries)
    if standings.order_is_known:
        oblivious = within(weights.at(standings.oblivious_rank, query))
    sd = np.sqrt(_variance(standings, gains, weights, span, ranks.decided)) * scale
    return Values(expected, lowest, highest, oblivious, sd, undefined)


class ExtremeRanks(NamedTuple):
    """Ranks that documents take in the best and the worst order.

    Attributes:
        highest: [row] rank when the largest gain of each group comes first.
        lowest: [row] rank when it comes last.
        decided: [group] whether all documents of the group gain the same, so that no order matters.
    """

    highest: Ints
    lowest: Ints
    decided: Bools


def extreme_ranks(standings: Standings, gains: Floats) -> ExtremeRanks:
    """Find the ranks of documents in the best and the worst order.

    Args:
        standings: of one run.
        gains: [row] what each judged document that the run lists gains, 0 or more.
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
    """[row] place in its group, largest gain first; rows stand by grade already, which is the same for most gains."""
    groups = standings.groups
    rises = gains[1:] > gains[:-1]
    if not bool((rises & (groups.place[1:] > 0)).any()):
        return groups.place
    order = np.lexsort((-gains, groups.of_row))
    place = np.empty_like(order)
    place[order] = groups.place
    return place


def _variance(standings: Standings, gains: Floats, weights: Weights, span: Floats, decided: Bools) -> Floats:
    """[query] variance of the sum before division by Z; groups are independent, a decided one has none.

    Args:
        standings: of one run.
        gains: [row] gain of each document.
        weights: of the ranks.
        span: [row] dW, the sum of the weights of its group's ranks.
        decided: [group] whether no order of the group matters.
    """
    groups = standings.groups
    open_groups = (~decided).nonzero()[0]
    if not len(open_groups):
        return np.zeros(standings.queries)
    query, tied, above = groups.query[open_groups], groups.tied[open_groups], groups.above[open_groups]
    sums = np.add.reduceat(gains, groups.start)[open_groups]
    squares = np.add.reduceat(gains**2, groups.start)[open_groups]
    weight = span[groups.start[open_groups]]
    weight_squares = weights.squares(above + tied, query) - weights.squares(above, query)
    variance = (squares - sums**2 / tied) * (weight_squares - weight**2 / tied) / (tied - 1)
    return sum_by(query, np.maximum(variance, 0), standings.queries)


def _binary(
    weights: Callable[[Standings, Measure], Weights], norm: Callable[[Standings, Measure], Floats]
) -> Callable[[Standings, Measure], Values]:
    """Compute function of a measure of relevant documents."""

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


def _discounts(standings: Standings, measure: Measure) -> Table:
    return discounts(standings.limit(measure.cutoff), standings.table_length)


def ideal_gain(standings: Standings, measure: Measure) -> Floats:
    """[query] DCG@k of the best order of the judged documents, or of the listed ones if the measure has base='list'."""
    query, grade, place = standings.pool_query, standings.pool_grade, standings.pool_place
    if measure["base"] == "list":
        query, grade = query[standings.pool_listed], grade[standings.pool_listed]
        place = place_in_query(query, standings.queries)
    gains = gains_of(grade, measure)
    if bool(((gains[1:] > gains[:-1]) & (place[1:] > 0)).any()):
        gains = gains[np.lexsort((-gains, query))]
    weights = discounts(NO_LIMIT if measure.cutoff is None else measure.cutoff, standings.table_length)
    return sum_by(query, gains * weights.at(place + 1, query), standings.queries)


@ends_at_depth(gains_of)
def _ndcg(standings: Standings, measure: Measure) -> Values:
    ideal = ideal_gain(standings, measure)
    return linear(standings, gains_of(standings.grade, measure), _discounts(standings, measure), ideal, ideal == 0)


def _dcg(standings: Standings, measure: Measure) -> Values:
    gains = gains_of(standings.grade, measure)
    undefined = standings.sum_pool(gains_of(standings.pool_grade, measure)) == 0
    return linear(standings, gains, _discounts(standings, measure), np.ones(standings.queries), undefined)


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
    """1 - the weight of the ranks whose documents have a grade; what the list does not reach counts as unknown."""
    weights = geometric(measure.number("p"), standings.limit(measure.cutoff), standings.table_length)
    nobody = np.zeros(standings.queries, dtype=bool)
    known = linear(standings, np.ones(len(standings.grade)), weights, np.ones(standings.queries), nobody)
    left = {name: 1 - getattr(known, name) for name in ("expected", "oblivious")}
    return known._replace(lowest=1 - known.highest, highest=1 - known.lowest, **left)


def _judged(standings: Standings, measure: Measure) -> Values:
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
    )
)
R = register(
    Definition(
        "R",
        "Recall: share of the relevant documents that stand among the first k.",
        "Hits@k / N+",
        "P-A eq. 11; trec_eval recall, set_recall",
        _binary(_top, count_relevant),
        parameters={"rel": REL, "base": BASE},
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
    )
)
PERSISTENCE = bounded(0.8, 0, 1, "the chance that a reader goes on to the next document", below=True)
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
            "scale": bounded(
                None, 0, np.inf, "largest grade; if given, gain is grade / scale, at most 1, instead of rel", above=True
            ),
        },
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
    )
)
Judged = register(
    Definition(
        "Judged",
        "Share of the first k listed documents that have a grade.",
        "sum of judged(d) 1[rank(d) <= k] / min(k, listed)",
        "ir_measures Judged",
        _judged,
        needs_zeros=True,
    )
)
