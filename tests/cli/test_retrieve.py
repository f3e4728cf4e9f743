"""`trueval retrieve`: runs from a corpus, with their manifest and page."""

import json
from pathlib import Path

import pytest

import trueval as tv
from trueval.sample import sample_path

pytest.importorskip("bm25s", reason='needs the extra "retrieval"')


def test_an_index_makes_a_run_that_can_be_evaluated(trueval, tmp_path: Path):
    run = tmp_path / "bm25.trec"
    status, out, err = trueval("retrieve", sample_path(), "--index", "bm25", "--depth", 20, "--run", run)
    assert status == 0, err
    assert out.split()[:5] == ["stage", "queries", "candidates", "tied", "seconds"]
    read = tv.Run.read(run)
    assert len(read.query_ids) == 24
    assert read.documents.height <= 480
    assert not read.notes
    assert tv.evaluate(read, sample_path() / "qrels.trec", ["nDCG@10"])["nDCG@10"].expected > 0.5


def test_a_result_directory_holds_run_manifest_and_page(trueval, tmp_path: Path):
    pytest.importorskip("altair", reason='needs the extra "report"')
    toml = tmp_path / "p.toml"
    toml.write_text(f"[corpus]\npath = {json.dumps(str(sample_path()))}\n[sparse]\ndepth = 10\n[deduplicate]\n")
    out = tmp_path / "out"
    found = trueval("retrieve", "--pipeline", toml, "--out", out, "--format", "json")
    assert found.status == 0, found.err
    manifest = json.loads(found.out)
    assert [stage["name"] for stage in manifest["stages"]] == ["sparse", "deduplicate"]
    assert manifest["collection"]["documents"] == 100
    assert manifest["settings"]["corpus"]["path"] == sample_path().name
    assert {"run.trec", "retrieval.json", "report.html", "cache"} <= {path.name for path in out.iterdir()}
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "p found" in page
    again = json.loads(trueval("retrieve", "--pipeline", toml, "--out", out, "--format", "json").out)
    assert [stage["cached"] for stage in again["stages"]] == [True, True]
    assert again["run"] == manifest["run"]
    for form in ("csv", "markdown", "latex", "table"):
        assert "sparse" in trueval("retrieve", "--pipeline", toml, "--out", out, "--format", form).out


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (["--index", "bm25"], 2, "--run FILE, or --out DIR"),
        (["--run", "x.trec"], 2, "a file, or one index"),
        (["--index", "bm25", "--pipeline", "p.toml", "--run", "x.trec"], 2, "a file, or one index"),
        (["--pipeline", "p.toml", "--depth", "3", "--run", "x.trec"], 2, "stands in the file"),
        (["--index", "bn25", "--run", "x.trec"], 2, "Did you mean bm25"),
        (["--index", "bm25", "--run", "none/x.trec"], 2, "there is no folder none"),
        (["--pipeline", "absent.toml", "--run", "x.trec"], 1, "absent.toml: cannot be read"),
    ],
)
def test_misuse_is_refused_before_the_work(trueval, tmp_path: Path, monkeypatch, arguments, status: int, told: str):
    monkeypatch.chdir(tmp_path)
    found = trueval("retrieve", sample_path(), *arguments)
    assert found.status == status
    assert told in " ".join(found.err.replace("│", " ").split())
