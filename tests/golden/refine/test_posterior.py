"""The posterior against a general optimizer, integrals and closed forms."""

import math
from itertools import product

import numpy as np
import pytest
from research.synthetic_pools import WORLDS, SimulatedJudge, draw_pool
from scipy import optimize, stats

from trueval.golden.refine.judge_orders import JudgeOrder, OrderBatch
from trueval.golden.refine.metropolis import sample
from trueval.golden.refine.noise_scale import ScorePrior, learn
from trueval.golden.refine.plackett_luce import terms
from trueval.golden.refine.posterior import Posterior, Prior
from trueval.golden.refine.posterior_mode import fit


def asked(seed: int, pool: int = 8, count: int = 30) -> OrderBatch:
    """Orders of four documents by scores with noise, contradictions among them."""
    rng = np.random.default_rng(seed)
    scores, orders = rng.standard_normal(pool), []
    for _ in range(count):
        batch = rng.permutation(pool)[:4]
        noisy = scores[batch] + 0.5 * rng.standard_normal(4)
        orders.append(JudgeOrder(tuple(map(int, batch[np.argsort(-noisy)])), tuple(map(int, batch))))
    return OrderBatch.of(orders, pool)


def log_posterior(scores: np.ndarray, orders: OrderBatch, prior: Prior) -> float:
    predictor = np.where(orders.present, scores[orders.items], 0.0)
    return float(terms(predictor, orders, prior.noise).value.sum() + prior.log_density(scores).sum())


@pytest.mark.parametrize("gross", [None, np.linspace(0.02, 0.4, 8)])
def test_the_mode_is_that_of_a_general_optimizer(gross: np.ndarray | None) -> None:
    orders, prior = asked(0), Prior(np.linspace(1, -1, 8), 1.2, gross=gross, wide=3.0)
    found = fit(orders, prior)
    best = optimize.minimize(lambda at: -log_posterior(at, orders, prior), prior.mean, method="BFGS", tol=1e-9)
    np.testing.assert_allclose(found.scores, best.x, atol=1e-4)
    assert log_posterior(found.scores, orders, prior) >= -best.fun - 1e-9


@pytest.mark.parametrize("gross", [None, np.linspace(0.02, 0.4, 8)])
def test_the_information_is_the_curvature(gross: np.ndarray | None) -> None:
    orders, prior = asked(1), Prior(np.zeros(8), 1.2, gross=gross, wide=3.0)
    found = fit(orders, prior)
    curvature, step = np.zeros((8, 8)), 1e-3
    for i, j in np.ndindex(8, 8):
        for up, down in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
            moved = found.scores.copy()
            moved[i] += up * step
            moved[j] += down * step
            curvature[i, j] -= up * down * log_posterior(moved, orders, prior) / (4 * step**2)
    np.testing.assert_allclose(curvature, found.information, atol=1e-4)


def test_the_evidence_is_near_the_integral() -> None:
    orders = OrderBatch.of([JudgeOrder((0, 1), (0, 1)), JudgeOrder((0, 1), (1, 0)), JudgeOrder((1, 0), (1, 0))], 2)
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
    found = fit(OrderBatch.of([], 3), prior)
    np.testing.assert_allclose(found.scores, [4, 0, -4], atol=1e-12)
    np.testing.assert_allclose(found.information, np.eye(3) / 0.49, atol=1e-12)
    assert abs(found.evidence) < 1e-9


def test_one_gross_error_moves_scores_less_than_without_the_mixture() -> None:
    """Ten orders say a above b; one says the opposite."""
    orders = OrderBatch.of([JudgeOrder((0, 1), (0, 1))] * 10 + [JudgeOrder((1, 0), (0, 1))], 2)
    gaps = [np.ptp(fit(orders, Prior(np.zeros(2), 3.0, noise)).scores) for noise in (0.0, 0.03, 0.2)]
    assert gaps[0] < gaps[1] < gaps[2]


def test_where_the_mixture_is_not_concave_the_fit_still_rises() -> None:
    prior = Prior(np.array([8.0, -8.0]), 1.0, 0.03)
    orders = OrderBatch.of([JudgeOrder((1, 0), (0, 1))], 2)
    found = fit(orders, prior)
    assert log_posterior(found.scores, orders, prior) >= log_posterior(prior.mean, orders, prior)
    assert np.linalg.eigvalsh(found.information).min() > 0


def test_membership_of_two_is_the_normal_probability() -> None:
    covariance = np.array([[1.0, 0.6], [0.6, 2.0]])
    draws = np.random.default_rng(0).multivariate_normal([0.5, 0.0], covariance, 40_000)
    found = Posterior(draws, np.zeros((40_000, 0)))
    exact = stats.norm.cdf(0.5 / math.sqrt(1 + 2 - 1.2))
    members = found.membership(1)
    assert abs(members[0] - exact) < 0.01
    assert math.isclose(members.sum(), 1.0)
    assert math.isclose(found.above()[0, 1], members[0])
    assert math.isclose(found.pair_variances()[0, 1], 1.8, rel_tol=0.05)


def test_a_slot_that_is_favored_is_found_and_taken_off() -> None:
    """Documents 0 and 1 are equal, and the first one shown always wins."""
    shown = [(0, 1), (1, 0)] * 10
    orders = OrderBatch.of([JudgeOrder(pair, pair) for pair in shown], 2)
    found = fit(orders, Prior(np.zeros(2), 1.0, biases=(1.0,)), orders.slot_values()[:, :, None])
    assert found.biases[0] < -1
    assert abs(found.scores[0] - found.scores[1]) < 1e-6
    # Of two that were only shown in one order, nobody can say whether slot or score made the first one win.
    alone = OrderBatch.of([JudgeOrder((0, 1), (0, 1))] * 5, 2)
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
        orders = OrderBatch.of(map(JudgeOrder, judge(batches), batches), 40)
        learned = learn(orders, pool.grades)
        found.append(learned.scale.per_grade)
        default = fit(orders, Prior.of_grades(pool.grades, *ScorePrior()))
        assert learned.mode.evidence > default.evidence
    assert found[0] > 1.5 * found[1]


def exact_moments(orders: OrderBatch, prior: Prior) -> tuple[np.ndarray, np.ndarray, float]:
    """Means and variances of two scores, and P(first above second), by a sum over a grid."""
    line = np.linspace(-16, 16, 801)
    first, second = np.meshgrid(line, line, indexing="ij")
    both = np.stack([first.ravel(), second.ravel()])
    logs = prior.log_density(both).sum(axis=0)
    for items in orders.items:
        one = OrderBatch(np.repeat(items[None], both.shape[1], axis=0), np.zeros((both.shape[1], 2), np.int64), 2)
        logs = logs + terms(both[items].T, one, prior.noise).value
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    means = both @ weights
    above = weights[both[0] > both[1]].sum() + weights[both[0] == both[1]].sum() / 2
    return means, (both - means[:, None]) ** 2 @ weights, float(above)


@pytest.mark.slow
@pytest.mark.parametrize("gross", [None, np.array([0.05, 0.3])])
def test_draws_are_those_of_the_posterior(gross: np.ndarray | None) -> None:
    """Four orders of five contradict the grades: with gross errors the posterior has two modes."""
    pairs = [(1, 0)] * 4 + [(0, 1)]
    orders = OrderBatch.of([JudgeOrder(pair, pair) for pair in pairs], 2)
    prior = Prior(np.array([3.0, -3.0]), 1.0, gross=gross, wide=3.5)
    means, variances, above = exact_moments(orders, prior)
    found = sample(orders, prior, fit(orders, prior), np.random.default_rng(0), draws=50_000, sweeps=50)
    np.testing.assert_allclose(found.scores, means, atol=0.06)
    np.testing.assert_allclose(found.sd**2, variances, rtol=0.05)
    assert found.above()[0, 1] == pytest.approx(above, abs=0.015)


def test_draws_of_what_favors_a_slot_are_those_of_the_posterior() -> None:
    """Two equal documents, of which the one that is shown first wins ten times of ten: the mean of β by a grid."""
    shown = [(0, 1), (1, 0)] * 5
    orders = OrderBatch.of([JudgeOrder(pair, pair) for pair in shown], 2)
    prior, covariates = Prior(np.zeros(2), 0.5, biases=(1.5,)), orders.slot_values()[:, :, None]
    line, gap = np.linspace(-8, 4, 601), np.linspace(-4, 4, 161)  # β, and the difference of the scores
    logs = -(line[:, None] ** 2) / 4.5 - gap**2 / 2
    for sign in (1, -1):  # the winner stands at -1/2, the loser at 1/2
        logs = logs + 5 * np.log(0.97 / (1 + np.exp(line[:, None] - sign * gap)) + 0.015)
    weights = np.exp(logs - logs.max())
    expected = (weights.sum(axis=1) @ line) / weights.sum()
    mode = fit(orders, prior, covariates)
    rng = np.random.default_rng(0)
    found = sample(orders, prior, mode, rng, draws=50_000, sweeps=50, covariates=covariates)
    assert found.bias_draws.mean() == pytest.approx(expected, abs=0.05)


def test_short_and_long_orders_are_drawn_by_the_same_likelihood() -> None:
    """The chains' own likelihood against `plackett_luce.terms`, with orders of two to five documents."""
    from trueval.golden.refine.metropolis import CHAINS, _Chains

    rng, pool = np.random.default_rng(0), 9
    batches = [tuple(map(int, rng.permutation(pool)[: 2 + number % 4])) for number in range(12)]
    orders = OrderBatch.of([JudgeOrder(batch, batch) for batch in batches], pool)
    prior = Prior(np.zeros(pool), 4.0, gross=np.full(pool, 0.1), wide=6.0)
    chains = _Chains(orders, prior, fit(orders, prior), None, rng)
    chains.begin()
    for by_prior in (False, True, False):
        chains.sweep(by_prior=by_prior)
    for chain in range(0, CHAINS, 50):
        predictor = np.where(orders.present, chains.scores[orders.items, chain], 0.0)
        np.testing.assert_allclose(chains._values[:, chain], terms(predictor, orders, prior.noise).value, atol=1e-9)


def test_a_grade_that_orders_contradict_is_found_to_be_wrong() -> None:
    """Grade 2 beats the four 4s three times: its score goes up to theirs, and the others stay where they are."""
    grades = np.array([4.0] * 5 + [2.0] * 5)
    batch = (5, 0, 1, 2, 3)
    orders = OrderBatch.of([JudgeOrder(batch, batch)] * 3, 10)
    prior = Prior.of_grades(grades, 4.0, 1.5, gross=np.full(10, 0.05))
    found = sample(orders, prior, fit(orders, prior), np.random.default_rng(1), draws=4000, sweeps=80)
    assert prior.wrong(found.draws.T).mean(axis=1)[5] > 0.9
    assert (prior.wrong(found.draws.T).mean(axis=1)[[4, 6, 7, 8, 9]] < 0.1).all()
    assert found.above()[5, 0] > 0.8


def test_the_share_of_gross_errors_is_learned_and_never_below_what_was_given() -> None:
    grades = np.repeat([4.0, 2.0], 20)
    right = np.random.default_rng(0)
    found = []
    for wrong in (0, 6):
        scores = 4 * (grades - 3) + 0.7 * right.standard_normal(40)
        scores[:wrong], scores[20 : 20 + wrong] = scores[20 : 20 + wrong].copy(), scores[:wrong].copy()
        batches = [tuple(map(int, right.permutation(40)[:5])) for _ in range(40)]
        orders = OrderBatch.of(
            [JudgeOrder(tuple(sorted(batch, key=lambda at: -scores[at])), batch) for batch in batches], 40
        )
        learned = learn(orders, grades, gross=np.full(40, 0.05))
        assert learned.prior.gross is not None
        found.append(float(learned.prior.gross.mean()))
    assert found[0] == pytest.approx(0.05)
    assert found[1] > 0.1
