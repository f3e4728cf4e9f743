"""The likelihood of orders against a naive twin, sums over all orders, differences, and choix."""

import math
from itertools import permutations

import numpy as np
import pytest

from trueval.golden.refine.judge_orders import JudgeOrder, OrderBatch
from trueval.golden.refine.plackett_luce import terms


def naive(order: tuple[int, ...], scores: np.ndarray, noise: float) -> float:
    """The log-likelihood of one order, stage by stage."""
    total = 0.0
    for stage in range(len(order) - 1):
        left = order[stage:]
        chosen = math.exp(scores[left[0]]) / sum(math.exp(scores[each]) for each in left)
        total += math.log((1 - noise) * chosen + noise / len(left))
    return total


def some_orders(rng: np.random.Generator, pool: int = 7) -> OrderBatch:
    """Orders of 2 to 5 documents."""
    orders = []
    for size in (2, 3, 4, 5, 5, 2):
        batch = tuple(map(int, rng.permutation(pool)[:size]))
        orders.append(JudgeOrder(batch, tuple(sorted(batch))))
    return OrderBatch.of(orders, pool)


def predictor(orders: OrderBatch, scores: np.ndarray) -> np.ndarray:
    return np.where(orders.present, scores[orders.items], 0.0)


@pytest.mark.parametrize("noise", [0.0, 0.03, 0.5])
def test_it_is_that_of_the_naive_twin(noise: float) -> None:
    rng = np.random.default_rng(1)
    orders, scores = some_orders(rng), 2 * rng.standard_normal(7)
    found = terms(predictor(orders, scores), orders, noise).value
    each = [tuple(row[row >= 0]) for row in orders.items]
    np.testing.assert_allclose(found, [naive(order, scores, noise) for order in each], rtol=1e-12)


@pytest.mark.parametrize("noise", [0.0, 0.03])
def test_all_orders_of_a_batch_have_probability_one_together(noise: float) -> None:
    orders = OrderBatch.of([JudgeOrder(order, (0, 1, 2, 3)) for order in permutations(range(4))], 4)
    found = terms(predictor(orders, np.array([3.0, -1.0, 0.5, 0.0])), orders, noise)
    assert math.isclose(np.exp(found.value).sum(), 1.0, rel_tol=1e-12)


@pytest.mark.parametrize("noise", [0.0, 0.03, 0.5])
def test_derivatives_are_those_of_differences(noise: float) -> None:
    rng = np.random.default_rng(2)
    orders = some_orders(rng)
    at = predictor(orders, 1.5 * rng.standard_normal(7))
    found, step = terms(at, orders, noise), 1e-5
    for place in range(at.shape[1]):
        moved = np.zeros(at.shape[1])
        moved[place] = step
        up, down = terms(at + moved, orders, noise), terms(at - moved, orders, noise)
        np.testing.assert_allclose(found.gradient[:, place], (up.value - down.value) / (2 * step), atol=1e-9)
        second = -(up.gradient - down.gradient) / (2 * step)
        np.testing.assert_allclose(found.information[:, :, place], second, atol=1e-9)


def test_the_safe_information_is_never_negative_where_the_exact_one_is() -> None:
    """An order against all scores is an accident more likely than not: there the mixture is not concave."""
    orders = OrderBatch.of([JudgeOrder((1, 0), (0, 1))], 2)
    found = terms(np.array([[-5.0, 5.0]]), orders, 0.03)
    assert np.linalg.eigvalsh(found.information[0]).min() < -1e-3
    assert np.linalg.eigvalsh(found.safe[0]).min() > -1e-15


def test_far_scores_stay_finite() -> None:
    orders = OrderBatch.of([JudgeOrder((0, 1, 2), (0, 1, 2))], 3)
    for noise in (0.0, 0.03):
        found = terms(np.array([[-2000.0, 0.0, 2000.0]]), orders, noise)
        assert all(np.isfinite(part).all() for part in found)


def test_choix_agrees() -> None:
    choix = pytest.importorskip("choix", reason="choix is not installed")
    from choix.opt import Top1Fcts

    rng = np.random.default_rng(3)
    orders, scores = some_orders(rng), rng.standard_normal(7)
    each = [tuple(map(int, row[row >= 0])) for row in orders.items]
    found = terms(predictor(orders, scores), orders, noise=0.0)
    assert math.isclose(found.value.sum(), choix.utils.log_likelihood_rankings(each, scores), rel_tol=1e-12)
    gradient, information = np.zeros(7), np.zeros((7, 7))
    for row, slope, curve in zip(orders.items, found.gradient, found.information, strict=True):
        there = np.flatnonzero(row >= 0)
        gradient[row[there]] += slope[there]
        information[np.ix_(row[there], row[there])] += curve[np.ix_(there, there)]
    theirs = Top1Fcts.from_rankings(each, penalty=0.0)
    np.testing.assert_allclose(gradient, -theirs.gradient(scores), atol=1e-12)
    np.testing.assert_allclose(information, theirs.hessian(scores), atol=1e-12)
