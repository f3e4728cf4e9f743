"""Our BM25 against Lucene itself, which Anserini runs: docs/retrieval.md says where the jar comes from."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest
from tests.extras import need

import trueval as tv
from trueval import Run
from trueval.collection import Collection
from trueval.retrieval.indexes.index import make_index

pytestmark = pytest.mark.evidence
need("bm25s", extra="retrieval")

SCIFACT = Path(__file__).resolve().parents[3] / "shared" / "data" / "collections" / "scifact-test"


@pytest.fixture(scope="module")
def anserini() -> list[str]:
    """What calls Anserini."""
    jar = os.environ.get("TRUEVAL_ANSERINI_JAR")
    if not jar or not Path(jar).is_file():
        pytest.skip("TRUEVAL_ANSERINI_JAR names no fatjar of Anserini")
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if not java or not Path(java).is_file():
        pytest.skip("there is no Java: neither in JAVA_HOME nor on the path")
    told = subprocess.run([java, "-cp", jar, "io.anserini.search.SearchCollection", "-options"], capture_output=True)
    if b"UnsupportedClassVersionError" in told.stderr:
        pytest.skip("this Java is too old for the jar; Anserini 1.7 needs 21")
    return [java, "-cp", jar]


@pytest.fixture(scope="module")
def scifact() -> Collection:
    if not SCIFACT.is_dir():
        pytest.skip("real data is absent: ../shared/data/collections/scifact-test")
    return Collection.read(str(SCIFACT))


def run_of_lucene(anserini: list[str], collection: Collection, folder: Path, how: list[str]) -> Run:
    """The run of 1,000 documents that Anserini makes, with k1 .9 and b .4."""
    (folder / "documents").mkdir()
    rows = [json.dumps({"id": doc_id, "contents": text}) for doc_id, text in collection.documents.items()]
    (folder / "documents" / "all.jsonl").write_text("\n".join(rows), encoding="utf-8")
    queries = [f"{query}\t{' '.join(text.split())}\n" for query, text in collection.queries.items()]
    (folder / "queries.tsv").write_text("".join(queries), encoding="utf-8")
    accurate = [each for each in how if each == "-bm25.accurate"]
    source = ["-collection", "JsonCollection", "-input", folder / "documents", "-threads", "1", "-optimize", *accurate]
    topics = ["-topicReader", "TsvString", "-topics", folder / "queries.tsv", "-hits", "1000", *how]
    calls = {"index.IndexCollection": source, "search.SearchCollection": [*topics, "-output", folder / "run.trec"]}
    for kind, options in calls.items():
        command = [*anserini, f"io.anserini.{kind}", "-index", folder / "index", *options]
        subprocess.run(list(map(str, command)), capture_output=True, check=True)
    return Run.read(str(folder / "run.trec"))


@pytest.mark.parametrize(("how", "value"), [("-bm25", 0.6789), ("-bm25.accurate", 0.6777)])
def test_scores_are_those_of_lucene(anserini: list[str], scifact: Collection, tmp_path: Path, how: str, value: float):
    theirs = run_of_lucene(anserini, scifact, tmp_path, [how])
    index = make_index("bm25")
    index.build(list(scifact.documents.values()))
    hits = index.search(list(scifact.queries.values()), 1000)
    ours = hits.to_run(list(scifact.queries), pl.Series(list(scifact.documents)), "ours")
    found = [tv.evaluate(run, scifact.judgments, ["nDCG@10"])["nDCG@10"].expected for run in (theirs, ours)]
    assert found == pytest.approx([value, 0.6777], abs=5e-5)
    both = theirs.frame.join(ours.frame, on=["query_id", "doc_id"], suffix="_ours")
    assert both.height / theirs.frame.height > 0.99
    same = ((both["score"] / both["score_ours"] - 1).abs() < 1e-4).mean()
    if how == "-bm25.accurate":  # the others are of texts that Lucene's tokenizer cuts in another way
        assert same > 0.98
    else:  # Lucene keeps lengths in 8 bits, unless it is told not to
        assert same < 0.2
