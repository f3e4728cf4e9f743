"""Decisions by people's labels: contrasts, verdicts batch by batch, and replays that stop early."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.comparison.label_replays import decision_of, replay

from trueval import Judgments, Run, evaluate
from trueval.comparison.labels.label_decision import (
    EQUAL,
    FIRST,
    QUESTIONS,
    SECOND,
    Contrast,
    read_contrasts,
)
from trueval.errors import PolicyError

SCALE = (1.0, 4.0)  # on the rubric, for Harm


def world(
    seed: int, queries: int = 40, better: float = 1.0, wrong: float = 0.3
) -> tuple[list[Run], Judgments, np.ndarray]:
    """Three runs, the first better by people, with ties; and a judge that errs and leaves passages without a grade."""
    rng = np.random.default_rng(seed)
    people = rng.choice([1, 2, 3, 4], p=[0.55, 0.2, 0.15, 0.1], size=(queries, 15))
    judge = np.where(rng.random(people.shape) < wrong, rng.integers(1, 5, people.shape), people)
    judge = np.where(rng.random(people.shape) < 0.05, -1, judge)
    runs = []
    for name, quality in (("a", better), ("b", 0.2), ("c", 0.2)):
        scores = (people * quality + rng.normal(size=people.shape)).round(1)
        lists = {f"q{q}": {f"d{d}": float(s) for d, s in enumerate(row)} for q, row in enumerate(scores)}
        runs.append(Run.of(lists, name=name))
    grades = {f"q{q}": {f"d{d}": int(g) for d, g in enumerate(row)} for q, row in enumerate(judge)}
    return runs, Judgments.of(grades), people.ravel().astype(float)


def people_mean(run: Run, people: np.ndarray, queries: int, measure: str) -> float:
    rows = people.reshape(queries, -1)
    grades = {f"q{q}": {f"d{d}": int(g) for d, g in enumerate(row)} for q, row in enumerate(rows)}
    return evaluate(run, grades, measure)[measure].expected


def test_claims_are_read() -> None:
    judge = {"a": 0.2, "b": 0.5, "c": 0.3}
    assert read_contrasts("a > c", judge) == (Contrast("a", "c"),)
    assert read_contrasts("ranking", judge) == (Contrast("b", "c"), Contrast("c", "a"))
    assert read_contrasts("gate", judge, baseline="c", max_drop=0.01) == (
        Contrast("a", "c", -0.01),
        Contrast("b", "c", -0.01),
    )


@pytest.mark.parametrize(
    ("decide", "choices", "message"),
    [
        ("a>d", {}, "'d' is not one of the runs a, b"),
        ("a>a", {}, "must be 'a>b' with the names of two runs, ranking, or gate"),
        ("best", {}, "must be 'a>b' with the names of two runs, ranking, or gate"),
        ("gate", {}, "A gate needs a baseline, one of a, b"),
        ("gate", {"baseline": "b", "max_drop": -1.0}, "largest drop must be 0 or more"),
        ("ranking", {"baseline": "b"}, "belong to the decision 'gate'"),
    ],
)
def test_decisions_that_are_none_are_refused(decide: str, choices: dict[str, object], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        read_contrasts(decide, {"a": 0.1, "b": 0.2}, **choices)  # type: ignore[arg-type]


@pytest.mark.parametrize("measure", ["DCG@5", "Harm@5", "P(rel=3)@5"])
@pytest.mark.parametrize("target", ["these queries", "new queries"])
def test_with_everything_labeled_the_difference_is_that_of_people(measure: str, target: str) -> None:
    runs, judge, people = world(1)
    decision = decision_of(runs, judge, SCALE, measure, target)
    found = replay(decision, [Contrast("a", "b")], people, np.random.default_rng(0), stops=False)
    (state,) = found.states
    expected = people_mean(runs[0], people, 40, measure) - people_mean(runs[1], people, 40, measure)
    # Decided early, the state is that of then; the truth lies in its interval.
    assert state.corrected.low <= expected <= state.corrected.high
    assert state.verdict == FIRST
    by_judge = [evaluate(run, judge, measure)[measure].expected for run in runs[:2]]
    assert state.judge == pytest.approx(by_judge[0] - by_judge[1], abs=1e-12)


def test_where_lower_is_better_the_first_run_has_less_harm() -> None:
    runs, judge, people = world(2)
    decision = decision_of(runs, judge, SCALE, "Harm@5", "these queries")
    (state,) = replay(decision, [Contrast("b", "a")], people, np.random.default_rng(0)).states
    assert (state.verdict, state.corrected.low > 0) == (SECOND, True)
    assert max(decision.judge_means(), key=decision.judge_means().__getitem__) == "a"


def test_a_decision_stops_early_and_the_rest_of_a_ranking_goes_on() -> None:
    runs, judge, people = world(3)
    decision = decision_of(runs, judge, SCALE, "DCG@5", "new queries")
    contrasts = read_contrasts("ranking", decision.judge_means())
    assert contrasts[0].first == "a"
    found = replay(decision, contrasts, people, np.random.default_rng(0))
    assert found.states[0].verdict == FIRST
    assert found.share < 0.8
    # The other two are equally good: labels of these queries may say which had more luck, of new ones they cannot.
    assert found.states[1].verdict == QUESTIONS
    assert found.states[0].batch <= found.states[1].batch


def test_a_gate_is_decided_about_its_limit() -> None:
    runs, judge, people = world(4, better=0.25)
    decision = decision_of(runs, judge, SCALE, "DCG@5", "these queries")
    contrasts = read_contrasts("gate", decision.judge_means(), baseline="b", max_drop=1.5)
    found = replay(decision, contrasts, people, np.random.default_rng(0))
    assert [state.verdict for state in found.states] == [FIRST, FIRST]
    assert all(state.corrected.low > -1.5 for state in found.states)
    assert found.share < 0.5


def test_measures_that_single_passages_do_not_tell_are_refused() -> None:
    runs, judge, _ = world(5)
    with pytest.raises(PolicyError, match=r"nDCG@5: its norm depends on people's grades"):
        decision_of(runs, judge, SCALE, "nDCG@5", "new queries")


def test_passages_that_cancel_in_a_difference_are_drawn_least() -> None:
    runs, judge, _ = world(6)
    decision = decision_of(runs[:2], judge, SCALE, "P(rel=3)@5", "new queries")
    chances = decision.chances([Contrast("a", "b")], None, decision.members(), 60)
    assert chances.sum() == pytest.approx(60)
    apart = decision.worth[0] - decision.worth[1]
    equal, other = decision.members() & (np.abs(apart) < 1e-12), np.abs(apart) == np.abs(apart).max()
    assert 0 < chances[equal].max() < chances[other].min()
    unjudged = judge.frame["grade"].to_numpy() < 0
    assert (chances[unjudged & decision.members()] > 0).all()


def test_runs_that_no_labels_tell_apart_are_equal_and_not_worse() -> None:
    runs, judge, people = world(8)
    same = [runs[0], replace(runs[0], name="same"), runs[1]]
    decision = decision_of(same, judge, SCALE, "DCG@5", "these queries")
    contrasts = [Contrast("a", "same"), Contrast("a", "same", -0.1), Contrast("a", "b")]
    found = replay(decision, contrasts, people, np.random.default_rng(0))
    assert [state.verdict for state in found.states] == [EQUAL, FIRST, FIRST]
    assert [state.batch for state in found.states[:2]] == [0, 0]


def test_where_every_grade_has_the_same_gain_nothing_decides() -> None:
    runs, judge, people = world(7)
    decision = decision_of(runs[:2], judge, SCALE, "P@5", "these queries")  # all grades are 1 or more
    assert not decision.gain_spread(None).any()
    unjudged = judge.frame["grade"].to_numpy() < 0
    found = replay(decision, [Contrast("a", "b")], np.where(unjudged, 1, people), np.random.default_rng(0), stops=False)
    assert np.isfinite(found.states[0].corrected.se)
