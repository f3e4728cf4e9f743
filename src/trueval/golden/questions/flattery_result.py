"""The result of `trueval golden flatters`: what written questions flatter, and how far their order can be believed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from trueval.golden.validation.agreement_intervals import ValueWithInterval
from trueval.report.result import Result


@dataclass(frozen=True)
class SystemValues:
    """A system's mean of the measure.

    Attributes:
        written: on written questions.
        real: on real ones; None without.
    """

    name: str
    written: float
    real: float | None


@dataclass(frozen=True)
class OverlapWithPassages:
    """Share of the terms of questions that their passages have, means over questions.

    Attributes:
        written: of written questions.
        real: of real ones, over their best-graded documents.
        excess: written minus real.
    """

    written: ValueWithInterval
    real: ValueWithInterval
    excess: ValueWithInterval


@dataclass(frozen=True)
class LexicalGain:
    """The gain of the lexical system over another one, or over the mean of all others.

    Attributes:
        other: name of the other system; "" for the mean of all.
        written: on written questions.
        real: on real ones.
        excess: written minus real: what the written questions add.
    """

    other: str
    written: ValueWithInterval
    real: ValueWithInterval
    excess: ValueWithInterval


@dataclass(frozen=True)
class PairOrder:
    """Two systems on written and on real questions; all intervals hold together, at the level.

    Attributes:
        written: first minus second.
        real: first minus second.
        verdict: "same" or "reversed" where both intervals exclude 0; else "undecided".
    """

    first: str
    second: str
    written: ValueWithInterval
    real: ValueWithInterval
    verdict: str


@dataclass(frozen=True, repr=False)
class Flattery(Result):
    """What written questions flatter.

    Attributes:
        questions: folder of the written questions.
        real: folder or file of the real ones; None without.
        measure: name.
        lexical: name of the lexical system; None if unknown.
        level: confidence level of all intervals.
        resamples: number of bootstrap resamples.
        seed: seed of the resamples.
        written_queries: number of written questions that count.
        real_queries: number of real ones.
        systems: in the order on written questions, best first.
        overlap: None where no texts are known.
        rise: by how much the lexical gain rises from a question without a term of its passages to one with these alone.
        gain: over the mean of all other systems; None without a lexical one.
        gains: over each of them.
        tau: Kendall's tau-b between the orders of systems on written and on real questions.
        pairs: of systems; empty without real questions.
        flattered: "yes" where the excess of `gain` is above 0 for sure, "no" where it is at most 0 for sure; else
            "undecided", or "not known".
        believed: "yes" where all pairs are the same, "no" where one is reversed; else "undecided", or "not known".
        notes: what a reader must know.
    """

    KIND: ClassVar[str] = "golden-flattery"
    FORMAT: ClassVar[int] = 1  # 1: first version

    questions: str
    real: str | None
    measure: str
    lexical: str | None
    level: float
    resamples: int
    seed: int
    written_queries: int
    real_queries: int
    systems: tuple[SystemValues, ...]
    overlap: OverlapWithPassages | None
    rise: ValueWithInterval
    gain: LexicalGain | None
    gains: tuple[LexicalGain, ...]
    tau: ValueWithInterval
    pairs: tuple[PairOrder, ...]
    flattered: str
    believed: str
    notes: Sequence[str]
