"""Rescoring: doubtful documents get exact scores, and all others keep theirs.

Where no exact score differs from the run's by more than the width, the first K of these scores are the first K of the
exact ones. A document that is surely among them has fewer than K others that could be above it by their exact scores,
and so fewer than K above it here; one that is surely not has K others surely above it, and so here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from trueval.report.number_texts import count_phrase, percent
from trueval.retrieval.fusion.ranked_lists import rank_lists
from trueval.retrieval.repair.doubtful_documents import DoubtfulDocuments, find_doubtful
from trueval.run import Run
from trueval.score_width import ScoreWidth, is_beyond

if TYPE_CHECKING:
    from trueval.standings.standings import Floats


@dataclass(frozen=True)
class StageRepair:
    """What a stage [repair] scored again.

    Attributes:
        k: number of documents that count.
        within: width, as `ScoreWidth` writes it.
        order: whether their order must be exact too.
        pairs: number of pairs of query and document in the run.
        documents: query → ids of the documents scored again; queries without any are left out.
        sure: query → number of documents that are surely among the first K and keep their scores.
        changed: number of queries whose first K are others now.
        beyond: number of documents whose score differed by more than the width: drift, which the width must cover.
        most: largest difference, in units of the width.
        unit: the unit, as in `ScoreWidth`.
        reach: number of queries of which documents below the last listed one could be among the first K.
    """

    k: int
    within: str
    order: bool
    pairs: int
    documents: Mapping[str, tuple[str, ...]]
    sure: Mapping[str, int]
    changed: int
    beyond: int
    most: float
    unit: str
    reach: int

    @property
    def rescored(self) -> int:
        """Number of pairs that were scored again."""
        return sum(map(len, self.documents.values()))

    @property
    def share(self) -> float:
        """Their share of all pairs."""
        return self.rescored / max(self.pairs, 1)


class RepairedRun(NamedTuple):
    """A run whose doubtful documents have exact scores, and what was done."""

    run: Run
    repair: StageRepair


def rescore_doubtful(
    run: Run,
    k: int,
    width: ScoreWidth,
    score: Callable[[Run], Run],
    *,
    order: bool = False,
    depth: int | None = None,
) -> RepairedRun:
    """Score again the documents that decide the first K, and only those.

    Args:
        run: run of scores in low precision.
        k: number of documents that count.
        width: by how much an exact score may differ.
        score: function from a run to its documents with exact scores.
        order: whether the order of the first K must be exact too.
        depth: length of lists below which there may be further documents; None where every list is whole.

    >>> low, exact = ({"q": {"a": 0.5, "b": 0.5, "c": 0.1}}, {"q": {"a": 0.498, "b": 0.501}})
    >>> found = rescore_doubtful(Run.of(low), 1, ScoreWidth.parse("bfloat16"), lambda run: Run.of(exact))
    >>> found.run.documents.rows(), found.repair.documents
    ([('b', 0.501), ('a', 0.498), ('c', 0.1)], {'q': ('a', 'b')})
    """
    doubt = find_doubtful(run, k, width, order=order)
    lists, low = doubt.lists, doubt.lists.documents["score"].to_numpy()
    scores = low.copy()
    if doubt.rows.any():
        scores[doubt.rows] = _align(doubt.run, score(doubt.run))
    documents = lists.documents.with_columns(score=pl.Series(scores, dtype=pl.Float64))
    ordered = rank_lists(Run(documents, lists.query_ids, lists.offsets, run.name, run.source))
    kept = np.ones(len(scores), dtype=bool)
    found = ordered.only(kept, run.name, run.source)
    return RepairedRun(
        Run(found.documents, found.query_ids, found.offsets, run.name, run.source, empty=run.empty),
        _describe(doubt, ordered.documents["doc_id"], low, scores, k, width, order=order, depth=depth),
    )


def _align(doubtful: Run, scored: Run) -> Floats:
    pairs = ["query_id", "doc_id"]
    exact = scored.frame.select(*pairs, "score")
    return (
        doubtful.frame.select(pairs).join(exact, on=pairs, how="left", maintain_order="left")["score"].to_numpy().copy()
    )


def _describe(
    doubt: DoubtfulDocuments,
    ordered: pl.Series,
    low: Floats,
    exact: Floats,
    k: int,
    width: ScoreWidth,
    *,
    order: bool,
    depth: int | None,
) -> StageRepair:
    lists, ids = doubt.lists, doubt.lists.documents["doc_id"]
    documents, sure, changed = dict[str, tuple[str, ...]](), dict[str, int](), 0
    ends = zip(lists.query_ids.to_list(), pairwise(lists.offsets.tolist()), doubt.sure.tolist(), strict=True)
    for query, (begin, end), inside in ends:
        own, sure[query] = doubt.rows[begin:end], inside
        if own.any():
            documents[query] = tuple(ids.slice(begin, end - begin).filter(pl.Series(own)).to_list())
            count = min(k, end - begin)
            changed += set(ids.slice(begin, count).to_list()) != set(ordered.slice(begin, count).to_list())
    units = width.units(low)
    with np.errstate(invalid="ignore"):
        off = np.nan_to_num(np.abs(exact - low))
    in_units = np.divide(off, units, out=np.zeros_like(off), where=units > 0)
    open_lists = doubt.reach & (np.diff(lists.offsets) >= depth) if depth is not None else np.zeros(1, dtype=bool)
    return StageRepair(
        k=k,
        within=str(width),
        order=order,
        pairs=len(low),
        documents=documents,
        sure=sure,
        changed=changed,
        beyond=int(is_beyond(low, doubt.moves, exact).sum()),
        most=float(in_units.max(initial=0.0)),
        unit=width.unit,
        reach=int(open_lists.sum()),
    )


def describe_repair(repair: StageRepair, queries: int) -> list[str]:
    r"""What a reader must know of a repair: how few pairs it took, and whether the width covers what it saw.

    Args:
        repair: what was scored again.
        queries: number of queries of the run.

    >>> one = StageRepair(1, "0.001", False, 30, {"q": ("a", "b")}, {"q": 0}, 1, 1, 0.5, "", 0)
    >>> print(*describe_repair(one, 3), sep="\n")
    2 of 30 pairs (6.67%), in 1 of 3 queries, were scored again in float32: the first 1 changed in 1 query.
    1 score differs by more than 0.001, at most by 0.5: outputs drift. Only a width that covers this is sure.
    """
    first = f"the first {repair.k}"
    told = [
        f"{repair.rescored:,} of {count_phrase(repair.pairs, 'pair', 'pairs')} ({percent(repair.share)}), in "
        f"{len(repair.documents):,} of {count_phrase(queries, 'query', 'queries')}, were scored again in float32: "
        f"{first} changed in {count_phrase(repair.changed, 'query', 'queries')}."
    ]
    if repair.beyond:
        most = f"{repair.most:.3g} {repair.unit}".strip()
        told.append(
            f"{count_phrase(repair.beyond, 'score differs', 'scores differ')} by more than {repair.within}, at most by "
            f"{most}: outputs drift. Only a width that covers this is sure."
        )
    if repair.reach:
        told.append(
            f"In {count_phrase(repair.reach, 'query', 'queries')} documents below the last one listed could be among "
            f"{first}. Search deeper: set depth of [index]."
        )
    return told
