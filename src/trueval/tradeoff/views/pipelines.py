"""Systems of a sweep as the tables need them: their components, and configurations by K."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from trueval.tradeoff.quality.result_parts import MeasureMean, PoolCeiling
from trueval.tradeoff.runner.sweep_result import SweepResult, SweptConfiguration, SweptSystem

DENSE, HYBRID, RERANK = "dense", "hybrid", "rerank"


@dataclass(frozen=True, eq=False)
class PipelineTexts:
    """A system of a sweep with its labels.

    Attributes:
        system: of the sweep.
        at: K → configuration.
    """

    system: SweptSystem
    at: Mapping[int, SweptConfiguration]

    def setting(self, table: str, key: str) -> object:
        """A setting of a stage; None where the system lacks the stage."""
        settings = self.system.settings.get(table, {})
        return settings.get(key, self.system.values.get(f"{table}.{key}"))

    def _text(self, table: str, key: str) -> str | None:
        value = self.setting(table, key)
        return value if isinstance(value, str) else None

    def _number(self, table: str, key: str) -> int | None:
        value = self.setting(table, key)
        return value if isinstance(value, int) else None

    @property
    def method(self) -> str:
        """Its stages, such as dense+rerank."""
        return self.system.method

    @property
    def reranked(self) -> bool:
        """Whether it has a reranker."""
        return RERANK in self.method

    @property
    def model(self) -> str | None:
        """Name of the embedder."""
        return self._text("embed", "model")

    @property
    def dimension(self) -> int | None:
        """Truncated dimension of the vectors; None for the full dimension, or without vectors."""
        return self._number("embed", "dimension")

    @property
    def reranker(self) -> str | None:
        """Name of the reranker."""
        return (self._text("rerank", "model") or RERANK) if self.reranked else None

    @property
    def depth(self) -> int | None:
        """Number of reranked candidates."""
        return (self._number("rerank", "depth") or self.system.pool) if self.reranked else None

    @property
    def embedder(self) -> str:
        """Embedder and dimension as in the paper, voyage-3.5 (1024d); the method where nothing is embedded."""
        if self.model is None and self.dimension is None:
            return self.method
        name = str(self.model or DENSE).rstrip("/").rpartition("/")[2]
        return f"{name} ({self.dimension}d)" if self.dimension else name

    @property
    def full_name(self) -> str:
        """The full label, voyage-3.5 (1024d) + rerank-2.5 (depth 50); the paper calls the depth K."""
        before = self.embedder if self.method.startswith(DENSE) or self.model is None else f"Hybrid {self.embedder}"
        return f"{before} + {self.reranker} (depth {self.depth})" if self.reranked else before

    @cached_property
    def measures(self) -> dict[str, MeasureMean]:
        """Measure name with cutoff → value, over all configurations, by increasing K."""
        return {name: value for k in sorted(self.at) for name, value in self.at[k].measures.items()}

    def seconds(self, stage: str = "", percentile: str = "p50") -> float | None:
        """Latency of a stage for one query at a time; without a stage, of all stages together."""
        stages = (each for each in self.system.stages if each.name == stage)
        told = next(stages, None) if stage else self.system.latency
        value: float | None = None if told is None else getattr(told, percentile).value
        return value

    def quality(self, k: int) -> float | None:
        """Expected quality at K; None where unknown."""
        if k not in self.at:
            return None
        return self.at[k].measures[self.at[k].quality].expected

    @property
    def candidate_tokens(self) -> float | None:
        """Mean tokens of a candidate with its query; None where not counted."""
        return None if self.system.tokens is None else self.system.tokens.candidate

    def ceiling(self, k: int) -> PoolCeiling | None:
        """The ceiling at K; None without one."""
        return self.at[k].ceiling if k in self.at else None

    def proc(self, k: int) -> float | None:
        """The ceiling (PROC) at K; None without one."""
        found = self.ceiling(k)
        return None if found is None else found.proc


def cost_of(configuration: SweptConfiguration, part: str = "total") -> float | None:
    """Cost of 1,000 queries; None where unknown.

    Args:
        configuration: of the sweep.
        part: "rerank", "embed", "generator" or "total".
    """
    cost: float | None = None if configuration.cost is None else getattr(configuration.cost, part)
    return cost


def pipelines_of(sweep: SweepResult) -> list[PipelineTexts]:
    """The systems of a sweep that have a configuration.

    Args:
        sweep: of `trueval sweep`.
    """
    at: dict[int, dict[int, SweptConfiguration]] = {}
    for configuration in sweep.configurations:
        at.setdefault(configuration.system, {})[configuration.k] = configuration
    return [PipelineTexts(sweep.systems[place], at[place]) for place in sorted(at)]


def cutoffs(pipelines: Iterable[PipelineTexts]) -> list[int]:
    """All values of K, increasing."""
    return sorted({k for each in pipelines for k in each.at})


def measure_names(pipelines: Iterable[PipelineTexts]) -> list[str]:
    """Names of all measures, by increasing K."""
    names: dict[str, int] = {}
    for each in pipelines:
        for k in sorted(each.at):
            for name in each.at[k].measures:
                names.setdefault(name, k)
    return sorted(names, key=names.__getitem__)  # stable: in the order of the file at one K


def disambiguate_labels(labels: Sequence[str], pipelines: Sequence[PipelineTexts]) -> list[str]:
    """Row labels, with axis values added where labels of systems coincide.

    Args:
        labels: of the rows.
        pipelines: that they are of.
    """
    alike: dict[str, list[int]] = {}
    for place, label in enumerate(labels):
        alike.setdefault(label, []).append(place)
    found = list(labels)
    for label, places in alike.items():
        values = [pipelines[place].system.values for place in places]
        differing = [key for key in values[0] if len({str(each.get(key)) for each in values}) > 1]
        for place, own in zip(places, values, strict=True):
            found[place] = ", ".join(
                [label, *(_format_axis_value(key, own[key]) for key in differing if own.get(key) is not None)]
            )
    return found


def _format_axis_value(key: str, value: object) -> str:
    """An axis value; a bare number gets the name of its key."""
    name = key.rpartition(".")[2].replace("_", " ")
    return str(value) if isinstance(value, str) else f"{name} {value}"
