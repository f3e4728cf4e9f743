"""Posterior mode: the most probable scores given grades and orders, by Newton's method."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from trueval.golden.refine.judge_orders import OrderBatch
from trueval.golden.refine.plackett_luce import Terms, terms
from trueval.golden.refine.posterior import Prior
from trueval.standings.standings import Floats, sum_by

STEPS: Final = 100  # Newton steps; about five are needed
ENOUGH: Final = 1e-10  # minimum increase of the log posterior for a step to count
HALVINGS: Final = 30  # maximum number of halvings of a step


class Mode(NamedTuple):
    """A mode of the posterior of scores.

    Attributes:
        scores: [document] scores.
        biases: [covariate] effects.
        information: [parameter, parameter] negative second derivatives; scores, then biases.
        evidence: log probability of the orders under the prior, by Laplace's approximation.
    """

    scores: Floats
    biases: Floats
    information: Floats
    evidence: float


def fit(orders: OrderBatch, prior: Prior, covariates: Floats | None = None, start: Floats | None = None) -> Mode:
    """The posterior mode of the scores by Newton's method, and the information there.

    log P = Σ log-likelihood of the orders (`plackett_luce.terms`) + Σ log-density of the prior − Σβ²/2b². The mixtures
    make it non-concave: where the information is not positive definite, the step uses `Terms.safe` instead, which
    always is; a step that lowers log P is halved. So the mode is a local one, near `start`.

    Args:
        covariates: [order, rank, covariate] other influences on the judge, one per entry of `prior.biases`.
        start: [document and covariate] start of Newton's method; the prior mean by default.

    >>> from trueval.golden.refine.judge_orders import JudgeOrder
    >>> prior = Prior(np.zeros(2), spread=1.0, noise=0.0)
    >>> found = fit(OrderBatch.of([JudgeOrder((1, 0), (0, 1))], 2), prior)
    >>> found.scores.round(4).tolist()  # x where x = 1/(1 + exp(2x))
    [-0.3374, 0.3374]
    """
    at = np.concatenate([prior.mean, np.zeros(len(prior.biases))]) if start is None else start.astype(np.float64)
    found = _terms(at, orders, prior, covariates)
    for _ in range(STEPS):
        step = np.linalg.solve(_information(found, orders, covariates), found.gradient)
        rise = float(found.gradient @ step)
        for halving in range(HALVINGS):
            size = 0.5**halving
            new = _terms(at + size * step, orders, prior, covariates)
            if new.value >= found.value + 1e-4 * size * rise:
                break
        if new.value <= found.value:  # no step of any size raises it: only rounding error is left
            break
        at, risen, found = at + size * step, new.value - found.value, new
        if risen < ENOUGH:
            break
    return _mode(at, found, orders, prior, covariates)


class _Terms(NamedTuple):
    """Log posterior at some scores, its gradient, and the ingredients of its Hessian.

    Attributes:
        gradient: [parameter] first derivatives.
        prior: [parameter] negative second derivatives of the prior alone.
        safe: [parameter] the same without the negative term of its mixture.
    """

    value: float
    gradient: Floats
    orders: Terms
    prior: Floats
    safe: Floats


def _terms(at: Floats, orders: OrderBatch, prior: Prior, covariates: Floats | None) -> _Terms:
    pool = orders.pool
    predictor = np.where(orders.present, at[orders.items], 0.0)
    if covariates is not None:
        predictor = predictor + covariates @ at[pool:]
    found = terms(predictor, orders, prior.noise)
    precisions = 1 / np.square(prior.biases)
    wrong, scores = prior.wrong(at[:pool]), at[:pool]
    by_grade, apart = (scores - prior.mean) / prior.spread**2, scores / prior.wide**2
    value = found.value.sum() + prior.log_density(scores).sum() - 0.5 * (precisions * at[pool:] ** 2).sum()
    value += 0.5 * np.log(precisions / (2 * np.pi)).sum()
    pull = np.concatenate([(1 - wrong) * by_grade + wrong * apart, precisions * at[pool:]])
    safe = np.concatenate([(1 - wrong) / prior.spread**2 + wrong / prior.wide**2, precisions])
    mixed = np.concatenate([wrong * (1 - wrong) * (by_grade - apart) ** 2, np.zeros(len(precisions))])
    return _Terms(float(value), _gradient(found, orders, covariates) - pull, found, safe - mixed, safe)


def _gradient(found: Terms, orders: OrderBatch, covariates: Floats | None) -> Floats:
    scores = sum_by(orders.items[orders.present], found.gradient[orders.present], orders.pool)
    if covariates is None:
        return scores
    both: Floats = np.concatenate([scores, np.einsum("op,opc->c", found.gradient, covariates)])
    return both


def _information(found: _Terms, orders: OrderBatch, covariates: Floats | None) -> Floats:
    """Negative Hessian; the damped form where the exact one is not positive definite."""
    exact = _sum_information(found.orders.information, orders, covariates) + np.diag(found.prior)
    try:
        np.linalg.cholesky(exact)
    except np.linalg.LinAlgError:
        return _sum_information(found.orders.safe, orders, covariates) + np.diag(found.safe)
    return exact


def _sum_information(information: Floats, orders: OrderBatch, covariates: Floats | None) -> Floats:
    """[parameter, parameter] information summed over all orders."""
    pool = orders.pool
    items = np.where(orders.present, orders.items, 0)  # padding carries no information
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


def _mode(at: Floats, found: _Terms, orders: OrderBatch, prior: Prior, covariates: Floats | None) -> Mode:
    information, pool = _information(found, orders, covariates), orders.pool
    # ∫exp(log P) ≈ exp(log P at the mode) √(2π)^d / √|information|. Documents in no order are left out: the integral
    # over their score is 1 for any prior, and the mode of a mixture would give less.
    new = np.flatnonzero(orders.exposures() == 0)
    value = found.value - float(prior.of(new).log_density(at[new]).sum())
    roots = np.log(np.linalg.cholesky(information).diagonal())
    roots[new] = 0.5 * np.log(2 * np.pi)
    return Mode(at[:pool], at[pool:], information, value + float((0.5 * np.log(2 * np.pi) - roots).sum()))
