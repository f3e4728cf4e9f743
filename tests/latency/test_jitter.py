"""Jitter and discontinuities: against P-B's tables, and against measurements of equal configurations."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from trueval.latency.jitter import (
    compare_latencies,
    discontinuities,
    jitter,
    log_percentiles,
    session_medians,
    sessions,
)
from trueval.latency.percentiles import Times

K = [50, 100, 150, 200]
# P-B, Table 15: median latency of rerank-2.5 in ms, and which of them have a dagger.
TABLE_15 = {
    "voyage-3-large (1024d)": ([330.9, 469.9, 582.2, 667.9], ""),
    "voyage-3.5 (1024d)": ([332.9, 494.1, 2720.7, 2931.1], "150 200"),
    "voyage-3.5 (2048d)": ([338.8, 478.1, 751.1, 2970.7], "200"),
    "voyage-3.5 (512d)": ([337.2, 483.1, 925.7, 2904.2], "200"),
    "voyage-3.5-lite (1024d)": ([330.8, 476.0, 615.6, 2940.1], "200"),
}
# P-B, Table 16: of rerank-2.5-lite, none with a dagger.
TABLE_16 = [
    [369.3, 415.5, 537.3, 639.2],
    [352.2, 413.9, 515.9, 644.8],
    [405.4, 474.6, 611.7, 715.3],
    [339.5, 418.2, 557.3, 694.0],
    [403.8, 411.3, 530.5, 695.8],
]


def flagged(values: list[float], factor: float) -> str:
    off = discontinuities(values, K, jitter=0.2, factor=factor)  # 75 ms of 370
    return " ".join(str(k) for k, each in zip(K, off, strict=True) if each)


@pytest.mark.parametrize("factor", [1.3, 2.0, 2.3])
@pytest.mark.parametrize("model", TABLE_15)
def test_what_the_paper_marks_is_flagged_and_nothing_else(model: str, factor: float) -> None:
    values, daggers = TABLE_15[model]
    assert flagged(values, factor) == daggers


@pytest.mark.parametrize("values", TABLE_16)
def test_a_table_without_marks_has_none(values: list[float]) -> None:
    assert flagged(values, 2.0) == ""


def test_other_factors_disagree_with_the_paper() -> None:
    """How much room the default has: 925.7 at K = 150 is 1.28 times what K lets expect, 2904.2 at 200 is 2.35 times."""
    values, _ = TABLE_15["voyage-3.5 (512d)"]
    assert flagged(values, 1.27) == "150 200"
    assert flagged(values, 2.36) == ""


def test_a_fall_is_a_discontinuity_too_and_what_is_inside_the_jitter_is_none() -> None:
    assert discontinuities([1.0, 0.4, 1.1]).tolist() == [False, True, False]
    assert discontinuities([1.0, 2.1, 1.9]).tolist() == [False, True, False]
    assert discontinuities([0.001, 0.005], jitter=2.0).tolist() == [False, False]
    assert discontinuities([0.001, 0.005], jitter=1.6).tolist() == [False, True]  # ln 5 = 1.61
    assert discontinuities([1.0, 1.9], [50, 200]).tolist() == [False, False]
    assert discontinuities([1.0, 7.9, 8.1], [50, 200, 200]).tolist() == [False, False, False]
    assert discontinuities([1.0, 8.1], [50, 200]).tolist() == [False, True]
    assert discontinuities([]).tolist() == []


def test_sessions_end_where_nothing_is_measured_for_long() -> None:
    hour = 3600.0
    started = np.array([0.0, 60.0, 5 * hour, 29 * 60.0, 5 * hour + 30 * 60, 10 * hour])
    assert sessions(started).tolist() == [0, 0, 1, 0, 1, 2]
    assert sessions(started, gap=27).tolist() == [0, 0, 2, 1, 3, 4]
    assert sessions(np.array([])).tolist() == []


def test_a_session_that_is_off_is_flagged() -> None:
    """Four times of day, the third one with a provider's throttling."""
    rng = np.random.default_rng(4)
    day = np.repeat(np.arange(4), 60)
    seconds = np.where(day == 2, 2.72, 0.494) * rng.normal(1, 0.05, 240)
    times = Times(np.tile(np.arange(20), 12), np.arange(240) // 20, 6 * 3600.0 * day + np.arange(240), seconds)
    session = sessions(times.started)
    medians = session_medians(times, session)
    assert session.tolist() == day.tolist()
    assert medians.tolist() == [float(np.median(seconds[day == each])) for each in range(4)]
    assert discontinuities(medians, jitter=0.2).tolist() == [False, False, True, False]


def measured(rng: np.random.Generator, repeats: int, queries: int = 20, sd: float = 0.03) -> Times:
    """Repeats of one configuration; each has a speed of its own, as machines have."""
    speed = np.exp(rng.normal(0, sd, (1, repeats)))
    seconds = rng.gamma(20, 0.005, (queries, 1)) * speed * rng.normal(1, 0.02, (queries, repeats))
    query, repeat = np.arange(queries).repeat(repeats), np.tile(np.arange(repeats), queries)
    return Times(query, repeat, np.zeros(seconds.size), seconds.ravel())


def test_jitter_is_the_t_interval_of_a_log_ratio_of_two_means_of_repeats() -> None:
    times = measured(np.random.default_rng(1), 4)
    logs = [math.log(float(np.median(times.seconds[times.repeat == repeat]))) for repeat in range(4)]
    variance = sum((each - sum(logs) / 4) ** 2 for each in logs) / 3
    assert jitter(times) == pytest.approx(stats.t.ppf(0.975, 3) * (2 * variance / 4) ** 0.5, rel=1e-12)
    slower = Times(times.query, times.repeat, times.started, 1000 * times.seconds)
    assert jitter(slower) == pytest.approx(jitter(times), rel=1e-9)
    assert jitter(times, 0.95) != jitter(times)
    assert jitter(measured(np.random.default_rng(1), 1)) is None


def test_logs_of_percentiles_are_of_each_repeat() -> None:
    totals = np.array([[[1.0, 4.0], [3.0, math.nan]], [[math.nan, math.nan]] * 2, [[0.0, 2.0]] * 2])
    found = log_percentiles(totals, 0.5)
    assert found[0].tolist() == pytest.approx([math.log(2.0), math.log(4.0)])
    assert np.isnan(found[1]).all()
    assert found[2].tolist() == pytest.approx([math.log(1e-9), math.log(2.0)])
    assert log_percentiles(np.empty((2, 0, 0)), 0.5).shape == (2, 0)


def test_systems_are_apart_by_a_t_test_of_logs() -> None:
    """Within a method by its pooled variance, between methods by Welch's test of two pooled variances."""
    rng = np.random.default_rng(2)
    logs = rng.normal(0, 0.1, (5, 4)) + np.array([[0.0], [0.25], [0.0], [0.2], [0.6]])
    logs[3:] += rng.normal(0, 0.2, (2, 4))
    logs[4, 2:] = math.nan
    methods = ["dense"] * 3 + ["sparse"] * 2
    found = compare_latencies(logs, np.exp(np.nanmean(logs, axis=1)), methods)
    within = {}
    for name in ("dense", "sparse"):
        rows = [row[~np.isnan(row)] for row, own in zip(logs, methods, strict=True) if own == name]
        squares = sum(float(((row - row.mean()) ** 2).sum()) for row in rows)
        within[name] = squares, sum(len(row) - 1 for row in rows)
    assert [degrees for _, degrees in within.values()] == [9, 4]
    for one, other in itertools.permutations(range(5), 2):
        counts = [int((~np.isnan(logs[place])).sum()) for place in (one, other)]
        (s_one, d_one), (s_other, d_other) = (within[methods[place]] for place in (one, other))
        errors = s_one / d_one / counts[0], s_other / d_other / counts[1]
        degrees = d_one
        if methods[one] != methods[other]:
            degrees = sum(errors) ** 2 / (errors[0] ** 2 / d_one + errors[1] ** 2 / d_other)
        bound = stats.t.ppf(0.975, degrees) * math.sqrt(sum(errors))
        assert found.bounds[one, other] == pytest.approx(bound, rel=1e-12)
        gap = float(np.nanmean(logs[one]) - np.nanmean(logs[other]))
        assert found.apart[one, other] == (abs(gap) > bound)
    assert 0 < found.apart.sum() < 20
    assert np.array_equal(found.apart, found.apart.T)


def test_two_methods_of_equal_repeats_are_compared_as_scipy_does() -> None:
    logs = np.random.default_rng(3).normal(0, 0.1, (2, 5)) + np.array([[0.0], [0.15]])
    for shift in np.linspace(0, 0.3, 30):
        moved = logs + np.array([[0.0], [shift]])
        apart = compare_latencies(moved, np.exp(moved.mean(axis=1)), ["dense", "sparse"]).apart[0, 1]
        assert apart == (stats.ttest_ind(*moved, equal_var=False).pvalue < 0.05)


def test_one_repeat_separates_nothing_and_repeats_of_others_of_its_method_tell_for_it() -> None:
    logs = np.array([[0.0, math.nan], [5.0, 5.01], [9.0, math.nan], [20.0, math.nan]])
    found = compare_latencies(logs, np.exp(logs[:, 0]), ["dense", "dense", "dense", "sparse"]).apart
    assert found[:3, :3].tolist() == [[False, True, True], [True, False, True], [True, True, False]]
    assert not found[3].any()
    assert not compare_latencies(logs[:, :1], np.exp(logs[:, 0]), ["dense"] * 4).apart.any()


def test_where_means_of_logs_and_percentiles_disagree_latencies_tie() -> None:
    logs = np.log([[1.0, 1.01, 1.02], [2.0, 2.01, 2.02]])
    assert compare_latencies(logs, np.array([1.01, 2.01]), ["dense"] * 2).apart[0, 1]
    assert not compare_latencies(logs, np.array([2.01, 1.01]), ["dense"] * 2).apart[0, 1]


@pytest.mark.evidence
@pytest.mark.parametrize("repeats", [2, 3, 5])
@pytest.mark.parametrize("sd", [0.03, 1.0])
@pytest.mark.parametrize("systems", [2, 4])
def test_equal_systems_are_apart_in_one_world_of_twenty(repeats: int, sd: float, systems: int) -> None:
    """Of one method, and of two of which one is five times as steady; a ratio of 100 is seen."""
    rng, worlds = np.random.default_rng(repeats), 4000
    methods = ["dense"] * systems + ["sparse"] * systems
    sds = np.array([sd] * systems + [sd / 5] * systems)[:, None, None]
    within = between = seen = 0
    for _ in range(worlds):
        speed = np.exp(rng.normal(0, 1, (2 * systems, 1, repeats)) * sds)  # of a whole repeat, as machines have it
        totals = rng.gamma(20, 0.005, (1, 20, 1)) * speed * rng.normal(1, 0.02, (2 * systems, 20, repeats))
        latencies, logs = np.median(totals, axis=(1, 2)), log_percentiles(totals, 0.5)
        apart = compare_latencies(logs, latencies, methods).apart
        within += apart[0, 1]
        between += apart[0, -1]
        slower = np.append(np.zeros(2 * systems - 1), math.log(100))
        seen += compare_latencies(logs + slower[:, None], latencies * np.exp(slower), methods).apart[0, -1]
    found = f"apart {within / worlds:.4f} within, {between / worlds:.4f} between methods, 100 times {seen / worlds:.4f}"
    print(f"{repeats} repeats, sd {sd}, {systems} systems of a method: {found}")
    assert within / worlds < 0.065
    assert between / worlds < 0.065
