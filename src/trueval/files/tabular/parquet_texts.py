"""Texts of documents and queries in parquet, one row group after another, so that a corpus need not fit in memory."""

from __future__ import annotations

import io
import mmap
import os
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import polars as pl

from trueval.errors import Place
from trueval.files.columns import as_ids
from trueval.files.source.fingerprints import CHANGED, HashedStream, recorder
from trueval.files.source.source_bytes import EMPTY, can_be_read_once, explain_read_errors, file_state
from trueval.files.tabular.parquet_sizes import RowGroup, check_row_groups
from trueval.files.tabular.typed_tables import check_strings
from trueval.files.texts.text_row import ID_KEYS, TextRow
from trueval.forks import need_polars
from trueval.printable import encodable

ROWS: Final = 1 << 18  # rows read at once, of a larger row group
LARGE: Final = 1 << 28  # maximum bytes of memory for row groups together, unless a single one takes more
PIECE: Final = 1 << 20  # bytes hashed at once


def read_parquet_rows(path: Path, fields: Sequence[str] | None = None) -> Iterator[TextRow]:
    """Read the texts of a parquet file row group by row group; null is no text.

    Args:
        path: path of the file.
        fields: columns to read in addition to the id, if present; None for all.

    Raises:
        InputError: the file is missing, no regular file, damaged, or changes meanwhile; it has no column of ids or none
            of the fields; an id is null, empty, or neither string nor integer; with its row.
    """
    label = encodable(str(path))
    place = Place(label)
    if can_be_read_once(str(path)):
        raise place.error("this is not a regular file, and texts may be read twice. Save it to a file.")
    need_polars()
    with explain_read_errors(place, "no such file. A collection holds its corpus and its queries. Add it."):
        before = file_state(path.stat())
        number = 0
        wanted = None if fields is None else {*ID_KEYS, *fields}
        for frame in parquet_frames(path, label, lambda schema: _columns(schema, label, fields), wanted):
            yield from _rows(frame, label, number)
            number += frame.height
        note_file(path)
        if file_state(path.stat()) != before:
            raise place.error(CHANGED)


def parquet_columns(path: Path, label: str) -> list[str]:
    """The names of the columns of a parquet file.

    Raises:
        InputError: the file is damaged.
    """
    _check_row_groups(path, label, ())
    with explain_damage(label):
        return list(pl.read_parquet_schema(path))


def parquet_frames(
    path: Path, label: str, choose: Callable[[pl.Schema], list[str]], names: Container[str] | None = None
) -> Iterator[pl.DataFrame]:
    """The rows of a parquet file, some at a time.

    Args:
        label: what messages call the file.
        choose: the columns to read.
        names: columns whose sizes count for the memory; None for all.

    Raises:
        InputError: the file is damaged, or rows that are read together take more memory than they may.
    """
    groups = _check_row_groups(path, label, names)
    scanned = pl.scan_parquet(str(path), glob=False)
    with explain_damage(label):
        columns = choose(scanned.collect_schema())
    start = 0
    for rows in _slices(groups):
        with explain_damage(label):
            frame = scanned.select(columns).slice(start, rows).collect()
        check_strings(frame, Place(label))
        yield frame
        start += rows


def _slices(groups: Iterable[RowGroup]) -> Iterator[int]:
    """How many rows to read at once: small row groups together, for each look at a file reads its footer again.

    >>> list(_slices([RowGroup(2, 8), RowGroup(3, 8), RowGroup(ROWS + 7, 8), RowGroup(1, LARGE), RowGroup(1, 1)]))
    [5, 262144, 7, 1, 1]
    """
    rows = cost = 0
    for group in groups:
        if rows and (rows + group.rows > ROWS or cost + group.cost > LARGE):
            yield rows
            rows = cost = 0
        rows, cost = rows + group.rows, cost + group.cost
        while rows > ROWS:
            yield ROWS
            rows -= ROWS
    if rows:
        yield rows


def _check_row_groups(path: Path, label: str, names: Container[str] | None) -> list[RowGroup]:
    """The row groups, after checking their sizes; the file is memory-mapped, and its texts are not read."""
    with path.open("rb") as file:
        if not os.fstat(file.fileno()).st_size:
            raise Place(label).error(EMPTY)
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return check_row_groups(data, label, names)


@contextmanager
def explain_damage(label: str, words: str = "parquet") -> Iterator[None]:
    """Report what polars cannot read as damage of the file.

    Raises:
        InputError: it cannot.
    """
    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise Place(label).error(
            f"the {words} file is truncated or damaged ({reason}). Copy or write it again."
        ) from error


def _columns(schema: pl.Schema, label: str, fields: Sequence[str] | None) -> list[str]:
    """The columns that are read, that of the ids first."""
    id = next((key for key in ID_KEYS if key in schema), None)
    wanted = [name for name in schema if name != id and (fields is None or name in fields)]
    if id is None or (fields is not None and not wanted):
        what = f"ids, {' or '.join(ID_KEYS)}" if id is None else f"a text, {' or '.join(fields or ())}"
        raise Place(label).error(f"no column for {what}. Got: {', '.join(schema)[:300]}. Rename the columns.")
    for name in wanted if fields is not None else ():
        if schema[name].base_type() in (pl.Binary, pl.Struct, pl.Object):
            raise Place(label).error(f"the column {name!r} holds {schema[name]}. It must hold strings. Convert it.")
    return [id, *wanted]


def _rows(frame: pl.DataFrame, label: str, number: int) -> Iterator[TextRow]:
    ids = as_ids(frame.to_series(0), "texts", label)
    bad = (ids.is_null() | (ids == "")).arg_true()
    stop = int(bad[0]) if len(bad) else frame.height
    names = frame.columns
    rows = frame.head(stop).iter_rows()
    for at, (id, row) in enumerate(zip(ids.head(stop), rows, strict=True), number):
        yield TextRow(label, at, id, dict(zip(names, row, strict=True)), has_lines=False)
    if stop < frame.height:
        raise Place(label, row=number + stop).error("the id is empty. Each text must have an id. Write one.")


def note_file(path: Path) -> None:
    """Hash the file, if fingerprints are collected and it has none yet."""
    if (seen := recorder()) is not None and seen.get(str(path)) is None:
        with path.open("rb", buffering=0) as file:
            hashed = HashedStream(file)
            stream = io.BufferedReader(hashed, PIECE)
            while stream.read(PIECE):
                pass
            seen.note(str(path), hashed.fingerprint())
