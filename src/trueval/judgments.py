"""Judgments: the grades of documents; a missing grade is not zero."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trueval.errors import Place, PolicyError
from trueval.files import (
    RowTable,
    Source,
    check_rows,
    id_notes,
    read_arrays,
    read_dict,
    read_frame,
    read_input,
    read_table,
)
from trueval.files.writing import write_judgments
from trueval.forks import need_polars

if TYPE_CHECKING:
    from trueval.files.input_types import HoldsQrels, HoldsRelevantDocs, Input

# What `Judgments.of` takes.
JudgmentsLike: TypeAlias = "Judgments | Input | HoldsQrels | HoldsRelevantDocs"
# Paths of the judgments in a folder: a collection, or a golden set.
QRELS: Final = ("qrels.trec", "qrels.tsv", "qrels/test.tsv", "qrels/dev.tsv", "qrels/train.tsv")
GOLDEN: Final = "golden.json"  # next to the qrels.trec of a golden set
ENDINGS: Final = ("", ".gz", ".zst")  # names of the file, plain or compressed


@dataclass(frozen=True, eq=False)
class Judgments:
    """Graded documents of each query.

    Args:
        frame: query_id String, doc_id String, grade Float64 (below 0 means unjudged, kept as read), and facet String if
            facets were requested; rows of one query are adjacent.
        query_ids: String, unique, in order of first appearance.
        offsets: [queries + 1]; rows of query i are frame[offsets[i]:offsets[i + 1]].
        source: the path, "<stdin>", or the kind of object they came from.
        notes: one-line warnings from reading.
        source_codes: [row] code of the document's source; None where sources are not known.
        rubric: whether they are a golden set's, whose grades 1 to 5 mean relevant from 4 on.

    >>> Judgments.from_dict({"q1": {"d1": 2, "d2": 0}}).frame.rows()
    [('q1', 'd1', 2.0), ('q1', 'd2', 0.0)]
    """

    frame: pl.DataFrame
    query_ids: pl.Series
    offsets: NDArray[np.int64]
    source: str
    notes: tuple[str, ...] = ()
    source_codes: NDArray[np.int64] | None = None
    rubric: bool = False

    @classmethod
    def of(cls, given: JudgmentsLike, *, facets: bool = False) -> Judgments:
        """Make judgments from any supported object, as `evaluate` and `compare` do.

        Args:
            given: Judgments; a path or open file; a dict {query: {document: grade}} or {query: relevant documents}; a
                frame of polars, pandas or Arrow; Qrels of ranx; triples (query, document, grade); or rows of a log of
                contexts that names what should be retrieved.
            facets: as in `read`.

        Raises:
            InputError: it is none of these, or something in it is wrong.

        >>> Judgments.of({"q1": ["d1"]}).frame.rows() == Judgments.of([("q1", "d1", 1)]).frame.rows()
        True
        """
        if isinstance(given, cls):
            return given
        found = cls._from_table(read_input(_existing_file(given), "judgments", facets).table)
        return dataclasses.replace(found, rubric=on_rubric(given))

    @classmethod
    def read(cls, source: Source, *, facets: bool = False, format: str | None = None) -> Judgments:
        """Read a file: TREC or MS MARCO qrels, BEIR tsv, csv, jsonl, json, parquet, Arrow, gold of a log of contexts.

        Args:
            source: a path, "-" for standard input, or an open file; plain, gzip or zstd. For a folder, such as a
                collection or a golden set, its qrels.trec is read.
            facets: keep the second column (diversity qrels); a document may then be graded once per facet.
            format: one of trueval.files.FORMATS, or one that a package adds; detected from the content if None.

        Raises:
            InputError: the file is missing, damaged, not judgments, or holds a bad row, with its line.
            PolicyError: the format is unknown, or has no facets.
        """
        if facets and format == "json":
            raise PolicyError("facets=True needs a format with columns. Got 'json'. Use trec, csv, jsonl or parquet.")
        found = cls._from_table(read_table(_existing_file(source), "judgments", format, facets)[0])
        return dataclasses.replace(found, rubric=on_rubric(source))

    @classmethod
    def from_dict(cls, grades: object) -> Judgments:
        """Take {query: {document: grade}} (pytrec_eval), {query: relevant documents}, or an object that holds one.

        Raises:
            InputError: an id is neither string nor integer, a grade is not a finite number.
        """
        return cls._from_table(read_dict(grades, "judgments"))

    @classmethod
    def from_frame(cls, frame: object, *, facets: bool = False) -> Judgments:
        """Make judgments from a polars, pandas or pyarrow frame, or anything with the Arrow C stream.

        Raises:
            InputError: a column is missing or of the wrong type, or a row is bad.
        """
        return cls._from_table(read_frame(frame, "judgments", facets))

    @classmethod
    def from_arrays(
        cls, grades: object, doc_ids: object = None, query_ids: object = None, *, mask: object = None
    ) -> Judgments:
        """Make judgments from one list of grades per query: a matrix, a tensor, or ragged lists; NaN means unjudged.

        Args:
            grades: [query, document] grades.
            doc_ids: ids in the shape of the grades, or one list for all queries; positions from 0 if None.
            query_ids: one id per list; positions from 0 if None.
            mask: in the shape of the grades, True where there is a document.

        Raises:
            InputError: shapes differ, a grade is infinite, or nothing is judged.

        >>> Judgments.from_arrays([[1, 0], [float("nan"), 2]]).frame["grade"].to_list()
        [1.0, 0.0, 2.0]
        """
        table = read_arrays(grades, "judgments", doc_ids, query_ids, mask)
        return cls._from_table(table._replace(frame=table.frame.filter(pl.col("grade").is_not_nan())))

    def write(self, path: str | PathLike[str]) -> None:
        """Write a file in the format of its suffix: .parquet, .jsonl, .csv, or TREC text; written atomically.

        Args:
            path: path of the file.

        Raises:
            InputError: TREC text cannot hold an id, because there is white space in it.
            OSError: the file cannot be written.
        """
        write_judgments(self.frame, Path(path))

    @classmethod
    def _from_table(cls, table: RowTable) -> Judgments:
        rows = check_rows(table, "judgments")
        notes = table.notes + id_notes(rows.table, rows.query_ids)
        judgments = cls(rows.table.frame, rows.query_ids, rows.offsets, table.source, notes)
        return judgments.with_sources(table.sources) if table.sources else judgments

    def __repr__(self) -> str:
        """One line: numbers of queries and documents, and the source."""
        counts = f"{len(self.query_ids):,} queries, {len(self.frame):,} documents"
        return f"<Judgments: {counts}, from {self.source}>"

    def with_sources(self, sources: Mapping[str, str]) -> Judgments:
        """Set the source (paper, site, file) of each document; a document without one is its own source.

        Args:
            sources: document id → source.

        >>> Judgments.from_dict({"q": {"a": 5, "b": 5, "c": 5}}).with_sources({"a": "x", "c": "x"}).source_codes
        array([0, 1, 0])
        """
        names = [(sources[doc], "") if doc in sources else ("", doc) for doc in self.frame["doc_id"].to_list()]
        numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
        return dataclasses.replace(self, source_codes=np.array([numbers[name] for name in names], dtype=np.int64))

    def map_grades(self, mapping: Mapping[float, float]) -> Judgments:
        """Replace every grade; grades below 0 (unjudged) are kept where the mapping does not name them.

        Args:
            mapping: old grade → new grade; the caller then defines what grades mean, also for a golden set.

        Raises:
            InputError: a grade from 0 up has no mapping.
            PolicyError: a grade is infinite or NaN.

        >>> Judgments.from_dict({"q": {"a": 0, "b": 3}}).map_grades({0: 1, 3: 5}).frame["grade"].to_list()
        [1.0, 5.0]
        """
        need_polars()
        for old, new in mapping.items():
            if not math.isfinite(old) or not math.isfinite(new):
                raise PolicyError(f"grades must be mapped from and to finite numbers. Got {old:g}:{new:g}.")
        grades = self.frame["grade"]
        missing = [g for g in grades.unique().sort() if g >= 0 and g not in mapping]
        if missing:
            row = self.frame.row(int((grades == missing[0]).arg_max() or 0), named=True)
            raise Place(self.source).error(
                f"the grade {missing[0]:g} (document {row['doc_id']!r} in query {row['query_id']!r}) has no mapping. "
                f"Every grade must be mapped. Got: {', '.join(f'{old:g}:{new:g}' for old, new in mapping.items())}."
            )
        mapped = grades.replace({float(old): float(new) for old, new in mapping.items()})
        return dataclasses.replace(self, frame=self.frame.with_columns(grade=mapped), rubric=False)


def judgments_file(source: object) -> Any:
    """The file of judgments in a named folder; anything else is returned unchanged.

    Args:
        source: as in `Judgments.read`.
    """
    if not isinstance(source, str | PathLike) or not Path(source).is_dir():
        return source
    return qrels_in(Path(source)) or source


def _existing_file(source: object) -> Any:
    """As `judgments_file`, but a folder without judgments is refused.

    Raises:
        InputError: the folder has none.
    """
    found = judgments_file(source)
    if isinstance(found, str | PathLike) and Path(found).is_dir():
        raise Place(str(found)).error(
            f"this folder holds no judgments, which are in {', '.join(QRELS)}. Give the file; where this is to become "
            "a golden set, end trueval golden build first."
        )
    return found


def qrels_in(folder: Path) -> str | None:
    """The file of judgments in a folder, compressed or not; None if there is none."""
    places = (folder / f"{name}{ending}" for name in QRELS for ending in ENDINGS)
    return next((str(place) for place in places if place.is_file()), None)


def on_rubric(given: object) -> bool:
    """Whether judgments are a golden set's: its folder, or the file qrels.trec in it, compressed or not.

    Args:
        given: as in `Judgments.of`; of a file only the golden.json in its folder is read.
    """
    if isinstance(given, Judgments):
        return given.rubric
    if not isinstance(given, str | PathLike):
        return False
    file = Path(str(judgments_file(given)))
    if file.name not in [QRELS[0] + ending for ending in ENDINGS]:
        return False
    try:
        about = json.loads((file.parent / GOLDEN).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(about, dict) and about.get("kind") == "golden"


def grade_map(text: str) -> dict[float, float]:
    """Read a mapping of grades in the syntax of the command line.

    Raises:
        PolicyError: an entry is not old:new with finite numbers, or a grade is mapped twice.

    >>> grade_map("0:1,1:3,2:4,3:5")
    {0.0: 1.0, 1.0: 3.0, 2.0: 4.0, 3.0: 5.0}
    """
    mapping: dict[float, float] = {}
    for entry in text.split(","):
        old, colon, new = entry.partition(":")
        try:
            grade, value = float(old), float(new)
        except ValueError:
            grade = value = math.nan
        if not colon or not math.isfinite(grade) or not math.isfinite(value) or grade in mapping:
            raise PolicyError(
                f"grades must be old:new pairs such as 0:1,1:3, each grade once. Got {entry.strip()!r} in {text!r}."
            )
        mapping[grade] = value
    return mapping
