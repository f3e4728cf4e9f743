"""Calls as users write them, for mypy alone: `make types` checks the signatures of the public face with them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

import trueval as tv


def accepted() -> None:
    """Runs and judgments in the forms that docs/python.md shows."""
    run = {"q1": {"d1": 0.9, "d2": 0.4}}
    judgments = {"q1": {"d1": 1}}
    tv.evaluate(run, judgments, ["nDCG@10"])
    tv.evaluate("run.trec", Path("qrels.trec"), "AP")
    tv.evaluate({1: {7: np.float32(0.9)}}, {1: {7: np.int64(1)}})
    tv.evaluate({"q1": ["d1", "d2"]}, {"q1": {"d1", "d2"}})
    tv.evaluate([("q1", "d1", 2.0), ("q1", "d2", 1.5)], [("q1", "d1", 1)])
    tv.evaluate(
        [{"query_id": "q1", "doc_id": "d1", "score": 1.0}],
        pl.DataFrame({"query_id": ["q1"], "doc_id": ["d1"], "grade": [1]}),
    )
    tv.evaluate(pl.LazyFrame({"query_id": ["q1"]}), tv.Judgments.of(judgments))
    tv.evaluate({"q1": [{"corpus_id": "d1", "score": 0.9}]}, {"q1": [("d1", 1)]})
    with Path("run.trec").open() as file:
        tv.evaluate(file, judgments)
    tv.compare([run, "b.trec", tv.Run.of(run)], judgments)
    tv.compare({"old": run, "new": Path("b.trec")}, judgments, baseline="old")
    tv.compare({"a": run, "b": run}, judgments)
    tv.compare([run, run], judgments)
    tv.power(["a.trec", "b.trec"], "qrels.trec")
    tv.explain(run, judgments, "RR")
    tv.correct(run, judgments, "audit")
    tv.correct([run, run], judgments, "audit")
    tv.evaluate_arrays([[0.9, 0.5], [0.1]], [[1, 0], [2]], "RR")
    tv.evaluate_arrays(np.zeros((2, 3)), [np.zeros(3), np.zeros(3)], "RR", mask=np.ones((2, 3), bool))
    tv.cuts(runs=["run.trec"], judgments=judgments)


def refused(run: dict[str, dict[str, float]], judgments: dict[str, list[str]]) -> None:
    """Calls that mypy refuses: `make types` fails at an ignored error that is none."""
    tv.evaluate(3, judgments)  # type: ignore[arg-type]
    tv.evaluate(run, None)  # type: ignore[arg-type]
    tv.evaluate(run, 0.5)  # type: ignore[arg-type]
    tv.evaluate({"q1": {"d1": "high"}}, judgments)  # type: ignore[arg-type]
    tv.compare(run, 5)  # type: ignore[arg-type]
    tv.compare(3, judgments)  # type: ignore[arg-type]
    tv.evaluate_arrays(None, [[1]], "RR")  # type: ignore[arg-type]
    tv.evaluate(lambda query: [], judgments)  # type: ignore[arg-type]
