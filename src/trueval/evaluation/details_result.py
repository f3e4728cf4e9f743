"""The details of an evaluation, in the form of details.json."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from trueval.evaluation.evaluation_result import QueryValues
from trueval.report.json_fields import OMITTED, encode
from trueval.report.result import Result
from trueval.report.tie_sizes import TieBin


@dataclass(frozen=True)
class TiedDocument:
    """A document of a tie group.

    Attributes:
        document: id of the document.
        grade: its grade; None if not judged.
        score: its score as read; infinities as text, which JSON has no number for.
        title: its title; None without a collection.
        text: beginning of its text; None without a collection.
    """

    document: str
    grade: float | None
    score: float | str
    title: str | None = field(default=None, metadata=OMITTED)
    text: str | None = field(default=None, metadata=OMITTED)


@dataclass(frozen=True)
class TieGroup:
    """Documents of a query that share a score.

    Attributes:
        first_rank: first of their ranks, from 1.
        last_rank: last of their ranks.
        score: the score, after the tie precision.
        judged: number of judged documents among them.
        size: number of documents.
        documents: the first of them, highest grade first.
    """

    first_rank: int
    last_rank: int
    score: float | str
    judged: int
    size: int
    documents: tuple[TiedDocument, ...]


@dataclass(frozen=True)
class MovedQuery:
    """The values of a query that ties move, with its tie groups; NaN where a number is not available.

    Attributes:
        query: id of the query.
        measure: text form of the measure.
        groups: the first tie groups within the cutoff that hold a judged document.
        text: text of the query; None without a collection.
    """

    query: str
    measure: str
    expected: float
    lowest: float
    highest: float
    tie_broken: float
    sd: float
    range: float
    bias: float
    groups: tuple[TieGroup, ...] = ()
    text: str | None = field(default=None, metadata=OMITTED)


@dataclass(frozen=True)
class RunEvidence:
    """What ties do in a run.

    Attributes:
        name: name of the run.
        tie_groups: its tie groups by size.
        worst: the queries that ties move most, of each measure.
    """

    name: str
    tie_groups: tuple[TieBin, ...]
    worst: tuple[MovedQuery, ...]


@dataclass(frozen=True)
class RunDetails(RunEvidence):
    """What ties do in a run, with the values of its queries.

    Attributes:
        queries: number of evaluated queries; None in files of format 2.
        per_query: rows of the values of queries, which may be made while they are read.
    """

    queries: int | None = field(default=None, metadata=OMITTED)
    per_query: Iterable[QueryValues] = ()


@dataclass(frozen=True)
class FileRead:
    """A file that was read, with its bytes and hash; None for what nobody hashed."""

    role: str
    path: str
    bytes: int | None
    sha256: str | None


@dataclass(frozen=True, repr=False)
class EvaluationDetails(Result):
    """What the page of an evaluation shows beside its means.

    Attributes:
        written: date, in UTC.
        command: command line.
        versions: of trueval, Python and the libraries that compute.
        files: the files that were read.
        policy: that of the evaluation.
        runs: in the order of the evaluation.
    """

    KIND: ClassVar = "evaluate-details"
    # 1: the first. 2: with the results of format 2, whose policy it repeats. 3: not the values of all queries where
    # there are many, which are in queries.parquet.
    FORMAT: ClassVar = 3

    written: str
    command: str
    versions: Mapping[str, str]
    files: tuple[FileRead, ...]
    policy: Mapping[str, object]
    runs: tuple[RunDetails, ...]

    def to_dict(self) -> dict[str, object]:
        """The JSON of the details, whose version is among the others."""
        return {"kind": self.KIND, "format": self.FORMAT, **encode(self)}
