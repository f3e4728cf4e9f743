"""The result of `trueval retrieve`: every stage of a pipeline, what its candidates are worth, and what it gained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from trueval.evaluation.evaluation_result import MeasureMeans
from trueval.report.json_fields import OMITTED
from trueval.report.result import Result
from trueval.retrieval.repair.rescore import StageRepair


@dataclass(frozen=True)
class SearchedCollection:
    """The collection that was searched, with the hashes of its texts."""

    name: str
    source: str
    documents: int
    queries: int
    sha256: Mapping[str, object]


@dataclass(frozen=True)
class PipelineStage:
    """A stage of a pipeline.

    Attributes:
        name: dense, sparse, fuse, deduplicate, boost, rerank or repair.
        seconds: its duration now, including loading models and building indexes.
        made_seconds: its duration when its candidates were computed.
        cached: whether its candidates come from the cache of an earlier run.
        queries: with a candidate.
        given: number of input candidates, those in several runs counted once; None where it searches the collection.
        documents: number of its candidates.
        tied_fraction: share of them that tie.
        notes: one line per thing a reader must know.
        index: description of the index that it searched; None if there is none.
        relevant: relevant documents among its candidates; None without judgments, as what follows.
        relevant_given: relevant documents among its input; for a search, all.
        measures: by name.
        repair: what a stage [repair] scored again; None of another stage.
    """

    name: str
    seconds: float
    made_seconds: float
    cached: bool
    queries: int
    given: int | None
    documents: int
    tied_fraction: float
    notes: tuple[str, ...]
    index: Mapping[str, object] | None
    relevant: int | None = field(default=None, metadata=OMITTED)
    relevant_given: int | None = field(default=None, metadata=OMITTED)
    measures: Mapping[str, MeasureMeans] | None = field(default=None, metadata=OMITTED)
    repair: StageRepair | None = field(default=None, metadata=OMITTED)


@dataclass(frozen=True)
class StageGain:
    """What a stage gained over the best single list: that of the search with the highest expected mean.

    Attributes:
        stage: name of the stage.
        over: name of the search.
        measure: name of the measure.
        difference: of expected means, stage - search.
        lowest: lowest difference over tie orders.
        highest: highest difference over tie orders.
        low: lower end of its interval over queries, simultaneous for all stages; NaN below two queries.
        high: upper end.
        p: of the randomization test over queries, adjusted for all stages; NaN below two queries.
        separated: whether queries separate the two, and ties do not undo it.
        verdict: in words, as of `trueval compare`.
    """

    stage: str
    over: str
    measure: str
    difference: float
    lowest: float
    highest: float
    low: float
    high: float
    p: float
    separated: bool
    verdict: str


@dataclass(frozen=True)
class JudgedStages:
    """The judgments that stages are measured by.

    Attributes:
        rel: grade from which a document is relevant.
        relevant: total number of documents of this grade.
        notes: warnings on the measures of the last stage.
        gains: of each stage that takes the candidates of others, in order.
    """

    rel: float
    relevant: int
    notes: tuple[str, ...]
    gains: tuple[StageGain, ...] = ()


@dataclass(frozen=True)
class RunRecord:
    """The run of the last stage: queries with a document, and its hash."""

    queries: int
    content: str


@dataclass(frozen=True, kw_only=True)
class PipelineRun:
    """The stages of a pipeline in one scoring, and its run; `judged` is None without judgments."""

    stages: tuple[PipelineStage, ...]
    judged: JudgedStages | None = field(default=None, metadata=OMITTED)
    run: RunRecord


@dataclass(frozen=True, repr=False, kw_only=True)
class Retrieval(Result):
    """A run made from a corpus.

    Attributes:
        name: name of the run.
        collection: that was searched.
        settings: of the pipeline, by table.
        stages: in order.
        judged: judgments behind the measures of stages; None without.
        run: of the last stage.
        low: the same with every score in the dtype of its model, where both were requested.
    """

    KIND: ClassVar = "retrieve"
    FORMAT: ClassVar = 1

    name: str
    collection: SearchedCollection
    settings: Mapping[str, Mapping[str, object]]
    stages: tuple[PipelineStage, ...]
    judged: JudgedStages | None = field(default=None, metadata=OMITTED)
    run: RunRecord
    low: PipelineRun | None = field(default=None, metadata=OMITTED)
