"""Batch effects, of a model whose outputs know the size of their batch."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.extras import need
from tests.probes.models import KeptLetters

import trueval as tv
from trueval.errors import PolicyError
from trueval.precision.batch_effects import audit_batches
from trueval.report.kinds import find

TEXTS = {f"d{at}": word for at, word in enumerate(["cab", "bac", "dad", "feed", "face"])}


class BatchLetters(KeptLetters):
    """One whose third document turns away in batches of more than one; nothing else changes."""

    def embed_documents(self, texts: Sequence[str], names: Sequence[str] | None = None) -> Any:
        found = np.array(super().embed_queries(texts))
        if self.batch_size > 1:
            found[[at for at, text in enumerate(texts) if text.strip() == "dad"]] *= -1
        return found


@pytest.fixture
def collection() -> tv.Collection:
    judgments = tv.Judgments.from_dict({"q": {"d2": 1, "d0": 0, "d1": 0, "d3": 0, "d4": 0}})
    return tv.Collection("c", "c", TEXTS, {"q": "dad"}, judgments)


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> type[BatchLetters]:
    need("safetensors", extra="models")

    def made(name: str, dtype: str, batch_size: int = 32, **_: object) -> BatchLetters:
        model = BatchLetters()
        model.dtype, model.asked, model.batch_size = dtype, [], batch_size
        return model

    monkeypatch.setattr("trueval.models.load_model", made)
    return BatchLetters


def test_the_spread_is_that_of_the_batches(collection: tv.Collection, load: type[BatchLetters]) -> None:
    found = audit_batches(collection, ["letters"], [1, 4, 8], "RR", ["float32"], passes={"scoring": ("float32",)})
    (row,) = found.measures
    assert row.expected == (1.0, 0.2, 0.2)  # first of five, then last
    assert (row.spread, row.range) == (0.8, 0.0)
    (equality,) = found.passes
    assert (equality.rows, equality.differing) == (6, (0, 1, 1))
    assert type(found).from_dict(found.to_dict()).to_dict() == found.to_dict()
    kind = find("precision-batches")
    assert kind is not None
    for form in ("csv", "markdown", "latex"):
        assert "RR" in kind.write(found.to_dict(), form)
    assert repr(found).startswith("Batches of 1, 4, 8 move RR of letters, float32_float32 by 0.8000;")


def test_equal_batches_are_said_to_be_equal(collection: tv.Collection, load: type[BatchLetters]) -> None:
    found = audit_batches(collection, ["letters"], [4, 8], "RR", ["float32"], passes={"scoring": ("float32",)})
    assert found.passes[0].differing == (0, 0)
    text = " ".join(repr(found).split())
    assert text.startswith("Batches of 4, 8 give the same RR in every regime.")
    assert "all 6 outputs are equal bit for bit in every batch size." in text


@pytest.mark.parametrize("sizes", [[], [8], [8, 8], [0, 8]])
def test_sizes_that_compare_nothing_are_refused(collection: tv.Collection, sizes: list[int]) -> None:
    with pytest.raises(PolicyError, match="Batch sizes must be"):
        audit_batches(collection, ["letters"], sizes)


def test_the_command(tmp_path: Path, load: type[BatchLetters]) -> None:
    from typer.testing import CliRunner

    from trueval.cli.main import app

    rows = [{"_id": name, "title": "", "text": text} for name, text in TEXTS.items()]
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "dad"}', encoding="utf-8")
    (tmp_path / "qrels.trec").write_text("".join(f"q 0 {d} {int(d == 'd2')}\n" for d in TEXTS), encoding="utf-8")
    given = ["precision", "audit", str(tmp_path), "--model", "letters", "--dtype", "float32", "-m", "RR"]
    done = CliRunner().invoke(app, [*given, "--batch-sizes", "1,8", "--format", "json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["measures"][0]["expected"] == [1.0, 0.2]
    refused = CliRunner().invoke(app, [*given, "--batch-sizes", "8"])
    assert refused.exit_code == 2
    assert "two or more different numbers" in " ".join(refused.output.split())
