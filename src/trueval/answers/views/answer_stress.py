"""The view of a judge of claims under stress: which edits move which measures, by how much."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final, NamedTuple

from trueval.answers.validation.answer_stress_result import OWN, AnswerEdit, AnswerStress, MeasureShift
from trueval.golden.views.golden import money
from trueval.report.number_texts import NOT_AVAILABLE, count_phrase, format_difference
from trueval.report.page_content import Figure
from trueval.report.plots import TieInterval, plot_dots
from trueval.report.units import COUNT, DIFFERENCE, FRACTION, NAME, TEXT, YES_NO, interval_of, number
from trueval.report.view import Answer, Column, Mark, Quantity, Section, Sheet, View, columns_of

KEY: Final = (("bar", "interval over questions"), ("dot", "change of the measure"))
SIGNED: Final = interval_of(DIFFERENCE)


class _Row(NamedTuple):
    """A measure under an edit."""

    edit: AnswerEdit
    shift: MeasureShift


def view(result: AnswerStress) -> View:
    """What `trueval answers stress` shows.

    Args:
        result: of the command.
    """
    rows = [_Row(each, shift) for each in result.edits for shift in each.shifts]
    changes = Sheet(f"{result.judge}: what should change nothing", rows, COLUMNS, caption=CAPTION, id="stress-changes")
    edits = Sheet("The edits", result.edits, EDITS, only="page", id="stress-edits")
    return View(
        title="Stress of the judge of claims",
        answer=_answer(result),
        sections=[Section(f"What moves {result.judge}", [changes, edits], figures=[*_figures(rows)], open=True)],
        csv=Sheet("", rows, CSV),
        findings=[*describe_findings(result)],
        marks=[Mark(NOT_AVAILABLE, "too few questions for an interval.")],
        legend=[*_legend(result)],
        notes=result.notes,
    )


def _answer(result: AnswerStress) -> Answer:
    question = f"Is {result.judge} moved by what should not count?"
    moved = [(each, shift) for each in result.edits for shift in each.moved]
    tests = count_phrase(len(result.edits), "kind", "kinds")
    sure = f"Exact sign tests at level {result.level:g}, of {tests} of edits and all measures together (Holm)."
    if not moved:
        seen = f"{result.judge} was not seen to be moved, over {count_phrase(result.answers, 'answer', 'answers')}."
        more = "More answers show smaller changes (--answers); people's labels show other faults."
        return Answer(seen, question, sure, more, "trueval answers evaluate LOG --judged TABLE --people people")
    edit, shift = max(moved, key=lambda each: abs(each[1].change.value or 0.0))
    kinds = len({each.kind for each, _ in moved})
    sentence = (
        f"{result.judge} is moved by {kinds} of {tests} of edits, most by {edit.kind}: {shift.measure} changes by ",
        Quantity(shift.change, "value", DIFFERENCE),
        ".",
    )
    mend = "Another prompt or model may resist; people's labels correct the measures whatever moves the judge."
    return Answer(sentence, question, sure, mend, "trueval answers stress LOG --judge OTHER --out DIR")


def describe_findings(result: AnswerStress) -> Iterator[str]:
    """What each edit moves, as sentences, the greatest change first.

    Args:
        result: of the command.
    """
    moved = [each for each in result.edits if each.moved]
    moved.sort(key=lambda each: -max(abs(shift.change.value or 0.0) for shift in each.moved))
    for each in moved:
        told = "; ".join(
            f"{shift.measure} by {format_difference(shift.change.value)} "
            f"({count_phrase(shift.lifted, 'question', 'questions')} up, {shift.lowered} down)"
            for shift in each.moved
        )
        whom = f"{result.judge} prefers, or slights, its own model" if each.kind == OWN else f"{each.kind} moves it"
        yield f"{whom}: {told}."
    missing = ", ".join(f"{each.missing:,} under {each.kind}" for each in result.edits if each.missing)
    if missing:
        yield f"Cells without a label, which are bounds: {missing}."


def _figures(rows: list[_Row]) -> Iterator[Figure]:
    for at, measure in enumerate(dict.fromkeys(row.shift.measure for row in rows)):
        dots = [
            TieInterval(row.edit.kind, change.value, change.low, change.high)
            for row in rows
            if row.shift.measure == measure
            and (change := row.shift.change).value is not None
            and change.low is not None
            and change.high is not None
        ]
        about = f"Change of {measure} by each edit, with its interval over questions; 0 is a judge that is not moved."
        if dots:
            yield Figure(f"stress-{at}", f"Change of {measure}", about, partial(plot_dots, dots), key=KEY)


def _legend(result: AnswerStress) -> Iterator[str]:
    yield (
        "clean, edited: means over questions without and with the edit; change: their difference, paired by question, "
        "with its interval; lifted, lowered: questions whose value rises or falls; p: exact sign test, two-sided, "
        "adjusted by Holm."
    )
    if result.exchanged:
        yield (
            f"{result.exchanged} of {result.answers} answers were put to another question, which makes them wrong, so "
            "that labels can rise as well as fall: clean values are not those of the system."
        )
    yield (
        f"position: clean and edited are labels of texts late and early in a call. {OWN}: judge minus people on "
        f"answers of other models, and of models whose name begins with {result.own}."
    )
    cost = "" if result.usage.cost is None else f", for {money(result.usage.cost)}"
    yield f"{count_phrase(result.usage.calls, 'call', 'calls')}{cost}."


CAPTION: Final = "Every edit leaves what the answer says as it is."
COLUMNS: Final[tuple[Column[_Row], ...]] = (
    Column("edit", lambda row: row.edit.kind, NAME),
    Column("measure", lambda row: row.shift.measure, NAME),
    Column("clean", lambda row: row.shift.clean.value, FRACTION, leaves=3),
    Column("edited", lambda row: row.shift.edited.value, FRACTION, leaves=2),
    Column("change", lambda row: row.shift.change.value, DIFFERENCE, strong=True),
    Column("interval", lambda row: row.shift.change, SIGNED),
    Column("lifted", lambda row: row.shift.lifted, COUNT, leaves=5),
    Column("lowered", lambda row: row.shift.lowered, COUNT, leaves=4),
    Column("p", lambda row: row.shift.p_holm, number(".3g"), leaves=1),
    Column("moved", lambda row: row.shift.moved, YES_NO, strong=bool),
)
EDITS: Final[tuple[Column[AnswerEdit], ...]] = (
    Column("edit", lambda row: row.kind, NAME),
    Column("what it is", lambda row: row.about, TEXT),
    Column("answers", lambda row: row.answers, COUNT),
    Column("cells without\na label", lambda row: row.missing, COUNT),
)
CSV: Final = columns_of(
    *("edit.kind", "shift.measure", "shift.clean.value", "shift.edited.value", "shift.change.value"),
    *("shift.change.low", "shift.change.high", "shift.lifted", "shift.lowered", "shift.p", "shift.p_holm"),
)
