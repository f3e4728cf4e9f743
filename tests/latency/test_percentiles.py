"""Percentiles: against known distributions, numpy and scipy; intervals against simulated worlds."""

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from scipy import stats

from trueval.errors import InputError
from trueval.latency import percentiles
from trueval.latency.percentiles import NAMES, Latency, Times, independent, latency, resample_quantiles, times_of

Floats = NDArray[np.float64]
SHARES = list(NAMES.values())


def times(seconds: Floats) -> Times:
    """Of [query, repeat] seconds."""
    queries, repeats = seconds.shape
    query, repeat = np.arange(queries).repeat(repeats), np.tile(np.arange(repeats), queries)
    return Times(query, repeat, np.zeros(seconds.size), seconds.ravel())


def values(found: Latency) -> list[float]:
    return [found.p50.value, found.p95.value, found.p99.value]


def type_7(seconds: list[float], share: float) -> float:
    """The definition, letter by letter."""
    ordered = sorted(seconds)
    h = (len(ordered) - 1) * share
    j = int(h)
    return ordered[j] + (h - j) * (ordered[min(j + 1, len(ordered) - 1)] - ordered[j])


@pytest.mark.parametrize("samples", [1, 2, 3, 20, 101])
def test_values_are_quantiles_of_type_7(samples: int) -> None:
    seconds = np.random.default_rng(samples).exponential(size=(samples, 1))
    found = values(latency(times(seconds), rng=np.random.default_rng(0), resamples=10))
    assert found == pytest.approx([type_7(seconds.ravel().tolist(), share) for share in SHARES], rel=1e-12)
    scipys = stats.mstats.mquantiles(seconds.ravel(), SHARES, alphap=1, betap=1)
    assert found == pytest.approx(scipys.tolist(), rel=1e-12)


def test_values_are_those_of_a_known_distribution() -> None:
    """The exponential's quantile is -ln(1 - p); 200,000 samples know p99 within 4 standard errors, 2 %."""
    seconds = np.random.default_rng(5).exponential(0.2, size=(200_000, 1))
    found = values(latency(times(seconds), rng=np.random.default_rng(0), resamples=2))
    assert found == pytest.approx([-0.2 * np.log(1 - share) for share in SHARES], rel=0.02)


def test_resamples_are_those_of_drawn_queries() -> None:
    """A naive twin: the same draws, each resample spelled out; repeats are unequal in number."""
    rng = np.random.default_rng(8)
    query = np.array([0, 0, 0, 1, 2, 2, 5, 5, 5, 5])  # numbers may be lacking
    of = Times(query, np.arange(10), np.zeros(10), np.round(rng.exponential(size=10), 1))
    found = resample_quantiles(of, SHARES, 50, np.random.default_rng(3))
    drawn = np.random.default_rng(3).multinomial(4, [0.25] * 4, size=50)
    for row, counts in zip(found, drawn, strict=True):
        spelled = [
            second
            for number, count in zip((0, 1, 2, 5), counts, strict=True)
            for second in of.seconds[query == number].tolist() * int(count)
        ]
        assert row == pytest.approx([type_7(spelled, share) for share in SHARES], rel=1e-12)


def test_resamples_in_several_blocks_are_those_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    of = times(np.random.default_rng(4).exponential(size=(5, 2)))
    at_once = resample_quantiles(of, SHARES, 11, np.random.default_rng(3))
    monkeypatch.setattr(percentiles, "CELLS", 4 * 10)  # 4 of 11 resamples of 10 samples
    assert resample_quantiles(of, SHARES, 11, np.random.default_rng(3)).tolist() == at_once.tolist()


def test_the_upper_end_is_known_from_as_many_samples_as_the_percentile_needs() -> None:
    """1 - p^n >= .975: 6 for a median, 72 for p95, 368 for p99."""

    def known(queries: int) -> list[bool]:
        seconds = np.random.default_rng(1).exponential(size=(queries, 1))
        found = latency(times(seconds), rng=np.random.default_rng(0), resamples=20)
        return [each.high is not None for each in (found.p50, found.p95, found.p99)]

    assert known(5) == [False, False, False]
    assert known(6) == [True, False, False]
    assert (known(71), known(72)) == ([True, False, False], [True, True, False])
    assert (known(367), known(368)) == ([True, True, False], [True, True, True])


def test_repeats_count_for_what_they_add() -> None:
    rng = np.random.default_rng(2)
    own = rng.exponential(size=(50, 1))
    assert independent(times(np.repeat(own, 4, axis=1))) == pytest.approx(50)
    assert independent(times(rng.exponential(size=(50, 4)))) == pytest.approx(200, rel=0.15)
    half = own + rng.permutation(own.ravel())[:, None] * 0 + rng.exponential(size=(50, 4))
    assert 55 < independent(times(half)) < 150
    assert independent(times(np.ones((5, 3)))) == 15  # nothing varies
    assert independent(times(rng.exponential(size=(1, 3)))) == 1


def test_one_query_has_no_interval() -> None:
    found = latency(times(np.array([[1.0, 2.0, 3.0]])), rng=np.random.default_rng(0))
    assert found.to_dict() == {
        "p50": {"value": 2.0, "low": None, "high": None},
        "p95": {"value": pytest.approx(2.9), "low": None, "high": None},
        "p99": {"value": pytest.approx(2.98), "low": None, "high": None},
        "samples": 3,
    }


def test_a_total_is_the_sum_of_stages_on_the_same_query_and_repeat() -> None:
    rows = [
        (task, f"q{query}", repeat, 100.0 * repeat + query, 10.0**place * (1 + query + 2 * repeat))
        for place, task in enumerate(["embed", "retrieve", "other"])
        for query in range(2)
        for repeat in range(2)
        if (task, query, repeat) != ("retrieve", 1, 1)  # one that is lacking
    ]
    frame = pl.DataFrame(rows, schema=["task", "query_id", "repeat", "started", "seconds"], orient="row")
    found = times_of(frame.sample(fraction=1.0, shuffle=True, seed=1), ["embed", "retrieve"])
    pairs = zip(found.query.tolist(), found.repeat.tolist(), strict=True)
    assert dict(zip(pairs, found.seconds.tolist(), strict=True)) == {(0, 0): 11.0, (1, 0): 22.0, (0, 1): 33.0}
    assert times_of(frame, ["embed", "embed"]).seconds.sum() == 2 * times_of(frame, ["embed"]).seconds.sum()
    with pytest.raises(InputError, match="No query was timed with all of embed, rerank"):
        times_of(frame, ["embed", "rerank"])


@pytest.mark.evidence
@pytest.mark.parametrize(("queries", "alike"), [(12, 0.5), (30, 0.0), (30, 0.5), (30, 0.95), (100, 0.0), (100, 0.5)])
def test_intervals_cover_the_truth(queries: int, alike: float) -> None:
    """Log-normal latencies, a share of their variance that of the query: an end is wrong in 2.5 % of the worlds."""
    worlds, rng = 2000, np.random.default_rng([queries, int(100 * alike)])
    truth = np.exp(0.5 * stats.norm.ppf(SHARES))
    wrong = np.zeros((3, 2))
    unknown = np.zeros(3)
    for _ in range(worlds):
        own, noise = rng.standard_normal((queries, 1)), rng.standard_normal((queries, 3))
        seconds = np.exp(0.5 * (np.sqrt(alike) * own + np.sqrt(1 - alike) * noise))
        found = latency(times(seconds), rng=rng, resamples=400)
        for place, each in enumerate((found.p50, found.p95, found.p99)):
            assert each.low is not None
            wrong[place] += each.low > truth[place], each.high is not None and each.high < truth[place]
            unknown[place] += each.high is None
    print(queries, alike, "covered", 1 - wrong.sum(axis=1) / worlds, wrong / worlds, "unknown", unknown / worlds)
    assert (wrong.sum(axis=1) / worlds < 0.085).all()
    assert wrong[0].sum() / worlds < 0.075
