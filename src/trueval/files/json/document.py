"""One JSON value: {query: {document: number}}, hits of each query, or a list of records."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import polars as pl

from trueval.errors import Place
from trueval.files.columns import find_columns, has_large
from trueval.files.frame import Kind, RowTable
from trueval.files.json.jsonl_rows import RepeatedKeyError, object_of_pairs
from trueval.files.json.key_lines import find_line, find_repeated_key
from trueval.files.json.log_keys import refuse_unknown
from trueval.files.memory.peers import as_floats, as_strings, as_text, read_dict
from trueval.files.source.encoding import find_decoding_error
from trueval.files.source.memory_estimate import PARSED, MemoryCost, check_cost
from trueval.files.source.source_bytes import SourceBytes
from trueval.files.tabular.delimited_text import canonical_table

# Records have the same keys, and so take less: docs/files.md.
RECORDS = MemoryCost(7.3, ((b"{", 300), (b"[", 120), (b",", 60)), decoded=True)
OPENS_RECORDS = re.compile(rb"\s*\[\s*\{")
MOST_DIGITS = 400  # maximum digits of an integer: a double has at most 309


def read_json(content: SourceBytes, kind: Kind) -> RowTable:
    """Read a .json file with {query: {document: number}}, or a list of records.

    Raises:
        InputError: the text is not JSON, a key is in an object twice, or a number is too large for a double.
    """
    check_cost(RECORDS if OPENS_RECORDS.match(content.data) else PARSED, content.data, content.source)
    if (undecodable := find_decoding_error(content)) is not None:
        raise undecodable
    text = content.data.decode()
    nested = _decode(text, content.source)
    if isinstance(nested, list) and all(isinstance(record, dict) for record in nested):
        if nested:
            refuse_unknown(nested[0], kind, Place(content.source, find_line(text, (0,), from_outermost=True)))
        frame = records_frame(nested, kind, content.source)
        # Row -1, the header line in other formats, means the first record.
        return canonical_table(
            frame, kind, content.source, line=lambda row: find_line(text, (max(row, 0),), from_outermost=True)
        )
    return read_dict(nested, kind, content.source, partial(_line_of_pair, text, nested))


def _decode(text: str, source: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=object_of_pairs, parse_float=_float, parse_int=_integer)
    except json.JSONDecodeError as error:
        raise Place(source, error.lineno).error(f"not JSON: {error.msg}. Correct the file.") from error
    except RepeatedKeyError as error:
        raise Place(source, find_repeated_key(text)).error(
            f"the key {error.args[0]!r} is twice in one object. Each document must be listed once. Keep one."
        ) from None
    except RecursionError:
        raise Place(source).error("nested too deep. It must be {query: {document: number}}.") from None
    except OverflowError as error:
        number = str(error)
        line = text.count("\n", 0, max(text.find(number), 0)) + 1
        raise Place(source, line).error(
            f"the number {number[:40]} is too large for a double (1.8e308). Rescale it."
        ) from None


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise OverflowError(text)
    return value


def _integer(text: str) -> int:
    """Parse an integer; int() takes quadratic time, and refuses 4,300 digits with an error without a line."""
    if len(text) > MOST_DIGITS:
        raise OverflowError(text)
    return int(text)


def _line_of_pair(text: str, nested: object, frame: pl.DataFrame, row: int) -> int:
    query, document = frame.row(row)[:2]
    while isinstance(nested, dict) and query not in nested and nested:  # levels above the queries, as mteb has them
        nested = next((value for key, value in nested.items() if not key.startswith("mteb_")), None)
    if isinstance(nested, dict) and isinstance(nested.get(query), list):
        first = int((frame["query_id"] == query).arg_max() or 0)
        return find_line(text, (query, row - first))
    return find_line(text, (query, document))


def records_frame(records: Sequence[Mapping[str, object]], kind: Kind, label: str) -> pl.DataFrame:
    """The columns that a run or judgments need, of a list of records; large numbers as text, which loses none.

    Raises:
        InputError: an id is neither string nor integer, or a value is not a number.
    """
    names = find_columns(list({key: None for record in records for key in record}), kind)
    columns: dict[str, list[Any]] = {column: [record.get(column) for record in records] for column in names.values()}
    for name in ("query_id", "doc_id"):
        if name in names:
            columns[names[name]] = as_strings(columns[names[name]], name, label)
    numbers = {column for name, column in names.items() if name not in ("query_id", "doc_id")}
    return pl.DataFrame(
        [
            _numbers(values, key, label) if key in numbers else pl.Series(key, values, dtype=pl.String)
            for key, values in columns.items()
        ]
    )


def _numbers(values: list[object], name: str, label: str) -> pl.Series:
    floats = as_floats(values, name, label)
    return as_text(values, name) if has_large(floats.to_numpy()) else floats
