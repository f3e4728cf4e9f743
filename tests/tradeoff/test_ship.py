"""What is shipped: answers on the frontier, inside their limits in enough resamples, and at each K apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.tradeoff.swept import write_arrays

import trueval as tv
from trueval.errors import PolicyError
from trueval.tradeoff.frontier.rules import RuleInputs, RuleLimits, choose
from trueval.tradeoff.quality.pareto import Objectives

Values = Any


def of_mean(mean: float, queries: int, seed: int, sd: float = 0.1) -> Values:
    values = np.random.default_rng(seed).normal(0, sd, queries)
    return mean + values - values.mean()


def printed(frontier: Any) -> str:
    return " ".join(str(frontier).split())


def rules_of(found: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [rule for rule in found["rules"] if rule["rule"] == name]


@pytest.fixture
def busy(tmp_path: Path) -> Path:
    """A dense system of a busy machine, repeats from .2 to 2 s, and a sparse one of .4 ms; both reach the target."""
    rng = np.random.default_rng(0)
    dense = np.array([0.18, 1.2, 2.1]) * np.exp(rng.normal(0, 0.1, (20, 3)))
    sparse = 0.0004 * np.exp(rng.normal(0, 0.05, (20, 3)))
    qualities = ((0, 5, 0.55), (0, 10, 0.60), (1, 5, 0.52), (1, 10, 0.58))
    rows = [
        (system, k, f"RA-nWG@{k}", of_mean(mean, 60, place), None) for place, (system, k, mean) in enumerate(qualities)
    ]
    return write_arrays(
        tmp_path, times=[("dense", dense), ("sparse", sparse)], configurations=rows, quality="RA-nWG@K", prices=None
    )


def test_a_configuration_that_is_not_on_the_frontier_is_not_shipped(busy: Path) -> None:
    found = tv.frontier(busy, min_quality="RA-nWG@K=0.5").to_dict()
    (rule,) = rules_of(found, "quality-bound")
    answer = found["points"][rule["answer"]]
    assert answer["on_frontier"], rule["sentence"]
    assert answer["name"] == "sparse 1 K=10"
    assert rule["better"] is None or rule["better"] >= 0.5


def test_jitter_of_a_slow_configuration_makes_no_tie_with_one_that_is_a_thousand_times_faster(busy: Path) -> None:
    found = tv.frontier(busy).to_dict()
    # Dense K=10 is better than sparse K=10 and much slower: neither removes the other.
    assert [point["on_frontier"] for point in found["points"]] == [False, True, False, True]
    assert found["band"]["of"] == "jitter"
    assert 2 < found["band"]["ratio"] < 1000


def test_a_limit_of_quality_is_as_sure_as_plain_resamples_are(tmp_path: Path) -> None:
    # .54 and .70 with standard errors of .1: P(mean >= .53) is about Phi(.1) = .54, and Phi(1.7) = .955.
    rows = [(0, 5, "nDCG@5", of_mean(0.54, 36, 1, 0.6), None), (1, 5, "nDCG@5", of_mean(0.70, 36, 2, 0.6), None)]
    times = [("sparse", np.full((4, 3), 0.001)), ("dense", np.full((4, 3), 0.1))]
    folder = write_arrays(tmp_path, times=times, configurations=rows, resamples=4000)
    plain = tv.frontier(folder, min_quality=0.53)
    (rule,) = rules_of(plain.to_dict(), "quality-bound")
    values = rows[0][3]
    rng = np.random.default_rng(7)
    share = (rng.choice(values, (20_000, 36)).mean(axis=1) >= 0.53).mean()
    assert rule["answer"] == 0
    assert rule["feasible_chance"] == pytest.approx(share, abs=0.03)
    assert f"inside in {rule['feasible_chance']:.3f} of the resamples" in rule["sentence"]
    assert "Ship sparse 0 K=5, the least latency with nDCG@5 at least 0.53" in printed(plain)
    assert f"inside the limits in .{1000 * rule['feasible_chance']:03.0f}" in printed(plain)
    (sure,) = rules_of(tv.frontier(folder, min_quality=0.53, sure=0.9).to_dict(), "quality-bound")
    assert (sure["answer"], sure["feasible"]) == (1, [1])
    (none,) = rules_of(tv.frontier(folder, min_quality=0.53, sure=1.0).to_dict(), "quality-bound")
    assert (none["answer"], none["surest"]) == (None, 1)
    assert "in at least 1 of the resamples; dense 1 K=5 is in 0.9" in none["sentence"]
    with pytest.raises(PolicyError, match="sure must be a number from 0 to 1"):
        tv.frontier(folder, sure=1.5)


def test_what_others_tell_never_makes_a_limit_surer(tmp_path: Path) -> None:
    """Nine neighbours well above the limit would lift the tenth one, which is just above it."""
    rng = np.random.default_rng(3)
    means = [0.51, *([0.7] * 9)]
    rows = [(place, 5, "nDCG@5", of_mean(mean, 25, place, 0.5), 1.0 + place / 100) for place, mean in enumerate(means)]
    times = [("dense", 0.01 * np.exp(rng.normal(0, 0.05, (5, 3)))) for _ in means]
    folder = write_arrays(tmp_path, times=times, configurations=rows, resamples=2000)
    (rule,) = rules_of(tv.frontier(folder, min_quality=0.5, max_cost=1.0).to_dict(), "all limits")
    found = tv.frontier(folder)
    assert (found.qualities.values[0] >= 0.5).mean() > (found.qualities.plain[0] >= 0.5).mean() + 0.1
    assert rule["answer"] == 0
    assert rule["feasible_chance"] == (found.qualities.plain[0] >= 0.5).mean()


def test_a_limit_of_another_measure_has_its_chance(tmp_path: Path) -> None:
    rows = [(0, 5, "RA-nWG@5", of_mean(0.6, 30, 1), None), (1, 5, "RA-nWG@5", of_mean(0.5, 30, 2), None)]
    others = np.stack([of_mean(0.41, 30, 3, 0.5), of_mean(0.9, 30, 4, 0.2)], axis=1)
    folder = write_arrays(
        tmp_path, times=[("dense", None), ("sparse", None)], configurations=rows, others={"nDCG@10": others}
    )
    found = tv.frontier(folder, min_quality="nDCG@10=0.4", max_latency_ms=None).to_dict()
    assert rules_of(found, "quality-bound") == []  # neither latency nor cost is known
    rows = [(*row[:4], 1.0 + place) for place, row in enumerate(rows)]
    folder = write_arrays(
        tmp_path / "priced", times=[("dense", None), ("sparse", None)], configurations=rows, others={"nDCG@10": others}
    )
    (rule,) = rules_of(tv.frontier(folder, min_quality="nDCG@10=0.4").to_dict(), "quality-bound")
    drawn = np.random.default_rng(1).choice(others[:, 0], (20_000, 30)).mean(axis=1)
    assert rule["answer"] == 0
    assert rule["feasible_chance"] == pytest.approx((drawn >= 0.4).mean(), abs=0.06)
    (sure,) = rules_of(tv.frontier(folder, min_quality="nDCG@10=0.4", sure=0.9).to_dict(), "quality-bound")
    assert sure["answer"] == 1


def mixed(folder: Path, measure: str) -> Path:
    """P@5 of everything is above P@20 of everything; dense is better at 20, sparse at 5."""
    rows = []
    for system, at in ((0, {5: 0.80, 20: 0.40}), (1, {5: 0.85, 20: 0.30})):
        rows += [
            (system, k, f"{measure}@{k}", of_mean(mean, 50, 10 * system + k, 0.02), None) for k, mean in at.items()
        ]
    times = [("dense", np.full((4, 3), 0.01)), ("sparse", np.full((4, 3), 0.01))]
    return write_arrays(folder, times=times, configurations=rows, quality=f"{measure}@K", prices=None)


def test_rules_and_frontiers_are_of_one_k_where_the_measure_is_another_at_each(tmp_path: Path) -> None:
    frontier = tv.frontier(mixed(tmp_path, "P"), max_latency_ms=100)
    found = frontier.to_dict()
    for name in ("best quality", "latency-bound"):
        rules = rules_of(found, name)
        assert [(rule["K"], found["points"][rule["answer"]]["name"]) for rule in rules] == [
            (5, "sparse 1 K=5"),
            (20, "dense 0 K=20"),
        ]
        assert [rule["sentence"].startswith(f"At K = {rule['K']} the best quality") for rule in rules] == [True, True]
        assert all({found["points"][place]["K"] for place in rule["feasible"]} == {rule["K"]} for rule in rules)
    assert [point["name"] for point in found["points"] if point["on_frontier"]] == ["dense 0 K=20", "sparse 1 K=5"]
    assert [panel["K"] for panel in found["panels"]] == [5, 20]
    for each in found["groups"]:
        assert len({found["points"][place]["K"] for place in each["members"]}) == 1
    assert {(each["K"], found["points"][each["best"]]["name"]) for each in found["slo"]} == {
        (5, "sparse 1 K=5"),
        (20, "dense 0 K=20"),
    }
    assert not [each for each in found["marginals"] if each["axis"] == "K"]
    assert "Configurations are compared at the same K: at another, P@K is another measure." in " ".join(
        str(frontier).split()
    )


@pytest.mark.parametrize("measure", ["RA-nWG", "N-Recall4+"])
def test_measures_that_the_paper_compares_across_k_are_and_it_is_said(tmp_path: Path, measure: str) -> None:
    frontier = tv.frontier(mixed(tmp_path, measure))
    (rule,) = rules_of(frontier.to_dict(), "best quality")
    assert (rule["K"], rule["answer"]) == (None, 2)
    assert f"Configurations of different K are compared by {measure}@K, as P-B does (section 3.3)." in " ".join(
        str(frontier).split()
    )


def test_a_fixed_cutoff_is_compared_across_k(tmp_path: Path) -> None:
    rows = [(0, k, "nDCG@10", of_mean(mean, 30, k), cost) for k, mean, cost in ((10, 0.5, 1.0), (20, 0.6, 2.0))]
    folder = write_arrays(tmp_path, times=[("dense", None)], configurations=rows, quality="nDCG@10")
    frontier = tv.frontier(folder)
    (rule,) = rules_of(frontier.to_dict(), "best quality")
    assert (rule["K"], rule["answer"]) == (None, 1)
    assert "compared" not in str(frontier)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"max_cost": 2.5}, r"No configuration of this sweep has a cost.*\[prices\] generator = \"gpt-5-mini\""),
        ({"max_latency_ms": 100}, r"No configuration of this sweep has a latency.*\[latency\] queries = 30"),
    ],
)
def test_a_limit_of_what_is_not_known_is_refused(tmp_path: Path, asked: dict[str, float], said: str) -> None:
    rows = [(0, 5, "nDCG@5", of_mean(0.5, 10, 1), None), (1, 5, "nDCG@5", of_mean(0.6, 10, 2), None)]
    folder = write_arrays(tmp_path, times=[("dense", None), ("sparse", None)], configurations=rows, prices=None)
    with pytest.raises(PolicyError, match=said):
        tv.frontier(folder, **asked)
    frontier = tv.frontier(folder)
    told = "\n".join([*frontier.to_dict()["notes"], str(frontier)])
    assert "has a cost" not in told
    assert "USD" not in told


def test_one_repeat_separates_nothing_and_a_band_does(tmp_path: Path) -> None:
    rows = [(0, 5, "nDCG@5", of_mean(0.5, 10, 1), None), (1, 5, "nDCG@5", of_mean(0.6, 10, 2), None)]
    times = [("sparse", np.full((4, 1), 0.001)), ("dense", np.full((4, 1), 0.5))]
    folder = write_arrays(tmp_path, times=times, configurations=rows)
    found = tv.frontier(folder).to_dict()
    assert [point["on_frontier"] for point in found["points"]] == [False, True]
    assert found["band"] == {"of": "none", "seconds": None, "ratio": None}
    assert any("With one repeat of each query nothing separates two latencies" in note for note in found["notes"])
    banded = tv.frontier(folder, band_ms=75).to_dict()
    assert [point["on_frontier"] for point in banded["points"]] == [True, True]
    assert banded["band"] == {"of": "band_ms", "seconds": 0.075, "ratio": None}
    tied = tv.frontier(folder, band_ms=499).to_dict()
    assert [point["on_frontier"] for point in tied["points"]] == [False, True]


# ---- where every configuration finds everything ----


def at_ceiling(folder: Path, *, values: Values = 1.0, cost: float | None = None) -> Path:
    """A slow dense and a fast sparse system with the same quality at every query, at two K."""
    rows = [
        (system, k, f"RA-nWG@{k}", np.full(20, values), None if cost is None else cost + place)
        for place, (system, k) in enumerate([(0, 5), (0, 10), (1, 5), (1, 10)])
    ]
    times = [("dense", np.full((4, 3), 0.1)), ("sparse", np.full((4, 3), 0.001))]
    return write_arrays(folder, times=times, configurations=rows, quality="RA-nWG@K", prices=None)


def test_where_all_find_everything_the_frontier_says_so_and_ships_what_costs_least(tmp_path: Path) -> None:
    told = printed(tv.frontier(at_ceiling(tmp_path / "same"), max_latency_ms=50))
    assert told.startswith("Ship sparse 1 K=5: RA-nWG@5 1.0000")
    assert (
        "; all 2 configurations inside the limits reach 1, the ceiling of RA-nWG@K, so that quality cannot tell them "
        "apart on these queries, and it has the smallest prompt; the runner-up is sparse 1 K=10."
    ) in told
    told = printed(tv.frontier(tmp_path / "same"))
    assert "; all 4 configurations reach 1, the ceiling of RA-nWG@K" in told
    assert "and it is the fastest of them and has the smallest prompt; the runner-up is sparse 1 K=10." in told
    assert "Only harder questions, on which some of them fail, can say which is better." in told
    assert "More judged queries" not in told
    assert "trueval power" not in told
    below = printed(tv.frontier(at_ceiling(tmp_path / "below", values=0.9)))
    assert "ceiling" not in below
    assert "Ship sparse 1 K=5, the best quality" in below


def test_cost_decides_between_equals_where_it_counts_prompts() -> None:
    """The larger prompt is the cheaper one; P-B's smaller prompt decides where cost does not know of prompts."""
    quality, latency = np.ones(2), np.array([0.2, 0.3])
    points = Objectives(np.array([5.0, 2.0]), latency, quality)
    draws = Objectives(points.cost, np.stack([latency] * 9, axis=1), np.ones((2, 9)))
    known = RuleInputs(points, draws, np.array([500.0, 1000.0]))
    for paid, answer, decided in ((False, 0, "smaller prompt"), (True, 1, "lower cost")):
        found = choose(known._replace(paid=paid), "best quality", "quality", RuleLimits())
        assert (found.answer, found.within_noise, found.decided_by) == (answer, (0, 1), decided)
    unequal = draws._replace(quality=np.array([[1.0] * 8 + [0.9], [1.0] * 9]))
    found = choose(known._replace(paid=True, draws=unequal), "best quality", "quality", RuleLimits())
    assert (found.answer, found.decided_by) == (0, "smaller prompt")
