"""Batch choice: which documents to compare next for the largest information gain about the top documents."""

from __future__ import annotations

from typing import Final

import numpy as np

from trueval.golden.refine.judge_orders import Batch
from trueval.golden.refine.posterior import Posterior
from trueval.standings.standings import Floats

# Weight of pairs within the top set, whose order matters less. docs/golden.md.
INSIDE: Final = 0.3
# Factor on the gain of a pair that is already asked in this round.
ASKED: Final = 0.25


def pair_gains(posterior: Posterior, members: Floats, inside: float = INSIDE) -> Floats:
    """Expected information gain of comparing each pair.

    H(P(i>j)) · V/(V + π²/3) · [P_i(1−P_j) + P_j(1−P_i) + .3 P_i P_j], V = Var(s_i − s_j): the entropy of their order,
    the part of it due to uncertain scores rather than the judge's own noise (π²/3 is the variance of a logistic
    choice), and whether their order affects the top set. docs/golden.md.

    Args:
        members: [document] P_i, probability of membership in the top set.
        inside: weight of pairs within the top set, .3 in the formula.

    Returns:
        [document, document] gains, symmetric, with 0 on the diagonal.

    >>> even = Posterior(np.sqrt([[2.0, 0.0], [0.0, 2.0]]), np.zeros((2, 0)))  # V = 2, and either is above
    >>> float(pair_gains(even, np.array([0.5, 0.5]))[0, 1].round(4))  # ln 2 · 2/(2 + π²/3) · (1/2 + .3/4)
    0.1507
    """
    from scipy.special import entr

    above, variance = posterior.above(), posterior.pair_variances()
    unsure = entr(above) + entr(1 - above)
    crossing = members[:, None] * (1 - members) + members * (1 - members)[:, None]
    gains: Floats = unsure * variance / (variance + np.pi**2 / 3)
    gains = gains * (crossing + inside * members[:, None] * members)
    np.fill_diagonal(gains, 0.0)
    return gains


def next_batches(gains: Floats, count: int, size: int, rng: np.random.Generator) -> tuple[Batch, ...]:
    """Batches for one round, each built greedily from the pair with the largest gain.

    A batch starts with the best pair, and then repeatedly adds the document with the largest gain with its members.
    Pairs of a batch count a quarter for later batches, so that one round covers different documents. The order in which
    a batch is shown is random, since judges have position bias.

    Args:
        gains: [document, document] gain of comparing each pair.
        count: number of batches.
        size: number of documents per batch, at least 2.
        rng: source of the display order.

    >>> gains = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 2.0], [0.0, 2.0, 0.0]])
    >>> sorted(next_batches(gains, 1, 2, np.random.default_rng(0))[0])
    [1, 2]
    """
    remaining = gains.copy()
    found = []
    for _ in range(count):
        batch = _greedy(remaining, min(size, len(gains)))
        remaining[np.ix_(batch, batch)] *= ASKED
        found.append(tuple(map(int, rng.permutation(batch))))
    return tuple(found)


def _greedy(gains: Floats, size: int) -> list[int]:
    batch = [int(place) for place in np.unravel_index(gains.argmax(), gains.shape)]
    if batch[0] == batch[1]:  # no gain anywhere
        batch[1] = (batch[0] + 1) % len(gains)
    added = gains[batch].sum(axis=0)
    while len(batch) < size:
        added[batch] = -1.0
        batch.append(int(added.argmax()))
        added += gains[batch[-1]]
    return batch
