"""Outputs are computed once, kept, and found again; bad ones are named."""

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from trueval.collection import Candidates, Collection, candidate_lists
from trueval.errors import InputError
from trueval.judgments import Judgments
from trueval.numerics import storage_dtype
from trueval.precision.logits import Outputs, model_outputs, read_logits, weights_hash

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
    monkeypatch.setattr("trueval.precision.logits.BATCHES", 1)  # a shard of two pairs
    return candidate_lists(SAMPLE)


def values(outputs: Outputs) -> Any:
    return outputs.arrays["pairs"].astype(np.float64)


EXPECTED = [[1, 20], [1, 5], [1, 35], [2, 10], [2, 30]]


def test_outputs_stand_in_the_order_of_the_candidates(candidates: Candidates) -> None:
    seen: list[tuple[str, int, int]] = []
    found = model_outputs(FakeReranker(), SAMPLE, candidates, step=lambda *step: seen.append(step))
    assert values(found).tolist() == EXPECTED
    assert found.arrays["pairs"].dtype.name == "bfloat16"
    assert seen == [("pairs", 2, 5), ("pairs", 4, 5), ("pairs", 5, 5)]
    about = found.to_dict()
    assert about["texts"]["pairs"]["count"] == 5
    assert about["batch_sizes"] == [2]
    assert about["dtype"] == "bfloat16"


def test_an_interrupted_pass_goes_on_where_it_stopped(candidates: Candidates, tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    with pytest.raises(KeyboardInterrupt):
        model_outputs(FakeReranker(fails_at=3), SAMPLE, candidates, folder=tmp_path)
    (place,) = tmp_path.iterdir()
    assert sorted(file.name for file in place.iterdir()) == [
        "pairs-00000.safetensors",
        "pairs-00001.safetensors",
        "pass.json",
    ]
    second = FakeReranker()
    assert values(model_outputs(second, SAMPLE, candidates, folder=tmp_path)).tolist() == EXPECTED
    assert second.calls == 1
    third = FakeReranker()
    found = model_outputs(third, SAMPLE, candidates, folder=tmp_path)
    assert (third.calls, values(found).tolist()) == (0, EXPECTED)
    assert found.arrays["pairs"].dtype.name == "bfloat16"
    about = json.loads((place / "pass.json").read_text(encoding="utf-8"))
    assert {"model", "dtype", "batch_size", "max_length", "texts", "identity", "weights"} <= about.keys()


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


def test_shards_of_another_pass_and_damaged_ones_are_refused(candidates: Candidates, tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    model_outputs(FakeReranker(), SAMPLE, candidates, folder=tmp_path / "a")
    model_outputs(FakeReranker("float32"), SAMPLE, candidates, folder=tmp_path / "b")
    (mine,), (other,) = (list((tmp_path / name).iterdir()) for name in "ab")
    shard = mine / "pairs-00000.safetensors"
    shard.write_bytes((other / shard.name).read_bytes())
    with pytest.raises(InputError, match="a shard of another pass"):
        model_outputs(FakeReranker(), SAMPLE, candidates, folder=tmp_path / "a")
    shard.write_bytes(b"half a sh")
    with pytest.raises(InputError, match="a damaged shard"):
        model_outputs(FakeReranker(), SAMPLE, candidates, folder=tmp_path / "a")


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


def save(path: Path, **arrays: Any) -> Path:
    np.savez(path, **arrays)
    return path


def test_stored_logits_are_read_in_their_format(tmp_path: Path) -> None:
    low = np.array([[0.5, 1.0], [0.25, -2.0]], dtype=np.float32)
    path = save(tmp_path / "m.npz", query=["q", "q"], doc=["a", "b"], grade=[0, 1], bfloat16=low, float32=low + 1e-3)
    found = read_logits(path)
    assert (found.name, found.scoring, list(found.logits)) == ("m", "softmax", ["float32", "bfloat16"])
    assert found.logits["bfloat16"].dtype.name == "bfloat16"
    assert found.grades is not None
    one = read_logits(save(tmp_path / "n.npz", query=["q"], doc=["a"], float32=np.zeros(1)))
    assert one.scoring == "sigmoid"


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"query": ["q"], "doc": ["a"]}, "no array float32"),
        ({"float32": np.zeros((1, 2))}, "no array query and no doc"),
        ({"query": ["q"], "doc": ["a"], "float32": np.zeros((1, 3))}, r"float32 has shape \(1, 3\)"),
        ({"query": ["q"], "doc": ["a"], "float32": np.zeros((2, 2))}, r"float32 has shape \(2, 2\)"),
        ({"query": ["q"], "doc": ["a"], "float16": [[np.nan, 0]]}, r"not finite: 'a' \(query 'q'\).*65504"),
        ({"query": ["q"], "doc": ["a"], "bfloat16": [[0.1, 0]]}, "values that bfloat16 does not have"),
        ({"query": ["q"], "doc": ["a"], "float16": [[1, 0]], "float32": [[1]]}, "differ in shape"),
    ],
)
def test_bad_stored_logits_are_named(tmp_path: Path, arrays: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_logits(save(tmp_path / "bad.npz", **arrays))


def test_files_that_hold_no_arrays(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_logits(tmp_path / "absent.npz")
    (tmp_path / "text.npz").write_text("text", encoding="utf-8")
    with pytest.raises(InputError, match=r"not an \.npz file"):
        read_logits(tmp_path / "text.npz")
