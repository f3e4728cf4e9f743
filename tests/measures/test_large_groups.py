"""Measures of evidence on tie groups too large for all orders: every composition of a cut counted out, and beyond."""

from __future__ import annotations

import itertools
import math
import tracemalloc
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from trueval import Judgments, Run, evaluate, evaluate_arrays
from trueval.evaluation.scores import Scores
from trueval.measures import ceilings

# Documents of grade 1 .. 5 and without a grade, in the group and above it.
GROUP, ABOVE = (2, 4, 6, 4, 4, 5), (0, 1, 1, 0, 1, 2)
NO_TIE = sum(ABOVE)
WORTH = {  # RA-nWG of the grades of both, and nWG
    "RA-nWG": (Fraction(0), Fraction(0), Fraction(5, 70), Fraction(5, 8), Fraction(1)),
    "nWG": (Fraction(0), Fraction(0), Fraction(1, 10), Fraction(1, 2), Fraction(1)),
}


def evaluated(group: tuple[int, ...], above: tuple[int, ...], measures: list[str]) -> Scores:
    """One list: documents with scores of their own, then one tie group."""
    kinds = np.array([1, 2, 3, 4, 5, np.nan])
    grades = np.concatenate((np.repeat(kinds, above), np.repeat(kinds, group)))
    scores = np.concatenate((np.arange(sum(above), 0, -1.0), np.zeros(sum(group))))
    return evaluate_arrays([scores], [grades], measures)


def drawn(group: tuple[int, ...], size: int) -> Iterator[tuple[tuple[int, ...], Fraction]]:
    """Every composition of a draw, with its chance."""
    whole = math.comb(sum(group), size)
    for counts in itertools.product(*(range(n + 1) for n in group[:-1])):
        rest = size - sum(counts)
        if 0 <= rest <= group[-1]:
            yield (*counts, rest), Fraction(math.prod(map(math.comb, group, (*counts, rest))), whole)


def best(counts: tuple[int, ...], worth: tuple[Fraction, ...], size: int) -> Fraction:
    each = sorted((w for w, n in zip(worth, counts, strict=False) for _ in range(n)), reverse=True)
    return sum(each[:size], Fraction(0))


def assert_is(scores: Scores, values: list[float], chances: list[float]) -> None:
    mean = math.fsum(v * p for v, p in zip(values, chances, strict=True))
    variance = math.fsum((v - mean) ** 2 * p for v, p in zip(values, chances, strict=True))
    assert scores.exact == (True,)
    assert scores.expected[0, 0] == pytest.approx(mean, rel=1e-13)
    assert scores.sd[0, 0] == pytest.approx(math.sqrt(variance), rel=1e-11)
    assert scores.lowest[0, 0] == pytest.approx(min(values), rel=1e-13, abs=1e-15)
    assert scores.highest[0, 0] == pytest.approx(max(values), rel=1e-13)


@pytest.mark.parametrize("k", [NO_TIE + 3, NO_TIE + 20])
def test_udcg_is_the_mean_over_compositions(k: int) -> None:
    """The polynomials in place of the sigmoid are used from a loss of 12 twelfths on, so in the second case."""
    twelfths = (0, -1, -2, 9, 12, 0)
    surely = sum(n * u for n, u in zip(ABOVE, twelfths, strict=True))
    outcomes = list(drawn(GROUP, k - NO_TIE))
    sums = [surely + sum(n * u for n, u in zip(counts, twelfths, strict=True)) for counts, _ in outcomes]
    values = [1 / (1 + math.exp(-s / (12 * k))) for s in sums]
    assert_is(evaluated(GROUP, ABOVE, [f"UDCG-proxy@{k}"]), values, [float(p) for _, p in outcomes])


@pytest.mark.parametrize("name", ["RA-nWG", "nWG"])
@pytest.mark.parametrize("k", [NO_TIE + 6, NO_TIE + 20])
def test_the_upper_bound_is_capped_outcome_by_outcome(name: str, k: int) -> None:
    worth = (*WORTH[name], Fraction(1))  # of a document without a grade, at best
    norm = best(tuple(g + a for g, a in zip(GROUP[:5], ABOVE[:5], strict=True)), WORTH[name], k)
    outcomes = list(drawn(GROUP, k - NO_TIE))
    sure = sum(n * w for n, w in zip(ABOVE, worth, strict=True))
    totals = [sure + sum(n * w for n, w in zip(counts, worth, strict=True)) for counts, _ in outcomes]
    values = [float(min(total / norm, Fraction(1))) for total in totals]
    assert_is(evaluated(GROUP, ABOVE, [f"{name}(unjudged='upper')@{k}"]), values, [float(p) for _, p in outcomes])


@pytest.mark.parametrize("name", ["RA-nWG", "nWG"])
@pytest.mark.parametrize(("k", "pool"), [(4, NO_TIE + 12), (NO_TIE + 12, NO_TIE + 20), (NO_TIE + 7, NO_TIE + 9)])
def test_ceilings_are_the_mean_over_compositions_of_candidates_and_choice(name: str, k: int, pool: int) -> None:
    """The first K that are in the group are a draw from the candidates that were drawn from it."""
    worth = WORTH[name]
    norm = best(tuple(g + a for g, a in zip(GROUP[:5], ABOVE[:5], strict=True)), worth, k)
    sure = sum((n * w for n, w in zip(ABOVE, worth, strict=False)), Fraction(0)) / norm
    t, places = pool - NO_TIE, max(k - NO_TIE, 0)
    ideals, shares, leads, chances = [], [], [], []
    for counts, chance in drawn(GROUP, t):
        ideal = best(tuple(a + n for a, n in zip(ABOVE, counts, strict=True)), worth, k) / norm
        total = sum(n * w for n, w in zip(counts, worth, strict=False)) / norm
        squares = sum(n * w * w for n, w in zip(counts, worth, strict=False)) / norm**2
        mean = sure + total * places / t
        variance = Fraction(places * (t - places), t - 1) * (squares / t - (total / t) ** 2)
        ideals.append(float(ideal))
        shares.append((mean / ideal, variance / ideal**2))
        leads.append((ideal - mean, variance))
        chances.append(chance)
    for measure, parts in (("pPROC", shares), ("ordering_headroom", leads)):
        mean = sum(p * m for (m, _), p in zip(parts, chances, strict=True))
        variance = sum(p * (v + (m - mean) ** 2) for (m, v), p in zip(parts, chances, strict=True))
        scores = evaluated(GROUP, ABOVE, [f"{measure}({name}, pool={pool})@{k}"])
        assert scores.expected[0, 0] == pytest.approx(float(mean), rel=1e-12)
        assert scores.sd[0, 0] == pytest.approx(math.sqrt(variance), rel=1e-10)
    assert_is(evaluated(GROUP, ABOVE, [f"PROC({name}, pool={pool})@{k}"]), ideals, [float(p) for p in chances])


@pytest.mark.parametrize("name", ["RA-nWG", "nWG", "N-Recall4+"])
@pytest.mark.parametrize(("k", "pool"), [(2, 4), (3, 4), (3, 3), (1, 5)])
def test_extreme_shares_and_leads_are_those_of_some_order(name: str, k: int, pool: int) -> None:
    """All orders of six tied documents, drawn grades; K and the pool cut the same group."""
    rng = np.random.default_rng(k)
    for _ in range(12):
        group = rng.multinomial(6, [0.1, 0.1, 0.25, 0.25, 0.2, 0.1])
        grades = np.repeat([1, 2, 3, 4, 5, np.nan], group)
        plain = [f"{m}({name}, pool={pool})@{k}" for m in ("pPROC", "ordering_headroom")]
        found = evaluate_arrays([np.zeros(6)], [grades], plain)
        orders = list({tuple(order) for order in itertools.permutations(np.nan_to_num(grades))})
        lists = [[np.nan if g == 0 else g for g in order] for order in orders]
        each = evaluate_arrays([np.arange(6, 0, -1.0)] * len(lists), lists, plain)
        for column in range(2):
            if not np.isnan(found.expected[0, column]):
                assert found.lowest[0, column] == pytest.approx(each.expected[:, column].min(), abs=1e-14)
                assert found.highest[0, column] == pytest.approx(each.expected[:, column].max(), abs=1e-14)


def test_a_share_over_too_many_outcomes_is_bounded_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    measure = [f"pPROC(nWG, pool={NO_TIE + 20})@{NO_TIE + 12}"]
    exact = evaluated(GROUP, ABOVE, measure)
    monkeypatch.setattr(ceilings, "MOST_OUTCOMES", 0)
    bounded = evaluated(GROUP, ABOVE, measure)
    assert bounded.exact == (False,)
    assert np.isnan(bounded.sd[0, 0])
    assert (bounded.lowest[0, 0], bounded.highest[0, 0]) == (exact.lowest[0, 0], exact.highest[0, 0])
    assert abs(bounded.expected[0, 0] - exact.expected[0, 0]) <= bounded.details[0]["expected_within"]


THOUSANDS = (200, 200, 500, 400, 400, 300)


@pytest.mark.parametrize(
    "measure",
    [
        "UDCG-proxy@500",
        "RA-nWG(unjudged='upper')@500",
        "PROC(RA-nWG, pool=800)@500",
        "pPROC(RA-nWG, pool=800)@100",
        "ordering_headroom(RA-nWG, pool=800)@500",
    ],
)
def test_thousands_of_tied_documents_take_little_memory(measure: str) -> None:
    """Their compositions would take terabytes."""
    tracemalloc.start()
    try:
        found = evaluated(THOUSANDS, (0,) * 6, [measure])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.exact == (True,)
    assert 0 < found.sd[0, 0] < 0.05
    assert peak < 64 << 20


def test_thousands_of_sources_take_little_memory() -> None:
    """Each document its own source, so that novelty is the measure inside."""
    grades = {f"d{number}": 1 + number % 5 for number in range(6000)}
    judgments, run = (
        Judgments.from_dict({"q": grades}).with_sources({}),
        Run.from_dict({"q": dict.fromkeys(grades, 1.0)}),
    )
    tracemalloc.start()
    try:
        found = evaluate(run, judgments, "novelty(RA-nWG)@2000 RA-nWG@2000")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    for statistic in ("expected", "lowest", "highest", "sd"):
        one, other = getattr(found, statistic)[0]
        assert one == pytest.approx(other, rel=1e-11)
    assert found.highest[0, 0] == 1
    assert peak < 64 << 20


def test_two_kinds_among_thousands_are_hypergeometric() -> None:
    """10,000 tied documents, 3,000 of grade 5 and 1,000 of grade 3: exact from binomial coefficients."""
    k, threes, fives, n = 1000, 1000, 3000, 10_000
    found = evaluated((0, 0, threes, 0, fives, n - threes - fives), (0,) * 6, [f"UDCG-proxy@{k}"])
    whole, mean, square = math.comb(n, k), 0.0, 0.0
    for three in range(40, 180):
        outer = Fraction(math.comb(threes, three) * math.comb(n - threes, k - three), whole)
        inner = _pmf(n - threes, fives, k - three)
        values = 1 / (1 + np.exp(-(12.0 * np.arange(len(inner)) - 2 * three) / (12 * k)))
        mean += float(outer) * float(inner @ values)
        square += float(outer) * float(inner @ values**2)
    assert found.expected[0, 0] == pytest.approx(mean, rel=1e-11)
    assert found.sd[0, 0] ** 2 == pytest.approx(square - mean**2, rel=1e-6)


def _pmf(population: int, marked: int, drawn: int) -> np.ndarray:
    x = np.arange(drawn + 1)
    logs = [_log_comb(marked, x), _log_comb(population - marked, drawn - x)]
    chance = np.exp(sum(logs) - _log_comb(population, np.array([drawn])))
    return np.asarray(chance / chance.sum())


def _log_comb(n: int, k: np.ndarray) -> np.ndarray:
    return np.array([math.lgamma(n + 1) - math.lgamma(each + 1) - math.lgamma(n - each + 1) for each in k.tolist()])
