"""Facets of documents as tables, and the greedy ideal ranking of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trueval.measures.measure import Measure
from trueval.measures.parameters import is_relevant
from trueval.standings.standings import Bools, Floats, Ints, Standings

# Gains closer than this are equal: they differ only by the order of summation.
SAME = 1e-12


class About(NamedTuple):
    """The facets to which the judged documents are relevant; judgments without facets have one.

    Attributes:
        pool: [pool, facet] whether the document is relevant to the facet; facets are numbered within each query.
        rows: [row, facet] the same for the documents that the run lists.
        facets: [query] number of facets with a relevant document, M.
        place: [pool] position of the document by descending id, for the ideal of ndeval; 0 without facets.
    """

    pool: Bools
    rows: Bools
    facets: Ints
    place: Ints


def about(standings: Standings, measure: Measure) -> About:
    """Find the facets to which every judged document is relevant, under the threshold `rel` of the measure."""
    if standings.facets is None:
        pool = is_relevant(standings.pool_grade, measure)[:, None]
        rows = is_relevant(standings.grade, measure)[:, None]
        found = (standings.sum_pool(pool[:, 0]) > 0).astype(np.int64)
        return About(pool, rows, found, np.zeros(len(pool), dtype=np.int64))
    relevant = np.flatnonzero(is_relevant(standings.facets.grade, measure))
    by_item = np.argsort(standings.pool_item)
    document = by_item[np.searchsorted(standings.pool_item, standings.facets.item[relevant], sorter=by_item)]
    query = standings.pool_query[document]
    number, count = _number_inside(query, standings.facets.facet[relevant], standings.queries)
    pool = np.zeros((len(standings.pool_item), max(int(count.max(initial=0)), 1)), dtype=bool)
    pool[document, number] = True
    rows = pool[by_item[np.searchsorted(standings.pool_item, standings.item, sorter=by_item)]]
    return About(pool, rows, count, standings.facets.place[standings.pool_item])


def _number_inside(query: Ints, facet: Ints, queries: int) -> tuple[Ints, Ints]:
    """[entry] index of the facet among those of its query, in order; [query] number of facets."""
    keys, entry = np.unique(np.stack((query, facet), axis=1), axis=0, return_inverse=True)
    owner = keys[:, 0]
    number = np.arange(len(keys)) - np.searchsorted(owner, owner)
    return number[entry.ravel()], np.bincount(owner, minlength=queries)


class FacetKinds(NamedTuple):
    """Documents of a set grouped by their facets; those without any are left out.

    Attributes:
        about: [kind, facet] 1 if documents of the kind are about the facet; kinds with earlier facets first.
        size: [kind] number of documents.
        of: [document] its kind; -1 for none.
    """

    about: Floats
    size: Ints
    of: Ints


def kinds_of(documents: Bools) -> FacetKinds:
    """Group documents, [document, facet], by their facets.

    >>> kinds_of(np.array([[False, True], [True, True], [False, False], [False, True]])).of.tolist()
    [1, 0, -1, 1]
    """
    some = np.flatnonzero(documents.any(axis=1))
    of = np.full(len(documents), -1)
    if not len(some):
        return FacetKinds(np.zeros((0, documents.shape[1])), np.zeros(0, dtype=np.int64), of)
    about, kind, count = np.unique(~documents[some], axis=0, return_inverse=True, return_counts=True)
    of[some] = kind.ravel()
    return FacetKinds((~about).astype(float), count, of)


class _FacetOrders(NamedTuple):
    """Positions of documents, grouped by kind and ascending within.

    Attributes:
        place: positions of the documents, kind by kind.
        start: [kind] start of its documents.
    """

    place: Ints
    start: Ints

    def at(self, kind: Ints, taken: Ints) -> Ints:
        """Position of the next document of some kinds, given the numbers already taken."""
        return np.asarray(self.place[self.start[kind] + taken[kind]])


def _in_turn(kinds: FacetKinds, place: Ints) -> _FacetOrders:
    some = np.flatnonzero(kinds.of >= 0)
    order = some[np.lexsort((place[some], kinds.of[some]))]
    return _FacetOrders(place[order], np.cumsum(kinds.size) - kinds.size)


def greedy_gains(kinds: FacetKinds, keep: float, length: int, place: Ints | None) -> Floats:
    """[rank] novelty gains of the ranking that takes, at every rank, the document with the largest gain.

    Args:
        kinds: the judged documents of a query.
        keep: factor that each document leaves of its facets' gains, 1 - alpha.
        length: number of ranks to fill.
        place: [document] breaks ties of gains, smallest first; None for kinds with earlier facets first.
    """
    left, taken = kinds.size.copy(), np.zeros_like(kinds.size)
    worth, gains = np.ones(kinds.about.shape[1]), []
    waiting = None if place is None else _in_turn(kinds, place)
    for _ in range(min(length, int(left.sum()))):
        gain = np.where(left > 0, kinds.about @ worth, -1.0)
        best = np.flatnonzero(gain >= gain.max() - SAME)
        kind = int(best[0] if waiting is None else best[np.argmin(waiting.at(best, taken))])
        gains.append(float(gain[kind]))
        left[kind], taken[kind] = left[kind] - 1, taken[kind] + 1
        worth = np.where(kinds.about[kind] > 0, worth * keep, worth)
    return np.array(gains)
