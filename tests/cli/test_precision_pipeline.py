"""`trueval precision audit --pipeline`: the answer, every file, and what is refused."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Outcome
from tests.precision.test_pipeline_audit import DEPTH, TABLES, collection, log

from trueval.collection import Collection

__all__ = ["collection", "log"]

Command = Callable[..., Outcome]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, collection: Collection) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "made").mkdir()
    for name, texts in (("corpus", collection.documents), ("queries", collection.queries)):
        lines = "".join(json.dumps({"_id": each, "text": text}) + "\n" for each, text in texts.items())
        (tmp_path / "made" / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    rows = collection.graded.frame.select("query_id", "doc_id", "grade").rows()
    (tmp_path / "made" / "qrels.trec").write_text(
        "".join(f"{q} 0 {d} {int(g)}\n" for q, d, g in rows), encoding="utf-8"
    )
    tables = [
        f"[{name}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items())
        for name, values in TABLES.items()
    ]
    (tmp_path / "pipeline.toml").write_text("\n".join(tables), encoding="utf-8")
    return tmp_path


def test_the_answer_and_every_file(trueval: Command, files: Path, log: list[tuple[str, int]]) -> None:
    given = (
        "precision",
        "audit",
        "made",
        "--pipeline",
        "pipeline.toml",
        "-m",
        "nDCG@5",
        "--scoring",
        "bfloat16,float16",
    )
    found = trueval(*given, "--index-dtype", "int8", "--cache", "kept", "--out", "out")
    assert found.status == 0, found.err
    text = " ".join(found.out.split())
    assert text.startswith("Ties of nDCG@5 arise at dense")
    assert "Reranking apart" in text
    result = json.loads((files / "out" / "precision-stages.json").read_text(encoding="utf-8"))
    assert {row["format"] for row in result["rows"] if row["axis"] == "scores"} == {"bfloat16", "float16"}
    assert {row["format"] for row in result["rows"] if row["axis"] == "vectors"} == {"int8"}
    assert {"collection", "pipeline"} <= {each["role"] for each in result["files"]}
    with (files / "out" / "precision-stages.csv").open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) == len(result["rows"]) + len(result["ladder"])
    assert "Precision of a pipeline" in (files / "out" / "report.html").read_text(encoding="utf-8")
    assert r"\begin{tabular}" in (files / "out" / "precision-stages.tex").read_text(encoding="utf-8")
    scored = len(log)
    again = trueval(*given, "--index-dtype", "int8", "--cache", "kept")
    assert (again.status, len(log)) == (0, scored)  # everything comes from the cache
    assert result["queries"] == 6
    assert result["settings"]["index"]["depth"] == DEPTH


def test_the_card_has_the_stages_with_their_models(trueval: Command, files: Path, log: list[tuple[str, int]]) -> None:
    options = ("--scoring", "bfloat16", "--index-dtype", "int8", "--out", "out", "--card", "card.md")
    found = trueval("precision", "audit", "made", "--pipeline", "pipeline.toml", "-m", "nDCG@5", *options)
    assert found.status == 0, found.err
    lines = (files / "card.md").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "| stage | model | release | runs in | scored in | measure | expected | range | bias |"
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:] if line.startswith("|")]
    ladder = json.loads((files / "out" / "precision-stages.json").read_text(encoding="utf-8"))["ladder"]
    low = next(each for each in ladder if (each["stage"], each["regime"]) == ("dense", "low"))["measures"][0]
    assert [row[1:6] for row in cells if row[0] == "dense"] == [
        ["embedder", "not known", *formats, "nDCG@5"]
        for formats in (("float32", "float32"), ("bfloat16", "bfloat16"), ("bfloat16", "float32"))
    ]
    assert next(row for row in cells if row[4] == "bfloat16")[6:] == [
        f"{low['expected']:.4f}",
        f"{low['range']:.4f}",
        f"{low['bias']:+.4f}",
    ]
    assert [row[1] for row in cells if row[0] == "sparse"] == ["none"]  # once: no format changes it
    assert {row[1] for row in cells if row[0] == "rerank"} == {"reranker"}
    assert "60 documents, 6 queries" in "\n".join(lines)
    assert lines[-2].startswith("trueval")


@pytest.mark.parametrize(
    ("options", "status", "told"),
    [
        (("--model", "m"), 2, "names its own models"),
        (("--batch-sizes", "1,8"), 2, "names its own models"),
        (("--dry-run",), 2, "Take trueval retrieve --pipeline FILE --dry-run"),
        (("--candidates", "judged"), 2, "finds its own candidates"),
        (("--batch-size", "8"), 2, "Set batch_size, max_length and device in [embed]"),
        (("--dtype", "float8_e5m2"), 2, "The dtype of a model must be one of"),
        (("--index-dtype", "int5"), 2, "Vectors are stored in one of"),
        (("--parts", "head=int8"), 2, "A part of a model must be PART=FORMAT"),
    ],
)
def test_what_is_refused(
    options: tuple[str, ...], status: int, told: str, trueval: Command, files: Path, log: list[tuple[str, int]]
) -> None:
    found = trueval("precision", "audit", "made", "--pipeline", "pipeline.toml", *options)
    assert (found.status, found.out, log) == (status, "", [])
    assert told in " ".join(found.err.replace("│", " ").split())
