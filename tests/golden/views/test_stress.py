"""The sentences of judges under stress name what is worst, and nothing twice."""

from __future__ import annotations

from dataclasses import replace

from trueval.golden.validation.agreement_intervals import ValueWithInterval
from trueval.golden.validation.agreement_result import LabelOrigin
from trueval.golden.validation.label_verdicts import VerdictRates, VerdictSpread
from trueval.golden.validation.stress_result import JudgeRanking, MeasureUnderJudges, SharedLabels, Stress
from trueval.golden.views.stress import describe_findings, legend


def judge(name: str, tau: float, *, same: int = 0, missed: int = 0, neither: int = 0) -> JudgeRanking:
    there = same + missed
    rates = VerdictRates(3, same, 0, 0, missed, neither, 0.0 if same else None, missed / there if there else None)
    return JudgeRanking(name, ValueWithInterval(tau), ValueWithInterval(tau), same, rates, rates)


def measured(*judges: JudgeRanking) -> MeasureUnderJudges:
    spread = VerdictSpread(pairs=3, all_judges_agree=1, judges_oppose=0, people_alone=0)
    return MeasureUnderJudges("P@5", "higher", (3,), ("a", "b"), 2, judges, (), (), spread, None, (), {})


def stressed(top: int = 2) -> Stress:
    people = LabelOrigin("people", "people.qrels", 9)
    shared = SharedLabels(pairs=9, queries=3)
    runs = ("a", "b", "c")
    return Stress((0, 3), top, 100, 0, 0.95, {}, people, (), runs, shared, None, (), (measured(),), ())


def test_what_a_judge_misses_is_said_too() -> None:
    """One that separates nothing claims nothing falsely: its false rate is unknown and its silence was not told."""
    assert list(describe_findings(measured(judge("shy", 0.5, missed=2, neither=1)))) == [
        "P@5: τ with people is 0.5000 (shy).",
        "P@5: of 2 pairs that people separate, shy misses or turns around 100.00%.",
    ]


def test_judges_with_one_tau_are_no_range() -> None:
    said = list(describe_findings(measured(judge("a", 1.0, same=2), judge("b", 1.0, same=2))))
    assert said[0] == "P@5: τ with people is 1.0000 (2 judges alike)."
    said = list(describe_findings(measured(judge("a", 1.0, same=2), judge("b", 0.0, same=2))))
    assert said[0] == "P@5: τ with people is 0.0000 (b) to 1.0000 (a)."


def test_the_best_of_fewer_runs_are_all_of_them() -> None:
    assert "top: of the first 2 by people" in next(legend(stressed()))
    assert "top: the same, of all runs" in next(legend(replace(stressed(), top=3)))
