"""Rows: the judged documents that are listed, in any order, and the Standings that they make."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trueval.standings.judged_pool import JudgedPool
from trueval.standings.standings import Bools, Floats, Ints, Standings


class ListedRows(NamedTuple):
    """Judged documents that are listed, in any order.

    Attributes:
        judged: [row] index into the Pool.
        score: [row] as in Standings, and so are the others.
        above: [row]
        tied: [row]
        ahead: [row]
    """

    judged: Ints
    score: Floats
    above: Ints
    tied: Ints
    ahead: Ints

    def take(self, chosen: Bools) -> ListedRows:
        """Some of them."""
        judged, score, above, tied, ahead = self
        return ListedRows(judged[chosen], score[chosen], above[chosen], tied[chosen], ahead[chosen])


class ListTotals(NamedTuple):
    """What the list of each query is as a whole, as Standings have it too; 0 where nothing is listed.

    Attributes:
        listed: [query] documents, and so are the others.
        tied_documents: of them in groups of two or more.
        largest_group: documents in it, past the depth too.
        last_above: above the last group, whatever the depth.
        last_tied: in the last group.
        absent: whether the run lacks the query.
    """

    listed: Ints
    tied_documents: Ints
    largest_group: Ints
    last_above: Ints
    last_tied: Ints
    absent: Bools


def standings_of(pool: JudgedPool, found: ListedRows, totals: ListTotals, depth: int | None) -> Standings:
    """Standings of the judged documents that are listed, sorted as Standings are.

    Args:
        pool: every judged document.
        found: those that are listed.
        totals: of the lists.
        depth: lists end at this rank.
    """
    query, grade = pool.query[found.judged], pool.grade[found.judged]
    rows = np.lexsort((-grade, found.above, query))
    ranked = np.lexsort((-pool.grade, pool.query))
    listed = np.zeros(len(pool.grade), dtype=bool)
    listed[found.judged] = True
    return Standings(
        query[rows],
        grade[rows],
        found.above[rows],
        found.tied[rows],
        found.ahead[rows],
        found.score[rows],
        pool.query[ranked],
        pool.grade[ranked],
        pool.judged,
        *totals,
        item=pool.item[found.judged][rows],
        pool_item=pool.item[ranked],
        pool_listed=listed[ranked],
        depth=depth,
        facets=pool.facets,
    )
