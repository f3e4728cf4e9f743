"""Discounted survival: sums over ranks of the fraction that each document takes of what earlier documents left.

    X = sum over offsets t of (S_t - S_{t+1}) w_t,   S_t = product of the factors of the first t documents of a group

A document of factor 1 takes nothing. ERR is such a sum, with factors 1 - R; so is the part of one facet in alpha-nDCG,
with factor 1 - alpha for the documents of the facet. The fraction taken may be too small to change a product, so
everything is expressed by the total taken, C_t = 1 - S_t, computed without subtraction::

    X = sum over t of delta_t C_t,   delta_t = w_{t-1} - w_t,  w = 0 past the last rank

Under a random order of m tied documents, E[C_t] is found one document at a time: the n-th is among the first t with
probability t / n, and then it adds its own fraction and keeps the rest of what the others took. E[C_s C'_{s+u}] is
found likewise with two numbers of ranks. This is needed only among the documents that take anything: how many of them
are among the first ranks of their group is a Markov chain. For long groups, whole sums come from arrivals.py. Source:
docs/formulas.md §3.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from trueval.measures.orders.weights import Weights
from trueval.standings.standings import Bools, Floats, Ints


class Slots(NamedTuple):
    """The ranks of tie groups of similar size.

    Attributes:
        query: [group] index of the query.
        above: [group] number of documents above the group, c.
        tied: [group] number of documents in it, m.
        width: maximum number of ranks of a group that count.
    """

    query: Ints
    above: Ints
    tied: Ints
    width: int

    def weights(self, weights: Weights) -> Floats:
        """[group, offset] w of each of its ranks, 0 beyond its end."""
        offset = np.arange(self.width)
        rank = self.above[:, None] + offset + 1
        own = np.broadcast_to(self.query[:, None], rank.shape)
        return np.where(offset < self.tied[:, None], weights.at(rank, own), 0.0)


class GroupTakers(NamedTuple):
    """The documents of each group that take anything; its other documents take nothing.

    Attributes:
        taken: [group, document] fraction that it takes when first, in any unit; 0 as padding.
        left: [group, document] factor left for later documents.
        given: [group] number of documents listed here.
    """

    taken: Floats
    left: Floats
    given: Ints


def expected_totals(tied: Ints, takers: GroupTakers, width: int) -> Floats:
    """[group, t = 0 .. width] E[C_t], the expected total taken by the first t of m documents.

    >>> expected_totals(np.array([2]), GroupTakers(np.array([[0.5]]), np.array([[0.5]]), np.array([1])), 2).tolist()
    [[0.0, 0.25, 0.5]]
    """
    found = np.zeros((len(tied), width + 1))
    for place, chance, active in _arrivals(tied, takers.given, width):
        found = np.where(active[:, None], _with_one_more(found, chance, takers, place), found)
    return found


def _arrivals(tied: Ints, given: Ints, width: int) -> Iterator[tuple[int, Floats, Bools]]:
    """Each document after those that take nothing: index, probability of being among the first t, and presence.

    The probability is [group, t]; presence is [group], whether the group has the document.
    """
    size, t = tied - given, np.arange(width + 1)
    for place in range(int(given.max(initial=0))):
        active = place < given
        size = size + active
        yield place, np.minimum(t / np.maximum(size, 1)[:, None], 1), active


def _with_one_more(found: Floats, chance: Floats, takers: GroupTakers, place: int) -> Floats:
    """[group, t] E[C_t] with one more document."""
    more = (1 - chance) * found
    more[:, 1:] += chance[:, 1:] * (takers.taken[:, place, None] + takers.left[:, place, None] * found[:, :-1])
    return more


def expected_products(tied: Ints, first: GroupTakers, second: GroupTakers, width: int) -> Floats:
    """[group, s, u] E[C_s C'_{s+u}] for two quantities taken by the same documents, s + u <= width.

    Args:
        tied: [group] number of documents, m.
        first: fractions that documents take of C.
        second: fractions that the same documents take of C'.
        width: largest s + u; cells beyond it are undefined.
    """
    both = np.zeros((len(tied), width + 1, width + 1))
    one, other = np.zeros((2, len(tied), width + 1))
    for place, chance, active in _arrivals(tied, first.given, width):
        taken, left, take, leave = (each[:, place, None] for each in (*first[:2], *second[:2]))
        among = after = chance[:, 1:]
        more = np.maximum(1 - chance[:, :, None] - chance[:, None, :], 0) * both
        # Among the first s it takes from both, (taken + left C) (take + leave C'); among the next u, from C' only.
        more[:, 1:] += (among * (left * leave))[..., None] * both[:, :-1]
        later = sliding_window_view(np.pad(other, ((0, 0), (0, width))), width + 1, axis=1)[:, :-1]
        more[:, 1:] += (among * (taken * leave))[..., None] * later
        more[:, 1:] += (among * take * (taken + left * one[:, :-1]))[..., None]
        more[:, :, 1:] += (after * leave)[:, None] * both[:, :, :-1]
        more[:, :, 1:] += (take * one)[..., None] * after[:, None]
        both = more if active.all() else np.where(active[:, None, None], more, both)
        one, other = (
            np.where(active[:, None], _with_one_more(found, chance, takers, place), found)
            for found, takers in ((one, first), (other, second))
        )
    return both


def horizon(taken: Floats) -> Ints:
    """[group] number of ranks after which the remainder of C, and of its square, is below 2^-128 on average.

    The mean of a product of squares over the subsets of t documents is at most their mean to the power t: Maclaurin's
    inequality of elementary symmetric means.

    Args:
        taken: [group] mean over all its documents of 1 - f^2, with f the factor that each leaves.

    >>> int(horizon(np.array([0.75, 0.0]))[0])
    64
    """
    with np.errstate(divide="ignore"):
        ranks = 128 * np.log(2) / -np.log1p(-np.minimum(taken, 1.0))
    return np.asarray(np.clip(np.ceil(ranks), 1, 2.0**62), dtype=np.int64)


def falls(weights: Floats) -> Floats:
    """[group, t = 0 .. width] delta_t = w_{t-1} - w_t, so that X is the sum of delta_t C_t.

    >>> falls(np.array([[1.0, 0.5]])).tolist()
    [[0.0, 0.5, 0.5]]
    """
    steps = np.zeros((len(weights), weights.shape[1] + 1))
    steps[:, 1:] = weights
    steps[:, 1:-1] -= weights[:, 1:]
    return steps


def second_moments(tied: Ints, takers: GroupTakers, steps: Floats) -> Floats:
    """[group] E[X^2] of X = sum over t of delta_t C_t: sum over s, t of delta_s delta_t E[C_s C_t].

    The total taken by the first s of m documents depends on how many of the n takers are among them, K_s, and on which.
    All subsets are equally likely, so E[C_s C_t] is the mean of g(K_s, K_t), which `expected_products` computes for the
    takers alone, and the pairs of counts form one Markov chain over ranks::

        F_t(i, k) = sum over s < t of delta_s P(K_s = i, K_t = k),   q = (n - k) / (m - t) of rank t + 1
        E[X^2]    = sum over t of delta_t (2 sum over i, k of F_t(i, k) g(i, k) + delta_t E[g(K_t, K_t)])

    Args:
        tied: [group] number of documents, m.
        steps: [group, t = 0 .. width] delta_t; 0 for t = 0.

    >>> takers = GroupTakers(np.array([[0.5]]), np.array([[0.5]]), np.array([1]))
    >>> second_moments(np.array([2]), takers, np.array([[0.0, 0.5, 0.5]])).tolist()
    [0.15625]
    """
    ranks = steps.shape[1] - 1
    counts = np.arange(min(int(takers.given.max(initial=0)), ranks) + 1)
    # [i, k] from [i, k - i], and a row for the probability of each count, which adds nothing by itself.
    worth = np.zeros((len(tied), len(counts) + 1, len(counts)))
    first, last = np.triu_indices(len(counts))
    worth[:, first, last] = expected_products(takers.given, takers, takers, len(counts) - 1)[:, first, last - first]
    chain = np.zeros_like(worth)
    chain[:, -1, 0] = 1
    left, total = np.maximum(takers.given[:, None] - counts, 0), np.zeros(len(tied))
    for t in range(1, ranks + 1):
        rest = np.maximum(tied[:, None] - t + 1, 1)
        come = chain[:, :, :-1] * np.minimum(left / rest, 1)[:, None, :-1]
        chain *= (np.maximum(rest - left, 0) / rest)[:, None]
        chain[:, :, 1:] += come
        added = steps[:, t, None] * chain[:, -1]
        pairs = np.einsum("gik,gik->g", chain, worth)
        total += steps[:, t] * (2 * pairs + (added * worth[:, counts, counts]).sum(axis=1))
        chain[:, counts, counts] += added
    return total


class Repeats(NamedTuple):
    """Mean and variance of sums in which every document takes the same fraction.

    Attributes:
        mean: [group] means.
        variance: [group] variances.
    """

    mean: Floats
    variance: Floats


def discounted_moments(tied: Ints, count: Ints, keep: float, weights: Floats) -> Repeats:
    """Moments of sum over k = 1 .. n of keep^(k-1) w(offset of the k-th of n documents among m that tie).

    Rank by rank from the last: the next rank holds one of them with probability q = (n - k) / (m - p) after k of them
    in p ranks, and then the rest is w + keep X(p+1, k+1), else X(p+1, k). Variances add by the law of total variance:
    nothing cancels.

    Args:
        tied: [group] m, number of documents.
        count: [group] n, number of documents that take.
        keep: factor that each of them leaves for the next.
        weights: [group, offset] w, non-increasing; 0 beyond the ranks that count.

    >>> discounted_moments(np.array([2]), np.array([1]), 0.5, np.array([[1.0, 0.5]]))
    Repeats(mean=array([0.75]), variance=array([0.0625]))
    """
    most = int(count.max(initial=0))
    mean, variance = np.zeros((len(tied), most + 2)), np.zeros((len(tied), most + 2))
    left = np.maximum(count[:, None] - np.arange(most + 1), 0)
    for p in range(weights.shape[1] - 1, -1, -1):
        end = min(p, most) + 1  # after p ranks, at most p documents have come
        chance = np.minimum(left[:, :end] / np.maximum(tied - p, 1)[:, None], 1.0)
        without = mean[:, :end]
        gap = weights[:, p, None] + keep * mean[:, 1 : end + 1] - without
        shift = chance * gap
        other = variance[:, :end]
        variance[:, :end] = other + chance * (keep**2 * variance[:, 1 : end + 1] - other) + (1 - chance) * shift * gap
        mean[:, :end] = without + shift
    return Repeats(mean[:, 0], variance[:, 0])
