"""The sweep runner: builds systems, evaluates each when finished, runs the analyses, and times."""

from __future__ import annotations

import os
import platform
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from trueval.cost.cost_model import CostModel, SweepPrices
from trueval.errors import TruevalWarning
from trueval.golden.build.judge_choice import prices_of
from trueval.latency.latency import Protocol
from trueval.models.hosted.account import LEDGER, Account
from trueval.numerics import or_null
from trueval.report.provenance import date
from trueval.retrieval.cache import cache_for
from trueval.retrieval.pipeline.config import formats_used
from trueval.retrieval.pipeline.stage_resources import Begin, nobody
from trueval.run import Run
from trueval.threads import Executor, as_executor, machine_for_timing
from trueval.tradeoff.config.grid import Reason, above_pool
from trueval.tradeoff.config.plan import SweepPlan
from trueval.tradeoff.config.sweep_inputs import SweepInputs, read_inputs
from trueval.tradeoff.quality.quality import mean_intervals, qualities_of
from trueval.tradeoff.quality.quality_settings import QualitySettings
from trueval.tradeoff.runner.analyses import Analyses, FinishedSystem, find_routed_system
from trueval.tradeoff.runner.judging import OnDemandJudging
from trueval.tradeoff.runner.measured_sweep import MeasuredSystem, Sweep
from trueval.tradeoff.runner.sweep_answers import AnsweredSystems, SweepAnswering
from trueval.tradeoff.runner.sweep_probes import SweepProbes
from trueval.tradeoff.runner.system_builder import BuiltSystem, SystemBuilder
from trueval.tradeoff.runner.system_groups import make_groups
from trueval.tradeoff.runner.system_store import SystemStore
from trueval.tradeoff.runner.timing import NOTHING, Timer, TimingTask, protocol_of


def gather(
    plan: SweepPlan | Path | str,
    *,
    out: Path | None,
    cache: Path | None,
    begin: Begin | None,
    max_cost: float | None,
    executor: Executor | None = None,
) -> Sweep:
    """Build and evaluate every system of a plan.

    Args:
        plan: as in `sweep`, and so are the others.
        out: directory of the sweep.
        begin: called with the name of each stage; the returned function is called with its progress.
        max_cost: spending limit for hosted models and judge together.
        executor: runs the models; systems are timed here.
    """
    chosen = plan if isinstance(plan, SweepPlan) else SweepPlan.read(Path(plan))
    begin = begin or nobody
    charges = SweepPrices.read(chosen.tables["prices"])
    step = begin("reading")
    inputs = read_inputs(chosen, lambda done: step("documents", done, 0))
    check_measures(chosen, inputs)
    store = SystemStore(out)
    limit = None if max_cost is None else Account(max_cost)
    priced = is_priced(chosen, charges)
    answering = None
    if chosen.answers is not None:
        answering = SweepAnswering(chosen, chosen.answers, inputs, store, limit, begin, priced)
        answering.check()
    judging = None if chosen.judge is None else OnDemandJudging.of(chosen, inputs, out, limit)
    spending = CostModel(charges, next(iter(inputs.collections.values())).documents, billed=priced)
    with _place(out, cache) as place:
        gathered = _FinishedSystems(chosen, inputs, store, spending, begin("systems"))
        found_one = gathered.add if judging is None else judging.add
        account = Account(None, place / LEDGER, within=limit)
        taken = as_executor(executor)
        maker = SystemBuilder(inputs, place, store, account, begin, found_one, taken)
        systems_by_key = maker.distinct(chosen.systems)
        maker.placed = make_groups(maker, systems_by_key, taken)
        maker.make(systems_by_key, find_routed_system(chosen))
        judged = None
        if judging is not None:
            judged = judging.judge(begin("judging"))
            inputs = judged.inputs
            gathered = _FinishedSystems(chosen, inputs, store, spending, begin("systems"))
            for each in judging.waiting:
                with maker.record_failures(each.system, each.key):
                    gathered.add(judging.read(each, store))
        done = [FinishedSystem(each.system, each.key) for each in gathered.in_order()]
        derived = Analyses(chosen, inputs, place, store, begin, account).derive(done)
        probed = _run_probes(chosen, done, lambda: SweepProbes(chosen, inputs, maker, place, store, begin))
        with machine_for_timing(taken) as machine:
            timer = Timer(_protocol(chosen), store, chosen.measuring, begin("times"), machine)
            systems = _time_systems(gathered.in_order(), maker, timer)
            answered = AnsweredSystems(systems, (), ()) if answering is None else answering.answer(systems, timer)
    found = Sweep(
        chosen,
        {**inputs.about, "sha256": {**_text_hashes(systems), **inputs.about["sha256"]}},
        answered.systems,
        (*chosen.left_out, *maker.left_out, *gathered.left_out),
        (*maker.failed, *answered.failed),
        tuple(
            dict.fromkeys(
                (
                    *chosen.notes,
                    *inputs.notes,
                    *(() if judged is None else judged.notes),
                    *probed.notes,
                    *answered.notes,
                    *_places(taken, timer, systems),
                    *(note for each in systems for note in formats_used(each.system.settings)),
                    *charges.notes([each.settings for each in chosen.systems], date().date()),
                )
            )
        ),
        processors(),
        charges.to_dict() if priced else None,
        derived,
        None if judged is None else judged.about,
        probed.entries,
    )
    if out is not None:
        found.write(out)
    return found


class _ProbeResults(NamedTuple):
    """Probe results.

    Attributes:
        entries: system key → its probe results; None without probes.
    """

    entries: Mapping[str, Mapping[str, Any]] | None
    notes: tuple[str, ...]


def _run_probes(plan: SweepPlan, systems: Sequence[FinishedSystem], make: Callable[[], SweepProbes]) -> _ProbeResults:
    if "probes" not in plan.tables:
        return _ProbeResults(None, ())
    prober = make()
    return _ProbeResults(prober.probe(systems), tuple(prober.notes))


def _mean(shares: Sequence[float], measuring: QualitySettings) -> dict[str, float | None]:
    """The mean over queries with its interval."""
    if not len(shares):
        return {"value": None, "low": None, "high": None}
    low, high = mean_intervals(np.array(shares)[:, None], measuring)[0].clip(0, 1).tolist()  # NaN stays
    return {"value": float(np.mean(shares)), "low": or_null(low), "high": or_null(high)}


def _protocol(plan: SweepPlan) -> Protocol:
    return protocol_of(plan.tables["latency"], plan.measuring.seed)


def _time_systems(systems: Sequence[MeasuredSystem], maker: SystemBuilder, timer: Timer) -> tuple[MeasuredSystem, ...]:
    """The systems with their latencies."""
    given = [
        TimingTask(each.system, each.key, int(each.about["memory"]["measured"]), partial(maker.work, each.system))
        for each in systems
    ]
    found = timer.time(given)
    return tuple(replace(each, timed=found[each.key]) for each in systems)


class _FinishedSystems:
    """The systems finished so far.

    Args:
        step: called with the number of finished systems.
    """

    def __init__(
        self,
        plan: SweepPlan,
        inputs: SweepInputs,
        store: SystemStore,
        spending: CostModel,
        step: Callable[[str, int, int], None],
    ) -> None:
        self.plan, self.inputs, self.store, self.spending, self.step = plan, inputs, store, spending, step
        self.measured: dict[str, MeasuredSystem] = {}
        self.left_out: list[Reason] = []

    def add(self, made: BuiltSystem) -> None:
        """Evaluate a system; its run is not kept in memory."""
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
        if "rewrite_cost" in made.about:
            spent = spent.with_rewriting(made.about["rewrite_cost"])
        self.measured[system.name] = MeasuredSystem(
            system, made.key, file, made.about, made.cached, pool, qualities, recall, spent, NOTHING
        )
        self.step("done", len(self.measured), len(self.plan.systems))

    def in_order(self) -> tuple[MeasuredSystem, ...]:
        """The systems in the order of the plan."""
        return tuple(self.measured[each.name] for each in self.plan.systems if each.name in self.measured)


def is_priced(plan: SweepPlan, charges: SweepPrices) -> bool:
    """Whether anything of a sweep may have a cost: a stage, or a generator."""
    generators = [each for system in plan.systems for each in system.generators]
    stages = any(charges.knows(each.settings) or each.is_written_by_model for each in plan.systems)
    return stages or any(None not in prices_of(each.values, each.model) for each in generators)


def check_measures(plan: SweepPlan, inputs: SweepInputs) -> None:
    """Refuse measures that do not fit the judgments, before hours of work.

    Raises:
        InputError: a grade is not on the rubric of a measure, or another policy of "error" applies.
        MeasureError: a measure cannot be computed.
    """
    judgments = inputs.judgments
    listed = judgments.frame.group_by("query_id", maintain_order=True).first().select("query_id", "doc_id")
    if plan.measuring.unjudged is not None:  # an invalid grade shows only in lists that contain such a document
        longest = int(judgments.frame["doc_id"].str.len_bytes().max() or 0)  # type: ignore[arg-type]
        listed = pl.concat([listed, listed.with_columns(doc_id=pl.lit("u" * (longest + 1)))])
    run = Run.from_frame(listed.with_columns(score=pl.lit(0.0)), name="the sweep")
    contexts = sorted({k for system in plan.systems for k in system.contexts})
    qualities_of(run, judgments, contexts[:1], plan.measuring, pool=contexts[-1])


@contextmanager
def _place(out: Path | None, cache: Path | None) -> Iterator[Path]:
    """The cache folder; a temporary one without a cache."""
    found = cache_for(cache, out)
    for note in found.notes:
        warnings.warn(note, TruevalWarning, stacklevel=2)
    if found.place is not None:
        found.place.mkdir(parents=True, exist_ok=True)
        yield found.place
        return
    # Memory maps of removed files stay readable; where they cannot be removed, the system does it later.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def processors() -> dict[str, object]:
    """The machine of the sweep: processor count, model and load."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {"processors": os.cpu_count(), "load": load, "model": _processor()}


def _processor() -> str | None:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:  # not Linux
        return platform.processor() or None
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), None)


def _places(executor: Executor | None, timer: Timer, systems: Sequence[MeasuredSystem]) -> Iterator[str]:
    """Where systems were timed, if work was also elsewhere, or why not: latencies of busy machines would be wrong."""
    machines = sorted({each.timed.machine for each in systems if each.timed.machine is not None})
    if len(machines) > 1:
        yield f"Systems were timed on {', '.join(machines)}: compare latencies of one machine."
    elif machines and executor is not None:
        yield f"Systems were timed on {machines[0]} alone, one at a time, after all work elsewhere had ended."
    if timer.machine is None and timer.protocol.queries and any(not each.timed.stages for each in systems):
        yield (
            "Systems have no latencies, since no machine was free of other work: run the same command again with --on "
            "threads, which times them where it runs."
        )


def _text_hashes(systems: Sequence[MeasuredSystem]) -> dict[str, str]:
    """Hashes of the searched texts; for queries, those of the first system."""
    return dict(systems[0].about["collection"]["sha256"]) if systems else {}
