"""Tables for model cards: formats, ranges and biases of models or stages, releases, and the command that repeats it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from trueval.precision.audit_result import PrecisionAudit
from trueval.precision.stages_result import PipelineAudit, RegimeStage
from trueval.report.formats import markdown, pipes
from trueval.report.units import DIFFERENCE, FRACTION
from trueval.version import __version__

HEAD = ("model", "release", "runs in", "scored in", "measure", "expected", "range", "bias")
DIGITS = 12  # of a hash
UNKNOWN = "not known"
TABLES = {"dense": "embed", "rerank": "rerank"}  # stage → table of its model
HIGH = "float32"


def model_card(result: PrecisionAudit, command: str) -> str:
    """Markdown for a model card.

    Args:
        result: an audit of models.
        command: what repeats it.
    """
    facts = []
    if result.collection is not None and result.candidates is not None:
        facts.append(
            f"{result.collection.name}: {result.collection.documents:,} documents, {result.candidates.queries:,} "
            f"queries, {result.candidates.pairs:,} pairs"
        )
    versions = [one.get("versions", {}) for one in result.passes or ()]
    return "\n".join([pipes(HEAD, _rows(result), words=5), *_origin(facts, versions, command), ""])


def pipeline_card(result: PipelineAudit, command: str) -> str:
    """Markdown for the card of a pipeline: what its stages are worth together, in float32 and in low precision.

    Args:
        result: an audit of a pipeline.
        command: what repeats it.
    """
    facts = [f"{result.collection}: {result.documents:,} documents, {result.queries:,} queries"]
    versions = [each.versions for each in result.models]
    table = pipes(("stage", *HEAD), _stage_rows(result), words=6)
    return "\n".join([table, *_origin(facts, versions, command), ""])


def _stage_rows(result: PipelineAudit) -> Iterator[tuple[str, ...]]:
    """Each stage in each regime; of a stage without a model those that differ."""
    models = {each.table: each for each in result.models}
    for stage in result.stages:
        seen: list[RegimeStage] = []
        model = models.get(TABLES.get(stage, ""))
        about = ("none", "") if model is None else (model.model, _release(model.weights))
        for step in result.ladder:
            # The file's own regime says nothing of a card's formats, and is mostly one of the others.
            if step.stage != stage or step.regime == "file":
                continue
            if model is None and any(step.measures == each.measures for each in seen):
                continue
            seen.append(step)
            scored = HIGH if step.regime == "high" else step.format
            for value in step.measures:
                yield (
                    *(stage, *about, step.format, scored, value.measure),
                    *(FRACTION.plain(each) for each in (value.expected, value.range)),
                    DIFFERENCE.plain(value.bias),
                )


def _rows(result: PrecisionAudit) -> Iterator[tuple[str, ...]]:
    releases = {str(each["model"]): _release(each.get("weights")) for each in result.passes or ()}
    for regime in result.regimes:
        for name, mean in regime.measures.items():
            index = regime.index_dtype
            stored = "" if index in (None, regime.model_dtype) else f", vectors in {index}"
            yield (
                regime.model,
                releases.get(regime.model, UNKNOWN),
                f"{regime.model_dtype}, {regime.part}" if regime.part else regime.model_dtype,
                f"{regime.scoring_format}{stored}",
                name,
                *(FRACTION.plain(value) for value in (mean.expected, mean.range)),
                DIFFERENCE.plain(mean.bias),
            )


def _release(weights: object) -> str:
    """The commit of a hub model, or the hash of the files of another."""
    if not weights:
        return UNKNOWN
    origin, _, commit = str(weights).rpartition(":")
    return f"{origin or 'sha256'} {commit[:DIGITS]}"


def _origin(facts: Sequence[str], versions: Sequence[Mapping[str, object]], command: str) -> Iterator[str]:
    """What was scored, with which libraries, and how to repeat it."""
    libraries = {name: str(each) for one in versions for name, each in one.items()}
    told = ", ".join(f"{name} {each}" for name, each in {"trueval": __version__, **libraries}.items())
    yield markdown("; ".join([*facts, told])) + "."
    yield "Range and bias are those of tied documents, over all their orders (arXiv 2508.03306)."
    yield ""
    yield from ("```sh", command, "```")
