"""The estimate of a sweep: remaining work, cost and duration, without doing any of it.

Minutes are those of the models alone, from the measured speed of a trial; building indexes, which takes seconds here,
and services, whose speed is unknown, are excluded. Queries that models process only for timing are counted separately.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np

from trueval.collection import Candidates, Collection, texts_in_order
from trueval.errors import InputError, TruevalError
from trueval.models.hosted.account import Account
from trueval.models.hosted.services import is_hosted
from trueval.models.missing_work import TIMED, DryRun, MissingPart, MissingWork, repeated_work, sum_work
from trueval.models.model_speed import BY_SPEED, Trial, expected_seconds, seconds_of
from trueval.models.output_reuse import TEXT
from trueval.models.outputs import OutputPart, parts_of, settings_of
from trueval.models.pair_scores import PAIRED
from trueval.probes.model_scorers import part_of
from trueval.retrieval.cache import cache_for
from trueval.retrieval.pipeline.missing_outputs import MissingOutputs, longest_candidates, spread_candidates
from trueval.retrieval.pipeline.rerank import candidates_of
from trueval.retrieval.pipeline.stage_resources import nobody
from trueval.retrieval.pipeline.stage_runner import StageRunner
from trueval.run import Run
from trueval.tradeoff.config.answers_plan import AnswersPlan
from trueval.tradeoff.config.grid import Reason, System
from trueval.tradeoff.config.plan import SweepPlan
from trueval.tradeoff.config.sweep_inputs import SweepInputs, read_inputs
from trueval.tradeoff.diagnosis.query_performance_predictors import make_noisy_queries
from trueval.tradeoff.runner.analyses import chatter_of, find_routed_system
from trueval.tradeoff.runner.answers_estimate import AnswersEstimate
from trueval.tradeoff.runner.judging import estimate_judging, refuse_unlike_scale
from trueval.tradeoff.runner.sweep_probes import OF_PROBES, SweepProbes
from trueval.tradeoff.runner.sweep_runner import check_measures
from trueval.tradeoff.runner.system_builder import SystemBuilder, one_line
from trueval.tradeoff.runner.system_store import SystemStore
from trueval.tradeoff.runner.timing import Timer, protocol_of

TIED: Final = (
    "Documents that tie with the last that is judged are judged too: of systems that are not made yet nobody knows how "
    "many. The price says at most what all that they can find would cost."
)
Unknown = Callable[[Collection, int], Candidates]


def estimate(
    plan: SweepPlan | Path | str,
    *,
    out: Path | None = None,
    cache: Path | None = None,
    probe: Trial | None = None,
    max_cost: float | None = None,
) -> DryRun:
    """Estimate a sweep without running it.

    Args:
        out: as in sweep; systems that are done there are not done again.
        probe: function from a model, a part and some of its indices to the seconds that these take; None measures them.
        max_cost: as in sweep; the estimate says whether it is enough.

    Raises:
        InputError: as in sweep.
    """
    chosen = plan if isinstance(plan, SweepPlan) else SweepPlan.read(Path(plan))
    inputs = read_inputs(chosen)
    check_measures(chosen, inputs)
    if chosen.judge is not None:
        refuse_unlike_scale(chosen, inputs)
    place = cache_for(cache, out, make=False).place or Path("no cache")
    return _Estimating(chosen, inputs, place, SystemStore(out), probe or seconds_of).estimate(max_cost)


class _Estimating:
    def __init__(self, plan: SweepPlan, inputs: SweepInputs, cache: Path, store: SystemStore, probe: Trial) -> None:
        self.plan, self.inputs, self.cache, self.store, self.probe = plan, inputs, cache, store, probe
        self.maker = SystemBuilder(inputs, cache, store, Account(), nobody, lambda _: None, asks=False)
        self.counts = MissingOutputs(cache / "outputs")
        self.protocol = protocol_of(plan.tables["latency"], plan.measuring.seed)
        self.timer = Timer(self.protocol, store, plan.measuring, nobody("times"), None)
        self.to_time: list[tuple[str, StageRunner]] = []
        self.timed: set[str] = set()
        self.speeds: dict[tuple[str, str], float] = {}
        self.done = self.ready = 0
        self.notes: list[str] = []

    def estimate(self, max_cost: float | None) -> DryRun:
        systems = self.maker.distinct(self.plan.systems)
        for key, system in systems.items():
            with self.maker.record_failures(system):
                self._look_at(system, key)
        work = [*self._count_work()]
        for table, runner in self.to_time:
            with self._record_failures(runner.settings[table]["model"]):
                work += self._timing(table, runner)
        self._count_probes(systems.values())
        work = sum_work([*work, *self._count_work()])
        asked = {form: each for shared in self.maker.shared.values() for form, each in shared.missing.items()}
        work = [*sum_work(asked.values()), *work]
        if any(each.seconds is not None for each in work):
            self.notes.append(BY_SPEED)
        if self.plan.judge is not None:
            work += self._judge_work(systems)
        if self.plan.answers is not None:
            work += self._answer_work(self.plan.answers, systems, None if max_cost is None else Account(max_cost))
        plan, failed = self.plan, self.maker.failed
        about = {
            "name": plan.name,
            "systems": len(plan.systems),
            "configurations": plan.configurations,
            "done": self.done,
            "ready": self.ready,
            "left_out": [each._asdict() for each in (*plan.left_out, *self.maker.left_out)],
            "failed": [each._asdict() for each in failed],
        }
        line = (
            f"{plan.name}: {plan.configurations:,} configurations of {len(plan.systems):,} systems, {self.done:,} of "
            "them done."
        )
        notes = [*_explain_failures(failed), *plan.notes, *self.inputs.notes, *dict.fromkeys(self.notes)]
        return DryRun([each for each in work if each.items], max_cost, about=about, lines=[line], notes=notes)

    def _look_at(self, system: System, key: str) -> None:
        """Count the items that a system still has to send to models."""
        work = self.maker.work(system)
        if self.protocol.queries and not self.timer.has(key):
            self.to_time += [(table, work) for table in ("embed", "rerank") if table in work.settings]
        if self.store.read(key) is not None:
            self.done += 1
        else:
            self.counts.add(work, reuse=TEXT)
        self.ready += 1

    def _count_probes(self, systems: Iterable[System]) -> None:
        """Count the texts of [probes], and the noisy queries whose drop is a signal of [route]."""
        if (routed := find_routed_system(self.plan)) is not None and (chatter := chatter_of(self.plan)) is not None:
            work = self.maker.work(routed)
            if "embed" in work.settings:
                with self._record_failures(work.settings["embed"]["model"]):
                    part = part_of(
                        work.embedder(), "queries", texts_in_order(make_noisy_queries(work.collection, chatter))
                    )
                    self.counts.add_part(work.embedder(), part, work.reuse("embed"), OF_PROBES)
        if "probes" in self.plan.tables:
            prober = SweepProbes(self.plan, self.inputs, self.maker, self.cache, self.store, nobody)
            for system in systems:
                if "embed" in system.settings:
                    with self._record_failures(system.settings["embed"]["model"]):
                        prober.count(system, self.counts)

    def _count_work(self) -> Iterator[MissingWork]:
        """The work of what was counted since the last call."""
        for part in self.counts.take():
            with self._record_failures(part.model.name):
                yield self._price(part)

    @contextmanager
    def _record_failures(self, model: str) -> Iterator[None]:
        """Record a failure of a model, and go on with the others."""
        try:
            yield
        except (TruevalError, OSError, RuntimeError) as error:
            failed = Reason(f"systems with {model}", one_line(error))
            if failed not in self.maker.failed:
                self.maker.failed.append(failed)

    def _price(self, part: MissingPart) -> MissingWork:
        """The work for a part, with its duration where the model runs here."""
        if not is_hosted(part.model.name):
            return part.work(expected_seconds(part, self.probe))
        try:
            part.model.key.read(part.model.name, part.model.url)
        except InputError as error:  # the cost can still be estimated
            self.notes.append(str(error))
        return part.work()

    def _timing(self, table: str, work: StageRunner) -> list[MissingWork]:
        """Queries for timing, one at a time; equal work of two systems is timed once."""
        model, asked = work.model(table), list(work.collection.queries)[: self.protocol.queries]
        known = work.candidates_before("rerank", work.settings["rerank"]["depth"]) if table == "rerank" else None
        part, groups = self._requested_items(table, work, model, asked, known)
        before = work.key_before("rerank") if table == "rerank" else ""
        key = json.dumps([table, settings_of(model), before, work.settings[table].get("depth"), work.about()["sha256"]])
        times = self.protocol.load_test_queries(len(asked)) + (
            0 if key in self.timed else self.protocol.timed_calls(len(asked))
        )
        self.timed.add(key)
        if not times or not len(part.items):
            return []
        unknown = part.name != "queries" and known is None
        if is_hosted(model.name):
            most = self._requested_items(table, work, model, asked, None, longest_candidates)[1] if unknown else None
            return [repeated_work(model, part.name, groups, times, most)]
        speed = self.speeds.get((model.name, part.name))
        if speed is None:
            whole = MissingPart(TIMED, model, part, np.arange(len(part.items)))
            speed = self.speeds[model.name, part.name] = (expected_seconds(whole, self.probe) or 0.0) / len(part.items)
        seconds = speed * len(part.items) / len(asked) * times
        return [MissingWork(TIMED, model.name, times, exact=not unknown, seconds=seconds)]

    def _requested_items(
        self,
        table: str,
        work: StageRunner,
        model: Any,
        asked: list[str],
        known: Run | None,
        unknown: Unknown = spread_candidates,
    ) -> tuple[OutputPart, list[list[Any]]]:
        """The part of a model for some queries, and the items of each query."""
        if table == "embed" or model.scoring not in PAIRED:
            searched = [each.collection for each in work.searches.values() if each.kind == "dense"]
            forms = searched if table == "embed" else [work.collection]
            groups = [[each.queries[query] for each in forms] for query in asked]
            called = [query for query in asked for _ in forms]
            return OutputPart("queries", [*chain(*groups)], called, model.embed_queries, len), groups
        if known is None:
            depth = min(work.settings["rerank"]["depth"], len(work.collection.documents))
            given = unknown(work.collection, depth)
        else:
            given = candidates_of(known, work.collection)
        lists = {query: each for query, each in zip(given.query_ids, given.lists, strict=True) if query in set(asked)}
        some = Candidates(given.kind, tuple(lists), given.doc_ids, tuple(lists.values()))
        part = parts_of(model, work.collection, some)[-1]
        ends = np.cumsum([0, *map(len, lists.values())]).tolist()
        return part, [[part.items[at] for at in range(*span)] for span in pairwise(ends)]

    def _judge_work(self, systems: dict[str, System]) -> list[MissingWork]:
        """The judge's questions: exact where all systems are finished, else an upper bound."""
        runs = self._cached_runs(systems)
        found = estimate_judging(self.plan, self.inputs, self.store, systems, runs)
        self.notes += [] if found.exact else [TIED]
        return [found]

    def _answer_work(
        self, answers: AnswersPlan, systems: dict[str, System], account: Account | None
    ) -> list[MissingWork]:
        """The answers of generators: exact where all systems are finished."""
        stored = {key: kept[1] for key in systems if (kept := self.store.read(key)) is not None}
        found = AnswersEstimate(self.plan, answers, self.inputs, self.store, account)
        work = sum_work(found.estimate(systems, {**self._cached_runs(systems), **stored}))
        self.notes += found.notes
        return work

    def _cached_runs(self, systems: dict[str, System]) -> dict[str, Run]:
        """Runs of systems that are not finished, by key, where the cache has their candidates."""
        runs: dict[str, Run] = {}
        for key, system in systems.items():
            if self.store.read(key) is None:
                with self.maker.record_failures(system):
                    run = self.maker.work(system).last_candidates()
                    runs |= {} if run is None else {key: run}
        return runs


def _explain_failures(failed: Sequence[Reason]) -> Iterator[str]:
    """What cannot begin, one sentence for each reason."""
    by_reason: dict[str, list[str]] = {}
    for each in failed:
        by_reason.setdefault(each.reason, []).append(each.name)
    for reason, (first, *others) in by_reason.items():
        yield f"cannot begin: {first}{f' and {len(others)} more' if others else ''}: {reason}"
