"""Judged documents found in a run by their hashes, also when hashes collide."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from trueval.evaluation.arrays import evaluate_arrays
from trueval.judgments import Judgments
from trueval.policy.policy import OURS
from trueval.run import Run
from trueval.standings import matching
from trueval.standings.counting import count, list_documents

IDS = [f"d{i}" for i in range(12)]
LISTS = st.dictionaries(
    st.sampled_from(["q1", "q2", "q3"]), st.dictionaries(st.sampled_from(IDS), st.floats(0, 2), min_size=1), min_size=1
)
GRADES = st.dictionaries(
    st.sampled_from(["q1", "q2", "q4"]),
    st.dictionaries(st.sampled_from(IDS), st.integers(0, 3), min_size=1),
    min_size=1,
)


def hashed(bits: int, ids: pl.Series) -> np.ndarray:
    """Hashes of so few bits that they collide."""
    sums = np.array([sum(one.encode()) % (1 << bits) for one in ids.to_list()], dtype=np.uint64)
    return (sums << np.uint64(32 - bits)).astype(np.uint32)


@pytest.mark.parametrize("bits", [1, 3, None])
@given(scores=LISTS, grades=GRADES)
@examples(60)
def test_found_documents_are_those_with_equal_ids(bits: int | None, scores: dict, grades: dict) -> None:
    run, judgments = Run.from_dict(scores), Judgments.from_dict(grades)
    with pytest.MonkeyPatch.context() as patch:
        if bits is not None:
            patch.setattr(matching, "half_hashes", lambda ids: hashed(bits, ids))
            vars(run)["doc_hashes"] = hashed(bits, run.frame["doc_id"])
        counted = count(run, judgments, OURS)
    documents = judgments.frame["doc_id"].to_list()
    queries = judgments.query_ids.to_list()
    found = {
        (queries[q], documents[item]): s for q, item, s in zip(counted.query, counted.item, counted.score, strict=True)
    }
    assert found == {
        (query, document): scores[query][document]
        for query, judged in grades.items()
        for document in judged
        if document in scores.get(query, {})
    }


@pytest.mark.parametrize("more", [0, 1, 2])
@pytest.mark.parametrize("listed", ["d1", "d9", "d"])
def test_a_document_of_the_same_hash_is_another(monkeypatch: pytest.MonkeyPatch, listed: str, more: int) -> None:
    """Whether its id is before or after that of the judged one; and one whose hash is that and a little more."""
    run, judgments = Run.from_dict({"q": {listed: 1.0}}), Judgments.from_dict({"q": {"d5": 1}})
    monkeypatch.setattr(matching, "half_hashes", lambda ids: hashed(0, ids))
    vars(run)["doc_hashes"] = hashed(0, run.frame["doc_id"]) + np.uint32(more)
    assert len(count(run, judgments, OURS).query) == 0


@pytest.mark.parametrize("place", [0, 1, 2])
def test_an_empty_list_has_no_groups_and_takes_none_of_others(place: int) -> None:
    """Its neighbors hold two tied documents, and a single one."""
    lists, grades = [[1.0, 1.0], [2.0]], [[1, 0], [1]]
    lists.insert(place, [])
    grades.insert(place, [])
    scores = evaluate_arrays(lists, grades, "RR")
    assert (scores.ties.tied_fraction, scores.ties.largest_group, scores.ties.documents) == (2 / 3, 2, 3)
    assert scores.missing_queries == ()
    assert sorted(scores.expected[:, 0].tolist()) == [0.0, 0.75, 1.0]


def test_judged_documents_of_one_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    run, judgments = Run.from_dict({"q": {"d6": 2.0, "d5": 1.0}}), Judgments.from_dict({"q": {"d5": 1, "d6": 2}})
    monkeypatch.setattr(matching, "half_hashes", lambda ids: hashed(0, ids))
    vars(run)["doc_hashes"] = hashed(0, run.frame["doc_id"])
    counted = count(run, judgments, OURS)
    assert sorted(zip(counted.score.tolist(), counted.grade.tolist(), strict=True)) == [(1.0, 1.0), (2.0, 2.0)]


def test_documents_of_some_queries_are_listed_with_the_sizes_of_all() -> None:
    run = Run.from_dict({"q1": {"a": 1.0, "b": 1.0}, "q2": {"a": 2.0, "b": 1.0}, "q3": {"a": 1.0, "c": 1.0, "d": 1.0}})
    judgments = Judgments.from_dict({query: {"a": 1} for query in ("q1", "q2", "q3")})
    whole, some = (list_documents(run, judgments, OURS, wanted) for wanted in (None, ["q3", "q1"]))
    assert sorted(whole.sizes.tolist()) == sorted(some.sizes.tolist()) == [1, 1, 2, 3]
    assert some.frame.equals(whole.frame.filter(pl.col("query_id").is_in(["q1", "q3"])))
    assert some.frame.height == 5
