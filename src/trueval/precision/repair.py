"""Repair: which documents must be scored again so that the first K are those of exact scores.

Every score is known up to its margin: the exact one is in [s - δ, s + δ]. A document is surely among the first K if
fewer than K others could be above it, and surely not if K others surely are. The rest is doubtful, and no other
document needs another score: the first K are the sure ones and the best of the doubtful ones by their exact scores.
With margin 0 only a group of equal scores that K cuts is doubtful.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from trueval.errors import InputError, PolicyError
from trueval.precision.moved_scores import shift_outward
from trueval.precision.repair_result import PrecisionRepair, QueryRepair, RestoredSets
from trueval.precision.score_width import ScoreWidth
from trueval.run import Run

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from trueval.run import RunLike
    from trueval.standings.standings import Floats, Ints


class Repair(NamedTuple):
    """What is known of the first K documents, as indices into the scores, best first.

    Attributes:
        keep: documents that are surely among them.
        rescore: documents to score again; the best K - len(keep) of them complete the first K.
    """

    keep: Ints
    rescore: Ints


def repair(scores: ArrayLike, k: int, margin: ArrayLike = 0.0) -> Repair:
    """Find the documents whose exact scores decide which are the first K.

    Args:
        scores: [document] scores of one query, in any order.
        k: number of documents that count, at least 1.
        margin: by how much an exact score may differ from each, one number or [document].

    Returns:
        Documents to keep, and documents to score again; none where the first K are sure.

    Raises:
        InputError: scores are not a list of numbers, or margins do not fit them or are negative.
        PolicyError: k is below 1.

    >>> repair([0.9, 0.5, 0.5, 0.5, 0.1], k=2)
    Repair(keep=array([0]), rescore=array([1, 2, 3]))
    >>> repair([0.9, 0.8, 0.79, 0.1], k=2, margin=0.01)
    Repair(keep=array([0]), rescore=array([1, 2]))
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
    order = np.argsort(-values, kind="stable")
    if len(values) <= k:
        return Repair(order, order[:0])
    upper, lower = shift_outward(values, moves), shift_outward(values, -moves)
    # Others that could be above: all whose upper end is at or above this lower end, less the document itself.
    could = len(values) - np.searchsorted(np.sort(upper), lower, side="left") - 1
    surely = len(values) - np.searchsorted(np.sort(lower), upper, side="right")
    inside, outside = could < k, surely >= k
    return Repair(order[inside[order]], order[~(inside | outside)[order]])


def repair_run(
    run: RunLike, *, k: int = 10, within: str | float = "bfloat16", reference: RunLike | None = None
) -> PrecisionRepair:
    """List the documents of each query of a run that must be scored again: `trueval precision repair`.

    Args:
        run: run of scores in low precision.
        k: number of documents that count.
        within: by how much an exact score may differ, as `precision_bound` takes it; "bfloat16" is rounding to it.
        reference: run of the exact scores of the same documents, to see whether the repair restores its first K.

    Raises:
        InputError: a run is bad, or the reference lacks a document.
        PolicyError: the width or k is unknown.
    """
    low, width = Run.of(run), ScoreWidth.parse(within)
    scores = low.documents["score"].to_numpy()
    moves = width.factor * width.units(scores)
    exact = None if reference is None else align_scores(low, Run.of(reference))
    found, before, after = list[QueryRepair](), 0, 0
    ids = low.documents["doc_id"]
    for at, query in enumerate(low.query_ids.to_list()):
        part = slice(*low.offsets[at : at + 2].tolist())
        one = repair(scores[part], k, moves[part])
        documents = ids.slice(part.start, part.stop - part.start).gather(one.rescore).to_list()
        found.append(QueryRepair(query, len(one.keep), tuple(documents)))
        if exact is not None:
            given = exact[part]
            before += is_top(given, np.argsort(-scores[part], kind="stable")[:k])
            best = one.rescore[np.argsort(-given[one.rescore], kind="stable")]
            after += is_top(given, np.concatenate([one.keep, best])[: max(k, len(one.keep))])
    return PrecisionRepair(
        run=low.name,
        k=k,
        within=str(width),
        queries=tuple(found),
        pairs=len(scores),
        rescored=sum(len(each.documents) for each in found),
        restored=None if exact is None else _restore_sets(scores, exact, moves, width, before, after),
    )


def _restore_sets(
    scores: Floats, exact: Floats, moves: Floats, width: ScoreWidth, before: int, after: int
) -> RestoredSets:
    with np.errstate(invalid="ignore"):
        off = np.abs(exact - scores)
    units = width.units(scores)
    far = np.nan_to_num(off) > shift_outward(moves, moves)
    most = np.divide(off, units, out=np.zeros_like(off), where=units > 0)
    return RestoredSets(before, after, int(far.sum()), float(np.nan_to_num(most).max(initial=0.0)), width.unit)


def is_top(scores: Floats, chosen: Ints) -> bool:
    """Whether no other document has a higher score than a chosen one.

    >>> is_top(np.array([3.0, 2.0, 2.0]), np.array([0, 2])), is_top(np.array([3.0, 2.0, 2.5]), np.array([0, 1]))
    (True, False)
    """
    others = np.ones(len(scores), dtype=bool)
    others[chosen] = False
    return bool(scores[chosen].min(initial=np.inf) >= scores[others].max(initial=-np.inf))


def align_scores(run: Run, reference: Run) -> Floats:
    """[document] scores of the reference for the documents of a run.

    Raises:
        InputError: the reference lacks one.
    """
    joined = run.frame.select("query_id", "doc_id").join(
        reference.frame.select("query_id", "doc_id", "score"),
        on=["query_id", "doc_id"],
        how="left",
        maintain_order="left",
    )
    lacking = joined.filter(joined["score"].is_null())
    if lacking.height:
        query, document, _ = lacking.row(0)
        raise InputError(
            f"{reference.name} lacks {lacking.height:,} of {joined.height:,} pairs of {run.name}, the first document "
            f"{document!r} of query {query!r}. It must hold the exact scores of all. Score the same lists again."
        )
    return joined["score"].to_numpy()
