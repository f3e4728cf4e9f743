"""Repair on real data: float32's first documents come back, and how few pairs that takes.

MiniLM searches Cranfield, scifact and ePQA, and our reranker scores BM25's candidates of ePQA. Low precision is that of
scores (ties alone), of stored vectors, and of the model (drift). Each row is one repair, held against all pairs in
float32.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.extras import need

from trueval.collection import Collection
from trueval.precision.repair import repair_pipeline, repair_run
from trueval.precision.repair_result import PrecisionRepair
from trueval.retrieval.pipeline.config import settings_of_tables
from trueval.retrieval.pipeline.pipeline import Pipeline
from trueval.run import Run
from trueval.scoring import softmax

need("faiss", "bm25s", extra="retrieval")
need("safetensors", "torch", "sentence_transformers", extra="models")

SHARED = Path(__file__).resolve().parents[3] / "shared"
MINILM: dict[str, Any] = {"model": "all-MiniLM-L6-v2", "max_length": 128}
RERANKER: dict[str, Any] = {"model": str(SHARED / "models" / "epqa-reranker"), "max_length": 128, "depth": 100}
LEAST = 0.05  # share of the pairs at depth 100 that a repair of ties may take


def read(name: str, queries: int | None = None) -> Collection:
    place = SHARED / "data" / "collections" / name
    if not place.is_dir():
        pytest.skip(f"../shared/data/collections/{name} is not here")
    found = Collection.read(str(place))
    return found if queries is None else replace(found, queries=dict(list(found.queries.items())[:queries]))


def row(name: str, what: str, found: PrecisionRepair) -> str:
    of, took = found.restored, found.pipeline
    assert of is not None
    high = "" if of.high is None else f"{of.high:,}"
    seconds = "" if took is None else f"{took.seconds:.1f}"
    return (
        f"| {name} | {what} | {found.within} | {100 * found.share:.2f} % | {found.rescored / len(found.queries):.2f} | "
        f"{of.before:,} | {high} | {of.after:,} | {of.beyond:,} | {of.most:.4g} | {seconds} |"
    )


def dense(dtype: str, **index: Any) -> Pipeline:
    tables = {"embed": {**MINILM, "dtype": dtype}, "index": {"depth": 100, **index}}
    return Pipeline(settings_of_tables(tables, "test"), "minilm")


def stages() -> Iterator[tuple[str, Pipeline, str, bool]]:
    """What is in low precision, the pipeline, the first width tried, and whether ties are the only cause."""
    yield "scores in bfloat16", dense("float32", scoring="bfloat16"), "bfloat16", True
    yield "scores in float16", dense("float32", scoring="float16"), "float16", True
    for storage, within in (("float16", "0.0001"), ("bfloat16", "0.0005"), ("int8", "0.001"), ("int4", "0.01")):
        yield f"vectors in {storage}", dense("float32", spec=f"flat(storage='{storage}')"), within, False
    yield "model and scores in bfloat16", dense("bfloat16", scoring="model"), "0.002", False


def check(name: str, what: str, pipeline: Pipeline, within: str, ties: bool, texts: Collection, cache: Path) -> None:
    """One stage, repaired within a width, and where that does not cover the drift within one that does."""
    found = repair_pipeline(texts, pipeline, within=within, check=True, cache=cache)
    print(row(name, what, found))
    assert found.restored is not None
    if ties:
        assert (found.restored.after, found.restored.beyond) == (len(found.queries), 0)
        assert found.share < LEAST
    elif found.restored.beyond:
        covers = f"{found.restored.most * 1.001:.6f} {found.restored.unit}".strip()
        wide = repair_pipeline(texts, pipeline, within=covers, check=True, cache=cache)
        print(row(name, what, wide))
        assert wide.restored is not None
        assert (wide.restored.after, wide.restored.beyond) == (len(wide.queries), 0)


@pytest.mark.evidence
@pytest.mark.parametrize("name", ["cranfield", "epqa-dev", "scifact-test"])
def test_the_first_ten_of_a_search_are_restored(name: str, tmp_path: Path) -> None:
    texts = read(name)
    for what, pipeline, within, ties in stages():
        check(name, what, pipeline, within, ties, texts, tmp_path)


@pytest.mark.evidence
def test_the_first_ten_of_a_reranker_are_restored(tmp_path: Path) -> None:
    texts = read("epqa-dev", 50)
    for what, low, within, ties in (
        ("scores in bfloat16", {"dtype": "float32", "scoring": "bfloat16"}, "bfloat16", True),
        ("model and scores in bfloat16", {"dtype": "bfloat16", "scoring": "model"}, "2 ulp(bfloat16)", False),
    ):
        tables = {"sparse": {"depth": 100}, "rerank": {**RERANKER, **low}}
        check("epqa-dev, reranked", what, Pipeline(settings_of_tables(tables, "test")), within, ties, texts, tmp_path)


@pytest.mark.evidence
@pytest.mark.parametrize("k", [3, 5])
def test_the_first_of_ten_candidates_are_restored(k: int) -> None:
    """Lists of ten, of which a tenth is one document: under two a query, and for ties under one."""
    file = SHARED / "data" / "logits" / "epqa-reranker.npz"
    if not file.is_file():
        pytest.skip("../shared/data/logits is not here")
    with np.load(file) as held:
        ids = held["query"].astype(str), held["doc"].astype(str)
        rows = {name: held[name] for name in ("bfloat16", "float32")}

    def run(logits: Any, form: str) -> Run:
        scores = np.asarray(softmax(logits, form), dtype=np.float64)
        lists: dict[str, dict[str, float]] = {}
        for query, doc, score in zip(*ids, scores.tolist(), strict=True):
            lists.setdefault(query, {})[doc] = score
        return Run.from_dict(lists)

    low = run(rows["bfloat16"], "bfloat16")
    for what, exact, within in (
        ("same logits in float32", run(rows["bfloat16"], "float32"), "bfloat16"),
        ("float32 model", run(rows["float32"], "float32"), "bfloat16"),
        ("float32 model", run(rows["float32"], "float32"), "2 ulp(bfloat16)"),
    ):
        found = repair_run(low, k=k, within=within, reference=exact)
        print(row(f"epqa-dev, ten candidates, K = {k}", what, found))
        assert found.restored is not None
        assert found.rescored < 2 * len(found.queries)
        assert (found.restored.beyond == 0) == (what == "same logits in float32")
        if not found.restored.beyond:
            assert found.restored.after == len(found.queries)
