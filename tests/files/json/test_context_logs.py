"""Logs of contexts as LangChain, LlamaIndex, Ragas and Haystack write them, and what can be wrong with them."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from trueval import Judgments, Run, evaluate
from trueval.errors import InputError, TruevalWarning
from trueval.files.json.log_keys import text_id
from trueval.rag.contexts import contexts_of, read_contexts

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "Paris is the capital of France, and its largest city by far."
OTHER = "Lyon is a city in France that lies on the Rhône."


def jsonl(*rows: Any) -> bytes:
    return "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows).encode()


def runs_of(*rows: Any) -> list[Run]:
    """The run of the rows as JSON lines, as a JSON list over many lines, and in memory."""
    parsed = [json.loads(row) if isinstance(row, str) else row for row in rows]
    texts = jsonl(*rows), json.dumps(parsed, indent=1).encode()
    return [*(Run.read(io.BytesIO(text)) for text in texts), Run.of(parsed)]


def listed(run: Run) -> list[tuple[Any, ...]]:
    return run.frame.select("query_id", "doc_id", "score").rows()


def node(id: Any, score: float | None = None, **metadata: Any) -> dict[str, Any]:
    """NodeWithScore of LlamaIndex, as model_dump gives it."""
    inner = {"id_": id, "embedding": None, "metadata": metadata, "text": TEXT, "class_name": "TextNode"}
    return {"node": inner, "score": score, "class_name": "NodeWithScore"}


def document(id: Any = None, **metadata: Any) -> dict[str, Any]:
    """Document of LangChain, as model_dump gives it."""
    return {"id": id, "metadata": metadata, "page_content": TEXT, "type": "Document"}


def constructor(**metadata: Any) -> dict[str, Any]:
    """Document of LangChain, as langchain_core.load.dumpd gives it."""
    path = ["langchain", "schema", "document", "Document"]
    return {"lc": 1, "type": "constructor", "id": path, "kwargs": {"metadata": metadata, "page_content": TEXT}}


SHAPES = {
    "ours": {"query": "q", "ids": ["a", "b"]},
    "question and relevant_ids": {"question": "q", "retrieved_ids": ["a", "b"], "relevant_ids": ["b"]},
    "a question beside its id": {"question": "Where is Paris?", "question_id": "q", "contexts": ["a", "b"]},
    "an id that is null": {"query_id": None, "query": "q", "ids": ["a", "b"]},
    "LangChain, own ids": {"input": "q", "context": [document("a"), document("b")], "answer": "-"},
    "LangChain, metadata.id": {"query": "q", "source_documents": [document(id="a"), document(id="b")]},
    "LangChain, metadata.doc_id": {"input": "q", "context": [document(None, doc_id="a"), document(doc_id="b")]},
    "LangChain, metadata.source": {"input": "q", "context": [document(source="a"), document(source="b")]},
    "LangChain, dumped": {"input": "q", "context": [constructor(id="a"), constructor(id="b")]},
    "LangChain, in a document": {"input": "q", "context": [{"document": constructor(id=each)} for each in "ab"]},
    "LangChain.js": {"input": "q", "context": [{"pageContent": "-", "metadata": {"id": each}} for each in "ab"]},
    "LlamaIndex, nodes without scores": {"query": "q", "source_nodes": [node("a"), node("b")]},
    "LlamaIndex, node_id": {"query": "q", "nodes": [{"node_id": "a", "text": "-"}, {"node_id": "b", "text": "-"}]},
    "LlamaIndex, metadata": {"query": "q", "nodes": [node(None, doc_id="a"), node(None, doc_id="b")]},
    "LlamaIndex, retriever": {"query": "q", "retrieved_ids": ["a", "b"], "retrieved_texts": [TEXT, OTHER]},
    "Ragas, ids": {"user_input": "q", "retrieved_contexts": [TEXT, OTHER], "retrieved_context_ids": ["a", "b"]},
    "Ragas, no texts": {"user_input": "q", "retrieved_contexts": None, "retrieved_context_ids": ["a", "b"]},
    "Haystack": {"query": "q", "documents": [{"id": each, "content": "-", "meta": {}} for each in "ab"]},
}


@pytest.mark.parametrize("row", SHAPES.values(), ids=SHAPES.keys())
def test_every_shape_is_read_from_lines_lists_and_memory(row: dict[str, Any]) -> None:
    for run in runs_of(row):
        assert listed(run) == [("q", "a", -1.0), ("q", "b", -2.0)]


SCORED = {
    "LlamaIndex": {"query": "q", "source_nodes": [node("a", 0.9), node("b", 0.5)]},
    "LangChain, with scores": {"query": "q", "documents": [[document("a"), 0.9], [document("b"), 0.5]]},
    "Haystack": {"query": "q", "documents": [{"id": "a", "score": 0.9}, {"id": "b", "score": 0.5}]},
    "hits": {"query": "q", "retrieved": [{"document": {"id": "a"}, "score": 0.9}, {"id": "b", "score": 0.5}]},
}


@pytest.mark.parametrize("row", SCORED.values(), ids=SCORED.keys())
def test_scores_are_kept(row: dict[str, Any]) -> None:
    for run in runs_of(row):
        assert listed(run) == [("q", "a", 0.9), ("q", "b", 0.5)]


@pytest.mark.parametrize("key", ["gold", "relevant_ids", "expected_ids", "reference_context_ids"])
def test_gold_is_known_by_its_names(key: str) -> None:
    for rows in ([{"user_input": "q", "ids": ["a"], key: ["b", 7]}], [{"question": "q", key: ["b", 7]}]):
        for judgments in (Judgments.read(io.BytesIO(jsonl(*rows))), Judgments.of(rows)):
            assert judgments.frame.rows() == [("q", "b", 1.0), ("q", "7", 1.0)]
    graded = Judgments.of([{"question": "q", key: {"b": 2, "c": 0.5}}])
    assert graded.frame.rows() == [("q", "b", 2.0), ("q", "c", 0.5)]


def test_a_log_is_run_and_judgments_in_one_call(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(jsonl({"question": "q", "retrieved_ids": ["a", "b"], "relevant_ids": ["b"]}))
    assert evaluate(path, str(path), "RR")["RR"].expected == 0.5
    rows = [{"question": "q", "retrieved_ids": ["a", "b"], "relevant_ids": ["b"]}]
    assert evaluate(rows, rows, "RR")["RR"].expected == 0.5


def test_ids_of_the_metadata_are_named_in_a_note() -> None:
    (run, *_) = runs_of({"input": "q", "context": [document(source="a.pdf"), document(source="a.pdf")]})
    assert listed(run) == [("q", "a.pdf", -1.0)]
    assert "1 repeated documents" in run.notes[0]
    assert "the ids of 1 retrieved documents are those under metadata.source" in run.notes[1]


def test_sources_come_along_with_the_gold_documents() -> None:
    row = {"query": "q", "documents": [document("a", source="x"), document("b", source="x")], "gold": ["a", "b"]}
    for judgments in (Judgments.of([row]), Judgments.read(io.BytesIO(jsonl(row)))):
        assert judgments.source_codes is not None
        assert judgments.source_codes.tolist() == [0, 0]


def test_the_order_of_the_lists_counts_where_scores_contradict_it() -> None:
    """Distances rise, and a reordered list does neither; what the model read first is first in both."""
    (run, *_) = runs_of({"query": "q", "documents": [[document("a"), 0.1], [document("b"), 0.5]]})
    assert listed(run) == [("q", "a", -1.0), ("q", "b", -2.0)]
    assert "scores do not descend in 1 of 1 lists" in run.notes[0]
    rows = ({"query": "q", "ids": [["a", 1], ["b", 2]]}, {"query": "r", "ids": [["b", 2], ["a", 2]]})
    (run, *_) = runs_of(*rows)
    assert listed(run) == [("q", "a", -1.0), ("q", "b", -2.0), ("r", "b", -1.0), ("r", "a", -2.0)]
    assert "scores do not descend in 1 of 2 lists" in run.notes[0]
    (run, *_) = runs_of(rows[1])
    assert (listed(run), run.notes) == ([("r", "b", 2.0), ("r", "a", 2.0)], ())


# --- texts ------------------------------------------------------------------------------------------------------------


def test_texts_are_their_own_names_where_references_are_texts_too() -> None:
    row = {"user_input": "q", "retrieved_contexts": [OTHER, f" {TEXT}\n"], "reference_contexts": [TEXT]}
    for run, judgments in ((Run.of([row]), Judgments.of([row])), read_twice(row)):
        assert listed(run) == [("q", text_id(OTHER), -1.0), ("q", text_id(TEXT), -2.0)]
        assert judgments.frame.rows() == [("q", text_id(TEXT), 1.0)]
        assert "known by their texts" in run.notes[0]
        with pytest.warns(UserWarning, match="known by their texts"):
            assert evaluate(run, judgments, "RR")["RR"].expected == 0.5


def read_twice(row: Any) -> tuple[Run, Judgments]:
    return Run.read(io.BytesIO(jsonl(row))), Judgments.read(io.BytesIO(jsonl(row)))


@pytest.mark.parametrize(
    "row",
    [
        {"user_input": "q", "retrieved_contexts": [TEXT]},
        {"question": "q", "contexts": [TEXT], "ground_truth": "Paris"},
        {"input": "q", "context": [document()]},
        {"query": "q", "nodes": [{"text": TEXT}]},
        {"user_input": "q", "retrieved_contexts": [TEXT], "relevant_ids": ["d1"]},
    ],
)
def test_texts_without_anything_to_hold_them_against_are_refused_with_the_cure(row: Any) -> None:
    message = r":1: the retrieved documents are texts without ids.* retrieved_context_ids.*metadata\.id.*reference_cont"
    with pytest.raises(InputError, match=message):
        Run.read(io.BytesIO(jsonl(row)))
    with pytest.raises(InputError, match="rows: row 1: the retrieved documents are texts"):
        Run.of([row])


def test_reference_texts_beside_ids_are_left_out_with_a_note() -> None:
    row = {"user_input": "q", "retrieved_context_ids": ["a"], "reference_contexts": [TEXT]}
    (run, *_) = runs_of(row)
    assert listed(run) == [("q", "a", -1.0)]
    assert "Give reference_context_ids" in run.notes[0]
    with pytest.raises(InputError, match="no line names gold documents"):
        Judgments.of([row])


# --- hostile ----------------------------------------------------------------------------------------------------------

GOOD = {"query": "g", "ids": ["a"]}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"question": "q", "hits": ["a"]}, r"Got the keys 'question', 'hits'\. Name the query one of .*user_input"),
        ({"prompt": "q", "ids": ["a"]}, "Got the keys 'prompt', 'ids'"),
        ({}, "Got no keys"),
        ({"user_input": [{"content": "hi", "type": "human"}], "ids": ["a"]}, "under 'user_input'"),
        ({"query": "q", "context": TEXT}, "under 'context'"),
        ({"query": "q", "ids": {"a": 1}}, "under 'ids'"),
        ({"query": "q", "results": {"documents": ["a"]}}, "Got the keys 'query', 'results'"),
        ({"query": "q", "documents": [{"metadata": {}}]}, "Got the keys 'metadata' in .*under 'documents'"),
        ({"query": "q", "documents": [document() | {"page_content": " "}]}, "a retrieved document must be an id"),
        ({"query": "q", "documents": [document(1.5)]}, "a retrieved document must be an id"),
        ({"query": "q", "documents": [document(True)]}, "a retrieved document must be an id"),
        ({"query": "q", "documents": [document(["a"])]}, "a retrieved document must be an id"),
        ({"query": "q", "documents": [document(id={"a": 1})]}, "a retrieved document must be an id"),
        ({"query": "q", "documents": [[["a", 1]]]}, "a retrieved document must be an id"),
        ({"query": "q", "nodes": [node("a", 0.5), node("b")]}, "some documents have scores and some do not"),
        ({"query": "q", "nodes": [node("a"), {"text": TEXT}]}, "some documents have ids and some do not"),
        ({"query": "q", "nodes": [node("a", "high")]}, "a retrieved document must be an id"),  # type: ignore[arg-type]
        ({"query": "q", "retrieved_contexts": [TEXT]}, "are texts"),
        ({"query": "q", "relevant_ids": ["a"]}, "must be an object with query and a list of ids, as the other lines"),
        ({"query": "q", "ids": ["a"], "relevant_ids": "a"}, "relevant_ids must be a list of ids"),
        ({"query": "q", "ids": ["a"], "relevant_ids": [1.5]}, "relevant_ids must be a list of ids"),
        ({"query": "q", "ids": ["a"], "reference_contexts": [1]}, "reference_contexts must be a list of texts"),
        ({"query": "g", "ids": ["b"]}, "query 'g' is there twice"),
    ],
)
def test_a_bad_line_is_named_in_files_and_in_memory(row: dict[str, Any], message: str) -> None:
    indented = json.dumps([GOOD, row], indent=1)
    lines = [2, indented[: indented.index("{", 4)].count("\n") + 1]
    for text, line in zip((jsonl(GOOD, row), indented.encode()), lines, strict=True):
        with pytest.raises(InputError, match=message) as caught:
            Run.read(io.BytesIO(text))
        assert caught.value.line == line
    with pytest.raises(InputError, match=f"rows: row 2: .*{message}"):
        Run.of([GOOD, row])


@pytest.mark.parametrize("noun", [Run, Judgments])
@pytest.mark.parametrize(
    "row", ['{"query": "q", "ids": [["a", NaN]], "gold": ["a"]}', '{"query": "q", "ids": ["a"], "gold": {"a": NaN}}']
)
def test_a_bad_number_is_refused_whichever_part_is_wanted(noun: Any, row: str) -> None:
    with pytest.raises(InputError, match=r":2: the (score|grade) of document 'a' in query 'q' is nan"):
        noun.read(io.BytesIO(jsonl({"query": "g", "ids": [["a", 1]], "gold": ["a"]}, row)))


def test_shapes_may_be_mixed_between_lines() -> None:
    rows = {"query": "q", "nodes": [node("b")]}, {"input": "r", "context": [document(id="c")]}
    for run in runs_of(GOOD, *rows):
        assert listed(run) == [("g", "a", -1.0), ("q", "b", -1.0), ("r", "c", -1.0)]


def test_gold_by_ids_on_one_line_and_by_texts_on_another_is_refused() -> None:
    rows = {"query": "q", "ids": ["a"], "gold": ["a"]}, {"query": "r", "ids": ["a"], "reference_contexts": [TEXT]}
    with pytest.raises(InputError, match=r":2: the gold documents are texts, and those of .*:1 are ids"):
        Judgments.read(io.BytesIO(jsonl(*rows)))


def test_an_empty_list_retrieved_nothing() -> None:
    for run in runs_of(GOOD, {"question": "q", "source_nodes": []}):
        assert listed(run) == [("g", "a", -1.0)]
        assert "1 queries retrieved nothing, the first 'q'; they count as empty lists" in run.notes[0]
        assert run.empty == ("q",)
    with pytest.raises(InputError, match="no query retrieved a document"):
        Run.of([{"query": "q", "ids": []}])


def test_an_empty_list_of_ids_does_not_hide_the_texts() -> None:
    with pytest.raises(InputError, match="texts without ids"):
        Run.of([{"user_input": "q", "retrieved_context_ids": [], "retrieved_contexts": [TEXT]}])


def test_a_log_of_references_is_judgments_and_no_run() -> None:
    rows = [{"user_input": "q", "reference_context_ids": ["a"]}]
    assert Judgments.of(rows).frame.rows() == [("q", "a", 1.0)]
    with pytest.raises(InputError, match="no query retrieved a document"):
        Run.of(rows)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"query": "q", "ids": ["a"]},\n{"query": }]', ":2: not JSON"),
        ('[{"query": "q", "ids": ["a"]},\n{"query": "r", "ids": ["a"],\n "ids": ["b"]}]', ":3: the key 'ids' is twice"),
        ('[{"query": "q", "ids": ["a"]},\n7]', ":2: a line must be an object .* Got '7'"),
        ('[{"query": "q", "ids": ' + "[" * 100_000, ": nested too deep"),
    ],
)
def test_a_bad_list_of_objects_is_named_with_its_line(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Run.read(io.BytesIO(text.encode()), format="contexts")


def test_bytes_of_a_list_that_are_no_text_are_refused_with_their_line() -> None:
    with pytest.raises(InputError, match=":2: byte 0xff is not UTF-8"):
        Run.read(io.BytesIO(b'[{"query": "q", "ids": ["a"]},\n{"query": "r", "ids": ["\xff"]}]'), format="contexts")


def test_rows_that_are_not_recognized_say_which_keys_there_are_and_how_to_name_them() -> None:
    row = {"prompt": "q", "hits": [{"id": "a"}]}
    message = (
        r"neither a row of a run nor of a log of contexts\. Got the keys 'prompt', 'hits'\..*Name the query one of"
    )
    with pytest.raises(InputError, match=f"rows: row 1: {message}"):
        Run.of([row])
    for text, line in ((b"\n\n" + jsonl(row), 3), (b"\n" + json.dumps([row], indent=1).encode(), 3)):
        with pytest.raises(InputError, match=message) as caught:
            Run.read(io.BytesIO(text))
        assert caught.value.line == line
    with pytest.raises(InputError, match=message.replace("a run", "judgments")):
        Judgments.of([row])


def test_ids_stay_as_they_are_written() -> None:
    (run, *_) = runs_of('{"query": 7, "documents": [{"id": 1}, {"id": "001"}, {"id": "é"}]}')
    assert listed(run) == [("7", "1", -1.0), ("7", "001", -2.0), ("7", "é", -3.0)]


# --- objects in memory ------------------------------------------------------------------------------------------------


@dataclass
class Sample:
    """As ragas.SingleTurnSample."""

    user_input: str
    retrieved_contexts: list[str] | None = None
    retrieved_context_ids: list[str | int] | None = None
    reference_context_ids: list[str | int] | None = None


@dataclass
class Dataset:
    """As ragas.EvaluationDataset."""

    samples: list[Sample]

    def __iter__(self) -> Any:
        return iter(self.samples)


@dataclass
class Node:
    """As llama_index's TextNode and ImageNode."""

    id_: str
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        raise ValueError("Node must be a TextNode to get text.")


@dataclass
class NodeWithScore:
    """As llama_index has it: the parts of the node are its own, too."""

    node: Node
    score: float | None = None

    @property
    def node_id(self) -> str:
        return self.node.id_

    @property
    def text(self) -> str:
        return self.node.text


@dataclass
class LangChainDocument:
    """As langchain_core.documents.Document."""

    page_content: str
    metadata: dict[str, Any]
    id: str | None = None


def test_objects_of_other_libraries_are_read_by_what_they_have() -> None:
    samples = [Sample("q", [TEXT, OTHER], ["a", 7], ["b"])]
    for given in (samples, Dataset(samples)):
        assert listed(Run.of(given)) == [("q", "a", -1.0), ("q", "7", -2.0)]
        assert Judgments.of(given).frame.rows() == [("q", "b", 1.0)]
    nodes = [NodeWithScore(Node("a"), 0.5), NodeWithScore(Node("b"), 0.25)]
    assert listed(Run.of([{"query": "q", "source_nodes": nodes}])) == [("q", "a", 0.5), ("q", "b", 0.25)]
    documents = [LangChainDocument("-", {"id": "a", "seen": object()}), LangChainDocument("-", {}, "b")]
    assert listed(Run.of([{"input": "q", "context": documents}])) == [("q", "a", -1.0), ("q", "b", -2.0)]


def test_contexts_in_memory_keep_what_belongs_to_answers() -> None:
    rows = [{"question": "q", "ids": ["a"], "gold": {"a", "b"}, "correct": True}]
    found = contexts_of(rows, name="mine")
    assert (found.run.name, found.correct) == ("mine", {"q": 1.0})
    assert found.judgments is not None
    assert found.judgments.frame["doc_id"].to_list() == ["a", "b"]
    assert read_contexts(io.BytesIO(jsonl({"question": "q", "ids": ["a"], "correct": 0.5}))).correct == {"q": 0.5}


def scored_documents(key: str, *values: Any) -> list[dict[str, Any]]:
    return [document(id=f"d{at}", **({} if value is None else {key: value})) for at, value in enumerate(values)]


@pytest.mark.parametrize("key", ["score", "relevance_score"])
def test_scores_of_the_metadata_are_scores(key: str) -> None:
    """The same passages as pairs [document, score] tie, so that RR@10 is anything from 1/2 to 1."""
    documents = scored_documents(key, 0.9, 0.9, 0.5)
    pairs = [[each, each["metadata"][key]] for each in documents]
    (as_pairs, *_) = runs_of({"input": "q", "context": pairs})
    for run in runs_of({"input": "q", "context": documents}):
        assert listed(run) == listed(as_pairs) == [("q", "d0", 0.9), ("q", "d1", 0.9), ("q", "d2", 0.5)]
        assert any(f"the scores of 3 retrieved documents are those under metadata.{key}" in note for note in run.notes)
        with pytest.warns(TruevalWarning) as said:
            found = evaluate(run, Judgments.from_dict({"q": {"d1": 1}}), "RR@10")["RR@10"]
        assert any("the scores of 3" in str(each.message) for each in said)
        assert (found.lowest, found.highest) == (0.5, 1.0)
    objects = [LangChainDocument("-", each["metadata"], each["id"]) for each in documents]
    assert listed(Run.of([{"input": "q", "context": objects}])) == listed(as_pairs)
    read = read_contexts(io.BytesIO(jsonl({"input": "q", "context": documents})))
    assert listed(read.run) == listed(as_pairs)


def test_a_score_in_the_document_under_another_name_is_one() -> None:
    hits = [{"relevance_score": 0.5, "document": {"id": each, "text": TEXT}} for each in "ab"]
    hits[1]["relevance_score"] = 0.25
    for run in runs_of({"query": "q", "retrieved": hits}):
        assert listed(run) == [("q", "a", 0.5), ("q", "b", 0.25)]


def test_of_several_scores_the_one_that_orders_the_lists_counts() -> None:
    """A reranker leaves the scores of the first stage where they were, and those rise here."""
    documents = scored_documents("score", 0.1, 0.9)
    for at, each in enumerate(documents):
        each["metadata"]["relevance_score"] = 0.75 - at / 2
    for run in runs_of({"input": "q", "context": documents}):
        assert [score for *_, score in listed(run)] == [0.75, 0.25]
    own = [{**each, "score": 7 - at} for at, each in enumerate(documents)]
    for run in runs_of({"query": "q", "documents": own}):
        assert [score for *_, score in listed(run)] == [7.0, 6.0]
        assert not any("relevance_score" in note for note in run.notes)


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ((0.1, 0.9), "metadata.score, which does not descend with the lists"),
        ((0.9, None), "metadata.score, which some documents lack"),
        ((1.0, 1.0), "metadata.score, which is the same everywhere"),
    ],
)
def test_a_score_that_is_not_used_is_named(values: tuple[Any, ...], why: str) -> None:
    for run in runs_of({"input": "q", "context": scored_documents("score", *values)}):
        assert [score for *_, score in listed(run)] == [-1.0, -2.0]
        assert any(why in note and "places alone" in note for note in run.notes)


def test_numbers_that_are_no_scores_are_left_alone() -> None:
    for values in ((3, 2), ("0.9", "0.8")):
        key = "page" if values == (3, 2) else "score"
        for run in runs_of({"input": "q", "context": scored_documents(key, *values)}):
            assert [score for *_, score in listed(run)] == [-1.0, -2.0]
            assert not any("score" in note for note in run.notes)


def test_a_score_that_is_no_number_is_no_reordering() -> None:
    """Beside other scores NaN is neither above nor below: it is refused, and the order of the list hides it not."""
    content = b'{"query": "q", "ids": [["a", NaN], ["b", 0.5]], "gold": ["a"]}'
    with pytest.raises(InputError, match="the score of document 'a' in query 'q' is nan"):
        Run.read(io.BytesIO(content))
