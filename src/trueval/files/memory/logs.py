"""Rows of logs in memory: dicts, and objects of other libraries, recognized by attributes without importing them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import suppress
from numbers import Integral, Real
from typing import Any

from trueval.errors import Place
from trueval.files.json.context_logs import Log, UnreadLine, log_of
from trueval.files.json.jsonl_rows import Literal
from trueval.files.json.log_keys import PARTS, ROW_KEYS, looks_like_row

DEEPEST = 8  # a node within a hit within a row, and its metadata, are four levels


def is_log(items: list[object]) -> bool:
    """Tell whether the first item is a row of a log of contexts.

    >>> is_log([{"question": "q", "relevant_ids": ["d"]}]), is_log([("q", "d", 1.0)])
    (True, False)
    """
    return bool(items) and not isinstance(items[0], (str, list, tuple)) and looks_like_row(plain(items[0]))


def read_rows(items: Iterable[object], *, in_reading_order: bool = True) -> Log:
    """Read rows of a log: dicts, or objects with attributes of these names (SingleTurnSample of Ragas, and the like).

    Args:
        items: the rows.
        in_reading_order: as in `log_of`; not of what an engine listed, whose scores are its own.

    Raises:
        InputError: as in files/json/contexts, with the number of the row.
    """
    rows = (UnreadLine(Place("rows", row=at), at + 1, plain(item)) for at, item in enumerate(items))
    return log_of(rows, "rows", "", has_lines=False, in_reading_order=in_reading_order)


def plain(value: Any, depth: int = 0) -> Any:
    """Convert a value to JSON types, with numbers as written; of an object, the parts that a log can have.

    >>> plain({"ids": (7, "d"), "score": 0.5})
    {'ids': ['7', 'd'], 'score': '0.5'}
    """
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, Integral):
        return Literal(int(value))
    if isinstance(value, Real):
        return Literal(float(value))
    if depth == DEEPEST:
        return None
    if isinstance(value, Mapping):
        return {str(key): plain(each, depth + 1) for key, each in value.items()}
    if isinstance(value, Set):
        return sorted((plain(each, depth + 1) for each in value), key=str)
    if isinstance(value, (list, tuple)) or hasattr(value, "tolist"):
        return [plain(each, depth + 1) for each in (value.tolist() if hasattr(value, "tolist") else value)]
    return {name: plain(part, depth + 1) for name, part in _parts(value)}


def _parts(value: object) -> Iterator[tuple[str, Any]]:
    """The attributes of an object that a log can have."""
    for name in (*PARTS, *ROW_KEYS):
        if name == "extra_info" and hasattr(value, "metadata"):  # its old name in LlamaIndex, which warns of it
            continue
        with suppress(ValueError):  # a node without text raises on access to its text
            found = getattr(value, name, None)
            if found is not None and not callable(found):
                yield name, found
