"""Small inputs of every command that writes results, in two versions that give other results."""

import json
from pathlib import Path

import numpy as np

from trueval.numerics import round_to

# What writes results of each kind, from the folder of the inputs; the report shows all of them.
COMMANDS = {
    "evaluate": ("evaluate", "qrels.trec", "one.trec", "two.trec", "-m", "RR P@2", "--out", "{out}"),
    "compare": (
        *("compare", "qrels.trec", "one.trec", "two.trec", "-m", "RR"),
        *("--resamples", "100", "--threads", "1", "--out", "{out}"),
    ),
    "precision": ("precision", "audit", ".", "--logits", "m.npz", "-m", "RR", "--out", "{out}"),
    "power": ("power", "qrels.trec", "one.trec", "two.trec", "-m", "RR", "--out", "{out}"),
    "published": ("power", "--value", "0.8", "--queries", "50", "--out", "{out}"),
    "report": ("report", "{out}"),
}


def write_inputs(folder: Path, version: int) -> None:
    """Two queries, two runs with ties, and logits of three pairs.

    Args:
        folder: made.
        version: 0 or 1.
    """
    folder.mkdir()
    scores = {"one": (2.0, 2.0, 1.0), "two": (1.0 + version, 2.0, 2.0)}
    for name, values in scores.items():
        lines = (f"q{q} Q0 d{d} 1 {value} x\n" for q in range(2 + version) for d, value in enumerate(values))
        (folder / f"{name}.trec").write_text("".join(lines), encoding="utf-8")
    graded = ((0, 0, 1), (0, 1, 0), (1, 1, 1 - version), (1, 2, 1), (2, 2, 1))
    qrels = (f"q{q} 0 d{d} {grade}\n" for q, d, grade in graded if q < 2 + version)
    (folder / "qrels.trec").write_text("".join(qrels), encoding="utf-8")
    for name, ids in {"corpus": ("d0", "d1", "d2"), "queries": ("q0", "q1", "q2")}.items():
        rows = (json.dumps({"_id": each, "text": f"text {each}"}) for each in ids)
        (folder / f"{name}.jsonl").write_text("\n".join(rows), encoding="utf-8")
    logits = np.array([[8.0], [8.25], [version]], dtype=np.float32)
    pairs = {"query": ["q0", "q0", "q1"], "doc": ["d0", "d1", "d1"]}
    np.savez(folder / "m.npz", **pairs, bfloat16=round_to(logits, "bfloat16"), float32=logits)
