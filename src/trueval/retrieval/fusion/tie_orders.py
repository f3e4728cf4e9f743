"""Tie orders of a run: its lists as an engine that chooses differently among equal scores would return them.

All orders are enumerated for a query with few of them; otherwise some are drawn at random.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueval.numerics import round_to
from trueval.retrieval.fusion.ranked_lists import in_order
from trueval.run import Run
from trueval.standings.groups import TieGroups, starts_of, tie_groups

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class TieSpan(NamedTuple):
    """A group of equal scores in a list.

    Attributes:
        begin: position of its first document in the list, from 0.
        taken: number of its documents before the depth.
    """

    begin: int
    size: int
    taken: int


class TieOrderings:
    """Orders of the equal scores of a run, cut at a depth.

    Args:
        run: run that extends past the depth where there are more documents.
        depth: number of documents per list to keep; None for all.
        most: maximum number of orders to enumerate; a query with more gets random ones. 1 for random ones only.
        precision: precision in which scores are compared.

    Attributes:
        number: [query of the run] number of orders; 0 for more than `most`.
        cut: [query of the run] number of documents in the group that the depth cuts; 0 if it cuts none.

    >>> run = Run.of({"q": {"a": 2.0, "b": 1.0, "c": 1.0}})
    >>> orders = TieOrderings(run, 2, 10, None, np.random.default_rng(0))
    >>> [orders.at(draw).documents["doc_id"].to_list() for draw in range(2)]
    [['a', 'b'], ['a', 'c']]
    """

    def __init__(
        self, run: Run, depth: int | None, most: int, precision: str | float | None, rng: np.random.Generator
    ) -> None:
        self.run, self.depth, self.rng = run, depth, rng
        scores = run.documents["score"].to_numpy()
        groups = tie_groups(round_to(scores, precision), run.offsets)
        self.order, self.group = in_order(groups), np.arange(len(groups.size)).repeat(groups.size)
        # Scores equal in this precision are made equal for later stages, which would otherwise sort them again.
        self.score = np.maximum.reduceat(scores[self.order], groups.start[:-1])[self.group] if len(scores) else scores
        self.of_row = np.arange(len(run.query_ids)).repeat(np.diff(run.offsets))
        self.number = np.ones(len(run.query_ids), dtype=np.int64)
        self.cut = np.zeros(len(run.query_ids), dtype=np.int64)
        self._keys: dict[int, list[Ints]] = {}
        for query, spans in _spans(run, groups, depth).items():
            number = math.prod(math.perm(span.size, span.taken) for span in spans)
            self.number[query] = number if number <= most else 0
            self.cut[query] = max((span.size for span in spans if span.taken < span.size), default=0)
            if 1 < number <= most:
                size = int(run.offsets[query + 1] - run.offsets[query])
                ways = product(*(permutations(range(span.size), span.taken) for span in spans))
                self._keys[query] = [_key(size, spans, way) for way in ways]

    def at(self, draw: int) -> Run:
        """The run under the tie order of a draw, from 0; orders repeat after the last."""
        key = np.arange(len(self.order))
        random = (self.number == 0)[self.of_row]
        key[random] = self.rng.permutation(len(key))[random]
        for query, keys in self._keys.items():
            key[self.run.offsets[query] : self.run.offsets[query + 1]] = keys[draw % len(keys)]
        return self._cut(self.order[np.lexsort((key, self.group))], self.score)

    def as_listed(self) -> Run:
        """The run as it is."""
        return self._cut(self.order, self.run.documents["score"].to_numpy()[self.order])

    def _cut(self, order: Ints, score: Floats) -> Run:
        run, sizes = self.run, np.diff(self.run.offsets)
        documents = run.documents.select("doc_id")[order].with_columns(score=score)
        if self.depth is None:
            return replace(run, documents=documents)
        kept = np.arange(len(order)) - run.offsets[:-1].repeat(sizes) < self.depth
        return replace(run, documents=documents.filter(kept), offsets=starts_of(np.minimum(sizes, self.depth)))


def _spans(run: Run, groups: TieGroups, depth: int | None) -> dict[int, list[TieSpan]]:
    """Query → its groups of several documents that begin above the depth."""
    found: dict[int, list[TieSpan]] = {}
    many = np.flatnonzero(groups.size > 1)
    query = run.offsets.searchsorted(groups.start[many], side="right") - 1
    begin = groups.start[many] - run.offsets[query]
    for at, first, size in zip(query.tolist(), begin.tolist(), groups.size[many].tolist(), strict=True):
        if depth is None or first < depth:
            taken = size if depth is None else min(size, depth - first)
            found.setdefault(at, []).append(TieSpan(first, size, taken))
    return found


def _key(documents: int, spans: Sequence[TieSpan], way: Sequence[Sequence[int]]) -> Ints:
    """[document of the list] sort key that puts the chosen documents of each group first, in their order."""
    key = np.zeros(documents, dtype=np.int64)
    for span, chosen in zip(spans, way, strict=True):
        key[span.begin : span.begin + span.size] = span.taken
        key[span.begin + np.array(chosen, dtype=np.int64)] = np.arange(span.taken)
    return key
