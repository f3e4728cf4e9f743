"""Suppression: near duplicates by their n-grams, and documents of one source, against plain loops."""

import re
import tracemalloc

import numpy as np
import polars as pl
import pytest

from trueval import Run
from trueval.errors import InputError, PolicyError
from trueval.retrieval.pipeline.suppress import limit_sources, suppress_duplicates


def grams(text: str, words: int) -> set[tuple[str, ...]]:
    found = re.findall(r"\w+", text.lower())
    return {tuple(found[at : at + words]) for at in range(max(len(found) - words, 0) + 1)}


def naive(run: Run, texts: dict[str, str], threshold: float, words: int) -> dict[str, list[str]]:
    """Every document against every one that stays before it."""
    stays: dict[str, list[str]] = {}
    for query, doc, _ in sorted(run.frame.rows(), key=lambda row: -row[2]):
        kept = stays.setdefault(query, [])
        own = grams(texts[doc], words)
        others = [grams(texts[other], words) for other in kept]
        if all(len(own & other) < threshold * len(own | other) for other in others):
            kept.append(doc)
    return stays


@pytest.mark.parametrize("block", [1, 7, 512])
@pytest.mark.parametrize(("threshold", "words"), [(0.8, 5), (0.5, 1), (1.0, 2), (0.3, 3)])
def test_the_same_documents_stay_as_in_plain_loops(threshold: float, words: int, block: int, monkeypatch):
    monkeypatch.setattr("trueval.retrieval.pipeline.suppress.BLOCK", block)
    rng = np.random.default_rng(words)
    vocabulary = ["lift", "drag", "wing", "heat", "flow"]
    texts = {f"d{place}": " ".join(rng.choice(vocabulary, rng.integers(0, 9))) for place in range(60)}
    scores = {
        f"q{query}": {doc: float(rng.integers(9)) for doc in rng.permutation(list(texts))[:40]} for query in range(9)
    }
    run = Run.from_dict(scores)
    found = suppress_duplicates(run, texts, threshold=threshold, words=words)
    expected = naive(run, texts, threshold, words)
    kept = {query: found.run.frame.filter(query_id=query)["doc_id"].to_list() for query in found.run.query_ids}
    assert kept == expected
    assert 0 < found.dropped.height == run.documents.height - found.run.documents.height
    for query, doc, by in found.dropped.rows():
        assert by in expected[query]
        own, other = grams(texts[doc], words), grams(texts[by], words)
        assert len(own & other) >= threshold * len(own | other)


def test_memory_does_not_follow_the_pairs_of_documents_that_say_the_same():
    """8,000 of them took 4.6 GiB: all pairs were held."""
    texts = {f"d{place}": "the same words stand here again" for place in range(4_000)}
    run = Run.from_dict({"q": {doc: float(place) for place, doc in enumerate(texts)}})
    suppress_duplicates(run, texts)  # whatever is imported is imported
    tracemalloc.start()
    found = suppress_duplicates(run, texts)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.run.documents["doc_id"].to_list() == ["d3999"]
    assert peak < 64 << 20


def test_scores_stay_as_they_were():
    run = Run.from_dict({"q": {"a": 1.0, "b": 3.0, "c": 3.0}, "p": {"a": 1.0}}, name="mine")
    found = suppress_duplicates(run, {"a": "x", "b": "y", "c": "y"})
    assert found.run.frame.rows() == [("q", "b", 3.0), ("q", "a", 1.0), ("p", "a", 1.0)]
    assert (found.run.name, found.dropped.rows()) == ("mine", [("q", "c", "b")])


def test_sources_are_limited_list_by_list():
    rng = np.random.default_rng(2)
    sources = {f"d{place}": f"s{rng.integers(4)}" for place in range(30) if place % 7}
    run = Run.from_dict({f"q{query}": {f"d{doc}": float(rng.random()) for doc in range(30)} for query in range(3)})
    for most in (1, 3):
        found = limit_sources(run, sources, most=most).run.frame
        for query in run.query_ids:
            count: dict[str, int] = {}
            expected = []
            for doc in run.frame.filter(query_id=query).sort("score", descending=True)["doc_id"]:
                source = sources.get(doc, doc)
                count[source] = count.get(source, 0) + 1
                expected += [doc] if count[source] <= most else []
            assert found.filter(pl.col("query_id") == query)["doc_id"].to_list() == expected


def test_bad_choices_are_refused():
    run = Run.from_dict({"q": {"a": 1.0}})
    with pytest.raises(InputError, match=r"have no text, such as 'a'"):
        suppress_duplicates(run, {})
    with pytest.raises(PolicyError, match="threshold"):
        suppress_duplicates(run, {"a": ""}, threshold=0)
    with pytest.raises(PolicyError, match="most"):
        limit_sources(run, {}, most=0)


def test_a_similarity_of_just_the_threshold_is_enough():
    texts = {"a": " ".join(f"w{place}" for place in range(55)), "b": " ".join(f"w{place}" for place in range(100))}
    run = Run.from_dict({"q": {"a": 2.0, "b": 1.0}})
    for threshold, stay in ((0.55, ["a"]), (0.56, ["a", "b"])):
        found = suppress_duplicates(run, texts, threshold=threshold, words=1)
        assert found.run.documents["doc_id"].to_list() == stay


def test_texts_without_a_word_are_alike_only_if_they_are_the_same():
    run = Run.from_dict({"q": {"a": 3.0, "b": 2.0, "c": 1.0}})
    found = suppress_duplicates(run, {"a": "+ =", "b": "— !", "c": "+ ="})
    assert found.dropped.rows() == [("q", "c", "a")]
