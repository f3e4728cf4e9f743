"""A planted collection: texts are vectors, so that what quantisation loses is arithmetic."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from tests.retrieval import models

from trueval import Judgments
from trueval.collection import Collection
from trueval.retrieval.pipeline.config import settings_of_tables

QUERIES = 4


class Model:
    """Embeds a text as the numbers that it begins with; scores a pair by whether the document says "good"."""

    name, batch_size, dtype = "numbers", 8, "float32"

    def __init__(self, scoring: str, log: list[tuple[str, int]]) -> None:
        self.scoring, self.log = scoring, log
        if scoring == "sigmoid":
            self.pair_logits = self.logits_of_pairs

    def settings(self) -> dict[str, Any]:
        return {"model": self.name, "path": "nowhere", "dtype": self.dtype, "scoring": self.scoring}

    def embed_documents(self, texts: Sequence[str], names: Sequence[str]) -> Any:
        self.log.append(("embed", len(texts)))
        return np.array([[float(each) for each in text.split(";")[0].split()] for text in texts], dtype=np.float32)

    embed_queries = embed_documents

    def logits_of_pairs(self, pairs: Sequence[tuple[str, str]], names: Sequence[str]) -> Any:
        self.log.append(("pairs", len(pairs)))
        return np.array([["good" in text, len(text) / 64] for _, text in pairs], dtype=np.float32).sum(axis=1)[:, None]


def use(patch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Have pipelines load "embedder" and "reranker"; what they did is in the list."""
    done: list[tuple[str, int]] = []
    scoring = {"embedder": "product", "reranker": "sigmoid"}
    models.use(patch, lambda name: Model(scoring[name], done))
    return done


def collection() -> Collection:
    """Query i is the axis i. Documents along it: top 12, then 10.4, which int8 cannot tell from 10.2 before it.

    The range of every axis is -245 to 12, so that the 255 steps of int8 are 257 / 255 wide: 10.2 is at 253.2 of them,
    10.4 at 253.4. The 10.4 is relevant for queries 0 and 1, the 12 for queries 2 and 3.
    """
    texts = {f"{name}{axis}": _along(axis, value) for axis in range(QUERIES) for name, value in PLACED.items()}
    texts = {doc: f"{text}; good" if doc[0] == "a" else text for doc, text in texts.items()}
    grades = {f"q{axis}": {f"{'a' if axis < 2 else 't'}{axis}": 1} for axis in range(QUERIES)}
    queries = {f"q{axis}": _along(axis, 1.0) for axis in range(QUERIES)}
    return Collection("planted", "planted", texts, queries, Judgments.from_dict(grades))


PLACED = {"b": 10.2, "a": 10.4, "t": 12.0, "z": -245.0}


def _along(axis: int, value: float) -> str:
    return " ".join(str(value if each == axis else 0.0) for each in range(QUERIES))


def settings(**tables: Any) -> dict[str, dict[str, Any]]:
    """Of a pipeline over the planted collection, two documents deep."""
    index = {"depth": 2, **tables.pop("index", {})}
    embed = {"model": "embedder", **tables.pop("embed", {})}
    return settings_of_tables({"embed": embed, "index": index, **tables}, "test")
