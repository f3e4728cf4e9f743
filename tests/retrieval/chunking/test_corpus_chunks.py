"""A corpus of chunks: what is written, what is counted, and what is refused with nothing left behind."""

import gzip
import json
import pickle
from pathlib import Path

import numpy as np
import pytest

from trueval.collection import Collection
from trueval.errors import InputError
from trueval.retrieval.chunking.chunks import Chunker
from trueval.retrieval.chunking.corpus_chunks import chunk_corpus

CHUNKER = Chunker(size=8, overlap=3)
DOCUMENTS = [
    {"_id": "a", "title": "T", "section": "S", "text": "One is here. Two is. Three is there."},
    {"_id": "b", "title": "U", "text": ""},
    {"_id": "c", "text": "# Deep\nFour."},
]


def written(place: Path, documents: list[dict]) -> Path:
    place.write_text("".join(json.dumps(each) + "\n" for each in documents))
    return place


def lines(file: Path) -> list[dict]:
    data = file.read_bytes()
    return [json.loads(line) for line in (gzip.decompress(data) if file.suffix == ".gz" else data).splitlines()]


@pytest.mark.parametrize("name", ["corpus.jsonl", "corpus.jsonl.gz"])
def test_chunks_are_a_corpus_again(tmp_path: Path, name: str) -> None:
    corpus, out = written(tmp_path / "documents.jsonl", DOCUMENTS), tmp_path / name
    found = chunk_corpus(corpus, out, CHUNKER)
    said = lines(out)
    assert [(each["_id"], each["text"]) for each in said] == [
        # Of 8 tokens the breadcrumb takes three, T, › and S; the second sentence does not fit beside the first.
        ("a#0", "T › S\nOne is here."),
        ("a#1", "T › S\nTwo is."),
        ("a#2", "T › S\nThree is there."),
        ("c#0", "Deep\nFour."),
    ]
    body = DOCUMENTS[0]["text"]
    assert [body[each["start"] : each["end"]] for each in said[:3]] == ["One is here.", "Two is.", "Three is there."]
    assert {each["document"] for each in said} == {"a", "c"}
    assert (found.documents, found.empty, found.chunks, found.most) == (2, 1, 4, 7)
    assert found.tokens == sum(each["tokens"] for each in said) == 7 + 6 + 7 + 3
    assert found.notes == [f"{corpus}: 1 documents have no text, and no chunk."]
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "x"}\n')
    assert list(Collection.read(str(tmp_path)).documents) == ["a#0", "a#1", "a#2", "c#0"]


def test_the_same_corpus_gives_the_same_bytes(tmp_path: Path) -> None:
    corpus = written(tmp_path / "d.jsonl", DOCUMENTS)
    files = [tmp_path / f"{name}.jsonl.gz" for name in ("one", "two")]
    for file in files:
        chunk_corpus(corpus, file, CHUNKER)
    assert files[0].read_bytes() == files[1].read_bytes()
    assert files[0].read_bytes()[4:8] == bytes(4)  # where gzip has the time


def test_what_is_twice_is_counted_in_characters(tmp_path: Path) -> None:
    """Windows of 4 words with an overlap of 2: "a b c d", "c d e f"; of 14 characters "c d" is twice."""
    corpus = written(tmp_path / "d.jsonl", [{"_id": "a", "text": "a b c d e f"}])
    found = chunk_corpus(corpus, tmp_path / "o.jsonl", Chunker("windows", 4, 2))
    assert (found.chunks, found.characters, found.repeated) == (2, 14, 3)
    assert found.overlap == 3 / 14


def test_a_breadcrumb_as_long_as_the_size_makes_longer_chunks(tmp_path: Path) -> None:
    corpus = written(tmp_path / "d.jsonl", [{"_id": "a", "title": "one two three four", "text": "x y"}])
    found = chunk_corpus(corpus, tmp_path / "o.jsonl", Chunker("windows", 4, 0))
    assert (found.chunks, found.longer, found.most) == (2, 2, 5)


def test_a_collection_a_folder_of_parts_and_a_file_are_read(tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    (whole / "corpus").mkdir(parents=True)
    parts.mkdir()
    for folder in (whole / "corpus", parts):
        written(folder / "part-0.jsonl", DOCUMENTS[:1])
        written(folder / "part-1.jsonl", DOCUMENTS[1:])
    one = written(tmp_path / "one.jsonl", DOCUMENTS)
    found = [tmp_path / f"{name}.jsonl" for name in "abc"]
    for place, out in zip((whole, parts, one), found, strict=True):
        chunk_corpus(place, out, CHUNKER)
    assert found[0].read_bytes() == found[1].read_bytes() == found[2].read_bytes() != b""


def test_letters_beyond_ascii_are_written_as_they_are(tmp_path: Path) -> None:
    corpus = tmp_path / "d.jsonl"
    corpus.write_text('{"_id": "b", "title": "\\u00e9", "text": "y"}\n{"_id": "c", "text": "\\ud800 z"}\n')
    chunk_corpus(corpus, tmp_path / "o.jsonl", CHUNKER)
    one, other = (tmp_path / "o.jsonl").read_bytes().splitlines()
    assert b'"text": "\xc3\xa9\\ny"' in one
    assert b'"text": "\\ud800 z"' in other  # half a pair has no bytes in UTF-8


BAD = {
    "an id twice": ([{"_id": "a", "text": "x"}, {"_id": "a", "text": "y"}], r"d\.jsonl:2: the id 'a' is there twice"),
    "no id": ([{"text": "x"}], r"d\.jsonl:1: "),
    "no text": ([{"_id": "a", "body": "x"}], r"d\.jsonl: no document has a text\. It must be in 'text'"),
}


@pytest.mark.parametrize(("documents", "said"), BAD.values(), ids=BAD)
def test_bad_documents_are_refused_and_what_was_there_stays(tmp_path: Path, documents: list[dict], said: str) -> None:
    corpus, out = written(tmp_path / "d.jsonl", documents), tmp_path / "o.jsonl"
    out.write_text("earlier")
    with pytest.raises(InputError, match=said):
        chunk_corpus(corpus, out, CHUNKER)
    assert out.read_text() == "earlier"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.jsonl", "o.jsonl"]


def test_the_corpus_itself_is_not_written_over(tmp_path: Path) -> None:
    corpus = written(tmp_path / "d.jsonl", DOCUMENTS)
    with pytest.raises(InputError, match="a file of the corpus itself"):
        chunk_corpus(tmp_path, corpus, CHUNKER)
    with pytest.raises(InputError, match=r"\.jsonl or \.jsonl\.gz"):
        chunk_corpus(corpus, tmp_path / "o.parquet", CHUNKER)


class Halves:
    """An executor that gives the second half of its items away first, and pickles what it is given."""

    def __init__(self) -> None:
        self.items: list[int] = []

    def map(self, work, items, /):
        items = list(items)
        self.items.append(len(items))
        work, items = pickle.loads(pickle.dumps((work, items)))
        done = {place: work(items[place]) for place in reversed(range(len(items)))}
        return [done[place] for place in range(len(items))]


@pytest.mark.parametrize("name", ["corpus.jsonl", "corpus.jsonl.gz"])
@pytest.mark.parametrize("piece", [1, 40, 1 << 20])
def test_processes_write_the_same_bytes(monkeypatch, tmp_path: Path, name: str, piece: int) -> None:
    documents = [{**each, "_id": f"{each['_id']}{number}"} for number in range(30) for each in DOCUMENTS]
    corpus = written(tmp_path / "documents.jsonl", documents)
    alone = chunk_corpus(corpus, tmp_path / f"alone-{name}", CHUNKER)
    monkeypatch.setattr("trueval.retrieval.chunking.corpus_chunks.PIECE", piece)
    executor, seen = Halves(), []
    found = chunk_corpus(corpus, tmp_path / name, CHUNKER, executor=executor, tell=seen.append)
    assert found == alone
    assert (tmp_path / name).read_bytes() == (tmp_path / f"alone-{name}").read_bytes()
    assert max(executor.items) <= 16
    assert sum(executor.items) == {1: 90, 40: sum(executor.items), 1 << 20: 1}[piece]
    assert seen == [0]


def test_tokens_of_a_model_are_cut_here(tmp_path: Path) -> None:
    executor, corpus = Halves(), written(tmp_path / "documents.jsonl", DOCUMENTS)
    chunker = Chunker(size=8, overlap=3, tokenizer=lambda text: np.array([[0, len(text)]]))
    assert chunk_corpus(corpus, tmp_path / "corpus.jsonl", chunker, executor=executor).chunks == 1
    assert not executor.items
