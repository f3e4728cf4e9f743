"""The adapter of Elasticsearch against a server on loopback: what it sends, finds, waits for, and refuses."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.extras import need
from tests.retrieval.indexes.elastic_server import Server, elastic_server, error

from trueval.errors import InputError, MissingExtraError, PolicyError
from trueval.retrieval.indexes import elastic
from trueval.retrieval.indexes.index import LocalIndex, load_index, make_index

need("elasticsearch", extra="elastic")

WORDS = ["wing", "flow", "heat", "shock", "layer", "plate"]
BUSY = (429, error("es_rejected_execution_exception", "queue is full"), {"Retry-After": "0"})


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server that is waited for without waiting."""
    monkeypatch.setattr(elastic, "WAITS", (0.0, 0.0, 0.0))
    with elastic_server() as running:
        yield running


def made(server: Server, **chosen: object) -> LocalIndex:
    named = {"url": server.url, **chosen}
    return make_index(f"elastic({', '.join(f'{name}={value!r}' for name, value in named.items())})")


@pytest.fixture
def texts() -> list[str]:
    """120 texts of few words, of which some are equal."""
    rng = np.random.default_rng(0)
    return [" ".join(rng.choice(WORDS, rng.integers(1, 9))) for _ in range(120)]


@pytest.fixture
def vectors() -> np.ndarray:
    """80 vectors of length 1, of which the last 20 are the first."""
    rows = np.random.default_rng(1).normal(size=(60, 12))
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return np.concatenate((rows, rows[:20]))


def test_words_are_scored_as_our_own_bm25_does(server: Server, texts: list[str]):
    ours, theirs = make_index("bm25(k1=1.2, b=0.75, language=None)"), made(server, k1=1.2, b=0.75, analyzer="standard")
    ours.build(texts)
    theirs.build(texts)
    queries = ["wing", "heat heat flow", "plate unknown", "unknown", ""]
    one, other = ours.search(queries, 200), theirs.search(queries, 200)
    assert other.offsets.tolist() == one.offsets.tolist()
    assert other.scores == pytest.approx(one.scores, rel=1e-6)
    about = json.loads(next(body for method, _, _, body in server.asked if method == "PUT"))
    assert about["mappings"]["properties"]["text"] == {"type": "text", "analyzer": "standard", "similarity": "trueval"}
    assert about["settings"] == {
        "number_of_shards": 1,
        "number_of_replicas": 0,
        "refresh_interval": "-1",
        "similarity": {"trueval": {"type": "BM25", "k1": 1.2, "b": 0.75}},
    }
    assert theirs.describe().exact
    assert "holds 120 documents; shards: 1, segments: 1" in theirs.describe().notes[0]


@pytest.mark.parametrize("similarity", ["max_inner_product", "dot_product"])
def test_inner_products_come_back_from_scores(server: Server, vectors: np.ndarray, similarity: str):
    flat, theirs = make_index("flat"), made(server, search="dense", similarity=similarity, index="flat")
    flat.build(vectors)
    theirs.build(vectors)
    queries = np.random.default_rng(2).normal(size=(6, 12)).astype(np.float32)
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    one, other = flat.search(queries, 80), theirs.search(queries, 80)
    assert np.abs(np.sort(one.scores.reshape(6, 80)) - np.sort(other.scores.reshape(6, 80))).max() < 5e-7
    assert (one.scores < -0.3).any()  # the side where 1 / (1 - p) is turned back
    pairs = {
        (query, int(place)): score
        for query in range(6)
        for place, score in zip(
            other.places[query * 80 : query * 80 + 80], other.scores[query * 80 : query * 80 + 80], strict=True
        )
    }
    assert all(pairs[query, place] == pairs[query, place + 60] for query in range(6) for place in range(20))


@pytest.mark.parametrize(
    ("chosen", "options"),
    [
        ({"M": 8, "efConstruction": 50}, {"type": "hnsw", "m": 8, "ef_construction": 50}),
        ({"storage": "int8"}, {"type": "int8_hnsw", "m": 32, "ef_construction": 200}),
        ({"index": "flat"}, {"type": "flat"}),
        ({"index": "flat", "storage": "int8"}, {"type": "int8_flat"}),
    ],
)
def test_vectors_are_indexed_as_the_spec_says(server: Server, vectors: np.ndarray, chosen: dict, options: dict):
    index = (
        made(server, search="dense", num_candidates=40, **chosen)
        if "index" not in chosen
        else made(server, search="dense", **chosen)
    )
    index.build(vectors)
    index.search(vectors[:1], 5)
    about = json.loads(next(body for method, _, _, body in server.asked if method == "PUT"))
    field = about["mappings"]["properties"]["vector"]
    assert field == {
        "type": "dense_vector",
        "dims": 12,
        "index": True,
        "similarity": "max_inner_product",
        "index_options": options,
    }
    asked = json.loads(next(body for _, path, _, body in server.asked if "_msearch" in path).splitlines()[1])
    assert asked["knn"]["num_candidates"] == (40 if "hnsw" in options["type"] else 5)
    assert make_index(index.spec).spec == index.spec
    assert index.describe().exact == ("flat" in options["type"])


def test_ties_are_cut_by_place_or_as_the_engine_does(server: Server):
    texts = ["same words"] * 9
    by_place, by_engine = made(server, shards=3), made(server, shards=3, ties="engine", collection="other")
    for index in (by_place, by_engine):
        index.build(texts)
    assert by_place.search(["words"], 4).places.tolist() == [0, 1, 2, 3]
    assert by_engine.search(["words"], 4).places.tolist() == [0, 1, 3, 6]  # 0, 3, 6 are in the first shard
    assert all("dfs_query_then_fetch" in path for _, path, _, _ in server.asked if "_msearch" in path)


def test_what_is_held_is_sent_once(server: Server, texts: list[str]):
    made(server).build(texts)
    sent = len(server.asked)
    again = made(server)
    again.build(texts)
    assert not [path for _, path, _, _ in server.asked[sent:] if "_bulk" in path]
    assert "held these documents already" in again.describe().notes[0]
    made(server).build(texts[:-1])
    made(server, k1=1.5).build(texts)
    assert len({*server.made()}) == len(server.made()) == 3


def test_what_was_interrupted_is_sent_anew(server: Server, texts: list[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(elastic, "ROWS", 50)
    server.once("_bulk", (500, error("illegal_state", "disk broke"), {}))
    monkeypatch.setattr(elastic, "BUSY", (429,))
    with pytest.raises(InputError, match="500, illegal_state: disk broke"):
        made(server).build(texts)
    (held,) = server.indices.values()
    held.documents["0"], held.seen = {"text": "half", "place": 0}, ["0"]
    index = made(server)
    index.build(texts)
    assert len(server.made()) == 2
    (held,) = server.indices.values()
    assert [held.documents[str(place)]["text"] for place in range(120)] == texts


def test_a_collection_of_somebody_else_is_left_alone(server: Server, texts: list[str]):
    made(server, collection="docs").build(texts[:50])
    with pytest.raises(InputError, match="holds docs already, with 50 documents that are not these 120"):
        made(server, collection="docs").build(texts)
    assert server.made() == ["/docs"]
    assert len(server.indices["docs"].documents) == 50


def test_a_saved_index_is_found_again(server: Server, texts: list[str], tmp_path: Path):
    index = made(server)
    index.build(texts)
    index.save(tmp_path / "elastic")
    again = load_index(tmp_path / "elastic")
    assert again.describe() == index.describe()
    assert again.search(["wing heat"], 7).scores.tolist() == index.search(["wing heat"], 7).scores.tolist()
    server.indices.clear()
    with pytest.raises(InputError, match="no longer holds"):
        load_index(tmp_path / "elastic")


def test_a_busy_server_is_waited_for(server: Server, texts: list[str], monkeypatch: pytest.MonkeyPatch):
    waited: list[float] = []
    monkeypatch.setattr(elastic.time, "sleep", waited.append)
    for ending, seconds in (("_bulk", "3"), ("_refresh", "Thu, 1 Jan 2099 00:00:00 GMT"), ("_msearch", "soon")):
        server.once(ending, (429, BUSY[1], {"Retry-After": seconds}))
    server.refused["7"] = BUSY[0], "queue is full"  # one document of a message, once
    index = made(server)
    index.build(texts)
    assert len(index.search(["wing"], 200).places) == sum("wing" in text for text in texts)
    assert waited == [3.0, 0.0, elastic.LONGEST_WAIT, 0.0]  # the message, one document of it, refresh, search
    assert len(server.indices.popitem()[1].documents) == 120


def test_a_query_that_the_server_was_too_busy_for_is_asked_again(server: Server, texts: list[str]):
    index = made(server)
    index.build(texts)
    server.once("_msearch", (200, {"responses": [{"status": 429, **error("busy", "queue is full")}]}, {}))
    assert len(index.search(["wing"], 200).places) == sum("wing" in text for text in texts)
    server.once("_msearch", (503, error("unavailable", "no master"), {}), times=4)
    with pytest.raises(InputError, match=r"503, unavailable: no master. It was asked 4 times"):
        index.search(["wing"], 5)


def test_refused_documents_are_told(server: Server, texts: list[str]):
    server.refused = {"7": (400, "field is too long"), "9": (400, "field is too long")}
    with pytest.raises(InputError, match=r"refused 2 of 120 documents .* place 7 \(400\): .*field is too long"):
        made(server).build(texts)


def test_a_document_that_was_sent_twice_is_there_once(server: Server, texts: list[str]):
    index = made(server)
    arrived = server.bulk

    def lost(text: str):
        server.bulk = arrived  # type: ignore[method-assign]
        arrived(text)
        return BUSY  # it did all, and its answer was lost

    server.bulk = lost  # type: ignore[method-assign]
    index.build(texts)
    assert len(index.search(["wing"], 200).places) == sum("wing" in text for text in texts)


def test_answers_of_some_shards_are_refused(server: Server, texts: list[str]):
    index = made(server, shards=3)
    index.build(texts)
    server.failing = 1
    with pytest.raises(InputError, match=r"1 of 3 shards failed in the query in place 0: .*node left"):
        index.search(["wing"], 5)
    server.failing = 0
    server.once("_msearch", (200, {"responses": [{"timed_out": True, "hits": {"hits": []}}]}, {}))
    with pytest.raises(InputError, match="ran out of time"):
        index.search(["wing"], 5)
    server.once("_msearch", (200, {"responses": [{"status": 400, **error("query_shard_exception", "too long")}]}, {}))
    with pytest.raises(InputError, match=r"query in place 0 \(400\): query_shard_exception: too long"):
        index.search(["wing"], 5)


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (401, r"401, security_exception: no\. Name the variable that holds an API key"),
        (403, "403, security_exception: no"),
        (404, "404, .* Somebody removed the index"),
        (413, "413, .* too large"),
    ],
)
def test_refusals_are_told_in_one_line(server: Server, texts: list[str], status: int, told: str):
    index = made(server)
    index.build(texts)
    server.once("_msearch", (status, error("security_exception", "no"), {}))
    with pytest.raises(InputError, match=told) as raised:
        index.search(["wing"], 5)
    assert "\n" not in str(raised.value)


def test_other_servers_and_other_versions_are_told(server: Server, monkeypatch: pytest.MonkeyPatch):
    server.product = False
    with pytest.raises(InputError, match="does not say that it is Elasticsearch"):
        made(server).ready()
    server.product, server.version = True, "6.8.0"
    with pytest.raises(InputError, match=r"found \d.* Install the client of the server's major version"):
        made(server).ready()
    server.version = "9.1.0"
    made(server).ready()


def test_a_server_that_does_not_answer_is_told(server: Server):
    with pytest.raises(InputError, match="Is the server running, and is the url right"):
        make_index("elastic(url='http://127.0.0.1:9')").ready()
    server.once("", (200, {}, {}), seconds=0.5)
    with pytest.raises(InputError, match=r"no answer within 0\.1 s"):
        made(server, timeout=0.1).ready()


def test_the_key_comes_from_the_environment(server: Server, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("SOME_KEY", raising=False)
    with pytest.raises(InputError, match="SOME_KEY is not set"):
        made(server, api_key_env="SOME_KEY").ready()
    monkeypatch.setenv("SOME_KEY", "c2VjcmV0")
    index = made(server, api_key_env="SOME_KEY")
    index.ready()
    assert server.asked[-1][2]["authorization"] == "ApiKey c2VjcmV0"
    assert "c2VjcmV0" not in index.spec
    made(server).ready()
    assert "authorization" not in server.asked[-1][2]
    server.once("", (401, {"error": {"type": "security", "reason": "no such key: c2VjcmV0"}}, {}))
    with pytest.raises(InputError, match=r"no such key: \[SOME_KEY\]"):
        made(server, api_key_env="SOME_KEY").ready()


def test_depth_and_dimension_have_limits(server: Server, vectors: np.ndarray):
    index = made(server, search="dense")
    index.build(vectors)
    assert len(index.search(vectors[:1], 20_000).places) == 80
    index.documents = 20_000
    with pytest.raises(PolicyError, match=r"gives 10000 documents of each query at most\. Got depth 10001"):
        index.search(vectors[:1], 10_001)
    with pytest.raises(InputError, match=r"\[text, 12\]"):
        index.search(vectors[:, :5], 3)
    with pytest.raises(InputError, match="4096 dimensions at most"):
        made(server, search="dense").build(np.ones((2, 4097), dtype=np.float32))


def test_the_extra_is_named_where_the_client_is_not_installed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "elasticsearch", None)
    with pytest.raises(MissingExtraError, match='Indexes of Elasticsearch need the extra "elastic"'):
        make_index("elastic")


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("elastic(url='localhost:9200')", "must begin with http"),
        ("elastic(url='http://me:word@host:9200')", "holds a password"),
        ("elastic(url='http://[::1')", "url of elastic is not an address"),
        ("elastic(M=8)", "has no effect with search='bm25'"),
        ("elastic(search='dense', analyzer='french')", "has no effect with search='dense'"),
        ("elastic(search='dense', index='flat', num_candidates=9)", "has no effect with index='flat'"),
        ("elastic(num_candidate=9)", "Did you mean num_candidates"),
    ],
)
def test_parameters_that_do_not_go_together_are_refused(spec: str, told: str):
    with pytest.raises(PolicyError, match=told):
        make_index(spec)


def test_a_url_without_a_port_is_told():
    with pytest.raises(InputError, match=r"'port' component .*is the url right"):
        make_index("elastic(url='http://localhost')").ready()
