"""`trueval chunk`: what it prints and refuses."""

import json
from pathlib import Path

import pytest

from trueval.cli.demo_model import model_is_here

TEXT = {"_id": "a", "title": "T", "text": "One is here. Two is. Three is there."}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    place = tmp_path / "corpus.jsonl"
    place.write_text(json.dumps(TEXT) + "\n")
    return place


def test_it_says_what_came_of_it(trueval, corpus: Path, tmp_path: Path) -> None:
    words = ["chunk", corpus, "--out", tmp_path / "o.jsonl", "--size", 8, "--overlap", 3]
    status, out, err = trueval(*words)
    assert (status, err.strip()) == (0, f"wrote {tmp_path / 'o.jsonl'}")
    # T, One is here ., Two is .; then T, Two is ., Three is there .
    assert out.splitlines()[1].split() == ["1", "2", "8.0", "8", "0", "16.28%"]
    result = json.loads(trueval(*words, "--format", "json").out)
    assert {name: result[name] for name in ("kind", "documents", "chunks", "mean", "longer")} == {
        "kind": "chunks", "documents": 1, "chunks": 2, "mean": 8.0, "longer": 0,
    }  # fmt: skip
    assert result["overlap"] == len("Two is.") / (len("One is here. Two is.") + len("Two is. Three is there."))


def test_the_folder_of_the_chunks_is_made(trueval, corpus: Path, tmp_path: Path) -> None:
    assert trueval("chunk", corpus, "--out", tmp_path / "new" / "chunks" / "corpus.jsonl").status == 0
    assert json.loads((tmp_path / "new" / "chunks" / "corpus.jsonl").read_text())["document"] == "a"


def test_breadcrumbs_titles_and_fields_are_chosen(trueval, tmp_path: Path) -> None:
    place = tmp_path / "d.jsonl"
    place.write_text('{"_id": "a", "name": "N", "abstract": "First.", "body": "Second."}\n')
    options = ["--how", "windows", "--overlap", 0, "--titles", "name", "--fields", "abstract, body"]
    for more, text in (([], "N\nFirst.\nSecond."), (["--no-breadcrumbs"], "First.\nSecond.")):
        assert trueval("chunk", place, "--out", tmp_path / "o.jsonl", *options, *more).status == 0
        assert json.loads((tmp_path / "o.jsonl").read_text())["text"] == text


def test_what_cannot_be_is_refused_in_one_line(trueval, corpus: Path, tmp_path: Path) -> None:
    cases = {
        ("--size", "5", "--overlap", "5"): (2, "The overlap must be at least 0 and below the size"),
        ("--tokens", "openai:text-embedding-3-small"): (1, "the tokens of a hosted model are not known here"),
        ("--fields", ","): (2, "name at least one field"),
        ("--fields", "body"): (1, "no document has a text. It must be in 'body'"),
    }
    for options, (status, said) in cases.items():
        outcome = trueval("chunk", corpus, "--out", tmp_path / "o.jsonl", *options, columns=200)
        assert (outcome.status, said in outcome.err) == (status, True), outcome.err
    assert trueval("chunk", corpus, "--out", corpus / "o.jsonl").status == 2
    assert not (tmp_path / "o.jsonl").exists()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # imports of transformers warn
def test_tokens_are_those_of_a_model(trueval, tmp_path: Path) -> None:
    if not model_is_here():
        pytest.skip("the packaged model is not installed")
    place = tmp_path / "d.jsonl"
    place.write_text('{"_id": "a", "text": "unbelievability"}\n')
    words = ["chunk", place, "--out", tmp_path / "o.jsonl", "--format", "json"]
    counts = [json.loads(trueval(*words, *more).out)["tokens"] for more in ([], ["--tokens", "all-MiniLM-L6-v2"])]
    assert counts[0] == 1
    assert counts[1] > 1
