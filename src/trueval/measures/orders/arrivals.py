"""Sums over pairs of ranks of a long tie group, whose documents arrive at random times.

What the first s of m tied documents take together is C_s, and E[C_s C'_t] for ranks s <= t is needed only in sums

    M = sum over s <= t of delta_s delta_t E[C_s C'_t],   where s = t counts half

Let every document arrive at a time of its own, uniform on [0, 1]. The number t of those that come by time v is
binomial, and so is the number s of these that come by z v. The mean of C at z v times C' at v is a product over
documents, or 1 minus one computed without cancellation,

    G(z, v) = sum over t of Bin(m, v)(t)  sum over s of Bin(t, z)(s) E[C_s C'_t]

Binomial means turn the polynomials of Hahn into those of Legendre: with Q_n(t; m) = 3F2(-n, n+1, -t; 1, -m; 1)

    sum over t of Bin(m, v)(t) Q_n(t; m) = 2F1(-n, n+1; 1; v) = P_n(1 - 2 v),

so that a series of G in Legendre polynomials, first in v and then in z, gives the sums over ranks: M is a quadrature, M
= sum of weights times G at Gauss points. About 6 sqrt(q m) degrees are enough if documents take a fraction q of the
remainder on average, and Q_n grows like exp(.4 n^2 / m) inside, the factor by which rounding is amplified.

Sources: Karlin & McGregor 1961 (polynomials of Hahn); Koekoek, Lesky & Swarttouw 2010 §9.5; derived in docs/formulas.md
§3. Checked against the walk over documents of survival.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from trueval.standings.standings import Floats, Ints

# Number of ranks between two powers of two at which the sum over the previous ranks is computed; it is interpolated in
# between.
NODES = 16
# Degrees of the series of exp(-x): a constant, plus a multiple of the root of the largest x. Rounding error grows with
# the degree.
FEW_DEGREES, MORE_DEGREES, LITTLE = 16, 6.2, 0.1
# Number of points for probabilities between 1 - 2a and 1 - a: the nearest singularity of log(1 - u R) is an interval's
# length away, so the error falls by a factor of 5.8 with each point.
CHANCES = 20


class Sum(NamedTuple):
    """A sum, and a bound of its error by rounding or omitted degrees."""

    total: float
    doubt: float


class ArrivalKinds(NamedTuple):
    """Kinds of documents in a group, by the fraction that they take.

    Attributes:
        first: [kind] fraction of the remaining C that each takes, 0 to 1.
        second: [kind] fraction of the remaining C'.
        number: [kind] number of documents; any real number where kinds represent others.
    """

    first: Floats
    second: Floats
    number: Floats

    def joint(self, earlier: Floats, later: Floats) -> Floats:
        """E[C C'] at an earlier time u for C and a later time v for C'; nothing is subtracted.

        >>> kinds = ArrivalKinds(np.array([0.5]), np.array([1.0]), np.array([1.0]))
        >>> kinds.joint(np.array([0.2]), np.array([0.4])).round(15)
        array([0.1])
        """
        one, other, together = np.zeros_like(earlier), np.zeros_like(later), np.zeros_like(earlier)
        for first, second, number in zip(*(column.tolist() for column in self), strict=True):
            one += number * np.log1p(-first * earlier)
            other += number * np.log1p(-second * later)
            if first > 0 and second > 0:
                part = earlier * first / (1 - first * earlier) * (second * (1 - later) / (1 - second * later))
                together += number * np.log1p(part)
        # As a difference where the factor, which is far above 1, may overflow.
        near = together < 1
        product = np.exp(one + other)
        beside = np.where(
            near, product * np.expm1(np.where(near, together, 0)), np.exp(one + other + together) - product
        )
        return np.asarray(beside + np.expm1(one) * np.expm1(other))


def few_chances(chances: Floats) -> tuple[Floats, Floats]:
    """Replace probabilities by few with nearly the same sum of log(1 - u R) and of the other terms in `joint`.

    Equal probabilities are merged. Where more than CHANCES of them lie between 1 - 2a and 1 - a, for a power of two a,
    they are replaced by the Chebyshev points of the interval, each weighted by the sum of its Lagrange polynomial at
    the probabilities.
    """
    values, number = np.unique(chances, return_counts=True)
    if len(values) <= CHANCES:
        return values, number.astype(float)
    some, numbers = [], []
    part = np.frexp(1 - values)[1]
    for each in np.unique(part):
        own, count = values[part == each], number[part == each].astype(float)
        if len(own) > CHANCES:
            points = (own[0] + own[-1]) / 2 + (own[-1] - own[0]) / 2 * _chebyshev(CHANCES)
            own, count = points, count @ _lagrange(points, own)
        some.append(own)
        numbers.append(count)
    return np.concatenate(some), np.concatenate(numbers)


@dataclass(frozen=True, eq=False)
class PairSums:
    """Sums over the pairs of ranks of one group as a quadrature over pairs of times.

    Attributes:
        earlier: [z, v] earlier times z v.
        later: [z, v] later times v.
        weights: [z, v] quadrature weights.
        last: [z, v] part of the weights from the last eighth of the degrees.
    """

    earlier: Floats
    later: Floats
    weights: Floats
    last: Floats

    @classmethod
    def of(cls, tied: int, steps: Floats, taken: float) -> PairSums:
        """Prepare the sums.

        Args:
            tied: m, number of documents in the group.
            steps: [t = 0 .. T] delta_t, smooth below T; 0 for t = 0.
            taken: mean over the m documents of 1 - (1 - R)^2, which determines the number of degrees.
        """
        times, series = _legendre(_degrees(tied, taken))
        shares, share_series = _legendre(_degrees(len(steps) - 1, taken))
        below, at, weight = _sums_below(steps, taken, len(shares))
        hahn = np.stack(list(_hahn(at.astype(float), np.full(len(at), float(tied)), len(times))))

        def weights(most: int, most_shares: int) -> Floats:
            in_time = hahn[:most].T @ series[:most]
            return np.asarray((below[:, :most_shares] @ share_series[:most_shares]).T @ (weight[:, None] * in_time))

        whole = weights(len(times), len(shares))
        last = whole - weights(len(times) - len(times) // 8, len(shares) - len(shares) // 8)
        later = np.broadcast_to(times, whole.shape)
        return cls(shares[:, None] * later, later, whole, last)

    def sum(self, kinds: ArrivalKinds) -> Sum:
        """M for some documents."""
        joint = kinds.joint(self.earlier, self.later)
        terms = self.weights * joint
        rounding = np.finfo(float).eps * float(np.abs(terms).sum())
        return Sum(float(terms.sum()), rounding + abs(float((self.last * joint).sum())))


def _degrees(length: int, taken: float) -> int:
    """Number of degrees for a group, or part of one, with this many ranks; at most that of an exact polynomial."""
    much = max(FEW_DEGREES, 2 + int(MORE_DEGREES * np.sqrt(max(taken, LITTLE) * length)))
    return min(length + 1, FEW_DEGREES + int(MORE_DEGREES * np.sqrt(taken * length)), much)


def _legendre(count: int) -> tuple[Floats, Floats]:
    """Gauss points on [0, 1], and the [n, point] transform from values there to coefficients of P_n(1 - 2 v)."""
    from numpy.polynomial.legendre import leggauss  # late: only ERR of groups that tie needs it

    points, gauss = leggauss(count)
    rows = np.ones((count, count))
    rows[1:2] = -points
    for n in range(1, count - 1):
        rows[n + 1] = (-(2 * n + 1) * points * rows[n] - n * rows[n - 1]) / (n + 1)
    return (1 + points) / 2, (2 * np.arange(count)[:, None] + 1) * rows * (gauss / 2)


def _hahn(rank: Floats, length: Floats, count: int) -> Iterator[Floats]:
    """Q_n(rank; length) for n = 0 .. count - 1; meaningless from n = length + 1 on."""
    before, now = np.zeros_like(rank), np.ones_like(rank)
    for n in range(count):
        yield now
        up = (n + 1) * np.maximum(length - n, 1) / (2 * (2 * n + 1))
        down = n * (n + length + 1) / (2 * (2 * n + 1))
        before, now = now, ((up + down - rank) * now - down * before) / up


def _sums_below(steps: Floats, taken: float, count: int) -> tuple[Floats, Ints, Floats]:
    """[node, n] sum over s <= t of delta_s Q_n(s; t), last term halved, at some ranks t; these ranks; their weights."""
    found, ranks, weights = [], [], []
    for at, begin, end in _panels(len(steps) - 1):
        s = np.arange(int(at[-1]) + 1)
        inside = np.where(s < at[:, None], steps[s], 0.0)
        inside[np.arange(len(at)), at] = steps[at] / 2
        below = np.zeros((len(at), count))
        limits = np.array([_degrees(int(t), taken) for t in at])
        most = min(int(limits.max()), count)
        length = at[:, None].astype(float)
        for n, hahn in enumerate(_hahn(np.minimum(s, length), length, most)):
            below[:, n] = np.einsum("ts,ts->t", hahn, inside)
        below[np.arange(count) >= limits[:, None]] = 0
        found.append(below)
        ranks.append(at)
        weights.append(steps[begin:end] @ _lagrange(at.astype(float), np.arange(begin, end, dtype=float)))
    return np.concatenate(found), np.concatenate(ranks), np.concatenate(weights)


def _panels(last: int) -> Iterator[tuple[Ints, int, int]]:
    """Ranks from 1 in stretches begin .. end - 1 of doubling length, with the sampled ranks of each.

    The last rank is a stretch of its own, since its step differs in kind.
    """
    begin = 1
    while begin < last:
        end = min(2 * begin, last)
        at = np.arange(begin, end)
        if len(at) > NODES:
            spread = (begin + end - 1) / 2 + (end - 1 - begin) / 2 * _chebyshev(NODES)
            at = np.unique(np.rint(spread).astype(np.int64))
        yield at, begin, end
        begin = end
    yield np.array([last]), last, last + 1


def _chebyshev(count: int) -> Floats:
    """The Chebyshev points on [-1, 1], ascending."""
    return np.asarray(-np.cos(np.pi * (np.arange(count) + 0.5) / count))


def _lagrange(points: Floats, at: Floats) -> Floats:
    """[at, point] Lagrange polynomial of each point, 1 there and 0 at the others, by the barycentric form."""
    unit = float(np.ptp(points)) or 1.0
    apart = (points[:, None] - points) / unit
    np.fill_diagonal(apart, 1.0)
    weight = 1 / np.prod(apart, axis=1)
    away = (at[:, None] - points) / unit
    hit = away == 0
    rows = weight / np.where(hit, 1.0, away)
    rows = np.where(hit.any(axis=1)[:, None], hit, rows)
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))
