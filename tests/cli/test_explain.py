"""`trueval explain`: what it prints, in every form."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Outcome

Command = Callable[..., Outcome]


@pytest.fixture
def same_list(tmp_path: Path) -> tuple[Path, Path]:
    """Ten documents, relevance 1011001001, eight relevant ones judged."""
    qrels = [f"q 0 d{i} {flag}" for i, flag in enumerate("1011001001")] + [f"q 0 m{i} 1" for i in range(3)]
    run = [f"q Q0 d{i} {i + 1} {10 - i} x" for i in range(10)]
    paths = tmp_path / "qrels.trec", tmp_path / "run.trec"
    for path, lines in zip(paths, (qrels, run), strict=True):
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return paths


def test_the_table_names_normalizer_and_base_in_eighty_columns(trueval: Command, same_list: tuple[Path, Path]) -> None:
    status, out, err = trueval("explain", *same_list, "-m", "AP@5")
    assert (status, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    rows = {line.split()[0]: line for line in out.splitlines() if line.strip()}
    assert "0.3021" in rows["ours"]
    assert "0.4833" in rows["sentence-transformers"]
    assert "normalizer: min(R, k)" in rows["sentence-transformers"]
    assert "0.8056" in rows["torchmetrics"] or "0.8056" in out
    assert "normalizer: the" in out
    assert "base: the documents" in out
    assert "sklearn has no AP@5" in out


def test_json_and_markdown_say_the_same(trueval: Command, same_list: tuple[Path, Path]) -> None:
    status, out, _ = trueval("explain", *same_list, "-m", "AP@5", "--format", "json")
    entry = json.loads(out)
    assert status == 0
    values = {row["convention"]: row["value"] for row in entry["conventions"]}
    assert round(values["torchmetrics"], 3) == 0.806
    assert values["sklearn"] is None
    assert [cause["topic"] for cause in entry["conventions"][4]["causes"]] == ["normalizer"]
    markdown = trueval("explain", *same_list, "-m", "AP@5", "--format", "markdown").out
    for row in entry["conventions"]:
        assert f"| {row['convention']} |" in markdown
    assert "| q | torchmetrics | 0.3021 | 0.8056 | normalizer" in markdown


def test_notes_go_to_stderr_and_refusals_into_the_table(trueval: Command, files: Path) -> None:
    (files / "two.trec").write_text("q 0 a 1\nr 0 a 1\n", encoding="utf-8")
    status, out, err = trueval("explain", files / "two.trec", files / "tied.trec", "-m", "RR")
    assert status == 0
    assert "missing from the run" in err
    assert "missing query: is refused" in " ".join(out.split())
    assert "left out" in out


@pytest.mark.parametrize("measure", ["AP@0", "NDGC@10", "AP@5 RR"])
def test_a_bad_measure_is_misuse(trueval: Command, files: Path, measure: str) -> None:
    assert trueval("explain", files / "qrels.trec", files / "tied.trec", "-m", measure).status == 2


def test_a_bad_file_is_bad_input(trueval: Command, files: Path) -> None:
    assert trueval("explain", files / "qrels.trec", files / "absent.trec", "-m", "AP").status == 1
    assert trueval("explain", files / "qrels.trec", files / "qrels.trec", "-m", "AP").status == 2
