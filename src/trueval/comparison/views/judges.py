"""How verdicts over judges look in a comparison: a sentence each, and their tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

from trueval.comparison.judges.judge_result import ROBUST, BoundedVerdict, JudgeVerdict, JudgeVerdicts
from trueval.report.number_texts import count_phrase, percent
from trueval.report.units import COUNT, DIFFERENCE, NAME, PERCENT, interval_of
from trueval.report.view import AnySheet, Column, Only, Quantity, Section, Sentence, Sheet

MOST: Final = 15  # rows that texts show; the page has all
TITLE: Final = "Other judges"
ENDS: Final = interval_of(DIFFERENCE)

T = TypeVar("T")


def judge_findings(found: JudgeVerdicts | None) -> Iterator[Sentence]:
    """One sentence on the first pair by each kind of verdict, and why measures have no bounds.

    Args:
        found: verdicts; None where they were not asked for.
    """
    if found is None:
        return
    if found.by_judge:
        yield from _describe_judges(found, found.by_judge[0])
    if found.bounded:
        yield from _describe_bounds(found.bounded[0])
    yield from (f"No bounds on judges: {text}" for text in found.refused)


def _describe_judges(found: JudgeVerdicts, first: JudgeVerdict) -> Iterator[Sentence]:
    robust = sum(each.verdict == ROBUST for each in found.by_judge)
    yield (
        f"By {len(found.judges)} judges {first.first} - {first.second} in {first.measure} is ",
        Quantity(first, "mean", DIFFERENCE),
        f" on average: {first.verdict}. {robust} of "
        f"{count_phrase(len(found.by_judge), 'difference has', 'differences have')} one sign by all of them.",
    )
    if first.deciding is not None:
        yield f"Judge {first.deciding} decides: without it the average of the others has the other sign."


def _describe_bounds(first: BoundedVerdict) -> Iterator[Sentence]:
    about = (
        f"Whatever judge, inside the bounds of the audit: {first.first} - {first.second} in {first.measure} is between "
    )
    yield (
        about,
        Quantity(first, "low", DIFFERENCE),
        " and ",
        Quantity(first, "high", DIFFERENCE),
        f": {first.verdict}.",
    )
    if first.turning is not None and first.error is not None:
        yield (
            f"{count_phrase(first.turning, 'label', 'labels')} of {first.labels:,} ({percent(first.error)}), wrong in "
            "the worst way, are the fewest that turn it."
        )


def judge_sections(found: JudgeVerdicts | None) -> Iterator[Section]:
    """The tables of verdicts over judges.

    Args:
        found: verdicts; None where they were not asked for.
    """
    if found is None:
        return
    sheets: list[AnySheet] = []
    if found.by_judge:
        columns: list[Column[JudgeVerdict]] = [
            Column("measure", lambda row: row.measure),
            Column("A", lambda row: row.first, NAME),
            Column("B", lambda row: row.second, NAME),
            *(Column(name, _of_judge(at), DIFFERENCE, leaves=at) for at, name in enumerate(found.judges)),
            Column("mean", lambda row: row.mean, DIFFERENCE),
            Column("verdict", lambda row: row.verdict, strong=True),
            Column("decides", lambda row: row.deciding or "", leaves=len(found.judges)),
        ]
        sheets += _sheets("Differences by judge", found.by_judge, columns, "judges")
    if found.bounded:
        bounds: list[Column[BoundedVerdict]] = [
            Column("measure", lambda row: row.measure),
            Column("A", lambda row: row.first, NAME),
            Column("B", lambda row: row.second, NAME),
            Column("diff", lambda row: row.difference, DIFFERENCE),
            Column("any judge", lambda row: row, ENDS),
            Column("at worst,\nwith ties", lambda row: row.with_ties, DIFFERENCE, leaves=1),
            Column("labels\nto turn", lambda row: row.turning, COUNT),
            Column("share", lambda row: row.error, PERCENT, leaves=2),
            Column("verdict", lambda row: row.verdict, strong=True),
        ]
        sheets += _sheets("Differences for every judge inside the bounds", found.bounded, bounds, "bounded-judges")
    if sheets:
        words = (
            "any judge: the least and the greatest difference over all labels that the audit does not exclude, at "
            f"level {found.level:.4g} for all bounds together; of nDCG and R ends that no labels may reach. labels to "
            "turn: the fewest whose change ends the lead."
        )
        yield Section(TITLE, sheets, words if found.bounded else "")


def _of_judge(at: int) -> Callable[[JudgeVerdict], float]:
    return lambda row: row.differences[at]


def _sheets(title: str, rows: Sequence[T], columns: Sequence[Column[T]], name: str) -> Iterator[AnySheet]:
    shown: list[tuple[Only, Sequence[T]]] = [("", rows)]
    if len(rows) > MOST:
        shown = [("text", rows[:MOST]), ("page", rows)]
    for only, chosen in shown:
        yield Sheet(title, chosen, columns, only=only, folded=len(chosen) > MOST, id=name)
