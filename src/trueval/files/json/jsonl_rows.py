"""JSON lines: those shaped like the first one are matched by one regular expression, all others decoded by json.

Nearly all files have equal keys in equal order on every line, and polars matches those far faster than json decodes
them. Its own JSONL reader does not keep numbers as written, which distinguishes an id 7 from 7.0.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trueval.errors import Place
from trueval.files.columns import pick_columns
from trueval.files.frame import Kind, RowTable
from trueval.files.source.decompression import prevent_decompression
from trueval.files.source.encoding import find_decoding_error, is_unicode
from trueval.files.source.memory_estimate import PARSED, MemoryCost, check_cost, check_memory
from trueval.files.source.source_bytes import SourceBytes
from trueval.files.tabular.delimited_text import canonical_table

# RFC 8259, without escapes in the wanted strings, which need a decoder.
PLAIN_STRING = r'"(?P<s{}>[^"\\\x00-\x1f]*)"'
INTEGER = r"-?(?:0|[1-9][0-9]*)"
NUMBER = INTEGER + r"(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
ANY_STRING = r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"'
SCALAR = f"(?:{ANY_STRING}|{NUMBER}|true|false|null)"
SPACES = r"[ \t\r]*"
SEPARATOR = "\x01"  # occurs in no text: control characters were refused before
ID_COLUMNS = ("query_id", "doc_id", "facet")
SLICE = 1 << 20  # lines matched at once
LONG = 1 << 16  # characters of a line whose values may take more than `LINES` says
LINES = MemoryCost(5.3, ((b"\n", 460),))  # measured: docs/files.md


class Literal(str):
    """A number of JSON as it was written."""

    __slots__ = ()


class RepeatedKeyError(Exception):
    """A key is twice in one JSON object: one of its values would be lost."""


def object_of_pairs(pairs: list[tuple[str, object]]) -> dict[str, object]:
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


# A single decoder: json.loads would create one per line, which takes longer than decoding a short line.
DECODER = json.JSONDecoder(
    object_pairs_hook=object_of_pairs, parse_float=Literal, parse_int=Literal, parse_constant=Literal
)


def read_jsonl(content: SourceBytes, kind: Kind, facets: bool = False) -> RowTable:
    """Read one JSON object a line.

    Raises:
        InputError: a line is not a JSON object or has a key twice, a column is missing, or an id is neither string nor
            integer.
    """
    check_cost(LINES, content.data, content.source)
    if (undecodable := find_decoding_error(content)) is not None:
        raise undecodable
    lines = _lines(content.data)
    filled = np.flatnonzero(lines.str.contains(r"[^ \t\r]").fill_null(value=False).to_numpy())
    if not len(filled):
        raise Place(content.source).error("no rows. There must be at least one. Check that the file was written.")
    place = Place(content.source, int(filled[0]) + 1)
    first = decode_object(lines[int(filled[0])], place)
    columns = pick_columns(list(first), kind, place, facets)
    parts = [
        _read_lines(lines.gather(places), places, _Shape(first, columns), content.source)
        for places in np.array_split(filled, -(-len(filled) // SLICE))
    ]
    # Row -1, the header line in other formats, means the first object.
    return canonical_table(pl.concat(parts), kind, content.source, facets, lambda row: int(filled[max(row, 0)]) + 1)


def _lines(data: bytes) -> pl.Series:
    """Every line of the text, empty ones too."""
    count = data.count(b"\n") + (not data.endswith(b"\n"))
    try:
        lines = pl.read_csv(
            prevent_decompression(data),
            has_header=False,
            separator=SEPARATOR,
            quote_char=None,
            schema={"line": pl.String},
        )
    except pl.exceptions.PolarsError:
        lines = pl.DataFrame({"line": []})
    if lines.height == count:
        return lines["line"]
    return pl.Series("line", data.decode().split("\n")[:count], dtype=pl.String)


class _Shape:
    """Lines with the keys of the first one, in its order.

    Args:
        first: the object of the first line.
        columns: the key of each canonical column.
    """

    def __init__(self, first: Mapping[str, object], columns: Mapping[str, str]) -> None:
        self.ids = {column for name, column in columns.items() if name in ID_COLUMNS}
        self.columns = list(columns.values())
        # Lines with a repeated or additional key, or another order, do not match the pattern: json decodes them.
        nested = any(isinstance(value, (dict, list)) for value in first.values())
        self.pattern = None if nested or not is_unicode("".join(first)) else self._pattern(first)

    def _pattern(self, first: Mapping[str, object]) -> str:
        members = []
        for key in first:
            value = SCALAR
            if key in self.columns:
                number = INTEGER if key in self.ids else NUMBER
                place = self.columns.index(key)
                value = f"(?:{PLAIN_STRING.format(place)}|(?P<n{place}>{number}))"
            name = json.dumps(key, ensure_ascii=False)
            members.append(f"{SPACES}{re.escape(name)}{SPACES}:{SPACES}{value}{SPACES}")
        return f"^{SPACES}\\{{{','.join(members)}\\}}{SPACES}$"


def _read_lines(lines: pl.Series, places: NDArray[np.int64], shape: _Shape, source: str) -> pl.DataFrame:
    """Every wanted column as strings, with numbers as written."""
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
    # Matched lines come first, then decoded ones: sorting by position restores the order of the file.
    order = np.argsort(np.concatenate((np.flatnonzero(~other), np.flatnonzero(other))), kind="stable")
    return pl.concat([frame.filter(~other), decoded])[order]


def _decode(lines: pl.Series, places: NDArray[np.int64], shape: _Shape, source: str) -> pl.DataFrame:
    columns: dict[str, list[str | None]] = {column: [] for column in shape.columns}
    for line, place in zip(lines, places.tolist(), strict=True):
        at = Place(source, place + 1)
        parsed = decode_object(line, at)
        for column, values in columns.items():
            values.append(_as_text(parsed.get(column), column, column in shape.ids, at))
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))


def _as_text(value: object, column: str, is_id: bool, place: Place) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or (is_id and isinstance(value, Literal) and not re.fullmatch(INTEGER, value)):
        must = "Ids must be strings or integers. Write them as strings" if is_id else "It must be a number. Correct it"
        got = value if isinstance(value, str) else json.dumps(value)[:80]
        raise place.error(f"the {column} is {got}. {must}.")
    if not is_unicode(value):
        raise place.error(f"the {column} {value!r} holds half a surrogate pair. It must be Unicode. Correct it.")
    return str(value)


def decode_object(line: str, place: Place) -> dict[str, object]:
    """Decode one JSON object; numbers stay as written.

    Raises:
        InputError: the line is not a JSON object, or has a key twice.
    """
    if len(line) > LONG:
        check_memory(PARSED.of(line.encode()), place)
    try:
        parsed = DECODER.decode(line)
    except RepeatedKeyError as error:
        raise place.error(
            f"the key {error.args[0]!r} is twice in one object. Each must be there once. Keep one."
        ) from None
    except json.JSONDecodeError as error:
        raise place.error(f"not JSON: {error.msg}. Each line must be one object. Correct it.") from error
    except RecursionError:
        raise place.error("nested too deep. Each line must be one object of plain values.") from None
    if not isinstance(parsed, dict):
        raise place.error(f"{line[:80]!r}. Each line must be one object. Correct it.")
    return parsed
