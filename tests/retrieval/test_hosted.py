"""Hosted models in pipelines: asked once, by the words of the TOML, and their scores believed as they are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.extras import need
from tests.models.hosted.loopback import Loopback, Trouble, score, serving, vector

import trueval as tv
from trueval.collection import Collection
from trueval.errors import InputError, MissingExtraError, PolicyError, TruevalWarning
from trueval.judgments import Judgments
from trueval.models import load_model
from trueval.precision.model_passes import run_models
from trueval.precision.regimes import plan
from trueval.retrieval.pipeline.config import settings_of_tables
from trueval.retrieval.pipeline.pipeline import Pipeline
from trueval.retrieval.pipeline.rerank import rerank

need("faiss", extra="retrieval")
need("httpx2", "openai", "safetensors", extra="hosted")

DOCUMENTS = {f"d{number}": f"the wing {'lifts ' * (number % 4)}{number}" for number in range(30)}
QUERIES = {"q1": "what lifts the wing", "q2": "heat"}
COLLECTION = Collection("made", "made", DOCUMENTS, QUERIES, Judgments.from_dict({"q1": {"d1": 1}}))
QUIET = pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with serving() as found:
        yield found


def tables(service: Loopback, **changed: Any) -> dict[str, Any]:
    found = {
        "embed": {"model": "openai:m", "base_url": f"{service.url}/v1", "price_per_million_tokens": 1e5},
        "index": {"depth": 20},
        "rerank": {
            "model": "cohere:r",
            "base_url": f"{service.url}/v2",
            "depth": 10,
            "price_per_thousand_searches": 1000,
        },
    }
    return {name: {**values, **changed.get(name, {})} for name, values in found.items()}


def pipeline(service: Loopback, **changed: Any) -> Pipeline:
    return Pipeline(settings_of_tables(tables(service, **changed), "test"), "mine")


@QUIET
def test_a_pipeline_of_services_is_asked_once(service: Loopback, tmp_path: Path) -> None:
    found = pipeline(service).retrieve(COLLECTION, cache=tmp_path, max_cost=100)
    dense = found.stages[0].run.frame
    exact = (
        np.stack([vector(text) for text in QUERIES.values()])
        @ np.stack([vector(text) for text in DOCUMENTS.values()]).T
    )
    for row, query in enumerate(QUERIES):
        best = dense.filter(query_id=query)
        assert best["score"].to_list() == pytest.approx(sorted(exact[row].tolist(), reverse=True)[:20], abs=1e-6)
    for query, doc, value in found.run.frame.rows():
        assert value == score(QUERIES[query], DOCUMENTS[doc]), "in all digits that the service gave"
    assert found.run.documents.height == 20
    paths = [call.path for call in service.seen]
    assert paths == ["/v1/embeddings", "/v1/embeddings", "/v2/rerank", "/v2/rerank"]
    ledger = [json.loads(line) for line in (tmp_path / "ledger.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line["status"] for line in ledger] == ["sent", "200"] * 4
    assert [line["part"] for line in ledger[1::2]] == ["documents", "queries", "pairs", "pairs"]
    spent = sum(line["cost"] for line in ledger[1::2])
    assert spent == pytest.approx(2 + 0.1 * sum(len(text.split()) for text in [*DOCUMENTS.values(), *QUERIES.values()]))
    assert "cost" in found.stages[0].notes[0]
    service.seen.clear()
    again = pipeline(service, embed={"price_per_million_tokens": 1.0}, rerank={"timeout": 3}).retrieve(
        COLLECTION, cache=tmp_path
    )
    assert service.seen == []
    assert again.run.frame.equals(found.run.frame)
    assert [stage.cached for stage in again.stages] == [True, True]
    deeper = pipeline(service, rerank={"depth": 12}).retrieve(COLLECTION, cache=tmp_path)
    assert deeper.run.documents.height == 24
    assert [len(call.texts) for call in service.seen] == [2, 2], "only what nobody scored before"


@QUIET
def test_what_was_paid_for_before_a_stop_is_not_paid_again(service: Loopback, tmp_path: Path) -> None:
    service.troubles = [Trouble(), Trouble(), Trouble(), Trouble(401, body='{"message": "revoked"}')]
    with pytest.raises(InputError, match=r"^cohere:r at 127.*HTTP 401: revoked"):
        pipeline(service).retrieve(COLLECTION, cache=tmp_path)
    service.seen.clear()
    found = pipeline(service).retrieve(COLLECTION, cache=tmp_path, max_cost=1)
    assert [call.path for call in service.seen] == ["/v2/rerank"]
    assert found.run.documents.height == 20


@QUIET
def test_a_limit_holds_for_all_stages_together(service: Loopback, tmp_path: Path) -> None:
    dear = pipeline(service, rerank={"price_per_thousand_searches": 20_000.0})
    with pytest.raises(InputError, match=r"20 pairs for cohere:r would cost about 40 with 13\.8 spent.*max_cost of 30"):
        dear.retrieve(COLLECTION, cache=tmp_path, max_cost=30)
    assert {call.path for call in service.seen} == {"/v1/embeddings"}


@QUIET
def test_dimensions_are_cut_by_the_service(service: Loopback) -> None:
    found = Pipeline(settings_of_tables({"embed": {**tables(service)["embed"], "dimension": 3}}, "test"))
    found.retrieve(COLLECTION)
    assert {call.body["dimensions"] for call in service.seen} == {3}


@QUIET
def test_an_embedder_of_a_service_reranks_by_the_product(service: Loopback) -> None:
    run = tv.Run.from_dict({"q1": {"d1": 1.0, "d2": 2.0, "d3": 3.0}}, name="first")
    model = load_model("voyage:voyage-3.5", base_url=f"{service.url}/v1")
    found = rerank(run, COLLECTION, model)
    for _, doc, value in found.frame.rows():
        assert value == pytest.approx(float(vector(QUERIES["q1"]) @ vector(DOCUMENTS[doc])), abs=1e-6)


@QUIET
@pytest.mark.parametrize(("name", "path"), [("jina:r", "/v1"), ("tei:r", "")])
def test_finished_scores_cannot_be_rescored_and_logits_can(service: Loopback, name: str, path: str) -> None:
    run = tv.Run.from_dict({"q1": {f"d{number}": 1.0 for number in range(30)}}, name="first")
    model = load_model(name, base_url=service.url + path)
    exact = [score(QUERIES["q1"], text) for text in DOCUMENTS.values()]
    logits = np.float32([8 * each - 2 for each in exact]).astype(np.float64)
    expected = exact if name == "jina:r" else (1 / (1 + np.exp(-logits))).tolist()
    found = rerank(run, COLLECTION, model)
    scores = {doc: value for _, doc, value in found.frame.rows()}
    assert [scores[doc] for doc in DOCUMENTS] == (expected if name == "jina:r" else pytest.approx(expected, abs=1e-7))
    if name == "jina:r":
        with pytest.raises(
            PolicyError, match="jina:r gives finished scores: there are no logits or vectors to score in"
        ):
            rerank(run, COLLECTION, model, scoring="bfloat16")
        assert len(service.seen) == 1, "refused before it is asked"
    else:
        assert rerank(run, COLLECTION, model, scoring="bfloat16").documents["score"].n_unique() < len(set(expected))


@pytest.mark.parametrize(
    ("table", "told"),
    [
        (
            {"model": "openai:m", "dtype": "bfloat16"},
            r"openai:m is hosted, so that its service decides it\. Remove dtype",
        ),
        ({"model": "openai:m", "device": "cpu"}, r"Remove device from \[embed\]"),
        (
            {"model": "all-MiniLM-L6-v2", "base_url": "http://h"},
            r"runs on this machine\. Remove base_url from \[embed\]",
        ),
        ({"model": "openai:m", "price_per_milion_tokens": 2}, r"Did you mean price_per_million_tokens"),
        ({"model": "openai:m", "encoding": "json"}, r"here: encoding of \[embed\] must be 'base64' or 'float'"),
    ],
)
def test_keys_go_with_their_kind_of_model(table: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        settings_of_tables({"embed": table}, "here")


def test_each_kind_of_model_has_its_defaults() -> None:
    local = settings_of_tables({"embed": {"model": "all-MiniLM-L6-v2"}}, "here")["embed"]
    hosted = settings_of_tables({"embed": {"model": "openai:m"}}, "here")["embed"]
    assert (local["dtype"], local["batch_size"], "timeout" in local) == ("bfloat16", 32, False)
    assert (hosted["timeout"], hosted["batch_size"], "dtype" in hosted) == (120, None, False)


def test_finished_scores_are_no_embedder_and_refused_where_formats_are_compared(service: Loopback) -> None:
    with pytest.raises(InputError, match="cohere:r gives finished scores: it gives no single vector"):
        Pipeline(settings_of_tables({"embed": {"model": "cohere:r"}}, "here")).retrieve(COLLECTION)
    with pytest.raises(PolicyError, match="openai:m is hosted: its service chooses the format that it runs in"):
        run_models(COLLECTION, ["nowhere", "openai:m"], ["float32"])
    with pytest.raises(PolicyError, match="m gives finished scores: there is nothing to rescore"):
        plan("m", "none", "float64")
    wrong = {"rerank": {"scoring": "bfloat16"}}
    with pytest.raises(InputError, match=r"cohere:r gives finished scores.*Remove scoring from \[rerank\]"):
        pipeline(service, **wrong).retrieve(COLLECTION)
    assert service.seen == []


def test_the_extra_is_named_before_any_work(monkeypatch: pytest.MonkeyPatch, service: Loopback) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(MissingExtraError, match=r'pip install "trueval\[hosted\]"'):
        pipeline(service).retrieve(COLLECTION)


def test_the_notice_comes_before_each_first_call(service: Loopback) -> None:
    with pytest.warns(TruevalWarning, match=r"documents|queries|pairs") as caught:
        pipeline(service).retrieve(COLLECTION)
    notices = [str(each.message).split(" in ")[0] for each in caught]
    assert notices == ["documents: 30 texts", "queries: 2 texts", "pairs: 20 pairs"]
