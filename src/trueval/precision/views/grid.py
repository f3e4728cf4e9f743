"""The view of score grids: what the scores of runs were rounded to, what that ties, and the cure."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final, NamedTuple

from trueval.precision.grid_result import Deviation, GridMeasure, GridReport, OffGrid, RunGrid, ServiceCheck
from trueval.report.number_texts import NOT_AVAILABLE, count_phrase, percent
from trueval.report.page_content import Figure
from trueval.report.plots import DIFFERS, TieInterval, plot_dots
from trueval.report.units import COUNT, DIFFERENCE, FRACTION, NAME, PERCENT, number, unscaled_unit
from trueval.report.view import (
    Answer,
    AnySheet,
    Column,
    Quantity,
    Section,
    Sentence,
    Sheet,
    View,
    choices_section,
    columns_of,
)

QUESTION: Final = "What were these scores rounded to, and what does that hide?"
SPACING: Final = unscaled_unit(lambda value: NOT_AVAILABLE if value is None else f"{value:.3g}", "r")
CONFIDENCE: Final = number(".6f")
KEY: Final = (("bar", "lowest to highest over orders of ties"), ("dot", "expected"))
LEGEND: Final = (
    "grid: the coarsest set of values that holds the scores as far as their digits tell: a number format, decimals, "
    "codes of few bits, sums of 1/(60 + rank), or sigmoids of logits on such a set, which a softmax over two logits is "
    "too. What looks the same is named the same. Not known: nothing that is coarser than float32 holds them.",
    "spacing: distance of neighboring values of the grid at the tenth place of the lists (the median over lists).",
    "confidence: 1 less the chance that scores in float32 would lie on any of the grids tried. off: scores on no grid.",
    "tied: share of documents that have the score of another one of their list; if finer: what would be left of that, "
    "or of a range, if the next finer grid split each tie evenly.",
)


class _MeasureRow(NamedTuple):
    """A measure of a run."""

    run: str
    value: GridMeasure


class _PassRow(NamedTuple):
    """A pass over the same pairs."""

    name: str
    found: Deviation


class _OffRow(NamedTuple):
    """A score of a run that is on no grid."""

    run: str
    score: OffGrid


def _name(run: RunGrid) -> str:
    if run.grid is None:
        return "not known"
    return run.grid if run.second is None else f"{run.grid} and {run.second}"


RUNS: Final[tuple[Column[RunGrid], ...]] = (
    Column("run", lambda row: row.name, NAME),
    Column("grid", _name, NAME, strong=True),
    Column("spacing", lambda row: row.spacing, SPACING),
    Column("at", lambda row: row.top, SPACING, leaves=2),
    Column("confidence", lambda row: row.confidence, CONFIDENCE, leaves=1),
    Column("off", lambda row: row.contradicting, COUNT),
    Column("tied", lambda row: row.tied_fraction, FRACTION, strong=True),
    Column("largest", lambda row: row.largest_group, COUNT),
    Column("if finer", lambda row: row.finer_tied, FRACTION, leaves=3),
)
MEASURES: Final[tuple[Column[_MeasureRow], ...]] = (
    Column("run", lambda row: row.run, NAME),
    Column("measure", lambda row: row.value.measure),
    Column("expected", lambda row: row.value.expected, FRACTION),
    Column("range", lambda row: row.value.range, FRACTION, strong=True),
    Column("bias", lambda row: row.value.bias, DIFFERENCE),
    Column("range if finer", lambda row: row.value.finer_range, FRACTION),
)
PASSES: Final[tuple[Column[_PassRow], ...]] = (
    Column("pass", lambda row: row.name),
    Column("other scores", lambda row: row.found.differing, COUNT, strong=True),
    Column("at most by", lambda row: row.found.most, SPACING),
)
OFF: Final[tuple[Column[_OffRow], ...]] = (
    Column("run", lambda row: row.run, NAME),
    Column("query", lambda row: row.score.query, NAME),
    Column("document", lambda row: row.score.document, NAME),
    Column("score", lambda row: row.score.score, unscaled_unit(repr, "r")),
)


CSV: Final = (
    "name",
    "scores",
    "distinct",
    "grid",
    "family",
    "top",
    "spacing",
    "share",
    "confidence",
    "contradicting",
    "second",
    "tied_fraction",
    "largest_group",
    "finer_tied",
)


def view(result: GridReport) -> View:
    """What `trueval precision runs` shows of runs without named formats.

    Args:
        result: of the command.
    """
    measures = [_MeasureRow(run.name, each) for run in result.runs for each in run.measures]
    off = [_OffRow(run.name, each) for run in result.runs for each in run.examples]
    sheets: list[AnySheet] = [Sheet("Grids", result.runs, RUNS, id="grids")]
    if measures:
        sheets.append(Sheet("What ties do to measures", measures, MEASURES, id="grid-measures"))
    if result.service is not None:
        check = result.service
        rows = [
            _PassRow("again", check.again),
            _PassRow("another order", check.reordered),
            _PassRow("other batches", check.rebatched),
        ]
        sheets.append(Sheet("The same pairs sent again", rows, PASSES, id="passes"))
    if off:
        sheets.append(Sheet("Scores on no grid", off, OFF, id="off-grid"))
    sections = [Section("Grids of scores", sheets, open=True)]
    if result.policy:
        sections.append(choices_section("measures", result.policy))
    return View(
        title="Grids of scores",
        answer=_answer(result),
        sections=sections,
        csv=Sheet("", result.runs, columns_of(*CSV)),
        lead=_lead(result),
        findings=list(_findings(result)),
        legend=LEGEND,
        notes=result.notes,
    )


def _answer(result: GridReport) -> Answer:
    worst = max(result.runs, key=lambda run: run.tied_fraction)
    sure = (
        f"Tried on {worst.distinct:,} distinct scores"
        + (f"; {count_phrase(worst.contradicting, 'score is', 'scores are')} on no grid" if worst.contradicting else "")
        + ". A grid that is as fine as float32 is not named."
    )
    change = "" if worst.grid is None or not worst.tied_fraction else worst.cure
    return Answer(_sentence(worst), QUESTION, sure, change, "trueval precision bound QRELS RUN --within 0.001")


def _sentence(run: RunGrid) -> Sentence:
    if run.grid is None:
        start = f"The grid of {run.name} is not known: nothing coarser than float32 holds its scores; "
    elif run.second is not None:
        start = f"{run.name} has scores of two grids, {run.grid} ({percent(run.share)}) and {run.second}; "
    else:
        apart = f"{run.spacing:.3g} apart where the top lies ({run.top:.4g})"
        start = f"Scores of {run.name} lie on a grid: {run.grid}, {apart}; "
    tied: Sentence = (start, Quantity(run, "tied_fraction", PERCENT), " of its documents are tied")
    if not run.measures:
        return (*tied, ".")
    first = run.measures[0]
    return (*tied, f", and their order moves {first.measure} by ", Quantity(first, "range"), ".")


def _service_sentence(check: ServiceCheck) -> str:
    """Whether scores change from call to call."""
    if check.verdict == "noise":
        return (
            f"The same call gave other scores for {check.again.differing:,} of {check.pairs:,} pairs, at most by "
            f"{check.again.most:.3g}: noise, which no rounding explains. Ask several times, or fix seed and batch."
        )
    if check.verdict == "batch":
        most = max(check.reordered.most, check.rebatched.most)
        return (
            f"Equal calls gave equal scores, other orders or batches did not, at most by {most:.3g}: what is computed "
            "together changes the scores. Send the documents of a query in one call, in one order."
        )
    return (
        f"Each of {check.pairs:,} pairs had one score in all four passes, in another order and in other batches too: "
        "what is tied is tied by rounding or by equal outputs, not by chance."
    )


def _findings(result: GridReport) -> Iterator[Sentence]:
    if result.service is not None:
        yield _service_sentence(result.service)
    worst = max(result.runs, key=lambda run: run.tied_fraction)
    for run in result.runs:
        if run is not worst:
            yield _sentence(run)
        if run.finer is not None and run.finer_tied is not None and run.tied_fraction:
            ties: list[str | Quantity] = [
                f"{run.name} with {run.finer} would tie ",
                Quantity(run, "finer_tied", PERCENT),
            ]
            first = next((each for each in run.measures if each.range > DIFFERS), None)
            if first is not None and first.finer_range is not None:
                ties += [f" and leave {first.measure} a range of ", Quantity(first, "finer_range")]
            yield (*ties, ", if it split each tie evenly.")
        if run is not worst and run.tied_fraction and run.grid is not None:
            yield f"{run.name}: {run.cure}"


def _lead(result: GridReport) -> Figure | None:
    """The first measure of each run, with its tie range."""
    rows = [(run, run.measures[0]) for run in result.runs if run.measures]
    dots = [
        TieInterval(f"{run.name}: {_name(run)}", each.expected, each.lowest, each.lowest + each.range)
        for run, each in rows
    ]
    if not dots or not any(each.range > DIFFERS for _, each in rows):
        return None
    measure = rows[0][1].measure
    about = f"{measure} of each run: expected value and tie range."
    return Figure("grid-ranges", measure, about, partial(plot_dots, dots), key=KEY)
