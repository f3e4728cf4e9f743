"""Certificates of routers: thresholds as a naive search finds them, promises that hold, refusals with a cure."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from trueval.errors import InputError, PolicyError
from trueval.retrieval.pipeline.router import FEATURES, LOGIT, PROBABILITY, Router
from trueval.retrieval.pipeline.router_file import check_pipeline, read_router_file, router_toml, served_settings
from trueval.tradeoff.quality.changes import Bootstrap
from trueval.tradeoff.quality.result_parts import MeanInterval
from trueval.tradeoff.route.certificate import (
    RouterChoice,
    certify,
    halves,
    p_value,
    router_of,
    router_tables,
)
from trueval.tradeoff.route.route_result import RoutedRule, RoutedSystem, RouterInputs

FAST = Bootstrap(resamples=100, threads=1)
SETTINGS = {"sparse": {"index": "bm25", "depth": 100}, "rerank": {"model": "m", "depth": 50}}


def planted_inputs(rng: np.random.Generator, queries: int, sharp: float = 2.0) -> RouterInputs:
    """Three in ten queries gain .2 by depth; the margin tells which, noisily, and the entropy nothing."""
    hard = rng.random(queries) < 0.3
    fewer = rng.uniform(0.2, 0.6, queries)
    more = fewer + np.where(hard, rng.uniform(0, 0.4, queries), rng.uniform(-0.1, 0.02, queries))
    margin = np.where(hard, 0.0, 0.1 * sharp) + rng.normal(0, 0.1, queries)
    features = {"margin": margin, "entropy": rng.random(queries)}
    told = {name: tuple(values.tolist()) for name, values in features.items()}
    return RouterInputs(tuple(fewer.tolist()), tuple(more.tolist()), told, 10, LOGIT, served_settings(SETTINGS))


def routed_system(inputs: RouterInputs | None) -> RoutedSystem:
    def rule(name: str, cost: float) -> RoutedRule:
        return RoutedRule(name, 0.0, cost, MeanInterval(0.5, 0.4, 0.6, 9), {}, {})

    constants = (rule("fewer", 50.0), rule("more", 100.0))
    facts = ("nDCG@10", (50, 100), "pairs a query", 0.3, None, 0.0, 100, 0, 5, 1, 0.95, "either", constants)
    return RoutedSystem("sparse+rerank, routed", 1, *facts, (), (), (), inputs)


def naive_threshold(limit: RouterChoice, needs: np.ndarray, losses: np.ndarray) -> float | None:
    """Of every threshold, the greatest that keeps the promise together with all below it."""
    n, found = len(needs), None
    for at in [*sorted(set(needs.tolist())), math.inf]:
        risk = float(np.where(needs >= at, 0.0, losses).mean())
        kept = (
            (n * risk + 1) / (n + 1) <= limit.epsilon + 1e-12
            if limit.level is None
            else p_value(risk, limit.epsilon, n) <= 1 - limit.level
        )
        if not kept:
            return found
        found = at
    return found


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("level", [None, 0.6])
def test_the_threshold_is_that_of_a_search_over_all(seed: int, level: float | None):
    rng = np.random.default_rng(seed)
    needs = rng.integers(0, 6, 30).astype(float)
    losses = np.where(rng.random(30) < 0.4, rng.random(30), 0.0)
    limit = RouterChoice(float(rng.choice([0.02, 0.05, 0.1, 0.3])), level)
    assert limit.threshold(needs, losses) == naive_threshold(limit, needs, losses)


@pytest.mark.parametrize(("epsilon", "level"), [(0.02, None), (0.0385, None), (0.1, 0.95), (0.03, 0.5)])
def test_the_least_number_of_queries_and_the_least_epsilon_agree(epsilon: float, level: float | None):
    limit = RouterChoice(epsilon, level)
    assert limit.least(limit.queries) <= epsilon * (1 + 1e-9) < limit.least(limit.queries - 1)


def test_csfcube_s_half_of_fifty_queries_allows_0385_at_best():
    assert RouterChoice().least(25) == pytest.approx(1 / 26)
    inputs = planted_inputs(np.random.default_rng(1), 50)
    with pytest.raises(
        PolicyError, match=r"takes 98 queries, half of them.*this sweep has 50: ask for --epsilon 0\.0385"
    ):
        certify(routed_system(inputs), RouterChoice(0.02), bootstrap=FAST)
    assert certify(routed_system(inputs), RouterChoice(0.0385), bootstrap=FAST).queries == 25


def test_a_certificate_counts_its_own_half_alone():
    inputs = planted_inputs(np.random.default_rng(2), 201)
    found = certify(routed_system(inputs), RouterChoice(0.02), seed=3, bootstrap=FAST)
    _, on = halves(201, 3)
    router, gains = router_of(found), np.subtract(inputs.more, inputs.fewer)[on]
    needs = np.array(found.needs)
    more = needs >= router.threshold
    assert (found.queries, found.chosen_on, found.rule) == (101, 100, "margin")
    assert found.share == more.mean()
    assert found.loss == pytest.approx(np.where(more, 0, np.maximum(gains, 0)).mean())
    assert (101 * found.loss + 1) / 102 <= 0.02
    assert found.net == pytest.approx(-(found.over["more"].value or 0))
    assert found.saved == pytest.approx((1 - found.share) / 2)
    # The next greater threshold would break the promise.
    after = needs > router.threshold
    assert (101 * np.where(after, 0, np.maximum(gains, 0)).mean() + 1) / 102 > 0.02


def test_the_file_serves_the_certified_choices(tmp_path: Path):
    inputs = planted_inputs(np.random.default_rng(4), 120)
    route = routed_system(inputs)
    found = certify(route, RouterChoice(0.03), bootstrap=FAST)
    place = tmp_path / "router.toml"
    place.write_text(router_toml(router_tables(found, route, {"name": "s", "sha256": "ab"})), encoding="utf-8")
    about, router = read_router_file(place), Router.load(place)
    assert about.certificate.needs == list(found.needs)
    assert router.threshold == router_of(found).threshold
    _, on = halves(120, 0)
    margins = np.array(inputs.features["margin"])[on]
    served = [router.route([1.0, 1.0 - margin] if margin > 0 else [margin, 0.0]).need for margin in (0.25, 0.5)]
    assert router.weights == {"margin": -1.0}
    assert served == [-0.25, -0.5]
    assert [-each for each in found.needs] == margins.tolist()
    check_pipeline(router, about, SETTINGS)
    with pytest.raises(InputError, match=r"certified for rerank.model = 'm', and this pipeline has 'other'"):
        check_pipeline(router, about, {**SETTINGS, "rerank": {"model": "other"}})
    with pytest.raises(InputError, match=r"Add \[rerank\]"):
        check_pipeline(router, about, {"sparse": SETTINGS["sparse"]})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("format = 1", "format = 9"), "this version reads 1"),
        (("margin = ", "clarity = "), "no feature clarity"),
        (("fewer = 50", "fewer = 500"), "1 <= fewer < more"),
        (("[weights]", "[weight]"), "Write it again by trueval frontier --route"),
    ],
)
def test_a_damaged_file_is_refused_with_a_cure(tmp_path: Path, change: tuple[str, str], said: str):
    route = routed_system(planted_inputs(np.random.default_rng(4), 120))
    found = certify(route, RouterChoice(0.03, features=["margin"]), bootstrap=FAST)
    text = router_toml(router_tables(found, route, {"name": "s", "sha256": "ab"}))
    (tmp_path / "router.toml").write_text(text.replace(*change), encoding="utf-8")
    with pytest.raises(InputError, match=re.escape(said)):
        Router.load(tmp_path / "router.toml")


def test_missing_features_and_other_scales_are_refused():
    router = Router(2, 4, 0.5, {"entropy": 1.0}, scale=PROBABILITY)
    assert router.choose([3.0, 2.0], [0.5, 0.5]) == 4
    with pytest.raises(InputError, match="--features margin"):
        router.choose([3.0, 2.0])
    with pytest.raises(InputError, match="not its logits"):
        router.choose([3.0, 2.0], [4.5, 0.5])
    with pytest.raises(InputError, match="best first"):
        router.choose([2.0, 3.0], [0.5, 0.5])
    assert Router(2, 4, 0.5, {"margin": math.nan}).choose([3.0, 2.0]) == 4


def test_features_are_those_of_their_naive_twins():
    rng = np.random.default_rng(5)
    router = Router(5, 9, 0.0, {"margin": 1.0}, top=4, scale=LOGIT)
    for _ in range(50):
        scores = -np.sort(-rng.integers(0, 8, rng.integers(1, 12)).astype(float))
        logits = rng.normal(size=rng.integers(2, 6))
        shares = np.exp(logits) / np.exp(logits).sum()
        last = scores[min(5, len(scores)) - 1]
        first = scores[:5]
        found = router.features(scores.tolist(), logits.tolist())
        assert tuple(found) == FEATURES
        assert found["margin"] == scores[0] - scores[:4][-1]
        assert found["gap"] == (scores[4] - scores[5] if len(scores) > 5 else 0)
        assert found["tied"] == ((scores == last).sum() - 1) / 5
        assert found["nqc"] == pytest.approx(first.std() / abs(first.mean()) if first.mean() else 0)
        assert found["entropy"] == pytest.approx(-(shares * np.log(shares)).sum() / np.log(len(logits)))


def test_a_router_needs_no_dependency(tmp_path: Path):
    route = routed_system(planted_inputs(np.random.default_rng(4), 120))
    found = certify(route, RouterChoice(0.03, features=["margin"]), bootstrap=FAST)
    place = tmp_path / "router.toml"
    place.write_text(router_toml(router_tables(found, route, {"name": "s", "sha256": "ab"})), encoding="utf-8")
    code = (
        "import sys\n"
        "for name in ('numpy', 'polars', 'pydantic', 'typer', 'scipy', 'rich'):\n    sys.modules[name] = None\n"
        f"import trueval as tv\nprint(tv.Router.load({str(place)!r}).choose([0.9, 0.1]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) in (50, 100)


def test_sweeps_without_features_and_unbounded_measures_are_refused():
    with pytest.raises(InputError, match="sweep again"):
        certify(routed_system(None), bootstrap=FAST)
    inputs = planted_inputs(np.random.default_rng(1), 120)
    large = RouterInputs(inputs.fewer, tuple(each + 2 for each in inputs.more), inputs.features, 10, LOGIT, {})
    with pytest.raises(InputError, match="nDCG@10 is not"):
        certify(routed_system(large), bootstrap=FAST)
    with pytest.raises(PolicyError, match="Got 'clarity'"):
        RouterChoice(features=["clarity"])


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_features_of_arrays_are_those_of_the_same_numbers_as_doubles(dtype) -> None:
    """Rerankers give float32 arrays, in which sums and 1 - p round: a need near the threshold chose otherwise."""
    rng = np.random.default_rng(0)
    router = Router(50, 100, 0.0, {"nqc": -1.0, "entropy": 1.0}, scale=PROBABILITY)
    for _ in range(20):
        scores, reranked = np.sort(rng.random(120).astype(dtype))[::-1], rng.random(50).astype(dtype)
        reranked[0] = 1
        numbers = scores.astype(float).tolist(), reranked.astype(float).tolist()
        assert router.features(scores, reranked) == router.features(*numbers)
        assert router.route(scores, reranked) == router.route(*numbers)
