"""Systems of a probe, by model name: each embedder, BM25, and their fusion."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from trueval.errors import PolicyError
from trueval.probes.scorer_request import EmbedderRequest
from trueval.report.provenance import strip_folders
from trueval.retrieval.pipeline.config import Settings, settings_of_tables
from trueval.retrieval.pipeline.pipeline import Pipeline


def systems(
    models: Sequence[str], index: str, *, language: str, bm25: bool, hybrid: bool, depth: int = 100
) -> list[Pipeline]:
    """Pipelines of one search, or of two fused by rank.

    Args:
        models: embedders, as NAME or NAME@DIMENSION.
        language: language of BM25.
        bm25: whether to search with BM25 alone.
        hybrid: whether to fuse each embedder with BM25.
        depth: number of documents per search.

    Raises:
        InputError: a spec is bad.

    >>> [each.name for each in systems(["m"], "flat", language="en", bm25=True, hybrid=True)]
    ['m', 'bm25', 'm + bm25']
    """
    words: dict[str, Any] = {"sparse": {"index": f"bm25(language={language!r})", "depth": depth}}
    vectors: dict[str, dict[str, Any]] = {
        model: {"embed": _embedder(model), "index": {"spec": index, "depth": depth}} for model in models
    }
    found = [Pipeline(settings_of_tables(tables, "--model"), strip_folders(model)) for model, tables in vectors.items()]
    if bm25:
        found.append(Pipeline(settings_of_tables(words, "--bm25"), "bm25"))
    if hybrid:
        for model, tables in vectors.items():
            fused = {**tables, **words, "fuse": {"method": "rrf", "depth": depth}}
            found.append(Pipeline(settings_of_tables(fused, "--hybrid"), f"{strip_folders(model)} + bm25"))
    return found


def searched_settings(
    pipelines: Iterable[Pipeline | Path | str],
    models: Sequence[str],
    *,
    language: str,
    bm25: bool,
    hybrid: bool,
    depth: int,
) -> dict[str, Settings]:
    """Name → settings of each system without its corpus, models and BM25 first.

    Args:
        pipelines: pipelines, or paths of pipeline files.
        models: embedders, as NAME or NAME@DIMENSION, searched exactly.
        language: language of BM25.
        bm25: whether to search with BM25 alone.
        hybrid: whether to fuse each embedder with BM25.
        depth: number of documents per search.

    Raises:
        InputError: a file or a spec is bad.
        PolicyError: as in named_once.
    """
    made = systems(models, "flat", language=language, bm25=bm25, hybrid=hybrid, depth=depth)
    found = check_unique_names([*made, *map(Pipeline.of, pipelines)])
    return {each.name: {name: table for name, table in each.settings.items() if name != "corpus"} for each in found}


def check_unique_names(pipelines: Sequence[Pipeline]) -> list[Pipeline]:
    """The pipelines, checked for unique names.

    Raises:
        PolicyError: there is none, or two have one name, which results could not tell apart.

    >>> check_unique_names([Pipeline({}, "a"), Pipeline({}, "a")])
    Traceback (most recent call last):
    trueval.errors.PolicyError: two systems are called a. Name it once, or rename the file.
    """
    if not pipelines:
        raise PolicyError("there is nothing that searches. Name a system: --pipeline FILE, --model NAME, or --bm25.")
    names = [each.name for each in pipelines]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise PolicyError(f"two systems are called {twice[0]}. Name it once, or rename the file.")
    return list(pipelines)


def _embedder(text: str) -> dict[str, object]:
    """The embedder table; without a dimension where none is named."""
    model, dimension = EmbedderRequest.of(text)
    return {"model": model} if dimension is None else {"model": model, "dimension": dimension}
