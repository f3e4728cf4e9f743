"""The result of `trueval golden stress`, as its JSON has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from trueval.golden.validation.agreement_intervals import ValueWithInterval
from trueval.golden.validation.agreement_result import Coefficients, LabelSource
from trueval.golden.validation.label_verdicts import PairVerdicts, VerdictRates, VerdictSpread
from trueval.golden.validation.model_families import Families
from trueval.golden.validation.system_rankings import Lift
from trueval.report.result import Result


@dataclass(frozen=True)
class SharedLabels:
    """Pairs of query and passage that everybody labelled, and their queries."""

    pairs: int
    queries: int


@dataclass(frozen=True)
class JudgeLabelAgreement:
    """Agreement of a judge's labels with people's.

    Attributes:
        judge: its name.
        items: number of labels.
        coefficients: κ and α by name.
    """

    judge: str
    items: int
    coefficients: Coefficients


@dataclass(frozen=True)
class JudgeRanking:
    """How a judge ranks systems, against people.

    Attributes:
        judge: its name.
        tau: Kendall's τ-b between the means of the systems by the judge and by people.
        tau_top: the same of people's best systems.
        separated: number of pairs of systems that the judge separates.
        all: outcomes of all pairs.
        best: outcomes of the pairs of people's best systems.
    """

    judge: str
    tau: ValueWithInterval
    tau_top: ValueWithInterval
    separated: int
    all: VerdictRates
    best: VerdictRates


@dataclass(frozen=True)
class SystemUnderJudges:
    """Mean and rank of a system by people, and by judges.

    Attributes:
        run: its name.
        mean: by people.
        rank: by people, from 1; ties share their mean rank.
        means: [judge].
        ranks: [judge].
        least_mean: of the judges.
        greatest_mean: of the judges.
        best_rank: of the judges.
        worst_rank: of the judges.
    """

    run: str
    mean: float
    rank: float
    means: tuple[float, ...]
    ranks: tuple[float, ...]
    least_mean: float
    greatest_mean: float
    best_rank: float
    worst_rank: float


@dataclass(frozen=True)
class FamilyLift:
    """How a judge ranks the runs of its own family.

    Attributes:
        judge: its name.
        family: of the judge.
        runs: of the family.
        lift: in ranks.
        lift_in_measure: in values of the measure.
        tau: of the judge with people.
        tau_without: the same without the runs of its family.
        without: outcomes of the pairs without them.
    """

    judge: str
    family: str
    runs: tuple[str, ...]
    lift: Lift
    lift_in_measure: Lift
    tau: ValueWithInterval
    tau_without: ValueWithInterval
    without: VerdictRates


@dataclass(frozen=True)
class MeasureUnderJudges:
    """Conclusions from one measure under each judge's labels.

    Attributes:
        measure: its text form.
        better: "higher" or "lower".
        queries: [labels] number of queries that count, people first.
        top: people's best systems.
        separated: number of pairs of systems that people separate.
        judges: their rankings, in the order of the labels.
        systems: by people's rank.
        pairs: verdicts on each pair of systems.
        spread: the judges' agreement on all pairs.
        spread_unrelated: the same, each judge asked only about pairs without runs of its family; None without families.
        families: of judges that have runs of their own family.
        kappa_and_tau: coefficient of labels → τ-b over judges between it and the τ of systems; None where unknown.
    """

    measure: str
    better: str
    queries: tuple[int, ...]
    top: tuple[str, ...]
    separated: int
    judges: tuple[JudgeRanking, ...]
    systems: tuple[SystemUnderJudges, ...]
    pairs: tuple[PairVerdicts, ...]
    spread: VerdictSpread
    spread_unrelated: VerdictSpread | None
    families: tuple[FamilyLift, ...]
    kappa_and_tau: Mapping[str, float | None]


@dataclass(frozen=True, repr=False)
class Stress(Result):
    """Conclusions about systems under judges' labels, compared with people's.

    Attributes:
        scale: least and greatest grade.
        top: number of people's best systems that are also analyzed separately.
        resamples: of the intervals of κ, α, τ and lifts.
        seed: of the resamples.
        level: of the intervals.
        choices: of the comparison that separates systems.
        people: source of people's labels.
        judges: sources of the judges' labels.
        runs: names of the systems.
        shared: what everybody labelled.
        families: of models; None where none were declared.
        labels: agreement of each judge's labels with people's.
        measures: conclusions from each.
        notes: what to know of labels and comparison.
    """

    KIND: ClassVar = "golden-stress"
    FORMAT: ClassVar = 1

    scale: tuple[float, float]
    top: int
    resamples: int
    seed: int
    level: float
    choices: Mapping[str, Any]
    people: LabelSource
    judges: tuple[LabelSource, ...]
    runs: tuple[str, ...]
    shared: SharedLabels
    families: Families | None
    labels: tuple[JudgeLabelAgreement, ...]
    measures: tuple[MeasureUnderJudges, ...]
    notes: tuple[str, ...]
