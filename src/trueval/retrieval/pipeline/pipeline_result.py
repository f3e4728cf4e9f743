"""Pipeline results: the candidates of every stage, and their description in a manifest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from trueval.evaluation.content_hashes import run_hash
from trueval.judgments import Judgments
from trueval.report.provenance import strip_folders
from trueval.report.result import ResultHolder
from trueval.retrieval.fusion.ranked_lists import TieCount
from trueval.retrieval.pipeline.config import Settings
from trueval.retrieval.pipeline.retrieve_result import (
    JudgedStages,
    PipelineRun,
    PipelineStage,
    Retrieval,
    RunRecord,
    SearchedCollection,
)
from trueval.retrieval.pipeline.rewriting import BETWEEN
from trueval.retrieval.pipeline.stage_quality import StageQuality, quality_of
from trueval.retrieval.repair.rescore import StageRepair
from trueval.run import Run


class Stage(NamedTuple):
    """The result of one stage of a pipeline.

    Attributes:
        name: dense, sparse, fuse, deduplicate, rerank or repair.
        run: the candidates after it.
        given: number of input candidates, those in several runs counted once; None where it searches the collection.
        seconds: its duration now, including loading models and building indexes.
        made_seconds: its duration when its candidates were computed.
        cached: whether its candidates come from the cache of an earlier run.
        ties: tie counts of its run.
        key: hash of everything that affects its candidates.
        searched: description of the index that it searched; None if there is none.
        repair: what a stage [repair] scored again; None of another stage.
    """

    name: str
    run: Run
    given: int | None
    seconds: float
    made_seconds: float
    cached: bool
    ties: TieCount
    key: str
    notes: tuple[str, ...] = ()
    searched: Mapping[str, Any] | None = None
    repair: StageRepair | None = None

    def to_record(self, quality: StageQuality | None = None, place: int = 0) -> PipelineStage:
        """What a manifest says of the stage.

        Args:
            quality: measures of the candidates of each stage; None without judgments.
            place: its index.
        """
        return PipelineStage(
            name=self.name,
            seconds=self.seconds,
            made_seconds=self.made_seconds,
            cached=self.cached,
            queries=len(self.run.query_ids),
            given=self.given,
            documents=self.ties.documents,
            tied_fraction=self.ties.fraction,
            notes=self.notes,
            index=None if self.searched is None else dict(self.searched),
            relevant=None if quality is None else quality.found[place],
            relevant_given=None if quality is None else quality.given[place],
            measures=None if quality is None else quality.values[place],
            repair=self.repair,
        )


@dataclass(frozen=True, eq=False, repr=False)
class PipelineResult(ResultHolder):
    """The result of a pipeline.

    Attributes:
        run: run of its last stage.
        stages: stages in order.
        settings: settings of the pipeline.
        about: name, source and size of the collection, and the hashes of its texts.
        low: the result with every score in the dtype of its model, where both were requested.
        quality: measures of the candidates of each stage, where requested.
    """

    run: Run
    stages: tuple[Stage, ...]
    settings: Settings
    about: Mapping[str, Any]
    low: PipelineResult | None = None
    quality: StageQuality | None = None

    def with_measures(self, judgments: Judgments, rel: float | None = None) -> PipelineResult:
        """The result with measures of the candidates of each stage.

        Args:
            judgments: judgments of the queries.
            rel: grade from which a document is relevant; if None 1, or 4 for a golden set.

        Raises:
            InputError: no query is judged.
            PolicyError: there is no such grade.
        """
        low = None if self.low is None else self.low.with_measures(judgments, rel)
        runs = {stage.name: stage.run for stage in self.stages}
        quality = quality_of(runs, judgments, rel, before=self._before)
        return replace(self, low=low, quality=quality)

    @property
    def _before(self) -> list[tuple[int, ...]]:
        """[stage] indices of the stages whose candidates it takes."""
        places = range(len(self.stages))
        searches = tuple(place for place in places if self.stages[place].given is None)
        return [
            () if place in searches else searches if self.stages[place].name == "fuse" else (place - 1,)
            for place in places
        ]

    def result(self) -> Retrieval:
        """What `trueval retrieve` writes and shows."""
        gave = self._gave()
        return Retrieval(
            name=self.run.name,
            collection=SearchedCollection(**self.about),
            settings=without_folders(self.settings),
            stages=gave.stages,
            judged=gave.judged,
            run=gave.run,
            low=None if self.low is None else self.low._gave(),
        )

    def _gave(self) -> PipelineRun:
        quality = self.quality
        judged = None if quality is None else JudgedStages(quality.rel, quality.relevant, quality.notes, quality.gains)
        stages = tuple(stage.to_record(quality, place) for place, stage in enumerate(self.stages))
        return PipelineRun(stages=stages, judged=judged, run=RunRecord(len(self.run.query_ids), run_hash(self.run)))


def without_folders(settings: Settings) -> dict[str, dict[str, object]]:
    """Settings as results keep them: absolute paths without their folders."""
    return {table: {key: _without_folders(value) for key, value in own.items()} for table, own in settings.items()}


def _without_folders(value: object) -> object:
    return BETWEEN.join(map(strip_folders, value.split(BETWEEN))) if isinstance(value, str) else value
