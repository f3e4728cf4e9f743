"""Leaderboards: values as of each run alone, naive ranks and Borda counts, and ranks in worlds whose truth is known."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trueval import Judgments, Run, compare, evaluate, leaderboard
from trueval.comparison.leaderboard.board import TaskValues, average_ranks, groups_of, rank_values
from trueval.comparison.leaderboard.leaderboard_result import BoardTask, LeaderboardResult
from trueval.comparison.resampling.rank_bounds import Stratum, rank_bounds
from trueval.comparison.verdict import rank_intervals
from trueval.errors import InputError, PolicyError
from trueval.policy.conventions import CONVENTIONS
from trueval.standings.standings import Floats

MEASURES = "nDCG@5 AP RR P@3 R@4"
POLICIES: list[dict[str, Any]] = [
    *({"convention": name} for name in CONVENTIONS),
    *({"tie_order": order} for order in ("docid-asc", "docid-desc", "input", "random")),
    {"tie_precision": "bfloat16"},
    {"depth": 5},
]


def hostile(seed: int, systems: int = 4, queries: int = 8) -> tuple[dict[str, Any], dict[str, Any]]:
    """Judgments, and runs whose scores are few integers."""
    rng = np.random.default_rng(seed)
    judged = {f"q{q}": {f"d{d}": int(rng.integers(0, 2)) for d in range(9)} for q in range(queries)}
    runs = {
        f"s{s}": {query: {f"d{d}": float(rng.integers(0, 3)) for d in range(12)} for query in judged}
        for s in range(systems)
    }
    return judged, runs


@pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")  # of orders that a tool leaves open
@pytest.mark.parametrize("policy", POLICIES)
def test_values_are_those_of_each_run_alone(policy: dict[str, Any]) -> None:
    tasks = {name: hostile(seed, 3, 3) for seed, name in enumerate(["one", "two"])}
    found = leaderboard(tasks, MEASURES, **policy)
    alone = {
        (task, name): evaluate(Run.from_dict(run), judged, MEASURES, **policy)
        for task, (judged, runs) in tasks.items()
        for name, run in runs.items()
    }
    for board in found.boards:
        for row in board.rows:
            of_task = [alone[task, row.system].mean(board.measure) for task in tasks if board.task in ("", task)]
            for got, name in ((row.value, "expected"), (row.tie_range.low, "lowest"), (row.tie_range.high, "highest")):
                assert got == pytest.approx(np.mean([getattr(each, name) for each in of_task]), abs=1e-12)


def naive_ranks(values: list[float]) -> list[float]:
    """The mean place of each value over the places that its equals hold."""
    ranks = []
    for value in values:
        above = sum(other > value + 1e-12 for other in values)
        equal = sum(abs(other - value) <= 1e-12 for other in values)
        ranks.append(above + (equal + 1) / 2)
    return ranks


def test_ranks_and_borda_counts_are_the_naive_ones() -> None:
    tasks = {name: hostile(seed, systems=6, queries=2) for seed, name in enumerate("abcde")}
    found = leaderboard(tasks, "P@3")
    of_task = {
        task: naive_ranks(
            [next(row.value for row in found.board("P@3", task).rows if row.system == f"s{s}") for s in range(6)]
        )
        for task in tasks
    }
    assert any(rank % 1 for ranks in of_task.values() for rank in ranks)  # some are shared
    for row in found.board("P@3").rows:
        mine = [ranks[int(row.system[1:])] for ranks in of_task.values()]
        assert row.mean_rank == pytest.approx(sum(mine) / len(mine))
        assert row.borda == pytest.approx(sum(6 - rank for rank in mine))


def test_average_ranks_on_random_values_with_ties() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        values = rng.integers(0, 4, 9) / 3
        assert average_ranks(values).tolist() == naive_ranks(values.tolist())


def test_a_lower_value_is_better_where_the_measure_says_so() -> None:
    judged, runs = hostile(1)
    judged = {query: {document: 1 + 3 * grade for document, grade in each.items()} for query, each in judged.items()}
    found = leaderboard({"t": (judged, runs)}, "Harm@5")
    board = found.boards[0]
    assert board.better == "lower"
    values = [row.value for row in board.rows]
    assert values == sorted(values)
    for row in board.rows:
        assert row.tie_range.low <= row.value <= row.tie_range.high
        assert row.interval.low <= row.value <= row.interval.high


def test_nothing_is_averaged_over_what_is_there() -> None:
    tasks = {name: hostile(seed) for seed, name in enumerate(["one", "two"])}
    del tasks["two"][1]["s1"]
    found = leaderboard(tasks, "AP")
    last = found.board("AP").rows[-1]
    assert (last.system, last.place, last.ranks, last.lacks) == ("s1", None, None, ("two",))
    assert math.isnan(last.value)
    assert math.isnan(last.borda)
    assert len(found.board("AP", "one").rows) == 4
    assert len(found.board("AP", "two").rows) == 3
    assert any("s1 lacks two" in note for note in found.notes)
    del tasks["two"][1]["s2"], tasks["two"][1]["s3"]
    tasks["two"][1]["s9"] = tasks["two"][1]["s0"]
    with pytest.raises(InputError, match="No two systems have every task: s1 lacks two"):
        leaderboard(tasks, "AP")


def test_what_is_refused() -> None:
    judged, runs = hostile(0)
    with pytest.raises(InputError, match=r"t: a leaderboard needs two systems or more\. Got 1"):
        leaderboard({"t": (judged, {"a": runs["s0"]})}, "AP")
    twice = [Run.from_dict(runs["s0"], name="a"), Run.from_dict(runs["s1"], name="a")]
    with pytest.raises(InputError, match="t: 2 runs are called 'a', and a name is a system"):
        leaderboard({"t": (judged, twice)}, "AP")
    with pytest.raises(InputError, match="needs a task"):
        leaderboard({}, "AP")
    with pytest.raises(PolicyError, match="level must be between"):
        leaderboard({"t": (judged, runs)}, "AP", level=95)


def test_json_keeps_the_result_and_threads_do_not_change_it() -> None:
    judged, runs = hostile(5, systems=5, queries=12)
    one, two = (leaderboard({"t": (judged, runs)}, "AP RR", threads=threads) for threads in (1, 3))
    assert one.to_dict() == two.to_dict()
    assert LeaderboardResult.from_dict(one.to_dict()).to_dict() == one.to_dict()


def test_what_is_separated_is_what_a_comparison_separates_by_its_test() -> None:
    rng = np.random.default_rng(2)
    judged = {f"q{q}": {"d0": 1} for q in range(40)}
    runs = {
        f"s{s}": {
            query: {"d0": float(rng.random() < 0.1 + 0.2 * s), **{f"x{d}": 0.5 for d in range(3)}} for query in judged
        }
        for s in range(5)
    }
    board = leaderboard({"t": (judged, runs)}, "P@1").boards[0]
    found = compare(runs, judged, "P@1")
    ranks = {row.run: row.rank_interval for row in found.leaderboards[0].ranking}
    assert [row.system for row in board.rows] == ["s4", "s3", "s2", "s1", "s0"]
    for row in board.rows:
        assert row.ranks is not None
        theirs = ranks[row.system]
        assert theirs is not None
        assert abs(row.ranks.low - theirs.low) <= 1  # 1,000 patterns here, 10,000 there, which also asks an interval
        assert abs(row.ranks.high - theirs.high) <= 1


def world(kind: str, rng: np.random.Generator, queries: int, truth: Floats) -> Floats:
    """[query, system] values with these means."""
    size = queries, len(truth)
    if kind == "normal":
        return truth + 0.15 * rng.normal(size=(queries, 1)) + 0.1 * rng.normal(size=size)
    if kind == "binary":
        return (rng.random(size) < truth).astype(float)
    return truth + rng.exponential(0.12, size) - 0.12


@pytest.mark.parametrize("kind", ["normal", "binary", "exponential"])
@pytest.mark.parametrize(("queries", "systems"), [(12, 8), (50, 12)])
@pytest.mark.parametrize("spread", [0.0, 0.3])
def test_ranks_hold_together_in_worlds_whose_truth_is_known(
    kind: str, queries: int, systems: int, spread: float
) -> None:
    truth, right, worlds = np.linspace(0.5 + spread / 2, 0.5 - spread / 2, systems), 0, 40
    for seed in range(worlds):
        values = world(kind, np.random.default_rng(1000 + seed), queries, truth)
        means = values.mean(axis=0)
        better = rank_bounds(
            [Stratum(values, means, means, np.zeros(systems))], level=0.95, seed=seed, threads=1
        ).better
        right += not (better & (truth[:, None] <= truth)).any()
        if spread:  # the true ranks are inside, where nothing is separated falsely
            inside = [low <= rank <= high for rank, (low, high) in enumerate(rank_intervals(better), 1)]
            assert all(inside) or (better & (truth[:, None] <= truth)).any()
    assert right >= 33  # of 40 with .95 each, fewer than 33 have a chance of .0003


def test_power_is_not_lost() -> None:
    truth = np.linspace(0.9, 0.1, 5)
    values = world("normal", np.random.default_rng(0), 100, truth)
    means = values.mean(axis=0)
    better = rank_bounds([Stratum(values, means, means, np.zeros(5))], level=0.95, seed=0, threads=1).better
    assert rank_intervals(better) == tuple((rank, rank) for rank in range(1, 6))


def test_ties_undo_a_lead_and_few_units_separate_nothing() -> None:
    values = np.tile([0.9, 0.1], (30, 1)) + np.random.default_rng(0).normal(0, 0.01, (30, 2))
    means = values.mean(axis=0)
    sure = Stratum(values, means, means, np.zeros(2))
    assert rank_bounds([sure], level=0.95, seed=0, threads=1).better[0, 1]
    open_ = Stratum(values, means - 0.5, means + 0.5, np.array([0.2, 0.2]))
    assert not rank_bounds([open_], level=0.95, seed=0, threads=1).better.any()
    unknown = Stratum(values, means - 0.5, means + 0.5, np.full(2, np.nan))
    assert not rank_bounds([unknown], level=0.95, seed=0, threads=1).better.any()
    few = Stratum(values[:5], means, means, np.zeros(2))
    assert not rank_bounds([few], level=0.95, seed=0, threads=1).better.any()
    same = Stratum(np.repeat(values[:, :1], 2, axis=1), means, means, np.zeros(2))
    assert not rank_bounds([same], level=0.95, seed=0, threads=1).better.any()


def test_groups_have_leaders() -> None:
    better = np.zeros((4, 4), dtype=bool)
    better[0, 2:] = better[1, 3] = True
    assert groups_of(better, [0, 1, 2, 3]) == [1, 1, 2, 2]


def test_a_table_of_runs_is_a_task(tmp_path: Path) -> None:
    judged, runs = hostile(3)
    rows = ["run,query,document,score"]
    rows += [f"{s},{q},{d},{v}" for s, lists in runs.items() for q, each in lists.items() for d, v in each.items()]
    (tmp_path / "runs.csv").write_text("\n".join(rows))
    table = leaderboard({"t": (Judgments.from_dict(judged), tmp_path / "runs.csv")}, "AP")
    assert table.boards == leaderboard({"t": (judged, runs)}, "AP").boards


def test_published_values_have_tasks_for_units() -> None:
    numbers = np.array([0.5, 0.4, 0.3])
    parts = {
        f"t{t}": TaskValues(["a", "b", "c"], Stratum((numbers + t / 100)[None], numbers, numbers, np.zeros(3)))
        for t in range(7)
    }
    tasks = [BoardTask(name, None) for name in parts]
    found = rank_values(
        {("x", "higher"): parts}, tasks, level=0.95, seed=0, threads=1, notes=[], choices={}, published=True
    )
    first = found.board("x").rows[0]
    assert first.ranks == (1, 1)
    assert math.isnan(first.tie_range.low)
    assert found.board("x", "t0").rows[0].ranks is None


def test_against_a_baseline_ranks_are_those_of_all_systems() -> None:
    rng = np.random.default_rng(2)
    judged = {f"q{q}": {"d0": 1} for q in range(60)}
    runs = {
        f"s{s}": {
            query: {"d0": float(rng.random() < 0.1 + 0.2 * s), **{f"x{d}": 0.5 for d in range(3)}} for query in judged
        }
        for s in range(5)
    }
    of_board = {row.system: row.ranks for row in leaderboard({"t": (judged, runs)}, "P@1").boards[0].rows}
    found = compare(runs, judged, "P@1", baseline="s2", resamples=500)
    assert {row.run: row.rank_interval for row in found.leaderboards[0].ranking} == of_board
    assert set(of_board.values()) > {(1, 1), (5, 5)}
    # Clusters of unequal sizes: their sums have the mean over queries, and fewer units widen no rank to its neighbors'.
    clusters = {query: str(int(query[1:]) // (2 if int(query[1:]) < 20 else 5)) for query in judged}
    ranks = compare(runs, judged, "P@1", baseline="s2", resamples=500, clusters=clusters).leaderboards[0].ranking
    assert [row.rank_interval for row in (ranks[0], ranks[-1])] == [(1, 1), (5, 5)]
    by_bets = compare(runs, judged, "P@1", baseline="s2", resamples=500, intervals="bounded")
    assert {row.rank_interval for row in by_bets.leaderboards[0].ranking} == {None}
