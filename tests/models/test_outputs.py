"""Outputs are computed once, kept, and found again as memory maps; bad ones are named."""

import errno
import json
import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from trueval.collection import Candidates, Collection, candidate_lists
from trueval.errors import InputError, TruevalWarning
from trueval.judgments import Judgments
from trueval.models.loading import load_model
from trueval.models.outputs import Outputs, model_outputs, settings_of, weights_hash
from trueval.models.recipes import RECIPES, Recipe
from trueval.numerics import storage_dtype

DOCUMENTS = {f"d{i}": "word " * (i + 1) for i in range(7)}
QUERIES = {"q1": "a", "q2": "bb"}
JUDGMENTS = Judgments.from_dict({"q1": {"d3": 1, "d0": 0, "d6": 0}, "q2": {"d1": 1, "d5": 0}})
SAMPLE = Collection("c", "c", DOCUMENTS, QUERIES, JUDGMENTS)


class FakeReranker:
    """Its logits are the lengths of query and document."""

    def __init__(self, dtype: str = "bfloat16", fails_at: int | None = None) -> None:
        self.dtype, self.batch_size, self.calls, self.fails_at = dtype, 2, 0, fails_at

    def settings(self) -> dict[str, Any]:
        return {"model": "fake", "path": "nowhere", "dtype": self.dtype, "batch_size": 2, "max_length": 9}

    def pair_logits(self, pairs: Sequence[tuple[str, str]], names: Sequence[str]) -> Any:
        self.calls += 1
        if self.calls == self.fails_at:
            raise KeyboardInterrupt
        assert len(names) == len(pairs)
        return np.array([[len(q), len(d)] for q, d in pairs], dtype=storage_dtype(self.dtype))


@pytest.fixture
def candidates(monkeypatch: pytest.MonkeyPatch) -> Candidates:
    monkeypatch.setattr("trueval.models.output_part.BATCHES", 1)  # a shard of two pairs
    return candidate_lists(SAMPLE)


def values(outputs: Outputs) -> Any:
    return outputs.arrays["pairs"].astype(np.float64)


EXPECTED = [[1, 20], [1, 5], [1, 35], [2, 10], [2, 30]]


def test_outputs_stand_in_the_order_of_the_candidates(candidates: Candidates) -> None:
    seen: list[tuple[str, int, int]] = []
    found = model_outputs(FakeReranker(), SAMPLE, candidates, step=lambda *step: seen.append(step))
    assert values(found).tolist() == EXPECTED
    assert found.arrays["pairs"].dtype.name == "bfloat16"
    assert seen == [("pairs", 2, 5), ("pairs", 3, 5), ("pairs", 5, 5)]
    about = found.to_dict()
    assert about["texts"]["pairs"]["count"] == 5
    assert about["batch_sizes"] == [2]
    assert about["dtype"] == "bfloat16"


def test_an_interrupted_pass_goes_on_where_it_stopped(candidates: Candidates, tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    with pytest.raises(KeyboardInterrupt):
        model_outputs(FakeReranker(fails_at=3), SAMPLE, candidates, folder=tmp_path)
    (place,) = tmp_path.iterdir()
    shards = ["shard-00000.safetensors", "shard-00002.safetensors"]  # of all lengths
    assert sorted(file.name for file in place.iterdir()) == ["part.json", *shards]
    second = FakeReranker()
    assert values(model_outputs(second, SAMPLE, candidates, folder=tmp_path)).tolist() == EXPECTED
    assert second.calls == 1
    assert sorted(file.name for file in place.iterdir()) == ["digests.json", "keys.npy", "part.json", "rows.npy"]
    third = FakeReranker()
    found = model_outputs(third, SAMPLE, candidates, folder=tmp_path)
    assert (third.calls, values(found).tolist()) == (0, EXPECTED)
    assert found.arrays["pairs"].dtype.name == "bfloat16"
    assert isinstance(found.arrays["pairs"], np.memmap)
    assert found.batch_sizes == (2,)
    about = json.loads((place / "part.json").read_text(encoding="utf-8"))
    assert {"part", "dtype", "settings", "texts", "identity", "batch_sizes"} <= about.keys()


def test_a_pass_that_was_stopped_before_its_end_is_joined(candidates: Candidates, tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np.lib.format, "open_memmap", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model_outputs(FakeReranker(), SAMPLE, candidates, folder=tmp_path)
    again = FakeReranker()
    assert values(model_outputs(again, SAMPLE, candidates, folder=tmp_path)).tolist() == EXPECTED
    assert again.calls == 0


def interrupted(*_: Any) -> Any:
    raise KeyboardInterrupt


def test_two_programs_at_once_compute_once(candidates: Candidates, tmp_path: Path) -> None:
    pytest.importorskip("safetensors")

    class Slow(FakeReranker):
        def pair_logits(self, pairs: Sequence[tuple[str, str]], names: Sequence[str]) -> Any:
            time.sleep(0.01)
            return super().pair_logits(pairs, names)

    models, seen = [Slow(), Slow()], list[tuple[str, int, int]]()

    def run(model: FakeReranker) -> Any:
        return values(model_outputs(model, SAMPLE, candidates, folder=tmp_path, step=lambda *step: seen.append(step)))

    with ThreadPoolExecutor(2) as pool:
        assert [found.tolist() for found in pool.map(run, models)] == [EXPECTED] * 2
    assert sorted(model.calls for model in models) == [0, 3]
    assert seen.count(("pairs", 5, 5)) == 2, "who waited is told that all is there"


def test_other_texts_or_settings_are_another_pass(candidates: Candidates, tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    model_outputs(FakeReranker(), SAMPLE, candidates, folder=tmp_path)
    model_outputs(FakeReranker("float32"), SAMPLE, candidates, folder=tmp_path)
    changed = Collection("c", "c", {**DOCUMENTS, "d3": "other"}, QUERIES, JUDGMENTS)
    model = FakeReranker()
    found = model_outputs(model, changed, candidates, folder=tmp_path)
    assert model.calls == 3
    assert values(found)[0].tolist() == [1, 5]
    assert len(list(tmp_path.iterdir())) == 3


def test_damaged_outputs_are_made_again(candidates: Candidates, tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    for name, dtype in (("a", "bfloat16"), ("b", "float32")):
        with pytest.raises(KeyboardInterrupt):
            model_outputs(FakeReranker(dtype, fails_at=2), SAMPLE, candidates, folder=tmp_path / name)
    (mine,), (other,) = (list((tmp_path / name).iterdir()) for name in "ab")
    shard = mine / "shard-00000.safetensors"

    def again(told: str) -> None:
        with pytest.warns(TruevalWarning, match=f"{told}.* It is made again"):
            found = model_outputs(FakeReranker(), SAMPLE, candidates, folder=tmp_path / "a")
        assert values(found).tolist() == EXPECTED

    shard.write_bytes((other / shard.name).read_bytes())
    again("a shard of another pass")
    for damaged in (lambda rows: np.save(rows, np.load(rows)[:3]), lambda rows: rows.write_bytes(b"half")):
        damaged(mine / "rows.npy")
        again("damaged outputs")


def test_queries_are_embedded_once_for_all_corpora(candidates: Candidates, tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    called: list[int] = []

    def embed(texts: Sequence[str], names: Sequence[str]) -> Any:
        called.append(len(texts))
        return np.ones((len(texts), 2), dtype=np.float32)

    settings = {"model": "e", "path": "nowhere", "dtype": "float32"}
    model = SimpleNamespace(settings=lambda: settings, batch_size=9, embed_queries=embed, embed_documents=embed)
    for documents in (DOCUMENTS, {**DOCUMENTS, "d3": "changed"}):
        model_outputs(model, Collection("c", "c", documents, QUERIES, JUDGMENTS), candidates, folder=tmp_path)
    assert called == [2, 5, 5]


@pytest.mark.parametrize("ragged", [False, True])
def test_embeddings_are_kept_whole_or_by_token(candidates: Candidates, tmp_path: Path, ragged: bool) -> None:
    pytest.importorskip("safetensors")

    def embed(texts: Sequence[str], names: Sequence[str]) -> Any:
        rows = [np.full((text.count("w") + 1, 3), len(text), dtype=storage_dtype("bfloat16")) for text in texts]
        return rows if ragged else np.stack([row[0] for row in rows])

    def model() -> Any:
        settings = {"model": "e", "path": "nowhere", "dtype": "bfloat16"}
        return SimpleNamespace(settings=lambda: settings, batch_size=2, embed_queries=embed, embed_documents=embed)

    first = model_outputs(model(), SAMPLE, candidates, folder=tmp_path)
    again = model_outputs(model(), SAMPLE, candidates, folder=tmp_path)
    for found in (first, again):
        documents = found.arrays["documents"]
        assert [np.shape(row) for row in documents] == [
            ((len(DOCUMENTS[doc]) // 5 + 1, 3) if ragged else (3,)) for doc in candidates.doc_ids
        ]
        assert [float(row.flat[0]) for row in documents] == [len(DOCUMENTS[doc]) for doc in candidates.doc_ids]
        assert isinstance(documents, list) is ragged


def test_weights_tell_models_apart(tmp_path: Path) -> None:
    assert weights_hash(tmp_path) is None
    (tmp_path / "model.safetensors").write_bytes(b"one")
    one = weights_hash(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"two")
    assert one is not None
    assert weights_hash(tmp_path) != one


def test_all_files_of_a_model_tell_it_apart(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"one")
    (tmp_path / "modules.json").write_text('[{"path": ""}, {"path": "1_Pooling"}, {"path": "2_Dense"}]')
    for name in ("1_Pooling", "2_Dense", "checkpoint-9"):
        (tmp_path / name).mkdir()
    known = {weights_hash(tmp_path)}
    deciding = "tokenizer.json", "1_Pooling/config.json", "2_Dense/model.safetensors", "spiece.model", "modules.json"
    for number, name in enumerate(deciding, 2):
        (tmp_path / name).write_text("[]")
        known.add(weights_hash(tmp_path))
        assert len(known) == number, name
    for name in ("README.md", "checkpoint-9/model.safetensors"):
        (tmp_path / name).write_text("changed")
    assert weights_hash(tmp_path) in known


def test_another_prompt_under_the_name_of_a_recipe_is_another_pass() -> None:
    model = FakeReranker()
    found = []
    for query in ("{query}", "query: {query}"):
        model.recipe = Recipe("mine", "embedder", "product", query=query)  # type: ignore[attr-defined]
        found.append(settings_of(model))
    assert found[0] != found[1]


def test_of_two_programs_one_computes_and_the_other_waits(candidates: Candidates, tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    model, begun = FakeReranker(), threading.Event()
    forward = model.pair_logits

    def slowly(*given: Any) -> Any:
        begun.set()
        time.sleep(0.02)
        return forward(*given)

    model.pair_logits = slowly  # type: ignore[method-assign]
    other = FakeReranker()
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(model_outputs, model, SAMPLE, candidates, folder=tmp_path)
        begun.wait(5)
        second = model_outputs(other, SAMPLE, candidates, folder=tmp_path)
        assert values(second).tolist() == values(first.result()).tolist() == EXPECTED
    assert (model.calls, other.calls) == (3, 0)


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="this system reserves no room")
def test_a_full_disk_is_said_and_what_was_computed_stays(
    candidates: Candidates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    safetensors = pytest.importorskip("safetensors")

    pytest.importorskip("safetensors.numpy")

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def unsaved(*_: Any, **__: Any) -> None:
        raise safetensors.SafetensorError("No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "posix_fallocate", full)
        with pytest.raises(OSError, match=r"No space left on device: .*rows\.npy"):
            model_outputs(FakeReranker(), SAMPLE, candidates, folder=tmp_path)
    (place,) = tmp_path.iterdir()
    assert not (place / ".rows.npy").exists()
    again = FakeReranker()
    assert values(model_outputs(again, SAMPLE, candidates, folder=tmp_path)).tolist() == EXPECTED
    assert again.calls == 0
    monkeypatch.setattr(safetensors.numpy, "save_file", unsaved)
    with pytest.raises(InputError, match=r"shard-00000\.safetensors: cannot be written \(No space left"):
        model_outputs(FakeReranker("float32"), SAMPLE, candidates, folder=tmp_path)


@pytest.mark.parametrize("recipe", sorted(RECIPES))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_outputs_of_every_recipe_are_kept(recipe: str, folder_of: Callable[[str], Path], tmp_path: Path) -> None:
    """Also where a model has attributes of its own: one with answers was taken for a service."""
    model = load_model(f"{recipe}:{folder_of(recipe)}", dtype="float32", device="cpu")
    texts = Collection(
        "c", "c", {"a": "the wing", "b": "cold flow"}, {"q": "air"}, Judgments.from_dict({"q": {"a": 1}})
    )
    chosen = candidate_lists(texts, "corpus")
    alone, kept, again = (model_outputs(model, texts, chosen, folder=each) for each in (None, tmp_path, tmp_path))
    for name, rows in alone.arrays.items():
        for mine, theirs, last in zip(rows, kept.arrays[name], again.arrays[name], strict=True):
            assert np.array_equal(mine, theirs)
            assert np.array_equal(mine, last)
