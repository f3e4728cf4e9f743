"""The result of a refinement: the top documents in order, their uncertainty, and the judge's contradictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from trueval.golden.refine.consistency import Inconsistency


class RefinedDocument(NamedTuple):
    """A document of the pool after refinement.

    Attributes:
        document: document id.
        rank: rank from 1.
        sd: standard deviation of the score; None if the method has none.
        member: probability of membership in the top set; None if the method has none.
        band: number of its tie band, from 1: within a band the order is uncertain; None if the method has none.
        exposures: number of orders that contain it.
    """

    document: str
    rank: int
    grade: float
    score: float
    sd: float | None
    member: float | None
    band: int | None
    exposures: int


class GradeInversion(NamedTuple):
    """Two documents whose order contradicts their grades; they are regraded.

    Attributes:
        above: id of the document with the higher score and the lower grade.
        below: id of the document with the lower score and the higher grade.
        chance: probability of this order.
        grades: difference of their grades.
    """

    above: str
    below: str
    chance: float
    grades: float


class JudgedOrder(NamedTuple):
    """A judge's order, by ids.

    Attributes:
        best_first: documents of a batch, best first.
        shown: the same documents in the order shown to the judge.
    """

    best_first: tuple[str, ...]
    shown: tuple[str, ...]


@dataclass(frozen=True)
class Refinement:
    """The refinement of one pool. It certifies agreement with the judge's order, not with the truth.

    Attributes:
        method: "posterior" or "paper".
        documents: all documents of the pool, best first.
        top: number of returned documents.
        calls: number of questions asked, answered or not.
        stopped: "overlap", "stable" or "budget".
        overlap: expected share of the returned documents that are in the top set of the judge's own order; None if the
            method claims nothing.
        scale: κ and τ of the prior; None if the method has none.
        gross: mean probability that a grade is a gross error, as learned; None if the method has none.
        slot_bias: score difference between being shown last and first, with its standard deviation; None if not
            estimated.
        length_bias: the same for one standard deviation of the lengths.
        orders: all answers, in chronological order.
    """

    method: str
    documents: tuple[RefinedDocument, ...]
    top: int
    calls: int
    stopped: str
    overlap: float | None
    scale: tuple[float, float] | None
    gross: float | None
    slot_bias: tuple[float, float] | None
    length_bias: tuple[float, float] | None
    inconsistency: Inconsistency
    inversions: tuple[GradeInversion, ...]
    orders: tuple[JudgedOrder, ...]

    @property
    def best(self) -> tuple[str, ...]:
        """Ids of the returned documents, best first."""
        return tuple(each.document for each in self.documents[: self.top])

    def to_dict(self) -> dict[str, object]:
        """The refinement as JSON; null if not available."""
        return {
            "method": self.method,
            "top": self.top,
            "calls": self.calls,
            "stopped": self.stopped,
            "overlap": self.overlap,
            "scale": None if self.scale is None else dict(zip(("per_grade", "spread"), self.scale, strict=True)),
            "gross": self.gross,
            "slot_bias": _value(self.slot_bias),
            "length_bias": _value(self.length_bias),
            "inconsistency": self.inconsistency.to_dict(),
            "documents": [each._asdict() for each in self.documents],
            "inversions": [each._asdict() for each in self.inversions],
            "orders": [{name: list(ids) for name, ids in each._asdict().items()} for each in self.orders],
        }


def _value(found: tuple[float, float] | None) -> dict[str, float] | None:
    return None if found is None else {"value": found[0], "sd": found[1]}
