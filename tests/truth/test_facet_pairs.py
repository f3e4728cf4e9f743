"""Walks down tie groups for one facet and for two, against all orders in exact fractions and against joint survival."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from trueval.evaluation.arrays import evaluate_arrays
from trueval.evaluation.evaluate import evaluate
from trueval.evaluation.scores import Scores
from trueval.judgments import Judgments
from trueval.measures import diversity
from trueval.measures.orders.facet_pairs import covariances
from trueval.measures.orders.survival import discounted_moments
from trueval.run import Run

CLOSE = 1e-12
MEASURES = ["alpha_nDCG", "alpha_nDCG(alpha=0.3)@20", "NRBP", "NRBP(beta=1, alpha=0.9)", "NRBP(alpha=1, beta=0.97)"]


def gain(places: tuple[int, ...], keep: Fraction, weights: list[Fraction]) -> Fraction:
    return sum((keep**k * weights[place] for k, place in enumerate(sorted(places))), Fraction(0))


@pytest.mark.parametrize(
    ("a", "b", "c", "others"), [(1, 1, 0, 0), (2, 1, 1, 1), (0, 0, 3, 2), (1, 2, 2, 1), (3, 0, 1, 2)]
)
@pytest.mark.parametrize("keep", [Fraction(1, 2), Fraction(0), Fraction(9, 10)])
def test_moments_over_all_orders_in_exact_fractions(a: int, b: int, c: int, others: int, keep: Fraction) -> None:
    tied = a + b + c + others
    weights = [Fraction(1, rank + 2) for rank in range(tied - 1)] + [Fraction(0)]
    pairs = []
    for order in itertools.permutations(range(tied)):
        places = [
            [order[d] for d in range(tied) if d in about]
            for about in ({*range(a), *range(a + b, a + b + c)}, {*range(a, a + b + c)})
        ]
        pairs.append(tuple(gain(tuple(part), keep, weights) for part in places))
    mean = [sum(part, Fraction(0)) / len(pairs) for part in zip(*pairs, strict=True)]
    covariance = sum((one * other for one, other in pairs), Fraction(0)) / len(pairs) - mean[0] * mean[1]
    variance = sum((one * one for one, _ in pairs), Fraction(0)) / len(pairs) - mean[0] ** 2
    table = np.array([[float(weight) for weight in weights]])
    found = discounted_moments(np.array([tied]), np.array([a + c]), float(keep), table)
    both = covariances(np.array([tied]), np.array([[a, b, c]]), float(keep), table)
    true = [float(mean[0]), float(variance), float(covariance)]
    np.testing.assert_allclose([found.mean[0], found.variance[0], both[0]], true, rtol=CLOSE, atol=1e-15)


def made(lists: int, facets: int) -> tuple[Run, Judgments]:
    """Lists of 60 to 300 documents in a few groups, some unjudged, others about some facets or none."""
    rng = np.random.default_rng(41)
    run: dict[str, dict[str, float]] = {}
    rows = []
    for query in range(lists):
        size = int(rng.integers(60, 300))
        run[f"q{query}"] = {f"d{i}": float(rng.integers(4)) for i in range(size)}
        for i in np.flatnonzero(rng.random(size) < 0.15).tolist():
            rows += [(f"q{query}", f"f{f}", f"d{i}", float(rng.random() < 0.4)) for f in range(facets)]
    frame = pl.DataFrame(rows, schema=["query_id", "facet", "doc_id", "grade"], orient="row")
    return Run.from_dict(run), Judgments.from_frame(frame, facets=True)


def assert_same(one: Scores, other: Scores) -> None:
    assert one.exact == other.exact
    for statistic in ("expected", "lowest", "highest", "tie_broken"):
        np.testing.assert_allclose(getattr(one, statistic), getattr(other, statistic), rtol=CLOSE, atol=CLOSE)
    np.testing.assert_allclose(one.sd**2, other.sd**2, rtol=CLOSE, atol=CLOSE)


@pytest.mark.parametrize("facets", [2, 4])
def test_walked_pairs_say_what_joint_survival_says(facets: int, monkeypatch: pytest.MonkeyPatch) -> None:
    run, judgments = made(8, facets)
    walked = evaluate(run, judgments, MEASURES)
    assert (walked.sd > 0).any()
    monkeypatch.setattr(diversity, "MOST_STATES", 0)
    assert_same(walked, evaluate(run, judgments, MEASURES))


def test_ranks_that_change_no_digit_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    run, judgments = made(8, 3)
    short = evaluate(run, judgments, MEASURES)
    monkeypatch.setattr(diversity, "NOTHING", 0.0)
    assert_same(short, evaluate(run, judgments, MEASURES))


def test_groups_taken_together_say_what_each_says_alone() -> None:
    """One facet, groups of many sizes: queries by themselves and all at once."""
    rng = np.random.default_rng(8)
    scores = [rng.integers(1 + i % 5, size=int(rng.integers(2, 150))).astype(float) for i in range(60)]
    grades = [rng.choice([np.nan, 0, 1], size=len(one), p=[0.7, 0.2, 0.1]) for one in scores]
    together = evaluate_arrays(scores, grades, MEASURES)
    for query, (score, grade) in enumerate(zip(scores, grades, strict=True)):
        alone = evaluate_arrays([score], [grade], MEASURES)
        for statistic in ("expected", "lowest", "highest", "sd"):
            found = getattr(together, statistic)[query]
            np.testing.assert_allclose(getattr(alone, statistic)[0], found, rtol=CLOSE, atol=CLOSE)


def test_a_deviation_for_long_groups_whose_last_ranks_weigh_nothing() -> None:
    """NRBP of 5,000 tied documents, two relevant: the weights halve, so only the first sixty ranks matter."""
    found = evaluate_arrays([[0.0] * 5000], [[1, 1, *[0] * 4998]], ["NRBP", "NRBP(beta=1)"])
    pair = 1 / (5000 * 4999 / 2)
    mean = sum(0.75 * pair * (0.5**a + 0.5 * 0.5**b) for a, b in itertools.combinations(range(60), 2))
    first = sum(0.75 * pair * 0.5**a * 4940 for a in range(60))
    squares = sum((0.75 * (0.5**a + 0.5 * 0.5**b)) ** 2 * pair for a, b in itertools.combinations(range(60), 2))
    squares += sum((0.75 * 0.5**a) ** 2 * pair * 4940 for a in range(60))
    assert found.expected[0, 0] == pytest.approx(mean + first, rel=1e-10)
    assert found.sd[0, 0] ** 2 == pytest.approx(squares - (mean + first) ** 2, rel=1e-10)
    assert np.isnan(found.sd[0, 1]) == (found.lowest[0, 1] != found.highest[0, 1])
