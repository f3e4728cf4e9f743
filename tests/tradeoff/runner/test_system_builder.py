"""Systems as they are made, named and kept."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.tradeoff import made
from tests.tradeoff.made import SMALL

from trueval.errors import InputError
from trueval.evaluation.content_hashes import run_hash
from trueval.run import Run
from trueval.tradeoff.runner.sweep import sweep
from trueval.tradeoff.runner.system_builder import names_of
from trueval.tradeoff.runner.system_store import FORMAT, KEYS, SystemStore


def test_a_hybrid_fuses_and_is_reranked_after_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for extra, needed in (("faiss", "retrieval"), ("bm25s", "retrieval"), ("safetensors", "models")):
        pytest.importorskip(extra, reason=f'needs the extra "{needed}"')
    made.use(monkeypatch, [])
    text = SMALL.replace('"dense", "sparse", "dense+rerank", "hybrid+rerank"', '"hybrid", "hybrid+rerank"')
    found = sweep(made.written(tmp_path, text), out=tmp_path / "out")
    stages = {
        each.system.name: [
            stage["name"] for stage in json.loads((tmp_path / "out" / each.file).read_text(encoding="utf-8"))["stages"]
        ]
        for each in found.systems
    }
    pool = ["dense", "sparse", "fuse"]
    reranked = [*pool, "rerank"]
    assert stages == {"hybrid": pool, "hybrid+rerank top5": reranked, "hybrid+rerank top10": reranked}


def test_a_repair_comes_after_the_last_scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for extra, needed in (("faiss", "retrieval"), ("bm25s", "retrieval"), ("safetensors", "models")):
        pytest.importorskip(extra, reason=f'needs the extra "{needed}"')
    made.use(monkeypatch, [])
    text = SMALL.replace('"dense", "sparse", "dense+rerank", "hybrid+rerank"', '"dense", "sparse+rerank"')
    found = sweep(made.written(tmp_path, f'{text}\n[repair]\nwithin = "0.05"\nk = 3\n'), out=tmp_path / "out")
    assert not found.failed
    for each in found.systems:
        stages = json.loads((tmp_path / "out" / each.file).read_text(encoding="utf-8"))["stages"]
        before = ["dense"] if each.system.method == "dense" else ["sparse", "rerank"]
        assert [stage["name"] for stage in stages] == [*before, "repair"]
        assert stages[-1]["repair"]["k"] == 3
        assert stages[-1]["documents"] == stages[-2]["documents"]


def test_a_group_of_one_is_called_by_its_name() -> None:
    one: Any = SimpleNamespace(system=SimpleNamespace(name="hybrid"))
    assert (names_of([one]), names_of([one, one])) == ("hybrid", "2 systems")


def test_a_system_of_a_later_version_is_not_read(tmp_path: Path) -> None:
    store, run = SystemStore(tmp_path), Run.from_dict({"q": {"a": 1.0}})
    told = store.write("k", {**dict.fromkeys(KEYS), "run": {"content": run_hash(run)}}, run)
    assert store.read("k") is not None
    (tmp_path / store.about("k")).write_text(json.dumps({**told, "format": FORMAT + 1}), encoding="utf-8")
    with pytest.raises(InputError, match="another kind, system or version"):
        store.read("k")
