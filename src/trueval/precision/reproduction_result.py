"""The result of repeating a published table: our values beside those that were printed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from trueval.report.result import Result


@dataclass(frozen=True)
class TieStatistics:
    """A measure in a regime, in fractions of 1: tie-broken and expected value, range, bias."""

    tie_broken: float
    expected: float
    range: float
    bias: float


@dataclass(frozen=True)
class ReproducedCell:
    """A measure of a model in a regime.

    Attributes:
        data: name of the data set.
        measure: text form of the measure.
        model: name of the model.
        scoring: φ; empty where it was not run.
        regime: such as "BF16 → FP32": format of the model, and of its scores where that is another.
        queries: number of queries; 0 where it was not run.
        ours: our values; None where it was not run.
        printed: the values of the paper.
    """

    data: str
    measure: str
    model: str
    scoring: str
    regime: str
    queries: int
    ours: TieStatistics | None
    printed: TieStatistics

    @property
    def difference(self) -> TieStatistics | None:
        """Ours less the paper's."""
        if self.ours is None:
            return None
        ours, printed = self.ours, self.printed
        return TieStatistics(
            ours.tie_broken - printed.tie_broken,
            ours.expected - printed.expected,
            ours.range - printed.range,
            ours.bias - printed.bias,
        )


@dataclass(frozen=True)
class UnmadeRow:
    """A data set, or a model on it, that could not be run, and why; without a model where no model could."""

    data: str
    model: str
    reason: str


@dataclass(frozen=True)
class ReproducedSet:
    """A data set of the table: its name, where it was read from, and its numbers of queries and documents."""

    name: str
    source: str
    queries: int
    documents: int


@dataclass(frozen=True, eq=False, repr=False)
class TableReproduction(Result):
    """A published table, repeated.

    Attributes:
        table: its name.
        source: where it is published.
        batch_size: texts or pairs per forward pass, at first.
        max_length: maximum number of tokens.
        devices: torch devices that models ran on.
        sets: data sets that were read.
        cells: every measure of the table in its order, by model and regime.
        mean_distance: mean distance of our expected values from the printed ones, in fractions of 1.
        unmade: what could not be run.
        notes: of the data sets and evaluations.
    """

    KIND: ClassVar[str] = "precision-table"
    FORMAT: ClassVar[int] = 1

    table: str
    source: str
    batch_size: int
    max_length: int
    devices: tuple[str, ...]
    sets: tuple[ReproducedSet, ...]
    cells: tuple[ReproducedCell, ...]
    mean_distance: float
    unmade: tuple[UnmadeRow, ...]
    notes: tuple[str, ...]
