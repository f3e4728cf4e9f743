"""`trueval precision repair`: the answer, the list of pairs, and what is refused."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Outcome
from tests.retrieval.pipeline.test_repair_stage import collection, log

from trueval.collection import Collection

__all__ = ["collection", "log"]

Command = Callable[..., Outcome]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    low = "q Q0 a 1 0.5 x\nq Q0 b 2 0.5 x\nq Q0 c 3 0.25 x\nr Q0 a 1 1 x\n"
    (tmp_path / "low.trec").write_text(low, encoding="utf-8")
    exact = "q Q0 b 1 0.501 x\nq Q0 a 2 0.499 x\nq Q0 c 3 0.25 x\nr Q0 a 1 1 x\n"
    (tmp_path / "exact.trec").write_text(exact, encoding="utf-8")
    return tmp_path


def test_the_answer_and_the_list(trueval: Command, files: Path) -> None:
    given = ("precision", "repair", "low.trec", "-k", "1", "--reference", "exact.trec")
    text = " ".join(trueval(*given, "--out", "out").out.split())
    assert text.startswith(
        "2 pairs of 4 (50.00%) must be scored again for the exact first 1 of low, in 1 of 2 queries."
    )
    assert "By its own scores low has the first 1 of the reference in 1 of 2 queries, after the repair in 2." in text
    assert trueval(*given, "--format", "csv").out.split() == ["query,document", "q,a", "q,b"]
    result = json.loads((files / "out" / "precision-repair.json").read_text(encoding="utf-8"))
    assert [each["role"] for each in result["files"]] == ["run", "reference"]
    assert "Repair" in (files / "out" / "report.html").read_text(encoding="utf-8")


def test_nothing_to_score_again(trueval: Command, files: Path) -> None:
    text = " ".join(trueval("precision", "repair", "exact.trec", "-k", "1", "--within", "0").out.split())
    assert text.startswith("Nothing to score again: the first 1 of all 2 queries are sure within 0.")


def test_what_is_refused(trueval: Command, files: Path) -> None:
    found = trueval("precision", "repair", "low.trec", "--within", "some")
    assert (found.status, found.out) == (2, "")
    assert "A width must be" in " ".join(found.err.split())
    (files / "less.trec").write_text("r Q0 a 1 1 x\n", encoding="utf-8")
    found = trueval("precision", "repair", "low.trec", "--reference", "less.trec")
    assert (found.status, found.out) == (1, "")
    assert "lacks 3 of 4 pairs" in " ".join(found.err.split())


def test_a_pipeline_scores_its_doubtful_documents_again(
    trueval: Command, files: Path, collection: Collection, log: list[tuple[str, str, int]]
) -> None:
    for name, texts in (("corpus", collection.documents), ("queries", collection.queries)):
        lines = "".join(json.dumps({"_id": each, "text": text}) + "\n" for each, text in texts.items())
        (files / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    (files / "p.toml").write_text(
        '[sparse]\nindex = "bm25(language=None)"\n[rerank]\nmodel = "reranker"\nscoring = "model"\ndepth = 30\n'
        '[repair]\nk = 3\nwithin = "0.01"\n',
        encoding="utf-8",
    )
    given = ("precision", "repair", ".", "--pipeline", "p.toml", "--cache", "cache", "--check", "--out", "out")
    text = " ".join(trueval(*given).out.split())
    assert "of 240 (" in text
    assert "were scored again in float32 for the exact first 3 of p, in" in text
    assert "with float32 scoring of the same outputs in" in text
    assert "Next: trueval retrieve ." in text
    result = json.loads((files / "out" / "precision-repair.json").read_text(encoding="utf-8"))
    assert [each["role"] for each in result["files"]] == ["pipeline"]
    assert result["restored"]["after"] == 8
    log.clear()
    again = json.loads(trueval(*given[:-3], "--format", "json").out)
    assert (again["rescored"], log) == (result["rescored"], [])  # from the cache
    wide = json.loads(trueval(*given[:-3], "-k", "1", "--order", "--within", "0.02", "--format", "json").out)
    assert (wide["k"], wide["within"], wide["order"]) == (1, "0.02", True)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("--pipeline", "p.toml", "--reference", "exact.trec"), "makes it."),
        (("--check",), "go with --pipeline"),
        (("--cache", "c"), "go with --pipeline"),
        (("--pipeline", "p.toml"), "the last scores here are those of a search of words"),
    ],
)
def test_what_does_not_go_together(trueval: Command, files: Path, given: tuple[str, ...], told: str) -> None:
    (files / "p.toml").write_text('[sparse]\nindex = "bm25"\n', encoding="utf-8")
    found = trueval("precision", "repair", "low.trec", *given)
    assert (found.status, found.out) == (2, "")
    assert told in " ".join(found.err.split())
