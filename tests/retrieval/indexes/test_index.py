"""Indexes: the role, its specs and what a folder holds of them; all of it against brute force."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.extras import need

from trueval.errors import InputError, PolicyError
from trueval.retrieval.indexes.hits import best
from trueval.retrieval.indexes.index import Index, load_index, make_index

need("faiss", extra="retrieval")

DENSE = [
    "flat",
    "flat(storage='float16')",
    "flat(storage='bfloat16')",
    "flat(storage='int8')",
    "flat(storage='int4')",
    "flat(storage='binary')",
    "hnsw(M=8, efConstruction=40, efSearch=32)",
    "hnsw(storage='int8', M=8, efConstruction=40)",
    "ivf(nlist=8, nprobe=4)",
    "ivf(storage='int8', nlist=8, nprobe=8)",
    "pq(m=4, nbits=4)",
    "opq(m=4, nbits=4)",
]
# Lowest share of the ten best of exact search that an index finds among its own ten, by the start of its spec.
RECALL = {
    "flat(storage='bin": 0.1,
    "flat(storage='int4": 0.7,
    "flat": 0.95,
    "hnsw": 0.9,
    "ivf": 0.9,
    "pq": 0.15,
    "opq": 0.15,
}


def made_vectors(rows: int, dimension: int = 20, seed: int = 0) -> np.ndarray:
    """Unit vectors around eight centers."""
    rng = np.random.default_rng(seed)
    centers = np.random.default_rng(99).normal(size=(8, dimension))
    vectors = centers[rng.integers(0, 8, rows)] + 0.5 * rng.normal(size=(rows, dimension))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def documents() -> np.ndarray:
    """Vectors of 700 documents, of which ten are written twice."""
    vectors = made_vectors(700)
    return np.concatenate((vectors, vectors[:10]))


@pytest.mark.parametrize("spec", DENSE)
def test_finds_saves_and_loads(spec: str, documents: np.ndarray, tmp_path: Path):
    index, queries = make_index(spec), made_vectors(30, seed=1)
    assert isinstance(index, Index)
    index.build(documents)
    hits = index.search(queries, 10)
    assert np.diff(hits.offsets).tolist() == [10] * 30
    exact = np.argsort(-(queries @ documents.T), axis=1, kind="stable")[:, :10]
    shared = [len(set(row) & set(found)) for row, found in zip(exact, hits.places.reshape(30, 10), strict=True)]
    assert np.mean(shared) / 10 >= next(least for start, least in RECALL.items() if spec.startswith(start))
    about = index.describe()
    assert (about.documents, about.dimension, about.exact) == (710, 20, spec.startswith("flat"))
    index.save(tmp_path / "index")
    stored = sum(path.stat().st_size for path in (tmp_path / "index").iterdir() if path.suffix == ".faiss")
    assert about.bytes == pytest.approx(stored, rel=0.01, abs=100)
    again = load_index(tmp_path / "index")
    assert again.describe() == about
    assert all(np.array_equal(one, other) for one, other in zip(hits, again.search(queries, 10), strict=True))
    assert make_index(index.spec).spec == index.spec


@pytest.mark.parametrize("spec", [spec for spec in DENSE if spec != "opq(m=4, nbits=4)"])
def test_a_second_build_is_the_same(spec: str, documents: np.ndarray):
    queries, found = made_vectors(20, seed=2), []
    for _ in range(2):
        index = make_index(spec)
        index.build(documents)
        found.append(index.search(queries, 5))
    assert all(np.array_equal(one, other) for one, other in zip(*found, strict=True))


def test_flat_equals_brute_force(documents: np.ndarray):
    index, queries = make_index("flat"), made_vectors(40, seed=3)
    index.build(documents)
    hits = index.search(queries, 50)
    scores = queries.astype(np.float64) @ documents.astype(np.float64).T
    for query in range(40):
        places = hits.places[query * 50 : query * 50 + 50]
        assert np.abs(hits.scores[query * 50 : query * 50 + 50] - scores[query, places]).max() < 1e-6
        last = np.sort(scores[query])[-50]
        surely = set(np.flatnonzero(scores[query] > last + 1e-6))
        assert surely <= set(places.tolist()) <= set(np.flatnonzero(scores[query] > last - 1e-6))


def test_equal_documents_tie_and_stand_by_place(documents: np.ndarray):
    for spec in ("flat", "flat(storage='int8')", "flat(storage='binary')"):
        index = make_index(spec)
        index.build(documents)
        hits = index.search(documents[:10], 2)
        # The copies of documents 0 to 9 are 700 to 709; in signs others may tie with them, too.
        assert (hits.scores[::2] == hits.scores[1::2]).all()
        assert (hits.places[::2] < hits.places[1::2]).all()


@pytest.mark.filterwarnings("ignore:.*all zeros")  # all documents tie
@pytest.mark.parametrize("spec", ["flat", "flat(storage='bfloat16')", "flat(storage='binary')", "ivf(nlist=1)"])
@pytest.mark.parametrize("asked", [3, 25])  # FAISS multiplies up to 20 queries in another way
def test_of_equal_scores_that_the_depth_cuts_the_first_places_stay(spec: str, asked: int):
    rng = np.random.default_rng(5)
    documents, queries = (rng.integers(-1, 2, (rows, 4)).astype(np.float32) for rows in (300, asked))
    documents[250:] = 0
    queries[0] = 0  # all documents tie
    index = make_index(spec)
    index.build(documents)
    one, other = (np.where(each > 0, 1, -1) if "binary" in spec else each for each in (queries, documents))
    exact = one @ other.T
    for depth in (1, 20, 130, 299, 300, 999):
        hits = index.search(queries, depth)
        expected = np.argsort(-exact, axis=1, kind="stable")[:, :depth]
        assert hits.places.reshape(asked, -1).tolist() == expected.tolist()
        assert hits.scores.reshape(asked, -1).tolist() == np.take_along_axis(exact, expected, axis=1).tolist()


def test_a_saved_index_of_words_as_they_are_stays_one(tmp_path: Path):
    index = make_index("bm25(language=None)")
    assert index.spec == "bm25(k1=0.9, b=0.4, language=None, normalise=True)"
    index.build(["the running shoes", "run"])
    index.save(tmp_path / "index")
    again = load_index(tmp_path / "index")
    assert again.spec == index.spec
    assert again.search(["the running"], 5).scores.tolist() == index.search(["the running"], 5).scores.tolist() != []
    make_index("bm25(language=None, b=.4, k1=0.90)").load(tmp_path / "index")
    assert make_index("bm25(k1=1, b=0)").spec == make_index("bm25(k1=1.0, b=0.0)").spec
    with pytest.raises(InputError, match=r"language=None.*Load it by its own spec"):
        make_index("bm25").load(tmp_path / "index")


def test_an_index_that_another_process_saved_meanwhile_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    index, place = make_index("flat"), tmp_path / "index"
    index.build(np.eye(3, dtype=np.float32))
    index.save(place)
    monkeypatch.setattr(Path, "exists", lambda path: False)  # as it was before the other one was faster
    with pytest.raises(InputError, match="index: is there already"):
        index.save(place)
    assert [path.name for path in tmp_path.iterdir()] == ["index"]
    assert load_index(place).documents == 3


def test_binary_scores_are_products_of_signs(documents: np.ndarray):
    index, queries = make_index("flat(storage='binary')"), made_vectors(5, seed=4)
    index.build(documents)
    hits = index.search(queries, 3)
    signs = np.where(queries > 0, 1, -1) @ np.where(documents > 0, 1, -1).T
    assert hits.scores.tolist() == [float(signs[row // 3, place]) for row, place in enumerate(hits.places)]
    assert hits.scores.reshape(5, 3)[:, 0].tolist() == signs.max(axis=1).tolist()


def test_runs_hold_ids_and_leave_out_queries_without_hits():
    index = make_index("bm25(language=None)")
    index.build(["red apple", "green pear", "red pear pear"])
    hits = index.search(["pear", "plum", "red"], 5)
    run = hits.to_run(["q1", "q2", "q3"], pl.Series(["a", "b", "c"]), "bm25")
    assert run.query_ids.to_list() == ["q1", "q3"]
    assert run.frame.select("query_id", "doc_id").rows() == [("q1", "c"), ("q1", "b"), ("q3", "a"), ("q3", "c")]


def test_best_takes_the_first_of_a_group_that_the_depth_cuts():
    rng = np.random.default_rng(8)
    for _ in range(200):
        scores = rng.integers(0, 4, rng.integers(1, 30)).astype(float)
        depth = int(rng.integers(1, 12))
        assert best(scores, depth).tolist() == sorted(range(len(scores)), key=lambda i: (-scores[i], i))[:depth]
        kept = [place for place in best(scores, len(scores)).tolist() if scores[place] > 1][:depth]
        assert best(scores, depth, above=1.0).tolist() == kept


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("hsnw", "Did you mean hnsw"),
        ("hnsw(m=3)", "Did you mean M"),
        ("hnsw(M=1)", "integer >= 2"),
        ("hnsw(M=2.5)", "integer >= 2"),
        ("flat(storage='int2')", "'float32' or"),
        ("bm25(b=2)", "from 0 to 1"),
        ("bm25(normalise=1)", "True or False"),
        ("flat(float16)", "name=value"),
        ("flat(storage='int8'", "Unbalanced|looks like"),
    ],
)
def test_bad_specs_are_refused(spec: str, told: str):
    with pytest.raises(PolicyError, match=told):
        make_index(spec)


def test_bad_vectors_are_refused(documents: np.ndarray):
    index = make_index("flat")
    with pytest.raises(InputError, match="no document"):
        index.build(documents[:0])
    with pytest.raises(InputError, match=r"\[text, dimension\]"):
        index.build(documents[0])
    broken = documents.copy()
    broken[7, 3] = np.nan
    with pytest.raises(InputError, match="place 7"):
        index.build(broken)
    index.build(documents)
    with pytest.raises(InputError, match=r"\[text, 20\]"):
        index.search(documents[:, :10], 5)
    with pytest.raises(PolicyError, match="depth"):
        index.search(documents[:2], 0)
    assert np.diff(index.search(documents[:2], 10_000).offsets).tolist() == [710, 710]
    with pytest.raises(InputError, match="m of pq must divide"):
        make_index("pq(m=7)").build(documents)
    with pytest.raises(InputError, match="needs 1024 documents"):
        make_index("pq(m=4, nbits=10)").build(documents)
    few = make_index("ivf(nlist=100)")
    few.build(documents)
    assert "FAISS advises 3900" in few.describe().notes[0]


def test_damaged_folders_are_refused(documents: np.ndarray, tmp_path: Path):
    index = make_index("flat")
    index.build(documents)
    folder = tmp_path / "flat"
    index.save(folder)
    with pytest.raises(InputError, match="there already"):
        index.save(folder)
    assert [path.name for path in tmp_path.iterdir()] == ["flat"]
    with pytest.raises(InputError, match="an index flat"):
        make_index("flat(storage='int8')").load(folder)
    data = (folder / "vectors.faiss").read_bytes()
    (folder / "vectors.faiss").write_bytes(data[: len(data) // 2])
    with pytest.raises(InputError, match="damaged index"):
        load_index(folder)
    about = json.loads((folder / "index.json").read_text())
    for bad in ("{", "[]", json.dumps({**about, "format": 99}), json.dumps({**about, "spec": 3})):
        (folder / "index.json").write_text(bad)
        with pytest.raises(InputError, match=r"index\.json"):
            load_index(folder)
    with pytest.raises(InputError, match="cannot be read"):
        load_index(tmp_path / "none")


def test_another_search_shares_what_is_built():
    vectors, queries = made_vectors(300), made_vectors(20, seed=1)
    index = make_index("hnsw(M=2, efConstruction=4, efSearch=1)")
    index.build(vectors)
    other = index.with_search(efSearch=300)
    assert other.search(queries, 3).places.tolist() != index.search(queries, 3).places.tolist()
    alone = make_index("hnsw(M=2, efConstruction=4, efSearch=300)")
    alone.build(vectors)
    assert other.search(queries, 3).places.tolist() == alone.search(queries, 3).places.tolist()
    assert other.spec == alone.spec
    assert "efSearch=1)" in index.spec
    for values, said in [
        ({"M": 4}, "has no parameter 'M'. It has: efSearch"),
        ({"efSearch": 0}, "integer >= 1. Got 0"),
    ]:
        with pytest.raises(PolicyError, match=said):
            index.with_search(**values)
