"""Batch effects, of a model whose outputs know the size of their batch."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.extras import need
from tests.models.tiny import BUILDERS, DOCUMENTS, QUERY
from tests.probes.models import KeptLetters

import trueval as tv
from trueval.errors import PolicyError
from trueval.precision.batch_effects import audit_batches, in_threads_of_torch
from trueval.precision.batch_result import BatchEffects, BatchMeasure, PassEquality
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
    assert "all 6 outputs are equal bit for bit in every pass." in text


def test_variants_are_passes_of_the_first_size(collection: tv.Collection, load: type[BatchLetters]) -> None:
    found = audit_batches(collection, ["letters"], [1, 4], "RR", ["float32"], variants=["seed=3", "padding=max"])
    assert found.names == ("1", "4", "seed=3", "padding=max")
    assert found.measures[0].expected == (1.0, 0.2, 1.0, 1.0)
    assert found.passes[0].differing == (0, 1, 0, 0)
    assert type(found).from_dict(found.to_dict()).to_dict() == found.to_dict()
    alone = audit_batches(collection, ["letters"], [4], "RR", ["float32"], variants=["threads=1"])
    assert alone.names == ("4", "threads=1")


def test_another_device_is_a_pass_and_another_side_of_padding_is_told_from_rounding(
    collection: tv.Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model whose third document turns away where it is padded on the left, as one may that counts positions."""
    devices: list[str | None] = []

    def made(
        name: str, dtype: str, batch_size: int = 32, variant: Any = None, device: str | None = None, **_: object
    ) -> BatchLetters:
        devices.append(device)
        model = BatchLetters()
        model.dtype, model.asked, model.batch_size = dtype, [], 8 if variant and variant.side == "left" else 1
        return model

    monkeypatch.setattr("trueval.models.load_model", made)
    given: Any = {"variants": ["device=cpu", "padding=right", "padding=left"], "passes": {"scoring": ("float32",)}}
    found = audit_batches(collection, ["letters"], [1], "RR", ["float32"], **given)
    assert devices == [None, "cpu", None, None]
    assert found.measures[0].expected == (1.0, 1.0, 1.0, 0.2)
    (note,) = found.notes
    assert note.startswith("padding=left changes outputs of letters. A model that counts positions")


@pytest.mark.parametrize("text", ["seed=x", "threads=0", "padding=up", "seeds=1", "seed", "device="])
def test_unknown_variants_are_refused(collection: tv.Collection, load: type[BatchLetters], text: str) -> None:
    with pytest.raises(
        PolicyError, match=r"A pass must be seed=N, threads=N of at least 1, device=NAME, or padding=left"
    ):
        audit_batches(collection, ["letters"], [1, 4], "RR", variants=[text])


def test_threads_are_those_of_a_pass_and_then_as_before() -> None:
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    with in_threads_of_torch(before + 1):
        assert torch.get_num_threads() == before + 1
    assert torch.get_num_threads() == before


@pytest.mark.parametrize("recipe", ["cross-encoder", "bge-reranker-v2-m3", "all-MiniLM-L6-v2", "Qwen3-Reranker-0.6B"])
def test_a_pass_in_low_precision_is_the_same_bit_for_bit_from_its_seed(recipe: str, tmp_path: Path) -> None:
    """Of tiny random models; drawn batches, other sizes and padding to the end, and then everything again."""
    folder = BUILDERS[recipe](tmp_path / "model")
    documents = {
        f"d{at}": f"{text} {word}" for at, (text, word) in enumerate(product(DOCUMENTS, ("", "yes", "no air")))
    }
    judged = tv.Judgments.from_dict({"q": {name: int(at % 4 == 1) for at, name in enumerate(documents)}})
    read = tv.Collection("c", "c", documents, {"q": QUERY}, judged)
    options: Any = {"variants": ["seed=1", "seed=2", "padding=max"], "passes": {"device": "cpu", "max_length": 200}}
    first, again = (
        audit_batches(read, [f"{recipe}:{folder}"], [1, 4], "nDCG@5", ["bfloat16"], **options) for _ in range(2)
    )
    assert first.to_dict() == again.to_dict()
    assert first.names == ("1", "4", "seed=1", "seed=2", "padding=max")


def test_the_view_says_whether_batches_reach_a_difference_between_models() -> None:
    def row(model: str, *expected: float) -> BatchMeasure:
        return BatchMeasure(model, "bfloat16", "bfloat16_float32", "RR", expected, max(expected) - min(expected), 0.0)

    def told(*rows: BatchMeasure) -> str:
        effects = BatchEffects((1, 8), rows, (PassEquality("a", "bfloat16", 3, (0, 1)),), {})
        return " ".join(repr(effects).split())

    assert (
        "a leads b in RR, bfloat16_float32, by 0.2000, and batches move the two together by 0.1500: it leads "
        in told(row("a", 0.7, 0.65), row("b", 0.5, 0.6))
    )
    assert "a leads b in RR, bfloat16_float32, by 0.1000, and batches move the two together by 0.1500: between" in told(
        row("a", 0.7, 0.65), row("b", 0.6, 0.7)
    )


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
    also = CliRunner().invoke(app, [*given, "--batch-sizes", "8", "--also", "seed=1,threads=1", "--format", "json"])
    assert also.exit_code == 0, also.output
    assert json.loads(also.stdout)["variants"] == ["seed=1", "threads=1"]
    alone = CliRunner().invoke(app, [*given, "--also", "seed=1"])
    assert (alone.exit_code, "goes with --batch-sizes" in " ".join(alone.output.split())) == (2, True)
    refused = CliRunner().invoke(app, [*given, "--batch-sizes", "8"])
    assert refused.exit_code == 2
    assert "two or more different numbers" in " ".join(refused.output.split())
