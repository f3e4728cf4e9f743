"""A collection that tests make, and models that count words: what they saw is in a list."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.retrieval import models

from trueval.errors import InputError
from trueval.models.recipes import Recipe
from trueval.numerics import storage_dtype
from trueval.retrieval.pipeline import cache_keys

WORDS = [f"word{number}" for number in range(24)]
DOCUMENTS, QUERIES = 60, 8
FILE = """
[corpus]
path = "made"

[pipeline]
methods = ["dense", "sparse", "hybrid", "dense+rerank", "hybrid+rerank"]

[embed]
model = "counts"
dimension = [24, 16]

[index]
spec = "flat"
depth = 20

[sparse]
index = "bm25(language=None)"
depth = 20

[fuse]
depth = 20

[rerank]
model = "pairs"
depth = [5, 10]

[generate]
contexts = [3, 10]

[measure]
names = ["RA-nWG@K", "nDCG@10"]
resamples = 200

[latency]
queries = 0
"""

# 25 systems, where the file has 13, and six: dense, sparse, and both rerankings to two depths.
LARGE = FILE.replace('spec = "flat"', 'spec = ["flat", "hnsw(M=4)"]')
SMALL = FILE.replace('"hybrid", ', "").replace("[24, 16]", "24")


class Model:
    """Embeds a text as the counts of its words, or scores a pair by the words that it shares.

    Args:
        name: counts or pairs; anything else is no model.
        seen: gets each text, or pair, that goes through.
        spoilt: a text that the model cannot score.
    """

    batch_size = 4
    known: tuple[str, ...] = ("counts", "pairs")

    def __init__(self, name: str, seen: list[Any], spoilt: str = "") -> None:
        if name not in self.known:
            raise InputError(f"{name}: there is no such model.")
        self.name, self.seen, self.spoilt = name, seen, spoilt
        self.dtype = "float32" if name == "counts" else "bfloat16"
        self.scoring = "product" if name == "counts" else "sigmoid"
        if name != "counts":
            self.pair_logits = self.logits

    def settings(self) -> dict[str, Any]:
        return {"model": self.name, "path": "nowhere", "dtype": self.dtype}

    def embed_documents(self, texts: Any, names: Any) -> Any:
        self.seen += texts
        counts = np.array([[1 + text.split().count(word) for word in WORDS] for text in texts], dtype=np.float32)
        return counts / np.linalg.norm(counts, axis=1, keepdims=True)

    embed_queries = embed_documents

    def logits(self, pairs: Any, names: Any) -> Any:
        self.seen += pairs
        if self.spoilt and any(self.spoilt in text for _, text in pairs):
            raise InputError("a logit is not finite.")
        shared = [[len(set(query.split()) & set(text.split())) + len(text) / 64] for query, text in pairs]
        return np.array(shared, dtype=storage_dtype(self.dtype))


def use(patch: pytest.MonkeyPatch, seen: list[Any], spoilt: str = "") -> None:
    """Have pipelines load these models."""
    models.use(patch, lambda name: Model(name, seen, spoilt))
    recipe = Recipe("counts", "embedder", "product")
    patch.setattr(
        cache_keys, "find_model", lambda name, _: SimpleNamespace(name=name, path=f"nowhere/{name}", recipe=recipe)
    )


def folder(place: Path) -> Path:
    """A collection of random words, the same every time, beside which sweep files are put."""
    rng = np.random.default_rng(3)
    made = place / "made"
    made.mkdir(parents=True)
    documents = {f"d{number}": " ".join(rng.choice(WORDS, rng.integers(3, 20))) for number in range(DOCUMENTS)}
    queries = {f"q{number}": " ".join(rng.choice(WORDS, 3, replace=False)) for number in range(QUERIES)}
    for name, texts in (("corpus", documents), ("queries", queries)):
        rows = [json.dumps({"_id": id, "text": text}) for id, text in texts.items()]
        (made / f"{name}.jsonl").write_text("\n".join(rows) + "\n")
    graded = [f"{query} 0 d{doc} {rng.integers(1, 6)}" for query in queries for doc in rng.permutation(DOCUMENTS)[:25]]
    (made / "qrels.trec").write_text("\n".join(graded) + "\n")
    return made


def written(place: Path, text: str = FILE) -> Path:
    """A sweep file beside the collection, which is made if it is not there."""
    if not (place / "made").exists():
        folder(place)
    file = place / "sweep.toml"
    file.write_text(text)
    return file
