"""Tables of configurations: possible frontier members, all, and the missing ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final

from trueval.report.number_texts import format_value, whole
from trueval.report.page_content import Cell, PageColumn, Row, Table, rows_of
from trueval.report.result_directory import ResultFile, pointer
from trueval.tradeoff.views.probes import probe_columns, probe_legend
from trueval.tradeoff.views.sweep_points import ConfigurationPoint, best_first, currency_of, percentile_of
from trueval.tradeoff.views.units import milliseconds, money, share

MOST_OPEN: Final = 60  # rows of a table that is open from the beginning


def configuration_table(file: ResultFile, points: Sequence[ConfigurationPoint]) -> Table:
    """Every configuration with a quality, best first.

    Args:
        file: the sweep.
        points: its configurations, best first.
    """
    data, percentile = file.data, percentile_of(file.data)
    timed = any(point.latency is not None for point in points)
    names = tuple(dict.fromkeys((percentile, "p95"))) if timed else ()
    costs = (PageColumn(f"{currency_of(data)} per 1,000".strip(), "/cost/total", True, money),)
    columns = (
        PageColumn("configuration", "/name"),
        PageColumn("K", "/K", True, whole),
        PageColumn("quality", "", True, format_value, lambda _: True),
        *(PageColumn(title, "", True, format_value) for title in ("low", "high", "lowest", "highest")),
        PageColumn("Judged", "/judged", True, share),
        PageColumn("PROC", "/ceiling/PROC", True, format_value),
        PageColumn("realised", "/ceiling/share", True, share),
        *(PageColumn(f"{name}, ms", "", True, milliseconds) for name in names),
        *(costs if any(point.cost is not None for point in points) else ()),
        *(PageColumn(each.title, "", True) for each in probe_columns(data)),
    )
    rows = tuple(_row(data, columns, point, names) for point in points)
    caption = (f"All {len(rows)} configurations, {best_first(points)}.",)
    notes = (
        "Low and high: bootstrap interval over queries. Lowest and highest: what the order of equal scores can make of "
        "the value. PROC: the quality if the best documents of the pool came first.",
        "The files of each system are in systems/, runs/ and samples/ of the same folder.",
        *probe_legend(data),
    )
    return Table("configurations", caption, file.name, columns, rows, notes, folded=len(rows) > MOST_OPEN)


def _row(
    data: Mapping[str, Any], columns: Sequence[PageColumn], point: ConfigurationPoint, names: Sequence[str]
) -> Row:
    """A row whose quality and latency give their own JSON paths, since these differ from row to row."""
    configuration, latency = data["configurations"][point.place], point.latency
    value = configuration["measures"][point.measure]
    qualities = (
        _cell(value.get(name), format_value, f"{point.at['quality']}/{name}", strong=name == "expected")
        for name in ("expected", "low", "high", "lowest", "highest")
    )
    times = (
        _cell(None if latency is None else latency[name]["value"], milliseconds, f"{point.at['latency']}/{name}/value")
        for name in names
    )
    system = data["systems"][point.system]
    probes = (
        Cell(each.text(system), each.value(system), source=pointer("systems", point.system, *each.path))
        for each in probe_columns(data)
    )
    own: Iterator[Cell] = chain(qualities, times, probes)
    cells = tuple(column.cell(configuration) if column.field else next(own) for column in columns)
    return Row(pointer("configurations", point.place), cells)


def _cell(value: float | None, show: Callable[[float | None], str], at: str, *, strong: bool = False) -> Cell:
    return Cell(show(value), value, strong, "" if value is None else at)


def reason_tables(file: ResultFile) -> tuple[Table, ...]:
    """Failed and excluded configurations, each with its reason.

    Args:
        file: the sweep or frontier.
    """
    columns = (PageColumn("configuration", "/name"), PageColumn("reason", "/reason"))
    captions = {
        "failed": "Failed; the others went on. The same command tries these again.",
        "left_out": "Left out.",
    }
    tables = []
    for name, caption in captions.items():
        rows = rows_of(file, columns, name) if file.data.get(name) else ()
        if rows:
            folded = len(rows) > MOST_OPEN
            tables.append(Table(name.replace("_", "-"), (caption,), file.name, columns, rows, folded=folded))
    return tuple(tables)
