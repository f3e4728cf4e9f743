"""The result of the audit of a pipeline: what each stage's number formats do, apart and together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from trueval.report.result import Result


@dataclass(frozen=True)
class StageMeasure:
    """A measure of some candidates: the columns of P-A, Table 1, and the ends that the range lies between.

    Attributes:
        measure: the measure's text form.
        range: highest - lowest (P-A eq. 4).
        bias: tie-broken - expected (P-A eq. 5).
        sd: standard deviation of the mean over tie orders.
        queries: number of queries in the mean.
    """

    measure: str
    tie_broken: float | None
    expected: float | None
    lowest: float | None
    highest: float | None
    range: float | None
    bias: float | None
    sd: float | None
    queries: int


@dataclass(frozen=True)
class StageRow:
    """One stage in one format, everything else in float32.

    Attributes:
        stage: dense, sparse, fuse or rerank.
        axis: what has the format, such as "scores".
        format: its name.
        tied: share of the stage's candidates that tie.
        measures: of the candidates after the stage.
        end: of those after the last stage; None where a reranker would have too many new pairs to score.
    """

    stage: str
    axis: str
    format: str
    tied: float
    measures: tuple[StageMeasure, ...]
    end: tuple[StageMeasure, ...] | None


@dataclass(frozen=True)
class RegimeStage:
    """One stage of the whole pipeline in one regime.

    Attributes:
        regime: "float32"; "file", as its file says; "low", models, vectors and scores in one format; or "high", the
            same scored in float32.
        format: that format; that of the model for "file".
        stage: name of the stage.
        tied: share of its candidates that tie.
        measures: of its candidates.
    """

    regime: str
    format: str
    stage: str
    tied: float
    measures: tuple[StageMeasure, ...]


@dataclass(frozen=True)
class RerankedPairs:
    """Pairs that went through the reranker in one format.

    Attributes:
        dtype: number format of the model.
        needed: pairs of whole pipelines in that format, which `retrieve` would score too.
        added: further pairs, candidates that only some stage's format brings.
    """

    dtype: str
    needed: int
    added: int


@dataclass(frozen=True)
class StageModel:
    """A model of a pipeline.

    Attributes:
        table: table of the file that names it, "embed" or "rerank".
        model: its name.
        weights: hash of its files, of a hub model its commit; None of a service, and where it is not known.
        versions: of the libraries that run it.
    """

    table: str
    model: str
    weights: str | None
    versions: Mapping[str, str]


@dataclass(frozen=True, eq=False, repr=False)
class PipelineAudit(Result):
    """What number formats do to each stage of a pipeline.

    Attributes:
        pipeline: its name.
        collection: name of the collection.
        documents: number of documents.
        queries: number of judged queries.
        sha256: hashes of the documents, and of the queries.
        models: those of the stages.
        stages: names of the stages, in order.
        formats: of models, in which all of them ran together.
        measures: text forms, the first one answers.
        rows: stages apart.
        ladder: stages together.
        pairs: of the reranker in each format; empty without one.
        settings: of the pipeline with all in float32.
        policy: choices behind the measures.
        notes: one-line warnings, and what has no format.
    """

    KIND: ClassVar[str] = "precision-stages"
    FORMAT: ClassVar[int] = 1

    pipeline: str
    collection: str
    documents: int
    queries: int
    sha256: Mapping[str, str]
    models: tuple[StageModel, ...]
    stages: tuple[str, ...]
    formats: tuple[str, ...]
    measures: tuple[str, ...]
    rows: tuple[StageRow, ...]
    ladder: tuple[RegimeStage, ...]
    pairs: tuple[RerankedPairs, ...]
    settings: Mapping[str, Any]
    policy: Mapping[str, Any]
    notes: tuple[str, ...] = ()
