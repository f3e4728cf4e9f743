"""A sweep as it was measured: its systems, its table of queries, and the result that holds what they are worth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import polars as pl

from trueval.files.atomic_files import write_whole
from trueval.numerics import or_null
from trueval.report.formats import to_json
from trueval.report.json_fields import decode
from trueval.report.provenance import strip_folders
from trueval.tradeoff.diagnosis.diagnosis_results import GrownSystem, LossLadder, TunedGraph
from trueval.tradeoff.quality.quality import STATISTICS
from trueval.tradeoff.quality.result_parts import MeasureMean, OmittedConfiguration
from trueval.tradeoff.route.route_result import RoutedSystem
from trueval.tradeoff.runner.sweep_result import (
    CostComponents,
    IndexBytes,
    LoadLatency,
    MeanTokens,
    PriceSummary,
    SearchRecall,
    StageLatency,
    SweepResult,
    SweptAxis,
    SweptCollection,
    SweptConfiguration,
    SweptSystem,
    SystemAnswers,
    SystemLatency,
    SystemProbes,
)

if TYPE_CHECKING:  # late: results are read without the libraries that computed them
    from trueval.cost.cost_model import SystemCost
    from trueval.tradeoff.config.grid import Reason, System
    from trueval.tradeoff.config.plan import SweepPlan
    from trueval.tradeoff.quality.quality import ContextQuality, RunQuality
    from trueval.tradeoff.runner.analyses import AnalysisResults
    from trueval.tradeoff.runner.timing import SystemTimes

T = TypeVar("T")
RESULT, QUERIES = "sweep.json", "queries.parquet"
QUERY_COLUMNS: Final = {
    **dict.fromkeys(("configuration", "query_id", "measure"), pl.String),
    **dict.fromkeys(STATISTICS, pl.Float64),
}


@dataclass(frozen=True, eq=False)
class MeasuredSystem:
    """A system with its measurements.

    Attributes:
        key: hash of everything that determines its run.
        file: path of the system's file, relative to the directory of the sweep.
        about: content of that file.
        cached: whether it was built in an earlier run.
        pool: maximum number of candidates of a query.
        qualities: quality of its run.
        recall: recall against exact float32 search, with its interval; None if it searches no vectors.
        timed: latencies of its stages.
        answers: of a generator; None where nobody answers.
    """

    system: System
    key: str
    file: str
    about: Mapping[str, Any]
    cached: bool
    pool: int
    qualities: RunQuality
    recall: Mapping[str, Any] | None
    spent: SystemCost
    timed: SystemTimes
    answers: SystemAnswers | None = None

    def result(self, probes: SystemProbes | None) -> SweptSystem:
        """The system in sweep.json.

        Args:
            probes: what they found; None without [probes].
        """
        latency = self.timed.latency
        return SweptSystem(
            name=self.system.name,
            key=self.key,
            file=self.file,
            method=self.system.method,
            values={key: _to_json_value(value) for key, value in self.system.values.items()},
            settings=self.about["settings"],
            seconds=self.about["seconds"],
            cached=self.cached,
            pool=self.pool,
            queries=self.about["collection"]["queries"],
            recall=None if self.recall is None else SearchRecall(**self.recall),
            memory=IndexBytes(**self.about["memory"]),
            tokens=MeanTokens(**self.spent.tokens),
            stages=_read_all(StageLatency, self.timed.stages),
            latency=None if latency is None else decode(SystemLatency, latency, SweepResult.KIND),
            loads=_read_all(LoadLatency, self.timed.loads),
            ties=self.qualities.ties,
            notes=(*self.qualities.notes, *self.timed.notes),
            probes=probes,
            answers=self.answers,
            timed_on=self.timed.machine,
        )

    def configurations(self, place: int) -> Iterator[SweptConfiguration]:
        """Its configurations in sweep.json.

        Args:
            place: index of the system in the list of all systems.
        """
        for each in self.qualities.at:
            yield SweptConfiguration(
                name=self.name_at(each),
                system=place,
                k=each.k,
                measures={name: MeasureMean(**values) for name, values in each.measures.items()},
                quality=each.quality,
                ceiling=None if each.ceiling is None else each.ceiling.result,
                judged=or_null(each.judged),
                unjudged_highest=each.unjudged_highest,
                cost=_cost(self.spent.costs[each.k]),
                prompt_tokens=self.spent.prompts[each.k],
            )

    def name_at(self, quality: ContextQuality) -> str:
        """The name of its configuration at K."""
        return self.system.name if self.answers is not None else f"{self.system.name} K={quality.k}"


@dataclass(frozen=True, eq=False)
class Sweep:
    """The result of a sweep.

    Attributes:
        about: name, source and size of the collection.
        systems: systems that were built, in the order of the plan.
        left_out: impossible configurations and duplicate systems, with reasons.
        failed: systems that failed, with reasons.
        prices: prices behind the costs; None where no costs were requested.
        derived: loss decompositions, tuned graphs and routing.
        judge: judge of unjudged documents, and the number of its labels; None without one.
        probed: system key → its probe results; None without probes.
    """

    plan: SweepPlan
    about: Mapping[str, Any]
    systems: tuple[MeasuredSystem, ...]
    left_out: tuple[Reason, ...]
    failed: tuple[Reason, ...]
    notes: tuple[str, ...]
    machine: Mapping[str, Any]
    prices: Mapping[str, Any] | None
    derived: AnalysisResults
    judge: Mapping[str, Any] | None = None
    probed: Mapping[str, Mapping[str, Any]] | None = None

    @property
    def queries(self) -> pl.DataFrame:
        """Per-query table: configuration, query_id, measure, expected, lowest, highest, sd; NaN without a value."""
        parts = [
            each.qualities.rows.filter(pl.col("measure").is_in(list(names))).select(
                pl.lit(each.name_at(quality)).alias("configuration"), pl.all()
            )
            for each in self.systems
            for quality, names in zip(each.qualities.at, each.qualities.names, strict=True)
        ]
        return pl.concat(parts) if parts else pl.DataFrame(schema=QUERY_COLUMNS)

    @cached_property
    def result(self) -> SweepResult:
        """What `trueval sweep` writes."""
        measuring, tables, derived = self.plan.measuring, self.plan.tables, self.derived
        policy = {
            **measuring.policy.to_dict(),
            "unjudged": measuring.unjudged,
            "grades": None if measuring.grades is None else {f"{old:g}": new for old, new in measuring.grades.items()},
        }
        axes = (SweptAxis(axis.key, tuple(map(_to_json_value, axis.values))) for axis in self.plan.axes)
        return SweepResult(
            name=self.plan.name,
            collection=SweptCollection(**self.about),
            policy=policy,
            measures=self.plan.measures,
            quality=self.plan.measures[0],
            level=measuring.level,
            resamples=measuring.resamples,
            seed=measuring.seed,
            machine=self.machine,
            latency=tables["latency"],
            prices=None if self.prices is None else PriceSummary(**self.prices),
            limits=tables["limits"],
            axes=tuple(axes),
            systems=tuple(each.result(self._probes_of(each)) for each in self.systems),
            configurations=tuple(row for at, each in enumerate(self.systems) for row in each.configurations(at)),
            ladder=_read_all(LossLadder, derived.ladder),
            tuned=_read_all(TunedGraph, derived.tuned),
            route=None if derived.route is None else decode(RoutedSystem, derived.route, SweepResult.KIND),
            growth=_read_all(GrownSystem, derived.growth) or None,
            judge=self.judge,
            probes=None if self.probed is None else tables["probes"],
            left_out=tuple(OmittedConfiguration(each.name, each.reason) for each in self.left_out),
            failed=tuple(OmittedConfiguration(*each) for each in self.failed),
            notes=(*self.notes, *derived.notes),
        )

    def to_dict(self) -> dict[str, object]:
        """The JSON of `trueval sweep`, sweep.json."""
        return self.result.to_dict()

    def _probes_of(self, system: MeasuredSystem) -> SystemProbes | None:
        key = system.key if system.answers is None else system.answers.retrieval
        found = None if self.probed is None else self.probed.get(key, {"names": None, "noise": None})
        return None if found is None else decode(SystemProbes, found, SweepResult.KIND)

    def write(self, folder: Path) -> None:
        """Write sweep.json and queries.parquet; the files of the systems exist already."""
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / QUERIES, self.queries.write_parquet)
        text = to_json(self.to_dict())
        write_whole(folder / RESULT, lambda path: path.write_bytes(text.encode("utf-8", errors="backslashreplace")))


def _read_all(wanted: type[T], entries: Sequence[Mapping[str, object]]) -> tuple[T, ...]:
    """Entries that were kept as JSON beside the sweep."""
    return tuple(decode(wanted, each, SweepResult.KIND) for each in entries)


def _cost(cost: Mapping[str, float | None]) -> CostComponents | None:
    """Cost of 1,000 queries; None where no price is known."""
    return None if all(value is None for value in cost.values()) else CostComponents(**cost)


def _to_json_value(value: object) -> Any:
    """A value in its JSON form."""
    if isinstance(value, tuple):
        return list(value)
    return strip_folders(value) if isinstance(value, str) else value
