"""Engines in pipelines, and what their adapters share."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from tests.extras import need
from tests.retrieval import models
from tests.retrieval.indexes.elastic_server import Server, elastic_server
from tests.retrieval.pipeline.test_pipeline import Model

from trueval import Judgments
from trueval.collection import Collection
from trueval.errors import InputError, PolicyError, TruevalWarning
from trueval.retrieval.indexes.engines import EngineIndex, EngineInput, batches
from trueval.retrieval.indexes.index import make_index, read_spec
from trueval.retrieval.pipeline.config import settings_of_tables
from trueval.retrieval.pipeline.pipeline import Pipeline
from trueval.retrieval.pipeline.pipeline_result import PipelineResult

need("elasticsearch", extra="elastic")
need("pymilvus", "milvus_lite", extra="milvus")
need("safetensors", extra="models")

WORDS = ["wing", "lift", "drag", "heat", "flow", "shock", "plate", "layer"]


@pytest.fixture
def server() -> Iterator[Server]:
    with elastic_server() as running:
        yield running


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """What the embedder did."""
    done: list[tuple[str, int]] = []
    models.use(monkeypatch, lambda name: Model("product", done))
    return done


@pytest.fixture(scope="module")
def collection() -> Collection:
    rng = np.random.default_rng(3)
    documents = {f"d{number}": " ".join(rng.choice(WORDS, rng.integers(2, 12))) for number in range(60)}
    queries = {"q0": "wing lift", "q1": "heat", "q2": "shock plate layer"}
    return Collection("made", "made", documents, queries, Judgments.from_dict({"q0": {"d0": 1}}))


def retrieved(collection: Collection, cache: Path | None = None, **tables: dict) -> PipelineResult:
    if "index" in tables:
        tables["embed"] = {"model": "embedder"}
    return Pipeline(settings_of_tables(tables, "test")).retrieve(collection, cache=cache)


def scores(found: PipelineResult) -> dict[tuple[str, str], float]:
    return {(query, doc): score for query, doc, score in found.run.frame.select("query_id", "doc_id", "score").rows()}


@pytest.mark.slow
def test_a_pipeline_searches_by_engines_as_by_indexes_of_this_process(
    server: Server, collection: Collection, log: list[tuple[str, int]], tmp_path: Path
):
    ours = retrieved(collection, index={"spec": "flat", "depth": 60})
    words = retrieved(collection, sparse={"index": "bm25(language=None)", "depth": 60})
    specs = [f"elastic(url='{server.url}', search='dense', index='flat')", "milvus(index='flat')"]
    for spec in specs:
        found = retrieved(collection, cache=tmp_path / spec[:3], index={"spec": spec, "depth": 60})
        assert scores(found) == pytest.approx(scores(ours), abs=1e-6)
        assert any("60" in note for note in found.stages[0].notes)
    for spec in (f"elastic(url='{server.url}', analyzer='standard')", "milvus(search='bm25')"):
        found = retrieved(collection, cache=tmp_path / spec[:3], sparse={"index": spec, "depth": 60})
        assert scores(found) == pytest.approx(scores(words), rel=1e-5)
    kept = next((tmp_path / "mil" / "indexes").iterdir())
    assert (kept / "milvus.db").is_dir()
    again = retrieved(collection, cache=tmp_path / "mil", index={"spec": specs[1], "depth": 7})  # the same index
    assert sum(path.is_dir() for path in (tmp_path / "mil" / "indexes").glob("milvus-*")) == 2
    assert set(scores(again)) <= set(scores(ours))


def test_hybrid_search_is_one_stage(collection: Collection, log: list[tuple[str, int]], tmp_path: Path):
    spec = "milvus(search='hybrid', index='flat')"
    found = retrieved(collection, cache=tmp_path, index={"spec": spec, "depth": 60})
    assert [stage.name for stage in found.stages] == ["dense"]
    assert max(scores(found).values()) <= 2 / 61 + 1e-6
    assert scores(retrieved(collection, cache=tmp_path, index={"spec": spec, "depth": 60})) == scores(found)


def test_results_name_a_file_without_its_folders(collection: Collection, log: list[tuple[str, int]], tmp_path: Path):
    spec = f"milvus(uri='{tmp_path / 'corpus.db'}', index='flat')"
    found = json.dumps(retrieved(collection, index={"spec": spec}).to_dict())
    assert str(tmp_path) not in found
    assert found.count("milvus(uri='corpus.db'") == 2


def test_what_cannot_be_done_is_told_before_the_work(
    server: Server, collection: Collection, log: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
):
    url = f"url='{server.url}'"
    cases = [
        ({"index": {"spec": f"elastic({url})"}}, r"Got elastic.*belongs in \[sparse\]"),
        ({"sparse": {"index": "milvus"}}, r"Got milvus, which belongs in \[index\]"),
        ({"sparse": {"index": "milvus(search='hybrid')"}}, r"belongs in \[index\]"),
        ({"index": {"spec": "milvus(search='hybrid')", "scoring": "float32"}}, "leave them out"),
        ({"index": {"spec": "elastic(url='http://127.0.0.1:9', search='dense')"}}, "Is the server running"),
        ({"index": {"spec": "milvus(uri='http://127.0.0.1:9', timeout=2)"}}, "Is the server running"),
    ]
    for tables, told in cases:
        with pytest.raises(InputError, match=told):
            retrieved(collection, **tables)
    kind, _ = read_spec("milvus")
    monkeypatch.setattr(kind, "deepest", 50)
    with pytest.raises(PolicyError, match="milvus gives 50 documents of each query at most"):
        retrieved(collection, index={"spec": "milvus", "depth": 60})
    assert not log


@pytest.mark.parametrize("spec", ["elastic(url='http://search.example:9200'", "milvus(uri='https://search.example'"])
def test_what_leaves_the_machine_is_said_once(spec: str, monkeypatch: pytest.MonkeyPatch):
    index = make_index(f"{spec}, api_key_env='SOME_KEY')")
    sent: list[int] = []
    monkeypatch.setattr(index, "find_existing", lambda: EngineIndex(index.mark, sent[-1]) if sent else None)
    monkeypatch.setattr(index, "send", lambda given: sent.append(len(given)))
    monkeypatch.setattr(index, "settle", lambda documents: None)
    documents = ["a", "b"] if index.takes == "texts" else np.ones((2, 3), dtype=np.float32)
    with pytest.warns(TruevalWarning, match=r"^2 documents leave this machine for search\.example \(.*in SOME_KEY"):
        index.build(documents)
    index.announce(2, "documents")  # said already: a warning would be an error here
    for here in ("milvus", "elastic"):
        make_index(here).announce(2, "documents")


def test_halves_of_surrogates_are_written_out(server: Server):
    index = make_index(f"elastic(url='{server.url}')")
    index.build(["a wing", "b\udc9b wing"])
    assert index.search(["wing"], 5).places.tolist() == [0, 1]


def test_messages_hold_what_a_server_takes():
    rng = np.random.default_rng(5)
    for _ in range(200):
        sizes = rng.integers(0, 30, rng.integers(0, 40)).tolist()
        rows, most = int(rng.integers(1, 9)), int(rng.integers(5, 60))
        parts = list(batches(sizes, rows, most))
        assert [place for part in parts for place in part] == list(range(len(sizes)))
        assert all(0 < len(part) <= rows for part in parts)
        assert all(len(part) == 1 or sum(sizes[place] for place in part) <= most for part in parts)
        # No message is left smaller than it need be.
        for part, after in pairwise(parts):
            assert len(part) == rows or sum(sizes[place] for place in part) + sizes[after[0]] > most


def test_sizes_are_bytes():
    given = EngineInput(["été", "b"], np.zeros((2, 3), dtype=np.float32))
    assert given.sizes.tolist() == [5 + 12, 1 + 12]
    assert len(given) == 2
    assert len(EngineInput(None, np.zeros((4, 3), dtype=np.float32))) == 4


@pytest.mark.parametrize(
    ("spec", "address"),
    [
        ("elastic(url='http://192.0.2.1:9200', api_key_env='SEARCH_KEY')", "url"),
        ("elastic(url='http://search.invalid:9200', api_key_env='SEARCH_KEY')", "url"),
        ("milvus(uri='http://192.0.2.1:19530', api_key_env='SEARCH_KEY')", "uri"),
        ("milvus(uri='tcp://milvus.invalid:19530', api_key_env='SEARCH_KEY')", "uri"),
    ],
)
def test_a_key_goes_over_plain_http_to_this_machine_alone(
    spec: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pymilvus

    monkeypatch.setenv("SEARCH_KEY", "a-secret-of-search")
    connected: list[object] = []
    monkeypatch.setattr(socket, "getaddrinfo", lambda *given, **_: connected.append(given))
    monkeypatch.setattr(pymilvus, "MilvusClient", lambda *given, **_: connected.append(given))
    with pytest.raises(InputError, match=f"over plain http.*{address} must begin with https://") as raised:
        make_index(spec).ready()
    assert "a-secret" not in str(raised.value)
    assert not connected


def test_what_goes_to_an_engine_of_this_machine_passes_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as proxy, socket.create_server(("127.0.0.1", 0)) as engine:

        def listen() -> None:
            with suppress(OSError):
                while True:
                    asked, _ = proxy.accept()
                    seen.append(asked.recv(1000))
                    asked.close()

        threading.Thread(target=listen, daemon=True).start()
        for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "grpc_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.getsockname()[1]}")
        monkeypatch.setenv("SEARCH_KEY", "a-secret-of-search")
        place = f"http://127.0.0.1:{engine.getsockname()[1]}"
        for spec in (f"milvus(uri={place!r}, timeout=1", f"elastic(url={place!r}, timeout=1"):
            with pytest.raises(InputError):
                make_index(f"{spec}, api_key_env='SEARCH_KEY')").ready()
        proxy.shutdown(socket.SHUT_RDWR)
    assert not seen
