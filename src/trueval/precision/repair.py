"""Repair: which documents of a run, or of a pipeline, must be scored again so that the first K are exact."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import numpy as np

from trueval.errors import InputError, PolicyError
from trueval.precision.repair_result import PipelineRepair, PrecisionRepair, QueryRepair, RestoredSets
from trueval.retrieval.pipeline.config import BOTH, HIGH, set_scoring
from trueval.retrieval.pipeline.pipeline import Pipeline
from trueval.retrieval.repair.doubtful_documents import is_top
from trueval.retrieval.repair.rescore import StageRepair, rescore_doubtful
from trueval.run import Run
from trueval.score_width import ScoreWidth, is_beyond
from trueval.threads import as_executor

if TYPE_CHECKING:
    from trueval.collection import Collection
    from trueval.retrieval.pipeline.config import Settings
    from trueval.retrieval.pipeline.stage_resources import Begin
    from trueval.run import RunLike
    from trueval.standings.standings import Floats
    from trueval.threads import Executor

ALL: Final = "1000000000"  # a width in which every document is doubtful


def repair_run(
    run: RunLike,
    *,
    k: int = 10,
    within: str | float = "bfloat16",
    order: bool = False,
    reference: RunLike | None = None,
) -> PrecisionRepair:
    """List the documents of each query of a run that must be scored again: `trueval precision repair`.

    Args:
        run: run of scores in low precision.
        k: number of documents that count.
        within: by how much an exact score may differ, as `precision_bound` takes it; "bfloat16" is rounding to it.
        order: whether the order of the first K must be exact too.
        reference: run of the exact scores of the same documents, to see whether the repair restores its first K.

    Raises:
        InputError: a run is bad, or the reference lacks a document.
        PolicyError: the width or k is unknown.
    """
    low, width = Run.of(run), ScoreWidth.parse(within)
    exact = None if reference is None else Run.of(reference)
    if exact is not None:
        align_scores(low, exact)
    found = rescore_doubtful(low, k, width, lambda few: few if exact is None else exact, order=order)
    restored = None if exact is None else _restore_sets(low, exact, found.run, k, width, order=order)
    return _to_result(low, found.repair, restored)


def repair_pipeline(
    collection: Collection | Path | str | None,
    pipeline: Pipeline | Path | str,
    *,
    k: int | None = None,
    within: str | None = None,
    order: bool | None = None,
    check: bool = False,
    cache: Path | None = None,
    begin: Begin | None = None,
    executor: Executor | None = None,
) -> PrecisionRepair:
    """Score again in float32 the documents of a pipeline that decide the first K, and say which and how few.

    Args:
        collection: as in `retrieve`; None for that of the pipeline's file.
        pipeline: its file, or a Pipeline; where it has no [repair], one is added.
        k: number of documents that count; None for that of [repair], or 10.
        within: by how much a float32 score may differ; None for that of [repair], or "bfloat16".
        order: whether the order of the first K must be float32's too; None for that of [repair], or not.
        check: whether to score all listed pairs in float32 too, to see whether the repair restores the first K.
        cache: as in `retrieve`.
        begin: as in `retrieve`.
        executor: as in `retrieve`.

    Raises:
        InputError: as in `Pipeline.retrieve`.
        PolicyError: the last scores are those of no model that runs here, the pipeline makes two runs, or a value
            cannot be.
    """
    chosen = Pipeline.of(pipeline).with_repair(within=within, k=k, order=order)
    if chosen.settings.get("pipeline", {}).get("scoring") == BOTH:
        raise PolicyError(
            "scoring = 'both' of [pipeline] makes two runs. Write 'low' to repair the one in low precision."
        )
    texts = chosen.read_collection(collection)
    with TemporaryDirectory() as folder:
        if cache is None and check:
            cache = Path(folder)  # the same texts are not embedded three times
        retrieve = partial(
            Pipeline.retrieve, collection=texts, cache=cache, begin=begin, executor=as_executor(executor)
        )
        found = retrieve(chosen)
        *_, before, last = found.stages
        one = last.repair
        if one is None:
            raise PolicyError("The pipeline ends with another stage than [repair].")
        restored = None
        if check:
            exact = retrieve(chosen.with_repair(within=ALL, order=True)).run
            high = retrieve(replace(chosen, settings=set_scoring(before_repair(chosen.settings), HIGH))).run
            width = ScoreWidth.parse(one.within)
            restored = replace(
                _restore_sets(before.run, exact, found.run, one.k, width, order=one.order),
                high=_count_restored(high, align_scores(high, exact), one.k, order=one.order),
            )
        took = PipelineRepair(last.made_seconds, one.changed, one.beyond, one.most, one.unit, one.reach)
        return replace(_to_result(replace(before.run, name=found.run.name), one, restored), pipeline=took)


def before_repair(settings: Settings) -> Settings:
    """The settings of a pipeline without [repair]."""
    return {name: values for name, values in settings.items() if name != "repair"}


def _to_result(run: Run, one: StageRepair, restored: RestoredSets | None) -> PrecisionRepair:
    return PrecisionRepair(
        run=run.name,
        k=one.k,
        within=one.within,
        queries=tuple(
            QueryRepair(query, one.sure[query], one.documents.get(query, ())) for query in run.query_ids.to_list()
        ),
        pairs=one.pairs,
        rescored=one.rescored,
        restored=restored,
        order=one.order,
    )


def _restore_sets(low: Run, exact: Run, repaired: Run, k: int, width: ScoreWidth, *, order: bool) -> RestoredSets:
    """How the first K of a run, and of what a repair makes of it, compare with those of exact scores."""
    given, scores = align_scores(low, exact), low.documents["score"].to_numpy()
    units = width.units(scores)
    with np.errstate(invalid="ignore"):
        off = np.nan_to_num(np.abs(given - scores))
    most = np.divide(off, units, out=np.zeros_like(off), where=units > 0)
    return RestoredSets(
        before=_count_restored(low, given, k, order=order),
        after=_count_restored(repaired, align_scores(repaired, exact), k, order=order),
        beyond=int(is_beyond(scores, width.factor * units, given).sum()),
        most=float(most.max(initial=0.0)),
        unit=width.unit,
    )


def _count_restored(run: Run, exact: Floats, k: int, *, order: bool) -> int:
    """Number of queries whose first K by a run's scores are the first K by exact ones, in their order if it counts."""
    scores, restored = run.documents["score"].to_numpy(), 0
    for begin, end in pairwise(run.offsets.tolist()):
        best, given = np.argsort(-scores[begin:end], kind="stable"), exact[begin:end]
        restored += all(is_top(given, best[:cut]) for cut in (range(1, k + 1) if order else (k,)))
    return restored


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
