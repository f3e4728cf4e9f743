"""Loss decomposition: the change of quality at each step from exact float32 search to the served pipeline.

    exact float32      exhaustive search over unquantized vectors: the reference of the other steps
    int8, exact        exhaustive search over the stored vectors: the loss by quantization
    hnsw ...           the index of the pipeline: the loss by approximate search
    reranked           and every stage after it

Steps that a pipeline lacks are left out: `flat` has only the first, `hnsw` no quantized one, and pq and opq codes are
searched exhaustively anyway. The steps follow from the spec of [index] and its other keys.

    recall = documents of the exact top `depth` that are found / documents in it

Where the cutoff of the exact list falls into a group of tied documents, any of these count, up to the free places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from trueval.collection import Collection
from trueval.errors import InputError
from trueval.evaluation.evaluate import Measures
from trueval.judgments import Judgments
from trueval.models.hosted.account import LEDGER, Account
from trueval.models.hosted.services import is_hosted
from trueval.models.pair_scores import MODEL
from trueval.policy.policy import Policy
from trueval.retrieval.fusion.ranked_lists import rank_lists
from trueval.retrieval.indexes.index import read_spec
from trueval.retrieval.pipeline.config import BOTH, HIGH, STAGES, Settings, set_scoring, with_search
from trueval.retrieval.pipeline.pipeline import stages_of
from trueval.retrieval.pipeline.pipeline_result import Stage
from trueval.retrieval.pipeline.stage_resources import Begin, nobody, open_resources
from trueval.retrieval.pipeline.stage_runner import StageRunner
from trueval.run import Run
from trueval.specs import Value, format_spec
from trueval.tradeoff.quality.changes import Bootstrap, Floats, MeanEstimate
from trueval.tradeoff.quality.query_scores import QualityMeasures, QueryScores

EXACT: Final = "exact float32"
# Extra documents that exact search returns below the depth, to detect a tie group cut by the depth.
BELOW: Final = 8
# Index kinds whose vectors flat can store in the same format.
STORED: Final = ("flat", "hnsw", "ivf")
# Stages after retrieval → name of their step.
AFTER: Final = {"fuse": "fused with words", "deduplicate": "deduplicated", "rerank": "reranked", "repair": "repaired"}


class SearchMethod(NamedTuple):
    """A search method of the decomposition.

    Attributes:
        dimension: number of leading components to keep; None for all.
        scoring: value of `scoring` in [index].
    """

    name: str
    spec: str
    dimension: int | None
    scoring: str


class LossStep(NamedTuple):
    """One step of the decomposition.

    Attributes:
        name: such as "exact float32", "int8, exact", "hnsw" or "reranked".
        spec: spec of the searched index, as recorded; None for a stage after the search.
        depth: maximum number of documents per list.
        recall: share of the exact list that is found; None once another search is fused in.
        measures: measure → mean.
        change: measure → change from the previous step, paired over queries; empty in the first.
        loss: measure → change from the first step; empty in the first.
    """

    name: str
    spec: str | None
    depth: int
    recall: MeanEstimate | None
    measures: Mapping[str, MeanEstimate]
    change: Mapping[str, MeanEstimate]
    loss: Mapping[str, MeanEstimate]

    def to_dict(self, quality: str) -> dict[str, object]:
        """The JSON form in result files.

        Args:
            quality: the measure shown for the step.
        """
        main = self.measures[quality].to_dict()
        return {
            "name": self.name,
            "spec": self.spec,
            "depth": self.depth,
            "recall": None if self.recall is None else self.recall.to_dict(),
            "quality": main["value"],
            "low": main["low"],
            "high": main["high"],
            "change": self.change[quality].to_dict() if self.change else None,
            "measures": {
                name: {
                    **found.to_dict(),
                    "change": self.change[name].to_dict() if self.change else None,
                    "loss": self.loss[name].to_dict() if self.loss else None,
                }
                for name, found in self.measures.items()
            },
        }


@dataclass(frozen=True, eq=False)
class LossDecomposition:
    """The losses of a pipeline by step.

    Attributes:
        steps: steps from exact search to the last stage.
    """

    name: str
    quality: str
    level: float
    steps: tuple[LossStep, ...]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, object]:
        """An entry of `ladder` in sweep.json."""
        return {
            "name": self.name,
            "quality": self.quality,
            "level": self.level,
            "steps": [step.to_dict(self.quality) for step in self.steps],
            "notes": list(self.notes),
        }


def decompose_loss(
    collection: Collection,
    settings: Settings,
    judgments: Judgments,
    measures: Measures,
    *,
    policy: Policy | None = None,
    unjudged: float | None = None,
    cache: Path | None = None,
    begin: Begin | None = None,
    bootstrap: Bootstrap | None = None,
    name: str = "pipeline",
) -> LossDecomposition:
    """Search step by step from exact float32 to the full pipeline, and measure the change at each step.

    Texts are embedded once. With a cache, results are read from it and stored in it; without one, embeddings and logits
    are kept for the duration of the call.

    Args:
        settings: settings of a pipeline with [embed].
        judgments: judgments of the queries; queries without any are searched, but left out of measures.
        measures: measures to compute; the first is the quality.
        unjudged: grade of unjudged documents; None for none.

    Raises:
        InputError: there is no [embed], [index] takes words too, or as in Pipeline.retrieve.
    """
    scoring = settings.get("pipeline", {}).get("scoring", STAGES)
    settings = set_scoring(settings, HIGH if scoring == BOTH else scoring)
    judged = QualityMeasures.of(collection, judgments, measures, policy, unjudged)
    tried = rungs(settings, len(collection.documents))
    with open_resources(cache, Account(ledger=None if cache is None else cache / LEDGER), kept=True) as shared:

        def work(of: Settings) -> StageRunner:
            return StageRunner(collection, of, shared, begin or nobody)

        exact = search_rung(work, settings, tried[0], deeper=BELOW)
        held = [_on_rung(exact, tried[0], settings), *_rest(work, settings, tried[1:], exact)]
        held += _later(stages_of([work(settings)])[0], settings)
    worth = [judged.score_run(each.run) for each in held]
    recalls = [None if each.against is None else recall(each.run, exact.run, each.against) for each in held]
    notes = dict.fromkeys(note for each in worth for note in each.notes)
    drawn = bootstrap or Bootstrap()
    return LossDecomposition(name, worth[0].quality, drawn.level, _steps(held, worth, recalls, drawn), tuple(notes))


def rungs(settings: Settings, documents: int) -> tuple[SearchMethod, ...]:
    """The search methods, from exact search to that of the pipeline.

    Raises:
        InputError: it has no [embed], or an index that takes words too.

    >>> from trueval.retrieval.pipeline.config import settings_of_tables
    >>> index = {"spec": "hnsw(storage='int8')"}
    >>> settings = settings_of_tables({"embed": {"model": "all-MiniLM-L6-v2"}, "index": index}, "here")
    >>> [each.name for each in rungs(settings, 1000)]
    ['exact float32', 'int8, exact', 'hnsw']
    """
    if "embed" not in settings:
        raise InputError("Losses are measured from exact search of vectors. Add [embed] with a model.")
    spec, scoring = settings["index"]["spec"], settings["index"]["scoring"]
    dimension, hosted = settings["embed"]["dimension"], is_hosted(settings["embed"]["model"])
    kind, chosen = read_spec(spec)
    if kind.takes_of(chosen) != "vectors":
        raise InputError(f"Losses are measured for an index of vectors alone. Got {spec}; use flat or hnsw.")
    storage = chosen.get("storage", "float32") if kind.name in STORED else "float32"
    # A service truncates its vectors itself; requesting longer ones would cost more.
    found = [SearchMethod(EXACT, "flat", dimension if hosted else None, "index")]
    if dimension is not None and not hosted:
        found.append(SearchMethod(f"{dimension} dimensions", "flat", dimension, "index"))
    if storage != "float32":
        found.append(SearchMethod(f"{storage}, exact", _exhaustive(kind.name, chosen, documents), dimension, "index"))
    if kind.name != "flat":
        found.append(SearchMethod(kind.name, spec, dimension, "index"))
    if scoring != "index":
        found.append(
            SearchMethod(f"scored in {scoring if scoring != MODEL else 'its dtype'}", spec, dimension, scoring)
        )
    return tuple(found)


def _exhaustive(kind: str, chosen: Mapping[str, Value], documents: int) -> str:
    """Spec of an exhaustive search over vectors in the storage format of an index."""
    if kind == "ivf":  # stores residuals to the centroid, so only the same cells give the same codes
        return format_spec(kind, {**chosen, "nprobe": chosen.get("nlist") or documents})
    return format_spec("flat", {"storage": chosen["storage"]})


def recall(run: Run, exact: Run, depth: int) -> Floats:
    """Share of the exact result list that a run finds.

    Args:
        run: lists of at most this depth.
        exact: deeper lists, where there are enough documents.

    Returns:
        [query] of the exact run.

    >>> exact = Run.from_dict({"q": {"a": 3.0, "b": 2.0, "c": 2.0}})
    >>> recall(Run.from_dict({"q": {"a": 1.0, "c": 0.5}}), exact, 2).tolist()
    [1.0]
    """
    frame = cut(exact, int(np.diff(exact.offsets).max(initial=1))).frame
    last = pl.col("score").filter(pl.int_range(pl.len()) < depth).last().over("query_id")
    pairs = ["query_id", "doc_id"]
    frame = frame.select(*pairs, above=pl.col("score") > last, at=pl.col("score") == last).join(
        run.frame.select(*pairs, there=pl.lit(True)), on=pairs, how="left", maintain_order="left"
    )
    there = pl.col("there").fill_null(False)
    size = pl.min_horizontal(pl.len(), depth)
    room = size - pl.col("above").sum()
    found = (there & pl.col("above")).sum() + pl.min_horizontal((there & pl.col("at")).sum(), room)
    values: Floats = frame.group_by("query_id", maintain_order=True).agg(recall=found / size)["recall"].to_numpy()
    return values


class _StepResult(NamedTuple):
    """The results of a step.

    Attributes:
        spec: of the index; None after the search.
        against: depth of the exact list used as the reference; None without one.
    """

    name: str
    spec: str | None
    run: Run
    depth: int
    against: int | None


def rung_settings(settings: Settings, rung: SearchMethod, deeper: int = 0) -> Settings:
    """Settings of a pipeline with only one search method.

    Args:
        deeper: number of documents below the depth of the pipeline.
    """
    index = {"spec": rung.spec, "depth": settings["index"]["depth"] + deeper, "scoring": rung.scoring}
    return with_search(settings, index, dimension=rung.dimension)


def cut(run: Run, depth: int) -> Run:
    """The first documents of each list, ties kept as they are."""
    lists = rank_lists(run, depth)
    return lists.only(np.ones(len(lists.rank), dtype=bool), run.name, run.source)


def search_rung(
    work: Callable[[Settings], StageRunner], settings: Settings, rung: SearchMethod, deeper: int = 0
) -> Stage:
    """The candidates of one search method, cached like those of any pipeline.

    Args:
        work: runner over the collection, with any settings.
        deeper: number of documents below the depth of the pipeline.
    """
    made = work(rung_settings(settings, rung, deeper))
    return made.stage("dense", made.dense)


def _on_rung(stage: Stage, rung: SearchMethod, settings: Settings) -> _StepResult:
    """A search method as a step, cut to the depth of the pipeline."""
    depth = settings["index"]["depth"]
    spec = str((stage.searched or {}).get("spec", rung.spec))
    return _StepResult(rung.name, spec, cut(stage.run, depth), depth, depth)


def _rest(
    work: Callable[[Settings], StageRunner], settings: Settings, tried: Sequence[SearchMethod], exact: Stage
) -> Iterator[_StepResult]:
    """The search methods after the exact one; keeping all dimensions is not a step."""
    whole = (exact.searched or {}).get("dimension")
    for rung in tried:
        stage = search_rung(work, settings, rung)
        if rung.spec != "flat" or rung.scoring != "index" or (stage.searched or {}).get("dimension") != whole:
            yield _on_rung(stage, rung, settings)


def _later(stages: Sequence[Stage], settings: Settings) -> Iterator[_StepResult]:
    """The pipeline stages after retrieval."""
    depth = settings["index"]["depth"]
    against: int | None = depth
    for stage in stages:
        if stage.name in AFTER:
            depth = settings[stage.name].get("depth", depth)
            against = None if stage.name == "fuse" or against is None else min(against, depth)
            yield _StepResult(AFTER[stage.name], None, stage.run, depth, against)


def _steps(
    held: Sequence[_StepResult], worth: Sequence[QueryScores], recalls: Sequence[Floats | None], drawn: Bootstrap
) -> tuple[LossStep, ...]:
    steps = list[LossStep]()
    for place, (found, here, shares) in enumerate(zip(held, worth, recalls, strict=True)):
        before = [
            {name: drawn.change(values, each.values[name]) for name, values in here.values.items()}
            for each in (worth[max(place - 1, 0)], worth[0])
        ]
        change, loss = before if place else ({}, {})
        means = {name: drawn.mean(values) for name, values in here.values.items()}
        share = None if shares is None else drawn.mean(shares)
        steps.append(LossStep(found.name, found.spec, found.depth, share, means, change, loss))
    return tuple(steps)
