"""`trueval sweep`: configurations in, a directory with their quality out."""

import json
import re
from pathlib import Path

import pytest
from tests.extras import need
from tests.tradeoff import made
from tests.tradeoff.made import SMALL

from trueval.tradeoff.config.plan import SweepPlan

need("faiss", "bm25s", extra="retrieval")
need("safetensors", extra="models")

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "sweep.toml"


@pytest.mark.slow
def test_a_sweep_is_printed_and_kept(trueval, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    made.use(monkeypatch, [])
    file, out = made.written(tmp_path, SMALL), tmp_path / "out"
    found = trueval("sweep", file, "--out", out, columns=120)
    assert found.status == 0, found.err
    assert found.out.startswith("Ship ")
    lines = [line.split()[0] for line in found.out.splitlines() if line.strip()]
    assert lines[lines.index("configuration") + 1] == "dense"
    assert re.search(
        r"^left out +dense\+rerank top5 K=10 and 1 more K is above the pool", found.out, flags=re.MULTILINE
    )
    result = json.loads((out / "sweep.json").read_text())
    assert {each["name"] for each in result["systems"]} >= {"sparse", "hybrid+rerank top5"}
    assert {"sweep.json", "queries.parquet", "systems", "runs"} <= {each.name for each in out.iterdir()}
    again = trueval("sweep", file, "--out", out, "--format", "json")
    assert [each["cached"] for each in json.loads(again.out)["systems"]] == [True] * 6


def test_a_dry_run_writes_nothing(trueval, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    seen: list[object] = []
    made.use(monkeypatch, seen)
    file, out = made.written(tmp_path, SMALL), tmp_path / "out"
    found = trueval("sweep", file, "--out", out, "--dry-run")
    assert found.status == 0, found.err
    assert "sweep: 10 configurations of 6 systems, 0 of them done." in found.out
    assert "documents: 60 texts through counts, about" in found.out
    assert not out.exists()
    said = json.loads(trueval("sweep", file, "--dry-run", "--format", "json").out)["work"]
    assert sum(each["items"] for each in said if each["model"] == "counts") == 68
    assert trueval("sweep", file, "--dry-run", "--format", "csv").status == 2


def test_what_fails_is_said_and_the_rest_is_printed(trueval, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    made.use(monkeypatch, [])
    file = made.written(tmp_path, SMALL.replace('"pairs"', '"gone"'))
    found = trueval("sweep", file, "--out", tmp_path / "out")
    assert found.status == 0
    assert "failed: dense+rerank top5: gone: there is no such model." in found.err
    assert "failed dense+rerank top5 and 3 more gone" in " ".join(found.out.split())
    none = made.written(tmp_path, SMALL.replace('"counts"', '"gone"').replace('"sparse", ', ""))
    found = trueval("sweep", none, "--out", tmp_path / "none")
    assert (found.status, "No system could be made" in found.err) == (1, True)


def test_a_file_that_is_wrong_is_told_with_its_line(trueval, tmp_path: Path):
    file = made.written(tmp_path, SMALL.replace("resamples = 200", "resampels = 200"))
    line = 1 + file.read_text().splitlines().index("resampels = 200")
    found = trueval("sweep", file)
    assert found.status == 1
    assert f"sweep.toml:{line}: [measure] has no key 'resampels'" in " ".join(found.err.split())
    assert "Did you mean resamples?" in found.err


def test_ctrl_c_says_what_is_kept(trueval, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    made.use(monkeypatch, [])

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(made.Model, "logits", interrupt)
    found = trueval("sweep", made.written(tmp_path, SMALL), "--out", tmp_path / "out")
    assert found.status == 130
    told = " ".join(found.err.split())
    assert "interrupted. What was computed and paid for is kept in" in told
    assert "systems that are done in" in told
    assert len(list((tmp_path / "out" / "systems").iterdir())) == 2


def test_the_example_is_a_sweep_of_the_sample():
    plan = SweepPlan.read(EXAMPLE)
    assert len(plan.systems) == 9
    assert Path(plan.collection).resolve().name == "sample"


def test_a_dry_run_of_what_cannot_begin_fails(trueval, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    made.use(monkeypatch, [])
    none = made.written(tmp_path, SMALL.replace('"counts"', '"gone"').replace('"sparse", ', ""))
    found = trueval("sweep", none, "--dry-run")
    assert found.status == 1
    assert "cannot begin: dense and 4 more: gone: there is no such model." in " ".join(found.out.split())
    assert "No system can begin" in found.err
