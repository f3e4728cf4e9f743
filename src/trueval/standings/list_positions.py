"""List positions: where judged documents stand in lists, by tie groups."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trueval.standings.groups import TieGroups, find_groups
from trueval.standings.judged_pool import JudgedPool
from trueval.standings.listed_rows import ListedRows, ListTotals, standings_of
from trueval.standings.matching import MatchedDocuments, list_of
from trueval.standings.standings import Floats, Ints, Standings
from trueval.standings.tie_order import TieOrder, count_ahead


class Lists(NamedTuple):
    """The lists of a run, one ragged list per query.

    Attributes:
        scores: [document] scores rounded to the tie precision, lists one after another.
        offsets: [list + 1] where each list starts.
        query: [list] index of the evaluated query; -1 for other queries.
    """

    scores: Floats
    offsets: Ints
    query: Ints


def count_lists(
    pool: JudgedPool,
    lists: Lists,
    groups: TieGroups,
    found: MatchedDocuments,
    order: TieOrder,
    *,
    depth: int | None = None,
) -> Standings:
    """Count above, tied and ahead for the judged documents found in lists.

    Args:
        pool: every judged document.
        lists: every listed document.
        groups: the tie groups of the lists.
        found: positions of the judged documents.
        order: tie order of the tie-broken value.
        depth: rank at which lists end.
    """
    owner = list_of(found.position, lists.offsets)
    score = lists.scores[found.position]
    of_row = find_groups(groups, owner, score, found.position)
    above = groups.start[of_row] - lists.offsets[owner]
    if depth is not None:  # documents past it in every order are not listed
        inside = above < depth
        found = MatchedDocuments(found.position[inside], found.judged[inside])
        owner, score, of_row, above = owner[inside], score[inside], of_row[inside], above[inside]
    ahead = count_ahead(groups, of_row, found.position, order)
    if order.open_from is not None:
        ahead[(groups.size[of_row] > 1) & (np.diff(lists.offsets)[owner] >= order.open_from)] = -1
    rows = ListedRows(found.judged, score, above, groups.size[of_row], ahead)
    return standings_of(pool, rows, _totals(groups, lists, len(pool.judged), depth), depth)


def _totals(groups: TieGroups, lists: Lists, queries: int, depth: int | None) -> ListTotals:
    """The length of each query's list, how much of it is tied, and its last group."""
    listed, tied, largest, above, last = (np.zeros(queries, dtype=np.int64) for _ in range(5))
    absent = np.ones(queries, dtype=bool)
    absent[lists.query[lists.query >= 0]] = False
    lengths = lists.offsets[1:] - lists.offsets[:-1]
    filled = lengths > 0
    some = (filled & (lists.query >= 0)).nonzero()[0]
    query = lists.query[some]
    listed[query] = lengths[some] if depth is None else np.minimum(lengths[some], depth)
    if len(groups.score):
        first = groups.first[:-1][filled]
        place = (filled.cumsum() - 1)[some]
        whole = inside = groups.size
        if depth is not None:
            left = depth - groups.start[:-1] + lists.offsets[:-1].repeat(np.diff(groups.first))
            whole, inside = np.where(left > 0, whole, 0), np.clip(left, 0, whole)
        tied[query] = np.add.reduceat(inside * (groups.size > 1), first)[place]
        largest[query] = np.maximum.reduceat(whole, first)[place]
        final = groups.first[1:][some] - 1
        last[query] = groups.size[final]
        above[query] = groups.start[final] - lists.offsets[:-1][some]
    return ListTotals(listed, tied, largest, above, last, absent)
