"""Sums of precisions at the ranks of relevant documents, group by group: what average precision divides.

Letters as in docs/formulas.md §3, per tie group with a relevant document: c documents above, m in it, r of them
relevant, R relevant above, T = min(m, max(0, k - c)) of its ranks within the cutoff.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from trueval.measures.parameters import relevant_by_group
from trueval.standings.standings import Bools, Floats, Ints, Standings, sum_by

# Terms computed at once, groups times ranks: 8 MiB per array.
BLOCK = 1 << 20


class RelevantGroups(NamedTuple):
    """The tie groups that hold a relevant document, in order of query and rank.

    Attributes:
        query: [group] index of the query.
        above: [group] c.
        tied: [group] m.
        relevant: [group] r >= 1.
        relevant_above: [group] R.
        within: [group] T.
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


def sum_precisions(groups: RelevantGroups, before: Ints, queries: int, last: int) -> Floats:
    """[query] sum of precisions when each group's relevant documents stand together, right after rank `before`."""
    group = np.repeat(np.arange(len(before)), groups.relevant)
    index = np.arange(len(group)) - np.repeat(np.cumsum(groups.relevant) - groups.relevant, groups.relevant) + 1
    rank = before[group] + index
    precision = np.where(rank <= last, (groups.relevant_above[group] + index) / rank, 0.0)
    return sum_by(groups.query[group], precision, queries)


def expected_shares(groups: RelevantGroups) -> Floats:
    """[group] E of its sum of precisions: (r/m) [(R+1) h + b (T - (c+1) h)], h = H(c+T) - H(c), b = (r-1)/(m-1)."""
    harmonic = harmonic_numbers(int((groups.above + groups.within).max(initial=0)))
    above, within = np.minimum(groups.above, len(harmonic) - 1), groups.within
    h = np.where(within > 0, harmonic[np.minimum(above + within, len(harmonic) - 1)] - harmonic[above], 0.0)
    b = (groups.relevant - 1) / np.maximum(groups.tied - 1, 1)
    inner = (groups.relevant_above + 1) * h + b * (within - (groups.above + 1) * h)
    shares: Floats = groups.relevant / groups.tied * inner
    return shares


def harmonic_numbers(last: int) -> Floats:
    """H(0) .. H(last), H(n) = 1 + 1/2 + ... + 1/n.

    >>> harmonic_numbers(2).tolist()
    [0.0, 1.0, 1.5]
    """
    return np.cumsum(np.concatenate(([0.0], 1 / np.arange(1, last + 1))))


def variances(groups: RelevantGroups) -> Floats:
    """[group] variance of its sum of precisions, in blocks of groups of like size."""
    variance = np.zeros(len(groups.within))
    for chosen, of_block in ((groups.relevant == 1, _single_variances), (groups.relevant > 1, _block_variances)):
        for block in _blocks(groups.within, np.flatnonzero(chosen)):
            variance[block] = of_block(groups.take(block), int(groups.within[block[-1]]))
    return variance


def _blocks(within: Ints, chosen: Ints) -> Iterator[Ints]:
    """Cut some groups into blocks, each with its largest group last."""
    order = chosen[np.argsort(within[chosen], kind="stable")]
    end = len(order)
    while end > 0:
        begin = max(0, end - max(1, BLOCK // max(1, int(within[order[end - 1]]))))
        yield order[begin:end]
        end = begin


def _single_variances(groups: RelevantGroups, width: int) -> Floats:
    """As _block_variances where r = 1: one relevant document, which stands at each rank with chance 1 / m."""
    t = np.arange(1, width + 1, dtype=float)[None, :]
    a = np.where(t <= groups.within[:, None], 1.0 / (groups.above[:, None] + t), 0.0)
    alpha, chance = groups.relevant_above + 1.0, 1 / groups.tied
    mean, second = alpha * chance * a.sum(axis=1), alpha**2 * (chance * (a * a).sum(axis=1))
    variance: Floats = np.maximum(second - mean**2, 0)
    return variance


def _block_variances(groups: RelevantGroups, width: int) -> Floats:
    """[group] E[S^2] - E[S]^2 with the second moment of docs/formulas.md §3, all ranks t = 1 .. width at once.

    a_t = 1 / (c + t), mu_j = r (r-1) .. (r-j+1) / (m (m-1) .. (m-j+1)), alpha = R + 1.
    """
    t = np.arange(1, width + 1, dtype=float)[None, :]
    a = np.where(t <= groups.within[:, None], 1.0 / (groups.above[:, None] + t), 0.0)
    before = np.zeros_like(a)
    np.cumsum(a[:, :-1], axis=1, out=before[:, 1:])
    weighted = np.zeros_like(a)
    np.cumsum((a * (t - 1))[:, :-1], axis=1, out=weighted[:, 1:])
    total, squares = a.sum(axis=1), (a * a).sum(axis=1)
    b, q1 = (a * (t - 1)).sum(axis=1), (a * a * (t - 1)).sum(axis=1)
    q2 = (a * before).sum(axis=1)
    c, d = (a * weighted).sum(axis=1), (a * (t - 3) * weighted).sum(axis=1)
    mu1, mu2, mu3, mu4 = _falling_ratios(groups.relevant, groups.tied)
    alpha = groups.relevant_above + 1.0
    mean = alpha * mu1 * total + mu2 * b
    second = alpha**2 * (mu1 * squares + mu2 * (total**2 - squares))
    second += 2 * alpha * (mu2 * (q1 + q2) + mu3 * (total * b - q1 - q2))
    second += mu2 * q1 + mu3 * (a * a * (t - 1) * (t - 2)).sum(axis=1) + 4 * mu3 * c + 2 * mu4 * d
    variance: Floats = np.maximum(second - mean**2, 0)
    return variance


def _falling_ratios(relevant: Ints, tied: Ints) -> tuple[Floats, Floats, Floats, Floats]:
    """[group] mu_1 .. mu_4: the chance that j given places of a group all hold relevant documents."""
    mu1 = relevant / tied
    mu2 = mu1 * (relevant - 1) / np.maximum(tied - 1, 1)
    mu3 = mu2 * np.maximum(relevant - 2, 0) / np.maximum(tied - 2, 1)
    mu4 = mu3 * np.maximum(relevant - 3, 0) / np.maximum(tied - 3, 1)
    return mu1, mu2, mu3, mu4


def oblivious_sum(standings: Standings, relevant: Bools, last: int) -> Floats:
    """[query] sum of precisions under the tie order."""
    rows = standings.by_oblivious_rank[relevant[standings.by_oblivious_rank]]
    query, rank = standings.query[rows], standings.oblivious_rank[rows]
    index = np.arange(len(rows)) - np.searchsorted(query, query) + 1
    precision = np.where(rank <= last, index / rank, 0.0)
    return sum_by(query, precision, standings.queries)


def oblivious_hits(standings: Standings, relevant: Bools, last: int) -> Floats:
    """[query] relevant documents within the last rank under the tie order."""
    return standings.sum_by_query(relevant & (standings.oblivious_rank <= last))
