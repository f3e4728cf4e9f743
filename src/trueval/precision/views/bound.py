"""The view of bounds: how far measures can move with the scores, and from which width on an order of runs can turn."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Final, NamedTuple

from trueval.precision.bound_result import MeasureBound, PrecisionBound, TurningPoint
from trueval.report.number_texts import NOISE, count_phrase
from trueval.report.page_content import Figure
from trueval.report.plots import TieInterval, plot_dots
from trueval.report.units import COUNT, DIFFERENCE, FRACTION, INTERVAL, MARKS, NAME, interval_of, unscaled_unit
from trueval.report.view import (
    Answer,
    Column,
    Mark,
    Quantity,
    Section,
    Sentence,
    Sheet,
    View,
    choices_section,
    columns_of,
)

QUESTION: Final = "How far can the result move if scores do?"
KEY: Final = (("bar", "lowest to highest"), ("dot", "expected"))
LEGEND: Final = (
    "lowest, highest: of the mean, over all scores that differ from the run's by at most the width, each score by "
    "itself, and over all orders of those that are then equal; ties are what a width of 0 leaves.",
    "moved: queries whose value can change; most: the largest difference of highest and lowest value of a query.",
    "holds up to: the width from which on the second run can reach the first, scores of both moving.",
    "Of documents that the run does not list nothing is known: bounds are over the listed ones.",
)
MARK_LIST: Final = (
    Mark("~", "a bound, which no scores may reach: gains have several grades."),
    Mark("!", "can turn within the width."),
)


class _Row(NamedTuple):
    """A measure of a run."""

    run: str
    bound: MeasureBound


class _Interval(NamedTuple):
    low: float
    high: float


COLUMNS: Final[tuple[Column[_Row], ...]] = (
    Column("run", lambda row: row.run, NAME),
    Column("expected", lambda row: row.bound.expected, FRACTION),
    Column(
        "of ties",
        lambda row: _Interval(row.bound.tie_lowest, row.bound.tie_highest),
        INTERVAL,
        leaves=2,
        ends=("lowest of ties", "highest of ties"),
    ),
    Column(
        "lowest, highest",
        lambda row: _Interval(row.bound.lowest, row.bound.highest),
        INTERVAL,
        strong=True,
        ends=("lowest", "highest"),
    ),
    Column("moved", lambda row: row.bound.moved, COUNT),
    Column("most", lambda row: row.bound.widest, FRACTION),
    Column("of query", lambda row: row.bound.widest_query, NAME, leaves=1),
    Column("", lambda row: "" if row.bound.exact else "~", MARKS),
)


def view(result: PrecisionBound) -> View:
    """What `trueval precision bound` shows.

    Args:
        result: of the command.
    """
    rows = [_Row(run.name, each) for run in result.runs for each in run.measures]
    names = list(dict.fromkeys(row.bound.measure for row in rows))
    by_measure = {name: [row for row in rows if row.bound.measure == name] for name in names}
    sheets = [Sheet(name, by_measure[name], COLUMNS, id=f"bound-{at}") for at, name in enumerate(names)]
    sections = [Section("Bounds of each run", sheets, open=True, figures=list(_figures(by_measure))[1:], id="bounds")]
    if result.pairs:
        pairs = Sheet("Where the order of neighbors can turn", result.pairs, _pair_columns(result), id="turning")
        sections.append(Section("Order of runs", [pairs], open=True))
    sections.append(choices_section("bound", {"scores may move by": result.within, **result.policy}))
    return View(
        title="Bounds of moved scores",
        answer=_answer(result),
        sections=sections,
        csv=Sheet("", rows, _csv_columns()),
        lead=next(_figures(by_measure), None),
        findings=list(_findings(result)),
        marks=MARK_LIST,
        legend=LEGEND,
        notes=(*result.notes, *_notes(result)),
    )


def format_margin(margin: float | None, unit: str) -> str:
    """A margin in its unit, rounded down to three digits.

    Args:
        margin: number of units; None where no width turns the order.
        unit: as in `ScoreWidth`.

    >>> format_margin(3.1479, "ulp(bfloat16)"), format_margin(0.00212, ""), format_margin(None, "")
    ('3.14 ulp(bfloat16)', '0.00212', 'any width')
    """
    if margin is None:
        return "any width"
    if margin > 0:
        digit = 10.0 ** (math.floor(math.log10(margin)) - 2)
        margin = math.floor(margin / digit * (1 + NOISE)) * digit
    return f"{margin:.3g} {unit}".strip()


def _answer(result: PrecisionBound) -> Answer:
    run = result.runs[0]
    pair = next((each for each in result.pairs if each.measure == run.measures[0].measure), None)
    if pair is not None:
        sure = "No score of either run was assumed to be right: each may be off by the width, in either direction."
        return Answer(
            _order_sentence(result, pair), QUESTION, sure, "", 'trueval compare QRELS RUN... -m "' + pair.measure + '"'
        )
    bound = run.measures[0]
    exact = "Exact" if bound.exact else "Bounds, which may be wider than what scores can reach,"
    return Answer(
        _bound_sentence(result, run.name, bound),
        QUESTION,
        f"{exact} over all scores within the width, on {count_phrase(bound.queries, 'query', 'queries')}.",
        "",
        "trueval precision bound QRELS RUN RUN",
    )


def _bound_sentence(result: PrecisionBound, name: str, bound: MeasureBound) -> Sentence:
    moved = f"If every score moves by at most {result.within}, {bound.measure} of {name}"
    if bound.highest - bound.lowest <= NOISE:
        return (f"{moved} stays ", Quantity(bound, "expected"), ": no score decides anything by so little.")
    words = (
        f"{moved} stays between ",
        Quantity(bound, "lowest"),
        " and ",
        Quantity(bound, "highest"),
        ", now ",
        Quantity(bound, "expected"),
    )
    return (*words, "; no query moves by more than ", Quantity(bound, "widest"), ".")


def _order_sentence(result: PrecisionBound, pair: TurningPoint) -> Sentence:
    ahead = f"{pair.first} is ahead of {pair.second} in {pair.measure} by "
    lead = Quantity(pair, "difference", DIFFERENCE)
    if pair.margin is None:
        return (ahead, lead, ", and no move of listed scores can turn that.")
    if pair.margin == 0:
        return (ahead, lead, ". The order of equal scores alone can turn that: the lead holds up to no width.")
    least = "" if pair.exact else "at least "
    holds = f". The lead holds up to {least}{format_margin(pair.margin, result.unit)}"
    within = f"and can turn within {result.within}" if pair.turns else f"so nothing within {result.within} turns it"
    return (ahead, lead, f"{holds}, {within}.")


def _findings(result: PrecisionBound) -> Iterator[Sentence]:
    first = result.runs[0].measures[0].measure
    for pair in result.pairs[:6]:
        if pair.measure != first or pair is not result.pairs[0]:
            yield _order_sentence(result, pair)
    rounded = [each for each in result.pairs if each.margin is not None and 0 < each.margin < 0.5]
    if result.unit.startswith("ulp("):
        name = result.unit.removeprefix("ulp(").removesuffix(")")
        if rounded:
            pairs = "; ".join(f"{each.first} and {each.second} in {each.measure}" for each in rounded)
            yield f"Rounding to {name} alone, which moves a score by half a unit, can turn the order of {pairs}."
        elif result.pairs and all(each.margin is None or each.margin >= 0.5 for each in result.pairs):
            yield f"Rounding to {name} alone, which moves a score by half a unit, turns none of these orders."
    if result.pairs:
        for run in result.runs:
            yield _bound_sentence(result, run.name, run.measures[0])


def _notes(result: PrecisionBound) -> Iterator[str]:
    for run in result.runs:
        worst = max(run.measures, key=lambda each: each.open_queries)
        if worst.open_queries:
            queries = count_phrase(worst.open_queries, "query", "queries")
            yield (
                f"{run.name}: in {queries} a document below the end of the list could reach the cutoff of "
                f"{worst.measure}. The bounds are over listed documents only; make the lists deeper."
            )


def _pair_columns(result: PrecisionBound) -> list[Column[TurningPoint]]:
    width = unscaled_unit(lambda value: value, "r")
    return [
        Column("measure", lambda row: row.measure),
        Column("ahead", lambda row: row.first, NAME),
        Column("behind", lambda row: row.second, NAME),
        Column("by", lambda row: row.difference, DIFFERENCE),
        Column(
            "within the width",
            lambda row: _Interval(row.lowest, row.highest),
            interval_of(DIFFERENCE),
            leaves=1,
            ends=("lowest", "highest"),
        ),
        Column("holds up to", lambda row: format_margin(row.margin, result.unit), width, strong=True),
        Column("", lambda row: ("!" if row.turns else "") + ("" if row.exact else "~"), MARKS),
    ]


def _csv_columns() -> list[Column[_Row]]:
    return [*columns_of("run"), *columns_of(*(f"bound.{name}" for name in MeasureBound.__dataclass_fields__))]


def _figures(by_measure: dict[str, list[_Row]]) -> Iterator[Figure]:
    for at, (name, rows) in enumerate(by_measure.items()):
        dots = [
            TieInterval(row.run, row.bound.expected, row.bound.lowest, row.bound.highest)
            for row in rows
            if not math.isnan(row.bound.expected)
        ]
        if dots:
            about = f"{name}: expected value of each run, and the lowest and highest over moved scores."
            yield Figure(f"bound-plot-{at}", name, about, partial(plot_dots, dots), key=KEY)
