"""Posterior: what grades and orders together say of the scores of documents, and of who belongs to the best."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from trueval.golden.orders import Orders
from trueval.golden.plackett_luce import NOISE, Terms, terms
from trueval.standings.standings import Floats, Ints, sum_by

STEPS: Final = 100  # of Newton; it takes about five
ENOUGH: Final = 1e-10  # by how much a step must still raise the logarithm of the posterior
HALVINGS: Final = 30  # of a step that goes too far


@dataclass(frozen=True, eq=False)
class Prior:
    """What is believed before any order is seen: s ~ N(mean, spread²), β ~ N(0, bias²).

    Attributes:
        mean: [document] scores by grades alone: κ(grade − mean grade).
        spread: τ, standard deviation of a score around it.
        noise: ε, share of stages that the judge decides at random.
        biases: [covariate] standard deviations of what moves the judge beside the score.
    """

    mean: Floats
    spread: float
    noise: float = NOISE
    biases: tuple[float, ...] = ()

    @classmethod
    def of_grades(
        cls, grades: Floats, per_grade: float, spread: float, noise: float = NOISE, biases: tuple[float, ...] = ()
    ) -> Prior:
        """The prior of grades.

        Args:
            grades: [document].
            per_grade: κ, by how much one grade moves a score.
            spread: τ.
            noise: ε.
            biases: standard deviations of the covariates.

        >>> Prior.of_grades(np.array([5.0, 3.0]), per_grade=2.0, spread=1.0).mean.tolist()
        [2.0, -2.0]
        """
        return cls(per_grade * (grades - grades.mean()), spread, noise, biases)


@dataclass(frozen=True, eq=False)
class Posterior:
    """Scores as the normal distribution at the mode of their posterior.

    Attributes:
        scores: [document] the mode.
        covariance: [document, document] of the scores.
        biases: [covariate] the mode of each.
        bias_sd: [covariate] its standard deviation.
        evidence: logarithm of the probability of the orders under the prior, by Laplace's approximation.
    """

    scores: Floats
    covariance: Floats
    biases: Floats
    bias_sd: Floats
    evidence: float

    def ranking(self) -> Ints:
        """[rank] documents, the highest score first; equal scores in the order of the pool."""
        return np.argsort(-self.scores, kind="stable")

    def pair_variances(self) -> Floats:
        """[document, document] variance of the difference of two scores."""
        own = self.covariance.diagonal()
        found: Floats = np.maximum(own[:, None] + own - 2 * self.covariance, 0.0)
        return found

    def above(self) -> Floats:
        """[document, document] probability that the first has the higher score; 1/2 of a document and itself."""
        from scipy.special import ndtr

        spread = np.sqrt(np.maximum(self.pair_variances(), np.finfo(np.float64).tiny))
        found: Floats = ndtr((self.scores[:, None] - self.scores) / spread)
        return found

    def draws(self, count: int, rng: np.random.Generator) -> Floats:
        """[draw, document] scores, drawn in pairs that mirror each other at the mode.

        Args:
            count: how many, even.
            rng: where the randomness comes from.
        """
        half = rng.standard_normal((count // 2, len(self.scores))) @ _root(self.covariance).T
        return np.concatenate([self.scores + half, self.scores - half])


def fit(orders: Orders, prior: Prior, covariates: Floats | None = None, start: Floats | None = None) -> Posterior:
    """Scores at the mode of their posterior, by Newton's method, and their covariance, the inverse of the information.

    log P = Σ log-likelihood of the orders (`plackett_luce.terms`) − Σ(s−mean)²/2τ² − Σβ²/2b². The mixture
    makes it not concave: where the information is not positive, the step and the covariance take `Terms.safe` in its
    place, which always is; a step that lowers log P is halved. So the mode is a local one, near `start`.

    Args:
        orders: what the judge said.
        prior: of the scores.
        covariates: [order, place, covariate] what else moves the judge, one for each of `prior.biases`.
        start: [document and covariate] where Newton's method begins; the prior's mean by default.

    >>> from trueval.golden.orders import Order
    >>> prior = Prior(np.zeros(2), spread=1.0, noise=0.0)
    >>> found = fit(Orders.of([Order((1, 0), (0, 1))], 2), prior)
    >>> found.scores.round(4).tolist()  # x where x = 1/(1 + exp(2x))
    [-0.3374, 0.3374]
    """
    weights, center = _prior_terms(prior)
    at = center.copy() if start is None else start.astype(np.float64)
    value, found = _objective(at, orders, prior, covariates, weights, center)
    for _ in range(STEPS):
        gradient = _collected_gradient(found, orders, covariates) - weights * (at - center)
        step = np.linalg.solve(_information(found, orders, covariates, weights), gradient)
        rise = float(gradient @ step)
        for halving in range(HALVINGS):
            size = 0.5**halving
            new, new_terms = _objective(at + size * step, orders, prior, covariates, weights, center)
            if new >= value + 1e-4 * size * rise:
                break
        if new <= value:  # no step of any size raises it: rounding is all that is left
            break
        at, risen, value, found = at + size * step, new - value, new, new_terms
        if risen < ENOUGH:
            break
    return _posterior(at, value, _information(found, orders, covariates, weights), len(prior.mean), weights)


def _prior_terms(prior: Prior) -> tuple[Floats, Floats]:
    """Precision and mean of every parameter: scores, then covariates."""
    spreads = np.concatenate([np.full(len(prior.mean), prior.spread), prior.biases])
    return 1 / spreads**2, np.concatenate([prior.mean, np.zeros(len(prior.biases))])


def _objective(
    at: Floats, orders: Orders, prior: Prior, covariates: Floats | None, weights: Floats, center: Floats
) -> tuple[float, Terms]:
    """The logarithm of the posterior, but for a constant, and the terms of the likelihood."""
    predictor = np.where(orders.present, at[orders.items], 0.0)
    if covariates is not None:
        predictor = predictor + covariates @ at[orders.pool :]
    found = terms(predictor, orders, prior.noise)
    return float(found.value.sum() - 0.5 * (weights * (at - center) ** 2).sum()), found


def _collected_gradient(found: Terms, orders: Orders, covariates: Floats | None) -> Floats:
    scores = sum_by(orders.items[orders.present], found.gradient[orders.present], orders.pool)
    if covariates is None:
        return scores
    both: Floats = np.concatenate([scores, np.einsum("op,opc->c", found.gradient, covariates)])
    return both


def _information(found: Terms, orders: Orders, covariates: Floats | None, weights: Floats) -> Floats:
    """Second derivatives with the sign changed; of the safe kind where the exact ones are not positive."""
    exact = _collected(found.information, orders, covariates) + np.diag(weights)
    try:
        np.linalg.cholesky(exact)
    except np.linalg.LinAlgError:
        return _collected(found.safe, orders, covariates) + np.diag(weights)
    return exact


def _collected(information: Floats, orders: Orders, covariates: Floats | None) -> Floats:
    """[parameter, parameter] what all orders say."""
    pool = orders.pool
    items = np.where(orders.present, orders.items, 0)  # what is absent has no information: it adds nothing to the first
    places = items[:, :, None] * pool + items[:, None, :]
    scores = sum_by(places.ravel(), information.ravel(), pool * pool).reshape(pool, pool)
    if covariates is None:
        return scores
    size = pool + covariates.shape[2]
    whole = np.zeros((size, size))
    whole[:pool, :pool] = scores
    partly = np.einsum("opq,oqc->opc", information, covariates)
    np.add.at(whole[:pool, pool:], items, partly)
    whole[pool:, :pool] = whole[:pool, pool:].T
    whole[pool:, pool:] = np.einsum("opc,opd->cd", covariates, partly)
    return whole


def _posterior(at: Floats, value: float, information: Floats, pool: int, weights: Floats) -> Posterior:
    root = np.linalg.cholesky(information)
    inverse = np.linalg.inv(root)
    covariance = inverse.T @ inverse
    # ∫exp(log P) ≈ exp(log P at the mode) √(2π)^d / √|information|, and the prior's own constant is √(2π)^d Π spread.
    evidence = value - float(np.log(root.diagonal()).sum()) + 0.5 * float(np.log(weights).sum())
    sd = np.sqrt(covariance.diagonal()[pool:])
    return Posterior(at[:pool], covariance[:pool, :pool], at[pool:], sd, evidence)


def membership(posterior: Posterior, top: int, draws: int, rng: np.random.Generator) -> Floats:
    """P_i: the share of draws of the scores in which each document is one of the best.

    Args:
        posterior: of the scores.
        top: how many are the best.
        draws: how many, even.
        rng: where the randomness comes from.

    Returns:
        [document] shares, whose sum is `top`, or the number of documents where there are fewer.

    >>> sure = Posterior(np.array([0.0, 9.0, 5.0]), np.eye(3) * 1e-6, np.zeros(0), np.zeros(0), 0.0)
    >>> membership(sure, 2, 100, np.random.default_rng(0)).tolist()
    [0.0, 1.0, 1.0]
    """
    count = len(posterior.scores)
    if top >= count:
        return np.ones(count)
    best = np.argpartition(-posterior.draws(draws, rng), top - 1, axis=1)[:, :top]
    return np.bincount(best.ravel(), minlength=count) / draws


def _root(covariance: Floats) -> Floats:
    """A matrix whose square is the covariance."""
    least = np.finfo(np.float64).eps * max(float(covariance.diagonal().max()), math.ulp(1.0))
    root = np.linalg.cholesky(covariance + least * np.eye(len(covariance)))
    return np.asarray(root, np.float64)
