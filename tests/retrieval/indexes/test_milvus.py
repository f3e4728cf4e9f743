"""The adapter of Milvus on Milvus Lite, which runs here in this process."""

import sys
from pathlib import Path

import numpy as np
import pytest
from tests.extras import need
from tests.retrieval.indexes.test_index import made_vectors

from trueval.errors import InputError, MissingExtraError, PolicyError
from trueval.retrieval.indexes import milvus
from trueval.retrieval.indexes.hits import Hits
from trueval.retrieval.indexes.index import TextsAndVectors, load_index, make_index

need("pymilvus", "milvus_lite", extra="milvus")
need("faiss", extra="retrieval")

WORDS = ["wing", "flow", "heat", "shock", "layer", "plate"]


@pytest.fixture(scope="module")
def documents() -> np.ndarray:
    """Vectors of 300 documents, of which ten are written twice."""
    vectors = made_vectors(300)
    return np.concatenate((vectors, vectors[:10]))


@pytest.fixture(scope="module")
def texts() -> list[str]:
    """310 texts of few words, so that many tie; the third is empty."""
    rng = np.random.default_rng(0)
    found = [" ".join(rng.choice(WORDS, rng.integers(1, 12))) for _ in range(310)]
    found[2] = ""
    return found


def rows(hits: Hits, query: int) -> dict[int, float]:
    kept = slice(*hits.offsets[query : query + 2])
    return dict(zip(hits.places[kept].tolist(), hits.scores[kept].tolist(), strict=True))


def test_the_graph_of_milvus_is_that_of_faiss(documents: np.ndarray, tmp_path: Path):
    theirs, ours, flat = (make_index(spec) for spec in ("milvus(M=8)", "hnsw(M=8)", "flat"))
    for index in (theirs, ours, flat):
        index.build(documents)
    queries = made_vectors(40, seed=1)
    found, graph, exact = (index.search(queries, 10) for index in (theirs, ours, flat))
    shared = [len(rows(found, query).keys() & rows(exact, query).keys()) for query in range(40)]
    assert np.mean(shared) / 10 >= 0.95
    same = [len(rows(found, query).keys() & rows(graph, query).keys()) for query in range(40)]
    assert np.mean(same) / 10 >= 0.95
    for query in range(40):
        near = flat.search(queries[query : query + 1], 310)
        assert all(
            score == pytest.approx(rows(near, 0)[place], abs=1e-6) for place, score in rows(found, query).items()
        )
    about = theirs.describe()
    assert about.exact is False
    assert "HNSW, IP, 310 of 310 documents indexed, in 1 segment" in about.notes[0]
    assert len(about.notes) == 1  # Milvus says that it took M
    theirs.save(tmp_path / "milvus")
    again = load_index(tmp_path / "milvus")
    assert again.describe() == about
    for one, other, third in zip(found, theirs.search(queries, 10), again.search(queries, 10), strict=True):
        assert np.array_equal(one, other)
        assert np.array_equal(one, third)


def test_one_by_one_is_exact_and_ties_stand_by_place(documents: np.ndarray):
    theirs, flat = make_index("milvus(index='flat')"), make_index("flat")
    theirs.build(documents)
    flat.build(documents)
    found, exact = theirs.search(documents[:10], 310), flat.search(documents[:10], 310)
    for query in range(10):
        assert rows(found, query) == pytest.approx(rows(exact, query), abs=1e-6)
        places = found.places[310 * query : 310 * query + 2].tolist()
        assert places == [query, 300 + query]
    assert theirs.describe().exact
    shuffled = [{"place": place, "distance": score} for place, score in ((5, 0.5), (1, 0.7), (2, 0.5))]
    assert theirs._parse_hits(shuffled)[0].tolist() == [1, 2, 5]


def test_words_are_scored_as_our_own_bm25_does(texts: list[str]):
    theirs, ours = (
        make_index("milvus(search='bm25', k1=1.2, b=0.75)"),
        make_index("bm25(k1=1.2, b=0.75, language=None)"),
    )
    theirs.build(texts)
    ours.build(texts)
    queries = ["wing", "heat heat flow", "plate unknown", "unknown", ""]
    found, wanted = theirs.search(queries, 310), ours.search(queries, 310)
    assert found.offsets.tolist() == wanted.offsets.tolist()
    for query in range(5):
        assert rows(found, query) == pytest.approx(rows(wanted, query), rel=1e-5)
    assert (np.diff(found.scores[: found.offsets[1]]) <= 0).all()


def test_words_that_are_counted_by_segments_are_told(texts: list[str], monkeypatch: pytest.MonkeyPatch):
    index = make_index("milvus(search='bm25')")
    insert = index.client.insert

    def insert_and_flush(name: str, rows: list, timeout: float) -> None:
        insert(name, rows, timeout=timeout)
        index.client.flush(name)

    monkeypatch.setattr(milvus, "ROWS", 30)
    monkeypatch.setattr(index.client, "insert", insert_and_flush)
    some = ["heat wing", *["wing"] * 29, "heat wing", *["plate"] * 29]
    index.build(some)
    assert "Milvus Lite counts words in each of 2 segments" in index.describe().notes[-1]
    found = rows(index.search(["wing"], 60), 0)
    assert found[0] != found[30]  # of the same words


@pytest.mark.slow
def test_hybrid_is_rrf_of_both(documents: np.ndarray):
    rng = np.random.default_rng(1)
    texts = [" ".join(rng.choice([f"w{number}" for number in range(30)], rng.integers(5, 30))) for _ in range(200)]
    both, dense, words = (
        make_index(f"milvus({how})") for how in ("search='hybrid', index='flat', k=10", "index='flat'", "search='bm25'")
    )
    both.build(TextsAndVectors(texts, documents[:200]))
    dense.build(documents[:200])
    words.build(texts)
    asked = ["w1 w2 w3", "w4 w5 w6"]
    hits = both.search(TextsAndVectors(asked, documents[20:22]), 200)
    lists = [dense.search(documents[20:22], 200), words.search(asked, 200)]
    for query in range(2):
        wanted: dict[int, float] = {}
        for scores in (rows(each, query) for each in lists):
            for place, score in scores.items():
                rank = 1 + sum(other > score for other in scores.values())
                alone = sum(other == score for other in scores.values()) == 1
                wanted[place] = wanted.get(place, 0.0) + (1 / (10 + rank) if alone else np.nan)  # Milvus orders ties
        fused = rows(hits, query)
        known = [place for place in wanted if not np.isnan(wanted[place])]
        assert len(known) > 50
        assert {place: fused[place] for place in known} == pytest.approx({place: wanted[place] for place in known})


def test_a_file_is_filled_once_and_somebody_elses_left_alone(
    documents: np.ndarray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    spec = f"milvus(uri='{tmp_path / 'one.db'}', collection='docs', index='flat')"
    first = make_index(spec)
    with monkeypatch.context() as broken:
        broken.setattr(milvus, "ROWS", 100)
        insert, done = first.client.insert, []

        def some(name: str, data: list, timeout: float) -> None:
            done.append(len(data))
            if len(done) == 3:
                raise KeyboardInterrupt
            insert(name, data, timeout=timeout)

        broken.setattr(first.client, "insert", some)
        with pytest.raises(KeyboardInterrupt):
            first.build(documents)
    second, third = make_index(spec), make_index(spec)
    second.build(documents)
    assert np.diff(second.search(documents[:3], 310).offsets).tolist() == [310] * 3
    third.build(documents)
    assert "held these documents already, as docs" in third.describe().notes[0]
    with pytest.raises(InputError, match="holds docs already, with 310 documents that are not these 300"):
        make_index(spec).build(documents[:300])
    with pytest.raises(InputError, match="that are not these 310"):
        make_index(spec).build(documents[::-1].copy())
    with pytest.raises(InputError, match="or in another index"):
        make_index(spec.replace("index='flat'", "M=4")).build(documents)
    second.save(tmp_path / "saved")
    second.client.drop_collection("docs")
    with pytest.raises(InputError, match="no longer holds what was built here, docs with 310 documents"):
        load_index(tmp_path / "saved")
    second.close()


def test_a_server_is_spoken_to_as_a_file_is(documents: np.ndarray, tmp_path: Path):
    start = pytest.importorskip("milvus_lite.adapter.grpc.server").start_server_in_thread
    server, database, port = start(data_dir=str(tmp_path / "server.db"), host="127.0.0.1", port=0)
    try:
        index, flat = make_index(f"milvus(uri='http://127.0.0.1:{port}', index='flat')").ready(), make_index("flat")
        index.build(documents)
        flat.build(documents)
        found, exact = index.search(documents[:3], 20), flat.search(documents[:3], 20)
        assert found.scores == pytest.approx(exact.scores, abs=1e-6)
        index.save(tmp_path / "saved")
        again = load_index(tmp_path / "saved")
        assert again.search(documents[:3], 20).places.tolist() == found.places.tolist()
        index.close()
        again.close()
    finally:
        server.stop(grace=0)
        database.close()


def test_errors_are_one_line_with_the_cure(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    (tmp_path / "plain.db").write_text("no folder")
    cases = {
        "uri='http://127.0.0.1:9', timeout=2": "127.0.0.1:9: .*Is the server running",
        f"uri='{tmp_path / 'plain.db'}'": "plain.db: Open local milvus failed.* Another process may hold it",
        f"uri='{tmp_path / 'none' / 'x.db'}'": "not exists",
    }
    for named, told in cases.items():
        with pytest.raises(InputError, match=told) as raised:
            make_index(f"milvus({named})").ready()
        assert "\n" not in str(raised.value)
    with pytest.raises(InputError, match="knows analyzer='standard' alone"):
        make_index("milvus(search='bm25', analyzer='english')").build(["a text"])
    with pytest.raises(InputError, match="in place 1 has 70000 bytes"):
        make_index("milvus(search='bm25')").build(["a text", "x" * 70_000])
    with pytest.raises(InputError, match="32768 dimensions at most"):
        make_index("milvus").build(np.ones((2, 32_769), dtype=np.float32))
    assert not caplog.records  # of pymilvus and Milvus Lite, which log each of them with its traceback


def test_a_file_that_another_process_holds_is_told(tmp_path: Path):
    fcntl = pytest.importorskip("fcntl", reason="files are held by another call on Windows")
    (tmp_path / "held.db").mkdir()
    with (tmp_path / "held.db" / "LOCK").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="Another process may hold it"):
            make_index(f"milvus(uri='{tmp_path / 'held.db'}')").ready()


def test_depth_and_dimension_have_limits(documents: np.ndarray):
    index = make_index("milvus(index='flat')")
    index.build(documents)
    assert len(index.search(documents[:1], 20_000).places) == 310
    with pytest.raises(InputError, match=r"\[text, 20\]"):
        index.search(documents[:, :5], 3)
    index.documents = 20_000
    with pytest.raises(PolicyError, match="16384 documents of each query at most"):
        index.search(documents[:1], 16_385)


def test_the_key_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch):
    asked: list[dict] = []
    index = make_index("milvus(uri='http://127.0.0.1:9', api_key_env='SOME_KEY')")
    monkeypatch.delenv("SOME_KEY", raising=False)
    with pytest.raises(InputError, match="SOME_KEY is not set"):
        index.ready()
    monkeypatch.setenv("SOME_KEY", "root:secret")
    monkeypatch.setattr(index.library, "MilvusClient", lambda uri, **options: asked.append(options) or index)
    assert index.client is index
    assert asked == [{"token": "root:secret", "timeout": 30.0, "grpc_options": {"grpc.enable_http_proxy": 0}}]
    assert "secret" not in index.spec


def test_the_extra_is_named_where_milvus_lite_is_not_installed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(milvus, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match='Indexes of Milvus need the extra "milvus"'):
        make_index("milvus").build(np.ones((2, 3), dtype=np.float32))
    monkeypatch.setitem(sys.modules, "pymilvus", None)
    with pytest.raises(MissingExtraError, match='Indexes of Milvus need the extra "milvus"'):
        make_index("milvus")


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("milvus(uri='corpus')", r"ends with \.db"),
        (
            "milvus(search='bm25', M=8)",
            "has no effect with search='bm25'. It goes with search='dense' or search='hybrid'",
        ),
        ("milvus(index='flat', efSearch=8)", "has no effect with index='flat'"),
        ("milvus(k=10)", "It goes with search='hybrid'"),
        ("milvus(uri='http://me:word@host:19530')", "holds a password"),
        ("milvus(analyser='standard')", "Did you mean analyzer"),
    ],
)
def test_parameters_that_do_not_go_together_are_refused(spec: str, told: str):
    with pytest.raises(PolicyError, match=told):
        make_index(spec)
