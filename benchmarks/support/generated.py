"""Runs and arrays of any size, the same every time."""

from __future__ import annotations

from pathlib import Path

import numpy as np

DOCUMENTS = 1000  # listed for each query
JUDGED = 20  # for each query
COLLECTION = 8_841_823  # passages of MS MARCO


def bfloat16(scores: np.ndarray) -> np.ndarray:
    """Round float32 scores to bfloat16 (half up in the dropped bits, which is enough to make its ties)."""
    bits = scores.astype(np.float32).view(np.uint32)
    return ((bits + 0x8000) & 0xFFFF0000).view(np.float32)


def generate_files(folder: Path, queries: int) -> None:
    """Write a run of bfloat16 scores and judgments of 20 documents a query, 10 of them listed; 5 relevant, 3 listed.

    The listed documents are also saved as arrays [query, document] of scores and grades, NaN where unjudged.
    """
    rng = np.random.default_rng(0)
    all_scores, all_grades = np.empty((queries, DOCUMENTS)), np.full((queries, DOCUMENTS), np.nan)
    with (folder / "run.trec").open("w") as run, (folder / "qrels.trec").open("w") as qrels:
        for row in range(queries):
            query = 1_000_000 + row
            ids = rng.choice(COLLECTION, DOCUMENTS, replace=False).tolist()
            all_scores[row] = bfloat16(np.sort(rng.normal(20, 3, DOCUMENTS))[::-1])
            listed = zip(ids, all_scores[row].tolist(), strict=True)
            run.writelines(f"{query} Q0 {d} {rank} {score:.6f} b\n" for rank, (d, score) in enumerate(listed, 1))
            judged = rng.choice(DOCUMENTS, 10, replace=False)
            all_grades[row, judged] = np.arange(10) < 3
            found = [(ids[place], int(order < 3)) for order, place in enumerate(judged.tolist())]
            others = [(9_000_000 + order, int(order < 2)) for order in range(10)]
            qrels.writelines(f"{query} 0 {document} {grade}\n" for document, grade in found + others)
    np.save(folder / "run-scores.npy", all_scores)
    np.save(folder / "run-grades.npy", all_grades)


def generate_arrays(folder: Path, queries: int) -> None:
    """Save [query, document] bfloat16 scores in no order and binary grades, one document in a hundred relevant."""
    rng = np.random.default_rng(1)
    np.save(folder / "scores.npy", bfloat16(rng.normal(20, 3, (queries, DOCUMENTS))).astype(np.float64))
    np.save(folder / "grades.npy", (rng.random((queries, DOCUMENTS)) < 0.01).astype(np.float64))


def tied_list(documents: int) -> tuple[np.ndarray, np.ndarray]:
    """Return one list tied throughout, one document in a hundred relevant."""
    return np.zeros((1, documents)), (np.arange(documents) % 100 == 7)[None].astype(np.float64)
