"""The result of a look at codes of stored vectors: their ties, and what is lost and brought back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from trueval.report.result import Result


@dataclass(frozen=True)
class RecallRange:
    """Recall of the float32 result: mean, lowest and highest over the orders of equal scores."""

    expected: float
    lowest: float
    highest: float


@dataclass(frozen=True)
class MeasureRange:
    """A measure: its mean over queries, expected, lowest and highest over the orders of equal scores."""

    measure: str
    expected: float | None
    lowest: float | None
    highest: float | None


@dataclass(frozen=True)
class RescoreLevel:
    """Lists whose first documents are scored again with float32 vectors.

    Attributes:
        documents: how many; 0 for the codes' own scores over the whole corpus.
        recall: recall at K of the float32 result.
        cut: share of queries in which the number falls inside a group of equal code scores, so that chance decides
            which documents are scored again.
        measures: measures of these lists; of scored lists with the group's first documents by place.
    """

    documents: int
    recall: RecallRange
    cut: float
    measures: tuple[MeasureRange, ...]


@dataclass(frozen=True)
class CodesRow:
    """A storage of vectors.

    Attributes:
        storage: spec of the index.
        bytes: size of the index.
        distinct: different scores among the first documents of a list, mean over queries.
        tied: share of these documents whose score another document of the corpus has.
        tau_b: Kendall's τ-b with the float32 scores over the first documents by these; None where all tie.
        rbo: rank-biased overlap of the same, over the orders of ties.
        rescored: without scoring again first, and then with it.
        notes: one-line warnings.
    """

    storage: str
    bytes: int
    distinct: float
    tied: float
    tau_b: float | None
    rbo: float
    rescored: tuple[RescoreLevel, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class CodesReport(Result):
    """What codes of stored vectors cost.

    Attributes:
        model: the embedder.
        documents: number of documents.
        queries: number of queries.
        dimension: numbers of a vector.
        k: documents of a result.
        length: documents of a list in which ties are counted.
        storages: each storage, the float32 vectors first.
        policy: choices behind the measures.
        notes: one-line warnings.
    """

    KIND: ClassVar[str] = "precision-codes"
    FORMAT: ClassVar[int] = 1

    model: str
    documents: int
    queries: int
    dimension: int
    k: int
    length: int
    storages: tuple[CodesRow, ...]
    policy: Mapping[str, Any]
    notes: tuple[str, ...] = ()
