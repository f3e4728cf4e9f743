"""The result of `trueval golden stress`, in the form of its JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from trueval.golden.validation.agreement_intervals import ValueWithInterval
from trueval.golden.validation.agreement_result import Coefficients, LabelOrigin
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
        judge: name of the judge.
        items: number of labels.
        coefficients: κ and α by name.
    """

    judge: str
    items: int
    coefficients: Coefficients


@dataclass(frozen=True)
class JudgeRanking:
    """The ranking of systems by a judge, compared with people's.

    Attributes:
        judge: name of the judge.
        tau: Kendall's τ-b between the means of the systems by the judge and by people.
        tau_top: τ-b of people's best systems.
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
        run: name of the run.
        mean: mean by people's labels.
        rank: rank by people's labels, from 1; ties share their mean rank.
        means: [judge] mean by the judge's labels.
        ranks: [judge] rank by the judge's labels.
        least_mean: lowest mean over judges.
        greatest_mean: highest mean over judges.
        best_rank: best rank over judges.
        worst_rank: worst rank over judges.
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
    """The lift of a judge for the runs of its own family.

    Attributes:
        judge: name of the judge.
        family: family of the judge.
        runs: runs of the family.
        lift: lift in ranks.
        lift_in_measure: lift in values of the measure.
        tau: τ-b between the judge and people.
        tau_without: τ-b without the runs of its family.
        without: outcomes of the pairs without runs of its family.
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
        measure: text form of the measure.
        better: "higher" or "lower".
        queries: [labels] number of queries that count, people first.
        top: names of people's best systems.
        separated: number of pairs of systems that people separate.
        judges: rankings by the judges, in the order of the labels.
        systems: systems by people's rank.
        pairs: verdicts on each pair of systems.
        spread: the judges' agreement on all pairs.
        spread_unrelated: the same, using each judge only for pairs without runs of its family; None without families.
        families: lifts of judges that have runs of their own family.
        kappa_and_tau: coefficient of labels → τ-b over judges between it and the τ of systems; None if unknown.
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
        scale: lowest and highest grade.
        top: number of people's best systems that are also analyzed separately.
        resamples: number of resamples for the intervals of κ, α, τ and lifts.
        seed: seed of the resamples.
        level: confidence level of the intervals.
        choices: choices of the comparison that separates systems.
        people: source of people's labels.
        judges: sources of the judges' labels.
        runs: names of the systems.
        shared: pairs of query and passage labelled by everyone.
        families: model families; None if none were declared.
        labels: agreement of each judge's labels with people's.
        measures: conclusions from each measure.
        notes: remarks on labels and comparison.
    """

    KIND: ClassVar = "golden-stress"
    FORMAT: ClassVar = 1

    scale: tuple[float, float]
    top: int
    resamples: int
    seed: int
    level: float
    choices: Mapping[str, object]
    people: LabelOrigin
    judges: tuple[LabelOrigin, ...]
    runs: tuple[str, ...]
    shared: SharedLabels
    families: Families | None
    labels: tuple[JudgeLabelAgreement, ...]
    measures: tuple[MeasureUnderJudges, ...]
    notes: tuple[str, ...]
