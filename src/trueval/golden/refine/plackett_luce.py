"""Plackett-Luce: the likelihood of orders given scores, with a uniform choice mixed into each stage."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from trueval.golden.refine.judge_orders import OrderBatch
from trueval.standings.standings import Floats

# Share of stages that the judge decides at random. docs/golden.md: 3 %.
NOISE: Final = 0.03


class Terms(NamedTuple):
    """The log-likelihood of orders, and its derivatives with respect to the predictor of each document in each order.

    Attributes:
        value: [order] log-likelihood.
        gradient: [order, rank] first derivatives.
        information: [order, rank, rank] negative second derivatives. For a mixture it can have negative eigenvalues.
        safe: [order, rank, rank] the same without the negative term of the mixture: positive semidefinite, and at least
            `information`.
    """

    value: Floats
    gradient: Floats
    information: Floats
    safe: Floats


def terms(predictor: Floats, orders: OrderBatch, noise: float = NOISE) -> Terms:
    """The log-likelihood of orders and its derivatives.

    An order of n documents is n − 1 choices, one for each stage k: of the documents S_k that are left, the judge takes
    the best one w_k. P(w_k) = (1−ε) exp(η_w)/Σ_{j∈S_k} exp(η_j) + ε/|S_k|: with probability ε the choice at that stage
    is any of those left, and later stages go on from it. With r = (1−ε)p_w/P(w_k), the chance that the stage was no
    accident, and g = e_w − p, the gradient of a stage is r·g, and its information r·(diag(p) − ppᵀ) − r(1−r)·ggᵀ.
    docs/golden.md; Plackett 1975; Luce 1959.

    Args:
        predictor: [order, rank] η of each document: its score plus other influences on the judge.
        noise: ε, at least 0 and below 1.

    >>> from trueval.golden.refine.judge_orders import JudgeOrder
    >>> found = terms(np.zeros((1, 3)), OrderBatch.of([JudgeOrder((2, 0, 1), (0, 1, 2))], 3), noise=0.0)
    >>> float(np.exp(-found.value[0]).round(12)), found.gradient.round(4).tolist()
    (6.0, [[0.6667, 0.1667, -0.8333]])
    """
    places = predictor.shape[1]
    present, sizes = orders.present, orders.sizes
    filled = np.where(present, predictor, -np.inf)
    left = np.logaddexp.accumulate(filled[:, ::-1], axis=1)[:, ::-1]  # log Σ exp over each suffix
    stages = np.arange(places) < (sizes - 1)[:, None]  # [order, stage]; the last document is no choice
    inside = stages[:, :, None] & present[:, None, :] & (np.arange(places)[:, None] <= np.arange(places))
    with np.errstate(invalid="ignore"):  # -inf - -inf, beyond the end of short orders
        share = np.exp(np.where(inside, filled[:, None, :] - left[:, :, None], -np.inf))  # [order, stage, rank]
    winner = np.arange(places)
    chosen = share[:, winner, winner]
    at_random = noise / np.maximum(sizes[:, None] - winner, 1)
    chance = np.where(stages, (1 - noise) * chosen + at_random, 1.0)
    tiny = np.finfo(np.float64).tiny
    if noise:
        value = np.log(np.maximum(chance, tiny))
    else:  # where p underflows, its logarithm does not
        with np.errstate(invalid="ignore"):
            value = np.where(stages, filled - left, 0.0)
    meant = np.where(stages, (1 - noise) * chosen / np.maximum(chance, tiny), 0.0) if noise else stages * 1.0
    pull = np.where(inside, np.eye(places) - share, 0.0)
    gradient = np.einsum("ok,okj->oj", meant, pull)
    # Σ_k r (diag(p) − ppᵀ), and the term that the mixture subtracts: Σ_k r(1−r) ggᵀ.
    scaled = meant[:, :, None] * share
    safe = -np.matmul(scaled.transpose(0, 2, 1), share)
    safe[:, winner, winner] += scaled.sum(axis=1)
    doubt = (meant * (1 - meant))[:, :, None] * pull
    information = safe - np.matmul(doubt.transpose(0, 2, 1), pull)
    return Terms(value.sum(axis=1), gradient, information, safe)
