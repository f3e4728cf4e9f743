"""The chance that no precision at a relevant document of one tie group is above a value.

The j-th relevant document of a group is at offset p_j of its m ranks; its precision (R + j) / (c + p_j) is at most
v from an offset b_j on. So p_j >= b_j is asked for every j that counts. Were each rank relevant by itself with chance
rho = r / m, what the ranks after p hold would not depend on those before; to ask for r relevant ones in all then makes
every choice of ranks equally likely again::

    B_j(p)     = chance that ranks p + 1 .. m hold r - j relevant documents, each in a place that is allowed
    B_{j-1}(p) = rho B_j(p+1) [p+1 >= b_j] + (1 - rho) B_{j-1}(p+1)
    chance     = sum over p >= b_k of P(p holds the k-th) B_k(p) / P(r in all),   k the first that counts

Past the last rank T on which a precision can be above v, B is a binomial chance. E(q) = B(T - q) / (1 - rho)^q makes
the second line a running sum, nothing cancels, and one pass from j = r down serves every k, so all levels of recall.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from trueval.standings.standings import Floats, Ints

# Places held at once, values times ranks: 512 KiB: so that they stay near the processor.
BLOCK = 1 << 16
# Values go together if they have at least this part of the most ranks of them, or so few places that it costs nothing.
ALIKE = 0.75
FEW = 1 << 13
# A running sum starts anew before powers of 1 - rho reach e to minus this, well inside what a float can hold.
SPAN = 600.0
# Ranks past which some precision is above a value with no larger chance than this are left out, where there are many.
NEGLIGIBLE = 1e-15
MANY_RANKS = 1024
# Values and blocks of ranks at which that chance is bounded.
SAMPLES = 128
STRETCHES = 512


class Group(NamedTuple):
    """A tie group, in the letters of docs/formulas.md §3.

    Attributes:
        above: c, documents above it.
        tied: m.
        relevant: r, 1 .. m - 1.
        relevant_above: R.
        within: T, its ranks that count.
    """

    above: int
    tied: int
    relevant: int
    relevant_above: int
    within: int

    def ranks_above(self, values: Floats) -> Ints:
        """[value] ranks on which some precision can be above it."""
        return self.places_above(self.relevant, self.within, values)

    def places_above(self, found: int | Ints, ranks: int, values: Floats) -> Ints:
        """[value] how many of the first ranks give relevant document `found` of the group a precision above it."""
        hits = np.asarray(self.relevant_above + found, dtype=float)
        with np.errstate(divide="ignore"):
            count = np.clip(np.floor(hits / values) - self.above, 0, ranks)
        # The floor of a rounded quotient can be one off; what counts is how the precision itself rounds.
        count += (count < ranks) & (hits / (self.above + count + 1) > values)
        count -= (count > 0) & (hits / np.maximum(self.above + count, 1) <= values)
        return np.asarray(count, dtype=np.int64)

    def horizon(self, values: Floats) -> Ints:
        """[value] ranks that decide whether a precision is above it: those later hardly ever do. Values ascend."""
        ranks = self.ranks_above(values)
        if not len(values) or ranks[0] <= MANY_RANKS:
            return ranks
        at = np.unique(np.linspace(0, len(values) - 1, SAMPLES).astype(np.int64))
        edges = np.unique(np.geomspace(1, ranks[0], STRETCHES).astype(np.int64))
        rare = np.cumsum(self._passing(edges, values[at])[:, ::-1], axis=1)[:, ::-1] <= NEGLIGIBLE
        last = np.where(rare.any(axis=1), edges[np.argmax(rare, axis=1)], ranks[0])
        # From the next lower sample, whose precisions are passed on more ranks.
        return np.asarray(np.minimum(ranks, last[np.searchsorted(at, np.arange(len(values)), side="right") - 1]))

    def _passing(self, edges: Ints, values: Floats) -> Floats:
        """[value, stretch] bound of the chance that a precision between two edges is above it.

        It needs x relevant documents by the second edge n, x = v (c + first edge) - R. A hypergeometric number is that
        large with a chance of at most exp(-n KL(x/n, rho)), as a binomial one is: Hoeffding 1963, theorems 1 and 4.
        """
        rho, size = self.relevant / self.tied, edges[1:].astype(float)
        share = (values[:, None] * (self.above + edges[:-1]) - self.relevant_above) / size
        x = np.clip(share, rho, 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            divergence = x * np.log(x / rho) + np.where(x < 1, (1 - x) * np.log((1 - x) / (1 - rho)), 0.0)
        return np.asarray(np.where(share > 1, 0.0, np.exp(-size * divergence)))

    def steps(self, first: int, values: Floats) -> Floats:
        """[value] ranks times relevant documents that its chance goes through, from number `first` of the latter on."""
        if self.relevant == 1:
            return np.ones(len(values))
        ranks = self.horizon(values)
        return np.asarray(ranks * np.maximum(self.most_found(ranks, values) - first + 1, 1.0))

    def most_found(self, ranks: Ints, values: Floats) -> Floats:
        """[value] relevant documents that fit into so many ranks with no precision above it, or one more."""
        return np.asarray(np.clip(np.floor(values * (self.above + ranks)) - self.relevant_above + 1, 0, self.relevant))

    def candidates(self, first: int, floor: float) -> Floats:
        """The distinct precisions above a floor of its relevant documents from number `first` on, ascending."""
        ranks = int(self.ranks_above(np.array([floor]))[0])
        found = self.relevant_above + np.arange(first, self.relevant + 1.0)[:, None]
        offset = np.arange(1, ranks + 1)
        precision = found / (self.above + offset)
        possible = found - self.relevant_above <= offset
        return np.unique(precision[possible & (precision > floor)])


def chances_at_most(group: Group, firsts: Ints, values: Floats) -> Floats:
    """[first, value] the chance that no precision from relevant document `first` of the group on is above a value.

    Args:
        group: with both relevant and other documents.
        firsts: numbers of relevant documents of the group, 1 .. r, ascending.
        values: ascending.

    >>> chances_at_most(Group(0, 2, 1, 0, 2), np.array([1]), np.array([0.4, 0.5, 1.0])).tolist()
    [[0.0, 0.5, 1.0]]
    """
    if group.relevant == 1:
        return np.asarray(1 - group.ranks_above(values)[None, :] / group.tied)
    ranks = group.horizon(values)
    chances = np.ones((len(firsts), len(values)))
    begin = 0
    while begin < len(values) and ranks[begin] > 0:
        # Larger values are passed on fewer ranks: those with nearly as many share a matrix.
        alike = int(np.searchsorted(-ranks, -ALIKE * ranks[begin], side="right"))
        most = int(ranks[begin])
        end = min(max(alike, begin + FEW // most), begin + max(1, BLOCK // most), len(values))
        chances[:, begin:end] = _block(group, firsts.tolist(), values[begin:end], most)
        begin = end
    return np.minimum(chances, 1.0)


def _block(group: Group, firsts: list[int], values: Floats, last: int) -> Floats:
    """The chances for values that nothing past rank `last` of the group can pass."""
    relevant, rho = group.relevant, group.relevant / group.tied
    keep, after = 1 - rho, binomial(group.tied - last, rho, relevant)
    # E(q) is B over a power of keep, which no float could hold on a long way: the powers start anew at some columns.
    starts = [*range(0, last + 1, max(1, int(-SPAN / math.log(keep)))), last + 1]
    powers = np.concatenate([keep ** np.arange(float(end - begin)) for begin, end in pairwise(starts)])
    heads = np.repeat(keep ** np.array(starts[:-1], dtype=float), np.diff(starts))
    most = int(group.most_found(np.array([last]), values[-1:])[0])
    left = np.tile(after[relevant - most] * heads, (len(values), 1))
    chances = np.zeros((len(firsts), len(values)))
    barred = last - group.places_above(np.arange(firsts[0], most + 1)[:, None], last, values)
    stretches = zip(barred.min(axis=1).tolist(), barred.max(axis=1).tolist(), strict=True)
    column = np.arange(last)
    for j, (begin, reach) in reversed(list(enumerate(stretches, firsts[0]))):
        # Column q is rank last - q: those on which the j-th would have a precision above the value are barred.
        np.copyto(left[:, begin:reach], 0.0, where=column[begin:reach] >= barred[j - firsts[0], :, None])
        if j in firsts:
            placed = rho * binomial_by_size(j - 1, last - reach, last - 1, rho)[::-1]
            chances[firsts.index(j)] = left[:, :reach] @ (placed * powers[:reach])
        left = _one_earlier(left, reach, after[relevant - j + 1], rho, starts)
    beyond = np.cumsum(binomial(last, rho, relevant) * after[::-1])
    chances += beyond[np.array(firsts) - 1, None]
    return np.asarray(chances / beyond[-1])


def _one_earlier(left: Floats, reach: int, alone: float, rho: float, starts: list[int]) -> Floats:
    """[value, q] E for one relevant document less, from E of which only the first `reach` columns count."""
    earlier = np.empty_like(left)
    earlier[:, 0] = alone
    for begin, end in pairwise(starts):
        stop = min(max(reach + 1, begin + 1), end)
        part = earlier[:, begin:stop]
        np.multiply(left[:, begin : stop - 1], rho / (1 - rho), out=part[:, 1:])
        np.cumsum(part, axis=1, out=part)
        earlier[:, stop:end] = part[:, -1:]
        if end < left.shape[1]:  # into the next stretch, in units of its own first power
            step = part[:, -1] + (left[:, end - 1] * (rho / (1 - rho)) if end <= reach else 0.0)
            earlier[:, end] = step * (1 - rho) ** (end - begin)
    return earlier


def binomial(size: int, chance: float, most: int) -> Floats:
    """[k = 0 .. most] the chance of k successes; found outward from the most likely k, then divided by the sum.

    >>> binomial(2, 0.5, 3).tolist()
    [0.25, 0.5, 0.25, 0.0]
    """
    mode = min(int((size + 1) * chance), size)
    # Past 40 standard deviations and 400 more, nothing is left that a float can hold beside the rest.
    end = min(size, max(most, mode + 400 + int(40 * math.sqrt(size * chance))))
    k = np.arange(end, dtype=float)
    ratios = (size - k) / (k + 1) * (chance / (1 - chance))
    down = np.cumprod(1 / ratios[:mode][::-1])[::-1]
    pmf = np.concatenate((down, [1.0], np.cumprod(ratios[mode:])))
    pmf /= pmf.sum()
    return np.concatenate((pmf[: most + 1], np.zeros(max(0, most - size))))


def binomial_by_size(successes: int, first: int, last: int, chance: float) -> Floats:
    """[n = first .. last] the chance of so many successes among n; found outward from the n that makes it largest.

    >>> binomial_by_size(1, 0, 2, 0.5).tolist()
    [0.0, 0.5, 0.5]
    """
    least = max(first, successes)
    if least > last:
        return np.zeros(max(0, last - first + 1))
    peak = min(max(int(successes / chance), least), last)
    n = np.arange(least, last, dtype=float)
    ratios = (n + 1) * (1 - chance) / (n + 1 - successes)
    down = np.cumprod(1 / ratios[: peak - least][::-1])[::-1]
    pmf = np.concatenate((down, [1.0], np.cumprod(ratios[peak - least :])))
    return np.concatenate((np.zeros(least - first), pmf * binomial(peak, chance, successes)[successes]))
