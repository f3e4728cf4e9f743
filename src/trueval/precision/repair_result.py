"""The result of a repair: the documents to score again, and whether that restores the exact first K."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from trueval.report.result import Result


@dataclass(frozen=True)
class QueryRepair:
    """A query: its id, the number of documents surely among the first K, and the ids of those to score again."""

    query: str
    sure: int
    documents: tuple[str, ...]


@dataclass(frozen=True)
class RestoredSets:
    """What repair restores of a reference.

    Attributes:
        before: number of queries whose first K by the run's own scores are the reference's.
        after: number of queries whose first K are, after the repair.
        beyond: number of scores that differ from the reference's by more than the width: drift, which the width must
            cover for a repair to be sure.
        most: largest difference, in units of the width.
        unit: the unit, as in `ScoreWidth`.
    """

    before: int
    after: int
    beyond: int
    most: float
    unit: str


@dataclass(frozen=True, eq=False, repr=False)
class PrecisionRepair(Result):
    """The documents of a run to score again.

    Attributes:
        run: its name.
        k: number of documents that count.
        within: the width, as `ScoreWidth` writes it.
        queries: each query of the run.
        pairs: number of pairs of query and document in the run.
        rescored: number of pairs to score again.
        restored: how the first K compare with a reference; None without one.
    """

    KIND: ClassVar[str] = "precision-repair"
    FORMAT: ClassVar[int] = 1

    run: str
    k: int
    within: str
    queries: tuple[QueryRepair, ...]
    pairs: int
    rescored: int
    restored: RestoredSets | None

    @property
    def share(self) -> float:
        """Share of the pairs to score again."""
        return self.rescored / max(self.pairs, 1)
