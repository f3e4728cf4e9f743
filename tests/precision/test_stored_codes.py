"""Codes of stored vectors: their ties are those of equal codes, and recall over orders is that of all orders."""

from __future__ import annotations

from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.extras import need

from trueval.collection import Collection
from trueval.errors import InputError, PolicyError
from trueval.judgments import Judgments
from trueval.precision.codes_result import CodesReport, CodesRow
from trueval.precision.stored_codes import measure_codes, precision_codes, recall_range
from trueval.retrieval.indexes.index import make_index

need("faiss", extra="retrieval")

CODED = ["flat(storage='int8')", "flat(storage='int4')", "pq(m=4, nbits=4)", "opq(m=4, nbits=4)"]
STORED = ["flat", "flat(storage='float16')", "flat(storage='bfloat16')", *CODED, "flat(storage='binary')"]


def unit(rng: np.random.Generator, rows: int, dimension: int = 16) -> np.ndarray:
    vectors = rng.normal(size=(rows, dimension)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def collection(rng: np.random.Generator, documents: int = 300, queries: int = 12):
    """Vectors, ids, and judgments of three documents a query; some documents are written twice."""
    vectors = unit(rng, documents)
    vectors[-20:] = vectors[:20]
    asked = unit(rng, queries)
    doc_ids, query_ids = [f"d{at}" for at in range(documents)], [f"q{at}" for at in range(queries)]
    best = np.argsort(-(asked @ vectors.T), axis=1)[:, ::4][:, :3]
    grades = {query: {doc_ids[d]: 1 for d in row.tolist()} for query, row in zip(query_ids, best, strict=True)}
    return asked, vectors, query_ids, doc_ids, Judgments.from_dict(grades)


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 6), st.integers(1, 6))
@examples(100)
def test_recall_is_that_of_all_orders_of_equal_scores(seed: int, documents: int, last: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    scores, hits = rng.integers(0, 3, documents).astype(float), rng.random(documents) < 0.5
    found = []
    for order in permutations(range(documents)):
        chosen = sorted(order, key=lambda at: -scores[at])[:last]  # sorted is stable: ties stay in this order
        found.append(min(int(hits[chosen].sum()), k) / k)
    told = recall_range(scores, hits, last, k)
    assert told.expected == pytest.approx(np.mean(found), abs=1e-12)
    assert (told.lowest, told.highest) == (min(found), max(found))


@pytest.mark.parametrize("spec", STORED)
def test_products_with_decoded_vectors_are_the_scores_of_the_index(spec: str) -> None:
    rng = np.random.default_rng(1)
    asked, vectors, *_ = collection(rng)
    index = make_index(spec)
    index.build(vectors)
    hits = index.search(asked, 40)
    products = index.encode_queries(asked) @ index.decode().T
    rows = np.repeat(np.arange(len(asked)), np.diff(hits.offsets))
    np.testing.assert_allclose(products[rows, hits.places], hits.scores, rtol=1e-4, atol=1e-5)


def row_of(found: CodesReport, spec: str) -> CodesRow:
    return next(row for row in found.storages if row.storage == make_index(spec).spec)


def test_ties_of_signs_are_those_of_hamming_distances() -> None:
    asked, vectors, query_ids, doc_ids, judgments = collection(np.random.default_rng(2))
    found = measure_codes(
        asked, vectors, query_ids, doc_ids, judgments, ["flat(storage='binary')"], ["nDCG@5"], k=5, length=50
    )
    distinct, tied, cut = [], [], []
    for query in asked:
        distances = ((query > 0) != (vectors > 0)).sum(axis=1)
        first = np.sort(distances)
        distinct.append(len(set(first[:50].tolist())))
        tied.append(np.mean([(distances == value).sum() > 1 for value in first[:50]]))
        cut.append(first[4] == first[5])
    row = row_of(found, "flat(storage='binary')")
    assert (row.distinct, row.tied, row.rescored[0].cut) == pytest.approx(
        (np.mean(distinct), np.mean(tied), np.mean(cut))
    )
    assert 0 < row.rescored[0].cut <= 1
    assert row.tied > 0.9


@pytest.mark.parametrize("spec", ["flat(storage='int8')", "pq(m=2, nbits=2)"])
def test_documents_of_one_code_tie(spec: str) -> None:
    """Counted by their codes: of documents written twice, and of the few codes that two parts of two bits make."""
    asked, vectors, query_ids, doc_ids, judgments = collection(np.random.default_rng(3))
    index = make_index(spec)
    index.build(vectors)
    _, code = np.unique(index.decode(), axis=0, return_inverse=True)
    sizes = np.bincount(code.ravel())[code.ravel()]
    found = measure_codes(asked, vectors, query_ids, doc_ids, judgments, [spec], ["RR"], k=5, length=len(vectors))
    row = row_of(found, spec)
    assert row.tied == pytest.approx(np.mean(sizes > 1))
    assert row.distinct == pytest.approx(len(set(code.ravel().tolist())))


def test_float32_loses_nothing_and_scoring_all_again_brings_all_back() -> None:
    asked, vectors, query_ids, doc_ids, judgments = collection(np.random.default_rng(4))
    found = measure_codes(asked, vectors, query_ids, doc_ids, judgments, STORED[1:], ["nDCG@10"], k=10, rescore=[1, 30])
    exact = found.storages[0]
    assert exact.storage == "flat(storage='float32')"
    assert [level.documents for level in exact.rescored] == [0]
    assert exact.rescored[0].recall.expected == 1.0
    assert exact.rbo == pytest.approx(1.0, abs=0.02)  # documents written twice tie
    for row in found.storages[1:]:
        own, ten, every = row.rescored
        assert own.recall == ten.recall  # the same ten documents, in another order
        assert every.recall.lowest == 1.0
        assert every.measures[0].expected == pytest.approx(exact.rescored[0].measures[0].expected, abs=1e-12)
        assert own.measures[0].lowest <= own.measures[0].expected <= own.measures[0].highest
    coarse = [
        row_of(found, spec).rescored[0].recall.expected for spec in ("flat(storage='float16')", "pq(m=4, nbits=4)")
    ]
    assert coarse[0] > 0.95 > coarse[1]


def test_the_measure_of_a_code_is_that_of_a_run_of_all_its_scores() -> None:
    """Over all orders of its ties, as `evaluate` has it of a list of the whole corpus."""
    import trueval as tv

    asked, vectors, query_ids, doc_ids, judgments = collection(np.random.default_rng(5))
    found = measure_codes(asked, vectors, query_ids, doc_ids, judgments, ["flat(storage='binary')"], ["nDCG@10", "AP"])
    signs = np.where(asked > 0, 1, -1) @ np.where(vectors > 0, 1, -1).T
    scores = tv.evaluate(tv.Run.from_arrays(signs.astype(float), doc_ids, query_ids), judgments, ["nDCG@10", "AP"])
    for told in row_of(found, "flat(storage='binary')").rescored[0].measures:
        mean = scores.mean(told.measure)
        assert (told.expected, told.lowest, told.highest) == pytest.approx((mean.expected, mean.lowest, mean.highest))


def test_the_result_is_its_own_json_and_says_which_code_to_take() -> None:
    asked, vectors, query_ids, doc_ids, judgments = collection(np.random.default_rng(6))
    found = measure_codes(asked, vectors, query_ids, doc_ids, judgments, ["flat(storage='int8')"], ["nDCG@10"])
    assert CodesReport.from_dict(found.to_dict()).to_dict() == found.to_dict()
    assert "flat(storage='int8')" in repr(found)
    assert "times less memory" in repr(found)


@pytest.mark.parametrize(
    ("choices", "told"),
    [
        ({"storages": ["hnsw"]}, "name flat, pq or opq"),
        ({"storages": ["bm25"]}, "name flat, pq or opq"),
        ({"storages": ["flat(storage='int3')"]}, "int8"),
        ({"rescore": [0]}, "rescore must be of integers >= 1"),
        ({"k": 0}, "k must be of integers >= 1"),
    ],
)
def test_bad_choices_are_refused_before_anything_is_embedded(choices, told: str) -> None:
    with pytest.raises((PolicyError, InputError), match=told):
        precision_codes("no-collection", "no-model", **choices)


def test_too_few_documents_to_train_with_are_said() -> None:
    asked, vectors, query_ids, doc_ids, judgments = collection(np.random.default_rng(7), documents=40)
    with pytest.raises(InputError, match=r"pq\(nbits=8\)"):
        measure_codes(asked, vectors, query_ids, doc_ids, judgments, ["pq"], ["RR"])


def test_multiples_named_twice_count_once_and_lists_that_end_are_said() -> None:
    asked, vectors, query_ids, doc_ids, judgments = collection(np.random.default_rng(3))
    world = (asked, vectors, query_ids, doc_ids, judgments, ["flat(storage='int8')"])
    twice = measure_codes(*world, "nDCG@5", k=5, rescore=[2, 2, 4])
    assert [each.documents for each in twice.storages[1].rescored] == [0, 10, 20]
    assert not [note for note in twice.notes if "end there" in note]
    deep = measure_codes(*world, "nDCG@5 R@15 AP", k=5, rescore=[2, 4])
    assert "R@15 reads past the 10 documents that are scored again: these lists end there." in " ".join(deep.notes)
    assert "AP reads past the 10 or 20 documents that are scored again: these lists end there." in " ".join(deep.notes)


def test_what_is_said_of_the_queries_is_in_the_notes_once_for_all_lists() -> None:
    """And nothing of it is a warning, which this test would fail by."""
    asked, vectors, query_ids, doc_ids, _ = collection(np.random.default_rng(5))
    grades = {query: {"d0": 1} for query in (*query_ids[1:], "q99")}
    found = measure_codes(
        asked, vectors, query_ids, doc_ids, Judgments.from_dict(grades), ["flat(storage='int8')"], "RR@5"
    )
    assert found.notes == (
        "without judgments and left out: 1 query, 'q0'.",
        "judged and missing from the run: 1 query, 'q99'.",
    )


def test_too_few_documents_are_said_before_they_are_embedded(monkeypatch: pytest.MonkeyPatch) -> None:
    from trueval.retrieval.pipeline.stage_runner import StageRunner

    world = Collection("c", "c", {f"d{at}": "x" for at in range(40)}, {"q": "x"}, Judgments.from_dict({"q": {"d1": 1}}))
    monkeypatch.setattr(StageRunner, "embedder", lambda self: SimpleNamespace(dimension=16))
    monkeypatch.setattr(StageRunner, "document_vectors", lambda self, step: pytest.fail("embedded"))
    with pytest.raises(
        InputError, match=r"pq\(nbits=8\) needs 256 documents to train with.* Got 40\. Choose a smaller"
    ):
        precision_codes(world, "all-MiniLM-L6-v2", ["pq"], "RR")
