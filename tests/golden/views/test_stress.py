"""The sentences of judges under stress name what is worst, and nothing twice."""

from __future__ import annotations

from typing import Any

from trueval.golden.views.stress import describe_findings, legend


def judge(name: str, tau: float, of: dict[str, int]) -> dict[str, Any]:
    found = dict.fromkeys(("same", "reversed", "false", "missed", "neither"), 0) | of
    claims, there = (found["same"] + found["reversed"] + found[which] for which in ("false", "missed"))
    rates = {
        "false_rate": (found["false"] + found["reversed"]) / claims if claims else None,
        "missed_rate": (found["missed"] + found["reversed"]) / there if there else None,
    }
    return {"judge": name, "tau": {"value": tau}, "all": {"pairs": 3, **found, **rates}}


def stressed(*judges: dict[str, Any], top: int = 2) -> dict[str, Any]:
    spread = {"pairs": 3, "all_judges_agree": 1, "judges_oppose": 0}
    measure = {"measure": "P@5", "judges": judges, "separated": 2, "spread": spread, "spread_unrelated": None}
    shared = {"pairs": 9, "queries": 3}
    runs = ["a", "b", "c"]
    return {"measures": [{**measure, "families": []}], "top": top, "runs": runs, "level": 0.95, "shared": shared}


def test_what_a_judge_misses_is_said_too() -> None:
    """One that separates nothing claims nothing falsely: its false rate is unknown and its silence was not told."""
    said = list(describe_findings(stressed(judge("shy", 0.5, {"missed": 2, "neither": 1}))))
    assert said == [
        "P@5: τ with people is 0.5000 (shy).",
        "P@5: of 2 pairs that people separate, shy misses or turns around 100.00%.",
    ]


def test_judges_with_one_tau_are_no_range() -> None:
    said = list(describe_findings(stressed(judge("a", 1.0, {"same": 2}), judge("b", 1.0, {"same": 2}))))
    assert said[0] == "P@5: τ with people is 1.0000 (2 judges alike)."
    said = list(describe_findings(stressed(judge("a", 1.0, {"same": 2}), judge("b", 0.0, {"same": 2}))))
    assert said[0] == "P@5: τ with people is 0.0000 (b) to 1.0000 (a)."


def test_the_best_of_fewer_runs_are_all_of_them() -> None:
    assert "top: of the first 2 by people" in next(legend(stressed()))
    assert "top: the same, of all runs" in next(legend(stressed(top=3)))
