"""Page sections on which configuration to choose: frontier chart, the choice of each rule, marginal steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from trueval.report.number_texts import NOT_AVAILABLE, format_difference, format_value, make_formatter, whole
from trueval.report.page_content import Block, Cell, Figure, PageColumn, Row, Table, row_of, rows_of
from trueval.report.result_directory import ResultFile, pointer
from trueval.tradeoff.views.frontier_chart import CROWDED, PLAIN_SHAPES, SHAPES, frontier_chart
from trueval.tradeoff.views.lists import MOST_OPEN
from trueval.tradeoff.views.points import ConfigurationPoint
from trueval.tradeoff.views.units import milliseconds, money, share
from trueval.tradeoff.views.verdict import describe_rule

SOUGHT: Final[Mapping[str, Callable[[float | None], str]]] = {
    "quality": format_value,
    "latency": lambda value: NOT_AVAILABLE if value is None else f"{milliseconds(value)} ms",
    "cost": money,
}


def frontier_block(
    points: Sequence[ConfigurationPoint], percentile: str, currency: str, measure: str, tables: tuple[Table, ...]
) -> Block:
    """The frontier chart with its notes.

    Args:
        points: best first.
        percentile: of the latency.
        currency: of the cost.
        measure: the quality.
        tables: under the chart.
    """
    chart = frontier_chart(points, percentile, currency)
    if chart is None:
        none = (
            "Neither latencies nor prices are known of these configurations, so that quality is against nothing. Set "
            "queries in [latency], or names in [prices], of the sweep file.",
        )
        return Block("frontier", "Frontier", (none,), tables=tables, place="decisions")
    ranks = [point.rank for point in points]
    told, crowded = any(point.chance is not None for point in points), len(ranks) - ranks.count("not") > CROWDED
    description = (
        f"Each configuration by {measure}, latency and cost; the line is the best for at most so much. "
        f"{sum(point.on for point in points)} of {len(points)} are on the frontier."
    )
    sentences = (
        "The line is the best quality for at most so much.",
        "Drag over a plot to see the intervals of points." if crowded else "Thin lines are intervals.",
        "What is dragged over in one plot is near in the other too." if "concat" in chart else "",
        "A number names the row of the table below; some are left out where there is no room." if told else "",
        "A larger circle costs more." if any(point.cost for point in points) else "",
    )
    words = (" ".join(filter(None, sentences)),)
    key = SHAPES if told else PLAIN_SHAPES
    known = {"latency": any(point.latency for point in points), "cost": any(point.cost for point in points)}
    title = f"{measure} against {' and '.join(name for name, there in known.items() if there)}"
    figure = Figure("frontier-chart", title, description, chart, wide=True, interactive=True, key=key)
    return Block("frontier", "Frontier", (words,), (figure,), tables, place="decisions")


def rule_block(file: ResultFile, points: Sequence[ConfigurationPoint]) -> tuple[Block, ...]:
    """The choice of each rule with runner-up and certainty, and the frontier under latency limits.

    Args:
        file: the frontier.
        points: its configurations.
    """
    data = file.data
    names = {point.place: point.name for point in points}
    tables = [_rules(file, names)] if data["rules"] else []
    tables += [_limits(file, names)] if data["slo"] else []
    return (Block("rules-block", "What to ship", tables=tuple(tables), place="decisions"),) if tables else ()


def _rules(file: ResultFile, names: Mapping[int, str]) -> Table:
    columns = (
        PageColumn("rule"),
        PageColumn("ship"),
        PageColumn("value", "", True),
        PageColumn("inside", "/feasible_chance", True, share),
        PageColumn("runner-up"),
        PageColumn("its value", "", True),
        PageColumn("better", "/better", True, share, lambda value: value is not None and value < 0.95),
        PageColumn("noise", "/within_noise", True, whole),
        PageColumn("decided by", "/decided_by"),
        PageColumn("cross-fitted", "/cross_fitted/value", True, format_value),
    )
    rows = []
    for place, rule in enumerate(file.data["rules"]):
        own = iter(
            [
                _text(describe_rule(rule)),
                _name_cell(rule["answer"], names),
                _value(rule["value"], rule["seeks"], pointer("rules", place, "value")),
                _name_cell(rule["runner_up"], names),
                _value(rule["runner_up_value"], rule["seeks"], pointer("rules", place, "runner_up_value")),
            ]
        )
        cells = tuple(column.cell(rule) if column.field else next(own) for column in columns)
        rows.append(Row(pointer("rules", place), cells))
    notes = (
        "Inside: the share of plain resamples of queries and times in which the answer is inside the limits; better: "
        "in which it is better than the runner-up, where that decides. Noise: how many tie with the best one.",
        "Cross-fitted: the quality on queries that had no part in the choice, because the best of many is flattered.",
    )
    return Table("rules", ("The answer of each rule.",), file.name, columns, tuple(rows), notes)


def _limits(file: ResultFile, names: Mapping[int, str]) -> Table:
    columns = (
        PageColumn("at most, ms", "/latency_ms", True, whole),
        PageColumn("of", "/percentile"),
        *([PageColumn("K", "/K", True, whole)] if any(each["K"] is not None for each in file.data["slo"]) else []),
        PageColumn("configurations inside", "/feasible", True, whole),
        PageColumn("on the frontier", "/points", True, whole),
        PageColumn("best"),
    )
    rows = []
    for place, each in enumerate(file.data["slo"]):
        row = row_of(pointer("slo", place), columns, each, "")
        rows.append(row._replace(cells=(*row.cells[:-1], _name_cell(each["best"], names))))
    return Table("slo", ("The frontier inside each limit of latency.",), file.name, columns, tuple(rows))


def screen_block(file: ResultFile, points: Sequence[ConfigurationPoint]) -> tuple[Block, ...]:
    """Marginal gains per millisecond and per currency unit, systems at equal recall, and the efficiency score.

    Args:
        file: the frontier.
        points: its configurations.
    """
    tables = (*_marginals(file, points), *_matched_recall_tables(file), *_efficiency(file))
    return (Block("screen-block", "Steps, equal recall, efficiency", tables=tables, place="details"),) if tables else ()


def _marginals(file: ResultFile, points: Sequence[ConfigurationPoint]) -> tuple[Table, ...]:
    ratios = {"per_millisecond": "per ms", "per_currency": f"per {file.data['currency'] or 'currency'}"}
    columns = (
        PageColumn("from"),
        PageColumn("step", "/axis"),
        PageColumn("from", "/from", True, four_digits),
        PageColumn("to", "/to", True, four_digits),
        PageColumn("quality", "/quality/value", True, format_difference, lambda _: True),
        PageColumn("low", "/quality/low", True, format_difference),
        PageColumn("high", "/quality/high", True, format_difference),
        PageColumn("ms", "/milliseconds/value", True, four_digits),
        PageColumn("cost", "/cost", True, money),
        *(PageColumn(title, f"/{name}/value", True, make_formatter(".3g")) for name, title in ratios.items()),
        PageColumn("why no ratio", "/reason", show=lambda reason: reason or ""),
    )
    systems = {point.system: point for point in points}
    rows = rows_of(file, columns, "marginals", told=lambda each: _system(file, systems, each["system"]))
    caption = ("What each step of a setting gains.",)
    return (Table("marginals", caption, file.name, columns, rows, folded=len(rows) > 12),) if rows else ()


def _system(file: ResultFile, systems: Mapping[int, ConfigurationPoint], place: int) -> str:
    point = systems.get(place)
    return NOT_AVAILABLE if point is None else str(file.data["points"][point.place]["system_name"])


def _matched_recall_tables(file: ResultFile) -> tuple[Table, ...]:
    columns = (
        PageColumn("recall", "", True, share),
        PageColumn("system", "/name"),
        PageColumn("reached", "/reached", True, format_value),
        PageColumn("ms", "/latency", True, milliseconds),
        PageColumn("how", "/how"),
    )
    rows = []
    for place, matched in enumerate(file.data["matched_recall"]):
        for at, family in enumerate(matched["families"]):
            row = row_of(pointer("matched_recall", place, "families", at), columns, family, "")
            recall = matched["recall"]
            first = Cell(share(recall), recall, source=pointer("matched_recall", place, "recall"))
            rows.append(row._replace(cells=(first, *row.cells[1:])))
    caption = (f"Systems at the same recall of {file.data['recall_of'] or 'exact search'}.",)
    return (Table("matched", caption, file.name, columns, tuple(rows), folded=len(rows) > 12),) if rows else ()


def _efficiency(file: ResultFile) -> tuple[Table, ...]:
    columns = (
        PageColumn("system", "/name"),
        PageColumn("performance", "/performance", True, format_value),
        PageColumn("ms", "/latency", True, milliseconds),
        PageColumn("efficiency", "/efficiency", True, four_digits, lambda _: True),
    )
    rows = rows_of(file, columns, "efficiency")
    notes = (
        "Mean quality for each second of latency. For a first look only: it knows no limit, and favors small pools.",
    )
    caption = ("Efficiency, best first.",)
    return (Table("efficiency", caption, file.name, columns, rows, notes, len(rows) > MOST_OPEN),) if rows else ()


def _name_cell(place: int | None, names: Mapping[int, str]) -> Cell:
    if place is None or place not in names:
        return Cell(NOT_AVAILABLE, NOT_AVAILABLE)
    return Cell(names[place], names[place], source=pointer("points", place, "name"))


def _text(text: str) -> Cell:
    return Cell(text, text)


def _value(value: float | None, seeks: str, at: str) -> Cell:
    return Cell(SOUGHT[seeks](value), value, True, "" if value is None else at)


def four_digits(value: Any) -> str:
    """A number with four significant digits, such as a setting; text unchanged.

    >>> four_digits(12345.678), four_digits("int8"), four_digits(None)
    ('1.235e+04', 'int8', '–')
    """
    return NOT_AVAILABLE if value is None else f"{value:,.4g}" if isinstance(value, float | int) else str(value)
