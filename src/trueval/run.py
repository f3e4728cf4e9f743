"""Run: the scored lists of a system."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trueval.errors import InputError, Place
from trueval.files import (
    RowTable,
    Source,
    Stretches,
    check_rows,
    half_hashes,
    id_notes,
    rank_notes,
    read_arrays,
    read_dict,
    read_frame,
    read_input,
    read_table,
)
from trueval.files.columns import run_column
from trueval.files.tabular.run_tables import find_runs
from trueval.files.writing import write_run
from trueval.forks import need_polars

if TYPE_CHECKING:
    from trueval.files.input_types import HoldsRun, Input

# What `Run.of` and `Run.of_several` take.
RunLike: TypeAlias = "Run | Input | HoldsRun"
RunsLike: TypeAlias = "Iterable[RunLike] | Mapping[str, RunLike]"
UNNAMED = "run"  # name of an unnamed run


@dataclass(frozen=True, eq=False)
class Run:
    """Ranked lists, one per query, in the order given.

    Args:
        documents: doc_id String, score Float64, and rank, Int32 or Int64, where the source has ranks; rows of one query
            adjacent.
        query_ids: String, unique, in order of first appearance.
        offsets: [queries + 1]; rows of query i are documents[offsets[i]:offsets[i + 1]].
        name: name in tables.
        source: the path, "<stdin>", or the kind of object it came from.
        notes: one-line warnings from reading.
        empty: queries with an empty list, in dicts, arrays and logs; not among query_ids.
        in_reading_order: whether each list is in the order in which a model read it, as in a log of contexts.

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
    empty: tuple[str, ...] = ()
    in_reading_order: bool = False

    @classmethod
    def of(cls, given: RunLike, *, name: str | None = None) -> Run:
        """Make a run from any supported object, as `evaluate` and `compare` do.

        Args:
            given: a Run; a path or open file; a dict {query: {document: score}} or {query: documents, best first}; a
                frame of polars, pandas or Arrow; a Run of ranx; triples (query, document, score); or rows of a log of
                contexts, dicts or objects.
            name: name in tables; if None its own name, the file name without suffixes, or "run".

        Raises:
            InputError: it is none of these, or something in it is wrong.

        >>> Run.of([("q1", "d1", 2.0), ("q1", "d2", 1.5)]).frame.rows()
        [('q1', 'd1', 2.0), ('q1', 'd2', 1.5)]
        >>> Run.of({"q1": ["d1", "d2"]}).frame.rows()
        [('q1', 'd1', -1.0), ('q1', 'd2', -2.0)]
        """
        if isinstance(given, cls):
            return given if name is None else replace(given, name=name)
        if several := _number_of_runs(given):
            raise InputError(
                f"One run belongs here. Got {several} in a {type(given).__name__}. Give one of them; to hold runs "
                "against each other, trueval.compare(runs, judgments, measures) takes them all."
            )
        try:
            table, own = read_input(given, "run")
        except InputError:
            if (method := _method_of_retriever(given)) is None:
                raise
            raise InputError(
                f"A run is what a retriever found, and not the retriever. Got {type(given).__name__}, which has "
                f"{method}. trueval.retrieve_live(retriever, {{query: text}}) asks it every query, and gives its run."
            ) from None
        return cls._from_table(table, name or own or UNNAMED)

    @classmethod
    def of_engine(cls, rows: Iterable[object], *, name: str) -> Run:
        """Make a run from the answers of an engine, rows of a log: its scores count, whatever the order of its lists.

        A log of contexts differs: there the order counts in which a model read them.

        Raises:
            InputError: as in `of`.

        >>> Run.of_engine([{"query": "q", "documents": [("a", 1.0), ("b", 3.0)]}], name="e").frame["score"].to_list()
        [1.0, 3.0]
        """
        from trueval.files.memory.logs import read_rows

        return cls._from_table(read_rows(rows, in_reading_order=False).run(), name)

    @classmethod
    def of_several(cls, given: RunsLike) -> list[Run]:
        """Make several runs with distinct names: from a list of what `of` takes, or a dict of them by name.

        A file's run is named by the file without suffixes, or by its path where these are equal; runs without a name
        are "run 1", "run 2" and so on, by position.

        Raises:
            InputError: one cannot be read, or there is one run where several belong.

        >>> [run.name for run in Run.of_several([{"q": {"d": 1.0}}, {"q": {"d": 2.0}}])]
        ['run 1', 'run 2']
        >>> [run.name for run in Run.of_several({"old": {"q": {"d": 1.0}}, "new": {"q": {"d": 2.0}}})]
        ['old', 'new']
        """
        if isinstance(given, str | PathLike) and len(paths := find_runs(fspath(given))) > 1:
            return [cls.read(path) for path in paths]
        if isinstance(given, Mapping) and not is_one_run(given):
            return [cls.of(each, name=str(name)) for name, each in given.items()]
        if isinstance(given, cls | str | PathLike | pl.DataFrame | Mapping) or not isinstance(given, Iterable):
            raise InputError(
                f"Several runs must be a list, or a dict of runs by name. Got one, of type {type(given).__name__}. "
                "Give [run_a, run_b], each what Run.of takes."
            )
        items = list(given)
        runs = [cls.of(each) for each in items]
        times = Counter(run.name for run in runs)
        for place, (item, run) in enumerate(zip(items, runs, strict=True)):
            if times[run.name] > 1 and isinstance(item, str | PathLike):
                runs[place] = replace(run, name=run.source)
            elif times[run.name] > 1 and run.name == UNNAMED:
                runs[place] = replace(run, name=f"{UNNAMED} {place + 1}")
        return runs

    @classmethod
    def read(cls, source: Source, *, name: str | None = None, format: str | None = None) -> Run:
        """Read a run: TREC, MS MARCO, BEIR tsv, csv, jsonl, json, parquet, Arrow, a log of contexts; also compressed.

        Args:
            source: a path, "-" for standard input, or an open file; plain, gzip or zstd.
            name: name in tables; the file name without suffixes if None.
            format: one of trueval.files.FORMATS, or one that a package adds; detected from the content if None.

        Raises:
            InputError: the file is missing, damaged, not a run, or holds a bad row, with its line.
            PolicyError: the format is unknown.
        """
        table, stem = read_table(source, "run", format)
        return cls._from_table(table, name or stem)

    @classmethod
    def each(cls, source: str | PathLike[str] | pl.DataFrame) -> Iterator[Run]:
        """Give the runs of a table one at a time: its columns are run, query, document and score, in any order.

        A file is passed over once and put in order in a temporary file, so that one run is in memory, however many
        there are and however the rows are sorted. `Run.read("runs.parquet::NAME")` gives one of them.

        Args:
            source: path of a parquet, Arrow or csv file, or a frame; what names no runs is one run.

        Raises:
            InputError: the table is damaged, a row names no run, or a run's rows are bad, with the row.

        >>> rows = {"run": ["a", "b", "a"], "query": ["q"] * 3, "document": ["x", "x", "y"], "score": [2, 1, 1]}
        >>> [(run.name, len(run.documents)) for run in Run.each(pl.DataFrame(rows))]
        [('a', 2), ('b', 1)]
        """
        if not isinstance(source, pl.DataFrame):
            for path in find_runs(fspath(source)):
                yield cls.read(path)
            return
        column = run_column(source.columns)
        if column is None:
            yield cls.from_frame(source)
            return
        if source[column].null_count():
            row = int(source[column].is_null().arg_max() or 0)
            raise Place("polars.DataFrame", row=row).error(f"the {column} is empty. Each row must name its run.")
        for (name,), frame in source.partition_by(column, as_dict=True, maintain_order=True).items():
            yield cls.from_frame(frame, name=str(name))

    @classmethod
    def from_dict(cls, scores: object, *, name: str = UNNAMED) -> Run:
        """Take {query: {document: score}} (pytrec_eval), {query: hits} (sentence-transformers), or an object of ranx.

        Hits may be pairs (document, score), dicts with corpus_id and score, or ids alone, best first.

        Raises:
            InputError: an id is neither string nor integer, a score is not a number, or NaN.
        """
        return cls._from_table(read_dict(scores, "run"), name)

    @classmethod
    def from_frame(cls, frame: object, *, name: str = UNNAMED) -> Run:
        """Make a run from a polars, pandas or pyarrow frame, or anything with the Arrow C stream.

        Raises:
            InputError: a column is missing or of the wrong type, or a row is bad.
        """
        return cls._from_table(read_frame(frame, "run"), name)

    @classmethod
    def from_arrays(
        cls,
        scores: object,
        doc_ids: object = None,
        query_ids: object = None,
        *,
        mask: object = None,
        name: str = UNNAMED,
    ) -> Run:
        """Make a run from one list of scores per query: a matrix, a tensor, or ragged lists.

        Args:
            scores: [query, document] scores; higher is better.
            doc_ids: ids in the shape of the scores, or one list for all queries; positions from 0 if None.
            query_ids: one id per list; positions from 0 if None.
            mask: in the shape of the scores, True where there is a document.
            name: name in tables.

        Raises:
            InputError: shapes differ, or a score is NaN.

        >>> Run.from_arrays([[0.5, 0.7], [0.1]]).frame["doc_id"].to_list()
        ['0', '1', '0']
        """
        return cls._from_table(read_arrays(scores, "run", doc_ids, query_ids, mask), name)

    def write(self, path: str | PathLike[str], *, tag: str | None = None) -> None:
        """Write a file in the format of its suffix: .parquet, .jsonl, .csv, or TREC text; written atomically.

        Args:
            path: path of the file.
            tag: last column of TREC text; the run's name if None, with white space replaced by "-".

        Raises:
            InputError: TREC text cannot hold an id, because there is white space in it.
            OSError: the file cannot be written.
        """
        write_run(self.frame, Path(path), "-".join(self.name.split()) if tag is None else tag)

    @classmethod
    def _from_table(cls, table: RowTable, name: str) -> Run:
        rows = check_rows(table, "run")
        notes = table.notes + rank_notes(rows) + id_notes(rows.table, rows.query_ids)
        lists = rows.documents, rows.query_ids, rows.offsets
        run = cls(*lists, name, table.source, notes, table.empty, table.in_reading_order)
        vars(run)["doc_hashes"] = rows.hashes
        return run

    def __repr__(self) -> str:
        """One line: the name, numbers of queries and documents, and the source."""
        counts = f"{len(self.query_ids):,} queries, {len(self.documents):,} documents"
        return f"<Run {self.name!r}: {counts}, from {self.source}>"

    def __getstate__(self) -> dict[str, object]:
        """The state to pickle, without derived data, as another version of polars would compute other hashes."""
        return {name: value for name, value in vars(self).items() if name not in ("frame", "doc_hashes")}

    @cached_property
    def frame(self) -> pl.DataFrame:
        """query_id String, doc_id String, score Float64, and rank Int64 where the source has ranks."""
        need_polars()
        return (
            Stretches(self.query_ids, self.offsets).before(self.documents).with_columns(pl.col("^rank$").cast(pl.Int64))
        )

    @cached_property
    def doc_hashes(self) -> NDArray[np.uint32]:
        """[row] 32 bits of a hash of each document id, the same for equal ids in one process."""
        return half_hashes(self.documents["doc_id"])


# Search methods of retrievers in LlamaIndex, LangChain, Haystack, search engines and pyterrier.
RETRIEVERS: Final = ("retrieve", "invoke", "get_relevant_documents", "run", "search", "transform", "__call__")


def _method_of_retriever(given: object) -> str | None:
    """The search method of a retriever; None for other objects."""
    return next((name for name in RETRIEVERS if callable(getattr(given, name, None))), None)


def _number_of_runs(given: object) -> int:
    """Number of runs given in a list or a dict where one is expected; 0 for what may be a single run."""
    values = list(given.values()) if isinstance(given, Mapping) else given
    if not isinstance(values, list | tuple) or not values:
        return 0
    many = len(values) > 1 and all(isinstance(each, Mapping) and each and _holds_lists(each) for each in values)
    files = isinstance(given, list | tuple) and all(
        isinstance(each, str | PathLike) and Path(each).is_file() for each in values
    )
    return len(values) if many or files or all(isinstance(each, Run) for each in values) else 0


def _holds_lists(given: Mapping[object, object]) -> bool:
    """Whether all values of a dict are documents with scores, as in a run."""
    return all(is_one_run({"": each}) for each in given.values())


def find_empty_queries(runs: Iterable[Run], query_ids: pl.Series) -> tuple[str, ...]:
    """The queries with an empty list in some runs, and without rows in a run made from them.

    Args:
        runs: runs that were combined.
        query_ids: ids of queries with rows.
    """
    there = set(query_ids.to_list())
    return tuple(dict.fromkeys(query for run in runs for query in run.empty if query not in there))


def is_one_run(given: Mapping[Any, Any]) -> bool:
    """Whether a dict that should hold runs is itself a run: its values are documents with scores.

    Args:
        given: {query: {document: score}}, or {name: run}.
    """
    filled = (each for each in given.values() if not (isinstance(each, Mapping) and not each))
    first = next(filled, None)
    return isinstance(first, Mapping) and all(isinstance(each, Real) for each in first.values())
