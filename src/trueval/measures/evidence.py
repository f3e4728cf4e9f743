"""Evidence measures: how much of what the query needs the first K documents contain, as a set.

    M@K = sum over the first K documents of w(grade) / Z

They are linear measures with the same weight for every rank up to K, so ties across K are exact. Grades are those of
the rubric 1 to 5; documents without a grade gain nothing. Source: P-B (Dallaire 2025, arXiv 2511.09545) §2.4.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from trueval.measures.grade_values import GradeValues, weigh_grades
from trueval.measures.linear import linear
from trueval.measures.measure import Definition, Measure, Values, register
from trueval.measures.orders.capped_sums import excess_moments
from trueval.measures.orders.group_draws import three_kinds
from trueval.measures.orders.weights import Top
from trueval.measures.rarity import COLUMNS
from trueval.measures.span import UNIT
from trueval.specs import Parameter, choice, number_in_range
from trueval.standings.standings import Bools, Floats, Standings, sum_by

ALPHA = number_in_range(1, 0, np.inf, "how strongly the rarity of a grade scales its weight; 0 not at all")
CAP4 = number_in_range(1, 0, 1, "largest weight of grade 4")
CAP3 = number_in_range(0.25, 0, 1, "largest weight of grade 3")
UNJUDGED = choice(
    "nothing", "upper", about="what documents without a grade gain: nothing, or as much as the best, for an upper bound"
)
BOUND: dict[str, Parameter] = {"unjudged": UNJUDGED}


def _evidence(standings: Standings, measure: Measure) -> Values:
    """The value, or its upper bound if all unjudged documents had the best grade."""
    worth = weigh_grades(standings, measure, cutoff_of(measure))
    if measure["unjudged"] == "upper":
        return _upper(standings, measure, worth)
    return set_values(standings, measure, worth)


def cutoff_of(measure: Measure) -> int:
    """The cutoff K of a measure that requires one."""
    return measure.cutoff or 1


def set_values(standings: Standings, measure: Measure, worth: GradeValues) -> Values:
    """The value of the first K documents over the norm, as a linear measure."""
    last = standings.limit(measure.cutoff)
    return linear(standings, worth.of_rows(standings), Top(last), worth.norm, worth.undefined)


def _upper(standings: Standings, measure: Measure, worth: GradeValues) -> Values:
    """min(1, value + unjudged documents among the first K / Z).

    Before the cap this is places - sum of (1 - w) over the judged documents in them, so linear; where the cap can be
    reached in some orders only, the outcomes of the cut are counted out.
    """
    last = standings.limit(measure.cutoff)
    scale = np.divide(1.0, worth.norm, out=np.zeros_like(worth.norm), where=worth.norm > 0)
    full = np.minimum(standings.listed, last) * scale
    loss = linear(standings, 1 - worth.of_rows(standings), Top(last), worth.norm, worth.undefined)
    lowest, highest = np.minimum(full - loss.highest, 1), np.minimum(full - loss.lowest, 1)
    expected, sd = np.clip(full - loss.expected, lowest, highest), np.where(lowest == 1, 0, loss.sd)
    for query in np.flatnonzero((full - loss.lowest > 1) & (lowest < 1)):
        mean, variance = _short_of_one(standings, worth, int(query), last)
        expected[query], sd[query] = np.clip(1 - mean, lowest[query], highest[query]), np.sqrt(variance)
    return Values(expected, lowest, highest, np.minimum(full - loss.tie_broken, 1), sd, worth.undefined)


def _short_of_one(standings: Standings, worth: GradeValues, query: int, last: int) -> tuple[float, float]:
    """Mean and variance of 1 - the capped upper bound of one query: the loss by capping."""
    surely, tied, population, drawn = cut_counts(standings, query, last)
    loss, norm = 1 - worth.weights[query], float(worth.norm[query])
    spare = min(int(standings.listed[query]), last) - norm - float(surely @ loss)
    kinds = three_kinds(loss)
    mean, variance = excess_moments(kinds.values, kinds.documents(tied), population, drawn, spare)
    return mean / norm, variance / norm**2


def cut_counts(standings: Standings, query: int, last: int) -> tuple[Floats, Floats, int, int]:
    """Counts of judged documents around the last rank of one query.

    Returns:
        [grade] judged documents that are surely within it; [grade] those in the group that it cuts; documents in
        that group; and how many of them are within it. No group cut: zeros.
    """
    rows = slice(*np.searchsorted(standings.query, [query, query + 1]).tolist())
    above, tied = standings.above[rows], standings.tied[rows]
    grade = standings.grade[rows].astype(np.int64)
    cut = (above < last) & (above + tied > last)
    surely = np.bincount(grade[above + tied <= last], minlength=COLUMNS).astype(float)
    inside = np.bincount(grade[cut], minlength=COLUMNS).astype(float)
    if not cut.any():
        return surely, inside, 0, 0
    return surely, inside, int(tied[cut][0]), last - int(above[cut][0])


def _details(standings: Standings, measure: Measure, counted: Bools) -> dict[str, float]:
    """Over the queries in the mean: unjudged documents in the first K, and the upper bound they allow.

    RA-nWG has the number of queries without a grade 5, and Harm, which counts empty places as harmless, that of queries
    with fewer than K documents.
    """
    last = standings.limit(measure.cutoff)
    worth = weigh_grades(standings, measure, cutoff_of(measure))
    if measure["unjudged"] == "upper" or not counted.any():
        return {}
    judged = linear(standings, np.ones(len(standings.query)), Top(last), np.ones(standings.queries), worth.undefined)
    unjudged = np.minimum(standings.listed, last) - judged.expected
    # A missing query has the worst value, and no unjudged documents that could raise it.
    upper = np.where(standings.absent, measure.definition.worst, _upper(standings, measure, worth).expected)
    found = {"unjudged_in_top": float(unjudged[counted].mean()), "upper": float(upper[counted].mean())}
    if measure.name == "RA-nWG":
        fives = sum_by(standings.pool_query, standings.pool_grade == 5, standings.queries)
        found["fallback_queries"] = float((counted & (fives == 0)).sum())
    if measure.name == "Harm":
        found["short_list_queries"] = float((counted & ~standings.absent & (standings.listed < last)).sum())
    return found


# Set measures differ only in the values of grades (grade_values.py).
_of_a_set = partial(
    Definition,
    compute=_evidence,
    cutoff_use="required",
    parameters=BOUND,
    empty="na",
    needs_zeros=True,
    details=_details,
    span=UNIT,
)
RA_nWG = register(
    _of_a_set(
        "RA-nWG",
        "Rarity-aware normalized weighted gain: share of the best set of K that the first K documents are worth.",
        "sum of w(g) 1[rank(d) <= K] / sum of the K largest w in the judgments; w5 = 1, "
        "w4 = min(.5 (n5/n4)^alpha, cap4), w3 = min(.1 (n5/n3)^alpha, cap3); without grade 5: 1, 1, .2",
        "P-B (Dallaire 2025) §2.4",
        parameters={"alpha": ALPHA, "cap4": CAP4, "cap3": CAP3, **BOUND},
    )
)
nWG = register(
    _of_a_set(
        "nWG",
        "Normalized weighted gain with fixed weights: the companion of RA-nWG whose weights no label can move.",
        "sum of b(g) 1[rank(d) <= K] / sum of the K largest b in the judgments; b5 = 1, b4 = .5, b3 = .1",
        "P-B (Dallaire 2025) §2.4, base utilities",
    )
)
N_Recall4 = register(
    _of_a_set(
        "N-Recall4+",
        "Share of the grade 4 and 5 documents that could be among the first K which are.",
        "#{d : grade >= 4, rank(d) <= K} / min(K, R4+)",
        "P-B (Dallaire 2025) §2.4",
    )
)
N_Recall5 = register(
    _of_a_set(
        "N-Recall5",
        "Share of the grade 5 documents that could be among the first K which are.",
        "#{d : grade = 5, rank(d) <= K} / min(K, R5)",
        "P-B (Dallaire 2025) §2.4",
    )
)
P4 = register(
    _of_a_set(
        "P4+",
        "Share of the first K places that documents of grade 4 and 5 take.",
        "#{d : grade >= 4, rank(d) <= K} / K",
        "P-B (Dallaire 2025) §2.4",
    )
)
Harm = register(
    _of_a_set(
        "Harm",
        "Share of the first K places that documents of grade 1 and 2 take; lower is better.",
        "#{d : grade <= 2, rank(d) <= K} / K",
        "P-B (Dallaire 2025) §2.2, §2.4",
        better="lower",
        worst=1.0,
    )
)
