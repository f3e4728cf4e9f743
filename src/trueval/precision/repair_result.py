"""The result of a repair: the documents to score again, and whether that restores the exact first K."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from trueval.report.json_fields import OMITTED
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
        high: number of queries whose first K are by float32 scoring of the same outputs; None of a run.
    """

    before: int
    after: int
    beyond: int
    most: float
    unit: str
    high: int | None = field(default=None, metadata=OMITTED)


@dataclass(frozen=True)
class PipelineRepair:
    """What a pipeline took to score its doubtful documents again.

    Attributes:
        seconds: of scoring them again, with loading the model.
        changed: number of queries whose first K changed.
        beyond: number of them whose float32 score differs by more than the width.
        most: largest difference, in units of the width.
        unit: the unit, as in `ScoreWidth`.
        reach: number of queries of which documents below the last one listed could be among the first K.
    """

    seconds: float
    changed: int
    beyond: int
    most: float
    unit: str
    reach: int


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
        order: whether their order must be exact too.
        pipeline: what scoring again took; None of a run, of which nothing is scored.
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
    order: bool = field(default=False, metadata=OMITTED)
    pipeline: PipelineRepair | None = field(default=None, metadata=OMITTED)

    @property
    def share(self) -> float:
        """Share of the pairs to score again."""
        return self.rescored / max(self.pairs, 1)
