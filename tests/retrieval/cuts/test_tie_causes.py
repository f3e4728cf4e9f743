"""Causes: planted ties of real indexes, each called by what made it."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.extras import need

from trueval.retrieval.cuts.cut_audit import cut_index, cut_runs
from trueval.retrieval.cuts.tie_causes import TieCause
from trueval.retrieval.indexes.index import make_index
from trueval.retrieval.indexes.repeated_calls import SearchSession

need("faiss", "bm25s", extra="retrieval")

TEXTS = {
    "a": "wings lift planes in the air above the sea",
    "b": "heat flows through a plate",
    "c": "heat  flows through\na plate",
    "d": "shock waves travel in air",
    "e": "a boundary layer grows along the plate",
}


def vectors() -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(4)
    rows = rng.standard_normal((40, 16)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def opened(spec: str, documents: Any, queries: Any) -> SearchSession:
    index = make_index(spec)
    index.build(documents)
    ids = pl.Series([f"d{at}" for at in range(len(documents))])
    dense = isinstance(documents, np.ndarray)
    vectors = (documents, queries) if dense else ()
    return SearchSession(index, queries, [f"q{at}" for at in range(len(queries))], ids, *vectors)


def texts(number: int) -> dict[str, str]:
    return {f"d{at}": f"text number {at} says something else {at * at}" for at in range(number)}


def planted(spec: str, rows: Any, query: Any, k: int, **told: str) -> tuple[tuple[str, ...], TieCause]:
    found = cut_index(opened(spec, rows, query), k, repeats=2, texts={**texts(len(rows)), **told})
    (cut,), (cause,) = found.cuts, found.causes
    return tuple(sorted(cut.documents)), cause


def test_equal_vectors_of_different_texts_are_found_in_any_index():
    rows = vectors()
    query = rows[:1] + 0
    best = np.argsort(-(rows @ query[0]))[:5]
    rows[best[3]] = rows[best[2]]
    names = tuple(sorted(f"d{at}" for at in best[2:4]))
    for spec in ("flat", "flat(storage='bfloat16')", "hnsw(M=8)", "flat(storage='int8')"):
        documents, cause = planted(spec, rows, query, 3)
        assert (documents, cause) == (names, TieCause("equal vectors", 2, 1, False)), spec
    same = dict.fromkeys(names, "the same words")
    assert planted("flat", rows, query, 3, **same)[1].name == "identical texts"
    words = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
    near = dict(zip(names, (words, words + " seventeen"), strict=True))
    assert planted("flat", rows, query, 3, **near)[1] == TieCause("near duplicates", 2, 1, False)


@pytest.mark.parametrize("spec", ["flat(storage='int8')", "flat(storage='binary')", "hnsw(storage='int8')"])
def test_codes_that_fall_together_are_the_making_of_the_index_and_exact_scores_tell_them_apart(spec: str):
    rows = vectors()
    query = rows[:1] + 0
    best = np.argsort(-(rows @ query[0]))
    one, other = best[4], best[5]
    rows[other] = rows[one]
    rows[other, np.abs(rows[one]).argmin()] *= np.float32(1 + 2**-8)  # another vector, of the same codes and signs
    found = cut_index(opened(spec, rows, query), 10, repeats=0)
    ranked = found.run.documents["doc_id"].to_list()
    k = min(ranked.index(f"d{one}"), ranked.index(f"d{other}")) + 1
    found = cut_index(opened(spec, rows, query), k, repeats=2, texts=texts(40))
    (cut,), (cause,) = found.inside, found.causes
    assert {f"d{one}", f"d{other}"} <= set(cut.documents)
    assert (cause.name, cause.decided) == ("index or format", True)
    assert cause.vectors == cut.size
    assert not cut_index(opened("flat", rows, query), 5, repeats=0).cuts


def test_ties_of_words_are_told_by_their_texts():
    corpus = opened("bm25(language=None)", list(TEXTS.values()), ["heat flows", "air"])
    found = cut_index(corpus, 1, repeats=2, texts={f"d{at}": text for at, text in enumerate(TEXTS.values())})
    causes = {cut.query: cause for cut, cause in zip(found.cuts, found.causes, strict=True)}
    assert causes == {"q0": TieCause("identical texts", 1, None, None)}
    told = found.to_dict()
    assert told["causes"] == {"cuts": {"identical texts": 1}, "decided_by_exact_scores": None}
    assert told["cuts"][0]["cause"] == "identical texts"


def test_texts_that_are_not_known_and_texts_that_differ():
    run = {
        "q": {"a": 3.0, "d": 1.0, "e": 1.0, "x": 0.5},
        "p": {"b": 1.0, "x": 1.0, "c": 0.5},
        "o": {"b": 2.0, "c": 2.0},
    }
    found = cut_runs([run | {"n": {f"z{at}": float(-at) for at in range(5)}}], 2, texts=TEXTS)
    assert {cut.query: cause.name for cut, cause in zip(found.cuts, found.causes, strict=True)} == {"q": "equal scores"}
    found = cut_runs([run], 1, texts=TEXTS)
    assert {cut.query: cause.name for cut, cause in zip(found.cuts, found.causes, strict=True)} == {
        "p": "not known",
        "o": "identical texts",
    }
