"""One list tied throughout, too long to enumerate: exact rational answers from the probability of each outcome."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest
import twin

from trueval.evaluation.arrays import evaluate_arrays

SIZES = [(10_000, 3), (10_000, 100), (1_000_000, 5), (1_000_000, 10_000)]
CUTOFFS = (1, 10, 1000)


def tied(documents: int, relevant: int, measures: list[str]) -> object:
    grades = np.zeros(documents)
    grades[np.random.default_rng(documents).choice(documents, relevant, replace=False)] = 1
    return evaluate_arrays([np.zeros(documents)], [grades], measures)


def assert_is(found: object, column: int, mean: Fraction, variance: Fraction, low: Fraction, high: Fraction) -> None:
    assert found.expected[0, column] == pytest.approx(float(mean), rel=1e-10)
    assert found.sd[0, column] ** 2 == pytest.approx(float(variance), rel=1e-7, abs=1e-15)
    assert found.lowest[0, column] == pytest.approx(float(low), rel=1e-10)
    assert found.highest[0, column] == pytest.approx(float(high), rel=1e-10)
    assert found.lowest[0, column] <= found.expected[0, column] <= found.highest[0, column]


@pytest.mark.parametrize(("documents", "relevant"), SIZES)
def test_hits_are_hypergeometric(documents: int, relevant: int) -> None:
    found = tied(documents, relevant, [f"Hits@{k}" for k in CUTOFFS])
    share = Fraction(relevant, documents)
    for column, k in enumerate(CUTOFFS):
        variance = k * share * (1 - share) * Fraction(documents - k, documents - 1)
        assert_is(found, column, k * share, variance, max(0, Fraction(k - documents + relevant)), min(k, relevant))


@pytest.mark.parametrize(("documents", "relevant"), SIZES)
def test_success_misses_with_the_share_of_draws_without_relevant(documents: int, relevant: int) -> None:
    """All C(n, k) top-k sets are equally likely, C(n - r, k) of them miss; here as the r places of the relevant."""
    found = tied(documents, relevant, [f"Success@{k}" for k in CUTOFFS])
    for column, k in enumerate(CUTOFFS):
        miss = Fraction(1)
        for rank in range(k):
            miss *= Fraction(documents - relevant - rank, documents - rank)
        assert_is(found, column, 1 - miss, miss * (1 - miss), Fraction(0), Fraction(1))


@pytest.mark.parametrize(("documents", "relevant"), [(10_000, 3), (10_000, 20), (1_000_000, 5)])
def test_the_first_relevant_place_has_negative_hypergeometric_chances(documents: int, relevant: int) -> None:
    """P(first relevant at rank t) = C(n - t, r - 1) / C(n, r): the others stand behind it."""
    found = tied(documents, relevant, [f"RR@{k}" for k in CUTOFFS])
    for column, k in enumerate(CUTOFFS):
        chances = [Fraction(comb(documents - t, relevant - 1), comb(documents, relevant)) for t in range(1, k + 1)]
        mean = sum(p / t for t, p in enumerate(chances, 1))
        square = sum(p / t**2 for t, p in enumerate(chances, 1))
        assert_is(found, column, mean, square - mean**2, Fraction(0), Fraction(1))


@pytest.mark.parametrize(("documents", "relevant"), SIZES)
def test_average_precision_follows_from_pairs(documents: int, relevant: int) -> None:
    """E[AP@k] = (1/N+) Σ_t (P(t relevant) + (t - 1) P(t and an earlier one relevant)) / t."""
    found = tied(documents, relevant, [f"AP@{k}" for k in CUTOFFS])
    single = Fraction(relevant, documents)
    pair = single * Fraction(relevant - 1, documents - 1)
    for column, k in enumerate(CUTOFFS):
        mean = sum((single + (t - 1) * pair) / t for t in range(1, k + 1)) / relevant
        assert found.expected[0, column] == pytest.approx(float(mean), rel=1e-10)
        assert found.highest[0, column] == pytest.approx(min(k, relevant) / relevant, rel=1e-10)
        assert found.lowest[0, column] == 0


@pytest.mark.parametrize(("documents", "relevant"), SIZES)
def test_discounted_gain_spreads_evenly(documents: int, relevant: int) -> None:
    found = tied(documents, relevant, [f"nDCG@{k}" for k in CUTOFFS])
    for column, k in enumerate(CUTOFFS):
        weights = [twin.log_weight(rank) for rank in range(1, k + 1)]
        ideal = sum(weights[: min(k, relevant)])
        share = Fraction(relevant, documents)
        squares = sum(w * w for w in weights)
        # sampling without replacement: variance of Σ w x with x exchangeable indicators
        covariance = -share * (1 - share) / (documents - 1)
        variance = share * (1 - share) * squares + covariance * (sum(weights) ** 2 - squares)
        assert_is(found, column, share * sum(weights) / ideal, variance / ideal**2, Fraction(0), Fraction(1))


def test_rounding_never_breaks_the_order_of_the_statistics() -> None:
    """Hundreds of long lists of odd sizes: lowest <= expected <= highest without any tolerance."""
    rng = np.random.default_rng(29)
    names = ["nDCG", "nDCG(gain='exp')", "RR", "AP", "AP(norm='min')", "P", "R", "F1", "Success", "RBP", "Judged"]
    measures = [*(f"{name}@{k}" for name in names for k in (1, 7, 50, 999)), "nDCG", "AP", "RR", "Rprec", "RBP"]
    sizes = rng.integers(1, 400, size=300)
    scores = [rng.integers(rng.integers(1, 40), size=size).astype(float) for size in sizes]
    grades = [rng.choice([np.nan, 0, 1, 2, 0.3], size=size) for size in sizes]
    found = evaluate_arrays(scores, grades, measures)
    assert (found.lowest <= found.expected).all()
    assert (found.expected <= found.highest).all()
    assert (found.sd[found.lowest == found.highest] == 0).all()
