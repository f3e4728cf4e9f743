"""`audit_precision`: the audit of low precision in one call; models run in tests/cli/test_precision.py."""

from pathlib import Path

import numpy as np
import pytest

import trueval as tv
from trueval.errors import PolicyError

TEXTS = {"d0": "zero", "d1": "one", "d2": "two"}


@pytest.fixture
def collection() -> tv.Collection:
    """Two queries with two and three candidates."""
    judgments = tv.Judgments.from_dict({"q1": {"d0": 1, "d1": 0}, "q2": {"d0": 0, "d1": 1, "d2": 0}})
    return tv.Collection("c", "c", TEXTS, {"q1": "a", "q2": "b"}, judgments)


@pytest.fixture
def logits(tmp_path: Path) -> Path:
    """8 and 8.25 tie after a sigmoid in bfloat16, where both round to 1, and not in float32."""
    pairs = {"query": ["q1", "q1", "q2", "q2", "q2"], "doc": ["d0", "d1", "d0", "d1", "d2"]}
    values = np.array([[8.0], [8.25], [0.0], [2.0], [-1.0]], dtype=np.float32)
    np.savez(tmp_path / "m.npz", **pairs, grade=[1, 0, 0, 1, 0], bfloat16=values)
    return tmp_path / "m.npz"


def test_stored_logits(collection: tv.Collection, logits: Path):
    found = tv.audit_precision(collection, logits=logits, measures="RR@10", dtypes=["bfloat16"])
    ranges = {each.regime.scoring_format: each.scores["RR@10"].range for each in found.results}
    assert ranges == {"bfloat16": 0.25, "float32": 0.0}  # half of q1's 1/2


def test_queries_are_left_out(collection: tv.Collection, logits: Path, tmp_path: Path):
    (tmp_path / "trained.txt").write_text("q1\n", encoding="utf-8")
    chosen = ({"exclude": ["q1"]}, {"exclude": tmp_path / "trained.txt"}, {"limit": 1})
    left = [tv.audit_precision(collection, logits=logits, **each).results[0].scores.query_ids for each in chosen]
    assert left == [("q2",), ("q2",), ("q1",)]


@pytest.mark.parametrize("named", [{}, {"models": "m", "logits": "m.npz"}])
def test_models_or_logits_are_named(collection: tv.Collection, named: dict[str, str]):
    with pytest.raises(tv.errors.PolicyError, match="and not both"):
        tv.audit_precision(collection, **named)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"scoring": ["bf16"]}, r"number format must be one of .* Got 'bf16'"),
        ({"index_dtypes": ["int9"]}, r"Vectors are stored in one of .* Got 'int9'"),
        ({"similarities": ["dot"]}, r"similarity must be one of product, softmax\. Got 'dot'"),
    ],
)
def test_unknown_formats_are_refused_before_a_model_runs(
    collection: tv.Collection, options: dict[str, list[str]], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trueval.models.load_model", lambda *_, **__: pytest.fail("loaded"))
    with pytest.raises(PolicyError, match=told):
        tv.audit_precision(collection, "all-MiniLM-L6-v2", "RR", **options)
