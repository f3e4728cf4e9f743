"""`trueval init`: files that every command reads as they are, and nothing that is there is overwritten."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Outcome
from tests.extras import need

from trueval.cli.init import WORKFLOW
from trueval.golden.build.golden_plan import GoldenPlan
from trueval.retrieval.pipeline.pipeline import Pipeline
from trueval.sample import sample_path
from trueval.tradeoff.config.plan import SweepPlan

Command = Callable[..., Outcome]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the sample's documents cut, their questions beside them."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(sample_path() / "documents", tmp_path / "documents")
    (tmp_path / "corpus").mkdir()
    shutil.copy(sample_path() / "questions.jsonl", tmp_path / "corpus" / "queries.jsonl")
    shutil.copy(sample_path() / "labels.qrels", tmp_path)
    return tmp_path


@pytest.mark.parametrize("model", ["all-MiniLM-L6-v2", ""])
@pytest.mark.parametrize("reranker", ["some/reranker", ""])
@pytest.mark.parametrize("judge", ["gpt-5-mini", "labels:labels.qrels"])
@pytest.mark.parametrize("language", ["en", "fr"])
def test_the_files_are_those_that_commands_read(
    trueval: Command, project: Path, model: str, reranker: str, judge: str, language: str
) -> None:
    flags = ("--model", model, "--reranker", reranker, "--judge", judge, "--language", language)
    assert trueval("init", "corpus", *flags).status == 0
    pipeline = Pipeline.read(project / "pipeline.toml")
    assert ("embed" in pipeline.settings) == ("fuse" in pipeline.settings) == bool(model)
    assert ("rerank" in pipeline.settings) == bool(reranker)
    assert ("fr" in pipeline.settings["sparse"]["index"]) == (language == "fr")
    assert GoldenPlan.read(project / "golden.toml").judge.is_model == (judge == "gpt-5-mini")
    plan = SweepPlan.read(project / "sweep.toml")
    indexes, depths = 2, 2  # of [index] and [rerank], which are lists
    found = 2 * indexes + 1 if model else 1  # dense, hybrid and sparse
    reranked = depths * (indexes if model else 1) if reranker else 0
    assert len(plan.systems) == found + reranked
    assert {each.split("/")[-1] for each in map(str, (project / "schemas").iterdir())} == {
        f"{name}.json" for name in ("pipeline", "golden", "sweep")
    }


def test_what_is_there_stays(trueval: Command, project: Path) -> None:
    (project / "golden.toml").write_text("mine", encoding="utf-8")
    _, _, err = trueval("init", "corpus")
    assert "golden.toml is there and stays" in err
    assert (project / "golden.toml").read_text(encoding="utf-8") == "mine"
    assert err.splitlines()[-1] == "Next: trueval retrieve --pipeline pipeline.toml --run run.trec"


def test_a_sweep_is_measured_on_the_judgments_of_the_corpus_or_on_the_golden_set(
    trueval: Command, project: Path
) -> None:
    assert trueval("init", "corpus", "--out", "new").status == 0
    assert SweepPlan.read(project / "new" / "sweep.toml").measuring.judgments == str(project / "new" / "golden")
    assert "trueval evaluate golden new.trec" in (project / "new" / WORKFLOW).read_text(encoding="utf-8")
    (project / "judged" / "corpus" / "qrels").mkdir(parents=True)
    (project / "judged" / "corpus" / "qrels" / "test.tsv").write_text("", encoding="utf-8")
    assert trueval("init", "corpus", "--out", "judged").status == 0
    assert SweepPlan.read(project / "judged" / "sweep.toml").measuring.judgments is None
    assert "trueval evaluate corpus/qrels/test.tsv" in (project / "judged" / WORKFLOW).read_text(encoding="utf-8")


def test_the_sample_comes_with_its_files_and_overwrites_none(trueval: Command, tmp_path: Path) -> None:
    assert trueval("init", "--sample", "--out", tmp_path).status == 0
    assert len(list((tmp_path / "documents").iterdir())) == 7
    (tmp_path / "labels.qrels").write_text("mine", encoding="utf-8")
    assert trueval("init", "--sample", "--out", tmp_path).status == 0
    assert (tmp_path / "labels.qrels").read_text(encoding="utf-8") == "mine"


def test_without_a_corpus_it_says_where_questions_go_and_what_writes_some(
    trueval: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _, _, err = trueval("init", "--model", "")
    assert "Your questions go to corpus/queries.jsonl" in err
    assert "trueval golden questions writes such a file, after trueval chunk" in err
    assert err.splitlines()[-1] == "Next: trueval chunk DOCUMENTS --out corpus/corpus.jsonl"


def test_a_file_is_no_place_for_a_project(trueval: Command, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine", encoding="utf-8")
    status, _, err = trueval("init", "--sample", "--out", tmp_path / "mine")
    assert (status, "--out must name a folder" in err, "Traceback" in err) == (1, True, False)
    assert (tmp_path / "mine").read_text(encoding="utf-8") == "mine"


@pytest.mark.slow
def test_the_sample_documents_go_the_whole_way(trueval: Command, tmp_path: Path, monkeypatch) -> None:
    """Chunks have the ids of the labels, and every question has a passage of grade 5."""
    need("faiss", "bm25s", extra="retrieval")
    monkeypatch.chdir(tmp_path)
    assert trueval("init", "--sample", "--model", "").status == 0
    assert trueval("chunk", "documents", "--out", "corpus/corpus.jsonl").status == 0
    assert trueval("golden", "build", "golden.toml", "--out", "golden").status == 0
    assert trueval("retrieve", "--pipeline", "pipeline.toml", "--run", "run.trec").status == 0
    status, out, err = trueval("evaluate", "golden", "run.trec", "-m", "Success(rel=5)@100", "--format", "csv")
    assert status == 0, err
    header, row = (line.split(",") for line in out.splitlines())
    assert float(dict(zip(header, row, strict=True))["expected"]) >= 11 / 12  # BM25 finds no French for one of them
