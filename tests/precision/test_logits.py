"""Logits from files: read in their format, bad ones named."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trueval.errors import InputError
from trueval.precision.logits import read_logits


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
