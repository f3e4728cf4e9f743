"""Doubtful documents: which must be scored again so that the first K are those of exact scores.

Every score is known up to its margin: the exact one is in [s - δ, s + δ]. A document is surely among the first K if
fewer than K others could be above it, and surely not if K others surely are. The rest is doubtful, and no other
document needs another score: the first K are the sure ones and the best of the doubtful ones by their exact scores.
With margin 0 only a group of equal scores that K cuts is doubtful.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from trueval.errors import InputError, PolicyError
from trueval.retrieval.fusion.ranked_lists import RankedLists, rank_lists
from trueval.score_width import ScoreWidth, shift_outward

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from trueval.run import Run
    from trueval.standings.standings import Bools, Floats, Ints


class Repair(NamedTuple):
    """What is known of the first K documents, as indices into the scores, best first.

    Attributes:
        keep: documents that are surely among them.
        rescore: documents to score again; the best K - len(keep) of them complete the first K.
    """

    keep: Ints
    rescore: Ints


def repair(scores: ArrayLike, k: int, margin: ArrayLike = 0.0, *, order: bool = False) -> Repair:
    """Find the documents whose exact scores decide which are the first K.

    Args:
        scores: [document] scores of one query, in any order.
        k: number of documents that count, at least 1.
        margin: by how much an exact score may differ from each, one number or [document].
        order: whether the order of the first K must be exact too, and with it every measure at K.

    Returns:
        Documents to keep, and documents to score again; none where the first K are sure.

    Raises:
        InputError: scores are not a list of numbers, or margins do not fit them or are negative.
        PolicyError: k is below 1.

    >>> repair([0.9, 0.5, 0.5, 0.5, 0.1], k=2)
    Repair(keep=array([0]), rescore=array([1, 2, 3]))
    >>> repair([0.9, 0.8, 0.79, 0.1], k=2, margin=0.01)
    Repair(keep=array([0]), rescore=array([1, 2]))
    >>> repair([0.9, 0.9, 0.7, 0.1], k=3, order=True)
    Repair(keep=array([2]), rescore=array([0, 1]))
    """
    values = np.asarray(scores, dtype=np.float64)
    moves = np.asarray(margin, dtype=np.float64)
    if k < 1:
        raise PolicyError(f"k of a repair must be an integer >= 1. Got {k!r}.")
    if values.ndim != 1 or np.isnan(values).any():
        raise InputError("The scores of a query must be one list of numbers. Give one query at a time, without NaN.")
    if moves.shape not in ((), values.shape) or not (moves >= 0).all():
        raise InputError(
            f"A margin must be one number of at least 0, or one for each of the {len(values)} scores. "
            f"Got shape {moves.shape}."
        )
    best = np.argsort(-values, kind="stable")
    if len(values) <= k and not order:
        return Repair(best, best[:0])
    upper, lower = shift_outward(values, moves), shift_outward(values, -moves)
    # Others that could be above: all whose upper end is at or above this lower end, less the document itself.
    could = len(values) - np.searchsorted(np.sort(upper), lower, side="left") - 1
    surely = len(values) - np.searchsorted(np.sort(lower), upper, side="right")
    inside, outside = could < k, surely >= k
    again = ~outside & (could != surely if order else ~inside)
    return Repair(best[(inside & ~again)[best]], best[again[best]])


class DoubtfulDocuments(NamedTuple):
    """The documents of a run to score again.

    Attributes:
        lists: the run's lists, best first.
        moves: [row] by how much its exact score may differ.
        sure: [list] number of documents that are surely among the first K and keep their scores.
        rows: [row] whether it must be scored again.
        reach: [list] whether a document below the last listed one could be among the first K.
    """

    lists: RankedLists
    moves: Floats
    sure: Ints
    rows: Bools
    reach: Bools

    @property
    def run(self) -> Run:
        """The documents to score again, with their scores so far."""
        return self.lists.only(self.rows, "doubtful", "repair")


def find_doubtful(run: Run, k: int, width: ScoreWidth, *, order: bool = False) -> DoubtfulDocuments:
    """Find the documents of a run whose exact scores decide which are the first K of each query.

    Args:
        run: run of scores in low precision.
        k: number of documents that count.
        width: by how much an exact score may differ.
        order: as in `repair`.

    Raises:
        PolicyError: k is below 1.
    """
    lists = rank_lists(run)
    scores = lists.documents["score"].to_numpy()
    moves = width.factor * width.units(scores)
    rows, sure = np.zeros(len(scores), dtype=bool), np.zeros(len(lists.query_ids), dtype=np.int64)
    reach = np.zeros(len(sure), dtype=bool)
    for at, (begin, end) in enumerate(pairwise(lists.offsets.tolist())):
        found = repair(scores[begin:end], k, moves[begin:end], order=order)
        rows[begin + found.rescore] = True
        sure[at] = len(found.keep)
        lower, upper = (shift_outward(scores[begin:end], sign * moves[begin:end]) for sign in (-1.0, 1.0))
        reach[at] = (lower > upper[-1]).sum() < k
    return DoubtfulDocuments(lists, moves, sure, rows, reach)


def is_top(scores: Floats, chosen: Ints) -> bool:
    """Whether no other document has a higher score than a chosen one.

    >>> is_top(np.array([3.0, 2.0, 2.0]), np.array([0, 2])), is_top(np.array([3.0, 2.0, 2.5]), np.array([0, 1]))
    (True, False)
    """
    others = np.ones(len(scores), dtype=bool)
    others[chosen] = False
    return bool(scores[chosen].min(initial=np.inf) >= scores[others].max(initial=-np.inf))
