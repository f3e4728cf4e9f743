"""Cutoffs: the tie groups at the end of a context, and the probabilities of their documents.

A call for k documents cuts the list after rank k. If the document at rank k has the score of others, the engine chooses
which of them enter. With `above` documents scored higher and `size` of the score at the cutoff, itself included,
`slots` = k - above of these enter, and under a uniformly random choice each does with probability

    slots / size                                 1 above the group, 0 below it

so that there are C = binomial(size, slots) different contexts, two independent calls share

    (above + slots^2 / size) / k                 of their documents on average (hypergeometric)

and R calls are all the same with probability C^(1 - R).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trueval.numerics import round_to
from trueval.retrieval.fusion.ranked_lists import in_order
from trueval.run import Run
from trueval.standings.groups import members_of, tie_groups

Bools = NDArray[np.bool_]


class CutoffGroup(NamedTuple):
    """The tie group at the cutoff.

    Attributes:
        query: id of the query.
        place: index of the query in the run.
        above: number of documents scored higher.
        documents: documents of the group, in the best known order.
        slots: number of them that enter the context.
        open: whether the list ends inside the group, which may then hold more documents.
    """

    query: str
    place: int
    above: int
    documents: tuple[str, ...]
    slots: int
    score: float
    open: bool

    @property
    def size(self) -> int:
        """Number of known documents in the group."""
        return len(self.documents)

    @property
    def inside(self) -> bool:
        """Whether some documents of the group enter and others do not, as far as known."""
        return self.slots < self.size

    @property
    def chance(self) -> float:
        """Probability that a document of the group enters."""
        return self.slots / self.size

    @property
    def contexts(self) -> int:
        """Number of possible contexts."""
        return math.comb(self.size, self.slots)

    @property
    def overlap(self) -> float:
        """Expected share of the context that two independent calls have in common."""
        return (self.above + self.slots**2 / self.size) / (self.above + self.slots)

    def chance_to_differ(self, calls: int) -> float:
        """Probability that some of several calls differ, where each chooses at random.

        >>> CutoffGroup("q", 0, 1, ("a", "b"), 1, 0.5, False).chance_to_differ(2)
        0.5
        """
        return 1.0 - float(self.contexts) ** (1 - calls) if self.contexts < 1e300 else float(calls > 1)


def find_cuts(run: Run, k: int, unfinished: Bools, precision: str | float | None = None) -> tuple[CutoffGroup, ...]:
    """The cuts of a run at k: those inside a group, and those of lists that end in the group at the cutoff.

    Args:
        run: lists that go past k where there is more.
        k: number of documents in a context.
        unfinished: [query] whether there may be more documents than listed.
        precision: precision in which scores are compared; None for as they are.
    """
    scores = round_to(run.documents["score"].to_numpy(), precision)
    groups = tie_groups(scores, run.offsets)
    listed = np.diff(run.offsets)
    full = np.flatnonzero(listed >= k)
    group = groups.start.searchsorted(run.offsets[full] + k - 1, side="right") - 1
    above = groups.start[group] - run.offsets[full]
    end = above + groups.size[group]
    is_open = unfinished[full] & (end == listed[full])
    wanted = np.flatnonzero((end > k) | is_open)
    members = members_of(groups, group[wanted])
    ids = run.documents["doc_id"][members.position].to_list()
    queries = run.query_ids[full[wanted]].to_list()
    return tuple(
        CutoffGroup(
            queries[at],
            int(full[one]),
            int(above[one]),
            tuple(ids[members.offsets[at] : members.offsets[at + 1]]),
            k - int(above[one]),
            float(groups.score[group[one]]),
            bool(is_open[one]),
        )
        for at, one in enumerate(wanted.tolist())
    )


def chances(run: Run, k: int, cuts: Iterable[CutoffGroup]) -> pl.DataFrame:
    """The documents that can be among the first k, with their probabilities: query_id, doc_id, score, chance.

    Args:
        run: lists that go past k where there is more.
        k: number of documents in a context.
        cuts: cuts of this run at k.

    >>> run = Run.of({"q": {"a": 3.0, "b": 2.0, "c": 2.0}})
    >>> chances(run, 2, find_cuts(run, 2, np.array([False])))["chance"].to_list()
    [1.0, 0.5, 0.5]
    """
    sizes = np.diff(run.offsets)
    above, reach = np.minimum(sizes, k), np.minimum(sizes, k)
    share = np.ones(len(sizes))
    for cut in cuts:
        above[cut.place], reach[cut.place], share[cut.place] = cut.above, cut.above + cut.size, cut.chance
    order = in_order(tie_groups(run.documents["score"].to_numpy(), run.offsets))
    of_row = np.arange(len(sizes)).repeat(sizes)
    rank = np.arange(len(of_row)) - run.offsets[:-1].repeat(sizes)
    chance = np.where(rank < above[of_row], 1.0, share[of_row])
    frame = run.documents[order].select("doc_id", "score").with_columns(chance=chance)
    frame = frame.with_columns(query_id=run.query_ids[of_row])
    return frame.filter(pl.Series(rank < reach[of_row])).select("query_id", "doc_id", "score", "chance")


def documents_of(cuts: Sequence[CutoffGroup]) -> dict[int, frozenset[str]]:
    """Index of a query → documents of the group at its cutoff."""
    return {cut.place: frozenset(cut.documents) for cut in cuts}
