"""Sums of precisions at the ranks of relevant documents per tie group: the numerator of average precision.

Letters as in docs/formulas.md §3, per tie group with a relevant document: c documents above, m in it, r of them
relevant, R relevant above, T = min(m, max(0, k - c)) of its ranks within the cutoff, a_t = 1 / (c + t) or 0 past T.

Given n relevant documents in the first t - 1 ranks of a group, a relevant rather than another document at rank t raises
the group's expectation by D_t(n), a sum of two nonnegative parts; so every term of the variance is nonnegative::

    mean     (r/m) sum over t of a_t [R + 1 + (t-1) (r-1) / (m-1)]
    D_t(n)   (R + 1 + n) x_t + (r - 1 - n) y_t
    variance sum over t of E[p (1-p) D_t(n)^2],   p = (r-n) / (m-t+1)

    x_t  mean of a_t - a_s over the M = m - t ranks s > t,   X_t = M x_t = sum over s >= t of (m-s) (a_s - a_{s+1})
    y_t  excess of the mean of a over these ranks above one with weights rising as 0, 1, 2, ..,
         y_t M (M-1) = sum over s > t of X_s

Weighted with p (1-p), n is hypergeometric: r - 1 of m - 2 documents, t - 1 drawn. Nothing cancels, so that groups deep
in the list, where all a_t are nearly equal, keep their digits. Derived here; checked against all orders.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trueval.measures.orders.blocks import blocks
from trueval.measures.parameters import relevant_by_group
from trueval.standings.standings import Bools, Floats, Ints, Standings, sum_by

# Maximum terms of a block of groups, groups times ranks.
BLOCK = 1 << 20
# Terms of a chunk of ranks: 128 KiB per array. With many groups a chunk has a minimum number of ranks, to limit the
# cost of steps.
PIECE = 1 << 14
LEAST_RANKS = 256


class RelevantGroups(NamedTuple):
    """The tie groups that hold a relevant document, in order of query and rank.

    Attributes:
        query: [group] index of the query.
        above: [group] c, number of documents above.
        tied: [group] m, number of documents.
        relevant: [group] r >= 1, number of relevant documents.
        relevant_above: [group] R, number of relevant documents above.
        within: [group] T, number of ranks within the cutoff.
    """

    query: Ints
    above: Ints
    tied: Ints
    relevant: Ints
    relevant_above: Ints
    within: Ints

    def take(self, chosen: Ints | Bools) -> RelevantGroups:
        """Some of the groups."""
        return RelevantGroups(*(column[chosen] for column in self))


def relevant_groups(standings: Standings, relevant: Bools, last: int) -> RelevantGroups:
    """Find the tie groups with a relevant document; `last` is the last rank that counts."""
    groups = standings.groups
    counts = relevant_by_group(standings, relevant)
    some = np.flatnonzero(counts)
    query, above, tied, counts = groups.query[some], groups.above[some], groups.tied[some], counts[some]
    total = np.cumsum(counts) - counts
    heads = np.searchsorted(query, query)
    within = np.minimum(tied, np.maximum(last - above, 0))
    return RelevantGroups(query, above, tied, counts, total - total[heads], within)


def sums_together(groups: RelevantGroups, before: Ints, last: int) -> Floats:
    """[group] sum of precisions if its relevant documents come together, right after rank `before`."""
    if len(before) > 1 and groups.relevant.sum() > BLOCK:
        found = np.zeros(len(before))
        for block in blocks(groups.relevant, BLOCK):
            found[block] = sums_together(groups.take(block), before[block], last)
        return found
    group = np.repeat(np.arange(len(before)), groups.relevant)
    index = np.arange(len(group)) - (np.cumsum(groups.relevant) - groups.relevant)[group] + 1
    rank = before[group] + index
    precision = np.where(rank <= last, (groups.relevant_above[group] + index) / rank, 0.0)
    return sum_by(group, precision, len(before))


class SumMoments(NamedTuple):
    """Mean and variance of some sums."""

    mean: Floats
    variance: Floats


def moments(groups: RelevantGroups) -> SumMoments:
    """[group] mean and variance of its sum of precisions."""
    found = SumMoments(np.zeros(len(groups.within)), np.zeros(len(groups.within)))
    for chosen, of_block in ((groups.relevant == 1, _single_moments), (groups.relevant > 1, _block_moments)):
        some = np.flatnonzero(chosen)
        for block in blocks(groups.within[some], BLOCK):
            own = groups.take(some[block])
            found.mean[some[block]], found.variance[some[block]] = of_block(own, int(own.within.max()))
    return found


def _single_moments(groups: RelevantGroups, width: int) -> SumMoments:
    """As _block_moments for r = 1: one relevant document, at each rank with probability 1 / m."""
    t = np.arange(1, width + 1, dtype=float)
    above, within, tied = groups.above[:, None], groups.within[:, None], groups.tied
    inside, share, first = t <= within, groups.within / tied, 1 / (groups.above + 1.0)
    # a_1 - a_t, of numbers that may be nearly equal.
    lost = np.where(inside, (t - 1) / (above + t), 0.0) * first[:, None]
    mean_lost = lost.sum(axis=1) / np.maximum(groups.within, 1)
    squares = np.where(inside, (lost - mean_lost[:, None]) ** 2, 0.0).sum(axis=1)
    mean, alpha = first - mean_lost, groups.relevant_above + 1.0
    return SumMoments(alpha * mean * share, alpha**2 * (squares / tied + mean**2 * share * (1 - share)))


def _block_moments(groups: RelevantGroups, width: int) -> SumMoments:
    """[group] mean and variance over the ranks t = 1 .. width; letters as above.

    Ranks are processed from the last one up in chunks that stay in the processor's cache, since X and Y are sums over
    later ranks. They are used in place of x = X / M and y = Y / M (M-1), with the divisions of D_t^2 and of p (1-p)
    done last. Beyond its last rank a group has X = Y = 0, so their factors there only need to be finite.
    """
    c, m, T = groups.above[:, None], groups.tied[:, None].astype(float), groups.within[:, None]
    r, alpha = groups.relevant[:, None].astype(float), groups.relevant_above[:, None] + 1.0
    share, others = groups.relevant / groups.tied, np.maximum(m - 2, 1)
    weights, later, squares, behind, behind_all = np.zeros((5, len(groups.tied)))
    step = max(PIECE // len(groups.tied), LEAST_RANKS)
    for begin in reversed(range(0, width, step)):
        t = np.arange(begin + 1, min(begin + step, width) + 1, dtype=float)
        rank, rest = c + t, m - t
        a = (t <= T) / rank
        weights += a.sum(axis=1)
        later += np.einsum("ij,j->i", a, t - 1)
        rank += 1
        x = a / rank
        ends = np.flatnonzero((groups.within > begin) & (groups.within <= begin + step))
        last = groups.within[ends] - 1 - begin
        x[ends, last] = a[ends, last]  # the rank after the last that counts contributes nothing
        x *= rest
        x[:, -1] += behind
        np.cumsum(x[:, ::-1], axis=1, out=x[:, ::-1])
        y = a
        y[:, -1] = behind_all
        y[:, :-1] = x[:, 1:]
        np.cumsum(y[:, ::-1], axis=1, out=y[:, ::-1])
        behind, behind_all = x[:, 0].copy(), y[:, 0] + x[:, 0]
        below = rest - 1
        y /= np.maximum(below, 1)
        x -= y
        raised = (r - 1) / others * (t - 1)
        raised += alpha
        raised *= x
        y *= alpha + (r - 1)
        raised += y
        raised *= raised
        x *= x
        below *= t - 1
        below *= (r - 1) * (m - r - 1) / (others**2 * np.maximum(m - 3, 1))
        x *= below
        raised += x
        raised /= np.maximum(rest * (rest + 1), 1)
        squares += raised.sum(axis=1)
    before = (groups.relevant - 1) / np.maximum(groups.tied - 1, 1) * later
    mean = share * (alpha[:, 0] * weights + before)
    chance = share * (groups.tied - groups.relevant) / np.maximum(groups.tied - 1, 1)
    return SumMoments(mean, chance * squares)


def tie_broken_sum(standings: Standings, relevant: Bools, last: int) -> Floats:
    """[query] sum of precisions under the tie order."""
    rows = standings.by_tie_broken_rank[relevant[standings.by_tie_broken_rank]]
    query, rank = standings.query[rows], standings.tie_broken_rank[rows]
    index = np.arange(len(rows)) - np.searchsorted(query, query) + 1
    precision = np.where(rank <= last, index / rank, 0.0)
    return sum_by(query, precision, standings.queries)


def tie_broken_hits(standings: Standings, relevant: Bools, last: int) -> Floats:
    """[query] number of relevant documents within the last rank under the tie order."""
    return standings.sum_by_query(relevant & (standings.tie_broken_rank <= last))
