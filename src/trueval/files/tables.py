"""Tables with types: parquet, Arrow files, jsonl, and frames in memory."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import polars as pl

from trueval.errors import InputError
from trueval.files.beir import canonical_table
from trueval.files.columns import find_columns
from trueval.files.content import Content, decoding_error
from trueval.files.table import Kind, Table

__all__ = ["read_arrow", "read_frame", "read_jsonl", "read_parquet"]


def read_parquet(content: Content, kind: Kind, facets: bool = False) -> Table:
    """Read a parquet file.

    Raises:
        InputError: the file is damaged, or a column is missing or of the wrong type.
    """
    return canonical_table(_load(content, pl.read_parquet, "parquet"), kind, content.source, facets)


def read_arrow(content: Content, kind: Kind, facets: bool = False) -> Table:
    """Read an Arrow IPC (feather) file.

    Raises:
        InputError: the file is damaged, or a column is missing or of the wrong type.
    """
    return canonical_table(_load(content, pl.read_ipc, "Arrow"), kind, content.source, facets)


def _load(content: Content, reader: Callable[..., pl.DataFrame], words: str) -> pl.DataFrame:
    try:
        return reader(io.BytesIO(content.data))
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"{content.source}: the {words} file is truncated or damaged ({reason}). Copy or write it again."
        ) from error


def read_jsonl(content: Content, kind: Kind, facets: bool = False) -> Table:
    """Read one JSON object a line.

    Raises:
        InputError: a line is no JSON object, a column is missing, or an id is a float.
    """
    line = partial(_line_of_object, content.data)
    try:
        columns = pl.read_ndjson(content.data, infer_schema_length=1).columns
        names = find_columns(columns, kind, facets)
        ids = {names[name]: pl.String for name in ("query_id", "doc_id", "facet") if name in names}
        frame = pl.read_ndjson(content.data, schema_overrides=ids, infer_schema_length=None)
    except pl.exceptions.PolarsError as error:
        raise _json_error(content) or InputError(
            f"{content.source}: cannot be read as jsonl: {str(error).splitlines()[0]}"
        ) from error
    _refuse_other_ids(content, list(ids))
    return canonical_table(frame, kind, content.source, facets, line)


def _refuse_other_ids(content: Content, columns: list[str]) -> None:
    for column in columns:
        pattern = json.dumps(column).encode() + rb"\s*:\s*(-?\d+[.eE][^\s,}]*|true|false|[\[{])"
        if (found := re.search(pattern, content.data)) is not None:
            line = content.data.count(b"\n", 0, found.start()) + 1
            raise InputError(
                f"{content.source}:{line}: the {column} is {found[1].decode()}. "
                "Ids must be strings or integers. Write them as strings."
            )


def _json_error(content: Content) -> InputError | None:
    if (undecodable := decoding_error(content)) is not None:
        return undecodable
    for number, line in enumerate(content.data.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            parsed = json.loads(line)
        except json.JSONDecodeError as error:
            return InputError(
                f"{content.source}:{number}: no JSON: {error.msg}. Each line must be one object. Correct it."
            )
        if not isinstance(parsed, dict) or any(value != value for value in parsed.values()):
            return InputError(
                f"{content.source}:{number}: {line[:80].decode()!r}. Each line must be one object, "
                "without NaN. Correct it."
            )
    return None


def _line_of_object(data: bytes, row: int) -> int:
    """Find the line of an object; called for error messages only."""
    lines = [number for number, line in enumerate(data.split(b"\n"), start=1) if line.strip()]
    return lines[max(row, 0)]


def read_frame(frame: Any, kind: Kind, facets: bool = False) -> Table:
    """Read a frame of polars, pandas, pyarrow, or anything with the Arrow C stream.

    Raises:
        InputError: the object is no frame, or a column is missing or of the wrong type.
    """
    source = f"{type(frame).__module__.partition('.')[0]}.{type(frame).__name__}"
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    if isinstance(frame, dict) or not (isinstance(frame, pl.DataFrame) or hasattr(frame, "__arrow_c_stream__")):
        raise InputError(
            f"{source}: not a frame. It must be a frame of polars, pandas or pyarrow, or have __arrow_c_stream__. "
            "For dicts use from_dict, for arrays from_arrays."
        )
    return canonical_table(
        frame if isinstance(frame, pl.DataFrame) else _from_arrow(frame, source), kind, source, facets
    )


def _from_arrow(frame: Any, source: str) -> pl.DataFrame:
    try:
        return pl.DataFrame(frame)
    except (ImportError, TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise InputError(
            f"{source}: cannot be read through Arrow: {error}. Columns must hold one type each. Convert ids to strings."
        ) from error
    except Exception as error:
        if type(error).__module__.startswith("pyarrow"):
            raise InputError(
                f"{source}: cannot be read through Arrow: {error}. Columns must hold one type each. "
                "Convert ids to strings."
            ) from error
        raise
