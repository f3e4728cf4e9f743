"""The page block of corrected values: judge, corrected and people in one plot per measure, and a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from trueval.evaluation.views.corrected import (
    TITLE,
    CorrectedEntry,
    best_first,
    by_measure,
    describe_leader_changes,
    describe_sign_changes,
    of_runs,
    refusals,
    reverse_entry,
    sample_sentence,
    warnings,
)
from trueval.report.figures import NARROW, Chart, axis_domain, tone
from trueval.report.formats import distinct
from trueval.report.number_texts import NOT_AVAILABLE, format_difference, format_value, interval
from trueval.report.page_content import Block, Cell, Figure, PageColumn, Row, Table, Words, counts, row_of
from trueval.report.plots import HOLLOW_TICK, names_axis, shorten_name
from trueval.report.result_directory import ResultFile, pointer

ROW: Final = 34  # CSS pixels of a run
MOST_ROWS: Final = 30  # of one plot
MOST_OPEN: Final = 60  # rows of a table that is open from the beginning

KEY: Final = (
    ("tick", "by the judge's labels"),
    ("dot", "corrected"),
    ("thin", "interval of the corrected value"),
    ("speck", "people alone, with their interval"),
)


class ThreeValues(NamedTuple):
    """A value by judge, correction and people.

    Attributes:
        name: label in the plot.
        judge: value by the judge's labels.
        corrected: value, low and high.
        people: value, low and high.
    """

    name: str
    judge: float | None
    corrected: tuple[float | None, float | None, float | None]
    people: tuple[float | None, float | None, float | None]


def corrected_block(file: ResultFile) -> tuple[Block, ...]:
    """The block of corrected values of an evaluation; None without an audit.

    Args:
        file: the results.
    """
    told = of_runs(file.data)
    return () if "audit" not in file.data else (block(file, told, "run"),)


def block(
    file: ResultFile, told: Sequence[CorrectedEntry], head: str, *, differences: bool = False, name: str = ""
) -> Block:
    """Sentences, plots, a matrix where that is shorter, and the table of all values.

    Args:
        file: results with "audit".
        told: their corrections.
        head: heading of the first column.
        differences: whether values are differences, which have a sign and a line at 0.
        name: prefix of the block's ids, where a page has several.
    """
    told = told if differences else best_first(told)
    known = [each for each in told if not each.refused]
    # What is said of values is not said again of their differences.
    sentences = (
        describe_sign_changes(told)
        if differences
        else (sample_sentence(file.data["audit"]), *describe_leader_changes(told))
    )
    figures = tuple(_figures(known, name, differences=differences))
    matrix = () if differences else tuple(_matrix(file, told, name))
    tables = (*matrix, *([_table(file, told, head, name, differences=differences)] if told else []))
    said = tuple((line,) for line in (*sentences, *refusals(told), *warnings(told)))
    return Block(f"{name}corrected-block", TITLE, said, figures, tables, place="decisions")


def summary_of(file: ResultFile) -> Iterator[Words]:
    """Sentences on decisions that corrected values change: another run leads.

    Args:
        file: the results.
    """
    if "audit" in file.data:
        yield from ((line,) for line in describe_leader_changes(of_runs(file.data)))


def _figures(told: Sequence[CorrectedEntry], name: str, *, differences: bool) -> Iterator[Figure]:
    for place, (measure, mine) in enumerate(by_measure(told)):
        shown = mine[:MOST_ROWS]
        title = measure if len(shown) == len(mine) else f"{measure}: the first {len(shown)} of {len(mine)}"
        about = f"{measure} by the judge's labels, corrected, and by people's labels alone, with intervals."
        rows = [_estimates(each) for each in shown]
        yield Figure(f"{name}corrected-{place}", title, about, estimate_plot(rows, zero=differences), key=KEY)


def _estimates(told: CorrectedEntry) -> ThreeValues:
    def of(part: Mapping[str, Any]) -> tuple[float | None, float | None, float | None]:
        return part["estimate"], part.get("low"), part.get("high")

    entry = told.entry
    return ThreeValues(told.name, entry["judge"]["estimate"], of(entry["corrected"]), of(entry["people"]))


def estimate_plot(estimates: Sequence[ThreeValues], *, zero: bool = False, width: int = NARROW) -> Chart:
    """A plot of three values each: hollow tick by the judge, dot with a line corrected, speck with a line by people.

    Args:
        estimates: values to plot, at least one.
        zero: whether to draw a line at 0, for differences.
        width: CSS pixels of the whole figure.
    """
    import altair as alt

    names = distinct([shorten_name(each.name) for each in estimates])
    show = format_difference if zero else format_value
    rows = [
        {
            "name": name,
            "judge": each.judge,
            **dict(zip(("corrected", "low", "high"), each.corrected, strict=True)),
            **dict(zip(("people", "people_low", "people_high"), each.people, strict=True)),
            "told": f"{each.name}: judge {show(each.judge)}, corrected {show(each.corrected[0])} "
            f"{interval(*each.corrected[1:])}, people {show(each.people[0])} {interval(*each.people[1:])}",
        }
        for name, each in zip(names, estimates, strict=True)
    ]
    ends = [value for each in estimates for value in (each.judge, *each.corrected, *each.people)]
    domain = axis_domain([*ends, *([0.0] if zero else [])])
    room = min(170, int(6.6 * max(map(len, names))) + 8)
    axis = alt.Axis(tickCount=3, labelFlush=False, labelOverlap=True)
    scale = alt.Scale(domain=domain, nice=False, zero=False)

    def x(field: str) -> alt.X:
        return alt.X(f"{field}:Q", title=None, scale=scale, axis=axis)

    base = alt.Chart(alt.Data(values=rows)).encode(y=names_axis(names))
    lower: Any = {"yOffset": 8}
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


def _matrix(file: ResultFile, told: Sequence[CorrectedEntry], name: str) -> Iterator[Table]:
    """Runs by measures, with three values each; nothing for a single run or measure."""
    groups = by_measure(told)
    runs = list(dict.fromkeys(each.name for each in told))
    if len(groups) < 2 or len(runs) < 2:
        return
    columns = [PageColumn("run")]
    for measure, _ in groups:
        columns += [PageColumn(f"{measure} {part}", numeric=True, show=format_value) for part in _PARTS]
    rows = []
    for run in runs:
        cells = [Cell(run, run)]
        for _, mine in groups:
            each = next((one for one in mine if one.name == run), None)
            cells += [_matrix_cell(each, part) for part in _PARTS]
        rows.append(Row("", tuple(cells)))
    caption = ("Each value by the judge's labels, corrected, and by people's labels alone.",)
    yield Table(f"{name}corrected-matrix", caption, file.name, tuple(columns), tuple(rows))


_PARTS: Final = ("judge", "corrected", "people")


def _matrix_cell(told: CorrectedEntry | None, part: str) -> Cell:
    if told is None or told.refused:
        return Cell(NOT_AVAILABLE, None)
    value = told.entry[part]["estimate"]
    return Cell(format_value(value), value, part == "corrected", pointer(*told.source, part, "estimate"))


def _table(file: ResultFile, told: Sequence[CorrectedEntry], head: str, name: str, *, differences: bool) -> Table:
    show = format_difference if differences else format_value

    def value(title: str, field: str, turned: str = "", *, strong: bool = False) -> PageColumn:
        return PageColumn(title, field, numeric=True, show=show, strong=lambda _: strong, turned=f"-{turned or field}")

    level = f"{told[0].entry['level']:.0%}"
    columns = (
        PageColumn("measure", "/measure"),
        PageColumn(head),
        value("judge", "/judge/estimate"),
        value("corrected", "/corrected/estimate", strong=True),
        value(f"{level} from", "/corrected/low", "/corrected/high"),
        value("to", "/corrected/high", "/corrected/low"),
        value("people", "/people/estimate"),
        value("people from", "/people/low", "/people/high"),
        value("to", "/people/high", "/people/low"),
        PageColumn("correlation", "/correlation", numeric=True, show=format_value),
        PageColumn("weight of the judge", "/weight", numeric=True, show=format_value),
        counts("labels", "/labels"),
    )
    # What is shown the other way round is read from the entry as it is in the file, by the turned fields.
    rows = tuple(
        row_of(
            pointer(*each.source),
            columns,
            reverse_entry(each.entry) if each.turned else each.entry,
            each.name,
            turned=each.turned,
        )
        for _, mine in by_measure(told)
        for each in mine
    )
    caption = (
        "By the judge's labels of every query, corrected by people's labels, and by people's labels alone; a "
        "dash where the audit cannot say.",
    )
    notes = (
        "Correlation: how far the judge's value of a query says what people's is. Weight: how much of the judge's "
        "values the correction uses; 0 is people alone.",
    )
    return Table(f"{name}corrected-table", caption, file.name, columns, rows, notes, folded=len(rows) > MOST_OPEN)
