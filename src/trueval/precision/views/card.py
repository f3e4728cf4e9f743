"""A table for a model card: formats, ranges and biases of each model, its release, and the command that repeats it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trueval.precision.audit_result import PrecisionAudit
from trueval.report.formats import markdown, pipes
from trueval.report.units import DIFFERENCE, FRACTION
from trueval.version import __version__

HEAD = ("model", "release", "runs in", "scored in", "measure", "expected", "range", "bias")
DIGITS = 12  # of a hash


def model_card(result: PrecisionAudit, command: str) -> str:
    """Markdown for a model card.

    Args:
        result: an audit of models.
        command: what repeats it.
    """
    return "\n".join([pipes(HEAD, _rows(result), words=5), *_origin(result, command), ""])


def _rows(result: PrecisionAudit) -> Iterator[tuple[str, ...]]:
    releases = {str(each["model"]): _release(each) for each in result.passes or ()}
    for regime in result.regimes:
        for name, mean in regime.measures.items():
            index = regime.index_dtype
            stored = "" if index in (None, regime.model_dtype) else f", vectors in {index}"
            yield (
                regime.model,
                releases.get(regime.model, "not known"),
                f"{regime.model_dtype}, {regime.part}" if regime.part else regime.model_dtype,
                f"{regime.scoring_format}{stored}",
                name,
                *(FRACTION.plain(value) for value in (mean.expected, mean.range)),
                DIFFERENCE.plain(mean.bias),
            )


def _release(settings: Mapping[str, object]) -> str:
    """The commit of a hub model, or the hash of the files of another."""
    weights = settings.get("weights")
    if not weights:
        return "not known"
    origin, _, commit = str(weights).rpartition(":")
    return f"{origin or 'sha256'} {commit[:DIGITS]}"


def _origin(result: PrecisionAudit, command: str) -> Iterator[str]:
    """What was scored, with which libraries, and how to repeat it."""
    facts = []
    if result.collection is not None and result.candidates is not None:
        facts.append(
            f"{result.collection.name}: {result.collection.documents:,} documents, {result.candidates.queries:,} "
            f"queries, {result.candidates.pairs:,} pairs"
        )
    versions = {name: str(each) for one in result.passes or () for name, each in one.get("versions", {}).items()}
    facts.append(", ".join(f"{name} {each}" for name, each in {"trueval": __version__, **versions}.items()))
    yield markdown("; ".join(facts)) + "."
    yield "Range and bias are those of tied documents, over all their orders (arXiv 2508.03306)."
    yield ""
    yield from ("```sh", command, "```")
