"""The view of an explanation: a measure under every convention, and why the values differ."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final, NamedTuple

from trueval.evaluation.explanation_result import ConventionRow, DifferenceCause, Explanation, Move
from trueval.report.kinds import kind_of_view
from trueval.report.number_texts import FRACTIONS, ValueUnit, format_difference, format_value
from trueval.report.page_content import Figure
from trueval.report.plots import DOT_KEY, TieInterval, dot_plot
from trueval.report.units import DIFFERENCE, FRACTION, INTERVAL, NAME, Unit, unscaled_unit
from trueval.report.view import Answer, Column, Quantity, Section, Sentence, Sheet, View, columns_of

EXPLAIN: Final = kind_of_view(
    "explain",
    "trueval.evaluation.explanation_result:Explanation",
    "trueval.evaluation.views.explanation:view",
    format=2,
    order=30,
    stem="explanation",
)
NO_DIFFERENCE: Final = 1e-9  # sums of the same terms in another order differ by less
OURS: Final = "ours"
WORDS: Final = unscaled_unit(str, "t")


class _Causes(NamedTuple):
    """Why a value differs: the causes, or what is said where there are none."""

    causes: tuple[DifferenceCause, ...]
    otherwise: str = ""

    def write(self, scale: ValueUnit) -> str:
        """The causes in words; beside each of several is what it changes alone."""
        if len(self.causes) < 2:
            return self.causes[0].words if self.causes else self.otherwise
        return "; ".join(f"{each.words} ({format_difference(each.alone, scale)})" for each in self.causes)


class _Span(NamedTuple):
    low: float | None
    high: float | None


CAUSES: Final = Unit(_Causes.write, "t", lambda causes: causes.write(FRACTIONS))
OF_QUERY: Final = Unit(
    lambda value, scale: "left out" if value is None else format_value(value, scale),
    "r",
    lambda value: "left out" if value is None else format_value(value),
)


def view(result: Explanation) -> View:
    """What `trueval explain` shows.

    Args:
        result: of the command.
    """
    return View(
        title="Explanation",
        answer=_answer(result),
        lead=_lead(result),
        sections=[
            Section("What other tools print", [*_conventions(result)], id="conventions-compared"),
            Section("The queries that move most", [*_queries(result)], id="queries-moved"),
        ],
        csv=Sheet(
            "",
            result.rows,
            [
                Column("run", lambda _: result.run),
                Column("measure", lambda _: result.measure),
                *columns_of("convention", "version", "value", "difference"),
                *columns_of("expected", "lowest", "highest", "queries"),
                Column("because", lambda row: _reason(row).write(FRACTIONS)),
            ],
        ),
        findings=list(_unknown(result)),
        legend=list(_legend(result)),
        notes=result.notes,
    )


def _answer(result: Explanation) -> Answer:
    computing = [row for row in result.rows if row.value == row.value]
    other = [row for row in computing if abs(row.difference) > NO_DIFFERENCE]
    ours: Sentence = (f"{result.measure} of {result.run} is ", Quantity(result.ours, "expected"))
    if not computing:
        return Answer((*ours, "; no convention that was asked for computes it."))
    if not other:
        return Answer((*ours, f"; so it is under all conventions that compute it, {len(computing)}."))
    most = max(other, key=lambda row: abs(row.difference))
    causes = " and ".join(each.words for each in most.causes)
    return Answer(
        (
            *ours,
            f"; {len(other)} of {len(computing)} conventions that compute it give another value, {most.convention} "
            "the most: ",
            Quantity(most, "difference", DIFFERENCE),
            f", because of {causes}.",
        ),
        sure="Certain: with these choices changed, our value of every query is the tool's.",
        next=f'trueval evaluate QRELS RUN -m "{result.measure}" --convention {most.convention}',
    )


def _lead(result: Explanation) -> Figure | None:
    dots = [
        TieInterval(row.convention, row.expected, row.lowest, row.highest, row.tie_broken)
        for row in (_ours(result), *result.rows)
        if row.expected is not None and row.lowest is not None and row.highest is not None
    ]
    if len(dots) < 2:
        return None
    about = f"{result.measure} under each convention: expected value, tie range, and the value that the tool prints."
    return Figure("explanation", result.measure, about, lambda width: dot_plot(dots, width=width), key=DOT_KEY)


def _ours(result: Explanation) -> ConventionRow:
    ours = result.ours
    ends = (ours.expected, ours.lowest, ours.highest, None, ours.queries)
    return ConventionRow(OURS, "", ours.expected, 0.0, (), (), "", *ends)


def _change(row: ConventionRow) -> float:
    """The difference; NaN where the tool leaves the order of equal scores open and nothing else differs."""
    return row.difference if row.value == row.value or abs(row.difference) > NO_DIFFERENCE else math.nan


def _reason(row: ConventionRow) -> _Causes:
    unknown = "no such measure" if row.difference != row.difference else "order of ties not known"
    return _Causes(row.causes, unknown if row.why else "")


COLUMNS: Final[tuple[Column[ConventionRow], ...]] = (
    Column("convention", lambda row: row.convention, NAME),
    Column("value", lambda row: row.value, FRACTION, strong=True),
    Column("change", lambda row: "" if row.convention == OURS else _change(row), DIFFERENCE, only="text"),
    Column("change", _change, DIFFERENCE, only="page"),
    Column("lowest, highest", lambda row: _Span(row.lowest, row.highest), INTERVAL, only="text"),
    Column("lowest", lambda row: row.lowest, FRACTION, only="page"),
    Column("highest", lambda row: row.highest, FRACTION, only="page"),
    Column("because of", _reason, CAUSES, only="text"),
    Column("because of", lambda row: _reason(row).write(FRACTIONS), WORDS, only="page"),
)
QUERY_COLUMNS: Final[tuple[Column[Move], ...]] = (
    Column("query", lambda row: row.query, NAME),
    Column("convention", lambda row: row.convention, NAME),
    Column("ours", lambda row: row.ours, OF_QUERY),
    Column("theirs", lambda row: row.theirs, OF_QUERY),
    Column("because of", lambda row: _Causes(row.causes), CAUSES, only="text"),
    Column("because of", lambda row: _Causes(row.causes).write(FRACTIONS), WORDS, only="page"),
)


def _conventions(result: Explanation) -> Iterator[Sheet[ConventionRow]]:
    title = f"{result.measure} of {result.run} under each convention"
    yield Sheet(title, [_ours(result), *result.rows], COLUMNS, only="text")
    yield Sheet(title, result.rows, COLUMNS, only="page", id="explanation-table")


def _queries(result: Explanation) -> Iterator[Sheet[Move]]:
    if result.moves:
        yield Sheet("The queries that move most", result.moves, QUERY_COLUMNS)


def _unknown(result: Explanation) -> Iterator[str]:
    """Why conventions have no value; those without such a measure together."""
    without = [row.convention for row in result.rows if row.why == f"{row.convention} has no {result.measure}"]
    for row in result.rows:
        if row.why and row.convention not in without:
            yield f"{row.convention}: {row.why.rstrip('.')}."
    if without:
        names = f"{', '.join(without[:-1])} and {without[-1]} have" if len(without) > 1 else f"{without[0]} has"
        yield f"{names} no {result.measure}."


def _legend(result: Explanation) -> Iterator[str]:
    yield "Ours is the mean over all orders of tied documents; the change is from there."
    if any(row.value != row.value and row.difference == row.difference for row in result.rows):
        yield "Where a value is not known, the change is that of the mean over all orders."
    if any(len(row.causes) > 1 for row in result.rows):
        yield "Beside each of several causes is what it changes alone."
