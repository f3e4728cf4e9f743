"""Rules against enumeration, their ties, chances and sentences, and the quality of a choice on other queries."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from tests.tradeoff.sweeps import made_sweep
from tests.tradeoff.swept import write_sweep

import trueval as tv
from trueval.tradeoff.diagnosis.cross_fit import cross_fit
from trueval.tradeoff.frontier.rules import RuleInputs, RuleLimits, apply_rules, choose
from trueval.tradeoff.quality.pareto import Objectives

SEEKS = {"quality": (2, -1), "latency": (1, 1), "cost": (0, 1)}


def removed(rows: list[tuple[float, ...]], place: int, some: list[int]) -> bool:
    """Whether one of some is no worse in all that any of them knows, and better in one."""
    used = [at for at in range(3) if not all(math.isnan(rows[each][at]) for each in some)]
    own = [(-1 if at == 2 else 1) * rows[place][at] for at in used]
    for each in some:
        other = [(-1 if at == 2 else 1) * rows[each][at] for at in used]
        if all(a <= b for a, b in zip(other, own, strict=True)) and other != own:
            return True
    return False


def enumerated(rows: list[tuple[float, ...]], seeks: str, limits: RuleLimits) -> int | None:
    """The best one on the frontier of those inside, of equal ones the smaller prompt, then by the other objectives."""
    column, sign = SEEKS[seeks]
    inside = []
    for place, (cost, latency, quality, prompt) in enumerate(rows):
        kept = (
            (limits.latency is None or latency <= limits.latency)
            and (limits.cost is None or cost <= limits.cost)
            and (limits.quality is None or quality >= limits.quality)
        )
        if kept and not math.isnan(rows[place][column]):
            inside.append((sign * rows[place][column], prompt, place))
    some = [place for _, _, place in inside]
    inside = [each for each in inside if not removed(rows, each[2], some)]
    if not inside:
        return None
    best = min(value for value, _, _ in inside)
    tied = [(prompt, place) for value, prompt, place in inside if value == best]
    least = min(prompt for prompt, _ in tied)
    others = {"quality": (0, 1), "latency": (0, 2), "cost": (1, 2)}[seeks]

    def key(place: int) -> tuple[float, ...]:
        values = [(-1 if at == 2 else 1) * rows[place][at] for at in others]
        return *(math.inf if math.isnan(value) else value for value in values), place

    return min((place for prompt, place in tied if prompt == least), key=key)


def test_rules_choose_what_enumeration_chooses() -> None:
    rng = np.random.default_rng(11)
    for _ in range(300):
        count = int(rng.integers(1, 15))
        table = rng.integers(0, 5, (count, 4)).astype(float)
        table[:, :3][rng.random((count, 3)) < 0.1] = math.nan
        rows = [tuple(map(float, row)) for row in table]
        known = RuleInputs(Objectives(*table[:, :3].T), None, table[:, 3])
        given = [float(rng.integers(0, 5)) if rng.random() < 0.7 else None for _ in range(3)]
        for choice in apply_rules(known, RuleLimits(*given)):
            assert choice.answer == enumerated(rows, choice.seeks, choice.limits), (rows, choice)
            if choice.answer is not None:
                assert choice.feasible[choice.answer]
                assert choice.runner_up != choice.answer
                assert choice.runner_up is not None or choice.feasible.sum() >= 1


def test_every_limit_has_its_rule() -> None:
    known = RuleInputs(Objectives(*np.ones((3, 2))), None, np.ones(2))
    assert [(each.rule, each.seeks) for each in apply_rules(known, RuleLimits(1.0, 1.0, 1.0))] == [
        ("latency-bound", "quality"),
        ("cost-bound", "quality"),
        ("quality-bound", "latency"),
        ("quality-bound", "cost"),
        ("all limits", "quality"),
        ("best quality", "quality"),
    ]
    assert [each.rule for each in apply_rules(known, RuleLimits(latency=1.0))] == ["latency-bound", "best quality"]


def noisy(quality: list[float], prompt: list[float], sd: float = 0.01) -> RuleInputs:
    """Those that are better cost more, so that all are on the frontier."""
    rng = np.random.default_rng(0)
    draws = np.array(quality)[:, None] + rng.normal(0, sd, (len(quality), 4000))
    latency = np.full((len(quality), 4000), 0.1)
    cost = np.array(quality)
    points = Objectives(cost, np.full(len(quality), 0.1), np.array(quality))
    return RuleInputs(points, Objectives(cost, latency, draws), np.array(prompt))


def test_inside_noise_the_smaller_prompt_decides_and_says_so() -> None:
    found = choose(noisy([0.70, 0.695, 0.5], [5000.0, 500.0, 50.0]), "best quality", "quality", RuleLimits())
    assert (found.best, found.answer, found.runner_up) == (0, 1, 0)
    assert found.within_noise == (0, 1)
    assert found.decided_by == "smaller prompt"
    assert found.better is None  # it was not chosen for being better


def test_a_tie_that_the_value_decides_shows_its_share_of_resamples() -> None:
    found = choose(noisy([0.70, 0.695, 0.5], [500.0, 500.0, 50.0]), "best quality", "quality", RuleLimits())
    assert (found.answer, found.runner_up, found.decided_by, found.within_noise) == (0, 1, "quality", (0, 1))
    # Normal differences of mean .005 and sd .01 sqrt(2): P(> 0) = Phi(.3536) = .6382.
    assert found.better == pytest.approx(0.6382, abs=0.03)


def test_where_most_resamples_prefer_the_next_one_it_is_chosen() -> None:
    draws = np.array([[0.9, 0.5, 0.5], [0.6, 0.6, 0.6]])  # a mean of .633 by one resample of three
    points = Objectives(np.array([2.0, 1.0]), np.full(2, 0.1), np.array([0.633, 0.6]))
    known = RuleInputs(points, Objectives(points.cost, np.full((2, 3), 0.1), draws), np.ones(2))
    found = choose(known, "best quality", "quality", RuleLimits())
    assert (found.best, found.answer, found.runner_up, found.decided_by) == (0, 1, 0, "most resamples")
    assert found.better == pytest.approx(2 / 3)


def test_outside_noise_quality_decides() -> None:
    found = choose(noisy([0.80, 0.70, 0.5], [5000.0, 500.0, 50.0]), "best quality", "quality", RuleLimits())
    assert (found.answer, found.runner_up, found.within_noise, found.decided_by) == (0, 1, (0,), "quality")
    assert found.better == 1.0


@pytest.mark.parametrize(
    ("points", "prompt", "decided"),
    [
        (([2.0, 1.0], [0.1, 0.2], [0.5, 0.5]), [10.0, 10.0], "lower cost"),
        (([math.nan, 1.0], [0.1, 0.2], [0.5, 0.5]), [10.0, 10.0], "lower cost"),
        (([1.0, 1.0], [0.1, 0.1], [0.5, 0.5]), [10.0, 5.0], "smaller prompt"),
        (([1.0, 2.0], [0.1, 0.1], [0.4, 0.5]), [10.0, 10.0], "quality"),
    ],
)
def test_ties_are_decided_by_what_is_said(points: tuple[list[float], ...], prompt: list[float], decided: str) -> None:
    found = choose(RuleInputs(Objectives(*map(np.array, points)), None, np.array(prompt)), "r", "quality", RuleLimits())
    assert (found.answer, found.decided_by) == (1, decided)


def test_prompts_of_about_the_same_size_are_the_same() -> None:
    near = choose(noisy([0.70, 0.695], [515.0, 500.0]), "best quality", "quality", RuleLimits())
    assert (near.answer, near.decided_by) == (0, "quality")
    far = choose(noisy([0.70, 0.695], [530.0, 500.0]), "best quality", "quality", RuleLimits())
    assert (far.answer, far.decided_by) == (1, "smaller prompt")


def test_latencies_that_tie_are_decided_by_the_prompt() -> None:
    points = Objectives(np.array([2.0, 1.0]), np.array([0.30, 0.35]), np.array([0.9, 0.8]))
    known = RuleInputs(points, None, np.array([5000.0, 500.0]))
    assert choose(known, "quality-bound", "latency", RuleLimits(quality=0.5)).answer == 0
    tied = choose(
        known._replace(apart=np.zeros((2, 2), dtype=bool)), "quality-bound", "latency", RuleLimits(quality=0.5)
    )
    assert (tied.answer, tied.decided_by, tied.better) == (1, "smaller prompt", None)


def test_what_another_one_inside_the_limits_removes_is_not_chosen() -> None:
    # The first one is the least latency by a hair; the second one ties with it and is better and cheaper.
    points = Objectives(np.array([2.0, 1.0]), np.array([0.30, 0.301]), np.array([0.7, 0.9]))
    known = RuleInputs(points, None, np.array([500.0, 5000.0]), apart=np.zeros((2, 2), dtype=bool))
    found = choose(known, "quality-bound", "latency", RuleLimits(quality=0.5))
    assert (found.answer, found.runner_up) == (1, None)
    # Outside the limits it removes nobody.
    assert choose(known, "latency-bound", "quality", RuleLimits(latency=0.3)).answer == 0


def test_the_chance_to_be_inside_the_limits_is_the_share_of_the_draws() -> None:
    draws = Objectives(np.ones(1), np.array([[0.4, 0.5, 0.6, 0.7]]), np.array([[0.9, 0.9, 0.7, 0.9]]))
    known = RuleInputs(Objectives(np.ones(1), np.array([0.5]), np.array([0.9])), draws, np.ones(1))
    found = choose(known, "all limits", "quality", RuleLimits(latency=0.6, quality=0.8))
    assert found.feasible_chance == 0.5


def test_cross_fitting_is_what_enumeration_of_folds_gives() -> None:
    rng = np.random.default_rng(8)
    values = rng.integers(0, 4, (6, 4)) / 4
    values[1, 2] = np.nan
    prompt = np.array([3.0, 1.0, 2.0, 1.0])
    found = cross_fit(values, np.array([True, True, True, False]), prompt, folds=6, repeats=1)
    assert found is not None
    kept = []
    for out in range(6):  # as many folds as queries: whatever the permutation, each query is alone once
        means = [np.nanmean(np.delete(values[:, place], out)) for place in range(3)]
        chosen = min(range(3), key=lambda place: (-means[place], prompt[place]))
        kept.append(values[out, chosen])
    assert found.value == pytest.approx(np.nanmean(kept))
    assert found.chosen_on_all == max(np.nanmean(values[:, place]) for place in range(3))
    assert sum(each.share for each in found.picks) == pytest.approx(1.0)


def test_choosing_the_best_of_many_equal_ones_flatters_and_cross_fitting_does_not() -> None:
    rng = np.random.default_rng(9)
    told, fitted = [], []
    for _ in range(30):
        values = rng.normal(0.5, 0.3, (40, 30))
        found = cross_fit(values, np.ones(30, dtype=bool), np.ones(30), folds=5, repeats=4)
        assert found is not None
        told.append(found.chosen_on_all)
        fitted.append(found.value)
    # The largest of 30 standard normals is 2.04 on average, and a mean of 40 has the standard error .0474.
    assert np.mean(told) == pytest.approx(0.5 + 2.04 * 0.0474, abs=0.015)
    assert np.mean(fitted) == pytest.approx(0.5, abs=0.02)


def test_a_choice_of_nothing_has_no_quality() -> None:
    assert cross_fit(np.ones((5, 2)), np.array([False, False]), np.ones(2)) is None
    assert cross_fit(np.ones((1, 2)), np.array([True, True]), np.ones(2)) is None


def test_a_limit_of_another_measure_looks_at_that_measure(tmp_path: Path) -> None:
    folder = write_sweep(tmp_path, made_sweep(), queries=20)
    found = tv.frontier(folder, min_quality="N-Recall4+@10=0.6", resamples=100).to_dict()
    rules = [rule for rule in found["rules"] if rule["rule"] == "quality-bound"]
    assert [rule["seeks"] for rule in rules] == ["latency", "cost"]
    for rule in rules:
        assert rule["limits"]["measure"] == "N-Recall4+@10"
        assert {found["points"][place]["K"] for place in rule["feasible"]} == {10}
        assert rule["feasible_chance"] > 0.5
        assert "N-Recall4+@10 at least 0.6" in rule["sentence"]
