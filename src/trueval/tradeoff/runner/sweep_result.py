"""The result of a sweep: systems, configurations, and their JSON (docs/design/tradeoff.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from trueval.files.atomic_files import write_whole
from trueval.report.formats import to_json
from trueval.report.provenance import strip_folders
from trueval.tradeoff.quality.quality import STATISTICS
from trueval.version import __version__

if TYPE_CHECKING:  # late: results are read without the libraries that computed them
    from trueval.cost.cost_model import SystemCost
    from trueval.tradeoff.config.grid import Reason, System
    from trueval.tradeoff.config.plan import SweepPlan
    from trueval.tradeoff.quality.quality import ContextQuality, RunQuality
    from trueval.tradeoff.runner.analyses import AnalysisResults
    from trueval.tradeoff.runner.timing import SystemTimes

# 1: first version.
FORMAT_VERSION: Final = 1
KIND: Final = "sweep"
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

    def to_dict(self) -> dict[str, Any]:
        """The system in sweep.json."""
        return {
            "name": self.system.name,
            "key": self.key,
            "file": self.file,
            "method": self.system.method,
            "values": {key: _to_json_value(value) for key, value in self.system.values.items()},
            "settings": self.about["settings"],
            "seconds": self.about["seconds"],
            "cached": self.cached,
            "pool": self.pool,
            "queries": self.about["collection"]["queries"],
            "recall": None if self.recall is None else dict(self.recall),
            "memory": self.about["memory"],
            "tokens": dict(self.spent.tokens),
            "stages": self.timed.stages,
            "latency": self.timed.latency,
            "loads": self.timed.loads,
            "ties": dict(self.qualities.ties),
            "notes": [*self.qualities.notes, *self.timed.notes],
        }

    def configurations(self, place: int) -> list[dict[str, Any]]:
        """Its configurations in sweep.json.

        Args:
            place: index of the system in the list of all systems.
        """
        return [
            {
                "name": self.name_at(each),
                "system": place,
                **each.to_dict(),
                "cost": _cost(self.spent.costs[each.k]),
                "prompt_tokens": self.spent.prompts[each.k],
            }
            for each in self.qualities.at
        ]

    def name_at(self, quality: ContextQuality) -> str:
        """The name of its configuration at K."""
        return f"{self.system.name} K={quality.k}"


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

    def to_dict(self) -> dict[str, Any]:
        """The JSON of `trueval sweep`, sweep.json."""
        measuring = self.plan.measuring
        return {
            "kind": KIND,
            "format": FORMAT_VERSION,
            "trueval": __version__,
            "name": self.plan.name,
            "collection": dict(self.about),
            "policy": {
                **measuring.policy.to_dict(),
                "unjudged": measuring.unjudged,
                "grades": _grades(measuring.grades),
            },
            "measures": list(measuring.names),
            "quality": measuring.names[0],
            "level": measuring.level,
            "resamples": measuring.resamples,
            "seed": measuring.seed,
            "machine": dict(self.machine),
            "latency": _plain(self.plan.tables["latency"]),
            "prices": None if self.prices is None else dict(self.prices),
            "limits": _plain(self.plan.tables["limits"]),
            "axes": [
                {"key": axis.key, "values": [_to_json_value(each) for each in axis.values]} for axis in self.plan.axes
            ],
            "systems": [{**each.to_dict(), **self._probes_of(each.key)} for each in self.systems],
            "configurations": [row for place, each in enumerate(self.systems) for row in each.configurations(place)],
            "ladder": self.derived.ladder,
            "tuned": self.derived.tuned,
            "route": self.derived.route,
            **({} if self.judge is None else {"judge": dict(self.judge)}),
            **({} if self.probed is None else {"probes": _plain(self.plan.tables["probes"])}),
            "left_out": [{"name": each.name, "reason": each.reason} for each in self.left_out],
            "failed": [each._asdict() for each in self.failed],
            "notes": [*self.notes, *self.derived.notes],
        }

    def _probes_of(self, key: str) -> dict[str, Any]:
        return {} if self.probed is None else {"probes": dict(self.probed.get(key, {"names": None, "noise": None}))}

    def write(self, folder: Path) -> None:
        """Write sweep.json and queries.parquet; the files of the systems exist already."""
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / QUERIES, self.queries.write_parquet)
        text = to_json(self.to_dict())
        write_whole(folder / RESULT, lambda path: path.write_bytes(text.encode("utf-8", errors="backslashreplace")))


def _cost(cost: Mapping[str, float | None]) -> dict[str, float | None] | None:
    """Cost of 1,000 queries; None where no price is known."""
    return None if all(value is None for value in cost.values()) else dict(cost)


def _grades(grades: Mapping[float, float] | None) -> dict[str, float] | None:
    return None if grades is None else {f"{old:g}": new for old, new in grades.items()}


def _plain(table: Mapping[str, Any]) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in table.items()}


def _to_json_value(value: Any) -> Any:
    """A value in its JSON form."""
    if isinstance(value, tuple):
        return list(value)
    return strip_folders(value) if isinstance(value, str) else value
