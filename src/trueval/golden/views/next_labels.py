"""The view of `trueval golden next`: what people's labels decide so far, and what waits for a grade."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from trueval.golden.audit.sampling.next_labels_result import DECIDED, WAITING, LabelBatch, NextLabels, PairDecision
from trueval.report.number_texts import NOT_AVAILABLE, count_phrase
from trueval.report.units import COUNT, DIFFERENCE, FRACTION, NAME, TEXT, interval_of, number
from trueval.report.view import (
    Answer,
    Column,
    Mark,
    Quantity,
    Section,
    Sentence,
    Sheet,
    View,
    columns_of,
    policy_section,
)

PERSONS: Final = "people"
QUESTION: Final = "What do people's labels decide?"
ENDS: Final = interval_of(DIFFERENCE)
SIZE: Final = number(".1f")
PRECISION: Final = number(".2f")


def view(result: NextLabels) -> View:
    """What `trueval golden next` shows.

    Args:
        result: of the command, or of `trueval.next_labels`.
    """
    return View(
        title="Labels where they decide",
        answer=_answer(result),
        sections=[
            Section("Differences, corrected by people's labels", [_pairs(result)], id="next-pairs"),
            Section("Batches", [_batches(result.batches)], id="next-batches"),
            policy_section(result.policy),
        ],
        csv=Sheet(
            "",
            result.pairs,
            [
                *columns_of("first", "second", "limit", "judge"),
                Column("estimate", lambda row: row.corrected and row.corrected.estimate, DIFFERENCE),
                Column("low", lambda row: row.corrected and row.corrected.low, DIFFERENCE),
                Column("high", lambda row: row.corrected and row.corrected.high, DIFFERENCE),
                *columns_of("level", "labels", "verdict"),
            ],
        ),
        findings=[_describe(result, pair) for pair in result.pairs[1:]],
        marks=[Mark(NOT_AVAILABLE, "not known before 30 labels, or not drawn yet.")],
        legend=[
            "interval: of the difference for the target, so that those of all pairs, looked at after every batch, hold "
            "together at the level.",
            "se of labels, of queries: standard errors from what is not labeled, and from the queries, which labels "
            "do not remove.",
        ],
    )


def _answer(result: NextLabels) -> Answer:
    counted = count_phrase(result.labels, "label", "labels")
    names = result.labelers or (PERSONS,)
    decides = "" if names == (PERSONS,) else f"; decided is what all labels of {' and '.join(names)} would say"
    undecided = sum(pair.verdict == "open" for pair in result.pairs)
    reachable = count_phrase(result.reachable, "passage", "passages")
    sure = (
        f"{counted} of {' and '.join(names)}, of {reachable} that weigh in a run "
        f"({result.unjudged:,} without a grade of the judge) and a budget of {result.budget:,}; the intervals hold "
        f"together at {result.level:.4g}, for {result.target}, whenever you stop{decides}."
    )
    change: Sentence = ""
    if result.state == WAITING:
        change = f"{count_phrase(result.open, 'passage waits', 'passages wait')} for a grade."
    elif result.state != DECIDED:
        change = (
            f"The budget is spent and {count_phrase(undecided, 'pair is', 'pairs are')} open. A larger one needs an "
            "audit of its own (--out), as a budget that follows from labels makes intervals miss."
        )
    elif any(pair.verdict == "questions" for pair in result.pairs):
        change = "More questions; see trueval power."
    return Answer(_describe(result, result.pairs[0]), QUESTION, sure, change)


def _describe(result: NextLabels, pair: PairDecision) -> Sentence:
    """A pair in a sentence."""
    limit = "" if not pair.limit else f" by more than {-pair.limit:g}"
    difference: Sentence = ()
    if pair.corrected is not None:
        difference = (
            f"; {pair.first} - {pair.second} is ",
            Quantity(pair.corrected, "estimate", DIFFERENCE),
            " ",
            Quantity(pair, "corrected", ENDS),
            f" after {count_phrase(pair.labels, 'label', 'labels')}",
        )
    first, second = pair.first, pair.second
    if pair.verdict == "first":
        said = f"{first} is not worse than {second}{limit}" if limit else f"{first} is better than {second}"
    elif pair.verdict == "second":
        said = f"{first} is worse than {second}{limit}" if limit else f"{second} is better than {first}"
    elif pair.verdict == "questions":
        said = f"Labels cannot decide between {first} and {second}: these {result.queries:,} queries are too few"
    elif pair.verdict == "equal":
        return f"{first} and {second} are equal in {result.measure}, whatever the labels."
    else:
        said = f"{first} and {second} are not decided yet"
    return (f"{said} in {result.measure}", *difference, ".")


def _pairs(result: NextLabels) -> Sheet[PairDecision]:
    limits: list[Column[PairDecision]] = []
    if any(pair.limit for pair in result.pairs):
        limits = [Column("limit", lambda row: row.limit, DIFFERENCE)]
    columns: list[Column[PairDecision]] = [
        Column("A", lambda row: row.first, NAME),
        Column("B", lambda row: row.second, NAME),
        Column("judge", lambda row: row.judge, DIFFERENCE),
        Column("corrected", lambda row: row.corrected and row.corrected.estimate, DIFFERENCE),
        Column("interval", lambda row: row.corrected, ENDS),
        *limits,
        Column("se of\nlabels", lambda row: row.of_labels, FRACTION, leaves=1),
        Column("se of\nqueries", lambda row: row.of_queries, FRACTION, leaves=1),
        Column("labels", lambda row: row.labels, COUNT, leaves=2),
        Column("verdict", _verdict, TEXT, strong=True),
    ]
    return Sheet(f"{result.measure}: A - B", result.pairs, columns, id="next-differences")


def _verdict(pair: PairDecision) -> str:
    """The verdict in a word or two."""
    names = {"first": "A better", "second": "B better", "questions": "too few queries"}
    if pair.limit:
        names |= {"first": "not worse", "second": "worse"}
    return names.get(pair.verdict, pair.verdict)


def _batches(batches: Sequence[LabelBatch]) -> Sheet[LabelBatch]:
    columns: list[Column[LabelBatch]] = [
        Column("batch", lambda row: row.batch, COUNT),
        Column("planned", lambda row: row.expected, SIZE),
        Column("passages", lambda row: row.passages, COUNT),
        Column("open", lambda row: row.open, COUNT),
        Column("weight", lambda row: row.precision, PRECISION, only="page"),
    ]
    return Sheet("Planned before the first label, and drawn", batches, columns, id="next-batch-table", only="page")
