"""Repair of a run: which of its documents must be scored again so that the first K are those of exact scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trueval.errors import InputError
from trueval.precision.repair_result import PrecisionRepair, QueryRepair, RestoredSets
from trueval.retrieval.repair.doubtful_documents import is_top, repair
from trueval.run import Run
from trueval.score_width import ScoreWidth, shift_outward

if TYPE_CHECKING:
    from trueval.run import RunLike
    from trueval.standings.standings import Floats


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
