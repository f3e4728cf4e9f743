"""Chances of the next labels: what their formulas say, and that no other chances of the same number do better."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from trueval.comparison.labels.label_choice import (
    FLOOR,
    batch_chances,
    batch_precision,
    grade_posterior,
    passage_sizes,
    spread_of_gains,
)


@pytest.mark.parametrize("expected", [0.5, 3.0, 7.5, 19.0])
def test_chances_sum_to_the_size_and_make_the_variance_least(expected: float) -> None:
    rng = np.random.default_rng(1)
    sizes = rng.exponential(size=30) ** 2
    sizes[::3] = 0
    chances = batch_chances(sizes, expected)
    assert chances.sum() == pytest.approx(expected, rel=1e-12)
    assert (chances <= 1).all()
    assert ((chances > 0) == (sizes > 0)).all()
    some = np.flatnonzero((chances > 0) & (chances < 1))
    assert np.ptp(chances[some] / sizes[some]) < 1e-12

    def variance(of: np.ndarray) -> float:
        there = sizes > 0
        return float(((1 - of[there]) / of[there] * sizes[there] ** 2).sum())

    for _ in range(200):  # shift a little chance from one passage to another
        one, other = rng.choice(np.flatnonzero(sizes > 0), 2, replace=False)
        by = min(1e-3, 1 - chances[one], chances[other] / 2)
        moved = chances.copy()
        moved[one] += by
        moved[other] -= by
        assert variance(moved) >= variance(chances) * (1 - 1e-12)


def test_all_that_weigh_are_drawn_where_there_are_too_few() -> None:
    assert batch_chances(np.array([0.2, 0.0, 9.0]), 5).tolist() == [1, 0, 1]


def test_the_posterior_counts_labels_beside_its_prior_and_spreads_by_hand() -> None:
    none = np.zeros(0, dtype=np.int64)
    prior = grade_posterior(none, none, [0, 2, 0], 3)
    assert prior[0].tolist() == pytest.approx([1 / 1.56, 0.4 / 1.56, 0.16 / 1.56])
    assert prior[1].tolist() == pytest.approx(prior[0][::-1].tolist())
    assert prior[2].tolist() == prior[0].tolist()  # no grade of the judge: as its lowest
    told = grade_posterior(np.array([0, 0, 0, 0]), np.array([2, 2, 2, 1]), [0, 2, 0], 3)
    assert told[0].tolist() == pytest.approx([(4 / 1.56) / 8, (1.6 / 1.56 + 1) / 8, (0.64 / 1.56 + 3) / 8])
    assert told[2].tolist() == prior[2].tolist()
    assert spread_of_gains(np.array([[0.25, 0.5, 0.25]]), np.array([0.0, 0.0, 1.0])).tolist() == [
        pytest.approx(np.sqrt(3) / 4)
    ]


def test_sizes_follow_open_pairs_and_leave_every_passage_that_weighs_a_chance() -> None:
    worth = np.array([[1.0, 0.5, 0.0, 0.0], [1.0, 0.0, 0.5, 0.0], [0.0, 0.0, 0.0, 0.0]])
    spread = np.array([1.0, 1.0, 2.0, 1.0])
    every = np.sqrt((worth**2).sum(axis=0))
    sizes = passage_sizes(worth, [(0, 1)], spread)
    assert sizes.sum() == pytest.approx(1)
    assert sizes[0] == pytest.approx(FLOOR * every[0] / every.sum())  # cancels in the difference
    assert sizes[2] - sizes[1] == pytest.approx((1 - FLOOR) * (1.0 - 0.5) / 1.5)
    assert sizes[3] == 0
    both = passage_sizes(worth, [(0, 1), (0, 2)], spread)
    assert both[0] > sizes[0]
    assert passage_sizes(worth, [], spread).sum() == pytest.approx(FLOOR)


def test_with_equal_sizes_batches_have_the_precision_of_the_lure_weights() -> None:
    number, batches = 20, [3, 1, 5, 2]
    left = [number - sum(batches[:t]) for t in range(len(batches) + 1)]
    lure = [Fraction(1, after) - Fraction(1, before) for before, after in itertools.pairwise(left)]
    found = batch_precision(np.ones(number), np.ones(number), batches)
    assert found.tolist() == pytest.approx([float(each / lure[0]) for each in lure], rel=1e-12)


def test_the_precision_of_a_batch_that_takes_all_is_finite() -> None:
    found = batch_precision(np.array([1.0, 2.0]), np.ones(2), [1.0, 5.0])
    assert np.isfinite(found).all()
    assert found[1] > 1e6
    assert batch_precision(np.ones(2), np.ones(2), [2.0, 1.0]).tolist() == [1, 1]
