"""Audits of stored logits and of models, in Python."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trueval as tv
from trueval.collection import Collection
from trueval.errors import InputError, MeasureError, PolicyError
from trueval.precision import model_passes
from trueval.precision.audit import audit_models, audit_passes, audit_stored
from trueval.precision.logits_files import read_passes
from trueval.precision.model_passes import read_ids, select_queries

# Judged in another order than the file has them.
GRADES = {"q3": {"a": 1}, "q2": {"a": 0, "b": 1}, "q1": {"a": 1, "b": 0}}
TEXTS = ({"a": "one", "b": "two"}, {"q1": "x", "q2": "y", "q3": "z"})
COLLECTION = Collection("c", "c", *TEXTS, tv.Judgments.from_dict(GRADES))
LOGITS = np.array([[2.0], [1.0], [2.0], [1.0]], dtype=np.float32)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """q1: a before b, which is right; q2: a before b, which is wrong; q3 is not there."""
    file = tmp_path / "m.npz"
    np.savez(file, query=["q1", "q1", "q2", "q2"], doc=["a", "b", "a", "b"], float32=LOGITS, bfloat16=LOGITS)
    return file


def test_stored_logits_follow_the_judgments_and_leave_out_other_queries(path: Path) -> None:
    found = audit_stored(COLLECTION, path, "RR", ["float32"], scoring=["float32"])
    (result,) = found.results
    assert result.scores.query_ids == ("q2", "q1")
    assert result.scores.expected[:, 0].tolist() == [0.5, 1.0]
    about = found.to_dict()
    assert about["candidates"] == {"kind": "m", "queries": 2, "pairs": 4, "notes": []}
    assert about["collection"] == {"name": "c", "source": "c", "documents": 2}
    assert about["passes"] == [{"model": "m", "path": path.name, "dtype": "float32"}]


def test_bad_requests_of_stored_logits(path: Path) -> None:
    for dtypes in (["float16"], []):
        with pytest.raises(PolicyError, match="must be among float32, bfloat16"):
            read_passes(COLLECTION, path, dtypes)
    strange = Collection("s", "s", {"a": "one"}, TEXTS[1], COLLECTION.judgments)
    with pytest.raises(InputError, match="2 pairs are of documents that s does not have"):
        read_passes(strange, path)


def test_a_collection_is_narrowed_in_the_order_of_its_judgments(tmp_path: Path) -> None:
    def left(**choices: Any) -> list[str]:
        return select_queries(COLLECTION, **choices).judgments.query_ids.to_list()

    assert select_queries(COLLECTION) is COLLECTION
    assert left(limit=2) == ["q3", "q2"]
    assert left(exclude={"q3"}, limit=1) == ["q2"]
    assert left(among={"q1"}, limit=1) == ["q1"]
    with pytest.raises(InputError, match="no judged query is left"):
        left(exclude={"q1", "q2", "q3"})
    with pytest.raises(InputError, match=r"judged are 'q3', 'q2', 'q1', and those to keep are 'x1'"):
        left(among={"x1"})
    for text in ('["q1", 2]', "q1\n2\n"):
        (tmp_path / "ids").write_text(text, encoding="utf-8")
        assert read_ids(tmp_path / "ids") == {"q1", "2"}
    (tmp_path / "ids").write_text('["q1"', encoding="utf-8")
    with pytest.raises(InputError, match="ids: "):
        read_ids(tmp_path / "ids")


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("\ufeffq1\nq2\n", r"1 of 2 ids .*'\\ufeffq1'"),
        ("q1,q2\n", r"1 of 1 ids .*'q1,q2'"),
        ("q1\nq22\n", "1 of 2 ids .*'q22'"),
        ('{"ids": ["q1"]}', "2 of 2 ids .*'{\"ids\":'"),
        ('[["q1"]]', "1 of 1 ids "),
        ("\n".join(f"x{number}" for number in range(90)), "90 of 90 ids .*'x0', 'x1', 'x2' and others"),
        ("x" * 100_000, "1 of 1 ids .*'x{40}'[.]{3}"),
    ],
)
def test_ids_of_no_query_are_refused_beside_a_sample_of_both(tmp_path: Path, text: str, unknown: str) -> None:
    (tmp_path / "ids").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=f"ids: {unknown}.*Its queries are 'q3', 'q2', 'q1'") as caught:
        read_ids(tmp_path / "ids", COLLECTION)
    assert len(str(caught.value)) < 1000


def test_files_of_ids_that_cannot_be_read_are_our_errors(tmp_path: Path) -> None:
    (tmp_path / "latin-1").write_bytes(b"q\xe9\n")
    (tmp_path / "deep").write_text("[" * 100_000, encoding="utf-8")
    for name, said in (("latin-1", "not UTF-8"), ("deep", "damaged"), ("absent", "no such file"), (".", "a directory")):
        with pytest.raises(InputError, match=said):
            read_ids(tmp_path / name, COLLECTION)


class Model:
    """A reranker that gives the same logits in every format."""

    name, scoring, batch_size = "made", "sigmoid", 32

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype

    def settings(self) -> Mapping[str, Any]:
        return {"model": self.name, "dtype": self.dtype, "path": ""}

    def pair_logits(self, pairs: list[tuple[str, str]], called: list[str]) -> Any:
        return np.array([[2.0 if text == "one" else 1.0] for _, text in pairs], dtype=np.float32)


def test_models_are_run_once_in_each_dtype(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str, dict[str, Any]]] = []

    def load(name: str, *, dtype: str, **options: Any) -> Model:
        asked.append((name, dtype, options))
        return Model(dtype)

    monkeypatch.setattr("trueval.models.load_model", load)
    options = {"candidates": "corpus", "scoring": ["float32"], "batch_size": 8, "device": None}
    found = audit_models(COLLECTION, ["m"], "RR", ["bfloat16", "float32"], passes=options, empty="skip")
    assert asked == [("m", "bfloat16", {"batch_size": 8}), ("m", "float32", {"batch_size": 8})]
    assert [result.regime.label for result in found.results] == ["bfloat16_float32", "float32_float32"]
    assert found.results[0].scores.expected[:, 0].tolist() == [1.0, 0.5, 1.0]
    assert found.results[0].scores.policy == tv.convention(empty="skip")
    assert found.to_dict()["candidates"]["pairs"] == 6
    again = model_passes.run_models(COLLECTION, ["m"], ["float32"], candidates="corpus", scoring=["float32"])
    assert audit_passes(again, "RR").results[0].scores.mean("RR") == found.results[1].scores.mean("RR")
    json.dumps(found.to_dict(), allow_nan=False)


def test_what_is_bad_is_refused_before_any_model_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a model was loaded")

    monkeypatch.setattr("trueval.models.load_model", refuse)
    with pytest.raises(PolicyError, match="Tie order"):
        audit_models(COLLECTION, ["m"], "RR", tie_order="alphabetical")
    with pytest.raises(MeasureError, match="Did you mean"):
        audit_models(COLLECTION, ["m"], "nDGC@10")
