"""Vectors: truncated embeddings, and hits rescored by embeddings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trueval.errors import InputError
from trueval.retrieval.indexes.hits import Hits, join_hits
from trueval.scoring import product


def truncate_vectors(vectors: NDArray[np.generic], dimension: int) -> NDArray[np.float32]:
    """Truncate vectors to their first components and normalize them to length 1 (Kusupati et al. 2022, Matryoshka).

    A model that was not trained for this, such as MiniLM, loses more by it than one that was.

    Args:
        vectors: [text, any] vectors.
        dimension: number of components to keep.

    Raises:
        InputError: the vectors have fewer.

    >>> truncate_vectors(np.array([[3.0, 4.0, 9.0]]), 2).tolist()
    [[0.6000000238418579, 0.800000011920929]]
    """
    check_dimension(vectors.shape[1], dimension)
    cut = np.asarray(vectors[:, :dimension], dtype=np.float32)
    lengths = np.linalg.norm(cut, axis=1, keepdims=True)
    short: NDArray[np.float32] = cut / np.maximum(lengths, np.finfo(np.float32).tiny)
    return short


def check_dimension(given: int, wanted: int) -> None:
    """Refuse to keep more components than a model's vectors have.

    Raises:
        InputError: more are wanted.
    """
    if given < wanted:
        raise InputError(f"The model gives {given} dimensions. Got dimension {wanted}; choose fewer.")


def rescore_hits(hits: Hits, queries: NDArray[np.generic], documents: NDArray[np.generic], form: str) -> Hits:
    """Rescore hits by inner products of embeddings in a format, best first; ties by place. Equal vectors get equal
    scores.

    Args:
        queries: [query, dimension] vectors.
        documents: [document, dimension] vectors.
        form: format of the scores.
    """
    parts = []
    for query, (begin, end) in enumerate(zip(hits.offsets[:-1].tolist(), hits.offsets[1:].tolist(), strict=True)):
        found = np.sort(hits.places[begin:end])
        vectors = np.ascontiguousarray(documents[found])
        once, of = _different(vectors)
        scored = product(np.asarray(queries[query]), vectors[once], form)
        exact = np.asarray(scored, dtype=np.float64)[of]
        order = np.argsort(-exact, kind="stable")
        parts.append((found[order], exact[order]))
    return join_hits(parts)


def _different(vectors: NDArray[np.generic]) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """[vector] whether it is the first of its value, and [vector] the index of its distinct value.

    Needed since the last bit of a product depends on the row of a vector.

    >>> [each.tolist() for each in _different(np.array([[1.0, 2.0], [0.0, 3.0], [1.0, 2.0]]))]
    [[True, True, False], [0, 1, 0]]
    """
    rows = vectors.view(np.dtype((np.void, vectors.dtype.itemsize * vectors.shape[1]))).ravel()
    _, first, kind = np.unique(rows, return_index=True, return_inverse=True)
    once = np.zeros(len(rows), dtype=bool)
    once[first] = True
    return once, (np.cumsum(once) - 1)[first[kind]]
