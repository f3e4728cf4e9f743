"""Prompts: a log that the reader of contexts gives back as the first documents of the run."""

import json
from pathlib import Path

import pytest

from trueval import Run
from trueval.errors import InputError, PolicyError
from trueval.rag.contexts import read_contexts
from trueval.retrieval.pipeline.prompt_log import write_contexts

RUN = Run.from_dict({"q": {"a": 0.1, "b": 0.3, "c": 0.1, "d": 0.2}, "p": {"a": 1.0}})
QUERIES, TEXTS = (
    {"q": "What is a much longer question of many words?", "p": "a é"},
    {doc: f"text {doc}" for doc in "abcd"},
)


@pytest.mark.parametrize(("k", "inside"), [(1, 0), (2, 0), (3, 1), (4, 0), (9, 0)])
def test_the_first_documents_come_back_with_their_scores(tmp_path: Path, k: int, inside: int):
    file = tmp_path / "log.jsonl"
    cut = write_contexts(RUN, k, file, QUERIES, TEXTS)
    assert (cut.contexts, cut.inside_ties, bool(cut.note)) == (2, inside, inside > 0)
    found = read_contexts(file)
    assert found.run.query_ids.to_list() == ["q", "p"]
    expected = [("b", 0.3), ("d", 0.2), ("a", 0.1), ("c", 0.1)][:k]
    assert found.run.frame.filter(query_id="q").select("doc_id", "score").rows() == expected
    row = json.loads(file.read_text(encoding="utf-8").splitlines()[1])
    assert row == {"query_id": "p", "question": "a é", "documents": [{"id": "a", "score": 1.0, "text": "text a"}]}


def test_texts_that_are_not_there_are_named(tmp_path: Path):
    with pytest.raises(InputError, match="'c' has no text"):
        write_contexts(RUN, 4, tmp_path / "log", QUERIES, dict.fromkeys("abd", ""))
    with pytest.raises(PolicyError, match=">= 1"):
        write_contexts(RUN, 0, tmp_path / "log", QUERIES)
    assert not list(tmp_path.iterdir())


def test_half_a_surrogate_pair_is_written_as_json_has_it(tmp_path: Path):
    file = tmp_path / "log.jsonl"
    write_contexts(RUN, 1, file, QUERIES, {**TEXTS, "b": "half \ud800"})
    assert json.loads(file.read_text(encoding="utf-8").splitlines()[0])["documents"][0]["text"] == "half \ud800"
