"""Average precision: the mean, over relevant documents, of precision at their ranks.

Tools differ on what they divide the sum of precisions by, and on what a tie is worth: parameter `norm`.
"""

from __future__ import annotations

import numpy as np

from trueval.measures.list_end import ends_at_depth
from trueval.measures.measure import Definition, Measure, Values, no_values, register
from trueval.measures.orders.precision_over_hits import over_hits
from trueval.measures.orders.precision_sums import (
    RelevantGroups,
    moments,
    relevant_groups,
    sums_together,
    tie_broken_sum,
)
from trueval.measures.parameters import BASE, REL, count_relevant, is_relevant
from trueval.measures.span import UNIT
from trueval.specs import choice
from trueval.standings.standings import Floats, Standings, sum_by


@ends_at_depth(is_relevant)
def _average_precision(standings: Standings, measure: Measure) -> Values:
    last = standings.limit(measure.cutoff)
    relevant = is_relevant(standings.grade, measure)
    groups = relevant_groups(standings, relevant, last)
    if measure["norm"] == "hits":
        return over_hits(standings, relevant, groups, last, count_relevant(standings, measure) == 0)
    wanted = count_relevant(standings, measure)
    norm = np.minimum(wanted, measure.cutoff) if measure["norm"] == "min" and measure.cutoff else wanted
    scale = np.divide(1.0, norm, out=np.zeros_like(norm), where=norm > 0)
    best = sums_together(groups, groups.above, last)
    worst = sums_together(groups, groups.above + groups.tied - groups.relevant, last)
    some = np.flatnonzero((groups.relevant < groups.tied) & (groups.within > 0))
    of_some, mean = moments(groups.take(some)), best.copy()
    mean[some] = of_some.mean
    highest, lowest, mean = (sum_by(groups.query, each, standings.queries) for each in (best, worst, mean))
    expected = np.clip(mean, lowest, highest)
    variance = sum_by(groups.query[some], of_some.variance, standings.queries)
    tie_broken = no_values(standings.queries)
    if measure["norm"] == "threshold":
        tie_broken = _threshold_sum(groups, standings.queries, last)
    elif standings.order_is_known:
        tie_broken = np.clip(tie_broken_sum(standings, relevant, last), lowest, highest)
    sd = np.sqrt(variance)
    return Values(expected * scale, lowest * scale, highest * scale, tie_broken * scale, sd * scale, wanted == 0)


def _threshold_sum(groups: RelevantGroups, queries: int, last: int) -> Floats:
    """[query] sum of precisions when all documents of a group enter at once: r (R + r) / (c + m) per group.

    Source: scikit-learn average_precision_score, one threshold for each distinct score. No order has this value.
    """
    end = groups.above + groups.tied
    precision = (groups.relevant_above + groups.relevant) / end
    return sum_by(groups.query, np.where(end <= last, groups.relevant * precision, 0.0), queries)


AP = register(
    Definition(
        "AP",
        "Average precision; its mean over queries is MAP.",
        "(1/N) sum over relevant d with rank(d) <= k of P@rank(d); N by norm: N+, min(N+, k) or their number",
        "trec_eval map, map_cut; ties: McSherry & Najork 2008; P-A eq. 23-25",
        _average_precision,
        parameters={
            "rel": REL,
            "base": BASE,
            "norm": choice(
                "R",
                "min",
                "hits",
                "threshold",
                about="divide by the relevant documents, by no more of them than fit in k, or by those in the top k; "
                "'threshold' divides by all, and its tie-broken value lets tied documents enter together",
            ),
        },
        span=UNIT,
        one_by_one={"norm": {"threshold": "R"}},
    )
)
