"""Logs of answers: what each tool writes, and lines that are refused."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from tests.answers.small import write_lines

from trueval.answers.answer import Claim, LoggedAnswer, Passage, ReferenceClaim
from trueval.answers.answer_logs import read_answers
from trueval.errors import InputError

ADA = LoggedAnswer(
    "Who?",
    "Who?",
    "Ada did [2]. She was first.",
    (Claim("Ada did.", (1,)), Claim("She was first.")),
    ("Ada.",),
    (ReferenceClaim("Ada."),),
    (Passage("1", "Bob slept."), Passage("2", "Ada did it.")),
)
PASSAGES = ["Bob slept.", "Ada did it."]
TOOLS: dict[str, dict[str, Any]] = {
    "ours": {"question": "Who?", "answer": ADA.text, "contexts": PASSAGES, "reference": "Ada."},
    "ragas": {"user_input": "Who?", "response": ADA.text, "retrieved_contexts": PASSAGES, "reference": "Ada."},
    "ragas 0.1": {"question": "Who?", "answer": ADA.text, "contexts": PASSAGES, "ground_truth": "Ada."},
    "deepeval": {
        "input": "Who?",
        "actual_output": ADA.text,
        "retrieval_context": PASSAGES,
        "expected_output": "Ada.",
        "context": ["the ideal context, which is not what was read"],
    },
    "langsmith": {
        "id": "run 7",
        "inputs": {"question": "Who?"},
        "outputs": {"answer": ADA.text, "documents": [{"page_content": each} for each in PASSAGES]},
        "reference_outputs": {"answer": "Ada."},
    },
    "phoenix": {
        "attributes.input.value": "Who?",
        "attributes.output.value": ADA.text,
        "attributes.retrieval.documents": [{"document.content": each} for each in PASSAGES],
        "reference": "Ada.",
    },
    "phoenix, nested": {
        "attributes": {
            "input": {"value": "Who?"},
            "output": {"value": ADA.text},
            "retrieval": {"documents": [{"document": {"content": each}} for each in PASSAGES]},
        },
        "reference": "Ada.",
    },
}


# A record of AnswerEvaluationResult.per_question, as mteb's pull request 4869 builds it (mteb/agentic/evaluator.py).
MTEB = {
    "query_id": "q1",
    "answer": ADA.text,
    "correct": 1.0,
    "cited_doc_ids": ["d2"],
    "latency_s": 0.4,
    "cost_usd": None,
    "num_llm_calls": 1,
}


def read(*rows: Any) -> Any:
    return read_answers(io.BytesIO("".join(json.dumps(row) + "\n" for row in rows).encode()))


@pytest.mark.parametrize("tool", TOOLS)
def test_logs_of_every_tool_hold_the_same_answer(tool: str) -> None:
    (found,) = read(TOOLS[tool]).answers
    assert found == ADA


def test_a_list_of_objects_is_a_log_too() -> None:
    rows = [{**TOOLS["ragas"], "query_id": f"q{at}"} for at in range(2)]
    found = read_answers(io.BytesIO(json.dumps(rows, indent=1).encode()))
    assert found.query_ids == ("q0", "q1")


def test_ragchecker_and_trec_are_read_with_their_claims_and_citations() -> None:
    """RAGChecker has ids of documents; TREC RAG has sentences whose citations count references from 0."""
    checked = {
        "query_id": "7",
        "query": "Who?",
        "response": "Ada did.",
        "gt_answer": "Ada.",
        "retrieved_context": [{"doc_id": "d9", "text": "Ada did it."}],
        "gt_answer_claims": ["Ada did it."],
    }
    trec = {
        "topic_id": "8",
        "topic": "Who?",
        "references": ["d9", "d8"],
        "answer": [{"text": "Ada did.", "citations": [1, 0]}, {"text": "Yes.", "citations": []}],
        "contexts": [{"docid": "d9", "segment": "Bob slept."}, {"docid": "d8", "segment": "Ada did it."}],
        "nuggets": [{"text": "Ada did it", "importance": "vital"}],
    }
    one, other = read(checked, trec).answers
    assert (one.query, one.question, one.passages) == ("7", "Who?", (Passage("d9", "Ada did it."),))
    assert one.reference_claims == (ReferenceClaim("Ada did it."),)
    assert other.claims == (Claim("Ada did.", (1, 0)), Claim("Yes."))
    assert (other.references, other.reference_claims) == ((), (ReferenceClaim("Ada did it", "vital"),))


def test_what_a_log_lacks_is_counted_and_named() -> None:
    rows = [
        {"question": "a", "answer": "x [3].", "contexts": ["p"], "reference": "r"},
        {"question": "b", "answer": "", "reference": " "},
    ]
    found = read(*rows)
    assert found.answers[1].passages is None
    assert found.answers[1].references == ()
    assert found.notes == (
        "no context is given: measures of contexts are not known for 1 question of 2, such as 'b'.",
        "no reference is given: measures against it are not known for 1 question of 2, such as 'b'.",
        "the answer is empty in 1 question of 2, such as 'b'.",
        "an answer cites a passage that was not given, which supports nothing, in 1 question of 2, such as 'a'.",
    )


OK = {"question": "a", "answer": "x"}


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"answer": "x"}, "a line must be an object with a question and its answer. Got the keys 'answer'"),
        ({"question": "a"}, "the answer is missing"),
        ({**OK, "answer": 7}, "answer must be a text. Got '7'"),
        ({**OK, "answer": "\ud800"}, "answer must be a text"),
        ({**OK, "question": " "}, "question must be a text that is not empty"),
        ({**OK, "query_id": [1]}, "query_id must be a string or an integer"),
        ({**OK, "contexts": {"a": 1}}, "contexts must be a list"),
        ({**OK, "contexts": [{"id": "d1"}]}, "contexts must be texts, or objects with a text under one of"),
        ({**OK, "contexts": [None]}, "contexts must be a text. Got None"),
        ({**OK, "reference": ["a", 1]}, "reference must be a text"),
        ({**OK, "claims": [{"text": ""}]}, "claims.text must be a text that is not empty"),
        ({**OK, "claims": [{"text": "t", "citations": [1.5]}]}, "claims.citations must be numbers or ids of passages"),
        ({**OK, "nuggets": [{"text": "t", "importance": "much"}]}, "nuggets.importance must be vital or okay"),
        ({**OK, "abstained": "yes"}, "abstained must be true or false. Got 'yes'"),
        ({**OK, "question": "b", "cluster": {}}, "cluster must be a string or an integer"),
        (OK, "question 'a' is there twice"),
    ],
)
def test_bad_lines_are_refused_with_line_key_and_cure(row: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as raised:
        read(OK, row)
    assert said in str(raised.value)
    assert raised.value.line == 2


def test_clusters_are_given_to_all_questions_or_to_none() -> None:
    with pytest.raises(InputError, match="question 'b' has no cluster, and others have"):
        read({**OK, "cluster": "c"}, {**OK, "question": "b"})


def test_an_empty_file_is_refused(tmp_path: Any) -> None:
    with pytest.raises(InputError, match="the file is empty"):
        read_answers(write_lines(tmp_path / "empty.jsonl"))


def test_records_of_mteb_are_read_alone_or_as_their_evaluator_holds_them(tmp_path: Path) -> None:
    """They have neither question nor context nor reference: not known, counted, never zero."""
    whole = {"scores": {"accuracy": 1.0}, "per_question": [MTEB, {**MTEB, "query_id": "q2", "answer": ""}]}
    (tmp_path / "whole.json").write_text(json.dumps(whole))
    lines = write_lines(tmp_path / "lines.jsonl", *whole["per_question"])  # type: ignore[arg-type]
    for place in (str(tmp_path / "whole.json"), lines):
        found = read_answers(place)
        assert [(each.query, each.text) for each in found.answers] == [("q1", ADA.text), ("q2", "")]
        assert found.answers[0].passages is None
        assert {*found.notes} == {
            "no context is given: measures of contexts are not known for 2 questions of 2, such as 'q1'.",
            "no reference is given: measures against it are not known for 2 questions of 2, such as 'q1'.",
            "the answer is empty in 1 question of 2, such as 'q2'.",
        }
