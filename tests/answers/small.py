"""Small logs and tables, and the twin of the formulas: plain loops over one question, as in RAGChecker's paper."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from trueval.answers.answer import AnswerLog, Claim, LoggedAnswer, Passage, ReferenceClaim
from trueval.answers.claim_table import MISSING, PARTLY, SUPPORTED, Cell, JudgedCells, cells_of


def write_lines(path: Path, *rows: Mapping[str, Any]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def draw_answer(
    rng: np.random.Generator, name: str, claims: int = 3, nuggets: int = 3, passages: int = 3
) -> LoggedAnswer:
    """An answer with random numbers of claims, reference claims, passages and citations."""
    count = int(rng.integers(0, passages + 1))
    cited = [tuple(dict.fromkeys(rng.integers(-1, count, rng.integers(0, 3)).tolist())) for _ in range(claims)]
    importance = [("vital", "okay")[int(each)] for each in rng.integers(0, 2, nuggets)]
    return LoggedAnswer(
        name,
        f"{name}?",
        "text",
        tuple(Claim(f"{name} c{at}", cited[at]) for at in range(int(rng.integers(1, claims + 1)))),
        ("reference",),
        tuple(ReferenceClaim(f"{name} r{at}", importance[at]) for at in range(int(rng.integers(1, nuggets + 1)))),
        tuple(Passage(f"p{at}", f"{name} p{at}") for at in range(count)),
        bool(rng.integers(2)),
        bool(rng.integers(2)),
    )


def draw_log(rng: np.random.Generator, answers: int, **sizes: int) -> AnswerLog:
    return AnswerLog("system", "log", tuple(draw_answer(rng, f"q{at}", **sizes) for at in range(answers)), {})


def draw_labels(
    rng: np.random.Generator, log: AnswerLog, missing: float = 0.0, *, relevance: bool = False
) -> JudgedCells:
    found = {}
    for answer in log.answers:
        for cell in cells_of(answer, relevance=relevance):
            found[cell] = (MISSING if rng.random() < missing else int(rng.integers(0, 4)),)
    return JudgedCells(found, "table")


def twin(answer: LoggedAnswer, judged: JudgedCells) -> dict[str, float]:
    """Every measure of the judged table, by loops; NaN where there is nothing to measure."""

    def label(of: str, claim: int, against: str | int) -> int:
        return judged.label(Cell(answer.query, of, claim + 1, against))

    claims, nuggets = range(len(answer.claims)), range(len(answer.reference_claims))
    passages = range(1, len(answer.passages or ()) + 1)
    right = [label("answer", a, "reference") == SUPPORTED for a in claims]
    in_p = [[label("answer", a, p) == SUPPORTED for p in passages] for a in claims]
    nugget_in_p = [[label("reference", r, p) == SUPPORTED for p in passages] for r in nuggets]
    relevant = [any(nugget_in_p[r][p - 1] for r in nuggets) for p in passages]
    made = [label("reference", r, "answer") for r in nuggets]
    found: dict[str, float] = {
        "correctness": _mean(right),
        "reference-relevance": _mean([label("answer", a, "reference") in (0, 2, 3) for a in claims]),
        "answer-relevance": _mean([_weight(label("answer", a, "question")) for a in claims]),
        "faithfulness": _mean([any(row) for row in in_p]),
        "hallucination": _mean([not ok and not any(row) for ok, row in zip(right, in_p, strict=True)]),
        "self-knowledge": _mean([ok and not any(row) for ok, row in zip(right, in_p, strict=True)]),
        "claim-recall": _mean([any(row) for row in nugget_in_p]),
        "context-precision": _mean(relevant),
        "context-utilization": _mean([made[r] == SUPPORTED for r in nuggets if any(nugget_in_p[r])]),
    }
    for name, wanted in (("noise-relevant", True), ("noise-irrelevant", False)):
        found[name] = _mean(
            [not right[a] and any(in_p[a][p] and relevant[p] == wanted for p in range(len(relevant))) for a in claims]
        )
    weights = {
        "nugget-recall": [1.0 for _ in nuggets],
        "vital-recall": [float(each.importance == "vital") for each in answer.reference_claims],
        "weighted-recall": [1.0 if each.importance == "vital" else 0.5 for each in answer.reference_claims],
    }
    for name, weight in weights.items():
        halves = [{SUPPORTED: 1.0, PARTLY: 0.5}.get(each, 0.0) for each in made]
        size = sum(weight)
        found[name] = sum(w * s for w, s in zip(weight, halves, strict=True)) / size if size else np.nan
        strict = sum(w * (each == SUPPORTED) for w, each in zip(weight, made, strict=True))
        found[f"{name}-strict"] = strict / size if size else np.nan
    one, other = found["correctness"], found["nugget-recall-strict"]
    found["claim-F1"] = 2 * one * other / (one + other) if one + other else 0.0
    for end, first in (("", False), ("-first", True)):
        cited = [each.citations[:1] if first else each.citations for each in answer.claims]
        rows = [[_weight(label("answer", a, p + 1)) if p >= 0 else 0.0 for p in cited[a]] for a in claims]
        found[f"support-precision{end}"] = _mean([each for row in rows for each in row])
        found[f"support-recall{end}"] = _mean([max(row, default=0.0) for row in rows])
    return found


def _weight(label: int) -> float:
    return {SUPPORTED: 1.0, PARTLY: 0.5}.get(label, 0.0)


def _mean(values: list[Any]) -> float:
    return float(np.mean(values)) if values else np.nan
