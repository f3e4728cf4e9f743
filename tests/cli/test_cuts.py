"""`trueval cuts`: an index, a pipeline and runs from the command line."""

import json
import re
from pathlib import Path

import polars as pl
import pytest
from tests.extras import need

from trueval.sample import sample_path

need("bm25s", extra="retrieval")


@pytest.fixture
def runs(tmp_path: Path) -> tuple[Path, Path, Path]:
    """Two runs of the same call, which chose otherwise among equal scores, and judgments."""
    for name, second in (("monday", "b"), ("tuesday", "c")):
        (tmp_path / f"{name}.trec").write_text(f"q Q0 a 1 3.0 x\nq Q0 {second} 2 2.0 x\n", encoding="utf-8")
    (tmp_path / "qrels.trec").write_text("q 0 b 1\n", encoding="utf-8")
    return tmp_path / "monday.trec", tmp_path / "tuesday.trec", tmp_path / "qrels.trec"


def test_an_index_over_a_collection(trueval, tmp_path: Path):
    pytest.importorskip("altair", reason='needs the extra "report"')
    out = tmp_path / "out"
    found = trueval("cuts", sample_path(), "--index", "bm25", "-k", 3, "--repeats", 2, "--out", out, columns=100)
    assert found.status == 0, found.err
    assert "of 24 queries" in found.out.splitlines()[0]
    assert {"cuts.json", "cuts.csv", "chances.csv", "report.html"} <= {path.name for path in out.iterdir()}
    told = json.loads((out / "cuts.json").read_text(encoding="utf-8"))
    assert (told["kind"], told["format"], told["k"]) == ("cuts", 1, 3)
    assert list(told["measures"]) == ["R@3", "nDCG@3", "RA-nWG@3"]
    assert told["about"]["collection"] == sample_path().name
    chances = pl.read_csv(out / "chances.csv")
    assert chances.columns == ["query_id", "doc_id", "score", "chance", "entered"]
    assert chances.group_by("query_id").agg(pl.col("chance").sum())["chance"].max() == pytest.approx(3)
    # The answer of the terminal is the answer of the page.
    cut = told["summary"]["cut"]
    answer = f"In {cut or 'none'} of 24 queries the cut at 3 falls inside a group of equal scores"
    assert found.out.startswith(answer)
    assert answer in re.sub("</?data[^>]*>", "", (out / "report.html").read_text(encoding="utf-8"))


def test_a_coarse_precision_shows_what_it_would_cost(trueval):
    call = ("cuts", sample_path(), "--index", "bm25", "-k", 3, "--repeats", 2, "--tie-precision", 1)
    found = json.loads(trueval(*call, "--format", "json").out)
    assert found["summary"]["cut"] > 5
    assert found["measures"]["R@3"]["range"] > 0
    assert found["causes"]["cuts"] == {"equal scores": found["summary"]["cut"]}
    for form in ("table", "latex"):
        assert trueval(*call, "--format", form).status == 0
    rows = trueval(*call, "--format", "csv").out.splitlines()
    assert len(rows) == 1 + len(found["cuts"])
    assert rows[0].startswith("query,above,group,slots,chance")


def test_runs_of_the_same_call(trueval, runs: tuple[Path, Path, Path]):
    one, two, qrels = runs
    found = trueval("cuts", "--runs", one, two, "--qrels", qrels, "-k", 2, columns=120)
    assert found.status == 0, found.err
    assert "In 1 of 1 query the cut at 2 falls inside a group of equal scores; recall@2 lies between" in found.out
    assert "2 calls gave 1 query other documents among equal scores" in found.out
    percent = trueval("cuts", "--runs", one, two, "--qrels", qrels, "-k", 2, "--percent", columns=120)
    assert "Values in points" in percent.out


def test_texts_tell_why_runs_tie(trueval, tmp_path: Path):
    run = tmp_path / "run.trec"
    corpus = (sample_path() / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    ids = [json.loads(line)["_id"] for line in corpus[:3]]
    rows = [f"q Q0 {doc} {rank} 1.0 x\n" for rank, doc in enumerate(ids, start=1)]
    run.write_text("".join([*rows, "q Q0 z 4 0.5 x\n"]), encoding="utf-8")
    found = json.loads(trueval("cuts", "--runs", run, "--texts", sample_path(), "-k", 1, "--format", "json").out)
    assert found["causes"]["cuts"] == {"equal scores": 1}
    assert found["measures"] == {}


def test_a_pipeline_tells_how_far_ties_travel(trueval, tmp_path: Path):
    toml = tmp_path / "p.toml"
    toml.write_text(f"[corpus]\npath = {json.dumps(str(sample_path()))}\n[sparse]\ndepth = 9\n[deduplicate]\n")
    found = trueval("cuts", "--pipeline", toml, "-k", 3, "--draws", 4, "--repeats", 1, "--format", "json")
    assert found.status == 0, found.err
    stages = json.loads(found.out)["stages"]
    assert [stage["name"] for stage in stages["stages"]] == ["sparse", "all"]
    assert stages["draws"] == 4


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        ([sample_path()], 2, "a file, or one index"),
        ([sample_path(), "--index", "bm25", "--depth", "5"], 2, "lists must go past the cut"),
        ([sample_path(), "--index", "bm25", "-k", "0"], 2, "0 is not in the range"),
        ([sample_path(), "x", "--index", "bm25"], 2, "one collection, or say --runs"),
        ([sample_path(), "--index", "bm25", "--texts", "x"], 2, "goes with --runs"),
        (["--index", "bm25"], 2, "name it, or give --pipeline"),
        (["--runs"], 2, "name a run that goes past K"),
        (["--runs", "x.trec", "--index", "bm25"], 2, "not with --runs"),
        (["--runs", "x.trec", "--queries", "q.jsonl"], 2, "not with --runs"),
        (["--runs", "x.trec", "--draws", "3"], 2, "not with --runs"),
        (["--runs", "absent.trec"], 1, "absent.trec"),
        ([sample_path(), "--index", "bn25"], 2, "Did you mean bm25"),
        ([sample_path(), "--index", "bm25", "-m", "nDGC@10"], 2, "Did you mean nDCG"),
    ],
)
def test_misuse_is_refused_before_the_work(trueval, tmp_path: Path, monkeypatch, arguments, status: int, told: str):
    monkeypatch.chdir(tmp_path)
    found = trueval("cuts", *arguments)
    assert found.status == status, found
    assert told in " ".join(found.err.replace("│", " ").split())
    assert "Traceback" not in found.err


def test_measures_without_judgments_are_refused(trueval, runs: tuple[Path, Path, Path]):
    found = trueval("cuts", "--runs", *runs[:2], "-k", 2, "-m", "nDCG@2")
    assert (found.status, "needs judgments" in found.err) == (2, True)


def test_a_run_that_is_not_deep_enough_is_refused(trueval, runs: tuple[Path, Path, Path]):
    found = trueval("cuts", "--runs", runs[0], "-k", 2)
    assert (found.status, "no list goes past rank 2" in found.err) == (1, True)
