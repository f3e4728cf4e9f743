"""Run: the scores that a system gave."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trueval.files import (
    Source,
    Stretches,
    Table,
    check_rows,
    half_hashes,
    id_notes,
    rank_notes,
    read_arrays,
    read_dict,
    read_frame,
    read_table,
)


@dataclass(frozen=True, eq=False)
class Run:
    """Ranked lists, one for each query, in the order in which they were given.

    Args:
        documents: doc_id String, score Float64, and where the source has ranks rank, Int32 or Int64; rows of one query
            adjacent.
        query_ids: String, unique, in order of first appearance.
        offsets: [queries + 1]; rows of query i are documents[offsets[i]:offsets[i + 1]].
        name: what tables call the run.
        source: the path, "<stdin>", or what it came from.
        notes: one-line remarks made while reading.

    >>> run = Run.from_dict({"q1": {"d1": 2.0, "d2": 1.5}, "q2": {"d1": 0.3}})
    >>> run.query_ids.to_list(), run.offsets.tolist()
    (['q1', 'q2'], [0, 2, 3])
    """

    documents: pl.DataFrame
    query_ids: pl.Series
    offsets: NDArray[np.int64]
    name: str
    source: str
    notes: tuple[str, ...] = ()

    @classmethod
    def read(cls, source: Source, *, name: str | None = None, format: str | None = None) -> Run:
        """Read a file: TREC, MS MARCO, BEIR tsv, csv, jsonl, json, parquet or Arrow; plain, gzip or zstd.

        Args:
            source: a path, "-" for standard input, or an open file.
            name: what tables call the run; the file name without suffixes if None.
            format: one of trueval.files.FORMATS, or one that a package adds; told from the content if None.

        Raises:
            InputError: the file is missing, damaged, not a run, or holds a bad row, with its line.
            PolicyError: the format is unknown.
        """
        table, stem = read_table(source, "run", format)
        return cls._from_table(table, name or stem)

    @classmethod
    def from_dict(cls, scores: Any, *, name: str = "run") -> Run:
        """Take {query: {document: score}} (pytrec_eval), {query: hits} (sentence-transformers), or an object of ranx.

        Raises:
            InputError: an id is neither string nor integer, a score is not a number, or NaN.
        """
        return cls._from_table(read_dict(scores, "run"), name)

    @classmethod
    def from_frame(cls, frame: Any, *, name: str = "run") -> Run:
        """Take a frame of polars, pandas, pyarrow, or anything with the Arrow C stream.

        Raises:
            InputError: a column is missing or of the wrong type, or a row is bad.
        """
        return cls._from_table(read_frame(frame, "run"), name)

    @classmethod
    def from_arrays(
        cls, scores: Any, doc_ids: Any = None, query_ids: Any = None, *, mask: Any = None, name: str = "run"
    ) -> Run:
        """Take one list of scores for each query: a matrix, a tensor, or ragged lists.

        Args:
            scores: [query, document] scores; higher is better.
            doc_ids: ids shaped as the scores, or one list for all queries; positions from 0 if None.
            query_ids: one for each list; positions from 0 if None.
            mask: shaped as the scores, True where there is a document.
            name: what tables call the run.

        Raises:
            InputError: shapes differ, or a score is NaN.

        >>> Run.from_arrays([[0.5, 0.7], [0.1]]).frame["doc_id"].to_list()
        ['0', '1', '0']
        """
        return cls._from_table(read_arrays(scores, "run", doc_ids, query_ids, mask), name)

    @classmethod
    def _from_table(cls, table: Table, name: str) -> Run:
        rows = check_rows(table, "run")
        notes = table.notes + rank_notes(rows) + id_notes(rows.table, rows.query_ids)
        run = cls(rows.documents, rows.query_ids, rows.offsets, name, table.source, notes)
        vars(run)["doc_hashes"] = rows.hashes
        return run

    def __getstate__(self) -> dict[str, Any]:
        """What a pickle holds: nothing derived, as another version of polars would make other hashes."""
        return {name: value for name, value in vars(self).items() if name not in ("frame", "doc_hashes")}

    @cached_property
    def frame(self) -> pl.DataFrame:
        """query_id String, doc_id String, score Float64, and rank Int64 where the source has ranks."""
        return (
            Stretches(self.query_ids, self.offsets).before(self.documents).with_columns(pl.col("^rank$").cast(pl.Int64))
        )

    @cached_property
    def doc_hashes(self) -> NDArray[np.uint32]:
        """[row] 32 bits of a hash of each document id, the same for equal ids in one process."""
        return half_hashes(self.documents["doc_id"])
