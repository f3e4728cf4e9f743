"""The result of `trueval precision runs` on runs alone: the grid that the scores of each run lie on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from trueval.report.json_fields import OMITTED
from trueval.report.result import Result


@dataclass(frozen=True)
class OffGrid:
    """A score that is not on the grid: its query, document and value."""

    query: str
    document: str
    score: float


@dataclass(frozen=True)
class GridMeasure:
    """A measure under the ties of the grid.

    Attributes:
        measure: the measure's text form.
        expected: mean over orders of ties.
        lowest: lowest mean over them.
        range: of the mean, highest less lowest.
        bias: tie-broken less expected; None where the order is not known.
        finer_range: the range if one digit more split each tie evenly, by one draw; None without a finer grid.
    """

    measure: str
    expected: float
    lowest: float
    range: float
    bias: float | None
    finer_range: float | None


@dataclass(frozen=True)
class RunGrid:
    """The grid of a run.

    Attributes:
        name: of the run.
        scores: number of finite scores.
        distinct: number of distinct ones in the sample that grids were tried on.
        grid: name of the grid; None where it is not known.
        family: "format", "decimals", "rrf", "logits" or "codes"; None where the grid is not known.
        top: score at the tenth place, the median over lists.
        spacing: distance of neighboring values of the grid there; None where it is not known.
        share: share of the distinct scores of the sample on the grid.
        confidence: 1 less the chance that float32 scores would lie on any grid tried.
        contradicting: number of scores that are not on the grid, nor on the second one.
        examples: up to three of them.
        second: name of a second grid in the file, "not known", or None where one grid holds all.
        tied_fraction: share of documents in groups of equal scores.
        largest_group: documents in the largest group.
        finer: how the grid could be finer, in words: "one decimal more"; None where that has no meaning.
        finer_tied: share of tied documents then, if ties were split evenly.
        measures: measures, where judgments were given.
        cure: what to do, in one sentence.
    """

    name: str
    scores: int
    distinct: int
    grid: str | None
    family: str | None
    top: float
    spacing: float | None
    share: float
    confidence: float
    contradicting: int
    examples: tuple[OffGrid, ...]
    second: str | None
    tied_fraction: float
    largest_group: int
    finer: str | None
    finer_tied: float | None
    measures: tuple[GridMeasure, ...]
    cure: str


@dataclass(frozen=True)
class Deviation:
    """Scores of the same pairs that differ between two passes: how many, and by how much at most."""

    differing: int
    most: float


@dataclass(frozen=True)
class ServiceCheck:
    """What a service gives when the same pairs are sent again.

    Attributes:
        pairs: number of pairs of query and document.
        again: the same calls once more.
        reordered: documents in another order.
        rebatched: documents in calls of seven.
        verdict: "noise" if equal calls differ, "batch" if only order or batches matter, else "rounding".
    """

    pairs: int
    again: Deviation
    reordered: Deviation
    rebatched: Deviation
    verdict: Literal["noise", "batch", "rounding"]


@dataclass(frozen=True, eq=False, repr=False)
class GridReport(Result):
    """The grids of several runs.

    Attributes:
        runs: one each.
        policy: choices behind the measures; empty without judgments.
        notes: one-line warnings.
        service: of a service, what it gives when asked again.
    """

    KIND: ClassVar[str] = "precision-grid"
    FORMAT: ClassVar[int] = 1

    runs: tuple[RunGrid, ...]
    policy: Mapping[str, object]
    notes: tuple[str, ...] = ()
    service: ServiceCheck | None = field(default=None, metadata=OMITTED)
