"""Row tables: a table as read, with canonical columns and the source line of each row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trueval.errors import InputError, Place

Kind = Literal["run", "judgments"]

CANONICAL_COLUMNS = ("query_id", "doc_id", "score", "grade", "rank", "facet")
ROWS = 1 << 18  # rows per part, of which a few columns stay in the processor's cache


def value_column(kind: Kind) -> str:
    """Name the number that a file of this kind gives each document.

    >>> value_column("run"), value_column("judgments")
    ('score', 'grade')
    """
    return "score" if kind == "run" else "grade"


def other_kind(kind: Kind) -> Kind:
    """Name what a file given in the wrong place would be.

    >>> other_kind("run")
    'judgments'
    """
    return "judgments" if kind == "run" else "run"


def in_canonical_order(frame: pl.DataFrame) -> pl.DataFrame:
    """Keep the columns of a run or of judgments, always in the same order.

    >>> in_canonical_order(pl.DataFrame({"rank": [1], "doc_id": ["d"], "tag": ["t"], "query_id": ["q"]})).columns
    ['query_id', 'doc_id', 'rank']
    """
    return frame.select([name for name in CANONICAL_COLUMNS if name in frame.columns])


def empty_note(source: str, query_ids: Sequence[str]) -> tuple[str, ...]:
    """A note on queries of a run with an empty list, if there are any.

    >>> empty_note("dict", ["q"])
    ("dict: 1 queries retrieved nothing, the first 'q'; they count as empty lists, and are not missing.",)
    """
    if not query_ids:
        return ()
    what = f"{len(query_ids)} queries retrieved nothing, the first {query_ids[0]!r}"
    return (f"{source}: {what}; they count as empty lists, and are not missing.",)


def all_rise(scores: NDArray[np.float64], offsets: NDArray[np.int64]) -> bool:
    """Whether scores rise down every list that has more than one, as distances do.

    >>> all_rise(np.array([0.1, 0.2, 0.2]), np.array([0, 3])), all_rise(np.array([0.2, 0.1]), np.array([0, 2]))
    (True, False)
    """
    lists = [scores[begin:end] for begin, end in pairwise(offsets.tolist())]
    several = [each for each in lists if len(each) > 1 and each.min() < each.max()]
    return bool(several) and all((each[1:] >= each[:-1]).all() for each in several)


def count_lines_from_one(row: int) -> int:
    """Give the line of a row in a file that has one row on every line.

    >>> count_lines_from_one(0)
    1
    """
    return row + 1


def row_parts(rows: int) -> list[slice]:
    """Cut a table into parts of rows.

    >>> row_parts(3)
    [slice(0, 3, None)]
    """
    return [slice(start, min(start + ROWS, rows)) for start in range(0, rows, ROWS)]


class Stretches(NamedTuple):
    """Adjacent rows of one query each.

    Attributes:
        query_ids: [stretch] String.
        offsets: [stretch + 1]; rows of stretch i are offsets[i] to offsets[i + 1].

    >>> Stretches(pl.Series(["q1", "q2"]), np.array([0, 2, 3])).before(pl.DataFrame({"doc_id": ["a", "b", "a"]})).rows()
    [('q1', 'a'), ('q1', 'b'), ('q2', 'a')]
    """

    query_ids: pl.Series
    offsets: NDArray[np.int64]

    def column(self) -> pl.Series:
        """[row] the query of each row."""
        of_row = np.repeat(np.arange(len(self.query_ids)), np.diff(self.offsets))
        return self.query_ids.gather(of_row).alias("query_id")

    def before(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The rows of a frame with their queries as its first column."""
        return frame.select(self.column(), pl.all())


class RowTable(NamedTuple):
    """Rows of a run or of judgments, not yet checked.

    Args:
        frame: query_id String unless there are stretches, doc_id String, score or grade Float64, and if present rank
            Int64 or Int32, and facet String.
        source: the path, "<stdin>", or a description of the origin.
        line: function from a row (from 0) to its line (from 1); None if the source has no lines.
        notes: one-line remarks made while reading.
        plain: whether every id is known to consist of visible ASCII characters only.
        stretches: queries of the rows, if the frame leaves them out.
        sources: source (paper, site, file) of each document, if a log names any.
        empty: for a run, queries that were given with an empty list.
        rows: [row] row of the source, from 0, where the table holds some of them; None where it holds all.
        in_reading_order: whether each list is in the order in which a model read it, as in a log of contexts.
    """

    frame: pl.DataFrame
    source: str
    line: Callable[[int], int] | None = None
    notes: tuple[str, ...] = ()
    plain: bool = False
    stretches: Stretches | None = None
    sources: Mapping[str, str] = MappingProxyType({})
    empty: tuple[str, ...] = ()
    rows: NDArray[np.int64] | None = None
    in_reading_order: bool = False

    def whole(self) -> pl.DataFrame:
        """The frame with the queries of its rows.

        >>> queries = Stretches(pl.Series(["q"]), np.array([0, 1]))
        >>> RowTable(pl.DataFrame({"doc_id": ["a"]}), "run.trec", stretches=queries).whole().rows()
        [('q', 'a')]
        """
        return self.frame if self.stretches is None else self.stretches.before(self.frame)

    def query_of(self, row: int) -> str:
        """The query of a row."""
        if self.stretches is None:
            return str(self.frame["query_id"][row])
        return str(self.stretches.query_ids[int(np.searchsorted(self.stretches.offsets, row, side="right")) - 1])

    def place(self, row: int) -> Place:
        """Say where a row comes from, as the start of an error message.

        >>> RowTable(pl.DataFrame(), "run.trec", count_lines_from_one).place(6)
        'run.trec:7'
        >>> RowTable(pl.DataFrame(), "frame").place(6)
        'frame: row 7'
        """
        return Place(self.source, None if self.line is None else self.line(row), row=self.source_row(row))

    def source_row(self, row: int) -> int:
        """The row of the source, from 0."""
        return row if self.rows is None else int(self.rows[row])

    def error(self, row: int, message: str) -> InputError:
        """Build the error that points to a row."""
        return self.place(row).error(message)
