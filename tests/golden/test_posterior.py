"""The posterior against a general optimizer, integrals and closed forms."""

import math
from itertools import product

import numpy as np
from scipy import optimize, stats

from trueval.golden.orders import Order, Orders
from trueval.golden.plackett_luce import terms
from trueval.golden.posterior import Posterior, Prior, fit, membership
from trueval.golden.scale import Scale, learn
from trueval.golden.worlds import WORLDS, SimulatedJudge, draw_pool


def asked(seed: int, pool: int = 8, count: int = 30) -> Orders:
    """Orders of four documents by scores with noise, contradictions among them."""
    rng = np.random.default_rng(seed)
    scores, orders = rng.standard_normal(pool), []
    for _ in range(count):
        batch = rng.permutation(pool)[:4]
        noisy = scores[batch] + 0.5 * rng.standard_normal(4)
        orders.append(Order(tuple(map(int, batch[np.argsort(-noisy)])), tuple(map(int, batch))))
    return Orders.of(orders, pool)


def log_posterior(scores: np.ndarray, orders: Orders, prior: Prior) -> float:
    predictor = np.where(orders.present, scores[orders.items], 0.0)
    gone = ((scores - prior.mean) ** 2).sum() / (2 * prior.spread**2)
    return float(terms(predictor, orders, prior.noise).value.sum() - gone)


def test_the_mode_is_that_of_a_general_optimizer() -> None:
    orders, prior = asked(0), Prior(np.linspace(1, -1, 8), 1.2)
    found = fit(orders, prior)
    best = optimize.minimize(lambda at: -log_posterior(at, orders, prior), prior.mean, method="BFGS", tol=1e-9)
    np.testing.assert_allclose(found.scores, best.x, atol=1e-4)
    assert log_posterior(found.scores, orders, prior) >= -best.fun - 1e-9


def test_the_covariance_is_the_inverse_of_the_curvature() -> None:
    orders, prior = asked(1), Prior(np.zeros(8), 1.2)
    found = fit(orders, prior)
    curvature, step = np.zeros((8, 8)), 1e-3
    for i, j in np.ndindex(8, 8):
        for up, down in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
            moved = found.scores.copy()
            moved[i] += up * step
            moved[j] += down * step
            curvature[i, j] -= up * down * log_posterior(moved, orders, prior) / (4 * step**2)
    np.testing.assert_allclose(np.linalg.inv(curvature), found.covariance, atol=1e-4)


def test_the_evidence_is_near_the_integral() -> None:
    orders = Orders.of([Order((0, 1), (0, 1)), Order((0, 1), (1, 0)), Order((1, 0), (1, 0))], 2)
    prior = Prior(np.array([0.5, -0.5]), 0.4)
    nodes, weights = np.polynomial.hermite_e.hermegauss(20)  # of exp(-x²/2)
    exact = 0.0
    for (one, first), (two, second) in product(zip(weights, nodes, strict=True), repeat=2):
        scores = prior.mean + prior.spread * np.array([first, second])
        likelihood = float(terms(scores[orders.items], orders, prior.noise).value.sum())
        exact += one * two * math.exp(likelihood) / (2 * math.pi)
    assert math.isclose(fit(orders, prior).evidence, math.log(exact), abs_tol=0.005)


def test_without_orders_it_is_the_prior() -> None:
    prior = Prior.of_grades(np.array([5.0, 3.0, 1.0]), 2.0, 0.7)
    found = fit(Orders.of([], 3), prior)
    np.testing.assert_allclose(found.scores, [4, 0, -4], atol=1e-12)
    np.testing.assert_allclose(found.covariance, 0.49 * np.eye(3), atol=1e-12)
    assert abs(found.evidence) < 1e-9


def test_one_gross_error_moves_scores_less_than_without_the_mixture() -> None:
    """Ten orders say a above b; one says the opposite."""
    orders = Orders.of([Order((0, 1), (0, 1))] * 10 + [Order((1, 0), (0, 1))], 2)
    gaps = [np.ptp(fit(orders, Prior(np.zeros(2), 3.0, noise)).scores) for noise in (0.0, 0.03, 0.2)]
    assert gaps[0] < gaps[1] < gaps[2]


def test_where_the_mixture_is_not_concave_the_fit_still_rises() -> None:
    prior = Prior(np.array([8.0, -8.0]), 1.0, 0.03)
    orders = Orders.of([Order((1, 0), (0, 1))], 2)
    found = fit(orders, prior)
    assert log_posterior(found.scores, orders, prior) >= log_posterior(prior.mean, orders, prior)
    assert np.linalg.eigvalsh(found.covariance).min() > 0


def test_membership_of_two_is_the_normal_probability() -> None:
    covariance = np.array([[1.0, 0.6], [0.6, 2.0]])
    found = Posterior(np.array([0.5, 0.0]), covariance, np.zeros(0), np.zeros(0), 0.0)
    exact = stats.norm.cdf(0.5 / math.sqrt(1 + 2 - 1.2))
    draws = membership(found, 1, 40_000, np.random.default_rng(0))
    assert abs(draws[0] - exact) < 0.01
    assert math.isclose(draws.sum(), 1.0)
    assert math.isclose(found.above()[0, 1], exact, rel_tol=1e-9)
    np.testing.assert_allclose(np.cov(found.draws(40_000, np.random.default_rng(1)).T), covariance, atol=0.05)


def test_a_slot_that_is_favored_is_found_and_taken_off() -> None:
    """Documents 0 and 1 are equal, and the first one shown always wins."""
    shown = [(0, 1), (1, 0)] * 10
    orders = Orders.of([Order(pair, pair) for pair in shown], 2)
    found = fit(orders, Prior(np.zeros(2), 1.0, biases=(1.0,)), orders.slot_values()[:, :, None])
    assert found.biases[0] < -1
    assert abs(found.scores[0] - found.scores[1]) < 1e-6
    # Of two that were only shown in one order, nobody can say whether slot or score made the first one win.
    alone = Orders.of([Order((0, 1), (0, 1))] * 5, 2)
    blind = fit(alone, Prior(np.zeros(2), 1.0))
    seeing = fit(alone, Prior(np.zeros(2), 1.0, biases=(1.0,)), alone.slot_values()[:, :, None])
    assert 0 < np.ptp(seeing.scores) < np.ptp(blind.scores)


def test_derivatives_by_covariates_lead_to_the_mode() -> None:
    orders = asked(2)
    covariates = np.random.default_rng(3).standard_normal((*orders.items.shape, 2))
    prior = Prior(np.zeros(8), 1.0, biases=(0.5, 2.0))

    def value(at: np.ndarray) -> float:
        predictor = at[:8][orders.items] + covariates @ at[8:]
        gone = (at[:8] ** 2).sum() + (at[8] / 0.5) ** 2 + (at[9] / 2.0) ** 2
        return -float(terms(predictor, orders, prior.noise).value.sum() - gone / 2)

    best = optimize.minimize(value, np.zeros(10), method="BFGS", tol=1e-9)
    found = fit(orders, prior, covariates)
    np.testing.assert_allclose(np.concatenate([found.scores, found.biases]), best.x, atol=1e-4)


def test_the_scale_is_learned_from_how_often_the_judge_contradicts_itself() -> None:
    found = []
    for name in ("usual", "noisy"):
        world, rng = WORLDS[name], np.random.default_rng(4)
        pool = draw_pool(world, rng)
        judge = SimulatedJudge(pool, world, rng)
        batches = [tuple(map(int, rng.permutation(40)[:5])) for _ in range(60)]
        orders = Orders.of(map(Order, judge(batches), batches), 40)
        learned = learn(orders, pool.grades)
        found.append(learned.scale.per_grade)
        default = fit(orders, Prior.of_grades(pool.grades, *Scale()))
        assert learned.posterior.evidence > default.evidence
    assert found[0] > 1.5 * found[1]
