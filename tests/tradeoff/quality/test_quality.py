"""Quality: the numbers of `evaluate` at every K, with ceilings, bounds and intervals that hold what they say."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import trueval as tv
from trueval.policy.policy import Policy
from trueval.rag.unjudged_passages import grade_unjudged
from trueval.run import Run
from trueval.tradeoff.quality.quality import mean_intervals, qualities_of
from trueval.tradeoff.quality.quality_settings import QualitySettings

MEASURING = QualitySettings(("RA-nWG@K", "nDCG@10", "AP"), None, None, None, Policy(), 0.95, 1000, 0)
NAMES = ("expected", "lowest", "highest", "range", "sd", "queries")


def made(rng: np.random.Generator, queries: int = 30, documents: int = 12) -> tuple[Run, tv.Judgments]:
    """A run with ties, of which every other document is judged, some queries without anything to find."""
    scores = {f"q{q}": {f"d{d}": float(rng.integers(0, 6)) for d in range(documents)} for q in range(queries)}
    grades = {f"q{q}": {f"d{2 * d}": int(rng.integers(1, 6)) for d in range(documents)} for q in range(queries)}
    grades["q0"] = {"d0": 1, "d2": 2}  # nothing to find
    del scores["q1"]  # and a query that the run lacks
    return Run.from_dict(scores, name="made"), tv.Judgments.from_dict(grades)


@pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")
@pytest.mark.parametrize(
    ("unjudged", "choices"),
    [(None, {}), (None, {"missing": "skip", "empty": "skip"}), (1.0, {"tie_precision": 2.0}), (4.0, {})],
)
def test_every_number_is_that_of_evaluate(unjudged: float | None, choices: dict[str, object]):
    run, judgments = made(np.random.default_rng(1))
    measuring = replace(MEASURING, unjudged=unjudged, policy=Policy().but(**choices))
    filled = judgments if unjudged is None else grade_unjudged(judgments, run, unjudged)
    found = qualities_of(run, judgments, [1, 5, 12], measuring, pool=12)
    for k, quality in zip([1, 5, 12], found.at, strict=True):
        names = [f"RA-nWG@{k}", "nDCG@10", "AP", f"PROC(RA-nWG, pool=12)@{k}", f"pPROC(RA-nWG, pool=12)@{k}"]
        scores = tv.evaluate(run, filled, names, policy=measuring.policy)
        for name in names[:3]:
            assert {each: quality.measures[name][each] for each in NAMES} == scores[name].to_dict(*NAMES[:-1])
        raw = tv.evaluate(run, judgments, [f"Judged@{k}", f"RA-nWG(unjudged='upper')@{k}"], policy=measuring.policy)
        assert quality.judged == raw[f"Judged@{k}"].expected
        assert quality.unjudged_highest == raw[f"RA-nWG(unjudged='upper')@{k}"].expected
        ceiling = quality.ceiling
        assert ceiling is not None
        assert (ceiling.PROC, ceiling.queries) == (scores[names[3]].expected, scores[names[3]].queries)
        assert ceiling.mean_share == scores[names[4]].expected
        assert ceiling.share == ceiling.actual / ceiling.PROC
        told = ceiling.result
        assert told.retrieval_headroom + told.ordering_headroom + ceiling.actual == pytest.approx(1, abs=1e-14)
    assert found.ties["tied_fraction"] == tv.evaluate(run, judgments, "AP", policy=measuring.policy).ties.tied_fraction


@pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")
def test_no_interval_reaches_past_what_a_measure_can_be():
    found = [1.0, 1.0, 1.0, 0.5, 0.5]
    run = Run.from_dict({f"q{place}": {"a": 2.0, "b": 1.0} for place in range(5)})
    judgments = tv.Judgments.from_dict({f"q{at}": {"a" if rr == 1 else "b": 1} for at, rr in enumerate(found)})
    measuring = replace(MEASURING, names=("RR@K", "DCG@K"))
    free = mean_intervals(np.array(found)[:, None], measuring)[0]
    assert free[1] > 1  # or the example shows nothing
    (quality,) = (qualities := qualities_of(run, judgments, [2], measuring, pool=2)).at
    assert (quality.measures["RR@2"]["low"], quality.measures["RR@2"]["high"]) == (free[0], 1.0)
    assert qualities.notes[-1].startswith("The interval of RR@2 would reach past what the measure can be")
    gains = np.array([1.0 if rr == 1 else 1 / np.log2(3) for rr in found])[:, None]
    assert quality.measures["DCG@2"]["high"] == mean_intervals(gains, measuring)[0][1] > 1


def test_a_ceiling_is_the_best_that_any_order_of_the_pool_has():
    rng = np.random.default_rng(2)
    grades = {"q": {f"d{place}": int(grade) for place, grade in enumerate(rng.integers(1, 6, 8))}}
    judgments = tv.Judgments.from_dict(grades)
    run = Run.from_dict({"q": {f"d{place}": -float(place) for place in range(5)}})
    (quality,) = qualities_of(run, judgments, [3], MEASURING, pool=5).at
    orders = (
        Run.from_dict({"q": list(order)}) for order in itertools.permutations([f"d{place}" for place in range(5)], 3)
    )
    best = max(tv.evaluate(order, judgments, "RA-nWG@3")["RA-nWG@3"].expected for order in orders)
    assert quality.ceiling is not None
    assert abs(quality.ceiling.PROC - best) < 1e-15


def test_other_measures_have_no_ceiling_and_no_bound():
    run, judgments = made(np.random.default_rng(3))
    (quality,) = qualities_of(run, judgments, [5], replace(MEASURING, names=("nDCG@K",)), pool=12).at
    assert (quality.ceiling, quality.unjudged_highest, quality.quality) == (None, None, "nDCG@5")
    # Above its own cutoff a measure of a set has the ceiling of that cutoff.
    fixed = replace(MEASURING, names=("RA-nWG@3",))
    one, other = qualities_of(run, judgments, [5, 10], fixed, pool=12).at
    assert one.ceiling == other.ceiling
    assert one.ceiling is not None
    assert one.ceiling.name == "PROC(RA-nWG, pool=12)@3"


def test_rows_of_queries_hold_the_measures_of_each_k_and_its_ceiling():
    run, judgments = made(np.random.default_rng(4))
    found = qualities_of(run, judgments, [2, 5], MEASURING, pool=12)
    assert found.names == tuple((f"RA-nWG@{k}", "nDCG@10", "AP", f"PROC(RA-nWG, pool=12)@{k}") for k in (2, 5))
    assert found.rows.height == 30 * 6
    of_measure = found.rows.filter(measure="RA-nWG@5")
    assert of_measure["query_id"].to_list() == judgments.query_ids.to_list()
    assert of_measure.filter(query_id="q0")["expected"].is_nan().all()  # nothing to find
    mean = of_measure["expected"].drop_nans().mean()
    assert found.at[1].measures["RA-nWG@5"]["expected"] == pytest.approx(mean, abs=1e-15)


def test_intervals_are_those_of_the_t_distribution_where_values_are_normal():
    values = np.random.default_rng(5).normal(0.5, 0.1, size=(60, 1))
    low, high = mean_intervals(values, replace(MEASURING, resamples=10_000))[0]
    expected = stats.t.interval(0.95, 59, values.mean(), stats.sem(values[:, 0]))
    assert (low, high) == pytest.approx(expected, abs=0.03 * (expected[1] - expected[0]))
    wide = mean_intervals(values, replace(MEASURING, level=0.99))[0]
    assert wide[0] < low < high < wide[1]


def test_measures_of_the_same_queries_are_resampled_together():
    rng = np.random.default_rng(6)
    one = rng.random(50)
    holes = np.where(np.arange(50) % 3 == 0, np.nan, one)
    columns = np.stack([one, one + 0.25, holes, rng.random(50), np.full(50, np.nan)], axis=1)
    ends = mean_intervals(columns, MEASURING)
    assert ends[1] == pytest.approx(ends[0] + 0.25, abs=1e-12)
    alone = mean_intervals(holes[~np.isnan(holes)][:, None], MEASURING)
    assert ends[2].tolist() == alone[0].tolist()
    assert np.isnan(ends[4]).all()
    assert mean_intervals(columns, MEASURING).tolist()[:4] == ends.tolist()[:4]
    assert mean_intervals(columns, replace(MEASURING, seed=1))[0].tolist() != ends[0].tolist()
    assert np.isnan(mean_intervals(np.ones((1, 1)), MEASURING)).all()  # one query says nothing of others


def test_a_geometric_mean_has_no_interval():
    run, judgments = made(np.random.default_rng(7))
    (quality,) = qualities_of(run, judgments, [5], replace(MEASURING, names=("nDCG@K", "gm(AP)")), pool=12).at
    assert quality.measures["gm(AP)"]["low"] is None
    assert quality.measures["nDCG@5"]["low"] is not None
