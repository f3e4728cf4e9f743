"""The audit of a pipeline in one call."""

from __future__ import annotations

from collections.abc import Collection as Ids
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Unpack

    from trueval.collection import Collection
    from trueval.measures.grammar import Measures
    from trueval.policy.policy import Policy
    from trueval.policy.policy_choices import PolicyChoices
    from trueval.precision.stages_result import PipelineAudit
    from trueval.retrieval.pipeline.pipeline import Pipeline
    from trueval.retrieval.pipeline.stage_resources import Begin
    from trueval.threads import Executor


def audit_pipeline(
    collection: Collection | Path | str | None,
    pipeline: Pipeline | Path | str,
    measures: Measures | None = None,
    *,
    dtypes: Sequence[str] | None = None,
    scoring: Sequence[str] | None = None,
    storages: Sequence[str] | None = None,
    parts: Sequence[str] = (),
    added: float = 0.2,
    exclude: Ids[str] | Path = (),
    limit: int | None = None,
    qrels: Path | str | None = None,
    grades: Mapping[float, float] | None = None,
    cache: Path | None = None,
    max_cost: float | None = None,
    begin: Begin | None = None,
    executor: Executor | None = None,
    policy: Policy | None = None,
    **choices: Unpack[PolicyChoices],
) -> PipelineAudit:
    """Audit each stage of a pipeline in each format: `trueval precision audit --pipeline`.

    A stage apart is in one format while every other is in float32; together, models, vectors and scores are in one.
    Each model runs once in float32 and once in each of `dtypes`; every other format is computed from these outputs.

    Args:
        collection: a Collection with judgments, or its path; None for that of the pipeline's file.
        pipeline: its file, or a Pipeline.
        measures: as in `evaluate`, like policy and choices.
        dtypes: formats that models run in, beside float32; bfloat16 if None.
        scoring: formats of scores; every one below float32 if None.
        storages: of stored vectors: float16, bfloat16, int8, int4, binary, pq, opq; the first three if None.
        parts: of models, run alone in another format in further passes: "head=float32".
        added: more pairs, by its own, that a reranker may score for the end of stages apart.
        exclude: ids of queries to leave out, or a file of them.
        limit: number of judged queries to use; all if None.
        qrels: file of judgments, or the folder of a golden set, instead of the collection's.
        grades: grade in the judgments → grade to use.
        cache: as in `retrieve`; outputs of models in low precision are taken by text.
        max_cost: maximum total cost of hosted models; None for no limit.
        begin: as in `retrieve`.
        executor: as in `retrieve`.

    Raises:
        InputError: as in `retrieve`, or the collection has no judgments.
        PolicyError: a format is unknown, or the pipeline has a router.

    >>> audit_pipeline("collection", "pipeline.toml", "nDCG@10").to_dict()  # doctest: +SKIP
    """
    # Late: pipelines check their files by pydantic.
    from dataclasses import replace

    from trueval.errors import PolicyError
    from trueval.evaluation.defaults import fill_defaults
    from trueval.precision.model_passes import read_ids, select_queries
    from trueval.precision.pipeline_audit import audit_stages
    from trueval.precision.stage_formats import StageFormats
    from trueval.retrieval.pipeline.pipeline import Pipeline

    formats = StageFormats.of(dtypes, scoring, storages, parts)
    chosen = Pipeline.of(pipeline)
    if "route" in chosen.settings:
        raise PolicyError("A router was certified on the scores of the stages' own formats. Remove [route].")
    found = chosen.read_collection(collection, qrels=qrels)
    if grades is not None:
        found = replace(found, judgments=found.graded.map_grades(grades))
    left_out = read_ids(exclude, found) if isinstance(exclude, Path) else exclude
    found = select_queries(found, exclude=left_out, limit=limit)
    judged = frozenset(found.graded.query_ids.to_list())
    found = replace(found, queries={query: text for query, text in found.queries.items() if query in judged})
    wanted, used = fill_defaults(found.graded, measures, policy, choices)
    return audit_stages(
        *(chosen, found, formats, wanted, used),
        added=added,
        cache=cache,
        max_cost=max_cost,
        begin=begin,
        executor=executor,
    )
