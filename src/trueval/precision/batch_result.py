"""The result of an audit over batch sizes: what the batch alone does to outputs and measures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from trueval.report.json_fields import OMITTED
from trueval.report.result import Result


@dataclass(frozen=True)
class BatchMeasure:
    """A measure of a regime in each batch size.

    Attributes:
        model: name of the model.
        model_dtype: number format in which it ran.
        label: label of the regime.
        measure: the measure's text form.
        expected: [pass] mean over orders of ties: of each batch size, and then of each variant.
        spread: largest less smallest of these.
        range: largest tie range in any of them.
    """

    model: str
    model_dtype: str
    label: str
    measure: str
    expected: tuple[float, ...]
    spread: float | None
    range: float | None


@dataclass(frozen=True)
class PassEquality:
    """The outputs of a model in each pass, against those of the first one.

    Attributes:
        model: name of the model.
        model_dtype: number format in which it ran, and that of a part.
        rows: number of texts or pairs.
        differing: [pass] rows with any other bit.
    """

    model: str
    model_dtype: str
    rows: int
    differing: tuple[int, ...]


@dataclass(frozen=True, eq=False, repr=False)
class BatchEffects(Result):
    """What batch sizes do.

    Attributes:
        sizes: batch sizes.
        variants: further passes in batches of the first size, such as "seed=1".
        measures: each measure of each regime.
        passes: equality of each pass.
        policy: choices behind the measures.
        notes: one-line warnings.
    """

    KIND: ClassVar[str] = "precision-batches"
    FORMAT: ClassVar[int] = 1

    sizes: tuple[int, ...]
    measures: tuple[BatchMeasure, ...]
    passes: tuple[PassEquality, ...]
    policy: Mapping[str, object]
    notes: tuple[str, ...] = ()
    variants: tuple[str, ...] = field(default=(), metadata=OMITTED)

    @property
    def names(self) -> tuple[str, ...]:
        """Of all passes, in order."""
        return (*map(str, self.sizes), *self.variants)
