"""Small results in the shape of the JSON of `trueval evaluate`."""

from typing import Any


def value(
    lowest: float | None, expected: float | None, highest: float | None, oblivious: float | None
) -> dict[str, Any]:
    known = lowest is not None and highest is not None
    return {
        "expected": expected,
        "lowest": lowest,
        "highest": highest,
        "range": highest - lowest if known else None,
        "oblivious": oblivious,
        "bias": None if oblivious is None or expected is None else oblivious - expected,
        "sd": 0.01 if known and highest > lowest else 0.0,
        "queries": 50,
    }


def results(measures: dict[str, dict[str, dict[str, Any]]]) -> dict[str, Any]:
    """Results from run → measure → value."""
    ties = {"tied_fraction": 0.25, "largest_group": 7, "cut_queries": []}
    runs = [
        {"name": name, "queries": 50, "missing_queries": [], "unjudged_queries": [], "ties": ties, "measures": values}
        for name, values in measures.items()
    ]
    return {
        "kind": "evaluate",
        "format": 2,
        "trueval": "0",
        "policy": {"tie_order": "docid-desc", "convention": None},
        "runs": runs,
    }
