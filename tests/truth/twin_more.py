"""The plain definitions of cascades, preferences, interpolation, facets and utility, for the twin: one order each."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from twin import Notation, Number, Ranking


def least(m: Notation) -> float:
    return m.parameters.get("rel", 1)


def expected_reciprocal_rank(ranking: Ranking, m: Notation) -> Number:
    """Σ (1/r) R_r Π (1 - R_i) over the documents down to k, as gdeval.pl prints it: R = (2^g - 1) / 2^gmax."""
    total, arrived = ranking.number(0), ranking.number(1)
    for rank, grade in ranking.top(m.k):
        stop = ranking.number(2 ** ranking.number(grade) - 1) / 2 ** m.parameters.get("gmax", 4)
        total += arrived * stop / rank
        arrived *= 1 - stop
    return total


def binary_preference(ranking: Ranking, m: Notation) -> Number:
    """Each relevant document loses 1/min(R, N) for every judged other one above it: trec_eval's loop over the list."""
    relevant = sum(grade >= least(m) for grade in ranking.judged)
    others = len(ranking.judged) - relevant
    total, above = ranking.number(0), 0
    for _, grade in ranking.places:
        if grade < least(m):
            above += 1
        elif above:
            total += 1 - ranking.number(min(above, relevant)) / min(others, relevant)
        else:
            total += 1
    return total / relevant if relevant else ranking.number(0)


def interpolated_precision(ranking: Ranking, m: Notation, recall: float | None = None) -> Number:
    """The largest precision at a rank from the one on that brings floor(x R + .9) or lround(x R) relevant ones."""
    recall = m.parameters.get("recall", 0.5) if recall is None else recall
    part = {"up": 0.9, "nearest": 0.5}[m.parameters.get("rounding", "up")]
    wanted = math.floor(recall * sum(grade >= least(m) for grade in ranking.judged) + part)
    ranks = [rank for rank, grade in ranking.places if grade >= least(m)]
    precisions = [ranking.number(found) / rank for found, rank in enumerate(ranks, 1) if found >= wanted]
    return max(precisions, default=ranking.number(0))


def eleven_points(ranking: Ranking, m: Notation) -> Number:
    """The mean of interpolated precision at recall 0, .1, .., 1."""
    levels = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    return sum((interpolated_precision(ranking, m, level) for level in levels), ranking.number(0)) / 11


def residual(ranking: Ranking, m: Notation) -> Number:
    """The weight of every rank, to infinity, whose document has no grade."""
    p = ranking.number(str(m.parameters.get("p", 0.8)))
    return 1 - (1 - p) * sum((p ** (rank - 1) for rank, _ in ranking.top(m.k)), ranking.number(0))


def novelty_gains(ranking: Ranking, m: Notation, grades: list[tuple[int, Number]]) -> list[tuple[int, Number]]:
    """(rank, gain) of the documents of the one facet that judgments without facets have."""
    keep, left = 1 - ranking.number(str(m.parameters.get("alpha", 0.5))), ranking.number(1)
    gains = []
    for rank, grade in grades:
        if grade >= least(m):
            gains.append((rank, left))
            left *= keep
    return gains


def alpha_ndcg(ranking: Ranking, m: Notation) -> Number:
    """Discounted novelty gains over those of the ideal: all relevant documents first."""
    from twin import log_weight

    def discounted(grades: list[tuple[int, Number]]) -> Number:
        gains = novelty_gains(ranking, m, grades)
        return sum((gain * ranking.number(log_weight(rank)) for rank, gain in gains), ranking.number(0))

    best = list(enumerate(sorted(ranking.judged, reverse=True), 1))[: m.k]
    ideal = discounted(best)
    return discounted(ranking.top(m.k)) / ideal if ideal else ranking.number(0)


def novelty_biased_precision(ranking: Ranking, m: Notation) -> Number:
    """(1 - (1 - α) β) Σ β^(r-1) ng(r) for one facet."""
    if not any(grade >= least(m) for grade in ranking.judged):
        return ranking.number(0)
    alpha, beta = (ranking.number(str(m.parameters.get(name, 0.5))) for name in ("alpha", "beta"))
    gains = novelty_gains(ranking, m, ranking.top(m.k))
    total = sum((gain * beta ** (rank - 1) for rank, gain in gains), ranking.number(0))
    return (1 - (1 - alpha) * beta) * total


UTILITY = {1: Fraction(0), 2: Fraction(-1, 12), 3: Fraction(-2, 12), 4: Fraction(3, 4), 5: Fraction(1)}


def utility_proxy(ranking: Ranking, m: Notation) -> Number:
    """sigmoid of the mean utility of the top K: (g-1)/4 from grade 4 on, minus a third of it below."""
    if not ranking.judged:
        return math.nan
    total = sum((UTILITY[int(grade)] for _, grade in ranking.top(m.k)), Fraction(0))
    return ranking.number(1 / (1 + math.exp(-total / m.k)))


def inner_value(ranking: Ranking, m: Notation) -> Number:
    """A geometric mean over queries leaves the values of the queries as they are."""
    from twin import DEFINITIONS

    return DEFINITIONS[m.inner.name](ranking, m.inner)


MORE: dict[str, Callable[[Ranking, Notation], Number]] = {
    "ERR": expected_reciprocal_rank,
    "bpref": binary_preference,
    "IPrec": interpolated_precision,
    "IPrec11": eleven_points,
    "RBP-residual": residual,
    "alpha_nDCG": alpha_ndcg,
    "NRBP": novelty_biased_precision,
    "UDCG-proxy": utility_proxy,
    "gm": inner_value,
}
MORE_PARAMETERS: dict[str, set[str]] = {
    "ERR": {"gmax"},
    "bpref": {"rel"},
    "IPrec": {"recall", "rel", "rounding"},
    "IPrec11": {"rel", "rounding"},
    "RBP-residual": {"p"},
    "alpha_nDCG": {"alpha", "rel", "ideal"},
    "NRBP": {"alpha", "beta", "rel"},
    "UDCG-proxy": set(),
    "gm": set(),
}


def utility_worth(grade: float) -> float:
    """What a document adds in the top K, to sort by."""
    return float(UTILITY[int(grade)]) if grade >= 0 else 0.0
