"""`trueval precision audit --preset` and `--reproduce`: what they print, write and refuse."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import Outcome
from tests.extras import need
from tests.models.tiny import BUILDERS
from tests.precision.test_reproduce_table import CANDIDATES, SETS, written

from trueval.precision.published_table import BGE, MIRACL

need("torch", "transformers", "safetensors", extra="models")

Command = Callable[..., Outcome]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "sets")
    BUILDERS[BGE](tmp_path / "bge")
    return tmp_path


@pytest.mark.slow
def test_a_table_is_repeated_with_the_models_that_are_named(trueval: Command, folder: Path) -> None:
    given = ("precision", "audit", "sets", "--reproduce", "table1", "--model", f"{BGE}:bge", "--out", "out")
    dry = trueval(*given, "--dry-run", "--format", "json")
    assert sum(work["items"] for work in json.loads(dry.out)["work"]) == 2 * CANDIDATES * sum(SETS.values())
    text = " ".join(trueval(*given).out.split())
    assert text.startswith("Of 9 values of Table 1, 9 were run: expected values differ from the paper's by 0.")
    result = json.loads((folder / "out" / "precision-table.json").read_text(encoding="utf-8"))
    assert [each["name"] for each in result["sets"]] == list(SETS)
    assert (result["batch_size"], result["max_length"], result["unmade"]) == (16, 4096, [])
    lines = (folder / "out" / "precision-table.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 10
    assert lines[0].startswith("data,measure,model,scoring,regime,queries,ours tie_broken")
    assert "Table 1, repeated" in (folder / "out" / "report.html").read_text(encoding="utf-8")
    again = trueval(*given, "--dry-run", "--format", "json")
    assert sum(work["items"] for work in json.loads(again.out)["work"]) == 0


def test_stored_logits_stand_for_a_model(trueval: Command, folder: Path) -> None:
    rows = SETS[MIRACL] * CANDIDATES
    ids = {"query": np.repeat(["q0", "q1", "q2"], CANDIDATES), "doc": np.array([f"d{at}" for at in range(rows)])}
    logits = np.full((rows, 1), 2.0)
    np.savez(folder / "bge" / f"{MIRACL}.npz", **ids, bfloat16=logits, float32=logits)
    found = trueval("precision", "audit", "sets", "--reproduce", "table1", "--model", f"{BGE}:bge", "--format", "json")
    result = json.loads(found.out)
    assert result["unmade"] == []
    # Five documents tie, two of them relevant: each order of them is as likely.
    (cell,) = [
        each for each in result["cells"] if (each["measure"], each["regime"]) == ("RR@10", "BF16") and each["ours"]
    ]
    assert cell["ours"]["expected"] == pytest.approx(4 / 10 + 3 / 10 / 2 + 2 / 10 / 3 + 1 / 10 / 4)
    assert cell["ours"]["range"] == pytest.approx(1 - 1 / 4)


def test_the_preset(trueval: Command, folder: Path) -> None:
    given = ("precision", "audit", "sets/MIRACLReranking", "--preset", "paper", "--model", f"{BGE}:bge")
    result = json.loads(trueval(*given, "--format", "json").out)
    assert result["measures"] == ["nDCG@10", "RR@10", "AP@3", "Hits@10"]
    assert result["policy"]["convention"] == "paper"
    assert {each["batch_size"] for each in result["passes"]} == {16}
    dry = json.loads(trueval(*given, "--dry-run", "--format", "json").out)
    assert [work["stage"] for work in dry["work"]] == ["pairs (bfloat16)", "pairs (float16)", "pairs (float32)"]


@pytest.mark.parametrize(
    ("given", "status", "told"),
    [
        (("sets", "--reproduce", "table2"), 2, "one of: table1"),
        (("sets", "--reproduce", "table1", "-m", "RR"), 2, "the table decides it"),
        (("sets", "--reproduce", "table1", "--model", "m"), 2, "The models of the table are"),
        (("sets/MIRACLReranking", "--preset", "paper"), 2, "or its --logits"),
        (("sets/MIRACLReranking", "--preset", "papers", "--model", "m"), 2, "A preset must be one of: paper"),
        (("--model", "m"), 2, "name the collection"),
        (("nowhere", "--reproduce", "table1"), 1, "Nothing of the table could be run"),
    ],
)
def test_what_is_refused(trueval: Command, folder: Path, given: tuple[str, ...], status: int, told: str) -> None:
    found = trueval("precision", "audit", *given)
    assert (found.status, found.out) == (status, "")
    assert told in " ".join(found.err.replace("│", " ").split())
