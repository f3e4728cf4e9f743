"""Corrected values in a view: the sheet, plots and sentences of runs and of differences.

docs/design/audit.md defines the terms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple, TypeVar

from trueval.evaluation.corrected_values import (
    AuditSummary,
    CorrectedValue,
    EstimateWithInterval,
    JudgeMean,
    LabelPlan,
    PeopleEstimate,
    RefusedValue,
)
from trueval.evaluation.views.verdicts import lower_is_better
from trueval.report.figures import NARROW, Chart, ChartRow, axis_domain, tone
from trueval.report.formats import distinct
from trueval.report.number_texts import count_phrase, format_difference, format_value, interval
from trueval.report.page_content import Figure
from trueval.report.plots import HOLLOW_TICK, names_axis, shorten_name
from trueval.report.units import COUNT, DIFFERENCE, FRACTION, INTERVAL, NAME, interval_of
from trueval.report.view import Column, Quantity, Sentence, Sheet

T = TypeVar("T")
Part = TypeVar("Part", JudgeMean, EstimateWithInterval, PeopleEstimate)
TITLE: Final = "Corrected by people's labels"
DIFFERENCES_TITLE: Final = "Differences, corrected by people's labels"
ROW: Final = 34  # CSS pixels of a run
MOST_ROWS: Final = 30  # of one plot
MOST_OPEN: Final = 60  # rows of a table that is open from the beginning
MOST: Final = 4  # names that a sentence lists
NO_JUDGE: Final = JudgeMean(math.nan, 0)
NO_PEOPLE: Final = PeopleEstimate(math.nan, math.nan, math.nan, math.nan, math.nan, queries=0)
NO_ESTIMATE: Final = EstimateWithInterval(*[math.nan] * 5)
DIFFERENCE_INTERVAL: Final = interval_of(DIFFERENCE)
# What `--labels` means, where it is not the judge's alone.
MEANT: Final[Mapping[str, str]] = {
    "judge": "Values are by the judge's labels",
    "corrected": "Values are by the judge's labels, and gates look at the corrected ones",
    "people": "Values are by people's labels alone, of the queries that they graded as a whole",
    "people-first": "Values are by people's labels where there are some and the judge's elsewhere",
}
KEY: Final = (
    ("tick", "by the judge's labels"),
    ("dot", "corrected"),
    ("thin", "interval of the corrected value"),
    ("speck", "people alone, with their interval"),
)
LEGEND: Final = (
    "judge: by the judge's labels of every query; corrected: the same, moved by what people say of a probability "
    "sample; people: by people's labels alone.",
    "correlation: how far the judge's value of a query says what people's is. weight of the judge: how much of the "
    "judge's values the correction uses; 0 is people alone.",
)


class CorrectedRow(NamedTuple):
    """A correction and what it is of.

    Attributes:
        name: name of the run, or the names of two with a minus between.
        found: the correction.
        judged: the judge's mean, known where a correction is refused.
        of: the correction in the result, where `found` is a difference that is shown the other way round.
    """

    name: str
    found: RefusedValue | CorrectedValue
    judged: JudgeMean = NO_JUDGE
    of: RefusedValue | CorrectedValue | None = None

    @property
    def source(self) -> RefusedValue | CorrectedValue:
        """The correction in the result."""
        return self.found if self.of is None else self.of

    @property
    def measure(self) -> str:
        """The measure's text form."""
        return self.found.measure

    @property
    def value(self) -> CorrectedValue | None:
        """The correction; None where it is refused."""
        return self.found if isinstance(self.found, CorrectedValue) else None

    @property
    def refused(self) -> str | None:
        """Why there is no number; None where there is one."""
        return self.found.refused if isinstance(self.found, RefusedValue) else None

    @property
    def judge(self) -> JudgeMean:
        """The mean by the judge's labels."""
        return self.judged if self.value is None else self.value.judge

    @property
    def people(self) -> PeopleEstimate:
        """The estimate by people's labels alone."""
        return NO_PEOPLE if self.value is None else self.value.people

    @property
    def corrected(self) -> EstimateWithInterval:
        """The estimate by both labels."""
        return NO_ESTIMATE if self.value is None else self.value.corrected

    @property
    def plan(self) -> LabelPlan | None:
        """The labels that a narrower interval takes."""
        return None if self.value is None else self.value.plan

    @property
    def correlation(self) -> float | None:
        """How far the judge's value of a query says what people's is."""
        return None if self.value is None else self.value.correlation

    @property
    def weight(self) -> float | None:
        """How much of the judge's values the correction uses."""
        return None if self.value is None else self.value.weight

    @property
    def labels(self) -> int | None:
        """The number of people's labels that it uses."""
        return None if self.value is None else self.value.labels

    def quantity(self, part: str, *, interval: bool = False) -> Quantity:
        """A value of a difference for a sentence, or its interval.

        Args:
            part: "judge", "people" or "corrected".
        """
        turned = self.of is not None
        if interval:
            return Quantity(self.source, part, DIFFERENCE_INTERVAL, turned)
        return Quantity(getattr(self.source, part), "estimate", DIFFERENCE, turned)

    def turn(self, name: str) -> CorrectedRow:
        """The difference the other way round: second - first.

        Args:
            name: of it.
        """
        if self.value is None:
            return CorrectedRow(name, self.found, _negate(self.judged), self.found)
        parts = {each: _negate(getattr(self.value, each)) for each in ("judge", "people", "corrected")}
        return CorrectedRow(name, replace(self.value, **parts), of=self.found)


def _negate(part: Part) -> Part:
    """A value or an interval with its sign changed; the place of its numbers in the JSON is lost with it."""
    if isinstance(part, JudgeMean):
        return replace(part, estimate=0.0 - part.estimate)
    return replace(part, estimate=0.0 - part.estimate, low=0.0 - part.high, high=0.0 - part.low)


def by_measure(rows: Iterable[CorrectedRow]) -> list[tuple[str, list[CorrectedRow]]]:
    """Corrections grouped by measure, in order of first appearance."""
    found: dict[str, list[CorrectedRow]] = {}
    for each in rows:
        found.setdefault(each.measure, []).append(each)
    return list(found.items())


def best_first(rows: Sequence[CorrectedRow]) -> list[CorrectedRow]:
    """Corrections of runs by measure, the best corrected value first and those without a value last.

    Args:
        rows: corrections of runs.
    """
    return [each for measure, mine in by_measure(rows) for each in sorted(mine, key=_best_first("corrected", measure))]


def _best_first(part: str, measure: str) -> Callable[[CorrectedRow], tuple[bool, float]]:
    """The sort key by which the best value of a part is first."""
    sign = 1 if lower_is_better(measure) else -1

    def key(row: CorrectedRow) -> tuple[bool, float]:
        value: float = getattr(row, part).estimate
        return value != value, sign * value if value == value else 0.0

    return key


def leaders(rows: Sequence[CorrectedRow]) -> tuple[CorrectedRow, CorrectedRow] | None:
    """The best of several runs by the judge's labels and by the corrected values; None where fewer than two are known.

    Args:
        rows: corrections of runs, of one measure.
    """
    known = [each for each in rows if each.corrected.estimate == each.corrected.estimate]
    if len(known) < 2:
        return None
    measure = known[0].measure
    return min(known, key=_best_first("judge", measure)), min(known, key=_best_first("corrected", measure))


def corrected_sheet(
    rows: Sequence[CorrectedRow], *, differences: bool = False, prefix: str = ""
) -> Sheet[CorrectedRow]:
    """The table of the three values with their intervals.

    Args:
        rows: corrections, at least one.
        differences: whether values are differences, which have a sign.
        prefix: of its id, where a page has several.
    """
    unit, span = (DIFFERENCE, DIFFERENCE_INTERVAL) if differences else (FRACTION, INTERVAL)
    level = f"{rows[0].found.level:.0%}" if rows else "95%"
    columns: list[Column[CorrectedRow]] = [
        Column("measure", lambda row: row.measure, NAME),
        Column("difference" if differences else "run", lambda row: str(row.name), NAME),
        Column("judge", lambda row: row.judge.estimate, unit, turned="-"),
        Column("corrected", lambda row: row.corrected.estimate, unit, strong=True, turned="-"),
        Column(f"{level} interval", lambda row: row.corrected, span, ends=(f"{level} from", "to"), turned="-"),
        Column("people", lambda row: row.people.estimate, unit, turned="-"),
        Column(f"{level} of people", lambda row: row.people, span, leaves=1, ends=("people from", "to"), turned="-"),
        Column("correlation", lambda row: row.correlation, FRACTION, only="page"),
        Column("weight of the judge", lambda row: row.weight, FRACTION, only="page"),
        Column("labels", lambda row: row.labels, COUNT, leaves=2),
    ]
    title = DIFFERENCES_TITLE if differences else TITLE
    return Sheet(
        title,
        rows,
        columns,
        folded=len(rows) > MOST_OPEN,
        id=f"{prefix}corrected-table",
        part=lambda row: row.source,
        turned=lambda row: row.of is not None,
    )


def corrected_figures(rows: Sequence[CorrectedRow], *, differences: bool = False, prefix: str = "") -> list[Figure]:
    """A plot of the three values for each measure that has any.

    Args:
        rows: corrections.
        differences: whether values are differences, which have a line at 0.
        prefix: of the ids, where a page has several.
    """
    known = by_measure(each for each in rows if each.corrected.estimate == each.corrected.estimate)
    found = []
    for place, (measure, mine) in enumerate(known):
        shown = mine[:MOST_ROWS]
        title = measure if len(shown) == len(mine) else f"{measure}: the first {len(shown)} of {len(mine)}"
        about = f"{measure} by the judge's labels, corrected, and by people's labels alone, with intervals."

        def chart(width: int, shown: Sequence[CorrectedRow] = shown) -> Chart:
            return estimate_plot(shown, zero=differences, width=width)

        found.append(Figure(f"{prefix}corrected-{place}", title, about, chart, key=KEY))
    return found


def estimate_plot(rows: Sequence[CorrectedRow], *, zero: bool = False, width: int = NARROW) -> Chart:
    """A plot of three values each: hollow tick by the judge, dot with a line corrected, speck with a line by people.

    Args:
        rows: corrections, at least one.
        zero: whether to draw a line at 0, for differences.
        width: CSS pixels of the whole figure.
    """
    import altair as alt

    names = distinct([shorten_name(each.name) for each in rows])
    show = format_difference if zero else format_value
    values = [
        {
            "name": name,
            "judge": _or_none(each.judge.estimate),
            **_ends("", "corrected", each.corrected),
            **_ends("people_", "people", each.people),
            "told": f"{each.name}: judge {show(_or_none(each.judge.estimate))}, corrected "
            f"{show(_or_none(each.corrected.estimate))} {interval(each.corrected.low, each.corrected.high)}, people "
            f"{show(_or_none(each.people.estimate))} {interval(each.people.low, each.people.high)}",
        }
        for name, each in zip(names, rows, strict=True)
    ]
    ends = [value for row in values for value in row.values() if isinstance(value, float)]
    domain = axis_domain([*ends, *([0.0] if zero else [])])
    room = min(170, int(6.6 * max(map(len, names))) + 8)
    axis = alt.Axis(tickCount=3, labelFlush=False, labelOverlap=True)
    scale = alt.Scale(domain=domain, nice=False, zero=False)

    def x(field: str) -> alt.X:
        return alt.X(f"{field}:Q", title=None, scale=scale, axis=axis)

    base = alt.Chart(alt.Data(values=values)).encode(y=names_axis(names))
    lower: ChartRow = {"yOffset": 8}
    layers = [
        base.mark_rule(strokeWidth=1.2, color=tone("quiet"), **lower).encode(x=x("people_low"), x2="people_high:Q"),
        base.mark_point(filled=True, size=18, color=tone("quiet"), **lower).encode(x=x("people")),
        base.mark_rule(strokeWidth=2, color=tone("expected")).encode(x=x("low"), x2="high:Q"),
        base.mark_point(shape=HOLLOW_TICK, filled=False, size=110, stroke=tone("text"), strokeWidth=1.2).encode(
            x=x("judge")
        ),
        base.mark_point(filled=True, size=52, color=tone("expected"), aria=True).encode(
            x=x("corrected"), description="told:N"
        ),
    ]
    if zero:
        layers.insert(0, alt.Chart(alt.Data(values=[{"zero": 0}])).mark_rule(color=tone("text")).encode(x=x("zero")))
    return alt.layer(*layers).properties(width=max(120, width - room - 16), height=ROW * len(rows))


def _ends(prefix: str, name: str, part: EstimateWithInterval) -> dict[str, float | None]:
    return {
        name: _or_none(part.estimate),
        f"{prefix}low": _or_none(part.low),
        f"{prefix}high": _or_none(part.high),
    }


def _or_none(value: float) -> float | None:
    return None if value != value else value


def describe_sample(audit: AuditSummary) -> str:
    """One sentence on the sample that corrected values use.

    Args:
        audit: of the results.
    """
    unit = "queries" if audit.design == "queries" else "passages"
    skipped = f", {count_phrase(audit.skipped, 'answer', 'answers')} skipped" if audit.skipped else ""
    return (
        f"People graded {audit.sampled:,} of {audit.population:,} {unit} ({audit.people_labels:,} labels{skipped}; "
        f"design {audit.design}); {audit.level:.0%} intervals for {audit.target}."
    )


def describe_refusals(rows: Iterable[CorrectedRow]) -> Iterator[str]:
    """One sentence per reason why there is no estimate.

    Args:
        rows: corrections.
    """
    reasons: dict[str, dict[str, None]] = {}
    for each in rows:
        if each.refused is not None:
            reason = each.refused.removeprefix(f"{each.measure}: ")
            reasons.setdefault(reason, {})[each.measure] = None
    for reason, measures in reasons.items():
        yield f"{_list(list(measures))}: not corrected: {reason}"


def describe_warnings(rows: Sequence[CorrectedRow]) -> Iterator[str]:
    """One sentence per distinct warning, with the measures that it concerns.

    Args:
        rows: corrections.
    """
    about: dict[str, dict[str, None]] = {}
    for each in rows:
        for warning in () if each.value is None else each.value.warnings:
            about.setdefault(warning, {})[each.measure] = None
    measures = {each.measure for each in rows if each.value is not None}
    for warning, named in about.items():
        where = "" if set(named) == measures else f"{_list(list(named))}: "
        yield f"{where}{warning[:1].upper() if not where else warning[:1]}{warning[1:]}"


def describe_leader_changes(rows: Sequence[CorrectedRow]) -> Iterator[str]:
    """One sentence per measure whose best run by corrected values is not the judge's.

    Args:
        rows: corrections of runs.
    """
    for measure, mine in by_measure(rows):
        found = leaders(mine)
        if found is not None and found[0].name != found[1].name:
            judged, corrected = found
            left = "" if _apart(judged, corrected) else "; the corrected intervals of the two overlap"
            best = f"{measure}: by the judge's labels {judged.name} is best"
            yield f"{best}, by the corrected values {corrected.name}{left}."


def _apart(one: CorrectedRow, other: CorrectedRow) -> bool:
    """Whether the corrected intervals of two runs are disjoint."""
    return one.corrected.high < other.corrected.low or other.corrected.high < one.corrected.low


def describe_sign_changes(rows: Sequence[CorrectedRow], *, surely: bool = False) -> Iterator[Sentence]:
    """One sentence per difference whose sign the correction reverses.

    Args:
        rows: corrections of differences.
        surely: whether to require that the whole interval has the opposite sign.
    """
    for each in rows:
        judge, value = each.judge.estimate, each.corrected.estimate
        end = each.corrected.low if value > 0 else each.corrected.high
        if judge * value < 0 and not (surely and not end * value > 0):
            yield (
                f"{each.measure}, {each.name}: ",
                each.quantity("judge"),
                " by the judge's labels, ",
                each.quantity("corrected"),
                " corrected by people's ",
                each.quantity("corrected", interval=True),
                ".",
            )


def csv_columns(row_of: Callable[[T], CorrectedRow | None]) -> list[Column[T]]:
    """Columns of CSV, empty where nothing was corrected.

    Args:
        row_of: from a row of the sheet to its correction.
    """

    def column(name: str, value: Callable[[CorrectedRow], object]) -> Column[T]:
        return Column(name, lambda row: None if (found := row_of(row)) is None else value(found))

    return [
        column("judge", lambda row: row.judge.estimate),
        column("corrected", lambda row: row.corrected.estimate),
        column("corrected_low", lambda row: row.corrected.low),
        column("corrected_high", lambda row: row.corrected.high),
        column("people", lambda row: row.people.estimate),
        column("people_low", lambda row: row.people.low),
        column("people_high", lambda row: row.people.high),
        column("people_queries", lambda row: None if row.value is None else row.value.queries),
        column("people_labels", lambda row: None if row.value is None else row.value.labels),
        column("refused", lambda row: row.refused),
    ]


def _list(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= MOST else f"{', '.join(names[:MOST])} and {len(names) - MOST} more"
