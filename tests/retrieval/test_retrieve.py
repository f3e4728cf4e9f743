"""`retrieve`: a run in one call, by a pipeline, its file or one index."""

import json
from pathlib import Path

import pytest
from tests.extras import need

import trueval as tv
from trueval.retrieval.pipeline.pipeline import Pipeline
from trueval.sample import sample_path

need("bm25s", extra="retrieval")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A pipeline whose file names the sample."""
    path = tmp_path / "words.toml"
    path.write_text(f"[corpus]\npath = {json.dumps(str(sample_path()))}\n[sparse]\ndepth = 7\n", encoding="utf-8")
    return path


def test_a_file_a_pipeline_and_an_index_are_one(file: Path):
    by_index = tv.retrieve(sample_path(), index="bm25", depth=7)
    for found in (tv.retrieve(pipeline=file), tv.retrieve(str(sample_path()), pipeline=Pipeline.read(file))):
        assert found.run.documents.equals(by_index.run.documents)
    assert (by_index.run.name, tv.retrieve(pipeline=str(file)).run.name) == ("bm25", "words")
    assert by_index.run.documents.height == 7 * 24


def test_judgments_of_the_collection_say_what_stages_are_worth(file: Path):
    found = tv.retrieve(pipeline=file)
    assert found.quality is not None
    assert found.quality.rel == 1
    assert tv.retrieve(pipeline=file, rel=2).to_dict()["judged"]["rel"] == 2
    bare = tv.Collection("bare", "bare", {"a": "red fox"}, {"q": "fox"})
    assert tv.retrieve(bare, index="bm25").quality is None


def test_other_queries_are_asked(file: Path, tmp_path: Path):
    sample = tv.Collection.read(str(sample_path()))
    query, text = next(iter(sample.queries)), next(iter(sample.documents.values()))
    (tmp_path / "mine.jsonl").write_text(json.dumps({"_id": query, "text": text}), encoding="utf-8")
    for given in (None, sample):
        found = tv.retrieve(given, pipeline=file, queries=tmp_path / "mine.jsonl")
        assert found.run.documents["doc_id"][0] == next(iter(sample.documents))
        assert found.run.query_ids.to_list() == [query]


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ({}, "Name a pipeline or an index"),
        ({"index": "bm25", "pipeline": "p.toml"}, "and not both"),
        ({"index": "bm25"}, "Name a collection"),
        ({"pipeline": "p.toml", "depth": 3}, "model and depth go with an index"),
        ({"index": "bm25", "model": "m"}, "bm25 searches words and takes no model"),
        ({"index": "flat"}, "flat searches vectors"),
        ({"index": "bm25", "scoring": "exact"}, "scoring"),
        ({"collection": tv.Collection("c", "c", {"a": "x"}, {"q": "x"}), "index": "bm25", "rel": 1}, "c has none"),
    ],
)
def test_what_does_not_go_together_is_refused(named: dict, told: str):
    with pytest.raises(tv.errors.PolicyError, match=told):
        tv.retrieve(**named)
