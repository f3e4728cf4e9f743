"""Small results in the shape of the JSON of `trueval evaluate`."""

from typing import Any

from trueval.report.page_content import PageTable


def value(
    lowest: float | None, expected: float | None, highest: float | None, tie_broken: float | None
) -> dict[str, Any]:
    known = lowest is not None and highest is not None
    return {
        "expected": expected,
        "lowest": lowest,
        "highest": highest,
        "range": highest - lowest if known else None,
        "tie_broken": tie_broken,
        "bias": None if tie_broken is None or expected is None else tie_broken - expected,
        "sd": 0.01 if known and highest > lowest else 0.0,
        "queries": 50,
    }


def results(measures: dict[str, dict[str, dict[str, Any]]]) -> dict[str, Any]:
    """Results from run → measure → value."""
    ties = {"tied_fraction": 0.25, "largest_group": 7, "cut_queries": []}
    runs = [
        {
            "name": name,
            "queries": 50,
            "missing_queries": [],
            "unjudged_queries": [],
            "ties": ties,
            "measures": values,
            "notes": [],
        }
        for name, values in measures.items()
    ]
    return {
        "kind": "evaluate",
        "format": 2,
        "trueval": "0",
        "policy": {"tie_order": "docid-desc", "convention": None},
        "runs": runs,
    }


def places_of(table: PageTable) -> list[list[str]]:
    """Where the cells of a table are in the JSON, row by row: by themselves, or by their row and their column."""
    return [
        [
            cell.source or (column.field and row.source + column.field)
            for cell, column in zip(row.cells, table.columns, strict=True)
        ]
        for row in table.rows
    ]
