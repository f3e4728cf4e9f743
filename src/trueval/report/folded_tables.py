"""Folded tables as data: the page carries their rows as compact JSON and builds them when a reader opens the table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from trueval.report.number_texts import NOT_AVAILABLE, format_difference, format_value
from trueval.report.page_content import PageCell, PageColumn, PageTable

# Formatter of a column → name of the same function in templates/page.js.
FORMS: Final[Mapping[Callable[..., str], str]] = {format_value: "fixed", format_difference: "signed", str: "plain"}


def pack_table(table: PageTable) -> dict[str, object]:
    """The columns and rows of a table.

    Args:
        table: table of the page.

    Returns:
        "columns": title, field, turned, numeric, form and strong of each; false and empty values are omitted. "rows":
        the source, 1 for a turned row or 0, then a cell for each column: its value where the form of the column writes
        the text from it, else value, text, whether it is strong, and its source where that is not in the row's.

    Example:
        >>> from trueval.report.page_content import Row
        >>> columns = (PageColumn("query", "/query"), PageColumn("AP", "/AP", numeric=True, show=format_value))
        >>> row = Row("/0", (PageCell("q1", "q1"), PageCell("0.2500", 0.25)))
        >>> pack_table(PageTable("t", ("All.",), "f.json", columns, (row,)))["rows"]
        [['/0', 0, 'q1', 0.25]]
    """
    strong = [bool(table.rows) and all(row.cells[place].strong for row in table.rows) for place in range(_width(table))]
    columns = [_column(column, always) for column, always in zip(table.columns, strong, strict=True)]
    cells = ([row.source, int(row.turned), *map(_cell, table.columns, row.cells, strong)] for row in table.rows)
    return {"columns": columns, "rows": list(cells)}


def _width(table: PageTable) -> int:
    return len(table.columns)


def _column(column: PageColumn, strong: bool) -> dict[str, object]:
    every = {
        "title": column.title,
        "field": column.field,
        "turned": column.turned,
        "numeric": int(column.numeric),
        "form": FORMS.get(column.show, "") if column.numeric else "",
        "strong": int(strong),
    }
    return {name: value for name, value in every.items() if value or name == "title"}


def _cell(column: PageColumn, cell: PageCell, always: bool) -> Any:
    if cell.strong == always and not cell.source:
        if not column.numeric:
            if cell.text == cell.value:
                return cell.text
        elif cell.text == NOT_AVAILABLE and cell.value is None:
            return None
        elif column.show in FORMS and not isinstance(cell.value, str | bool):
            return cell.value
    return [cell.value, cell.text, int(cell.strong), *([cell.source] if cell.source else [])]
