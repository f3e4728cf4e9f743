"""The plain definitions of the measures of evidence, for the naive twin: one order, one set, counted out.

P-B (Dallaire 2025) §2.4 and docs/formulas.md §5 read word for word; NaN stands for "not available".
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from twin import Notation, Number, Ranking

BASE = {5: Fraction(1), 4: Fraction(1, 2), 3: Fraction(1, 10), 2: Fraction(0), 1: Fraction(0)}


def decimal(number: Any) -> Fraction:
    return Fraction(str(number))


def rarity_weights(judged: Sequence[Number], parameters: Mapping[str, Any]) -> dict[int, Fraction]:
    """Return w_g by way of proportions p_g = n_g / N and rarities r_g = b_g / p_g^alpha, as P-B writes them."""
    alpha = parameters.get("alpha", 1)
    caps = {4: decimal(parameters.get("cap4", 1)), 3: decimal(parameters.get("cap3", "0.25"))}
    count = {grade: sum(g == grade for g in judged) for grade in BASE}
    if not count[5]:
        return {5: Fraction(1), 4: Fraction(1), 3: Fraction(1, 5), 2: Fraction(0), 1: Fraction(0)}

    def rarity(grade: int) -> Fraction:
        if not count[grade]:
            return Fraction(0)
        proportion = Fraction(count[grade], len(judged))
        return BASE[grade] / Fraction(proportion**alpha)

    weights = {grade: min(rarity(grade) / rarity(5), cap) for grade, cap in caps.items()}
    return {5: Fraction(1), **weights, 2: Fraction(0), 1: Fraction(0)}


def weights_of(judged: Sequence[Number], m: Notation) -> dict[int, Fraction]:
    """Return what a document of each grade adds."""
    if m.name == "RA-nWG":
        return rarity_weights(judged, m.parameters)
    if m.name == "nWG":
        return BASE
    counted = {"N-Recall4+": (4, 5), "P4+": (4, 5), "N-Recall5": (5,), "Harm": (1, 2)}[m.name]
    return {grade: Fraction(grade in counted) for grade in BASE}


def norm_of(judged: Sequence[Number], m: Notation, k: int) -> Fraction:
    """Return what the sum is divided by: K, or the sum of the K largest weights."""
    if m.name in ("P4+", "Harm"):
        return Fraction(k) if judged else Fraction(0)
    weights = weights_of(judged, m)
    return sum(sorted((weights[int(g)] for g in judged), reverse=True)[:k], Fraction(0))


def evidence(ranking: Ranking, m: Notation) -> Number:
    """Σ over the top K of the weight of the grade, over the norm; a bound adds 1 per unjudged place, up to 1."""
    assert m.k is not None
    norm, weights = norm_of(ranking.judged, m, m.k), weights_of(ranking.judged, m)
    if not norm:
        return math.nan
    top = ranking.top(m.k)
    value = sum((weights[int(grade)] for _, grade in top), Fraction(0)) / norm
    if m.parameters.get("unjudged") == "upper":
        value = min(Fraction(1), value + (min(m.k, ranking.listed) - len(top)) / norm)
    return ranking.number(value)


def ceiling(ranking: Ranking, m: Notation) -> Number:
    """The best K of the documents among the first P, over the norm of the judgments."""
    assert m.inner is not None
    assert m.k is not None
    norm, weights = norm_of(ranking.judged, m.inner, m.k), weights_of(ranking.judged, m.inner)
    if not norm:
        return math.nan
    pool = sorted((weights[int(grade)] for _, grade in ranking.top(m.parameters.get("pool"))), reverse=True)
    return ranking.number(sum(pool[: m.k], Fraction(0)) / norm)


def actual(ranking: Ranking, m: Notation) -> Number:
    assert m.inner is not None
    return evidence(ranking, m.inner.at(m.k))


def share_of_ceiling(ranking: Ranking, m: Notation) -> Number:
    """Actual over ceiling; not available where the pool holds nothing."""
    best = ceiling(ranking, m)
    return actual(ranking, m) / best if best else math.nan


def retrieval_headroom(ranking: Ranking, m: Notation) -> Number:
    return 1 - ceiling(ranking, m)


def ordering_headroom(ranking: Ranking, m: Notation) -> Number:
    return ceiling(ranking, m) - actual(ranking, m)


def all_gold(ranking: Ranking, m: Notation) -> Number:
    """1 if every relevant document of the judgments is in the top K."""
    least = m.parameters.get("rel", 1)
    wanted = sum(grade >= least for grade in ranking.judged)
    found = sum(grade >= least for _, grade in ranking.top(m.k))
    return ranking.number(int(found == wanted)) if wanted else math.nan


def novel_gain(weighted: Sequence[tuple[Fraction, str]], beta: Fraction) -> Fraction:
    """Σ over sources of [max w + β (Σ w - max w)] for documents given as weight and source."""
    total = Fraction(0)
    for source in {s for _, s in weighted}:
        own = [w for w, s in weighted if s == source]
        total += max(own) + beta * (sum(own) - max(own))
    return total


def novelty_of_strangers(ranking: Ranking, m: Notation) -> Number:
    """Where every document is its own source, novelty is the measure inside; tests/measures has the sources."""
    return actual(ranking, m)


EVIDENCE: dict[str, Callable[[Ranking, Notation], Number]] = {
    **dict.fromkeys(("RA-nWG", "nWG", "N-Recall4+", "N-Recall5", "P4+", "Harm"), evidence),
    "AllGold": all_gold,
    "PROC": ceiling,
    "pPROC": share_of_ceiling,
    "retrieval_headroom": retrieval_headroom,
    "ordering_headroom": ordering_headroom,
    "novelty": novelty_of_strangers,
}
EVIDENCE_PARAMETERS = {
    "RA-nWG": {"alpha", "cap4", "cap3", "unjudged"},
    **{name: {"unjudged"} for name in ("nWG", "N-Recall4+", "N-Recall5", "P4+", "Harm")},
    "AllGold": {"rel"},
    "novelty": {"beta"},
    **{name: {"pool"} for name in ("PROC", "pPROC", "retrieval_headroom", "ordering_headroom")},
}
ON_THE_RUBRIC = frozenset(EVIDENCE) - {"AllGold"}


def evidence_worth(judged: Sequence[Number], m: Notation, grade: float) -> float:
    """Return what a document adds in the top K, to sort by: the weight of its grade; unjudged 0, or 1 for a bound."""
    inner = m.inner or m
    judged = [g for g in judged if g >= 0]
    unjudged = float(m.parameters.get("unjudged") == "upper")
    return float(weights_of(judged, inner)[int(grade)]) if grade >= 0 else unjudged
