"""Advice, marginal quality, efficiency and comparison at matched recall."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.tradeoff.sweeps import made_sweep
from tests.tradeoff.swept import write_sweep

import trueval as tv
from trueval.tradeoff.diagnosis.advice import Headrooms, headrooms, sentence, verdict
from trueval.tradeoff.diagnosis.matched_recall import IndexedSystem, at_recall
from trueval.tradeoff.quality.efficiency import efficiency
from trueval.tradeoff.quality.sweep_loader import SweepArrays, read_sweep


def planted(ceilings: np.ndarray[Any, Any], values: np.ndarray[Any, Any]) -> SweepArrays:
    """A sweep of one configuration with known ceilings."""
    one = {"name": "dense K=10", "ceiling": None}
    empty = np.zeros((1, 0, 0))
    ids = tuple(f"q{number}" for number in range(len(values)))
    return SweepArrays(
        {"configurations": [one]}, "", ids, values[:, None], values[:, None] * 0, ceilings[:, None], empty, ()
    )


def headrooms_of(pool: float, order: float, noise: float, queries: int = 100) -> Headrooms:
    rng = np.random.default_rng(0)
    ceilings = 1 - pool + noise * rng.normal(0, 1, queries)
    found = headrooms(
        planted(ceilings, ceilings - order + noise * rng.normal(0, 1, queries)), 0, level=0.95, resamples=500, seed=0
    )
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("pool", "order", "noise", "said"),
    [
        (0.4, 0.1, 0.1, "widen the pool"),
        (0.1, 0.4, 0.1, "mend the order"),
        (0.25, 0.25, 0.3, "either"),
        (0.01, 0.02, 0.3, "neither"),
    ],
)
def test_the_larger_headroom_is_the_advice_if_noise_lets_it(pool: float, order: float, noise: float, said: str) -> None:
    found = headrooms_of(pool, order, noise)
    assert verdict(found, 0.95) == said
    # Headrooms are the means that were planted, within four standard errors.
    assert found.retrieval == pytest.approx(pool, abs=4 * noise / 10)
    assert found.ordering == pytest.approx(order, abs=4 * noise / 10)


def test_headrooms_add_up_to_what_is_missing() -> None:
    rng = np.random.default_rng(1)
    ceilings, values = rng.random(50), rng.random(50)
    values[3] = np.nan
    found = headrooms(planted(ceilings, values), 0, level=0.95, resamples=200, seed=0)
    assert found is not None
    assert found.queries == 49
    assert found.retrieval + found.ordering == pytest.approx(1 - np.nanmean(values))
    assert found.share == pytest.approx(np.nanmean(values) / np.delete(ceilings, 3).mean())


def test_without_values_of_queries_nothing_is_sure() -> None:
    found = Headrooms(0.3, 0.1, 0.8, 90, None, None)
    assert verdict(found, 0.95) == "unknown"
    assert "how sure that is are missing" in sentence(found, "unknown", "dense")


def test_both_inside_noise_is_said() -> None:
    found = headrooms_of(0.01, 0.02, 0.3)
    assert sentence(found, verdict(found, 0.95), "dense").startswith("Neither pool nor order of dense leaves a gain")


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sweep = made_sweep(methods=("dense", "dense+rerank"), depths=(20, 50))
    return write_sweep(tmp_path_factory.mktemp("sweep"), sweep, queries=30, timed=8)


def test_marginals_are_differences_of_neighbours(swept: Path) -> None:
    result = tv.frontier(swept, resamples=200).to_dict()
    points, axes = result["points"], {each["axis"] for each in result["marginals"]}
    assert axes == {"K", "rerank.depth", "embed.dimension"}
    for each in result["marginals"]:
        first, second = (points[place] for place in each["points"])
        gain = second["quality"]["value"] - first["quality"]["value"]
        assert each["quality"]["value"] == pytest.approx(gain)
        assert each["quality"]["low"] <= gain <= each["quality"]["high"]
        if each["axis"] == "K":
            assert (first["K"], second["K"]) == (each["from"], each["to"])
            assert first["system"] == second["system"]
            assert each["per_millisecond"] is None
            assert each["per_currency"]["value"] == pytest.approx(gain / (second["cost"] - first["cost"]))
        else:
            assert first["K"] == second["K"]
            assert second["values"][each["axis"]] == each["to"] > each["from"] == first["values"][each["axis"]]
            assert {k: v for k, v in first["values"].items() if k != each["axis"]} == {
                k: v for k, v in second["values"].items() if k != each["axis"]
            }
        if each["axis"] == "rerank.depth":
            assert each["per_millisecond"]["value"] == pytest.approx(gain / each["milliseconds"]["value"])


def test_no_ratio_is_given_where_nothing_is_slower_or_dearer(swept: Path) -> None:
    result = tv.frontier(swept, resamples=200).to_dict()
    steps = [each for each in result["marginals"] if each["axis"] == "embed.dimension"]
    assert steps
    for each in steps:
        if each["cost"] <= 0:
            assert each["per_currency"] is None
            assert "it does not cost more" in each["reason"]


def test_efficiency_is_that_of_the_paper(swept: Path) -> None:
    assert round(efficiency([0.817], 0.3329), 3) == 2.454
    result = tv.frontier(swept, resamples=50).to_dict()
    sweep = json.loads((swept / "sweep.json").read_text(encoding="utf-8"))
    found = result["efficiency"]
    assert [each["efficiency"] for each in found] == sorted((each["efficiency"] for each in found), reverse=True)
    for each in found:
        assert each["measures"] == ["N-Recall4+@10", "RA-nWG@10"]  # the sweep has no K=30
        ten = next(one for one in sweep["configurations"] if one["system"] == each["system"] and one["K"] == 10)
        mean = np.mean([ten["measures"][name]["expected"] for name in each["measures"]])
        seconds = sweep["systems"][each["system"]]["latency"]["p50"]["value"]
        assert each["efficiency"] == pytest.approx(mean / seconds)


def test_recall_is_matched_by_interpolation_or_from_above() -> None:
    family = [
        IndexedSystem(0, 0.90, 0.010, 10.0),
        IndexedSystem(1, 0.96, 0.020, 20.0),
        IndexedSystem(2, 0.99, 0.060, 20.0),
    ]
    assert at_recall("hnsw", family, 0.85).how == "at or above"
    assert at_recall("hnsw", family, 0.85).system == 0
    exact = at_recall("hnsw", family, 0.96)
    assert (exact.system, exact.other, exact.latency) == (1, None, 0.020)
    between = at_recall("hnsw", family, 0.98)
    assert (between.system, between.other, between.how) == (1, 2, "interpolated")
    assert between.latency == pytest.approx(0.020 + 2 / 3 * 0.040)
    assert at_recall("hnsw", family, 0.995).how == "not reached"
    assert at_recall("hnsw", family, 0.995).latency is None


def test_specs_that_differ_in_search_alone_are_one_family(tmp_path: Path) -> None:
    sweep = made_sweep(methods=("dense",), dimensions=(128,), indexes=("hnsw", "hnsw(storage='int8')"))
    specs = ("hnsw(M=16, efSearch=16)", "hnsw(M=16, efSearch=64)")
    for system, spec, recall in zip(sweep["systems"], specs, (0.9, 1.0), strict=True):
        system["values"]["index.spec"] = system["settings"]["index"]["spec"] = spec
        system["recall"]["value"] = recall
    result = tv.frontier(write_sweep(tmp_path, sweep, queries=10), resamples=50).to_dict()
    names = {family["name"] for each in result["matched_recall"] for family in each["families"]}
    assert len(names) == 1
    assert names.pop().endswith("hnsw(M=16)")
    at = {each["recall"]: each["families"][0]["how"] for each in result["matched_recall"]}
    assert at == {
        0.9: "at or above",
        0.95: "interpolated",
        0.98: "interpolated",
        0.99: "interpolated",
        1.0: "at or above",
    }


def test_the_advice_is_about_the_answer_and_shows_its_headrooms(swept: Path) -> None:
    result = tv.frontier(swept, max_latency_ms=100, resamples=200).to_dict()
    advice, sweep = result["advice"], read_sweep(swept)
    answer = next(rule["answer"] for rule in result["rules"] if rule["rule"] in ("all limits", "latency-bound"))
    assert advice is not None
    assert answer is None or advice["point"] in {rule["answer"] for rule in result["rules"]}
    ceiling = sweep.configurations[advice["point"]]["ceiling"]
    assert advice["retrieval_headroom"]["value"] == pytest.approx(ceiling["retrieval_headroom"], abs=1e-5)
    assert advice["ordering_headroom"]["value"] == pytest.approx(ceiling["ordering_headroom"], abs=1e-5)


def test_a_step_takes_as_much_longer_as_the_latencies_say(swept: Path) -> None:
    for percentile in ("p50", "p99"):
        result = tv.frontier(swept, resamples=40, percentile=percentile).to_dict()
        steps = [each for each in result["marginals"] if each["milliseconds"] is not None]
        assert steps
        for each in steps:
            first, second = (result["points"][place]["latency"][percentile]["value"] for place in each["points"])
            wait = each["milliseconds"]
            assert wait["value"] == pytest.approx(1000 * (second - first))
            assert (each["per_millisecond"] is not None) == (wait["value"] > 0 and wait["low"] > 0)


def test_memory_counts_the_tables_of_an_index(tmp_path: Path) -> None:
    sweep = made_sweep(methods=("dense",), dimensions=(128,), indexes=("hnsw",))
    sweep["systems"][0]["values"] = {"method": "dense", "embed.dimension": 128, "rerank.depth": None}
    sweep["systems"][0]["memory"] |= {"vectors": 1000, "graph": 200, "tables": 30_000, "words": 4}
    result = tv.frontier(write_sweep(tmp_path, sweep, queries=10), resamples=50).to_dict()
    family = result["matched_recall"][0]["families"][0]
    assert (family["memory"], family["name"]) == (31_204.0, "dense 128 hnsw")
