"""Restricted maximum likelihood (REML) of crossed random effects, where some values are missing.

    y[q, c] = m + sum over effects k of u_k,   c = (r, j) a cell of repeats and judges
    V = blockdiag(W_q) + Z G Z'                W of effects that hold the query, G of those that do not

All queries share the same few cells, so that every product with the inverse of V is one of [cell, cell] matrices:

    P = W^-1 - W^-1 Z H Z' W^-1,   H = (I + G T)^-1 G + h h' / s,   T = Z' W^-1 Z,   h = (I - H_0 T) 1,   s = 1' T h

Parts solve sum over l of tr(P V_k P V_l) s_l^2 = y' P V_k P y, with P at the last parts, those below 0 set to 0
(iterated MINQUE: Rao 1971). Where no part is below 0 the solution is REML's; where all values are there it is that of
expected mean squares; and a part below 0 is kept, so that the parts have no bias from cutting them.

Sources: Patterson & Thompson 1971; Harville 1977; Searle, Casella & McCulloch 1992, §6.6 and §11.3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from trueval.standings.standings import Bools, Floats, Ints

# The step from one solution to the next, as a share of the total variance, at which the search ends.
TOLERANCE: Final = 1e-8
STEPS: Final = 50

# The least residual variance that P is computed with, as a share of the total variance.
LEAST: Final = 1e-6


class CellEffects(NamedTuple):
    """The effects of a design.

    Attributes:
        names: [effect] its factors, such as "QR"; Q is the query, R the repeat, J the judge.
        within: [effect] whether it holds the query.
        same: [effect, cell, cell] 1 where two cells share the other factors of the effect.
    """

    names: tuple[str, ...]
    within: Bools
    same: Floats


def cell_effects(names: Sequence[str], repeats: int, judges: int) -> CellEffects:
    """The effects of cells (repeat, judge), repeats first.

    Args:
        names: [effect] its factors.
        repeats: number of repeats.
        judges: number of judges.

    >>> cell_effects(["Q", "QJ"], 1, 2).same.tolist()
    [[[1.0, 1.0], [1.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]]
    """
    repeat, judge = np.repeat(np.arange(repeats), judges), np.tile(np.arange(judges), repeats)
    ones = np.ones((repeats * judges, repeats * judges))
    alike = {"R": (repeat[:, None] == repeat).astype(float), "J": (judge[:, None] == judge).astype(float)}
    same = [math.prod((alike[letter] for letter in name if letter != "Q"), start=ones) for name in names]
    return CellEffects(tuple(names), np.array(["Q" in name for name in names]), np.array(same))


def restricted_likelihood_parts(values: Floats, effects: CellEffects) -> Floats:
    """[effect] variance of each effect by REML; values below 0 are kept.

    Args:
        values: [query, cell] values; NaN where missing. Every query has at least one.
        effects: effects of the design; the last one holds all factors (the residual).
    """
    there = ~np.isnan(values)
    centered = np.where(there, values - np.nanmean(values), 0.0)
    scale = float(np.var(centered[there]))
    if not scale > 0:
        return np.zeros(len(effects.names))
    centered = centered / math.sqrt(scale)
    cells, which, counts = np.unique(there, axis=0, return_inverse=True, return_counts=True)
    patterns = _Patterns(cells, which.reshape(-1), counts.astype(float))
    parts = np.full(len(effects.names), 1.0 / len(effects.names))
    for _ in range(STEPS):
        found = _solve(parts, centered, patterns, effects)
        moved = float(np.abs(found - parts).max())
        parts = found
        if moved < TOLERANCE:
            break
    return np.asarray(parts * scale)


class _Patterns(NamedTuple):
    """Which cells queries have.

    Attributes:
        there: [pattern, cell] whether it has a value.
        which: [query] index of its pattern.
        counts: [pattern] number of queries.
    """

    there: Bools
    which: Ints
    counts: Floats


def _solve(parts: Floats, values: Floats, patterns: _Patterns, effects: CellEffects) -> Floats:
    """[effect] the solution of the equations with P at some parts."""
    same, within = effects.same, effects.within
    parts = np.maximum(parts, 0.0)
    parts[-1] = max(parts[-1], LEAST)
    inverse = _inverses(np.einsum("k,kcd->cd", parts * within, same), patterns.there)
    between = np.einsum("k,kcd->cd", parts * ~within, same)
    sums = np.einsum("p,pcd->cd", patterns.counts, inverse)  # T
    settled = np.linalg.solve(np.eye(len(sums)) + between @ sums, between)
    of_mean = 1.0 - (settled @ sums).sum(axis=1)
    inside = settled + np.outer(of_mean, of_mean) / float((sums @ of_mean).sum())  # H
    outside = sums - sums @ inside @ sums  # Z' P Z
    rest = np.eye(len(sums)) - inside @ sums
    # [pattern, effect] B K B of the effects that hold the query, and their sums
    turned = np.einsum("pab,kbc,pcd->pkad", inverse, same, inverse)
    summed = np.einsum("p,pkad->kad", patterns.counts, turned)
    both = np.einsum("p,pkab,lba->kl", patterns.counts, turned, same)
    both -= 2 * np.einsum("p,pkab,bc,pcd,lda->kl", patterns.counts, turned, inside, inverse, same, optimize=True)
    both += np.einsum("ab,kbc,cd,lda->kl", inside, summed, inside, summed)
    mixed = np.einsum("ba,kbc,cd,lda->kl", rest, summed, rest, same, optimize=True)
    apart = np.einsum("kab,bc,lcd,da->kl", same, outside, same, outside, optimize=True)
    traces = np.where(within[:, None], np.where(within, both, mixed), np.where(within, mixed.T, apart))
    weighted = np.einsum("qcd,qd->qc", inverse[patterns.which], values)
    left = weighted - inverse[patterns.which] @ (inside @ weighted.sum(axis=0))  # P y
    total = left.sum(axis=0)
    products = np.where(within[:, None, None], left.T @ left, np.outer(total, total))
    squares = np.einsum("kab,kab->k", same, products)
    return np.asarray(np.linalg.lstsq((traces + traces.T) / 2, squares, rcond=1e-12)[0])


def _inverses(block: Floats, there: Bools) -> Floats:
    """[pattern, cell, cell] inverse of the block over the cells that are there, 0 elsewhere."""
    found = np.zeros((len(there), *block.shape))
    for at, pattern in enumerate(there):
        chosen = np.ix_(pattern, pattern)
        found[at][chosen] = np.linalg.inv(block[chosen])
    return found
