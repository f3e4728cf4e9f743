"""Union: documents of several runs, held against a dictionary."""

import numpy as np
import polars as pl
import pytest

from trueval import Run
from trueval.retrieval.fusion import union
from trueval.retrieval.fusion.ranked_lists import rank_lists
from trueval.retrieval.fusion.union import unite


def runs(seed: int) -> list[Run]:
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(3):
        queries = rng.permutation(9)[: rng.integers(1, 9)]
        lists = {f"q{query}": rng.permutation(12)[: rng.integers(1, 12)] for query in queries}
        made.append(Run.from_dict({q: {f"d{d}": float(s) for s, d in enumerate(each)} for q, each in lists.items()}))
    return made


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("hashing", ["as it is", "all alike", "some alike"])
def test_documents_come_in_order_of_first_appearance(seed: int, hashing: str, monkeypatch: pytest.MonkeyPatch):
    if hashing != "as it is":
        alike = 1 if hashing == "all alike" else 2
        monkeypatch.setattr(union, "_hashes", lambda ids: ids.hash().to_numpy() % np.uint64(alike) << np.uint64(60))
    lists = [rank_lists(run) for run in runs(seed)]
    expected: dict[str, dict[str, list[int]]] = {}
    for run, each in enumerate(lists):
        ids = each.documents["doc_id"].to_list()
        for place, (query, doc) in enumerate(zip(each.query_ids[each.of_row].to_list(), ids, strict=True)):
            expected.setdefault(query, {}).setdefault(doc, [-1, -1, -1])[run] = place
    found = unite(lists)
    assert found.query_ids.to_list() == list(expected)
    assert found.offsets.tolist() == [0, *np.cumsum([len(each) for each in expected.values()])]
    assert found.doc_ids.to_list() == [doc for each in expected.values() for doc in each]
    assert found.places.T.tolist() == [places for each in expected.values() for places in each.values()]


def test_different_ids_of_one_hash_are_not_one_document(monkeypatch: pytest.MonkeyPatch):
    called = []
    careful = union._group_slots_by_id
    monkeypatch.setattr(union, "_group_slots_by_id", lambda *given: called.append(1) or careful(*given))
    monkeypatch.setattr(union, "_hashes", lambda ids: np.zeros(len(ids), dtype=np.uint64))
    found = unite([rank_lists(Run.from_dict({"q": {"a": 2.0, "b": 1.0}}))] * 2)
    assert found.doc_ids.to_list() == ["a", "b"]
    assert called
    assert isinstance(found.doc_ids, pl.Series)
