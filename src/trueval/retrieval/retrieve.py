"""Retrieval in one call: a run made from a corpus, by a pipeline or one index."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from trueval.errors import PolicyError

if TYPE_CHECKING:
    from trueval.collection import Collection
    from trueval.retrieval.pipeline.pipeline import Pipeline
    from trueval.retrieval.pipeline.pipeline_result import PipelineResult
    from trueval.retrieval.pipeline.stage_resources import Begin
    from trueval.threads import Executor


def retrieve(
    collection: Collection | Path | str | None = None,
    *,
    pipeline: Pipeline | Path | str | None = None,
    index: str | None = None,
    model: str | None = None,
    depth: int | None = None,
    scoring: str | None = None,
    route: Path | str | None = None,
    queries: Path | str | None = None,
    qrels: Path | str | None = None,
    rel: float | None = None,
    cache: Path | None = None,
    max_cost: float | None = None,
    begin: Begin | None = None,
    executor: Executor | None = None,
) -> PipelineResult:
    """Make a run from a corpus: embed, search, fuse, rerank, and report the ties at each stage.

    Args:
        collection: a Collection or its place, as `Collection.read` takes it; None for that of the pipeline's file.
        pipeline: its TOML file, or a Pipeline; alternatively:
        index: spec of a single index, such as "bm25(language='fr')", or with a model "flat".
        model: embedder of the index.
        depth: number of documents per query; 100 if None.
        scoring: how all stages score, "high", "low" or "both"; None: as the pipeline specifies.
        route: router.toml, which chooses the reranker's depth of each query.
        queries: file of the queries, instead of the collection's.
        qrels: file of judgments, or the folder of a golden set, instead of the collection's.
        rel: grade from which a document is relevant; if None 1, or 4 for a golden set.
        cache: cache folder, read first and written to; None for no cache.
        max_cost: maximum total cost of hosted models; None for no limit.
        begin: called with the name of each stage; returns a progress callback.
        executor: runs embedders and rerankers in other processes or on other machines, shard by shard, with the same
            result: `trueval.threads.Processes`, or a pool of loky, Dask or mpi4py. None for this process.

    Returns:
        The run and its stages; with judgments also what the candidates of each stage are worth.

    Raises:
        InputError: a text, a model or an output is bad.
        PolicyError: what is named does not go together.

    >>> retrieve("corpus", index="bm25(language='fr')").run.write("bm25.trec")  # doctest: +SKIP
    """
    from trueval.retrieval.pipeline.pipeline import Pipeline  # late: indexes take as long as the start of a command

    chosen = Pipeline.of(pipeline, index=index, model=model, depth=depth).but(scoring=scoring)
    chosen = chosen if route is None else chosen.with_router(route)
    texts = chosen.read_collection(collection, queries=queries, qrels=qrels)
    if rel is not None and texts.judgments is None:
        raise PolicyError(f"rel needs judgments, and {texts.source} has none. Name them by qrels, or leave rel out.")
    found = chosen.retrieve(texts, cache=cache, begin=begin, max_cost=max_cost, executor=executor)
    if texts.judgments is None or not texts.judgments.frame.height:
        return found
    return found.with_measures(texts.judgments, rel)
