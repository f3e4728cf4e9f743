"""Every key of a pipeline, changed alone, with a cache that holds the work of all others: no result may differ.

A key that decides a result and is missing in the key of a cache gives the result of another setting, which no other
test would see. A key that is added must be listed here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.extras import need
from tests.models.tiny import BUILDERS

from trueval.collection import Collection
from trueval.retrieval.pipeline.config import settings_of_tables
from trueval.retrieval.pipeline.pipeline import Pipeline
from trueval.retrieval.pipeline.pipeline_tables import HOSTED_KEYS, KEYS

need("faiss", "bm25s", extra="retrieval")
need("torch", "transformers", "sentence_transformers", extra="models")
pytestmark = pytest.mark.slow

WORDS = ["wing", "lift", "drag", "heat", "flow", "shock", "plate", "layer", "X-15", "1958", "not", "boundary"]
Tables = dict[str, dict[str, Any]]
Stage = tuple[str, list[tuple[Any, ...]]]  # its name, and the rows of its run

# What else each key may be, in which tables; a key that needs another beside it brings it.
CHANGES: Mapping[str, tuple[Tables, ...]] = {
    "queries.sample": ({"queries": {"sample": 2}},),
    "queries.seed": ({"queries": {"sample": 2, "seed": 1}},),
    "queries.rewrite": (
        {"queries": {"rewrite": "denoise"}},
        {"queries": {"rewrite": "as is + denoise"}},
        {"queries": {"rewrite": "denoise + as is"}},
        {"queries": {"rewrite": "normalised"}},
    ),
    "pipeline.scoring": tuple({"pipeline": {"scoring": each}} for each in ("high", "low", "both")),
    "embed.dtype": ({"embed": {"dtype": "float32"}},),
    "embed.batch_size": ({"embed": {"batch_size": 1}},),
    "embed.max_length": ({"embed": {"max_length": 7}},),
    "embed.instruction": ({"embed": {"instruction": "find what was measured"}},),
    "embed.dimension": ({"embed": {"dimension": 8}},),
    "index.spec": (
        {"index": {"spec": "flat(storage='int8')"}},
        {"index": {"spec": "flat(storage='binary')"}},
        {"index": {"spec": "hnsw(M=4)"}},
    ),
    "index.depth": ({"index": {"depth": 5}}, {"index": {"depth": 20}}),
    "index.scoring": ({"index": {"scoring": "float32"}}, {"index": {"scoring": "model"}}),
    "sparse.index": ({"sparse": {"index": "bm25(k1=0.3)"}}, {"sparse": {"index": "bm25(language='fr')"}}),
    "sparse.depth": ({"sparse": {"depth": 4}},),
    "fuse.method": ({"fuse": {"method": "weighted"}},),
    "fuse.k": ({"fuse": {"k": 1}},),
    "fuse.norm": ({"fuse": {"method": "weighted", "norm": "z-score"}},),
    "fuse.weights": ({"fuse": {"weights": [1.0, 5.0]}},),
    "fuse.tied": ({"fuse": {"tied": "shared"}},),
    "fuse.terms": ({"fuse": {"terms": 1.0}},),
    "fuse.phrases": ({"fuse": {"phrases": 1.0}},),
    "fuse.codes": ({"fuse": {"codes": 1.0}},),
    "fuse.depth": ({"fuse": {"depth": 6}},),
    "deduplicate.threshold": ({"deduplicate": {"threshold": 0.2, "words": 1}},),
    "deduplicate.words": ({"deduplicate": {"threshold": 0.15, "words": 2}},),
    "deduplicate.duplicates": ({"deduplicate": {"duplicates": False, "per_source": 2}},),
    "deduplicate.per_source": ({"deduplicate": {"per_source": 1}},),
    "deduplicate.sources": ({"deduplicate": {"per_source": 1, "sources": "SOURCES"}},),
    "rerank.dtype": ({"rerank": {"dtype": "float32"}},),
    "rerank.batch_size": ({"rerank": {"batch_size": 1}},),
    "rerank.max_length": ({"rerank": {"max_length": "LENGTH"}},),
    "rerank.instruction": ({"rerank": {"instruction": "is this what was measured?"}},),
    "rerank.scoring": ({"rerank": {"scoring": "model"}}, {"rerank": {"scoring": "float8_e4m3fn"}}),
    "rerank.depth": ({"rerank": {"depth": 3}},),
    "repair.within": ({"repair": {"within": "0.02"}}, {"repair": {"within": "bfloat16"}}),
    "repair.k": ({"repair": {"within": "0.02", "k": 3}},),
    "repair.order": ({"repair": {"within": "0.02", "k": 3, "order": True}},),
}
# Tried elsewhere, or they decide no run.
ELSEWHERE = {
    *(
        "corpus.path",
        "corpus.fields",
        "queries.path",
        "queries.judge",
    ),  # what is read; tests of the collection, of forms
    *("embed.model", "rerank.model"),  # hashed files, tests/models/test_keys.py
    *("embed.device", "rerank.device"),  # there is one here
    *("embed.reuse", "rerank.reuse"),  # with "text" results may be those of other batches
    *("route.router", "generate.contexts"),
    *(f"{table}.{key}" for table in ("embed", "rerank") for key in HOSTED_KEYS),
}


def test_every_key_is_changed_here_or_elsewhere() -> None:
    assert {*CHANGES} | ELSEWHERE == {*KEYS}
    assert not {*CHANGES} & ELSEWHERE


@pytest.fixture(scope="module")
def collection() -> Collection:
    rng = np.random.default_rng(5)
    documents = {f"d{place // 3}#{place % 3}": " ".join(rng.choice(WORDS, rng.integers(3, 14))) for place in range(24)}
    documents["d5#1"] = documents["d2#0"]
    queries = {
        f"q{place}": f"Hello, quick question: {' '.join(rng.choice(WORDS, 3, replace=False))}? Thanks"
        for place in range(4)
    }
    return Collection("made", "made", documents, queries)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Tables:
    """All stages but the repair."""
    names = ("Qwen3-Embedding-0.6B", "Qwen3-Reranker-0.6B")
    models = [f"{name}:{BUILDERS[name](tmp_path_factory.mktemp(name))}" for name in names]
    embed, rerank = ({"model": name, "dtype": "bfloat16", "device": "cpu"} for name in models)
    found: Tables = {"embed": embed, "index": {"depth": 12}, "sparse": {"depth": 12}, "fuse": {"depth": 20}}
    return {**found, "deduplicate": {"threshold": 0.9}, "rerank": {**rerank, "depth": 8}}


def overlaid(base: Tables, change: Tables, placed: Mapping[str, Any]) -> Tables:
    found = {name: dict(values) for name, values in base.items()}
    for name, values in change.items():
        own = {key: placed.get(str(value), value) for key, value in values.items()}
        found[name] = {**found.get(name, {}), **own}
    return found


def runs(tables: Tables, collection: Collection, folder: Path | None) -> Iterator[Stage]:
    pipeline = Pipeline(settings_of_tables(tables, "here"))
    found = pipeline.retrieve(pipeline.read_collection(collection), cache=folder)
    for result in (found, *([found.low] if found.low is not None else [])):
        yield "run", result.run.frame.rows()
        for stage in result.stages:
            yield stage.name, stage.run.frame.rows()


def alike(alone: list[Stage], kept: list[Stage], *, exact: bool) -> bool:
    """Whether stages are the same; float32 scores of [repair] may be those of another batch, to their rounding."""
    if exact:
        return alone == kept
    pairs = [
        (one, other)
        for (_, ours), (_, theirs) in zip(alone, kept, strict=True)
        for one, other in zip(ours, theirs, strict=True)
    ]
    return all(one[:2] == other[:2] and abs(one[2] - other[2]) < 1e-6 for one, other in pairs)


@pytest.mark.filterwarnings("ignore")
def test_a_cache_never_gives_the_work_of_another_setting(collection: Collection, base: Tables, tmp_path: Path) -> None:
    """The cache is filled by all changes in turn; each must find there what it would have made alone."""
    sources = tmp_path / "sources.tsv"
    sources.write_text("".join(f"{each}\t{each[:2]}\n" for each in collection.documents))
    shared, told = tmp_path / "cache", []
    first = list(runs(base, collection, shared))
    assert first == list(runs(base, collection, None))
    assert first == list(runs(base, collection, shared))
    same = {*CHANGES}
    for key, changes in CHANGES.items():
        for change in changes:
            tables = overlaid(base, change, {"SOURCES": str(sources), "LENGTH": 130})
            alone = list(runs(tables, collection, None))
            if not alike(alone, list(runs(tables, collection, shared)), exact="repair" not in change):
                told.append(f"{json.dumps(change)}: another result with the cache")
            if alone != first:
                same.discard(key)
    assert not told
    assert list(runs(base, collection, shared)) == first
    # A change that changes nothing tells nothing: of these none decides a score.
    assert same <= {"embed.batch_size", "rerank.batch_size"}
