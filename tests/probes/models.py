"""Models for tests: vectors and logits that are made of the letters of a text, and a count of what was asked."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np


def letters(text: str, dimension: int) -> np.ndarray:
    """How often pairs of letters are in a text, by their place in a vector."""
    found = np.full(dimension, 0.01)
    for first, second in pairwise(text):
        found[(ord(first) * 31 + ord(second)) % dimension] += 1
    return found


class Letters:
    """An embedder of the user's own: the role and no more."""

    name, dtype = "letters", "float32"

    def __init__(self, dimension: int = 32) -> None:
        self.dimension = dimension
        self.asked: list[str] = []

    def embed_queries(self, texts: Sequence[str]) -> Any:
        self.asked += texts
        return np.array([letters(text, self.dimension) for text in texts], dtype=np.float32)

    embed_documents = embed_queries


class KeptLetters(Letters):
    """One whose outputs can be kept, as those of models on this machine."""

    batch_size = 8
    scoring = "product"

    def settings(self) -> dict[str, Any]:
        return {"model": self.name, "path": "nowhere", "dtype": self.dtype, "dimension": self.dimension}

    def embed_queries(self, texts: Sequence[str], names: Sequence[str] | None = None) -> Any:
        return super().embed_queries(texts)

    embed_documents = embed_queries


class LetterTokens(Letters):
    """An embedder of late interaction: a vector for each word."""

    scoring = "maxsim"

    def embed_queries(self, texts: Sequence[str]) -> Any:
        self.asked += texts
        found = []
        for text in texts:
            rows = np.array([letters(f" {word} ", self.dimension) for word in text.split()], dtype=np.float32)
            found.append(rows / np.linalg.norm(rows, axis=1, keepdims=True))
        return found

    embed_documents = embed_queries


class KeptTokens(LetterTokens):
    """One of late interaction whose outputs can be kept."""

    name, batch_size = "letter tokens", 8

    def settings(self) -> dict[str, Any]:
        return {"model": self.name, "path": "nowhere", "dtype": self.dtype, "dimension": self.dimension}

    def embed_queries(self, texts: Sequence[str], names: Sequence[str] | None = None) -> Any:
        return super().embed_queries(texts)

    embed_documents = embed_queries


class LetterReranker:
    """A reranker of the user's own, of one logit or two."""

    name, dtype, scoring = "shared letters", "float32", "sigmoid"

    def __init__(self, labels: int = 1, dtype: str = "float32") -> None:
        self.labels, self.dtype = labels, dtype

    def logits(self, query: str, documents: Sequence[str]) -> Any:
        found = [float(letters(query, 32) @ letters(document, 32)) for document in documents]
        return np.array([[-value, value][2 - self.labels :] for value in found], dtype=np.float32)
