"""Metropolis-Hastings: samples of scores from the posterior given grades and orders, of any shape.

Many chains run in parallel, one document after another: half of the sweeps propose a score near the current one, half a
draw from the prior, so that a chain can move between "the grade is right" and "the grade is grossly wrong". Documents
that share no order are updated at the same time. FORMULAS §7; Metropolis et al. 1953; Hastings 1970.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from trueval.golden.refine.judge_orders import OrderBatch
from trueval.golden.refine.posterior import Posterior, Prior
from trueval.golden.refine.posterior_mode import Mode
from trueval.standings.standings import Bools, Floats, Ints

CHAINS: Final = 250
APART: Final = 2  # sweeps between two stored draws of a chain
STEP: Final = 2.4  # width of a proposal, in conditional standard deviations of the score (Gelman, Roberts, Gilks 1996)
MOST: Final = 700.0  # limit of a score, so that its exponential is finite


class _Rows(NamedTuple):
    """Orders in the layout of the likelihood, rank by rank.

    Attributes:
        rows: [row] index among all orders.
        items: [rank, row] documents, best first; -1 for padding.
        by_score: [rank, row, 1] 1−ε where the judge makes a choice at that rank; else 0.
        at_random: [rank, row, 1] ε over the number of remaining documents; 1 where no choice is made.
    """

    rows: Ints
    items: Ints
    by_score: Floats
    at_random: Floats

    def some(self, rows: Ints) -> _Rows:
        """A subset of the orders."""
        return _Rows(self.rows[rows], self.items[:, rows], self.by_score[:, rows], self.at_random[:, rows])


class _Group(NamedTuple):
    """Documents no two of which share an order.

    Attributes:
        orders: indices of the orders that contain one of them.
        within: [document, order] 1 if the order contains it, else 0.
    """

    documents: Ints
    prior: Prior
    orders: _Rows
    within: Floats


def sample(
    orders: OrderBatch,
    prior: Prior,
    mode: Mode,
    rng: np.random.Generator,
    *,
    draws: int,
    sweeps: int,
    covariates: Floats | None = None,
    start: Posterior | None = None,
) -> Posterior:
    """Draw scores from their posterior.

    Args:
        mode: posterior mode under this prior, for the width of proposals.
        draws: number of stored draws, `CHAINS` at a time.
        sweeps: number of sweeps before the first stored draw.
        covariates: [order, rank, covariate] other influences on the judge, one per entry of `prior.biases`.
        start: draws whose last ones start the chains; draws from the prior by default.
    """
    pool = orders.pool
    if not len(orders):
        biases = np.array(prior.biases)[:, None] * rng.standard_normal((len(prior.biases), draws))
        return Posterior(prior.draws(draws, rng).T, biases.T)
    chains = _Chains(orders, prior, mode, covariates, rng)
    if start is not None:
        chains.scores, chains.biases = start.draws[-CHAINS:].T.copy(), start.bias_draws[-CHAINS:].T.copy()
    chains.begin()
    kept = []
    for sweep in range(sweeps + APART * (-(-draws // CHAINS) - 1)):
        chains.sweep(by_prior=sweep % 2 == 1)
        if sweep + 1 >= sweeps and (sweep + 1 - sweeps) % APART == 0:
            kept.append(np.concatenate([chains.scores, chains.biases]).T)
    found = np.concatenate(kept)
    return Posterior(found[:, :pool], found[:, pool:])


class _Chains:
    """Parallel chains.

    Attributes:
        scores: [document, chain] scores.
        biases: [covariate, chain] effects.
    """

    def __init__(
        self, orders: OrderBatch, prior: Prior, mode: Mode, covariates: Floats | None, rng: np.random.Generator
    ) -> None:
        self.prior, self.covariates, self.rng = prior, covariates, rng
        self.scores = prior.draws(CHAINS, rng)
        self.biases = np.zeros((len(prior.biases), CHAINS))
        self._widths = STEP / np.sqrt(mode.information.diagonal())
        self._orders = _rows(orders, prior.noise)
        self._groups = _groups(orders, prior, self._orders)
        self._new = np.flatnonzero(orders.exposures() == 0)
        self._prior_of_new = prior.of(self._new)

    def begin(self) -> None:
        """Start from the given scores and biases."""
        absent = np.zeros((1, CHAINS))
        self._exponentials = np.concatenate([np.exp(np.clip(self.scores, -MOST, MOST)), absent])
        self._factors = self._bias_factors(self.biases)
        self._values = self._likelihood(self._orders, self._factors)

    def _bias_factors(self, biases: Floats) -> Floats | None:
        """[rank, order, chain] factor of the covariates on the exponentials."""
        return None if self.covariates is None else np.exp(self.covariates @ biases).transpose(1, 0, 2)

    def _likelihood(self, orders: _Rows, factors: Floats | None) -> Floats:
        """[order, chain] log-likelihood, as in `plackett_luce.terms`."""
        left = np.full((len(orders.rows), CHAINS), np.finfo(np.float64).tiny)
        chance = np.ones_like(left)
        for place in range(len(orders.items) - 1, -1, -1):
            here = self._exponentials[orders.items[place]]
            if factors is not None:
                here *= factors[place, orders.rows]
            left += here
            here /= left
            here *= orders.by_score[place]
            here += orders.at_random[place]
            chance *= here
        found: Floats = np.log(np.maximum(chance, np.finfo(np.float64).tiny))
        return found

    def sweep(self, *, by_prior: bool) -> None:
        """Propose one move of every score.

        Args:
            by_prior: whether to propose draws from the prior rather than moves from the current score.
        """
        for group in self._groups:
            self._move(group, by_prior)
        self.scores[self._new] = self._prior_of_new.draws(CHAINS, self.rng)  # they have no earlier samples
        for covariate in range(len(self.biases)):
            self._move_bias(covariate)

    def _move(self, group: _Group, by_prior: bool) -> None:
        at, rows = group.documents, group.orders.rows
        old, exponentials, before = self.scores[at], self._exponentials[at], self._values[rows]
        if by_prior:
            new = group.prior.draws(CHAINS, self.rng)
        else:
            new = old + self._widths[at, None] * self.rng.standard_normal(old.shape)
        self._exponentials[at] = np.exp(np.clip(new, -MOST, MOST))
        values = self._likelihood(group.orders, self._factors)
        gain = group.within @ (values - before)
        if not by_prior:  # otherwise prior and proposal densities are equal and cancel
            gain += group.prior.log_density(new) - group.prior.log_density(old)
        taken = self._accept(gain)
        self.scores[at] = np.where(taken, new, old)
        np.copyto(exponentials, self._exponentials[at], where=taken)
        self._exponentials[at] = exponentials
        np.copyto(before, values, where=group.within.T @ taken > 0)
        self._values[rows] = before

    def _move_bias(self, covariate: int) -> None:
        """Propose one move of the effect of a covariate."""
        width, sd = self._widths[len(self.scores) + covariate], self.prior.biases[covariate]
        new = self.biases.copy()
        new[covariate] += width * self.rng.standard_normal(CHAINS)
        values = self._likelihood(self._orders, self._bias_factors(new))
        gain = (self.biases[covariate] ** 2 - new[covariate] ** 2) / (2 * sd**2)
        taken = self._accept(gain + (values - self._values).sum(axis=0))
        self.biases = np.where(taken, new, self.biases)
        self._values = np.where(taken, values, self._values)
        self._factors = self._bias_factors(self.biases)

    def _accept(self, gain: Floats) -> Bools:
        """Accept each proposal with probability exp(gain)."""
        return np.asarray(-self.rng.standard_exponential(gain.shape) < gain)


def _rows(orders: OrderBatch, noise: float) -> _Rows:
    left = orders.sizes - np.arange(orders.items.shape[1])[:, None]  # [rank, order] remaining documents
    chosen = left > 1  # the last one is no choice
    by_score, at_random = np.where(chosen, 1 - noise, 0.0), np.where(chosen, noise / np.maximum(left, 1), 1.0)
    return _Rows(np.arange(len(orders)), orders.items.T, by_score[:, :, None], at_random[:, :, None])


def _groups(orders: OrderBatch, prior: Prior, rows: _Rows) -> list[_Group]:
    """Group the documents in some order greedily, those in most orders first; no two of a group share an order."""
    within = np.zeros((orders.pool, len(orders)), bool)
    order, place = np.nonzero(orders.present)
    within[orders.items[order, place], order] = True
    groups: list[list[int]] = []
    for document in np.argsort(-within.sum(axis=1), kind="stable").tolist():
        if not within[document].any():
            break
        found = next((group for group in groups if not (within[group] & within[document]).any()), None)
        if found is None:
            groups.append([document])
        else:
            found.append(document)
    return [_group(np.array(group), within[group], prior, rows) for group in groups]


def _group(documents: Ints, within: Bools, prior: Prior, rows: _Rows) -> _Group:
    own = np.flatnonzero(within.any(axis=0))
    return _Group(documents, prior.of(documents), rows.some(own), within[:, own].astype(np.float64))
