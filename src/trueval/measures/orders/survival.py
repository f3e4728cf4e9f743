"""Discounted survival: sums over ranks of what each document takes from a quantity that the documents before it left.

    X = sum over offsets t of (S_t - S_{t+1}) w_t,   S_t = product of the factors of the first t documents of a group

A document of factor 1 takes nothing. ERR is such a sum, with factors 1 - R; so is the part of one facet in alpha-nDCG,
with factor 1 - alpha for the documents of the facet. Under a random order of m tied documents, E[S_t] is the elementary
symmetric polynomial of the factors divided by C(m, t), found one document at a time by a convex combination; E[S_s S_t]
is the same with two subsets. Nothing cancels in either. Source: docs/formulas.md §3.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trueval.measures.orders.weights import Weights
from trueval.standings.standings import Floats, Ints


class Slots(NamedTuple):
    """The ranks of some tie groups of like size.

    Attributes:
        query: [group] index of the query.
        above: [group] documents above the group, c.
        tied: [group] documents in it, m.
        width: largest number of ranks of a group that count.
    """

    query: Ints
    above: Ints
    tied: Ints
    width: int

    def weights(self, weights: Weights) -> Floats:
        """[group, offset] w of each of its ranks, 0 past its end."""
        offset = np.arange(self.width)
        rank = self.above[:, None] + offset + 1
        own = np.broadcast_to(self.query[:, None], rank.shape)
        return np.where(offset < self.tied[:, None], weights.at(rank, own), 0.0)


class Factors(NamedTuple):
    """What some documents of each group leave; the others of the group leave all.

    Attributes:
        values: [group, document] factors, padded with 1.
        given: [group] documents that are given.
    """

    values: Floats
    given: Ints


def survival(tied: Ints, factors: Factors, width: int) -> Floats:
    """[group, t = 0 .. width] E[product of the factors of the first t of m documents].

    >>> survival(np.array([2]), Factors(np.array([[0.5]]), np.array([1])), 2).tolist()
    [[1.0, 0.75, 0.5]]
    """
    size, t = tied - factors.given, np.arange(width + 1)
    left = np.ones((len(tied), width + 1))
    for place in range(factors.values.shape[1]):
        active = place < factors.given
        size = size + active
        chance = np.minimum(t / np.maximum(size, 1)[:, None], 1)
        with_it = np.zeros_like(left)
        with_it[:, 1:] = left[:, :-1]
        updated = (1 - chance) * left + chance * factors.values[:, place, None] * with_it
        left = np.where(active[:, None], updated, left)
    return left


def joint_survival(tied: Ints, inner: Floats, outer: Floats, count: Ints, width: int) -> Floats:
    """[group, s, u] E[product of inner factors of the first s documents and outer ones of the next u], s + u <= width.

    Args:
        tied: [group] documents, m.
        inner: [group, document] factor of a document among the first s.
        outer: [group, document] factor of one among the next u.
        count: [group] documents that are given; the others have factor 1.
        width: largest s + u that is asked for.
    """
    size, t = tied - count, np.arange(width + 1)
    left = np.ones((len(tied), width + 1, width + 1))
    for place in range(inner.shape[1]):
        active = place < count
        size = size + active
        chance = np.minimum(t / np.maximum(size, 1)[:, None], 1)
        first, second = chance[:, :, None], chance[:, None, :]
        updated = np.maximum(1 - first - second, 0) * left
        updated[:, 1:, :] += (first * inner[:, place, None, None])[:, 1:] * left[:, :-1, :]
        updated[:, :, 1:] += (second * outer[:, place, None, None])[:, :, 1:] * left[:, :, :-1]
        left = np.where(active[:, None, None], updated, left)
    return left


def expected_total(left: Floats, weights: Floats) -> Floats:
    """[group] E[X] from E[S_t] and the weights of the offsets."""
    total: Floats = ((left[:, :-1] - left[:, 1:]) * weights).sum(axis=1)
    return total


def falls(weights: Floats) -> Floats:
    """[group, t = 0 .. width] delta_t = w_{t-1} - w_t, so that X = w_0 - sum of delta_t S_t.

    >>> falls(np.array([[1.0, 0.5]])).tolist()
    [[0.0, 0.5, 0.5]]
    """
    steps = np.zeros((len(weights), weights.shape[1] + 1))
    steps[:, 1:] = weights
    steps[:, 1:-1] -= weights[:, 1:]
    return steps


def sum_pairs(joint: Floats, first: Floats, second: Floats, *, equal: bool) -> Floats:
    """[group] sum over s, u of first_s second_{s+u} E[S_s S'_{s+u}]; pairs with u = 0 only where `equal` says so."""
    width = first.shape[1] - 1
    padded = np.concatenate((second, np.zeros_like(second)), axis=1)
    offsets = np.add.outer(np.arange(width + 1), np.arange(width + 1))
    pairs = first[:, :, None] * padded[:, offsets]
    if not equal:
        pairs[:, :, 0] = 0
    total: Floats = (pairs * joint).sum(axis=(1, 2))
    return total


class Repeats(NamedTuple):
    """Mean and variance of sums in which every document takes the same share.

    Attributes:
        mean: [group].
        variance: [group].
    """

    mean: Floats
    variance: Floats


def repeated(tied: Ints, count: Ints, keep: float, weights: Floats) -> Repeats:
    """Moments of sum over k = 1 .. n of keep^(k-1) w(offset of the k-th of n documents among m that tie).

    Rank by rank from the last: the next rank holds one of them with chance q = (n - k) / (m - p) after k of them in p
    ranks, and then the rest is w + keep X(p+1, k+1), else X(p+1, k). Variances add by the law of total variance:
    nothing cancels.

    Args:
        tied: [group] m.
        count: [group] n.
        keep: what each document leaves to the next.
        weights: [group, offset] w, falling; 0 past the ranks that count.

    >>> repeated(np.array([2]), np.array([1]), 0.5, np.array([[1.0, 0.5]]))
    Repeats(mean=array([0.75]), variance=array([0.0625]))
    """
    most = int(count.max(initial=0))
    mean, variance = np.zeros((len(tied), most + 2)), np.zeros((len(tied), most + 2))
    left = np.maximum(count[:, None] - np.arange(most + 1), 0)
    for p in range(weights.shape[1] - 1, -1, -1):
        end = min(p, most) + 1
        chance = np.minimum(left[:, :end] / np.maximum(tied - p, 1)[:, None], 1.0)
        without = mean[:, :end]
        gap = weights[:, p, None] + keep * mean[:, 1 : end + 1] - without
        shift = chance * gap
        other = variance[:, :end]
        variance[:, :end] = other + chance * (keep**2 * variance[:, 1 : end + 1] - other) + (1 - chance) * shift * gap
        mean[:, :end] = without + shift
    return Repeats(mean[:, 0], variance[:, 0])
