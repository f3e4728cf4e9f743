"""Every protocol: what goes out, and how what comes back is put in the order of the texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.models.hosted.loopback import Loopback, Trouble, score, vector

from trueval.errors import TruevalWarning

TEXTS = ["the wing lifts", "heat flows", "the wing lifts", "a plate"]
QUERY = "what lifts the wing"

pytestmark = pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")  # the notice, of test_money


@pytest.mark.parametrize("name", ["openai:text-embedding-3-small", "voyage:voyage-3.5"])
@pytest.mark.parametrize("encoding", ["base64", "float"])
def test_vectors_are_those_of_their_texts_bit_for_bit(
    service: Loopback, load: Callable[..., Any], name: str, encoding: str
) -> None:
    model = load(name, encoding=encoding)
    found = model.embed_documents(TEXTS)
    assert found.dtype == np.float32
    assert found.tolist() == np.stack([vector(text) for text in TEXTS]).tolist()
    (call,) = service.seen
    assert call.path == "/v1/embeddings"
    assert call.texts == list(dict.fromkeys(TEXTS)), "a text that is there twice goes out once"
    assert call.body["model"] == name.partition(":")[2]
    assert (model.scoring, model.dtype, model.name) == ("product", "float32", name)
    assert model.embed_queries([]).shape == (0, 0)


def test_dimensions_are_asked_for_by_the_word_of_each_service(service: Loopback, load: Callable[..., Any]) -> None:
    for name, word in (("openai:m", "dimensions"), ("voyage:m", "output_dimension")):
        assert load(name, dimension=3).embed_queries(TEXTS).shape == (4, 3)
        assert service.seen[-1].body[word] == 3


def test_voyage_is_told_queries_from_documents(service: Loopback, load: Callable[..., Any]) -> None:
    model = load("voyage:voyage-3.5")
    model.embed_queries(TEXTS)
    model.embed_documents(TEXTS)
    assert [call.body["input_type"] for call in service.seen] == ["query", "document"]
    assert {call.body["output_dtype"] for call in service.seen} == {"float"}
    assert {call.body["truncation"] for call in service.seen} == {True}


@pytest.mark.parametrize(
    ("name", "path", "members"),
    [
        ("cohere:rerank-v3.5", "/v2/rerank", {"model", "query", "documents"}),
        ("jina:jina-reranker-v3", "/v1/rerank", {"model", "query", "documents", "return_documents"}),
        ("vllm:BAAI/bge-reranker-v2-m3", "/v1/rerank", {"model", "query", "documents"}),
        ("voyage:rerank-2.5", "/v1/rerank", {"model", "query", "documents", "truncation"}),
    ],
)
def test_finished_scores_are_put_back_by_index(
    service: Loopback, load: Callable[..., Any], name: str, path: str, members: set[str]
) -> None:
    model = load(name)
    found = model.logits(QUERY, TEXTS)
    assert found.dtype == np.float64
    assert found.tolist() == [[score(QUERY, text)] for text in TEXTS]
    (call,) = service.seen
    assert (call.path, set(call.body)) == (path, members)
    assert (model.scoring, model.dtype) == ("none", "float64")
    assert model.scores(QUERY, TEXTS).tolist() == [score(QUERY, text) for text in TEXTS]


def test_tei_gives_logits_which_are_scored_here(service: Loopback, load: Callable[..., Any]) -> None:
    model = load("tei:any")
    logits = np.float32([8 * score(QUERY, text) - 2 for text in TEXTS])
    assert model.logits(QUERY, TEXTS)[:, 0].tolist() == logits.tolist()
    assert (model.scoring, model.dtype, service.seen[0].path) == ("sigmoid", "float32", "/rerank")
    assert service.seen[0].body == {
        "query": QUERY,
        "texts": list(dict.fromkeys(TEXTS)),
        "raw_scores": True,
        "truncate": True,
    }
    assert model.scores(QUERY, TEXTS) == pytest.approx(1 / (1 + np.exp(-logits)), abs=1e-7)


def test_pairs_of_one_query_share_calls_whatever_their_order(service: Loopback, load: Callable[..., Any]) -> None:
    pairs = [("a", "x"), ("b", "a y"), ("a", "a z"), ("b", "x"), ("a", "x")]
    found = load("jina:m").pair_logits(pairs)
    assert found[:, 0].tolist() == [score(*pair) for pair in pairs]
    assert [(call.body["query"], call.texts) for call in service.seen] == [("a", ["x", "a z"]), ("b", ["a y", "x"])]


@pytest.mark.parametrize("name", ["openai:m", "voyage:m", "jina:m"])
def test_texts_that_utf8_does_not_know_go_out_too(service: Loopback, load: Callable[..., Any], name: str) -> None:
    model = load(name)
    model.logits("q \ud800", ["d \udfff", "é"]) if name == "jina:m" else model.embed_queries(["d \udfff", "é"])
    assert service.seen[0].texts == ["d ?", "é"]


def test_vectors_that_are_not_of_length_1_are_told(service: Loopback, load: Callable[..., Any]) -> None:
    long = {"data": [{"index": i, "embedding": [3.0, 4.0]} for i in range(4)]}
    service.troubles = [Trouble(change=lambda found: long)] * 2
    model = load("openai:m")
    with pytest.warns(TruevalWarning, match=r"openai:m: vectors are not of length 1, so that their products are no"):
        model.embed_queries(["a", "b", "c", "d"])
    with pytest.warns(TruevalWarning) as caught:
        model.embed_queries(["a", "b", "c", "d"])
    assert len(caught) == 1, "once: the rest is the notice"


@pytest.mark.parametrize("name", ["openai:m", "voyage:m", "jina:m"])
def test_the_key_of_the_environment_is_sent_and_no_other(
    service: Loopback, load: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    for variable in ("OPENAI_API_KEY", "VOYAGE_API_KEY", "JINA_API_KEY"):
        monkeypatch.setenv(variable, "sk-of-the-service")
    monkeypatch.setenv("MINE", " sk-mine\n")
    ask = (lambda model: model.logits("q", ["d"])) if name == "jina:m" else (lambda model: model.embed_queries(["q"]))
    ask(load(name))
    # This server is not the service of that name: its key stays here.
    assert "sk-of-the-service" not in str(service.seen[-1].headers)
    ask(load(name, api_key_env="MINE"))
    assert service.seen[-1].headers["authorization"] == "Bearer sk-mine"


def test_texts_are_cut_by_number_and_by_tokens(service: Loopback, load: Callable[..., Any]) -> None:
    texts = [f"{word:05}" for word in range(10)]  # 3 tokens each, as we count
    load("openai:m", batch_size=4).embed_queries(texts)
    assert [len(call.texts) for call in service.seen] == [4, 4, 2]
    service.seen.clear()
    load("openai:m", batch_tokens=7).embed_queries(texts)
    assert [len(call.texts) for call in service.seen] == [2] * 5
    service.seen.clear()
    load("jina:m", batch_tokens=12).logits("q", texts)  # the query is read with each
    assert [len(call.texts) for call in service.seen] == [2] * 5


def test_calls_under_way_together_give_the_same(service: Loopback, load: Callable[..., Any]) -> None:
    texts = [f"text {number}" for number in range(40)]
    model = load("voyage:m", batch_size=3, concurrency=4)
    assert model.embed_documents(texts).tolist() == np.stack([vector(text) for text in texts]).tolist()
    assert sorted(text for call in service.seen for text in call.texts) == sorted(texts)


def test_voyages_own_client_says_and_reads_the_same(service: Loopback, load: Callable[..., Any]) -> None:
    """We call Voyage by HTTP (docs/design/models.md); its client, where it is installed, must send the same."""
    voyageai = pytest.importorskip("voyageai", reason="voyageai is no dependency of ours")
    client = voyageai.Client(api_key="k", base_url=f"{service.url}/v1")
    # Their client takes the rows as they come and does not look at their indexes, so here they come in order.
    service.troubles = [Trouble(change=lambda found: {**found, "data": found["data"][::-1]})]
    theirs = client.embed(TEXTS[1:], model="voyage-3.5", input_type="query", output_dimension=4, output_dtype="float")
    ranked = client.rerank(QUERY, TEXTS[1:], model="rerank-2.5")
    sent = [call.body for call in service.seen]
    service.seen.clear()
    assert load("voyage:voyage-3.5", dimension=4).embed_queries(TEXTS[1:]).tolist() == theirs.embeddings
    ours = load("voyage:rerank-2.5").scores(QUERY, TEXTS[1:]).tolist()
    assert ours == [row.relevance_score for row in sorted(ranked.results, key=lambda row: row.index)]
    received = [{key: value for key, value in body.items() if value is not None} for body in sent]
    assert [call.body for call in service.seen] == received
