"""Tables of many runs: a file with a column that names the run of each row, in any order, read one run at a time.

    runs.parquet                every run of the table
    runs.parquet::bm25          its run bm25

One pass over the file puts rows of the same run beside each other in a temporary file without a name; a run is then
read from there. So memory holds a part of the file or one run, however many runs there are and however they are
sorted, and a run can be read again without another pass.
"""

from __future__ import annotations

import io
import mmap
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import IO, Final, NamedTuple

import polars as pl

from trueval.errors import InputError, Place, nearest
from trueval.files.columns import as_ids, pick_columns, run_column
from trueval.files.display_names import OF_TABLE, TableRun, split_table
from trueval.files.frame import RowTable
from trueval.files.source.decompression import BOM
from trueval.files.source.encoding import check_text
from trueval.files.source.fingerprints import CHANGED
from trueval.files.source.source_bytes import SourceBytes, can_be_read_once, explain_read_errors, file_state
from trueval.files.tabular.arrow_sizes import batch_rows
from trueval.files.tabular.delimited_text import canonical_table, delimited_rows, sniff_delimiter
from trueval.files.tabular.parquet_texts import explain_damage, note_file, parquet_columns, parquet_frames
from trueval.files.temporary_files import explain_full_disk, open_temporary_file
from trueval.files.trec.row_forms import first_line, first_offset
from trueval.forks import need_polars
from trueval.printable import encodable

SIGNATURES: Final = {b"PAR1": "parquet", b"ARROW1": "Arrow"}
PART: Final = 1 << 24  # bytes of text parsed at once
MOST_RUNS: Final = 100_000  # more names than that are no names of runs
ROW: Final = "trueval row"  # column of the temporary file: the line of the row, or its number
HEAD: Final = 1 << 16  # bytes in which a header line is looked for


class _Piece(NamedTuple):
    """Rows of one run, adjacent in the temporary file."""

    start: int
    length: int


@dataclass(frozen=True, eq=False)
class RunTable:
    """A table of runs, put in order in a temporary file.

    Attributes:
        source: path, as messages show it.
        column: name of the column of runs.
        pieces: where the rows of each run are, by its name, in order of first appearance.
        file: the temporary file.
        has_lines: whether the temporary file has the line of each row, from 1, and not its number, from 0.
    """

    source: str
    column: str
    pieces: dict[str, list[_Piece]]
    file: IO[bytes]
    has_lines: bool
    lock: Lock

    def read(self, name: str) -> RowTable:
        """The rows of a run, in the order of the file.

        Raises:
            InputError: there is no such run, or a column of its rows is bad.
        """
        if name not in self.pieces:
            raise Place(self.source).error(
                f"the table has no run {name!r} in its column {self.column!r}. "
                f"It has {len(self.pieces):,} others.{nearest(name, self.pieces)}"
            )
        frames = []
        for piece in self.pieces[name]:
            with self.lock:
                self.file.seek(piece.start)
                data = self.file.read(piece.length)
            frames.append(pl.read_ipc(io.BytesIO(data)))
        frame = pl.concat(frames)
        rows = frame.drop_in_place(ROW).to_numpy()
        if not self.has_lines:
            return canonical_table(frame, "run", self.source, rows=rows)
        return canonical_table(frame, "run", self.source, line=lambda row: int(rows[max(row, 0)]))


_OPENED: dict[str, tuple[tuple[int, ...], RunTable]] = {}


def find_runs(path: str) -> list[str]:
    """The texts `path::run` of each run of a table; the path alone for any other file, and a table of one run.

    Raises:
        InputError: the file is a damaged table, or a row of it has no run.
    """
    if can_be_read_once(path) or not Path(path).is_file() or _table_format(Path(path)) is None:
        return [path]
    names = open_runs(path).pieces
    return [str(TableRun(path, name)) for name in names] if len(names) > 1 else [path]


def open_runs(path: str) -> RunTable:
    """The table of runs of a path; a table that was read already, and did not change since, is not read again.

    Raises:
        InputError: the file is damaged, changes while it is read, lacks a column, or a row of it has no run.
    """
    need_polars()
    label = encodable(path)
    with explain_read_errors(Place(label)):
        before = file_state(Path(path).stat())
        if path in _OPENED and _OPENED[path][0] == before:
            note_file(Path(path))
            return _OPENED[path][1]
        table = _put_in_order(Path(path), label)
        note_file(Path(path))
        if file_state(Path(path).stat()) != before:
            raise Place(label).error(CHANGED)
    _OPENED[path] = before, table
    return table


def read_run_of_table(source: object) -> tuple[RowTable, str] | None:
    """Read `path::run`, with the name of the run; None for any other source.

    Raises:
        InputError: the table cannot be read, or has no such run.
    """
    parts = split_table(source)
    return None if parts is None else (open_runs(parts.path).read(parts.run), encodable(parts.run))


def _table_format(path: Path) -> str | None:
    """The format of a table with a column of runs; None for other files, and for those that are damaged."""
    label = encodable(str(path))
    try:
        with path.open("rb") as file:
            head = file.read(HEAD)
        form = next((kind for magic, kind in SIGNATURES.items() if head.startswith(magic)), "text")
        return form if run_column(_schema(path, label, form, head)) is not None else None
    except (OSError, InputError):
        return None


def _schema(path: Path, label: str, form: str, head: bytes) -> list[str]:
    """The columns of a table; empty where a text has no header line that names those of a run."""
    if form == "parquet":
        return parquet_columns(path, label)
    if form == "Arrow":
        with explain_damage(label, form):
            return list(pl.read_ipc_schema(path))
    if b"\n" not in head or head.lstrip()[:1] in (b"{", b"["):
        return []
    line = first_line(SourceBytes(head.removeprefix(BOM), label, ""))
    names = [each.strip(' "') for each in line.strip().split(sniff_delimiter(line))]
    pick_columns(names, "run", Place(label, 1))
    return names


def _put_in_order(path: Path, label: str) -> RunTable:
    form = _table_format(path)
    if form is None:
        raise Place(label).error(
            "the file names no runs: it has no column called run, run_id, system or model. Leave out what follows "
            f"{OF_TABLE}."
        )
    parts = _text_parts(path, label) if form == "text" else _typed_parts(path, label, form)
    first = next(parts, None)
    if first is None:
        raise Place(label).error("no rows. There must be at least one. Check that the file was written to the end.")
    column = run_column(first.columns) or ""
    found = pick_columns(first.columns, "run", Place(label))
    file, pieces = open_temporary_file(), dict[str, list[_Piece]]()
    table = RunTable(label, column, pieces, file, form == "text", Lock())
    weakref.finalize(table, file.close)
    for part in chain([first], parts):
        if part.height:
            _add(table, part.select(column, *found.values(), ROW))
    return table


def _add(table: RunTable, part: pl.DataFrame) -> None:
    """Write the rows of a part to the temporary file, run by run."""
    names = as_ids(part[table.column], "run", table.source)
    bad = (names.is_null() | (names == "")).fill_null(value=True)
    if bad.any():
        row = int(part[ROW][int(bad.arg_max() or 0)])
        place = Place(table.source, row) if table.has_lines else Place(table.source, row=row)
        raise place.error(f"the {table.column} is empty. Each row must name its run. Correct or remove the row.")
    rows = part.drop(table.column).with_columns(names)
    for (name,), mine in rows.partition_by("run", include_key=False, as_dict=True, maintain_order=True).items():
        if len(table.pieces) >= MOST_RUNS and name not in table.pieces:
            raise Place(table.source).error(
                f"the column {table.column!r} has more than {MOST_RUNS:,} values. It must hold names of runs. "
                "Rename the column if it is another one."
            )
        packed = io.BytesIO()
        mine.write_ipc(packed, compression="lz4")
        with explain_full_disk():
            begin = table.file.seek(0, io.SEEK_END)
            table.file.write(packed.getbuffer())
        table.pieces.setdefault(str(name), []).append(_Piece(begin, packed.getbuffer().nbytes))


def _typed_parts(path: Path, label: str, form: str) -> Iterator[pl.DataFrame]:
    """Parts of a table with types, with the number of each row."""
    start = 0
    for part in parquet_frames(path, label, list) if form == "parquet" else _arrow_frames(path, label):
        yield part.with_columns(pl.int_range(start, start + part.height).alias(ROW))
        start += part.height


def _arrow_frames(path: Path, label: str) -> Iterator[pl.DataFrame]:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        batches = batch_rows(data, label)
    start, scanned = 0, pl.scan_ipc(path, glob=False)
    for rows in batches:
        with explain_damage(label, "Arrow"):
            yield scanned.slice(start, rows).collect()
        start += rows


def _text_parts(path: Path, label: str) -> Iterator[pl.DataFrame]:
    """Parts of a text, each parsed with the header line before it, with the line of each row."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        head = data[:HEAD].removeprefix(BOM)
        start = first_offset(head) + (len(BOM) if data[: len(BOM)] == BOM else 0)
        at = data.find(b"\n", start) + 1
        header, before = data[start:at], data[:at].count(b"\n")
        while at < len(data):
            end = _record_end(data, at)
            text = data[at:end]
            yield _parse(SourceBytes(header + text, label, ""), before - 1)
            at, before = end, before + text.count(b"\n")


def _parse(content: SourceBytes, shift: int) -> pl.DataFrame:
    """The rows of a part, with the line of each.

    Args:
        content: header line and part.
        shift: lines of the source before the part, less one.
    """
    try:
        found = delimited_rows(check_text(content, cost=None), "run")
    except InputError as error:
        if error.line is None:
            raise
        message = str(error).removeprefix(f"{Place(content.source, error.line)}: ")
        raise Place(content.source, error.line + shift).error(message) from None
    return found.frame.with_columns(pl.Series(ROW, found.lines()[1:] + shift))


def _record_end(data: mmap.mmap, start: int) -> int:
    """The end of a part: after a line feed that no quotes enclose, as soon as the part is large enough."""
    end, quoted = start, False
    while end < len(data):
        last = data.find(b"\n", min(end + PART, len(data)))
        reach = len(data) if last < 0 else last + 1
        quoted ^= data[end:reach].count(b'"') % 2 == 1
        end = reach
        if not quoted:
            break
    return end
