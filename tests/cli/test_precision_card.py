"""`trueval precision audit --card`: a table for a model card, and what it is refused with."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Outcome
from tests.cli.test_precision import collection, logits

from trueval.precision.audit_result import PrecisionAudit
from trueval.precision.views.card import model_card
from trueval.version import __version__

__all__ = ["collection", "logits"]

Command = Callable[..., Outcome]


def test_the_card_has_formats_ranges_and_the_command(
    trueval: Command, collection: Path, logits: Path, tmp_path: Path
) -> None:
    card = tmp_path / "cards" / "card.md"
    given = ("precision", "audit", collection, "--logits", logits, "-m", "RR@10", "--tie-order", "input")
    found = trueval(*given, "--card", card)
    assert found.status == 0, found.err
    lines = card.read_text(encoding="utf-8").splitlines()
    assert lines[:2] == [
        "| model | release | runs in | scored in | measure | expected | range | bias |",
        "|---|---|---|---|---|---:|---:|---:|",
    ]
    assert set(lines[2:5]) == {
        "| m | not known | float32 | float32 | RR@10 | 0.7500 | 0.0000 | 0.0000 |",
        "| m | not known | bfloat16 | bfloat16 | RR@10 | 0.8750 | 0.2500 | +0.1250 |",
        "| m | not known | bfloat16 | float32 | RR@10 | 0.7500 | 0.0000 | 0.0000 |",
    }
    assert f"trueval {__version__}" in "\n".join(lines)
    assert "3 documents, 2 queries, 5 pairs" in "\n".join(lines)
    assert lines[-3] == "```sh"
    assert lines[-2].startswith("trueval")


@pytest.mark.parametrize(
    ("weights", "release"), [("hub:0123456789abcdef", "hub 0123456789ab"), ("f" * 64, "sha256 ffffffffffff")]
)
def test_the_release_is_a_commit_or_a_hash(weights: str, release: str, collection: Path, logits: Path) -> None:
    from trueval.precision.audit_precision import audit_precision

    data = audit_precision(collection, logits=logits, measures="RR@10").to_dict()
    data["passes"] = [{"model": "m", "weights": weights, "versions": {"torch": "2.13.0"}}]
    text = model_card(PrecisionAudit.from_dict(data), "trueval precision audit c --model m")
    assert f"| m | {release} | bfloat16 |" in text
    assert "torch 2.13.0" in text
    assert "\ntrueval precision audit c --model m\n" in text


@pytest.mark.parametrize("options", [("--batch-sizes", "1,8", "--model", "m"), ("--dry-run", "--model", "m")])
def test_other_results_have_no_card(options: tuple[str, ...], trueval: Command, collection: Path) -> None:
    found = trueval("precision", "audit", collection, *options, "--card", "card.md")
    assert (found.status, found.out) == (2, "")
    assert "goes with an audit of models or a pipeline" in " ".join(found.err.replace("│", " ").split())
