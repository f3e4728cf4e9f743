"""The naive twin of the evaluator: every measure by its plain definition, on one concrete order of the documents.

Nothing here knows about tie groups in closed form. A measure is a function of one ranking; its expectation, extrema and
variance are taken by listing (or sampling) the orders of the tied documents. Rational measures are exact fractions;
logarithmic discounts are fractions of 40 digits. Nothing is imported from the package under test.
"""

from __future__ import annotations

import ast
import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from twin_evidence import EVIDENCE, EVIDENCE_PARAMETERS
from twin_more import MORE, MORE_PARAMETERS

Number = Fraction | float
Orders = Mapping["Ranking", int]


class UnknownToTheTwinError(Exception):
    """The twin has no definition for a measure or one of its parameters: write one before trusting the kernel."""


@dataclass(frozen=True)
class Notation:
    """A measure as its text says it: ``nDCG(gain='exp')@10`` is name, parameters and cutoff."""

    name: str
    parameters: Mapping[str, Any]
    k: int | None
    inner: Notation | None = None

    @staticmethod
    @cache
    def read(text: str) -> Notation:
        found = re.fullmatch(r"([\w+-]+?)(?:\((.*)\))?(?:@(\d+))?", text)
        if found is None:
            raise UnknownToTheTwinError(text)
        name, inside, cutoff = found.groups()
        within = re.match(r"\s*([A-Za-z][\w+-]*(?:\([^()]*\))?(?:@\d+)?)\s*(?:,|$)", inside or "")
        inside = (inside or "")[within.end() :] if within else inside
        call = ast.parse(f"f({inside or ''})", mode="eval").body
        assert isinstance(call, ast.Call), text
        assert not call.args, text
        parameters = {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
        inner = Notation.read(within[1]) if within else None
        return Notation(name, parameters, int(cutoff) if cutoff else None, inner)

    def at(self, k: int | None) -> Notation:
        return Notation(self.name, self.parameters, k, self.inner)


@dataclass(frozen=True)
class Ranking:
    """One concrete order: where the judged documents stand, what else was judged, and how many were listed."""

    places: tuple[tuple[int, Number], ...]  # (rank from 1, grade) of the judged documents of the list, best rank first
    judged: tuple[Number, ...]  # the grades of all judged documents of the query, retrieved or not
    listed: int
    number: Callable[[Any], Any] = Fraction  # Fraction to be exact, float to be fast

    def top(self, k: int | None) -> list[tuple[int, Number]]:
        return [(rank, grade) for rank, grade in self.places if k is None or rank <= k]

    def base(self, base: str) -> list[Number]:
        """Return the grades that ideals and recall count: of all judgments, or of the listed documents alone."""
        if base not in ("judgments", "list"):
            raise UnknownToTheTwinError(f"base={base!r}")
        return list(self.judged) if base == "judgments" else [grade for _, grade in self.places]


# --- measures, each by the sentence that defines it -------------------------------------------------------------------


@cache
def log_weight(rank: int) -> Fraction:
    """Return 1 / log2(rank + 1) to 40 digits (Järvelin and Kekäläinen 2002, the discount of every DCG here)."""
    with localcontext() as context:
        context.prec = 60
        return Fraction(round(Decimal(10) ** 40 * Decimal(2).ln() / Decimal(rank + 1).ln()), 10**40)


def threshold(m: Notation) -> float:
    return m.parameters.get("rel", 1)


def relevant_ranks(ranking: Ranking, m: Notation, k: int | None) -> list[int]:
    return [rank for rank, grade in ranking.top(k) if grade >= threshold(m)]


def relevant_count(ranking: Ranking, m: Notation) -> int:
    return sum(grade >= threshold(m) for grade in ranking.base(m.parameters.get("base", "judgments")))


def ratio(ranking: Ranking, above: Any, below: Any) -> Number:
    return ranking.number(above) / ranking.number(below) if below else ranking.number(0)


def gain(ranking: Ranking, m: Notation, grade: Number) -> Number:
    kind = m.parameters.get("gain", "linear")
    if kind == "linear":
        return ranking.number(grade)
    if kind == "exp":
        return ranking.number(2 ** ranking.number(grade)) - 1
    if kind == "binary":
        return ranking.number(int(grade > 0))
    if kind == "rubric":
        return ranking.number({1: 0, 2: 0, 3: Fraction(1, 10), 4: Fraction(1, 2), 5: 1}[int(grade)])
    mapped = gain_map(kind)
    return ranking.number(mapped.get(float(grade), grade))


def gain_map(kind: Any) -> dict[float, Any]:
    """Return grade -> gain of a map given as a dict or as the text "1:3,2:9"; grades it leaves out keep themselves."""
    if isinstance(kind, str) and re.fullmatch(r"[\d.,:=\- ]+", kind):
        kind = dict(re.split("[:=]", pair) for pair in kind.split(","))
    if not isinstance(kind, dict):
        raise UnknownToTheTwinError(f"gain={kind!r}")
    return {float(grade): Fraction(str(value)) for grade, value in kind.items()}


def dcg(ranking: Ranking, m: Notation) -> Number:
    """Σ gain / log2(rank + 1)."""
    return sum(
        (gain(ranking, m, grade) * ranking.number(log_weight(rank)) for rank, grade in ranking.top(m.k)),
        ranking.number(0),
    )


def ideal_dcg(ranking: Ranking, m: Notation) -> Number:
    grades = ranking.base(m.parameters.get("base", "judgments"))
    gains = sorted((gain(ranking, m, grade) for grade in grades), reverse=True)[: m.k]
    return sum((g * ranking.number(log_weight(r)) for r, g in enumerate(gains, 1)), ranking.number(0))


def ndcg(ranking: Ranking, m: Notation) -> Number:
    """DCG over the DCG of the best order."""
    return ratio(ranking, dcg(ranking, m), ideal_dcg(ranking, m))


def hits(ranking: Ranking, m: Notation) -> Number:
    """Relevant documents in the top k."""
    return ranking.number(len(relevant_ranks(ranking, m, m.k)))


def precision(ranking: Ranking, m: Notation) -> Number:
    """Relevant documents in the top k, over k, or over the documents there; without k, over the documents listed."""
    there = ranking.listed if m.k is None else min(m.k, ranking.listed)
    short = m.parameters.get("short", "k")
    if short not in ("k", "listed"):
        raise UnknownToTheTwinError(f"short={short!r}")
    return ratio(ranking, hits(ranking, m), there if m.k is None or short == "listed" else m.k)


def recall(ranking: Ranking, m: Notation) -> Number:
    """Relevant documents in the top k, over all relevant ones."""
    return ratio(ranking, hits(ranking, m), relevant_count(ranking, m))


def f1(ranking: Ranking, m: Notation) -> Number:
    """Harmonic mean of P@k and R@k = 2 hits / (k + N+)."""
    p, r = precision(ranking, m), recall(ranking, m)
    return ratio(ranking, 2 * p * r, p + r)


def success(ranking: Ranking, m: Notation) -> Number:
    """1 if any of the top k is relevant."""
    return ranking.number(1 if relevant_ranks(ranking, m, m.k) else 0)


def r_precision(ranking: Ranking, m: Notation) -> Number:
    """Relevant documents in the top N+, over N+."""
    count = relevant_count(ranking, m)
    return ratio(ranking, len(relevant_ranks(ranking, m, count)), count)


def reciprocal_rank(ranking: Ranking, m: Notation) -> Number:
    """1 / rank of the first relevant document, 0 if it is past k."""
    ranks = relevant_ranks(ranking, m, m.k)
    return ratio(ranking, 1, ranks[0]) if ranks else ranking.number(0)


def average_precision(ranking: Ranking, m: Notation) -> Number:
    """Σ over relevant documents in the top k of the precision at their rank, over N+, min(N+, k) or their own number.

    For norm='threshold' this is the value of an order; what scikit-learn says of all orders is threshold_precision.
    """
    count = relevant_count(ranking, m)
    norm = m.parameters.get("norm", "R")
    if norm not in ("R", "min", "hits", "threshold"):
        raise UnknownToTheTwinError(f"norm={norm!r}")
    if norm == "min" and m.k is not None:
        count = min(count, m.k)
    ranks = relevant_ranks(ranking, m, m.k)
    if norm == "hits":
        count = len(ranks)
    total = sum((ratio(ranking, found, rank) for found, rank in enumerate(ranks, 1)), ranking.number(0))
    return ratio(ranking, total, count)


def rank_biased_precision(ranking: Ranking, m: Notation) -> Number:
    """(1 - p) Σ p^(rank-1) over relevant documents; graded, each counts grade / scale, at most 1."""
    p = ranking.number(str(m.parameters.get("p", 0.8)))
    total = ranking.number(0)
    for rank, grade in ranking.top(m.k):
        scale = m.parameters.get("scale")
        worth = min(ratio(ranking, grade, scale), 1) if scale else ranking.number(int(grade >= threshold(m)))
        total += worth * p ** (rank - 1)
    return (1 - p) * total


def judged(ranking: Ranking, m: Notation) -> Number:
    """Judged documents in the top k, over the documents there."""
    depth = ranking.listed if m.k is None else min(m.k, ranking.listed)
    return ratio(ranking, len(ranking.top(m.k)), depth)


DEFINITIONS: dict[str, Callable[[Ranking, Notation], Number]] = {
    "nDCG": ndcg,
    "DCG": dcg,
    "RR": reciprocal_rank,
    "AP": average_precision,
    "P": precision,
    "R": recall,
    "F1": f1,
    "Hits": hits,
    "Success": success,
    "Rprec": r_precision,
    "RBP": rank_biased_precision,
    "Judged": judged,
    **EVIDENCE,
    **MORE,
}
PARAMETERS = {
    "nDCG": {"gain", "base"},
    "DCG": {"gain"},
    "RR": {"rel"},
    "AP": {"rel", "base", "norm"},
    "P": {"rel", "short"},
    "R": {"rel", "base"},
    "F1": {"rel", "base"},
    "Hits": {"rel"},
    "Success": {"rel"},
    "Rprec": {"rel", "base"},
    "RBP": {"rel", "p", "scale"},
    "Judged": set(),
    **EVIDENCE_PARAMETERS,
    **MORE_PARAMETERS,
}


def value(ranking: Ranking, measure: str) -> Number:
    """Return a measure of one concrete order by its definition."""
    m = Notation.read(measure)
    if m.name not in DEFINITIONS:
        raise UnknownToTheTwinError(f"{m.name}: write its plain definition into the twin.")
    unknown = set(m.parameters) - PARAMETERS[m.name]
    if unknown:
        raise UnknownToTheTwinError(f"{m.name} with {sorted(unknown)}: write the plain definition into the twin.")
    return DEFINITIONS[m.name](ranking, m)


# --- orders -----------------------------------------------------------------------------------------------------------


def is_judged(grade: float | None) -> bool:
    return grade is not None and grade >= 0


def tie_groups(scores: Mapping[str, float]) -> list[list[str]]:
    """Return the documents by descending score, those of equal score together."""
    descending = sorted(scores, key=lambda document: -scores[document])
    return [list(group) for _, group in itertools.groupby(descending, key=lambda document: scores[document])]


def ranking_of(order: Sequence[str], grades: Mapping[str, float], number: Callable[[Any], Any] = Fraction) -> Ranking:
    """Return one order of documents as a ranking; a grade below 0 means unjudged."""
    kept = {document: grade for document, grade in grades.items() if is_judged(grade)}
    places = tuple((rank, number(kept[d])) for rank, d in enumerate(order, 1) if d in kept)
    return Ranking(places, tuple(sorted(number(grade) for grade in kept.values())), len(order), number)


def all_orders(scores: Mapping[str, float], grades: Mapping[str, float]) -> Orders:
    """Return every order that the scores allow, as rankings with the number of orders behind each."""
    permutations = (itertools.permutations(group) for group in tie_groups(scores))
    found: Counter[tuple[float | None, ...]] = Counter()
    example: dict[tuple[float | None, ...], Sequence[str]] = {}
    for choice in itertools.product(*permutations):
        order = [document for group in choice for document in group]
        labels = tuple(grades.get(document) for document in order)
        found[labels] += 1
        example.setdefault(labels, order)
    return {ranking_of(example[labels], grades): count for labels, count in found.items()}


def cut(orders: Orders, depth: int) -> Orders:
    """Cut every order after so many ranks, as trec_eval -M does once it has sorted."""
    found: Counter[Ranking] = Counter()
    for ranking, count in orders.items():
        found[replace(ranking, places=tuple(ranking.top(depth)), listed=min(ranking.listed, depth))] += count
    return found


def sampled_orders(
    scores: Mapping[str, float], grades: Mapping[str, float], samples: int, rng: np.random.Generator
) -> Iterator[Ranking]:
    """Yield rankings whose tied documents stand in a uniformly random order."""
    groups = tie_groups(scores)
    for _ in range(samples):
        order = [group[i] for group in groups for i in rng.permutation(len(group))]
        yield ranking_of(order, grades, float)


class Truth(NamedTuple):
    """Mean, extrema and variance of a measure over all orders, exact."""

    mean: Number
    lowest: Number
    highest: Number
    variance: Number


def over_orders(orders: Orders, measure: str) -> Truth:
    """Return the exact statistics of a measure over listed orders; NaN as soon as one order has no value."""
    values = [(value(ranking, measure), count) for ranking, count in orders.items()]
    if any(math.isnan(v) for v, _ in values):
        return Truth(math.nan, math.nan, math.nan, math.nan)
    total = sum(count for _, count in values)
    mean = Fraction(sum(v * count for v, count in values), total)
    variance = Fraction(sum((v - mean) ** 2 * count for v, count in values), total)
    return Truth(mean, min(v for v, _ in values), max(v for v, _ in values), variance)


def over_all_orders(scores: Mapping[str, float], grades: Mapping[str, float], measure: str) -> Truth:
    """Return mean, lowest, highest and variance of a measure over every order that the scores allow."""
    return over_orders(all_orders(scores, grades), measure)


class Sample(NamedTuple):
    """Monte Carlo estimates of mean and variance with their standard errors, and the extrema seen."""

    mean: float
    mean_error: float
    variance: float
    variance_error: float
    lowest: float
    highest: float


def over_sample(rankings: Iterable[Ranking], measure: str) -> Sample:
    """Return what sampled orders say about a measure."""
    values = np.array([float(value(ranking, measure)) for ranking in rankings])
    squares = (values - values.mean()) ** 2
    count = len(values)
    return Sample(
        float(values.mean()),
        float(values.std(ddof=1) / math.sqrt(count)),
        float(values.var(ddof=1)),
        float(squares.std(ddof=1) / math.sqrt(count)),
        float(values.min()),
        float(values.max()),
    )


def order_by(scores: Mapping[str, float], tie_order: str, ranks: Mapping[str, int] | None = None) -> list[str]:
    """Return the one order a named tie order makes: ids compare by their UTF-8 bytes."""
    documents = list(scores)
    if tie_order == "docid-desc":
        documents.sort(key=lambda document: document.encode(), reverse=True)
    elif tie_order == "docid-asc":
        documents.sort(key=lambda document: document.encode())
    elif tie_order == "rank":
        assert ranks is not None
        documents.sort(key=lambda document: ranks[document])
    elif tie_order != "input":
        raise UnknownToTheTwinError(f"tie order {tie_order!r}")
    return sorted(documents, key=lambda document: -scores[document])


def threshold_precision(scores: Mapping[str, float], grades: Mapping[str, float], measure: str) -> Number:
    """Return AP(norm=threshold): documents of one score enter together, so each counts the precision at the last."""
    m = Notation.read(measure)
    ranking = ranking_of([document for group in tie_groups(scores) for document in group], grades)
    total, seen, found = Fraction(0), 0, 0
    for group in tie_groups(scores):
        new = sum(is_judged(grades.get(d)) and grades[d] >= threshold(m) for d in group)
        seen, found = seen + len(group), found + new
        total += Fraction(new * found, seen) if m.k is None or seen <= m.k else 0
    return ratio(ranking, total, relevant_count(ranking, m))


def round_to_bits(score: float, bits: int) -> float:
    """Round to a significand of so many bits, half to even: 8 is bfloat16, 11 float16, 24 float32, in normal range."""
    if score == 0 or math.isinf(score):
        return score
    mantissa, exponent = math.frexp(score)
    return math.ldexp(round(math.ldexp(mantissa, bits)), exponent - bits)
