"""The result of `trueval evaluate`, in the form of its JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final, TypedDict, cast

from trueval.report.json_fields import OMITTED
from trueval.report.result import Result

NOT_ASKED: Final = -1


@dataclass(frozen=True)
class MeasureMeans:
    """The mean of a measure over queries; NaN where a number is not available.

    Attributes:
        expected: mean over all tie orders.
        lowest: mean of the lowest values per query.
        highest: mean of the highest values per query.
        range: highest - lowest.
        tie_broken: mean under the tie order.
        bias: tie_broken - expected.
        sd: standard deviation of the mean over tie orders.
        queries: number of queries in the mean.
        exact: whether its statistics are exact; else lowest and highest are bounds, or expected is the middle of
            bounds.
        details: further numbers, by name; None where the measure has none.
    """

    expected: float
    lowest: float
    highest: float
    range: float
    tie_broken: float
    bias: float
    sd: float
    queries: int
    exact: bool = field(default=True, metadata=OMITTED)
    details: Mapping[str, float] | None = field(default=None, metadata=OMITTED)


@dataclass(frozen=True)
class RunTies:
    """How much of a run is tied, as in `trueval.evaluation.ties.TieSummary`."""

    tied_fraction: float | None
    largest_group: int | None
    cut_queries: tuple[str, ...]
    documents: int = 0


class QueryValues(TypedDict):
    """The values of a measure on a query; None where a number is not available. Rows are read and written unchecked."""

    query: str
    measure: str
    expected: float | None
    lowest: float | None
    highest: float | None
    tie_broken: float | None
    sd: float | None


class TiesEntry(TypedDict):
    """The JSON of `RunTies`, as far as views read it."""

    tied_fraction: float | None


class RunEntry(TypedDict):
    """The JSON of `RunMeans` as far as views read it, for results that are shown without being read back."""

    name: str
    queries: int
    ties: TiesEntry
    measures: Mapping[str, Mapping[str, float | None]]
    notes: Sequence[str]
    policy: Mapping[str, object]  # where a run is shown alone


def run_entries(results: Mapping[str, object]) -> Sequence[RunEntry]:
    """The entries of the runs.

    Args:
        results: the JSON of `trueval evaluate`.
    """
    return cast("Sequence[RunEntry]", results["runs"])


@dataclass(frozen=True)
class RunMeans:
    """The means of a run.

    Attributes:
        name: name of the run.
        queries: number of evaluated queries.
        missing_queries: judged queries that the run lacks.
        unjudged_queries: queries of the run without judgments, left out.
        ties: how much of it is tied.
        measures: means by the text form of each measure.
        notes: one-line warnings.
        content: hashes of what was evaluated, and the rules of filling; None where not known.
        matched: number of judged documents that the run lists; None where not counted, NOT_ASKED where nobody asked.
        per_query: rows of the values of every query, which may be made while they are read; None where not asked for.
    """

    name: str
    queries: int
    missing_queries: tuple[str, ...]
    unjudged_queries: tuple[str, ...]
    ties: RunTies
    measures: Mapping[str, MeasureMeans]
    notes: tuple[str, ...]
    content: Mapping[str, object] | None = field(default=None, metadata=OMITTED)
    matched: int | None = field(default=NOT_ASKED, metadata=OMITTED)
    per_query: Iterable[QueryValues] | None = field(default=None, metadata=OMITTED)


@dataclass(frozen=True, repr=False)
class Evaluation(Result):
    """The means of several runs under one policy.

    Attributes:
        policy: every choice behind the numbers, by name.
        runs: in the order given.
    """

    KIND: ClassVar = "evaluate"
    # 1: first version. 2: every file names its kind, by which `trueval report` identifies it.
    FORMAT: ClassVar = 2

    policy: Mapping[str, object]
    runs: tuple[RunMeans, ...]
