"""Tables with types: parquet, Arrow files, and frames in memory."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import polars as pl

from trueval.errors import Place
from trueval.files.frame import Kind, RowTable
from trueval.files.source.memory_estimate import check_memory
from trueval.files.source.source_bytes import SourceBytes
from trueval.files.tabular import arrow_sizes, parquet_sizes
from trueval.files.tabular.delimited_text import canonical_table
from trueval.forks import need_polars


def read_parquet(content: SourceBytes, kind: Kind, facets: bool = False) -> RowTable:
    """Read a parquet file.

    Raises:
        InputError: the file is damaged, or a column is missing or of the wrong type.
    """
    parquet_sizes.check_sizes(content.data, content.source)
    return _table(_load(content, pl.read_parquet, "parquet"), kind, content.source, facets)


def read_arrow(content: SourceBytes, kind: Kind, facets: bool = False) -> RowTable:
    """Read an Arrow IPC (feather) file.

    Raises:
        InputError: the file is damaged, or a column is missing or of the wrong type.
    """
    arrow_sizes.check_sizes(content.data, content.source)
    return _table(_load(content, pl.read_ipc, "Arrow"), kind, content.source, facets)


def _table(frame: pl.DataFrame, kind: Kind, source: str, facets: bool) -> RowTable:
    table = canonical_table(frame, kind, source, facets)
    check_strings(table.frame, Place(source))
    return table


def check_strings(frame: pl.DataFrame, place: Place, copies: int = 2) -> None:
    """Refuse a frame whose strings take more memory than they may: as read, polars shares equal ones.

    Args:
        copies: how often a string is held at once.

    Raises:
        InputError: they do.
    """
    check_memory(copies * int(frame.estimated_size()), place)


def _load(content: SourceBytes, reader: Callable[..., pl.DataFrame], words: str) -> pl.DataFrame:
    try:
        return reader(io.BytesIO(content.data))  # a path would let polars map the file, which may change under it
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise Place(content.source).error(
            f"the {words} file is truncated or damaged ({reason}). Copy or write it again."
        ) from error


def read_frame(frame: object, kind: Kind, facets: bool = False) -> RowTable:
    """Read a frame of polars, pandas, pyarrow, or anything with the Arrow C stream.

    Raises:
        InputError: the object is not a frame, or a column is missing or of the wrong type.
    """
    need_polars()
    source = f"{type(frame).__module__.partition('.')[0]}.{type(frame).__name__}"
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    if isinstance(frame, dict) or not (isinstance(frame, pl.DataFrame) or hasattr(frame, "__arrow_c_stream__")):
        raise Place(source).error(
            "not a frame. It must be a frame of polars, pandas or pyarrow, or have __arrow_c_stream__. "
            "For dicts use from_dict, for arrays from_arrays."
        )
    if not isinstance(frame, pl.DataFrame):
        frame = _from_arrow(frame, source)
    return canonical_table(frame, kind, source, facets)


def _from_arrow(frame: Any, source: str) -> pl.DataFrame:
    try:
        return pl.DataFrame(frame)
    except Exception as error:  # those of pyarrow are known by name only, so that it need not be imported
        known = isinstance(error, (ImportError, TypeError, ValueError, pl.exceptions.PolarsError))
        if not known and not type(error).__module__.startswith("pyarrow"):
            raise
        raise Place(source).error(
            f"cannot be read through Arrow: {error}. Columns must hold one type each. Convert ids to strings."
        ) from error
