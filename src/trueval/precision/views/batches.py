"""The view of batch effects: how far batch sizes alone move measures, beside ties."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from trueval.precision.batch_result import BatchEffects, BatchMeasure, PassEquality
from trueval.report.number_texts import NOISE
from trueval.report.units import COUNT, FRACTION, NAME
from trueval.report.view import (
    Answer,
    Column,
    Quantity,
    Section,
    Sentence,
    Sheet,
    View,
    choices_section,
    columns_of,
)

QUESTION: Final = "What does the batch size alone do to the result?"
LEGEND: Final = (
    "spread: largest less smallest expected value over the batch sizes; a difference between two models that is no "
    "larger could be of their batches. ties: the largest tie range in any batch size.",
)


def view(result: BatchEffects) -> View:
    """What `trueval precision audit --batch-sizes` shows.

    Args:
        result: of the command.
    """
    measures = Sheet("Expected values in each batch size", result.measures, list(_columns(result)), id="batches")
    passes = Sheet("Outputs that differ from the first batch size", result.passes, list(_passes(result)), id="equality")
    return View(
        title="Batch sizes",
        answer=_answer(result),
        sections=[
            Section("Batch sizes", [measures, passes], open=True),
            choices_section("audit", {"batch sizes": " ".join(map(str, result.sizes)), **result.policy}),
        ],
        csv=Sheet("", result.measures, [*columns_of("model", "label", "measure"), *_csv(result)]),
        findings=list(_findings(result)),
        legend=LEGEND,
        notes=result.notes,
    )


def _answer(result: BatchEffects) -> Answer:
    first = result.measures[0].measure
    worst = max((each for each in result.measures if each.measure == first), key=lambda each: each.spread or 0.0)
    sizes = ", ".join(map(str, result.sizes))
    where = f"{worst.model}, {worst.label}"
    if (worst.spread or 0.0) <= NOISE:
        sentence: Sentence = f"Batches of {sizes} give the same {first} in every regime."
    else:
        sentence = (
            f"Batches of {sizes} move {first} of {where} by ",
            Quantity(worst, "spread"),
            "; the order of ties moves it by ",
            Quantity(worst, "range"),
            ".",
        )
    sure = "Measured on this machine and this library: another one has other batches that matter."
    return Answer(sentence, QUESTION, sure, "", "trueval precision audit COLLECTION --model NAME")


def _findings(result: BatchEffects) -> Iterator[str]:
    for each in result.passes:
        most = max(each.differing)
        name = f"{each.model} in {each.model_dtype}"
        if most:
            of = f"{most:,} of {each.rows:,} outputs"
            yield f"{name}: up to {of} differ in some bit from those of batches of {result.sizes[0]}."
        else:
            yield f"{name}: all {each.rows:,} outputs are equal bit for bit in every batch size."


def _expected_value(at: int, row: BatchMeasure) -> float:
    return row.expected[at]


def _count_different(at: int, row: PassEquality) -> int:
    return row.differing[at]


def _columns(result: BatchEffects) -> Iterator[Column[BatchMeasure]]:
    yield Column("model", lambda row: row.model, NAME)
    yield Column("regime", lambda row: row.label, NAME)
    yield Column("measure", lambda row: row.measure)
    for at, size in enumerate(result.sizes):
        yield Column(str(size), partial(_expected_value, at), FRACTION)
    yield Column("spread", lambda row: row.spread, FRACTION, strong=True)
    yield Column("ties", lambda row: row.range, FRACTION)


def _passes(result: BatchEffects) -> Iterator[Column[PassEquality]]:
    yield Column("model", lambda row: row.model, NAME)
    yield Column("dtype", lambda row: row.model_dtype, NAME)
    yield Column("outputs", lambda row: row.rows, COUNT)
    for at, size in enumerate(result.sizes):
        yield Column(str(size), partial(_count_different, at), COUNT)


def _csv(result: BatchEffects) -> Iterator[Column[BatchMeasure]]:
    for at, size in enumerate(result.sizes):
        yield Column(f"expected_{size}", partial(_expected_value, at))
    yield from columns_of("spread", "range")
