"""The probability that no precision at a relevant document of one tie group exceeds a value.

The j-th relevant document of a group is at offset p_j of its m ranks; its precision (R + j) / (c + p_j) exceeds v on
the first a_j of them. Where some p_j <= a_j, there is a last such j, and then exactly j relevant documents are on the
first a_j ranks, for the next one is past a_{j+1} > a_j. So with M_j the number of ways to place the others on the ranks
after a_j, each past its own a_i, and C(n, k) the binomial coefficient::

    M_j    = C(m - a_j, r - j) - sum over i > j of C(a_i - a_j, i - j) M_i
    chance = 1 - sum over j >= k of C(a_j, j) M_j / C(m, r),   k the first that counts

One pass from j = r down serves every k, so all levels of recall. The subtracted terms never exceed what they are
subtracted from, and an error in one M_i enters M_j with the probability that i is the next above v, so errors do not
grow: the result is accurate to 1e-14 absolutely, though not relatively. C(n, k) is represented by the binomial
probability of k among n at r / m, which multiplies all terms of a sum by the same factor.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from trueval.standings.standings import Floats, Ints

# Numbers held at once, values times relevant documents: 64 KiB, since the allocator returns blocks from 128 KiB on to
# the system.
BLOCK = 1 << 13
# Numbers j times values that are solved together.
TOGETHER = 256
# A j is left out if the probability that its a_j ranks contain exactly j is at most this.
UNLIKELY = 1e-18
# Ranks past which a precision exceeds a value with at most this probability are not counted as steps, if they are many.
NEGLIGIBLE = 1e-15
MANY_RANKS = 1024
# Numbers of values and of blocks of ranks at which that probability is bounded.
SAMPLES = 128
STRETCHES = 512


class HitGroup(NamedTuple):
    """A tie group, in the notation of docs/formulas.md §3.

    Attributes:
        above: c, number of documents above it.
        tied: m, number of documents in it.
        relevant: r, number of relevant documents, 1 .. m - 1.
        relevant_above: R, number of relevant documents above it.
        within: T, number of its ranks that count.
    """

    above: int
    tied: int
    relevant: int
    relevant_above: int
    within: int

    def ranks_above(self, values: Floats) -> Ints:
        """[value] number of ranks on which some precision can exceed it."""
        return self.places_above(self.relevant, self.within, values)

    def places_above(self, found: int | Ints, ranks: int, values: Floats) -> Ints:
        """[value] number of first ranks on which relevant document `found` of the group has a precision above it."""
        hits = np.asarray(self.relevant_above + found, dtype=float)
        with np.errstate(divide="ignore"):
            count = np.clip(np.floor(hits / values) - self.above, 0, ranks)
        # The floor of a rounded quotient can be off by one; the rounding of the precision itself counts.
        count += (count < ranks) & (hits / (self.above + count + 1) > values)
        count -= (count > 0) & (hits / np.maximum(self.above + count, 1) <= values)
        return np.asarray(count, dtype=np.int64)

    def horizon(self, values: Floats) -> Ints:
        """[value] number of ranks that decide whether a precision exceeds it; later ones hardly do. Values ascend."""
        ranks = self.ranks_above(values)
        if not len(values) or ranks[0] <= MANY_RANKS:
            return ranks
        at = np.unique(np.linspace(0, len(values) - 1, SAMPLES).astype(np.int64))
        edges = np.unique(np.geomspace(1, ranks[0], STRETCHES).astype(np.int64))
        rare = np.cumsum(self._passing_bounds(edges, values[at])[:, ::-1], axis=1)[:, ::-1] <= NEGLIGIBLE
        last = np.where(rare.any(axis=1), edges[np.argmax(rare, axis=1)], ranks[0])
        # From the next lower sample, which is exceeded on more ranks.
        return np.asarray(np.minimum(ranks, last[np.searchsorted(at, np.arange(len(values)), side="right") - 1]))

    def _passing_bounds(self, edges: Ints, values: Floats) -> Floats:
        """[value, stretch] bound of the probability that a precision between two edges exceeds it.

        It needs x relevant documents by the second edge n, x = v (c + first edge) - R. A hypergeometric number is that
        large with probability at most exp(-n KL(x/n, rho)), like a binomial one: Hoeffding 1963, theorems 1 and 4.
        """
        rho, size = self.relevant / self.tied, edges[1:].astype(float)
        share = (values[:, None] * (self.above + edges[:-1]) - self.relevant_above) / size
        x = np.clip(share, rho, 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            divergence = x * np.log(x / rho) + np.where(x < 1, (1 - x) * np.log((1 - x) / (1 - rho)), 0.0)
        return np.asarray(np.where(share > 1, 0.0, np.exp(-size * divergence)))

    def steps(self, first: int, values: Floats) -> Floats:
        """[value] upper bound of its cost: ranks times relevant documents, from number `first` on."""
        if self.relevant == 1:
            return np.ones(len(values))
        ranks = self.horizon(values)
        return np.asarray(ranks * np.maximum(self.most_relevant(ranks, values) - first + 1, 1.0))

    def most_relevant(self, ranks: Ints, values: Floats) -> Floats:
        """[value] maximum number of relevant documents on so many ranks with no precision above it, or one more."""
        return np.asarray(np.clip(np.floor(values * (self.above + ranks)) - self.relevant_above + 1, 0, self.relevant))

    def candidates(self, first: int, floor: float) -> Floats:
        """The distinct precisions above a floor of its relevant documents from number `first` on, ascending."""
        ranks = int(self.ranks_above(np.array([floor]))[0])
        found = self.relevant_above + np.arange(first, self.relevant + 1.0)[:, None]
        offset = np.arange(1, ranks + 1)
        precision = found / (self.above + offset)
        possible = found - self.relevant_above <= offset
        return np.unique(precision[possible & (precision > floor)])


def chances_at_most(group: HitGroup, firsts: Ints, values: Floats) -> Floats:
    """[first, value] probability that no precision from relevant document `first` of the group on exceeds a value.

    Args:
        group: group with both relevant and other documents.
        firsts: numbers of relevant documents of the group, 1 .. r, ascending.
        values: values, ascending.

    >>> chances_at_most(HitGroup(0, 2, 1, 0, 2), np.array([1]), np.array([0.4, 0.5, 1.0])).tolist()
    [[0.0, 0.5, 1.0]]
    """
    if group.relevant == 1:
        return np.asarray(1 - group.ranks_above(values)[None, :] / group.tied)
    ranks, binomial = group.ranks_above(values), Binomial(group.tied + 1, group.relevant / group.tied)
    chances = np.ones((len(firsts), len(values)))
    begin = 0
    while begin < len(values) and ranks[begin] > 0:
        most = min(int(ranks[begin]), group.relevant)
        block = slice(begin, begin + max(1, BLOCK // most))
        chances[:, block] = _block(group, binomial, firsts, values[block], most)
        begin = block.stop
    # The probability is non-decreasing in the value, except for rounding.
    return np.asarray(np.maximum.accumulate(np.clip(chances, 0.0, 1.0), axis=1))


def _block(group: HitGroup, binomial: Binomial, firsts: Ints, values: Floats, most: int) -> Floats:
    """[first, value] probabilities for values that relevant documents past number `most` of the group cannot exceed."""
    m, r, chances = group.tied, group.relevant, np.ones((len(firsts), len(values)))
    found = np.arange(firsts[0], most + 1)
    above = group.places_above(found, group.within, values[:, None])
    reached, ways = binomial(found, above) / binomial(np.array(r), np.array(m)), binomial(r - found, m - above)
    likely = reached * ways > UNLIKELY
    if not likely.any():
        return chances
    numbers, passed = np.flatnonzero(likely.any(axis=0)), np.flatnonzero(likely.any(axis=1))[-1] + 1
    some = np.s_[:passed, numbers[0] : numbers[-1] + 1]
    last_above = reached[some] * _ways(group, binomial, found[some[1]], above[some], ways[some], values[:passed, None])
    from_each = np.cumsum(last_above[:, ::-1], axis=1)[:, ::-1]
    from_each = np.append(from_each, np.zeros((passed, 1)), axis=1)
    chances[:, :passed] -= from_each[:, np.clip(firsts - found[numbers[0]], 0, len(from_each[0]) - 1)].T
    return chances


def _ways(group: HitGroup, binomial: Binomial, found: Ints, above: Ints, ways: Floats, values: Floats) -> Floats:
    """[value, j] M_j, from a_j and from the ways before the sum is subtracted, which are overwritten."""
    size = len(found)
    # With few values, several j are solved together: one Python step per j would take longer than its sums.
    several = max(1, min(TOGETHER // len(values), 2 * BLOCK // above.size))
    # a_i - a_j is (i - j) / v rounded, or one more, so its probability is one of two; both [value, j, i].
    gaps = np.arange(1 - several, size)
    rounded = group._replace(above=0, relevant_above=0).places_above(np.maximum(gaps, 1), group.tied, values) * (
        gaps > 0
    )
    fewer, more = (_by_gap(binomial(gaps, rounded + plus), size) for plus in (0, 1))
    least = _by_gap(rounded, size)
    cut = np.flatnonzero((above == group.within).any(axis=0))
    for stop in range(size, 0, -several):
        begin = max(0, stop - several)
        near = np.s_[:, : stop - begin, : size - begin]
        ranks = above[:, None, begin:] - above[:, begin:stop, None]
        pairs = np.where(ranks == least[near], fewer[near], more[near])
        if len(cut):  # the last rank that counts may be fewer ranks away
            late = np.s_[:, :, max(cut[0] - begin, 0) :]
            gap = (np.arange(begin, size) - np.arange(begin, stop)[:, None])[None]
            ends = above[:, None, begin:] == group.within
            pairs[late] = np.where(ends[late], binomial(gap[late], ranks[late]), pairs[late])
        own = ways[:, begin:stop]
        own -= np.einsum("vji,vi->vj", pairs[:, :, stop - begin :], ways[:, stop:])
        if several > 1:
            own[:] = np.linalg.solve(pairs[:, :, : stop - begin], own[:, :, None])[:, :, 0]
        # With fewer than j ranks above the value, M_j is unused; it may then not be a count, and grow.
        own *= above[:, begin:stop] >= found[begin:stop]
    return ways


def _by_gap(table: NDArray[np.generic], size: int) -> NDArray[Any]:
    """[value, j, i] view of a table over i - j."""
    return sliding_window_view(table, size, axis=1)[:, ::-1]


class Binomial:
    """Probabilities of k successes among n, with one success probability.

    >>> Binomial(4, 0.5)(np.array([1, 2, 3]), np.array([2, 2, 2])).tolist()
    [0.5, 0.25, 0.0]
    """

    def __init__(self, most: int, chance: float) -> None:
        """Prepare for n up to `most`."""
        factorials = _split_logs(np.log(np.maximum(np.arange(most + 1.0), 1.0)))
        self._factorials = np.cumsum(factorials, out=factorials)
        self._success, self._failure = _split_logs(np.log(chance)), _split_logs(np.log1p(-chance))

    def __call__(self, successes: Ints, size: Ints) -> Floats:
        """The probabilities, with 0 for those below e^-90: products of subnormal numbers would be far slower."""
        failures = size - successes
        possible = (successes >= 0) & (failures >= 0)
        failures, successes = np.where(possible, failures, 0), np.maximum(successes, 0)
        log = self._factorials[size] - (self._factorials[successes] - successes * self._success)
        log -= self._factorials[failures] - failures * self._failure
        sums = log.real + log.imag
        return np.asarray(np.exp(np.where(possible & (sums > -90), sums, -np.inf)))


def _split_logs(logs: Floats) -> NDArray[np.complex128]:
    """Split logs into multiples of 2^-26 as real parts, whose sums are exact, and the remainders as imaginary parts.

    The logarithm of a factorial is too large for a float to represent it to 1e-14, as differences of them require.
    """
    coarse = np.round(logs * 2.0**26) / 2.0**26
    return np.asarray(coarse + 1j * (logs - coarse))
