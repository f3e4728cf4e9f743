"""Answers of engines and retrievers: each known shape is read, and each bad one is refused by its key."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from trueval.errors import InputError
from trueval.models.hosted.failures import CallError
from trueval.retrieval.live import engine_answer
from trueval.retrieval.live.engine_answer import Fields, dig, documents_of
from trueval.run import Run

TWO = [("d1", 2.0), ("d2", 0.5)]
NODE = SimpleNamespace(id_="d1", metadata={}, text="a text")


def hits(name: str, score: str, **more: Any) -> list[dict[str, Any]]:
    return [{name: doc, score: value, **more} for doc, value in TWO]


SHAPES = {
    "pairs": TWO,
    "lists": [["d1", 2.0], ["d2", 0.5]],
    "a generator": (each for each in TWO),
    "a dict": {"d1": 2.0, "d2": 0.5},
    "numbers of numpy": [("d1", np.float32(2)), ("d2", np.float64(0.5))],
    "objects": hits("id", "score", text="a text", vector=[0.1] * 9),
    "OpenSearch": {"timed_out": False, "_shards": {"failed": 0}, "hits": {"hits": hits("_id", "_score", _source={})}},
    "Qdrant": {"result": {"points": hits("id", "score", payload={})}, "status": "ok"},
    "Qdrant, before query": {"result": hits("id", "score"), "status": "ok"},
    "Vespa": {"root": {"coverage": {"full": True}, "children": hits("id", "relevance")}},
    "Solr": {"response": {"docs": hits("id", "score")}},
    "Azure": {"value": hits("id", "@search.score")},
    "a list under a name": {"took": 3, "results": hits("doc_id", "score")},
    "Haystack": {"documents": [SimpleNamespace(id=doc, score=score, content="text", meta={}) for doc, score in TWO]},
    "LangChain with scores": [(SimpleNamespace(id=doc, page_content="text", metadata={}), score) for doc, score in TWO],
    "LlamaIndex": [
        SimpleNamespace(node=SimpleNamespace(id_=doc, metadata={}, text="text"), score=score) for doc, score in TWO
    ],
    "LlamaIndex, a response": SimpleNamespace(source_nodes=[{"node": {"id_": d}, "score": s} for d, s in TWO]),
}


@pytest.mark.parametrize("answer", SHAPES.values(), ids=SHAPES)
def test_every_shape_is_the_same_list(answer: Any) -> None:
    run = Run.of([{"query": "q", "documents": documents_of(answer)}])
    assert run.frame.select("doc_id", "score").rows() == TWO


@pytest.mark.parametrize(
    "answer",
    [[], {"hits": {"hits": []}}, {"root": {"coverage": {"full": True}, "fields": {"totalCount": 0}}}, {"results": []}],
)
def test_nothing_found_is_an_empty_list(answer: Any) -> None:
    assert documents_of(answer) == []


def test_paths_say_where_list_ids_and_scores_are() -> None:
    answer = {"data": {"rows": [{"payload": {"doc": "d1"}, "distance": 0.25}, {"payload": {"doc": 7}, "distance": 1}]}}
    found = documents_of(answer, Fields("data.rows", "payload.doc", "-distance"))
    assert found == [{"id": "d1", "score": -0.25}, {"id": "7", "score": -1.0}]
    qdrant = {"result": {"points": [{"id": "3f", "score": 0.5, "payload": {"doc": "d1"}}]}}
    assert documents_of(qdrant, Fields(id="payload.doc")) == [{"id": "d1", "score": 0.5}]
    assert documents_of([{"id": "d1", "rank_score": 4}], Fields(score="rank_score")) == [{"id": "d1", "score": 4.0}]
    assert dig({"a.b": 1, "a": [{"c": 2}]}, "a.b") == 1
    assert dig({"a": [{"c": 2}]}, "a.0.c") == 2
    assert dig({"a": [{"c": 2}]}, "a.1.c") is None


def test_texts_are_kept_only_where_they_are_all_that_names_a_document() -> None:
    named, bare = {"id": "d1", "content": "text", "meta": {"page": 3}}, {"content": "a text"}
    assert documents_of([named, bare]) == [{"id": "d1", "meta": {}}, {"content": "a text"}]


BAD = {
    "a score that is text": ([{"id": "d1", "score": "0.9"}], Fields(), r"score.*At 'score' document 1 .* text '0\.9'"),
    "a score in a pair that is text": ([("d1", "high")], Fields(), "At 'score' document 1 .* text 'high'"),
    "a score that is null at its path": ([{"id": "d1", "s": None}], Fields(score="s"), "At 's' document 1 .* nothing"),
    "a score that is NaN": ([{"id": "d1", "s": float("nan")}], Fields(score="s"), "must be the path of a number"),
    "no id": ([{"name": "d1"}], Fields(), "document 1 of the answer must be an id.*the keys 'name'"),
    "no id at its path": ([{"id": "d1"}], Fields(id="payload.id"), "At 'payload.id' document 1 .* nothing"),
    "an id that is a number with decimals": ([{"id": 0.5}], Fields(id="id"), "a string or an integer"),
    "no list": ({"error": "no such index"}, Fields(), "the keys 'error'.*Name the path of the list as hits"),
    "no list at its path": ({"hits": 3}, Fields("hits"), "At 'hits' there is 3"),
    "a text": ("d1", Fields(), "Got the text 'd1'"),
    "nothing": (None, Fields(), "Got nothing"),
}


@pytest.mark.parametrize(("answer", "fields", "said"), BAD.values(), ids=BAD)
def test_what_cannot_be_read_is_refused_by_its_key(answer: Any, fields: Fields, said: str) -> None:
    with pytest.raises(InputError, match=said):
        documents_of(answer, fields)


@pytest.mark.parametrize(
    "answer",
    [
        {"timed_out": True, "hits": {"hits": []}},
        {"_shards": {"failed": 2}, "hits": {"hits": []}},
        {"root": {"coverage": {"full": False}, "children": []}},
        {"root": {"errors": [{"code": 12}]}},
    ],
)
def test_an_answer_of_a_part_of_the_index_is_a_failure_that_may_pass(answer: Any) -> None:
    with pytest.raises(CallError, match="partial answer"):
        documents_of(answer)


HITS: list[Any] = [
    {"id": "d1", "score": 1.5},
    {"id": "d1", "score": 1},
    {"id": 7, "score": 1.5},
    {"id": "", "score": 1.5},
    {"id": "d1", "score": "1.5"},
    {"id": "d1", "score": float("nan")},
    {"id": "d1", "score": True},
    {"id": "d1"},
    {"score": 1.5},
    {"id": "d1", "score": 1.5, "document": {"id": "d2"}},
    {"id": "d1", "score": 1.5, "metadata": {"relevance_score": 0.5}},
    {"payload": {"id": "d3"}, "id": "d1", "score": 1.5},
    {"payload.id": "d4", "payload": {"id": "d3"}, "score": 1.5},
    {"payload": [{"id": "d3"}], "score": 1.5},
    "d1",
    ["d1", 1.5],
    None,
]
PATHS = [Fields(), Fields(id="id"), Fields(id="id", score="score"), Fields(id="payload.id", score="-score")]


@pytest.mark.parametrize("fields", PATHS)
@pytest.mark.parametrize("hit", HITS)
def test_the_short_way_reads_what_the_long_way_reads(hit: Any, fields: Fields, monkeypatch: pytest.MonkeyPatch) -> None:
    def read() -> object:
        try:
            return documents_of([{"id": "d0", "payload": {"id": "p0"}, "score": 2.5}, hit], fields)
        except InputError as error:
            return str(error)

    found = read()
    monkeypatch.setattr(engine_answer, "_read_plainly", lambda *_: None)
    assert repr(found) == repr(read())  # in which NaN equals NaN
