"""A pipeline in a process that may be killed at any moment: test_kills.py runs it with a cache, a run, a log.

The models are counts of words. They take their time, and the log says which texts they saw, which of these were kept,
and which indexes were built and kept.
"""

import hashlib
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.retrieval import models

from trueval import Judgments
from trueval.collection import Collection
from trueval.models import output_part
from trueval.numerics import storage_dtype
from trueval.retrieval.indexes.index import LocalIndex
from trueval.retrieval.pipeline.config import settings_of_tables
from trueval.retrieval.pipeline.pipeline import Pipeline

WORDS = [f"word{number}" for number in range(40)]
SECONDS = 0.004  # that a batch takes
TABLES = {
    "embed": {"model": "embedder", "batch_size": 1},
    "index": {"spec": "hnsw(M=4)", "depth": 30},
    "sparse": {"index": "bm25(language=None)", "depth": 30},
    "deduplicate": {"words": 2},
    "rerank": {"model": "reranker", "depth": 6, "batch_size": 1},
}


class Log:
    """Lines that are in the file before anything goes on."""

    def __init__(self, path: Path) -> None:
        self.file = path.open("a", encoding="utf-8", buffering=1)
        self.seen: list[str] = []

    def saw(self, texts: list[str]) -> None:
        names = [hashlib.sha256(text.encode()).hexdigest()[:16] for text in texts]
        self.seen += names
        self.file.write(f"saw {' '.join(names)}\n")

    def kept(self) -> None:
        self.file.write(f"kept {' '.join(self.seen)}\n")
        self.seen.clear()


class Model:
    """Embeds a text as the counts of its words, and scores a pair by the words that it shares."""

    name, batch_size, dtype = "counts", 1, "bfloat16"

    def __init__(self, scoring: str, log: Log) -> None:
        self.scoring, self.log = scoring, log
        if scoring == "sigmoid":
            self.pair_logits = self.logits

    def settings(self) -> dict[str, Any]:
        return {"model": self.scoring, "path": "nowhere", "dtype": self.dtype}

    def embed_documents(self, texts: Any, names: Any) -> Any:
        self.log.saw([f"{self.scoring} {text}" for text in texts])
        time.sleep(SECONDS * len(texts))
        counts = np.array([[1 + text.split().count(word) for word in WORDS] for text in texts], dtype=np.float32)
        return (counts / np.linalg.norm(counts, axis=1, keepdims=True)).astype(storage_dtype(self.dtype))

    embed_queries = embed_documents

    def logits(self, pairs: Any, names: Any) -> Any:
        self.log.saw([f"{query} / {text}" for query, text in pairs])
        time.sleep(SECONDS * len(pairs))
        shared = [[len(set(query.split()) & set(text.split())) + len(text) / 64] for query, text in pairs]
        return np.array(shared, dtype=storage_dtype(self.dtype))


def collection() -> Collection:
    """Documents and queries that are the same in every process."""
    rng = np.random.default_rng(3)
    documents = {f"d{place}": " ".join(rng.choice(WORDS, rng.integers(3, 30))) for place in range(160)}
    queries = {f"q{place}": " ".join(rng.choice(WORDS, 3, replace=False)) for place in range(12)}
    return Collection("made", "made", documents, queries, Judgments.from_dict({"q0": {"d1": 1}}))


def watch(log: Log) -> None:
    """Have the log say what was kept, after it was."""
    write, save = output_part.write_shard, LocalIndex.save

    def write_and_say(*given: Any) -> None:
        write(*given)
        log.kept()

    def save_index(self: LocalIndex, folder: Path, of: str) -> None:
        save(self, folder, of)
        log.file.write(f"index {self.name}\n")

    output_part.write_shard = write_and_say
    LocalIndex.save = save_index  # type: ignore[method-assign]  # watched
    models.use(pytest.MonkeyPatch(), lambda name: Model("product" if name == "embedder" else "sigmoid", log))


def main(cache: str, run: str, log: str) -> None:
    """Run it, and write the run."""
    watch(Log(Path(log)))
    texts = collection()
    print("ready", flush=True)
    found = Pipeline(settings_of_tables(TABLES, "test"), "killed").retrieve(texts, cache=Path(cache))
    found.run.write(Path(run))


if __name__ == "__main__":
    main(*sys.argv[1:])
