"""The sweep: every system of a plan is made and measured, and everything else is counted from what that gave.

    found = sweep("sweep.toml", out=Path("results"))
    found.to_dict()["configurations"][0]["measures"]

What was done is kept as it comes, and the same call goes on from there; docs/design/tradeoff.md has the files.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from trueval.files.whole import write_whole
from trueval.models.hosted.account import LEDGER, Account
from trueval.numerics import or_null
from trueval.report.formats import to_json
from trueval.report.provenance import date, recorded
from trueval.retrieval.stages.work import Begin, nobody
from trueval.run import Run
from trueval.tradeoff.charges import Charges, Spending, Spent
from trueval.tradeoff.derived import Derived, Deriver, Known, routed_system
from trueval.tradeoff.grid import System
from trueval.tradeoff.inputs import Inputs, read_inputs
from trueval.tradeoff.latency import Protocol
from trueval.tradeoff.making import Made, Maker
from trueval.tradeoff.plan import Measuring, Plan, Reason, above_pool
from trueval.tradeoff.quality import STATISTICS, Qualities, Quality, mean_intervals, qualities_of
from trueval.tradeoff.store import Store
from trueval.tradeoff.timing import NOTHING, Timed, Timer, ToTime, protocol_of
from trueval.version import __version__

# 1: the first.
FORMAT_VERSION: Final = 1
KIND: Final = "sweep"
RESULT, QUERIES = "sweep.json", "queries.parquet"
QUERY_COLUMNS: Final = {
    **dict.fromkeys(("configuration", "query_id", "measure"), pl.String),
    **dict.fromkeys(STATISTICS, pl.Float64),
}


@dataclass(frozen=True, eq=False)
class Measured:
    """A system that was made and measured.

    Attributes:
        system: what it is.
        key: hash of all that decides its run.
        file: of the system, from the directory of the sweep.
        about: what that file says.
        cached: whether it was done before.
        pool: the most candidates that a query can have.
        qualities: what its run is worth.
        recall: of exact float32 search, with its interval; None where it searches no vectors.
        spent: tokens and costs.
        timed: how long its stages take.
    """

    system: System
    key: str
    file: str
    about: Mapping[str, Any]
    cached: bool
    pool: int
    qualities: Qualities
    recall: Mapping[str, Any] | None
    spent: Spent
    timed: Timed = NOTHING

    def to_dict(self) -> dict[str, Any]:
        """The system as sweep.json has it."""
        return {
            "name": self.system.name,
            "key": self.key,
            "file": self.file,
            "method": self.system.method,
            "values": {key: _recorded(value) for key, value in self.system.values.items()},
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
        """Its configurations as sweep.json has them.

        Args:
            place: of the system in the list of all.
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

    def name_at(self, quality: Quality) -> str:
        """The name of one of its configurations."""
        return f"{self.system.name} K={quality.k}"


@dataclass(frozen=True, eq=False)
class Sweep:
    """What a sweep found.

    Attributes:
        plan: what it was to do.
        about: name, source and numbers of the collection.
        systems: that were made, in the order of the plan.
        left_out: configurations that cannot be, and systems that are another one's, with their reasons.
        failed: systems that broke, with their reasons.
        notes: one-line remarks.
        machine: where it ran.
        prices: what costs are made of.
        derived: ladders, tuned graphs and routing.
    """

    plan: Plan
    about: Mapping[str, Any]
    systems: tuple[Measured, ...]
    left_out: tuple[Reason, ...]
    failed: tuple[Reason, ...]
    notes: tuple[str, ...]
    machine: Mapping[str, Any]
    prices: Mapping[str, Any]
    derived: Derived

    @property
    def queries(self) -> pl.DataFrame:
        """configuration, query_id, measure, expected, lowest, highest, sd of every configuration; NaN: no value."""
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
            "prices": dict(self.prices),
            "limits": _plain(self.plan.tables["limits"]),
            "axes": [{"key": axis.key, "values": [_recorded(each) for each in axis.values]} for axis in self.plan.axes],
            "systems": [each.to_dict() for each in self.systems],
            "configurations": [row for place, each in enumerate(self.systems) for row in each.configurations(place)],
            "ladder": self.derived.ladder,
            "tuned": self.derived.tuned,
            "route": self.derived.route,
            "left_out": [{"name": each.name, "reason": each.reason} for each in self.left_out],
            "failed": [each._asdict() for each in self.failed],
            "notes": [*self.notes, *self.derived.notes],
        }

    def write(self, folder: Path) -> None:
        """Write sweep.json and queries.parquet; the files of systems are there already.

        Args:
            folder: of the sweep.
        """
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / QUERIES, self.queries.write_parquet)
        text = to_json(self.to_dict())
        write_whole(folder / RESULT, lambda path: path.write_bytes(text.encode("utf-8", errors="backslashreplace")))


def sweep(
    plan: Plan | Path | str,
    *,
    out: Path | None = None,
    cache: Path | None = None,
    begin: Begin | None = None,
    max_cost: float | None = None,
) -> Sweep:
    """Make and measure every system of a plan; one that fails stops no other.

    Args:
        plan: a Plan, or the path of its TOML.
        out: directory that gets each system as soon as it is done, and the result; None keeps nothing there.
        cache: keeps embeddings, logits, indexes and candidates; `out`/cache if None.
        begin: called with the name of each piece of work; what it returns is called as the work goes on.
        max_cost: what hosted models may cost in all, in the currency of their prices; None for no limit.

    Raises:
        InputError: the file or the collection is bad, nothing is judged, or a grade is not on the rubric of a measure.

    Returns:
        What was found; systems that failed are in it with their reasons.
    """
    chosen = plan if isinstance(plan, Plan) else Plan.read(Path(plan))
    begin = begin or nobody
    charges = Charges.read(chosen.tables["prices"], Path())
    step = begin("reading")
    inputs = read_inputs(chosen, lambda done: step("documents", done, 0))
    check_measures(chosen, inputs)
    store = Store(out)
    with _place(out, cache) as place:
        gathered = _Gathered(chosen, inputs, store, charges, begin("systems"))
        maker = Maker(inputs, place, store, Account(max_cost, place / LEDGER), begin, gathered.add)
        maker.make(chosen.systems, routed_system(chosen))
        done = [Known(each.system, each.key) for each in gathered.in_order()]
        derived = Deriver(chosen, inputs, place, store, begin).derive(done)
        systems = _timed(gathered.in_order(), maker, Timer(_protocol(chosen), store, chosen.measuring, begin("times")))
    found = Sweep(
        chosen,
        {**inputs.about, "sha256": {**_text_hashes(systems), **inputs.about["sha256"]}},
        systems,
        (*chosen.left_out, *maker.left_out, *gathered.left_out),
        tuple(maker.failed),
        tuple(
            dict.fromkeys(
                (
                    *chosen.notes,
                    *inputs.notes,
                    *charges.notes([each.settings for each in chosen.systems], date().date()),
                )
            )
        ),
        machine(),
        charges.to_dict(),
        derived,
    )
    if out is not None:
        found.write(out)
    return found


def _mean(shares: Sequence[float], measuring: Measuring) -> dict[str, float | None]:
    """The mean over queries, with its interval."""
    if not len(shares):
        return {"value": None, "low": None, "high": None}
    low, high = mean_intervals(np.array(shares)[:, None], measuring)[0].tolist()
    return {"value": float(np.mean(shares)), "low": or_null(low), "high": or_null(high)}


def _protocol(plan: Plan) -> Protocol:
    return protocol_of(plan.tables["latency"], plan.measuring.seed)


def _timed(systems: Sequence[Measured], maker: Maker, timer: Timer) -> tuple[Measured, ...]:
    """The same with their times."""
    given = [
        ToTime(each.system, each.key, int(each.about["memory"]["measured"]), partial(maker.work, each.system))
        for each in systems
    ]
    found = timer.time(given)
    return tuple(replace(each, timed=found[each.key]) for each in systems)


def _cost(cost: Mapping[str, float | None]) -> dict[str, float | None] | None:
    """What 1,000 queries cost; None where no price is known."""
    return None if all(value is None for value in cost.values()) else dict(cost)


class _Gathered:
    """Systems as they are done.

    Args:
        plan: of the sweep.
        inputs: of the sweep.
        store: where systems are kept.
        charges: what they cost.
        step: called with how many are done.
    """

    def __init__(
        self, plan: Plan, inputs: Inputs, store: Store, charges: Charges, step: Callable[[str, int, int], None]
    ) -> None:
        self.plan, self.inputs, self.store, self.step = plan, inputs, store, step
        self.spending = Spending(charges, next(iter(inputs.collections.values())).documents)
        self.measured: dict[str, Measured] = {}
        self.left_out: list[Reason] = []

    def add(self, made: Made) -> None:
        """Measure a system; its run is not kept in memory."""
        system, measuring = made.system, self.plan.measuring
        pool = min(system.pool, self.inputs.documents)
        contexts = [k for k in system.contexts if k <= pool]
        self.left_out += [
            Reason(f"{system.name} K={k}", above_pool(k, pool), made.key) for k in system.contexts if k > pool
        ]
        qualities = qualities_of(made.run, self.inputs.judgments, contexts, measuring, pool=pool)
        recall = made.about["recall"]
        if recall is not None:
            recall = {"of": recall["of"], "depth": recall["depth"], **_mean(recall["shares"], measuring)}
        file = self.store.about(made.key).as_posix()
        queries = self.inputs.collections[system.rewrite].queries
        spent = self.spending.of(system.settings, queries, made.run, contexts, known=made.about["tokens"])
        self.measured[system.name] = Measured(
            system, made.key, file, made.about, made.cached, pool, qualities, recall, spent
        )
        self.step("done", len(self.measured), len(self.plan.systems))

    def in_order(self) -> tuple[Measured, ...]:
        """The systems in the order of the plan."""
        return tuple(self.measured[each.name] for each in self.plan.systems if each.name in self.measured)


def check_measures(plan: Plan, inputs: Inputs) -> None:
    """Refuse measures that do not go with the judgments, before hours of work.

    Raises:
        InputError: a grade is not on the rubric of a measure, or another policy of "error" applies.
        MeasureError: a measure cannot be computed.
    """
    judgments = inputs.judgments
    one = judgments.frame.group_by("query_id", maintain_order=True).first()
    run = Run.from_frame(one.select("query_id", "doc_id", score=pl.lit(0.0)), name="the sweep")
    contexts = sorted({k for system in plan.systems for k in system.contexts})
    qualities_of(run, judgments, contexts[:1], plan.measuring, pool=contexts[-1])


@contextmanager
def _place(out: Path | None, cache: Path | None) -> Iterator[Path]:
    """The folder of the cache; a temporary one where nobody names one."""
    chosen = cache or (None if out is None else out / "cache")
    if chosen is not None:
        chosen.mkdir(parents=True, exist_ok=True)
        yield chosen
        return
    # Memory maps of files that are removed stay readable; where they cannot be removed, the system does it later.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def machine() -> dict[str, Any]:
    """Where the sweep ran: processors, how busy they are, and what they call themselves."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {"processors": os.cpu_count(), "load": load, "model": _processor()}


def _processor() -> str | None:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:  # not Linux
        import platform

        return platform.processor() or None
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), None)


def _text_hashes(systems: Sequence[Measured]) -> dict[str, str]:
    """The hashes of the texts that systems searched; of queries those of the first system."""
    return dict(systems[0].about["collection"]["sha256"]) if systems else {}


def _grades(grades: Mapping[float, float] | None) -> dict[str, float] | None:
    return None if grades is None else {f"{old:g}": new for old, new in grades.items()}


def _plain(table: Mapping[str, Any]) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in table.items()}


def _recorded(value: Any) -> Any:
    """A value as results keep it."""
    if isinstance(value, tuple):
        return list(value)
    return recorded(value) if isinstance(value, str) else value
