"""Signals of a pipeline: margins and entropies by hand, and routing that asks the reranker once."""

import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tests.tradeoff import planted

from trueval import Judgments, Run
from trueval.errors import InputError, PolicyError
from trueval.retrieval.pipeline.pipeline import Pipeline
from trueval.tradeoff.diagnosis import query_performance_predictors
from trueval.tradeoff.diagnosis.query_performance_predictors import QueryNoise, entropy, margin, route_pipeline
from trueval.tradeoff.quality.changes import Bootstrap
from trueval.tradeoff.route.route import RoutingResult

FAST = Bootstrap(resamples=200, threads=1)


def test_margins_by_hand():
    run = Run.from_dict({"q": {"a": 0.9, "b": 0.7, "c": 0.4}, "r": {"a": 0.5}})
    found = margin(run, ["r", "q", "none"], k=2)
    assert found.values == pytest.approx([0.0, 0.2, 0.0])
    assert margin(run, ["q"], k=50).values == pytest.approx([0.5])
    assert found.low_is_hard
    assert found.need.tolist() == (-found.values).tolist()
    with pytest.raises(PolicyError, match="k of the margin"):
        margin(run, ["q"], k=1)


@pytest.mark.parametrize("odds", [True, False])
def test_entropies_by_the_definition(odds: bool):
    rng = np.random.default_rng(0)
    for size in (2, 3, 50):
        logits = rng.normal(0, 2, size)
        scores = 1 / (1 + np.exp(-logits)) if odds else logits
        shares = np.exp(logits) / np.exp(logits).sum()
        expected = -sum(share * math.log(share) for share in shares) / math.log(size)
        run = Run.from_dict({"q": {f"d{place}": float(score) for place, score in enumerate(scores)}})
        assert entropy(run, ["q"], 100, odds=odds).values == pytest.approx([expected])
    # Of the first two alone.
    run = Run.from_dict({"q": {"a": 3.0, "b": 3.0, "c": -9.0}})
    assert entropy(run, ["q"], 2, odds=False).values.tolist() == [1.0]


def test_scores_of_one_and_of_nothing_have_an_entropy():
    run = Run.from_dict({"sure": {"a": 1.0, "b": 0.0}, "even": {"a": 1.0, "b": 1.0}, "far": {"a": 5000.0, "b": 0.0}})
    found = entropy(run, ["sure", "even", "none"], 2, odds=True).values
    assert found == pytest.approx([0.0, 1.0, 0.0], abs=1e-12)
    assert entropy(run, ["far"], 2, odds=False).values.tolist() == [0.0]


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    pytest.importorskip("faiss", reason='needs the extra "retrieval"')
    pytest.importorskip("safetensors", reason='needs the extra "models"')
    place = SimpleNamespace(recipe=SimpleNamespace(scoring="sigmoid"))
    monkeypatch.setattr(query_performance_predictors, "find_model", lambda name, recipe: place)
    return planted.use(monkeypatch)


def routed(depths: tuple[int, int] = (1, 3), measure: str = "RR", **choices: object) -> RoutingResult:
    collection = planted.collection()
    given = planted.settings(index={"depth": 3}, rerank={"model": "reranker", "depth": 2})
    return route_pipeline(
        collection,
        given,
        collection.graded,
        measure,
        rng=np.random.default_rng(0),
        depths=depths,
        k=2,
        curve=(),
        repeats=1,
        bootstrap=FAST,
        **choices,  # type: ignore[arg-type]
    )


def test_the_reranker_is_asked_once(log: list[tuple[str, int]], tmp_path: Path):
    found = routed(cache=tmp_path)
    assert log == [("embed", 16), ("embed", 4), ("pairs", 12)]
    # One candidate is t, relevant for queries 2 and 3. Of three the good a comes first, relevant for 0 and 1, and t
    # ties with b at ranks 2 and 3: 1/2 (1/2 + 1/3).
    assert found["fewer"].quality.value == 0.5
    assert found["more"].quality.value == pytest.approx((1 + 1 + 5 / 12 + 5 / 12) / 4)
    assert (found["fewer"].cost, found["more"].cost) == (1, 3)
    given = planted.settings(index={"depth": 3}, rerank={"model": "reranker", "depth": 1})
    alone = Pipeline(given).retrieve(planted.collection(), cache=tmp_path).run
    assert alone.frame["doc_id"].to_list() == ["t0", "t1", "t2", "t3"]


def test_a_deeper_pass_that_is_kept_serves(log: list[tuple[str, int]], tmp_path: Path):
    given = planted.settings(index={"depth": 3}, rerank={"model": "reranker", "depth": 3})
    Pipeline(given).retrieve(planted.collection(), cache=tmp_path)
    done = list(log)
    collection = planted.collection()
    found = route_pipeline(
        collection,
        given,
        collection.graded,
        "R@2",
        rng=np.random.default_rng(0),
        depths=(1, 2),
        curve=(),
        repeats=1,
        bootstrap=FAST,
        cache=tmp_path,
    )
    assert log == done
    # t alone, and then t and a: the relevant ones of queries 2 and 3, and then of all. Of three, b would be there too.
    assert (found["fewer"].quality.value, found["more"].quality.value) == (0.5, 1.0)


@pytest.mark.parametrize(
    ("depths", "measure", "said"),
    [
        ((1, 4), "RR", r"\[index\] gives 3 candidates, and 4 are to be reranked"),
        ((2, 2), "RR", "the lower first"),
    ],
)
def test_bad_depths(log: list[tuple[str, int]], depths: tuple[int, int], measure: str, said: str):
    with pytest.raises(PolicyError, match=said):
        routed(depths, measure)


def test_lower_is_better_is_refused(log: list[tuple[str, int]]):
    grades = Judgments.from_dict({f"q{axis}": {f"a{axis}": 5, f"t{axis}": 1} for axis in range(planted.QUERIES)})
    given = planted.settings(index={"depth": 3}, rerank={"model": "reranker"})
    with pytest.raises(PolicyError, match="Got Harm@2"):
        route_pipeline(planted.collection(), given, grades, "Harm@2", rng=np.random.default_rng(0), depths=(1, 3))


def test_no_reranker():
    with pytest.raises(InputError, match=r"Add \[rerank\]"):
        route_pipeline(
            planted.collection(),
            planted.settings(),
            Judgments.from_dict({"q0": {"a0": 1}}),
            "RR",
            rng=np.random.default_rng(0),
        )


def test_the_drop_is_one_more_signal_at_its_price(
    log: list[tuple[str, int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(
        query_performance_predictors, "noisy", lambda text, *_, **__: SimpleNamespace(text=f"{text}; um")
    )
    plain = routed(cache=tmp_path)
    before = len(log)
    found = routed(cache=tmp_path, noise=QueryNoise(cost=0.25))
    assert [each for each, _ in log[before:]] == ["embed"]  # the queries with chatter, and no pair
    assert [each.name for each in found.rules] == [
        "either",
        "margin",
        "entropy",
        "gap",
        "tied",
        "nqc",
        "drop",
        "linear",
    ]
    for rule in found.rules:
        extra = 0.25 if rule.name in ("either", "drop", "linear") else 0.0
        assert rule.cost == pytest.approx(1 + 2 * rule.share + extra)
    assert (found["margin"].share, found["margin"].cost) == (plain["margin"].share, plain["margin"].cost)
    assert (found["fewer"].cost, found["more"].cost) == (1, 3)
    values = query_performance_predictors.drop(
        planted.collection(), planted.settings(index={"depth": 3}), ["q0", "q1"], QueryNoise(), cache=tmp_path
    )
    assert values.name == "drop"
    with pytest.raises(InputError, match="leave drop out"):
        query_performance_predictors.drop(planted.collection(), {"sparse": {}}, ["0"], QueryNoise())
