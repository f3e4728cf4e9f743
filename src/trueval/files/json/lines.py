"""jsonl: lines shaped as the first one are read by one regular expression, all others by Python's json."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trueval.errors import InputError
from trueval.files.columns import pick_columns
from trueval.files.frame import Kind, Table
from trueval.files.source.content import Content
from trueval.files.source.encoding import decoding_error, is_unicode
from trueval.files.source.packing import shielded
from trueval.files.tabular.delimited import canonical_table

__all__ = ["Literal", "RepeatedKeyError", "decode_object", "object_of_pairs", "read_jsonl"]

# RFC 8259, without escapes inside the strings that are wanted: those need a decoder.
PLAIN_STRING = r'"(?P<s{}>[^"\\\x00-\x1f]*)"'
INTEGER = r"-?(?:0|[1-9][0-9]*)"
NUMBER = INTEGER + r"(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
ANY_STRING = r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"'
SCALAR = f"(?:{ANY_STRING}|{NUMBER}|true|false|null)"
BLANK = r"[ \t\r]*"
SEPARATOR = "\x01"  # in no text: control characters are refused before
ID_COLUMNS = ("query_id", "doc_id", "facet")
SLICE = 1 << 20  # lines matched at once


class Literal(str):
    """A number of JSON as it was written."""

    __slots__ = ()


class RepeatedKeyError(Exception):
    """A key is twice in one JSON object: one of its values would be lost."""


def object_of_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build a JSON object.

    >>> object_of_pairs([("a", 1)])
    {'a': 1}

    Raises:
        RepeatedKeyError: a key is there twice.
    """
    result = dict(pairs)
    if len(result) < len(pairs):
        keys = [key for key, _ in pairs]
        raise RepeatedKeyError(next(key for index, key in enumerate(keys) if key in keys[:index]))
    return result


def read_jsonl(content: Content, kind: Kind, facets: bool = False) -> Table:
    """Read one JSON object a line.

    Raises:
        InputError: a line is no JSON object or has a key twice, a column is missing, or an id is no string or integer.
    """
    if (undecodable := decoding_error(content)) is not None:
        raise undecodable
    lines = _lines(content.data)
    filled = np.flatnonzero(lines.str.contains(r"[^ \t\r]").fill_null(value=False).to_numpy())
    if not len(filled):
        raise InputError(f"{content.source}: no rows. There must be at least one. Check that the file was written.")
    first = decode_object(lines[int(filled[0])], f"{content.source}:{filled[0] + 1}")
    columns = pick_columns(list(first), kind, f"{content.source}:{filled[0] + 1}", facets)
    parts = [
        _read_lines(lines.gather(places), places, _Shape(first, columns), content.source)
        for places in np.array_split(filled, -(-len(filled) // SLICE))
    ]
    return canonical_table(pl.concat(parts), kind, content.source, facets, partial(_line, filled + 1))


def _lines(data: bytes) -> pl.Series:
    """Every line of the text, blank ones too."""
    count = data.count(b"\n") + (not data.endswith(b"\n"))
    try:
        lines = pl.read_csv(
            shielded(data), has_header=False, separator=SEPARATOR, quote_char=None, schema={"line": pl.String}
        )
    except pl.exceptions.PolarsError:
        lines = pl.DataFrame({"line": []})
    if lines.height == count:
        return lines["line"]
    return pl.Series("line", data.decode().split("\n")[:count], dtype=pl.String)


def _line(numbers: NDArray[np.int64], row: int) -> int:
    return int(numbers[max(row, 0)])  # the header of a jsonl file is its first object


class _Shape:
    """Lines with the keys of the first one, in its order.

    Args:
        first: the object of the first line.
        columns: the key of each canonical column.
    """

    def __init__(self, first: Mapping[str, Any], columns: Mapping[str, str]) -> None:
        self.ids = {column for name, column in columns.items() if name in ID_COLUMNS}
        self.columns = list(columns.values())
        nested = any(isinstance(value, (dict, list)) for value in first.values())
        self.pattern = None if nested or not is_unicode("".join(first)) else self._pattern(first)

    def _pattern(self, first: Mapping[str, Any]) -> str:
        members = []
        for key in first:
            value = SCALAR
            if key in self.columns:
                number = INTEGER if key in self.ids else NUMBER
                place = self.columns.index(key)
                value = f"(?:{PLAIN_STRING.format(place)}|(?P<n{place}>{number}))"
            name = json.dumps(key, ensure_ascii=False)
            members.append(f"{BLANK}{re.escape(name)}{BLANK}:{BLANK}{value}{BLANK}")
        return f"^{BLANK}\\{{{','.join(members)}\\}}{BLANK}$"


def _read_lines(lines: pl.Series, places: NDArray[np.int64], shape: _Shape, source: str) -> pl.DataFrame:
    """Give every wanted column as strings."""
    if shape.pattern is None:
        return _decode(lines, places, shape, source)
    groups = lines.str.extract_groups(shape.pattern).struct.unnest()
    frame = groups.select(
        pl.coalesce(f"s{place}", f"n{place}").alias(column) for place, column in enumerate(shape.columns)
    )
    other = frame[shape.columns[0]].is_null()
    if not other.any():
        return frame
    decoded = _decode(lines.filter(other), places[other.to_numpy()], shape, source)
    order = np.argsort(np.concatenate((np.flatnonzero(~other), np.flatnonzero(other))), kind="stable")
    return pl.concat([frame.filter(~other), decoded])[order]


def _decode(lines: pl.Series, places: NDArray[np.int64], shape: _Shape, source: str) -> pl.DataFrame:
    columns: dict[str, list[str | None]] = {column: [] for column in shape.columns}
    for line, place in zip(lines, places.tolist(), strict=True):
        parsed = decode_object(line, f"{source}:{place + 1}")
        for column, values in columns.items():
            values.append(_as_text(parsed.get(column), column, column in shape.ids, f"{source}:{place + 1}"))
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))


def _as_text(value: Any, column: str, is_id: bool, place: str) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or (is_id and isinstance(value, Literal) and not re.fullmatch(INTEGER, value)):
        must = (
            "Ids must be strings or integers. Write them as strings." if is_id else "It must be a number. Correct it."
        )
        raise InputError(
            f"{place}: the {column} is {json.dumps(value)[:80] if not isinstance(value, str) else value}. {must}"
        )
    if not is_unicode(value):
        raise InputError(
            f"{place}: the {column} {value!r} holds half a surrogate pair. It must be Unicode. Correct it."
        )
    return str(value)


def decode_object(line: str, place: str) -> dict[str, Any]:
    """Read one JSON object; numbers stay as they are written.

    Raises:
        InputError: the line is no JSON object, or has a key twice.
    """
    try:
        parsed = json.loads(
            line, object_pairs_hook=object_of_pairs, parse_float=Literal, parse_int=Literal, parse_constant=Literal
        )
    except RepeatedKeyError as error:
        raise InputError(
            f"{place}: the key {error.args[0]!r} is twice in one object. Each must be there once. Keep one."
        ) from None
    except json.JSONDecodeError as error:
        raise InputError(f"{place}: no JSON: {error.msg}. Each line must be one object. Correct it.") from error
    except RecursionError:
        raise InputError(f"{place}: nested too deep. Each line must be one object of plain values.") from None
    if not isinstance(parsed, dict):
        raise InputError(f"{place}: {line[:80]!r}. Each line must be one object. Correct it.")
    return parsed
