"""The view of batch effects: how far batches alone move measures, beside ties and differences between models."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import combinations
from typing import Final, NamedTuple

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

QUESTION: Final = "What do batches alone do to the result?"
LEGEND: Final = (
    "spread: largest less smallest expected value over the passes; a difference between two models that is no larger "
    "could be of their batches. ties: the largest tie range in any pass. A number is the size of a batch; seed=N draws "
    "the batches at random, padding=max pads every text to the maximum length.",
)


class PairGap(NamedTuple):
    """The difference between two models, and the sum of what batches do to each."""

    difference: float
    spreads: float


def view(result: BatchEffects) -> View:
    """What `trueval precision audit --batch-sizes` shows.

    Args:
        result: of the command.
    """
    measures = Sheet("Expected values in each pass", result.measures, list(_columns(result)), id="batches")
    passes = Sheet("Outputs that differ from the first pass", result.passes, list(_passes(result)), id="equality")
    return View(
        title="Batches",
        answer=_answer(result),
        sections=[
            Section("Batches", [measures, passes], open=True),
            choices_section("audit", {"passes": " ".join(result.names), **result.policy}),
        ],
        csv=Sheet("", result.measures, [*columns_of("model", "label", "measure"), *_csv(result)]),
        findings=list(_findings(result)),
        legend=LEGEND,
        notes=result.notes,
    )


def _answer(result: BatchEffects) -> Answer:
    first = result.measures[0].measure
    worst = max((each for each in result.measures if each.measure == first), key=lambda each: each.spread or 0.0)
    sizes = ", ".join(result.names)
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


def _findings(result: BatchEffects) -> Iterator[Sentence]:
    yield from _describe_pairs(result)
    for each in result.passes:
        most = max(each.differing)
        name = f"{each.model} in {each.model_dtype}"
        if most:
            of = f"{most:,} of {each.rows:,} outputs"
            yield f"{name}: up to {of} differ in some bit from those of batches of {result.sizes[0]}."
        else:
            yield f"{name}: all {each.rows:,} outputs are equal bit for bit in every pass."


def _describe_pairs(result: BatchEffects) -> Iterator[Sentence]:
    """Whether the difference between two models in one regime is larger than what batches alone do to them."""
    for first, second in combinations(result.measures, 2):
        if (first.label, first.measure) != (second.label, second.measure) or first.model == second.model:
            continue
        better, worse = (first, second) if first.expected[0] >= second.expected[0] else (second, first)
        holds = min(better.expected) > max(worse.expected)
        gap = PairGap(better.expected[0] - worse.expected[0], (better.spread or 0.0) + (worse.spread or 0.0))
        yield (
            f"{better.model} leads {worse.model} in {first.measure}, {first.label}, by ",
            Quantity(gap, "difference"),
            ", and batches move the two together by ",
            Quantity(gap, "spreads"),
            ": it leads between any two passes." if holds else ": between some two passes it does not.",
        )


def _expected_value(at: int, row: BatchMeasure) -> float:
    return row.expected[at]


def _count_different(at: int, row: PassEquality) -> int:
    return row.differing[at]


def _columns(result: BatchEffects) -> Iterator[Column[BatchMeasure]]:
    yield Column("model", lambda row: row.model, NAME)
    yield Column("regime", lambda row: row.label, NAME)
    yield Column("measure", lambda row: row.measure)
    for at, name in enumerate(result.names):
        yield Column(name, partial(_expected_value, at), FRACTION)
    yield Column("spread", lambda row: row.spread, FRACTION, strong=True)
    yield Column("ties", lambda row: row.range, FRACTION)


def _passes(result: BatchEffects) -> Iterator[Column[PassEquality]]:
    yield Column("model", lambda row: row.model, NAME)
    yield Column("dtype", lambda row: row.model_dtype, NAME)
    yield Column("outputs", lambda row: row.rows, COUNT)
    for at, name in enumerate(result.names):
        yield Column(name, partial(_count_different, at), COUNT)


def _csv(result: BatchEffects) -> Iterator[Column[BatchMeasure]]:
    for at, name in enumerate(result.names):
        yield Column(f"expected_{name}", partial(_expected_value, at))
    yield from columns_of("spread", "range")
