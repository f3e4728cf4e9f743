"""A document that changes: what goes through models again, and what is said of it."""

import shutil
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.extras import need
from tests.retrieval import models

from trueval import Judgments
from trueval.collection import Collection
from trueval.errors import InputError, TruevalWarning
from trueval.numerics import storage_dtype
from trueval.retrieval.pipeline.config import settings_of_tables
from trueval.retrieval.pipeline.pipeline import Pipeline

need("faiss", extra="retrieval")
need("safetensors", extra="models")

WORDS = ["wing", "lift", "drag", "heat", "flow", "shock", "plate", "layer"]


class Model:
    """Counts words, or scores pairs; the batch of a text moves its output a little, as in low precision."""

    name, batch_size = "counts", 4

    def __init__(self, dtype: str, scoring: str, log: list[str]) -> None:
        self.dtype, self.scoring, self.log = dtype, scoring, log
        if scoring == "sigmoid":
            self.pair_logits = self.logits_of_pairs

    def settings(self) -> dict[str, Any]:
        return {"model": self.name, "path": "nowhere", "dtype": self.dtype, "scoring": self.scoring}

    def embed_documents(self, texts: Sequence[str], names: Sequence[str]) -> Any:
        self.log += texts
        counts = np.array([[1 + text.split().count(word) for word in WORDS] for text in texts], dtype=np.float32)
        moved = counts / np.linalg.norm(counts, axis=1, keepdims=True) * (1 + len(texts) / 100)
        return moved.astype(storage_dtype(self.dtype))

    embed_queries = embed_documents

    def logits_of_pairs(self, pairs: Sequence[tuple[str, str]], names: Sequence[str]) -> Any:
        self.log += [text for _, text in pairs]
        shared = [[len(set(query.split()) & set(text.split())) + len(text) / 64] for query, text in pairs]
        return np.array(shared, dtype=storage_dtype(self.dtype))


def collection(changed: str | None = None) -> Collection:
    rng = np.random.default_rng(3)
    documents = {f"d{place}": f"n{place} " + " ".join(rng.choice(WORDS, rng.integers(2, 9))) for place in range(30)}
    if changed is not None:
        documents["d7"] = changed
    queries = {f"q{place}": " ".join(rng.choice(WORDS, 2, replace=False)) for place in range(4)}
    return Collection("made", "made", documents, queries, Judgments.from_dict({"q0": {"d1": 1}}))


NEW = "another text about drag and flow"


def pipeline(dtype: str, **reuse: str) -> Pipeline:
    tables = {
        "embed": {"model": "embedder", "dtype": dtype, **reuse},
        "index": {"depth": 30},
        "rerank": {"model": "reranker", "dtype": dtype, "depth": 30, **reuse},
    }
    return Pipeline(settings_of_tables(tables, "test"), "mine")


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Have pipelines use models of a dtype; what these are given is in the list."""

    def chosen(dtype: str) -> list[str]:
        log: list[str] = []
        scoring = {"embedder": "product", "reranker": "sigmoid"}
        models.use(monkeypatch, lambda name: Model(dtype, scoring[name], log))
        return log

    return chosen


def test_in_float32_only_the_changed_document_goes_through_models_again(use: Any, tmp_path: Path):
    log = use("float32")
    pipeline("float32").retrieve(collection(), cache=tmp_path)
    log.clear()
    found = pipeline("float32").retrieve(collection(NEW), cache=tmp_path)
    assert log == [NEW] + [NEW] * 4  # embedded once, and a pair with each query
    use("float32")
    fresh = pipeline("float32").retrieve(collection(NEW), cache=tmp_path / "other")
    assert found.run.frame.sort("query_id", "doc_id").equals(fresh.run.frame.sort("query_id", "doc_id"))


def test_in_low_precision_the_pass_stays_whole_and_its_price_is_said(use: Any, tmp_path: Path):
    log = use("bfloat16")
    pipeline("bfloat16").retrieve(collection(), cache=tmp_path)
    log.clear()
    with pytest.warns(TruevalWarning) as told:
        found = pipeline("bfloat16").retrieve(collection(NEW), cache=tmp_path)
    assert len(log) == 30 + 4 * 30
    said = [str(each.message) for each in told]
    assert "1 of 30 documents is new to counts in bfloat16" in said[0]
    assert "all 30" in said[0]
    assert 'reuse = "text"' in said[0]
    assert "4 of 120 pairs are new to counts in bfloat16" in said[1]
    use("bfloat16")
    fresh = pipeline("bfloat16").retrieve(collection(NEW), cache=tmp_path / "other")
    assert found.run.frame.equals(fresh.run.frame)


def test_who_accepts_other_batches_pays_for_the_changed_document_alone(use: Any, tmp_path: Path):
    log = use("bfloat16")
    pipeline("bfloat16").retrieve(collection(), cache=tmp_path)
    log.clear()
    mixed = pipeline("bfloat16", reuse="text").retrieve(collection(NEW), cache=tmp_path)
    assert log == [NEW] + [NEW] * 4
    assert mixed.to_dict()["settings"]["embed"]["reuse"] == "text"
    # What it gave serves nobody who wants whole passes.
    log.clear()
    with pytest.warns(TruevalWarning, match="new to counts"):
        found = pipeline("bfloat16").retrieve(collection(NEW), cache=tmp_path)
    assert len(log) == 30 + 4 * 30
    use("bfloat16")
    fresh = pipeline("bfloat16").retrieve(collection(NEW), cache=tmp_path / "other")
    assert found.run.frame.equals(fresh.run.frame)


def test_reuse_is_of_models_that_run_here():
    tables = {"embed": {"model": "openai:text-embedding-3-small", "reuse": "text"}}
    with pytest.raises(InputError, match="Remove reuse"):
        settings_of_tables(tables, "test")


def test_a_second_run_of_the_changed_corpus_asks_models_nothing(use: Any, tmp_path: Path):
    log = use("float32")
    for changed in (None, NEW):
        pipeline("float32").retrieve(collection(changed), cache=tmp_path)
    log.clear()
    for place in ("stages", "indexes"):
        for each in (tmp_path / place).iterdir():
            each.rename(tmp_path / f"{place} {each.name}")
    pipeline("float32").retrieve(replace(collection(NEW), name="same"), cache=tmp_path)
    assert log == []


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_cold_seconds_count_what_an_earlier_command_computed(
    use: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dtype: str
):
    use(dtype)
    for name in ("embed_queries", "logits_of_pairs"):
        monkeypatch.setattr(Model, name, slowly(getattr(Model, name)))
    first = pipeline(dtype).retrieve(collection(), cache=tmp_path)
    shutil.rmtree(tmp_path / "stages")  # as another --out finds it: outputs and index are there, candidates are not
    second = pipeline(dtype).retrieve(collection(), cache=tmp_path)
    for one, other in zip(first.stages, second.stages, strict=True):
        assert not other.cached
        assert one.made_seconds >= SLOW
        assert other.seconds < SLOW <= other.made_seconds <= 2 * one.made_seconds
    third = pipeline(dtype).retrieve(collection(), cache=tmp_path)
    assert [stage.made_seconds for stage in third.stages] == [stage.made_seconds for stage in second.stages]


SLOW = 1.0


def slowly(forward: Any) -> Any:
    def slow(*given: Any) -> Any:
        time.sleep(SLOW)
        return forward(*given)

    return slow


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("reuse", ["pass", "text"])
@pytest.mark.parametrize("changed", [None, NEW])
@pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")
def test_what_is_missing_is_what_models_then_get(
    use: Any, tmp_path: Path, dtype: str, reuse: str, changed: str | None
) -> None:
    """Exactly where the pool of the reranker is known, else at most."""
    log, deeper = use(dtype), pipeline(dtype, reuse=reuse)
    deeper.settings["rerank"]["depth"] = 10  # type: ignore[index]
    before = deeper.missing_work(collection(), cache=tmp_path)
    assert [(each.stage, each.items, each.exact) for each in before] == [
        ("documents", 30, True),
        ("queries", 4, True),
        ("pairs", 40, False),
    ]
    deeper.retrieve(collection(), cache=tmp_path)
    assert len(log) == 74
    assert deeper.missing_work(collection(), cache=tmp_path) == []
    deeper.settings["rerank"]["depth"] = 20  # type: ignore[index]
    log.clear()
    said = deeper.missing_work(collection(changed), cache=tmp_path)
    assert log == []
    deeper.retrieve(collection(changed), cache=tmp_path)
    most = sum(each.items for each in said)
    assert len(log) == most if all(each.exact for each in said) else len(log) <= most
    assert all(each.exact for each in said) == (changed is None), "other documents, another pool"
