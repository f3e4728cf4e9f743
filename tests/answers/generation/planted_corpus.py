"""A corpus on disk whose gold documents, runs and ties are known, with an answers file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

QUESTIONS = 20


def write_corpus(
    folder: Path,
    questions: int = QUESTIONS,
    *,
    hits: float = 0.5,
    ties: int = 0,
    seed: int = 0,
    pool: int = 12,
    tables: str = "",
    generate: Mapping[str, Any] | None = None,
    asked: Mapping[str, Any] | None = None,
) -> Path:
    """Write a corpus and its answers file.

    Question i is answered by the document "g{i}". It is the first of the run for a share `hits` of the questions, and
    else the last of its pool. Of the first `ties` questions all documents of the run have the same score.
    """
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    documents = {f"g{at}": f"The color of box {at} is word{at}." for at in range(questions)}
    documents |= {f"n{at}": f"The color of shelf {at} is grey{at}." for at in range(pool * 3)}
    _lines(folder / "corpus.jsonl", [{"_id": id, "text": text} for id, text in documents.items()])
    asked_texts = [{"_id": f"q{at}", "text": f"Which color has box {at}?"} for at in range(questions)]
    _lines(folder / "queries.jsonl", asked_texts)
    (folder / "qrels.trec").write_text("".join(f"q{at} 0 g{at} 1\n" for at in range(questions)))
    rows = []
    for at in range(questions):
        noise = [f"n{each}" for each in rng.permutation(pool * 3)[:pool].tolist()]
        order = [f"g{at}", *noise] if rng.random() < hits else [*noise, f"g{at}"]
        scores = [1.0 if at < ties else 1.0 / (1 + rank) for rank in range(len(order))]
        rows += [
            f"q{at} Q0 {id} {rank} {score} s\n" for rank, (id, score) in enumerate(zip(order, scores, strict=True))
        ]
    (folder / "run.trec").write_text("".join(rows))
    _lines(folder / "references.jsonl", [{"query_id": f"q{at}", "reference": f"word{at}"} for at in range(questions)])
    chosen = {"model": "planted", "contexts": 3, **(generate or {})}
    lines = [
        '[corpus]\npath = "."\n[answers]\nrun = "run.trec"\nreferences = "references.jsonl"',
        *(f"{name} = {json.dumps(value)}" for name, value in (asked or {}).items()),
        "[generate]",
        *(f"{name} = {_toml(value)}" for name, value in chosen.items()),
        tables,
    ]
    config = folder / "answers.toml"
    config.write_text("\n".join(lines) + "\n")
    return config


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{name} = {json.dumps(each)}" for name, each in value.items()) + " }"
    return json.dumps(value)


def _lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
