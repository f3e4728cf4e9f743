"""The result of a noise probe: what each condition does to the results of each system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from trueval.probes.noise_settings import CLEAN, NoiseCondition
from trueval.report.json_fields import OMITTED
from trueval.report.result import Result


@dataclass(frozen=True)
class ReshuffleSettings:
    """How result lists are compared: the first k, RBO with persistence p of the first `depth` documents."""

    k: int
    depth: int
    p: float


@dataclass(frozen=True)
class BootstrapMean:
    """A mean over queries with its bootstrap interval; NaN where not available."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class MeasureChange:
    """A measure under a condition, against the clean queries; NaN where no query has a value.

    Attributes:
        clean: mean of the clean queries that have both values.
        noisy: mean of the same queries under the condition.
        change: noisy - clean.
        low: lower end of the interval of the change.
        high: upper end of the interval.
        queries: number of queries with both values; None where there is none, and in files of older versions.
        lost: number of these whose value falls.
    """

    clean: float
    noisy: float
    change: float
    low: float
    high: float
    queries: int | None = field(default=None, metadata=OMITTED)
    lost: int | None = field(default=None, metadata=OMITTED)


@dataclass(frozen=True)
class NoiseLevel:
    """A condition and what it does.

    Attributes:
        level, denoised, normalised: as in `NoiseCondition`.
        templates: bank of noise templates; None at level 0.
        added: mean share of noise in the characters of a query.
        variety: number of different texts that a query can become.
        cosine: of the text that is searched with and the clean query; None without an embedder.
        drop: 1 - cosine.
        overlap: share of the first k results that the clean query has too.
        tau: Kendall's τ of the first k results.
        rbo: rank-biased overlap.
        measures: text form of a measure → its change.
    """

    level: int
    templates: str | None
    denoised: str
    normalised: bool
    added: float
    variety: int
    cosine: BootstrapMean | None
    drop: BootstrapMean | None
    overlap: BootstrapMean
    tau: BootstrapMean
    rbo: BootstrapMean
    measures: Mapping[str, MeasureChange]

    @property
    def condition(self) -> NoiseCondition:
        """The way in which queries are written."""
        return NoiseCondition(self.level, self.templates or "", self.denoised, self.normalised)

    @property
    def is_clean(self) -> bool:
        """Whether these are the clean queries."""
        return self.condition == CLEAN


@dataclass(frozen=True)
class NoisySystem:
    """A system under noise: its conditions, the clean one first."""

    name: str
    language: str
    queries: int
    levels: tuple[NoiseLevel, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class ChangedQueries:
    """Clean queries, and how many of them the rules change."""

    queries: int
    changed: int


@dataclass(frozen=True)
class StrippedNoise:
    """What the rules remove, in shares of characters; NaN where there is nothing to share.

    Attributes:
        precision: share of what they remove that is noise.
        recall: share of the noise that they remove.
        question_lost: share of the question that they remove.
    """

    language: str
    level: int
    templates: str
    precision: float
    recall: float
    question_lost: float


@dataclass(frozen=True)
class Denoising:
    """Accuracy of the denoising rules on clean and on noisy queries."""

    clean: ChangedQueries
    stripped: tuple[StrippedNoise, ...]


@dataclass(frozen=True, repr=False)
class NoiseSummary(Result):
    """The JSON of `trueval probe noise`.

    Attributes:
        collection: its name.
        queries: number of sampled queries.
        seed: of everything random.
        policy: every choice that changes a value.
        level: of all intervals.
        resamples: of queries.
        reshuffle: how result lists are compared.
        models: one per system.
        denoiser: accuracy of the rules; None where they are not used.
    """

    KIND: ClassVar = "probe-noise"
    FORMAT: ClassVar = 1  # first version

    collection: str
    queries: int
    seed: int
    policy: Mapping[str, object]
    level: float
    resamples: int
    reshuffle: ReshuffleSettings
    models: tuple[NoisySystem, ...]
    denoiser: Denoising | None
