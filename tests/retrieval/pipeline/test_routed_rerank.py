"""Pipelines with a router: as many candidates of each query as it says, in no more pairs, and refusals with a cure."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.extras import need
from tests.retrieval import models
from tests.retrieval.pipeline.test_pipeline import Model, collection, made

from trueval.collection import Collection
from trueval.errors import InputError, PolicyError
from trueval.retrieval.pipeline.pipeline import Pipeline
from trueval.retrieval.pipeline.routed_rerank import route_log
from trueval.retrieval.pipeline.router import Router
from trueval.retrieval.pipeline.router_file import router_toml, served_settings

need("faiss", "bm25s", extra="retrieval")
need("safetensors", extra="models")
__all__ = ["collection"]


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    done: list[tuple[str, int]] = []
    scoring = {"embedder": "product", "reranker": "sigmoid"}
    models.use(monkeypatch, lambda name: Model(scoring[name], done))
    return done


def write_router(place: Path, pipeline: Pipeline, threshold: float, weights: dict[str, float], **rule: object) -> Path:
    certificate = {
        "measure": "nDCG@10",
        "method": "conformal risk control",
        "epsilon": 0.05,
        "queries": 30,
        "chosen_on": 30,
        "loss": 0.01,
        "net": 0.0,
        "share": 0.5,
        "seed": 0,
        "needs": [0.0, 1.0] * 20,
    }
    chosen = {"rule": "margin", "fewer": 4, "more": 10, "threshold": threshold, "constant": 0.0, "top": 10}
    tables = {
        "format": 1,
        "router": {**chosen, "scale": "probability", **rule},
        "weights": weights,
        "certificate": certificate,
        "sweep": {"sha256": "ab", "system": "s"},
        "pipeline": served_settings(pipeline.settings),
    }
    place.write_text(router_toml(tables), encoding="utf-8")
    return place


@pytest.mark.parametrize("weights", [{"margin": -1.0}, {"entropy": 1.0}])
def test_each_query_has_its_own_depth(
    collection: Collection, log: list[tuple[str, int]], tmp_path: Path, weights: dict[str, float]
) -> None:
    plain = {depth: made(rerank={"depth": depth}).retrieve(collection) for depth in (4, 10)}
    first = plain[4].stages[0].run
    scored = plain[4].run
    rule = Router(4, 10, 0.0, weights, scale="probability")
    needs = {
        query: rule.route(
            first.frame.filter(query_id=query)["score"].to_list(),
            scored.frame.filter(query_id=query)["score"].to_list(),
        ).need
        for query in collection.queries
    }
    threshold = sorted(needs.values())[3]
    log.clear()
    pipeline = made().with_router(write_router(tmp_path / "router.toml", made(), threshold, weights))
    found = pipeline.retrieve(collection, cache=tmp_path / "cache")
    hard = {query for query, need in needs.items() if need >= threshold}
    assert 0 < len(hard) < 6
    for query in collection.queries:
        alone = plain[10 if query in hard else 4].run.frame.filter(query_id=query)
        assert found.run.frame.filter(query_id=query).rows() == alone.rows()
    assert sum(count for what, count in log if what == "pairs") == 6 * 4 + len(hard) * 6
    assert f"{len(hard)} of 6 queries were given 10 candidates" in found.stages[-1].notes[0]
    entries = route_log(found.stages, Router.load(tmp_path / "router.toml"))
    assert {each["query"]: each["need"] for each in entries} == needs
    log.clear()
    again = pipeline.retrieve(collection, cache=tmp_path / "cache")
    assert not log
    assert again.stages[-1].cached
    assert again.run.frame.equals(found.run.frame)
    # Another router is another stage.
    write_router(tmp_path / "router.toml", made(), float("inf"), weights)
    assert pipeline.retrieve(collection, cache=tmp_path / "cache").run.frame.height == 6 * 4


def test_the_file_of_a_pipeline_names_its_router(tmp_path: Path) -> None:
    text = '[sparse]\nindex = "bm25"\n[rerank]\nmodel = "cross-encoder"\n[route]\nrouter = "router.toml"\n'
    bare = tmp_path / "bare.toml"
    bare.write_text(text.partition("[route]")[0], encoding="utf-8")
    write_router(tmp_path / "router.toml", Pipeline.read(bare), 0.0, {"margin": -1.0})
    (tmp_path / "p.toml").write_text(text, encoding="utf-8")
    found = Pipeline.read(tmp_path / "p.toml").settings
    assert (found["rerank"]["depth"], found["route"]["router"]) == (10, str(tmp_path / "router.toml"))
    (tmp_path / "p.toml").write_text(text.replace("bm25", "bm25(language='fr')"), encoding="utf-8")
    with pytest.raises(InputError, match=r"certified for sparse.index = 'bm25', and this pipeline has"):
        Pipeline.read(tmp_path / "p.toml")
    (tmp_path / "p.toml").write_text(text + '[pipeline]\nscoring = "both"\n', encoding="utf-8")
    with pytest.raises(PolicyError, match="Leave scoring out"):
        Pipeline.read(tmp_path / "p.toml")


def test_a_log_is_json_that_a_check_reads(tmp_path: Path) -> None:
    routed = Router(4, 10, 0.5, {"margin": -1.0}).route([0.9, 0.1])
    assert json.loads(json.dumps(routed._asdict())) == {"candidates": 4, "need": -0.8}
