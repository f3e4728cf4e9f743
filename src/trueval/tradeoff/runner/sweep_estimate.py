"""The estimate of a sweep: remaining work, cost and duration, without doing any of it.

Texts and pairs are counted, less those in the cache. Pairs depend on retrieval results: where these are not in the
cache, the count is an upper bound, the sum over pools. Minutes are those of the models alone, from the measured speed
of a trial; building indexes, which takes seconds here, and services, whose speed is unknown, are excluded. Items that
models process only for timing, query by query, are counted separately.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from trueval.collection import Candidates, Collection, ids_in_order, texts_in_order
from trueval.errors import InputError, TruevalError
from trueval.models.hosted.account import Account
from trueval.models.hosted.account import sum_costs as summed_costs
from trueval.models.hosted.hosted_model import CallEstimate
from trueval.models.hosted.services import is_hosted
from trueval.models.output_part import item_keys
from trueval.models.output_reuse import find_items_to_compute, find_missing_items, is_by_text
from trueval.models.outputs import OutputPart, parts_of, place_of, settings_of
from trueval.models.pair_scores import PAIRED
from trueval.retrieval.cache import cache_for
from trueval.retrieval.fusion.union import together
from trueval.retrieval.pipeline.pipeline_estimate import longest_candidates, spread_candidates
from trueval.retrieval.pipeline.rerank import candidates_of
from trueval.retrieval.pipeline.stage_resources import nobody
from trueval.retrieval.pipeline.stage_runner import StageRunner
from trueval.run import Run
from trueval.tradeoff.config.grid import Reason, System
from trueval.tradeoff.config.plan import SweepPlan
from trueval.tradeoff.config.sweep_inputs import SweepInputs, read_inputs
from trueval.tradeoff.diagnosis.query_performance_predictors import QueryNoise, make_noisy_queries
from trueval.tradeoff.runner.analyses import chatter_of, find_routed_system
from trueval.tradeoff.runner.judging import estimate_judging, refuse_unlike_scale
from trueval.tradeoff.runner.model_tasks import OF_PROBES, PROBED, TIMED, ModelTask, SweepEstimate, by_model, sum_tasks
from trueval.tradeoff.runner.sweep_probes import SweepProbes
from trueval.tradeoff.runner.sweep_runner import check_measures
from trueval.tradeoff.runner.system_builder import OF_THE_STAGE, SystemBuilder, one_line
from trueval.tradeoff.runner.system_store import SystemStore
from trueval.tradeoff.runner.timing import Timer, protocol_of

Probe = Callable[[Any, OutputPart, Sequence[int]], float]
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
    probe: Probe | None = None,
    max_cost: float | None = None,
) -> SweepEstimate:
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
    found = _Estimating(chosen, inputs, place, SystemStore(out), probe or seconds_of).estimate()
    return replace(found, max_cost=max_cost)


def seconds_of(model: Any, part: OutputPart, places: Sequence[int]) -> float:
    """Measured seconds of a model for some items, after a warm-up with one of them.

    Args:
        model: model without cached outputs.
        part: part that contains the items.
    """
    items, names = [part.items[place] for place in places], [part.called[place] for place in places]
    part.forward(items[:1], names[:1])
    began = time.perf_counter()
    part.forward(items, names)
    return time.perf_counter() - began


@dataclass(frozen=True)
class _Pairs:
    """Pools whose pairs are scored by one reranker.

    Attributes:
        work: runner of a system with this reranker.
        pools: (key of the previous stage, depth) → candidates; None where they are not in the cache.
    """

    work: StageRunner
    pools: dict[tuple[str, int], Run | None] = field(default_factory=dict)


class _Estimating:
    def __init__(self, plan: SweepPlan, inputs: SweepInputs, cache: Path, store: SystemStore, probe: Probe) -> None:
        self.plan, self.inputs, self.store, self.probe = plan, inputs, store, probe
        self.maker = SystemBuilder(inputs, cache, store, Account(), nobody, lambda _: None)
        self.cache, self.outputs = cache, cache / "outputs"
        self.embeds: dict[str, StageRunner] = {}
        self.counted: set[str] = set()
        self.planned: dict[str, set[bytes]] = {}
        self.protocol = protocol_of(plan.tables["latency"], plan.measuring.seed)
        self.timer = Timer(self.protocol, store, plan.measuring, nobody("times"))
        self.to_time: list[tuple[str, StageRunner]] = []
        self.speeds: dict[tuple[str, str], float] = {}
        self.pairs: dict[str, _Pairs] = {}
        self.done = self.ready = 0
        self.notes: list[str] = []
        self.keys: dict[str, System] = {}

    def estimate(self) -> SweepEstimate:
        self.keys = self.maker.distinct(self.plan.systems)
        for key, system in self.keys.items():
            with self.maker.guarded(system):
                self._look_at(system, key)
        tasks: list[ModelTask] = []
        for embed in self.embeds.values():
            tasks += self._guarded(self._embedding, embed)
        for pairs in self.pairs.values():
            tasks += self._guarded(self._reranking, pairs)
        for table, work in self.to_time:
            tasks += self._guarded(partial(self._timing, table), work, table)
        if (routed := find_routed_system(self.plan)) is not None and (chatter := chatter_of(self.plan)) is not None:
            tasks += self._guarded(partial(self._dropping, chatter), self.maker.work(routed))
        if "probes" in self.plan.tables:
            prober = SweepProbes(self.plan, self.inputs, self.maker, self.cache, self.store, nobody)
            for system in self.keys.values():
                tasks += self._guarded(partial(self._probing, prober, system), self.maker.work(system))
        tasks = [*by_model(tasks), *self._judging()]
        left_out = (*self.plan.left_out, *self.maker.left_out)
        return SweepEstimate(
            self.plan.name,
            len(self.plan.systems),
            self.plan.configurations,
            self.done,
            self.ready,
            tuple(tasks),
            left_out,
            tuple(self.maker.failed),
            (*self.plan.notes, *self.inputs.notes, *dict.fromkeys(self.notes)),
        )

    def _dropping(self, chatter: QueryNoise, work: StageRunner) -> list[ModelTask]:
        """The noisy queries whose drop is a signal of [route]."""
        if "embed" not in work.settings:
            return []
        model, texts = work.embedder(), make_noisy_queries(work.collection, chatter)
        part = OutputPart("queries", texts_in_order(texts), list(ids_in_order(texts)), model.embed_queries, len)
        if place_of(settings_of(model), part.name, part.texts(), self.outputs).complete:
            return []
        places = self._left(model, part, find_items_to_compute(model, part, work.reuse("embed"), self.outputs), work)
        return [self._task(model, part, places, OF_PROBES)] if len(places) else []

    def _left(self, model: Any, part: OutputPart, places: NDArray[np.int64], work: StageRunner) -> NDArray[np.int64]:
        """The items that no earlier task sends to the same model, where its outputs are reused by item."""
        keys = item_keys(part.items)
        planned = self.planned.setdefault(json.dumps([settings_of(model), part.name]), set())
        new = [key not in planned for key in keys[places].tolist()]
        planned.update(keys[places].tolist())
        return places[new] if is_by_text(model, work.reuse("embed")) else places

    def _probing(self, prober: SweepProbes, system: System, work: StageRunner) -> list[ModelTask]:
        """The probe texts not in the embedder's cache."""
        found: list[ModelTask] = []
        for model, part, places in prober.lacking(system):
            identity = place_of(settings_of(model), part.name, part.texts(), self.outputs).identity
            left = self._left(model, part, places, work)
            if identity not in self.counted and len(left):
                found.append(self._task(model, part, left, OF_PROBES))
            self.counted.add(identity)
        return [sum_tasks(found)] if found else []

    def _judging(self) -> list[ModelTask]:
        """The judge's questions: exact where all systems are finished, else an upper bound."""
        if self.plan.judge is None:
            return []
        runs: dict[str, Run] = {}
        for key, system in self.keys.items():
            if self.store.read(key) is None:
                with self.maker.guarded(system):
                    run = self.maker.work(system).last_candidates()
                    runs |= {} if run is None else {key: run}
        found = estimate_judging(self.plan, self.inputs, self.store, self.keys, runs)
        if found.at_most:
            self.notes.append(TIED)
        return [found] if found.calls else []

    def _guarded(self, estimate: Callable[[Any], list[ModelTask]], of: Any, table: str = "") -> list[ModelTask]:
        """The tasks of a model; a loading failure is recorded."""
        work = of if isinstance(of, StageRunner) else of.work
        table = table or ("embed" if isinstance(of, StageRunner) else "rerank")
        try:
            return estimate(of)
        except (TruevalError, OSError, RuntimeError) as error:
            failed = Reason(f"systems with {work.settings[table]['model']}", one_line(error))
            if failed not in self.maker.failed:
                self.maker.failed.append(failed)
            return []

    def _look_at(self, system: System, key: str) -> None:
        """Record the items that a system still has to send to models."""
        work = self.maker.work(system)
        if self.protocol.queries and not self.timer.has(key):
            self.to_time += [(table, work) for table in ("embed", "rerank") if table in work.settings]
        if self.store.read(key) is not None:
            self.done += 1
            self.ready += 1
            return
        work.check()
        self.ready += 1
        if "embed" in work.settings and not work.has("dense"):
            self.embeds.setdefault(json.dumps([system.rewrite, work.settings["embed"]], sort_keys=True), work)
        if system.reranks:
            self._note_pool(system, work)

    def _note_pool(self, system: System, work: StageRunner) -> None:
        before = work.key_before("rerank")
        if work.has("rerank", (before,)):
            return
        settings = work.settings["rerank"]
        model = {name: value for name, value in settings.items() if name not in OF_THE_STAGE}
        found = self.pairs.setdefault(json.dumps([system.rewrite, model], sort_keys=True), _Pairs(work))
        found.pools[before, settings["depth"]] = work.candidates_before("rerank", settings["depth"])

    def _embedding(self, work: StageRunner) -> list[ModelTask]:
        """The items not in the embedder's cache."""
        model, collection = work.embedder(), work.collection
        settings = settings_of(model)
        found: list[ModelTask] = []
        for name, texts in (("documents", collection.documents), ("queries", collection.queries)):
            forward = model.embed_documents if name == "documents" else model.embed_queries
            part = OutputPart(name, texts_in_order(texts), list(ids_in_order(texts)), forward, len)
            place = place_of(settings, name, part.texts(), self.outputs)
            # Variants of the queries share the documents, and dimensions truncated here share both.
            if place.identity not in self.counted and not place.complete:
                self.counted.add(place.identity)
                places = self._left(
                    model, part, find_items_to_compute(model, part, work.reuse("embed"), self.outputs), work
                )
                found += [self._task(model, part, places, "texts")] if len(places) else []
        return [sum_tasks(found)] if found else []

    def _reranking(self, pairs: _Pairs) -> list[ModelTask]:
        """The pairs not in the reranker's cache; an upper bound where pools are unknown."""
        work, runs = pairs.work, list(pairs.pools.values())
        model, known = work.model("rerank"), [run for run in runs if run is not None]
        if len(known) == len(runs):
            part = self._pairs(model, work.collection, candidates_of(together(known, None), work.collection))
            places = find_missing_items(settings_of(model), part, self.outputs)
            return [self._task(model, part, places, "pairs")] if len(places) else []
        depth = min(sum(depth for _, depth in pairs.pools), len(work.collection.documents))
        part = self._pairs(model, work.collection, spread_candidates(work.collection, depth))
        task = self._task(model, part, np.arange(len(part.items)), "pairs", at_most=True)
        if task.calls:
            longest = self._pairs(model, work.collection, longest_candidates(work.collection, depth))
            task = replace(task, cost_at_most=model.expected("pairs", longest.items).at_most)
        return [task]

    def _timing(self, table: str, work: StageRunner) -> list[ModelTask]:
        """Queries for timing, one at a time; equal work of two systems is timed once."""
        model, asked = work.model(table), list(work.collection.queries)[: self.protocol.queries]
        part, sizes, at_most = self._asked(table, work, model, asked)
        before = work.key_before("rerank") if table == "rerank" else ""
        key = json.dumps([table, settings_of(model), before, work.settings[table].get("depth"), work.about()["sha256"]])
        once = 0 if key in self.counted else self.protocol.timed(len(asked))
        self.counted.add(key)
        times = once + self.protocol.served(len(asked))
        if not times or not len(part.items):
            return []
        if is_hosted(model.name):
            each = _by_query(model, part, sizes)
            dearest = _by_query(model, *self._asked(table, work, model, asked, longest_candidates)[:2])
            sums = summed_costs(one.cost for one in each), summed_costs(one.at_most for one in dearest)
            cost, most = (None if total is None else total / len(asked) * times for total in sums)
            calls = round(sum(one.calls for one in each) / len(asked) * times)
            return [ModelTask(model.name, TIMED, times, at_most, calls, cost, None, most)]
        speed = self.speeds.get((model.name, part.name))
        if speed is None:
            places = np.arange(len(part.items))
            speed = (self._task(model, part, places, TIMED).seconds or 0.0) / len(part.items)
            self.speeds[model.name, part.name] = speed
        return [ModelTask(model.name, TIMED, times, at_most, 0, 0.0, speed * len(part.items) / len(asked) * times)]

    def _asked(
        self, table: str, work: StageRunner, model: Any, asked: list[str], unknown: Unknown = spread_candidates
    ) -> tuple[OutputPart, list[int], bool]:
        """The items of a model for some queries, their number per query, and whether there may be fewer."""
        if table == "embed" or model.scoring not in PAIRED:
            texts = [work.collection.queries[each] for each in asked]
            return OutputPart("queries", texts, asked, model.embed_queries, len), [1] * len(asked), False
        depth = work.settings["rerank"]["depth"]
        known = work.candidates_before("rerank", depth)
        if known is None:
            given = unknown(work.collection, min(depth, len(work.collection.documents)))
        else:
            given = candidates_of(known, work.collection)
        lists = {query: each for query, each in zip(given.query_ids, given.lists, strict=True) if query in set(asked)}
        some = Candidates(given.kind, tuple(lists), given.doc_ids, tuple(lists.values()))
        return self._pairs(model, work.collection, some), [len(each) for each in lists.values()], known is None

    def _tell_missing_key(self, model: Any) -> None:
        """Record that the API key is missing; the cost can still be estimated."""
        try:
            model.key.read(model.name, model.url)
        except InputError as error:
            self.notes.append(str(error))

    def _pairs(self, model: Any, collection: Collection, candidates: Candidates) -> OutputPart:
        return parts_of(model, collection, candidates)[-1]

    def _task(self, model: Any, part: OutputPart, places: Any, what: str, *, at_most: bool = False) -> ModelTask:
        if is_hosted(model.name):
            self._tell_missing_key(model)
            expected = model.expected(part.name, [part.items[place] for place in places.tolist()])
            told = expected.calls, expected.cost, None, expected.at_most
            return ModelTask(model.name, what, len(places), at_most, *told)
        # A sample of items of all lengths.
        lengths = np.array([part.length(part.items[place]) for place in places.tolist()])
        order = places[np.argsort(lengths, kind="stable")]
        probed = order[np.linspace(0, len(order) - 1, min(PROBED, len(order))).astype(int)].tolist()
        seconds = self.probe(model, part, probed) / len(probed) * len(places)
        return ModelTask(model.name, what, len(places), at_most, 0, 0.0, seconds)


def _by_query(model: Any, part: OutputPart, sizes: Sequence[int]) -> list[CallEstimate]:
    """Service calls per query for a number of items."""
    ends = np.cumsum([0, *sizes]).tolist()
    return [model.expected(part.name, [part.items[at] for at in range(*span)]) for span in pairwise(ends)]
