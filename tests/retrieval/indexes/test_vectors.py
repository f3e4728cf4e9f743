"""Vectors: hits scored anew, as brute force scores them."""

import numpy as np
import pytest

from trueval.errors import InputError, TruevalWarning
from trueval.numerics import round_to
from trueval.retrieval.indexes.dense import finite_vectors
from trueval.retrieval.indexes.hits import Hits
from trueval.retrieval.indexes.vectors import rescore_hits


def test_hits_are_scored_anew_and_stand_by_place():
    rng = np.random.default_rng(2)
    queries, documents = (rng.integers(-3, 4, (rows, 4)).astype(np.float32) for rows in (6, 20))
    places = [rng.permutation(20)[:size] for size in (7, 0, 3, 20, 1, 0)]
    offsets = np.cumsum([0, *map(len, places)])
    found = rescore_hits(Hits(offsets, np.concatenate(places), np.zeros(31)), queries, documents, "bfloat16")
    assert found.offsets.tolist() == offsets.tolist()
    for query, chosen in enumerate(places):
        exact = round_to((documents @ queries[query]).astype(np.float64), "bfloat16")
        own = slice(offsets[query], offsets[query + 1])
        expected = sorted(chosen.tolist(), key=lambda place, exact=exact: (-exact[place], place))
        assert found.places[own].tolist() == expected
        assert found.scores[own].tolist() == exact[expected].tolist()


def test_no_queries_have_no_hits():
    nothing = Hits(np.array([0]), np.zeros(0, dtype=np.int64), np.zeros(0))
    found = rescore_hits(nothing, np.zeros((0, 4)), np.zeros((3, 4)), "float32")
    assert [len(each) for each in found] == [1, 0, 0]


def test_vectors_that_are_not_finite_are_refused_and_those_of_zeros_told():
    vectors = np.ones((4, 3), dtype=np.float32)
    assert finite_vectors(vectors, "documents") is vectors
    vectors[1:3] = 0
    with pytest.warns(TruevalWarning, match="2 vectors of documents are all zeros, the first in place 1: "):
        finite_vectors(vectors, "documents")
    vectors[3, 2] = np.nan
    with pytest.raises(InputError, match="1 vectors of documents are not finite, the first in place 3"):
        finite_vectors(vectors, "documents")
