"""Duplicates: none missed and none made up, also when every hash collides."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from trueval.files.checks import duplicates
from trueval.files.checks.duplicates import DuplicateRows, find_duplicate, half_hashes


def duplicate(frame: pl.DataFrame, offsets: np.ndarray) -> DuplicateRows | None:
    return find_duplicate(frame, offsets, half_hashes(frame["doc_id"]))


def naive(queries: list[list[str]]) -> bool:
    return any(len(set(q)) < len(q) for q in queries)


@given(
    st.lists(st.lists(st.sampled_from([f"d{i}" for i in range(60)]), min_size=1, max_size=12), min_size=1, max_size=30)
)
@examples(300)
def test_agrees_with_sets(queries: list[list[str]]) -> None:
    frame = pl.DataFrame({"doc_id": [d for q in queries for d in q]})
    offsets = np.concatenate(([0], np.cumsum([len(q) for q in queries])))
    pair = duplicate(frame, offsets)
    assert (pair is not None) == naive(queries)
    if pair is not None:
        documents = frame["doc_id"].to_list()
        assert documents[pair.first] == documents[pair.second]
        query = int(np.searchsorted(offsets, pair.second, side="right")) - 1
        assert offsets[query] <= pair.first < pair.second < offsets[query + 1]


@pytest.mark.parametrize("block", [1, 7, 1 << 20])
def test_every_query_is_looked_at_whatever_the_block(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(duplicates, "BLOCK", block)
    rng = np.random.default_rng(0)
    lengths = rng.integers(2, 9, 40)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    documents = [f"d{i}" for i in range(offsets[-1])]
    assert duplicate(pl.DataFrame({"doc_id": documents}), offsets) is None
    for query in range(40):
        first, second = int(offsets[query]), int(offsets[query + 1]) - 1
        repeated = [*documents[:second], documents[first], *documents[second + 1 :]]
        assert duplicate(pl.DataFrame({"doc_id": repeated}), offsets) == DuplicateRows(first, second)


@pytest.mark.parametrize("value", [0, 0xFFFFFFFF])
def test_colliding_hashes_neither_make_up_nor_hide_a_duplicate(monkeypatch: pytest.MonkeyPatch, value: int) -> None:
    suspects = duplicates._suspects
    monkeypatch.setattr(duplicates, "_suspects", lambda hashes, offsets: suspects(np.full_like(hashes, value), offsets))
    offsets = np.array([0, 3, 5, 6])
    assert duplicate(pl.DataFrame({"doc_id": ["a", "b", "c", "a", "b", "a"]}), offsets) is None
    assert duplicate(pl.DataFrame({"doc_id": ["a", "b", "c", "a", "a", "a"]}), offsets) == DuplicateRows(3, 4)


def test_facets_keep_documents_apart() -> None:
    frame = pl.DataFrame({"doc_id": ["a", "a", "b", "b"], "facet": ["1", "2", "1", "1"]})
    assert duplicate(frame[:3], np.array([0, 3])) is None
    assert duplicate(frame, np.array([0, 4])) == DuplicateRows(2, 3)
    assert duplicate(pl.DataFrame({"doc_id": ["x", "y"], "facet": ["y", "x"]}), np.array([0, 2])) is None
