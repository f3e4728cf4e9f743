"""A golden set with an audit, as files: what people said of a stratified sample of its passages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from trueval.golden.build.golden_result import GoldenJudge, GoldenResult, JudgeCost, JudgedCollection

# Query, document, the judge's grade, people's grades by rater ("" for nobody), stratum.
PASSAGES = [
    ("q0", "a", 5, {"ann": 5, "bob": 4}, "high"),
    ("q0", "b", 4, {"ann": 2, "bob": 3}, "high"),
    ("q0", "c", 1, {"ann": 1}, "low"),
    ("q0", "d", 1, {}, "low"),
    ("q1", "a", 5, {"ann": 4, "bob": 4}, "high"),
    ("q1", "b", 2, {"ann": 2, "bob": 1}, "low"),
    ("q1", "c", 1, {}, "low"),
    ("q1", "d", 1, {}, "low"),
    ("q2", "a", 3, {"ann": 1, "bob": 3}, "low"),
    ("q2", "b", 4, {}, "high"),
    ("q2", "c", 1, {"ann": 1, "bob": 1}, "low"),
    ("q2", "d", 2, {}, "low"),
]
ORDERS = [("q0", ["a", "b"], 1), ("q0", ["b", "c"], 1), ("q1", ["a", "b"], 0), ("q1", ["b", "c"], -1)]


ABOUT = GoldenResult(
    name="g",
    collection=JudgedCollection("c", "c", 0, 0, {}),
    seed=0,
    judge=GoldenJudge("gpt", "batch", 8, 2, "posterior", 0, 0),
    stages=(),
    cost=JudgeCost(None, None, None, None, None, None),
)


def _lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def written(folder: Path, *, design: str = "documents", lengths: bool = True) -> Path:
    """Write the golden set and its audit; the folder."""
    folder.mkdir()
    (folder / "golden.json").write_text(json.dumps(ABOUT.to_dict()))
    (folder / "qrels.trec").write_text("".join(f"{q} 0 {d} {grade}\n" for q, d, grade, _, _ in PASSAGES))
    labels = [
        {
            "query": query,
            "document": document,
            "grade": grade,
            "text": f"{query}{document}",
            "labels": [
                {"slot": 1 + (place % 2), "slots": 2, "grade": grade},
                {"slot": 2 - (place % 2), "slots": 2, "grade": min(grade + 1, 5)},
            ],
        }
        for place, (query, document, grade, _, _) in enumerate(PASSAGES)
    ]
    (folder / "labels.jsonl").write_text(_lines(labels))
    audit = folder / "audit"
    audit.mkdir()
    sizes = {name: sum(each[4] == name for each in PASSAGES) for name in ("high", "low")}
    strata = [{"name": name, "population": size, "sampled": size} for name, size in sizes.items()]
    if design == "queries":
        strata = [{"name": "queries", "population": 9, "sampled": 3}]
    about = {"kind": "audit", "format": 1, "design": design, "seed": 0, "scale": [1, 5], "strata": strata}
    (audit / "sample.json").write_text(json.dumps(about))
    items, said = [], []
    for place, (query, document, _, given, stratum) in enumerate(PASSAGES):
        of = {"item": f"i{place}", "task": "grade", "query": query, "document": document}
        of["stratum"] = "queries" if design == "queries" else stratum
        items.append(of)
        if given:
            grade = sorted(given.values())[(len(given) - 1) // 2]
            told = [{"rater": rater, "grade": each, "note": "", "date": ""} for rater, each in given.items()]
            said.append({**of, "grade": grade, "labels": told, "skipped": []})
    for place, (query, documents, value) in enumerate(ORDERS):
        of = {"item": f"o{place}", "task": "order", "query": query, "documents": documents, "stratum": "order"}
        told = [{"rater": "ann", "grade": value, "note": "", "date": ""}]
        items.append(of)
        said.append({**of, "grade": value, "labels": told, "skipped": []})
    (audit / "items.jsonl").write_text(_lines(items))
    (audit / "people.jsonl").write_text(_lines(said))
    if lengths:
        texts = [{"hash": f"{q}{d}", "text": "x" * (10 + 7 * at)} for at, (q, d, *_) in enumerate(PASSAGES)]
        (audit / "texts.jsonl").write_text(_lines(texts))
    return folder
