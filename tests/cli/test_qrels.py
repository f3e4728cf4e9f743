"""`--qrels`: every command that measures takes a golden set's folder in place of a collection's judgments."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Outcome
from tests.extras import need

from trueval.sample import sample_path

need("faiss", "bm25s", extra="retrieval")

Command = Callable[..., Outcome]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """The sample's corpus and queries without judgments."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    for name in ("corpus.jsonl", "queries.jsonl"):
        shutil.copy(sample_path() / name, folder)
    return folder


@pytest.fixture
def golden(tmp_path: Path) -> Path:
    """The sample's judgments as the folder of a golden set."""
    folder = tmp_path / "golden"
    folder.mkdir()
    shutil.copy(sample_path() / "qrels.trec", folder)
    (folder / "golden.json").write_text(json.dumps({"kind": "golden", "format": 1}), encoding="utf-8")
    return folder


def test_retrieve_says_what_stages_are_worth(trueval: Command, corpus: Path, golden: Path) -> None:
    """Grades 4 and 5 of a golden set are relevant."""
    run = ("--run", corpus.parent / "run.trec")
    status, out, err = trueval("retrieve", corpus, "--index", "bm25", *run, "--qrels", golden, "--format", "json")
    assert status == 0, err
    relevant = sum(int(line.split()[-1]) >= 4 for line in (golden / "qrels.trec").read_text().splitlines())
    assert 0 < json.loads(out)["stages"][0]["relevant"] <= relevant


@pytest.mark.parametrize(
    "command",
    [
        ("probe", "noise", "--bm25", "--levels", "0,4", "--queries", "5"),
        ("probe", "join", "--bm25", "--conditions", "noise-4", "--queries", "12"),
    ],
)
def test_probes_measure_with_it(trueval: Command, corpus: Path, golden: Path, command: tuple[str, ...]) -> None:
    group, name, *options = command
    status, _, err = trueval(group, name, corpus, *options)
    assert status == 1
    assert "there are no judgments" in err
    assert "--qrels" in err
    status, out, err = trueval(group, name, corpus, *options, "--qrels", golden, "--format", "json")
    assert status == 0, err
    assert "nDCG" in out or "R@" in out or "RA-nWG" in out


@pytest.mark.slow
def test_precision_measures_with_it(trueval: Command, corpus: Path, golden: Path) -> None:
    need("torch", "sentence_transformers", extra="models")
    arguments = ("precision", "audit", corpus, "--model", "all-MiniLM-L6-v2", "--dtype", "float32", "--limit", "3")
    status, out, err = trueval(*arguments, "--qrels", golden, "-m", "R@10", "--format", "json")
    assert status == 0, err
    assert json.loads(out)["kind"] == "precision"
