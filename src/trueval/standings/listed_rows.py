"""Rows: the judged documents that are listed, in any order, and the Standings made from them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trueval.standings.judged_pool import JudgedPool
from trueval.standings.standings import Bools, Floats, Ints, Standings


class ListedRows(NamedTuple):
    """Judged documents that are listed, in any order.

    Attributes:
        judged: [row] index into the pool.
        score: [row] score, as in Standings.
        above: [row] number of documents scored higher, as in Standings.
        tied: [row] number of documents with the same score, as in Standings.
        ahead: [row] number of tied documents before it, as in Standings.
    """

    judged: Ints
    score: Floats
    above: Ints
    tied: Ints
    ahead: Ints

    def take(self, chosen: Bools) -> ListedRows:
        """A selection of the rows."""
        judged, score, above, tied, ahead = self
        return ListedRows(judged[chosen], score[chosen], above[chosen], tied[chosen], ahead[chosen])


class ListTotals(NamedTuple):
    """Totals of each query's list, as in Standings; 0 where nothing is listed.

    Attributes:
        listed: [query] number of documents.
        tied_documents: [query] number of documents in groups of two or more.
        largest_group: [query] documents in the largest group, also past the depth.
        last_above: [query] documents above the last group, whatever the depth.
        last_tied: [query] documents in the last group.
        absent: [query] whether the run lacks the query.
    """

    listed: Ints
    tied_documents: Ints
    largest_group: Ints
    last_above: Ints
    last_tied: Ints
    absent: Bools


def standings_of(pool: JudgedPool, found: ListedRows, totals: ListTotals, depth: int | None) -> Standings:
    """Build Standings from the listed judged documents, sorted as Standings are.

    Args:
        pool: every judged document.
        totals: totals of the lists.
        depth: rank at which lists end.
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
