"""Pareto sets against brute force, their probabilities, groups, and the frontier of a made sweep."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.tradeoff.frontiers import made_frontier
from tests.tradeoff.sweeps import made_sweep
from tests.tradeoff.swept import write_sweep

import trueval as tv
from trueval.errors import InputError, PolicyError
from trueval.report.number_texts import FRACTIONS, POINTS
from trueval.report.view_texts import as_markdown
from trueval.tradeoff.diagnosis.marginals import efficiencies
from trueval.tradeoff.frontier.configuration_groups import group
from trueval.tradeoff.frontier.frontier_result import FrontierResult
from trueval.tradeoff.quality.changes import Bootstrap
from trueval.tradeoff.quality.pareto import Objectives, on_frontier, removers
from trueval.tradeoff.quality.resamples import draw_latencies, draw_qualities, features_of, percentiles
from trueval.tradeoff.quality.sweep_loader import read_sweep
from trueval.tradeoff.views.frontier import view
from trueval.version import __version__

Row = tuple[float, float, float]
NAN = math.nan


def removes(one: Row, other: Row, rule: str, tie: bool, used: list[int]) -> bool:
    """The rule word by word, on the objectives that anybody knows, of two whose latencies tie or do not."""
    # All as "less is better", and whether a difference is none.
    pairs = [(sign * one[at], sign * other[at], tie and at == 1) for at, sign in enumerate((1, 1, -1))]
    pairs = [pairs[at] for at in used]
    better = [a < b and not none for a, b, none in pairs]
    if rule == "paper":
        return bool(pairs) and all(better)
    no_worse = [a <= b or (none and not math.isnan(a) and not math.isnan(b)) for a, b, none in pairs]
    return all(no_worse) and any(better)


def brute_force(rows: list[Row], rule: str, apart: list[list[bool]]) -> list[bool]:
    used = [at for at in range(3) if not all(math.isnan(row[at]) for row in rows)]
    return [
        not any(removes(one, other, rule, not apart[i][j], used) for i, one in enumerate(rows) if i != j)
        for j, other in enumerate(rows)
    ]


def cloud(rng: np.random.Generator) -> list[Row]:
    """Points on a coarse grid, so that many objectives are equal; some are not known, and some points come twice."""
    count = int(rng.integers(1, 13))
    points = rng.integers(0, int(rng.integers(2, 6)), (count, 3)).astype(float)
    points[rng.random((count, 3)) < rng.choice([0.0, 0.15])] = NAN
    points[:, rng.random(3) < 0.15] = NAN
    points = np.concatenate([points, points[: int(rng.integers(0, count + 1))]])
    return [tuple(map(float, row)) for row in points]


@pytest.mark.parametrize("rule", ["pareto", "paper"])
def test_pareto_sets_are_those_of_brute_force(rule: str) -> None:
    rng = np.random.default_rng(7)
    for _ in range(150):
        rows = cloud(rng)
        points, every = Objectives(*np.array(rows).T), [[True] * len(rows)] * len(rows)
        assert on_frontier(points, rule=rule).tolist() == brute_force(rows, rule, every), rows
        apart = np.triu(rng.random((len(rows), len(rows))) < 0.5)
        apart |= apart.T
        found = on_frontier(points, rule=rule, apart=apart).tolist()
        assert found == brute_force(rows, rule, apart.tolist()), (rows, apart)
        assert any(found)


def test_what_some_or_nobody_knows_decides_in_resamples_as_pair_by_pair() -> None:
    rng = np.random.default_rng(5)
    for _ in range(150):
        size, draws = (int(each) for each in rng.integers(1, 9, 2))
        points = [rng.integers(0, int(rng.integers(2, 6)), (size, draws)).astype(float) for _ in range(3)]
        for at, chance in enumerate(rng.random(3)):
            if chance < 0.2:
                points[at][rng.random(size) < 0.5] = np.nan
            elif chance < 0.3:
                points[at][:] = np.nan
        for rule in ("pareto", "paper"):
            found = on_frontier(Objectives(*points), rule=rule)
            for at in range(draws):
                one = Objectives(*(each[:, at] for each in points))
                pairs = [not removers(one, place, rule=rule).any() for place in range(size)]
                assert found[:, at].tolist() == pairs, (points, rule)


def test_resamples_are_each_a_pareto_set() -> None:
    rng = np.random.default_rng(3)
    for count, draws in ((1, 4), (9, 30), (25, 20)):
        cost = rng.integers(0, 4, count).astype(float)
        latency, quality = (rng.integers(0, 5, (count, draws)).astype(float) for _ in range(2))
        for rule in ("pareto", "paper"):
            found = on_frontier(Objectives(cost, latency, quality), rule=rule)
            for at in range(draws):
                one = on_frontier(Objectives(cost, latency[:, at], quality[:, at]), rule=rule)
                assert found[:, at].tolist() == one.tolist()


def test_equal_points_stay_together_and_removers_are_named() -> None:
    points = Objectives(np.array([1.0, 1.0, 1.0]), np.array([0.2, 0.2, 0.3]), np.array([0.5, 0.5, 0.5]))
    assert on_frontier(points).tolist() == [True, True, False]
    assert removers(points, 2).tolist() == [True, True, False]
    assert on_frontier(points, apart=np.zeros((3, 3), dtype=bool)).tolist() == [True, True, True]


def test_the_weaker_rule_removes_no_point_that_the_standard_keeps() -> None:
    rng = np.random.default_rng(5)
    points = Objectives(*rng.integers(0, 4, (3, 60)).astype(float))
    standard, paper = on_frontier(points), on_frontier(points, rule="paper")
    assert (standard <= paper).all()
    assert paper.sum() > standard.sum()


def test_an_unknown_rule_names_the_nearest() -> None:
    with pytest.raises(PolicyError, match="Did you mean pareto"):
        on_frontier(Objectives(*np.ones((3, 2))), rule="paretto")


def test_percentiles_of_resamples_are_those_of_numpy() -> None:
    rows = np.sort(np.random.default_rng(0).random((5, 9)), axis=1)
    expected = np.quantile(rows, [0.5, 0.95, 0.99], axis=1)
    np.testing.assert_allclose(percentiles(rows, [0.5, 0.95, 0.99]), expected, rtol=1e-14)
    some = rows.copy()
    some[:, 6:] = np.nan
    np.testing.assert_allclose(percentiles(some, [0.95])[0], np.quantile(rows[:, :6], 0.95, axis=1), rtol=1e-14)


def test_latencies_of_systems_that_share_their_times_move_together() -> None:
    rng = np.random.default_rng(1)
    shared = rng.lognormal(-2, 0.5, (1, 20, 3))
    totals = np.concatenate([shared, shared + 0.01, rng.lognormal(-2, 0.5, (1, 20, 3))])
    totals[2, 4:, 1] = np.nan
    found = draw_latencies(totals, [0.5], resamples=300, seed=0)[0]
    np.testing.assert_allclose(found[1] - found[0], 0.01, rtol=1e-9)
    assert found[2].std() > 0
    assert np.array_equal(found, draw_latencies(totals, [0.5], resamples=300, seed=0, threads=2)[0])
    spread = float(np.std(found[0]))
    # The standard error of a median: sqrt(pi / 2) sd / sqrt(n), of the logs, at 60 values.
    assert 0.5 < spread / (float(np.median(shared)) * 0.5 * math.sqrt(math.pi / 2 / 60)) < 2


def test_a_resample_moves_all_configurations_by_the_same_queries() -> None:
    rng = np.random.default_rng(2)
    shared = rng.normal(0.5, 0.3, (50, 1))
    values = np.hstack([shared, shared + 0.1, shared - 0.1])
    found = draw_qualities(values, np.zeros_like(values), np.empty((3, 0)), resamples=500, seed=0)
    np.testing.assert_allclose(found.plain[1] - found.plain[0], 0.1, atol=1e-9)
    error = float(values[:, 0].std(ddof=1) / math.sqrt(50))
    assert abs(found.plain[0].std() / error - 1) < 0.1


def test_queries_without_a_value_are_left_out_of_the_mean() -> None:
    values = np.array([[0.2, 0.2], [np.nan, 0.4], [0.4, 0.6], [0.9, 0.1]])
    found = draw_qualities(values, np.zeros_like(values), np.empty((2, 0)), resamples=200, seed=0)
    assert found.measured.tolist() == pytest.approx([0.5, 0.325])
    assert np.isfinite(found.plain).all()
    nothing = draw_qualities(values * np.nan, values * 0, np.empty((2, 0)), resamples=20, seed=0)
    assert np.isnan(nothing.measured).all()
    assert np.isnan(nothing.values).all()


def test_tie_orders_add_the_variance_that_they_have() -> None:
    values, sd = np.full((100, 2), 0.5), 0.2
    variances = np.stack([np.full(100, sd**2), np.zeros(100)], axis=1)
    found = draw_qualities(values, variances, np.empty((2, 0)), resamples=4000, seed=0)
    # All queries are equal, so what is left is the noise of ties: sd / sqrt(100), widened by sqrt(100 / 99).
    assert float(found.plain[0].std()) == pytest.approx(sd / 10 * math.sqrt(100 / 99), rel=0.05)
    assert float(found.plain[1].std()) == 0.0


def test_configurations_with_the_same_values_are_never_told_apart() -> None:
    rng = np.random.default_rng(4)
    values = rng.random((30, 7))
    values[:, 5] = values[:, 2]
    variances = rng.random((30, 7)) * 0.01
    variances[:, 5] = variances[:, 2]
    features = features_of(np.arange(1.0, 8.0), np.full(7, 0.1))
    found = draw_qualities(values, variances, features, resamples=300, seed=0)
    assert np.array_equal(found.values[2], found.values[5])
    assert found.same.tolist() == [0, 1, 2, 3, 4, 2, 6]
    assert not math.isnan(found.shrunk.own)


def test_noise_is_drawn_toward_the_others_and_real_differences_are_not() -> None:
    rng = np.random.default_rng(6)
    queries, count = 40, 30
    noise = rng.normal(0, 0.3, (queries, count))
    alike = draw_qualities(0.5 + noise, 0 * noise, np.empty((count, 0)), resamples=500, seed=0)
    assert alike.values.mean(axis=1).std() < 0.5 * alike.measured.std()
    apart = np.linspace(-3, 3, count) + noise
    kept = draw_qualities(apart, 0 * noise, np.empty((count, 0)), resamples=500, seed=0)
    assert kept.values.mean(axis=1).std() == pytest.approx(kept.measured.std(), rel=0.02)
    assert np.abs(kept.values.mean(axis=1) - kept.measured).max() < 0.02


def test_near_duplicates_are_one_group_with_the_probability_of_all() -> None:
    rng = np.random.default_rng(0)
    quality = np.stack([rng.normal(0.6, 0.01, 1000), rng.normal(0.6, 0.01, 1000), rng.normal(0.9, 0.01, 1000)])
    points, tie = Objectives(np.array([1.0, 1.005, 5.0]), np.full(3, 0.1), quality), np.zeros((3, 3), dtype=bool)
    there = on_frontier(Objectives(np.array([1.0, 1.0, 5.0]), points.latency, quality))
    found = group(points, there, tie, level=0.95)
    assert [each.members for each in found] == [(0, 1), (2,)]
    assert [each.members for each in group(points, there, ~np.eye(3, dtype=bool), level=0.95)] == [(0,), (1,), (2,)]
    assert found[0].probability == 1.0 > there[:2].mean(axis=1).max()


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sweep(tmp_path_factory.mktemp("sweep"), made_sweep(), queries=30, timed=8)


def test_the_frontier_of_a_sweep_is_that_of_its_numbers(swept: Path) -> None:
    found = tv.frontier(swept, resamples=200).to_dict()
    sweep = json.loads((swept / "sweep.json").read_text(encoding="utf-8"))
    systems = sweep["systems"]
    rows = [
        (
            each["cost"]["total"],
            systems[each["system"]]["latency"]["p50"]["value"],
            each["measures"][each["quality"]]["expected"],
        )
        for each in sweep["configurations"]
    ]
    apart = tv.frontier(swept, resamples=20).ties.apart.tolist()
    assert [point["on_frontier"] for point in found["points"]] == brute_force(rows, "pareto", apart)
    for at, point in enumerate(found["points"]):
        assert 0 <= point["probability"] <= 1
        group = found["groups"][point["group"]]
        assert at in group["members"]
        assert group["probability"] >= point["probability"]
        assert (point["dominated_by"] is None) == point["on_frontier"]
    assert sorted(itertools.chain(*(each["members"] for each in found["groups"]))) == list(range(len(rows)))
    assert json.loads(json.dumps(found, allow_nan=False)) == found


@pytest.mark.parametrize("sweep", [made_sweep(), made_sweep(latency=False, priced=False) | {"limits": {}}])
def test_a_result_reads_its_own_json(tmp_path: Path, sweep: dict[str, Any]) -> None:
    found = tv.frontier(write_sweep(tmp_path, sweep, queries=12, timed=4), resamples=30)
    assert FrontierResult.from_dict(found.to_dict()) == found.result
    assert FrontierResult.from_dict(made_frontier(sweep)).to_dict() == made_frontier(sweep) | {"trueval": __version__}


def test_the_same_seed_gives_the_same_result_on_any_number_of_threads(swept: Path) -> None:
    one = tv.frontier(swept, resamples=300, threads=1).to_dict()
    assert one == tv.frontier(swept, resamples=300, threads=2).to_dict()
    assert one != tv.frontier(swept, resamples=300, seed=1).to_dict()


def test_frontiers_inside_a_latency_are_those_of_what_answers_in_time(swept: Path) -> None:
    found = tv.frontier(swept, resamples=50, slo_ms=[100, 2000], max_latency_ms=None).to_dict()
    assert {each["latency_ms"] for each in found["slo"]} == {100.0, 500.0, 2000.0}
    for each in found["slo"]:
        inside = [
            point["latency"][each["percentile"]]["value"] * 1000 <= each["latency_ms"] for point in found["points"]
        ]
        assert each["feasible"] == sum(inside)
        assert set(each["points"]) <= {at for at, there in enumerate(inside) if there}
        if each["best"] is not None:
            best = max(point["quality"]["value"] for point, there in zip(found["points"], inside, strict=True) if there)
            assert found["points"][each["best"]]["quality"]["value"] == best


def test_without_latency_and_price_quality_alone_decides(tmp_path: Path) -> None:
    sweep = made_sweep(latency=False, priced=False) | {"limits": {}}
    found = tv.frontier(write_sweep(tmp_path, sweep, queries=20), resamples=100).to_dict()
    assert found["objectives"] == ["quality"]
    best = max(point["quality"]["value"] for point in found["points"])
    assert [point["name"] for point in found["points"] if point["on_frontier"]] == [
        point["name"] for point in found["points"] if point["quality"]["value"] == best
    ]
    assert any("No configuration has a cost" in note for note in found["notes"])


def test_one_query_gives_no_chances(tmp_path: Path) -> None:
    found = tv.frontier(write_sweep(tmp_path, made_sweep(), queries=1, timed=1), resamples=20).to_dict()
    assert {point["probability"] for point in found["points"]} == {None}
    assert found["rules"][-1]["better"] is None


def test_directories_that_are_no_sweep_are_refused_in_one_line(swept: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no sweep there"):
        tv.frontier(tmp_path)
    folder = write_sweep(tmp_path / "s", made_sweep(cutoffs=(10,)), queries=5)
    frame = pl.read_parquet(folder / "queries.parquet")
    frame.with_columns(pl.col("expected") + 0.01).write_parquet(folder / "queries.parquet")
    with pytest.raises(InputError, match="of two sweeps"):
        read_sweep(folder)
    frame.drop("sd").write_parquet(folder / "queries.parquet")
    with pytest.raises(InputError, match="no column sd"):
        read_sweep(folder)
    (folder / "queries.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match=r"queries\.parquet: cannot be read"):
        read_sweep(folder)
    for text, said in (
        ("{", "not JSON"),
        ('{"kind": "evaluate"}', "of kind"),
        ('{"kind": "sweep", "format": 9}', "Up"),
    ):
        (folder / "sweep.json").write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=said):
            read_sweep(folder)
    broken = json.loads((swept / "sweep.json").read_text(encoding="utf-8"))
    del broken["configurations"][0]["K"]
    (folder / "queries.parquet").write_bytes((swept / "queries.parquet").read_bytes())
    (folder / "sweep.json").write_text(json.dumps(broken), encoding="utf-8")
    with pytest.raises(InputError, match="not as trueval sweep writes it"):
        tv.frontier(folder)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"percentile": "p90"}, "percentile must be p50, p95, p99"),
        ({"rule": "parato"}, "Did you mean pareto"),
        ({"level": 1.0}, "level must be a number between 0 and 1"),
        ({"resamples": 0}, "resamples must be an integer >= 1. Got 0"),
        ({"min_quality": "nDCG@10=0.5"}, "not a measure of this sweep"),
        ({"min_quality": "high"}, "min_quality must be X or MEASURE=X"),
        ({"max_cost": -1.0}, "max_cost must be a number >= 0"),
    ],
)
def test_bad_options_say_what_is_accepted(swept: Path, asked: dict[str, object], said: str) -> None:
    with pytest.raises(PolicyError, match=said):
        tv.frontier(swept, **asked)  # type: ignore[arg-type]


def test_one_resample_is_enough(swept: Path) -> None:
    assert tv.frontier(swept, resamples=1).to_dict()["resamples"] == 1
    assert Bootstrap(resamples=1, threads=1).mean(np.ones(3)).low == 1
    with pytest.raises(PolicyError, match=r"resamples must be an integer >= 1\. Got 0"):
        Bootstrap(resamples=0)


def test_efficiencies_are_quality_by_latency_best_first(swept: Path) -> None:
    measured = read_sweep(swept)
    found = efficiencies(measured, "p95")
    assert sorted(each.system for each in found) == list(range(len(measured.systems)))
    values = [each.efficiency for each in found]
    assert values == sorted(values, reverse=True)
    for each in found:
        seconds = measured.systems[each.system]["latency"]["p95"]["value"]
        assert each.latency == seconds
        assert each.efficiency == pytest.approx(each.performance / seconds)


def test_intervals_are_of_the_level_that_is_asked(swept: Path) -> None:
    found = tv.frontier(swept, resamples=200, level=0.5)
    told, said = found.to_dict(), tv.frontier(swept, resamples=50).to_dict()
    for place, (narrow, wide) in enumerate(zip(told["points"], said["points"], strict=True)):
        here = Bootstrap(0.5, 200).mean(found.measured.values[:, place])
        assert (narrow["quality"]["low"], narrow["quality"]["high"]) == (here.low, here.high)
        own = found.measured.configurations[place]["measures"][wide["quality"]["measure"]]
        assert wide["quality"]["low"] == own["low"]
    assert "The intervals of single latencies are those of the sweep, of 95 %." in told["notes"]
    assert not any("single latencies" in note for note in said["notes"])


def test_files_of_another_kind_inside_are_refused_in_one_line(swept: Path, tmp_path: Path) -> None:
    folder = write_sweep(tmp_path, made_sweep(cutoffs=(10,), methods=("dense",)), queries=5)
    frame = pl.read_parquet(folder / "queries.parquet")
    for wrong in (frame.with_columns(expected=pl.lit("high")), frame.head(0)):
        wrong.write_parquet(folder / "queries.parquet")
        with pytest.raises(InputError, match="not as trueval sweep writes it"):
            read_sweep(folder)
    frame.write_parquet(folder / "queries.parquet")
    for file in (folder / "samples").iterdir():
        file.unlink()
    assert read_sweep(folder).notes == (
        "4 of 4 systems have no times in samples/: their latencies tie with all others.",
    )
    with pytest.raises(PolicyError, match="min_quality must be a number"):
        tv.frontier(folder, min_quality={"RA-nWG@K": "high"})  # type: ignore[dict-item]


@pytest.mark.parametrize("rule", ["pareto", "paper"])
def test_without_a_known_objective_nobody_is_removed(rule: str) -> None:
    nothing = Objectives(*(np.full(3, NAN) for _ in range(3)))
    assert [removers(nothing, place, rule=rule).tolist() for place in range(3)] == [[False] * 3] * 3
    assert on_frontier(nothing, rule=rule).all()


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("level", None, "level must be a number between 0 and 1. Got None"),
        ("level", "high", "level must be a number"),
        ("resamples", None, "resamples must be an integer"),
        ("seed", 0.5, "seed must be an integer"),
    ],
)
def test_what_resamples_are_drawn_by_is_checked(tmp_path: Path, key: str, value: object, said: str) -> None:
    made = made_sweep(cutoffs=(10,), methods=("dense",), dimensions=(24,), indexes=("flat",))
    folder = write_sweep(tmp_path, {**made, key: value}, queries=5)
    with pytest.raises(InputError, match=f"sweep.json.*{said}"):
        tv.frontier(folder, resamples=50)


@pytest.mark.parametrize("value", [None, NAN, -1.0])
def test_samples_without_seconds_are_not_taken_for_fast_ones(tmp_path: Path, value: float | None) -> None:
    folder = write_sweep(tmp_path, made_sweep(cutoffs=(10,), methods=("dense",), indexes=("flat",)), queries=5)
    file = next((folder / "samples").iterdir())
    first = pl.int_range(pl.len()) == 0
    frame = pl.read_parquet(file)
    frame.with_columns(pl.when(first).then(pl.lit(value)).otherwise("seconds").alias("seconds")).write_parquet(file)
    with pytest.raises(InputError, match=f"{file.name}: 1 of {frame.height} samples have no seconds"):
        read_sweep(folder)


def test_points_are_points_in_every_line(swept: Path) -> None:
    found = tv.frontier(swept, resamples=50).result
    plain, points = (as_markdown(view(found), scale) for scale in (FRACTIONS, POINTS))
    assert found.advice is not None
    assert found.advice.ordering_headroom is not None
    order, value = found.advice.ordering_headroom.value, found.points[0].quality.value
    assert order is not None
    assert value is not None
    for each in (order, value):
        assert f"{each:.4f}" in plain
        assert f"{100 * each:.2f}" in points
        assert f"{each:.4f}" not in points


def test_a_least_value_of_a_measure_where_lower_is_better_is_refused(tmp_path: Path) -> None:
    """Harm of at least .05 would choose the configurations with the most harm."""
    folder = write_sweep(tmp_path / "sweep", made_sweep(), queries=10)
    sweep = json.loads((folder / "sweep.json").read_text(encoding="utf-8"))
    for configuration in sweep["configurations"]:
        configuration["measures"]["Harm@10"] = {"expected": 0.1}
    (folder / "sweep.json").write_text(json.dumps(sweep), encoding="utf-8")
    with pytest.raises(PolicyError, match="lower values of Harm@10 are better"):
        tv.frontier(folder, min_quality="Harm@10=0.05", resamples=100)
