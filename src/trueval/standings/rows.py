"""Rows: the judged documents that are listed, in any order, and the Standings that they make."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trueval.standings.pool import Pool
from trueval.standings.standings import Bools, Floats, Ints, Standings


class Rows(NamedTuple):
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

    def take(self, chosen: Bools) -> Rows:
        """Some of them."""
        judged, score, above, tied, ahead = self
        return Rows(judged[chosen], score[chosen], above[chosen], tied[chosen], ahead[chosen])


def standings_of(pool: Pool, found: Rows, lists: tuple[Ints, Ints, Ints, Ints, Ints], depth: int | None) -> Standings:
    """Standings of the judged documents that are listed, sorted as Standings are.

    Args:
        pool: every judged document.
        found: those that are listed.
        lists: [query] listed, tied_documents, largest_group, last_above and last_tied of Standings.
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
        *lists,
        item=pool.item[found.judged][rows],
        pool_item=pool.item[ranked],
        pool_listed=listed[ranked],
        depth=depth,
        facets=pool.facets,
    )
