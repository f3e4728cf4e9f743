"""The first tie group with a relevant document, on which RR and Success depend."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trueval.measures.measure import Measure
from trueval.measures.parameters import is_relevant, relevant_by_group
from trueval.standings.groups import differs_from_last
from trueval.standings.standings import NO_LIMIT, Ints, Standings


class FirstRelevant(NamedTuple):
    """The first group with a relevant document, for every query that has one.

    Attributes:
        query: [group] index of the query.
        above: [group] c, number of documents above the group.
        tied: [group] m, number of documents in it.
        relevant: [group] r >= 1, number of relevant documents in it.
    """

    query: Ints
    above: Ints
    tied: Ints
    relevant: Ints

    def take(self, chosen: Ints) -> FirstRelevant:
        """Some of the groups."""
        return FirstRelevant(*(column[chosen] for column in self))


def first_relevant(standings: Standings, measure: Measure) -> FirstRelevant:
    """Find the first group with a relevant document of each query."""
    groups = standings.groups
    relevant = relevant_by_group(standings, is_relevant(standings.grade, measure))
    some = relevant.nonzero()[0]
    query = groups.query[some]
    new = differs_from_last(query)
    group = some[new]
    return FirstRelevant(query[new], groups.above[group], groups.tied[group], relevant[group])


def first_relevant_rank(standings: Standings, measure: Measure) -> Ints:
    """[query] rank of the first relevant document under the tie order; NO_LIMIT if none is listed."""
    rank = np.full(standings.queries, NO_LIMIT)
    rows = is_relevant(standings.grade, measure)
    np.minimum.at(rank, standings.query[rows], standings.tie_broken_rank[rows])
    return rank
