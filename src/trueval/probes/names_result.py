"""The result of a names probe: margins of each scorer under each condition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from trueval.report.result import Result


@dataclass(frozen=True)
class Statistic:
    """A mean over runs and queries.

    Attributes:
        mean: NaN without observations.
        run_sd: standard deviation of the means of single runs; NaN for fewer than two runs.
        low: lower end of the interval over queries; NaN for fewer than two authors.
        high: upper end; NaN for fewer than two authors.
    """

    mean: float
    run_sd: float
    low: float
    high: float


@dataclass(frozen=True)
class MarginChange:
    """The change of Δname under an ablation.

    Attributes:
        absolute: ΔΔ, run by run and query by query.
        relative: ΔΔ / Δ, over the probes whose Δname is at least `ScorerMargins.least_margin`.
        relative_bundles: number of these.
        of_means: mean ΔΔ divided by mean Δ; None where that is 0.
    """

    absolute: Statistic
    relative: Statistic
    relative_bundles: int
    of_means: float | None


@dataclass(frozen=True)
class ConditionMargins:
    """The margins of a scorer under a condition; shares are of its probes.

    Attributes:
        name: "base", or the ablation.
        delta_name: Δname, right author against the better of two impostors.
        delta_topic: Δtopic, right work against another one by the same author.
        delta_both: Δboth, right work against another one by another author.
        name_over_topic: mean Δname / mean Δtopic; None unless that is above 0.
        change: of Δname against base; None for base itself.
        kept_apart: share in which the right author is above both impostors by more than rounding.
        within_grain: share in which the margin is not larger than rounding can make it.
        tied: share in which the right author ties with the better impostor.
    """

    name: str
    delta_name: Statistic
    delta_topic: Statistic
    delta_both: Statistic
    name_over_topic: float | None
    change: MarginChange | None
    kept_apart: float
    within_grain: float
    tied: float


@dataclass(frozen=True)
class ScorerMargins:
    """The margins of a scorer in one language.

    Attributes:
        source: "sample", or the table of authors.
        texts: number of different texts scored.
        unit: "cosine", "BM25", ...
        grain: median of the largest change of Δname that rounding alone can cause.
        least_margin: smallest Δname of which percentages are computed; None where the scorer separates nothing.
        conditions: base first.
    """

    name: str
    language: str
    source: str
    queries: int
    runs: int
    seed: int
    texts: int
    unit: str
    grain: float
    least_margin: float | None
    conditions: tuple[ConditionMargins, ...]

    @property
    def probes(self) -> int:
        """Number of probes of a condition: a query in a run, with its five candidates."""
        return self.queries * self.runs

    @property
    def base(self) -> ConditionMargins:
        """Margins of the texts as they are."""
        return self.conditions[0]


@dataclass(frozen=True, repr=False)
class NamesSummary(Result):
    """The JSON of `trueval probe names`.

    Attributes:
        level: of all intervals.
        resamples: of the bootstrap over authors.
        scorers: one per scorer and language.
    """

    KIND: ClassVar = "probe-names"
    FORMAT: ClassVar = 1  # first version

    level: float
    resamples: int
    scorers: tuple[ScorerMargins, ...]
