"""The system builder: shared work is done once, and a failing system does not stop the others.

First all systems retrieve. Those with a reranker wait until every (query, document) pair that any system with the same
reranker needs is known: each pair goes through the model once, whatever pools and depths it is in. Results are stored
as soon as a system is finished.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn

import numpy as np

from trueval.cost.cost_model import CostModel, SweepPrices
from trueval.cost.index_memory import memory_entry
from trueval.cost.prices import PriceBook
from trueval.cost.tokens import text_tokens
from trueval.errors import InputError, TruevalError
from trueval.evaluation.content_hashes import run_hash
from trueval.models.hosted.account import Account, sum_costs
from trueval.models.output_reuse import reuse_outputs
from trueval.models.outputs import Step
from trueval.report.json_fields import encode
from trueval.report.provenance import strip_folders
from trueval.retrieval.fusion.ranked_lists import rank_lists
from trueval.retrieval.fusion.union import replace_scores, together
from trueval.retrieval.indexes.index import LocalIndex, make_index, read_spec
from trueval.retrieval.pipeline.cache_keys import key_of
from trueval.retrieval.pipeline.config import SPECS, STAGES, Settings, set_scoring, with_search
from trueval.retrieval.pipeline.pipeline_result import Stage, without_folders
from trueval.retrieval.pipeline.rerank import rerank
from trueval.retrieval.pipeline.rewriting import name_forms
from trueval.retrieval.pipeline.stage_resources import Begin, StageResources
from trueval.retrieval.pipeline.stage_runner import StageRunner
from trueval.run import Run
from trueval.threads import Executor
from trueval.tradeoff.config.grid import Reason, System
from trueval.tradeoff.config.sweep_inputs import SweepInputs
from trueval.tradeoff.diagnosis.loss_decomposition import BELOW, recall
from trueval.tradeoff.runner.system_store import KEY_LENGTH, SystemStore

_log = logging.getLogger(__name__)

EXACT: Final = "flat"
# Keys of [rerank] that do not affect the model's output for a pair.
OF_THE_STAGE: Final = ("depth", "scoring")
# Maximum number of candidate rows in memory; others are read again from the cache.
MOST_ROWS: Final = 5_000_000


class BuiltSystem(NamedTuple):
    """A finished system.

    Attributes:
        key: hash of everything that determines its run.
        about: content of its file.
        cached: whether it was built in an earlier run.
    """

    system: System
    key: str
    about: Mapping[str, Any]
    run: Run
    cached: bool


class PlacedSystem(NamedTuple):
    """A system that was made elsewhere, up to its reranker.

    Attributes:
        memory: entry of its indexes.
        about: content of its file; None if it waits for its reranker, or is in the store.
        run: its run, likewise.
    """

    memory: Mapping[str, Any]
    about: Mapping[str, Any] | None = None
    run: Run | None = None


class _Waiting(NamedTuple):
    """A system whose candidates await reranking.

    Attributes:
        silent: whether only its candidates are needed, so that it is not reported.
    """

    system: System
    key: str
    work: StageRunner
    stages: tuple[Stage, ...]
    memory: Mapping[str, Any]
    silent: bool = False

    @property
    def settings(self) -> Mapping[str, Any]:
        """Settings of its reranker."""
        return self.work.settings["rerank"]

    @property
    def pool(self) -> Run:
        """The candidates for the reranker."""
        run = self.stages[-1].run
        lists = rank_lists(run, self.settings["depth"])
        return lists.only(np.ones(len(lists.rank), dtype=bool), run.name, run.source)

    @property
    def is_cached(self) -> bool:
        """Whether the reranked candidates are cached."""
        return self.work.has("rerank", (self.stages[-1].key,))

    def with_reranker(self, make: Callable[[Step], Run]) -> tuple[Stage, ...]:
        """All its stages, with the last from the cache or computed.

        Args:
            make: computes the candidates with the reranker's scores.
        """
        before = self.stages[-1]
        last = self.work.stage("rerank", make, (before.key,), before.run.documents.height)
        if "repair" not in self.work.settings:
            return (*self.stages, last)
        return (*self.stages, last, self.work.refine("repair", (last,), ()))


class SystemBuilder:
    """Builds the systems of a plan.

    Args:
        cache: folder of embeddings, logits, indexes and candidates.
        account: account of hosted models.
        begin: as in Pipeline.retrieve, with the name of the system before that of the stage.
        found: called with each finished system.
        executor: runs the models; None for here.
        asks: whether language models are asked for forms of the queries that nobody wrote yet.
    """

    def __init__(
        self,
        inputs: SweepInputs,
        cache: Path,
        store: SystemStore,
        account: Account,
        begin: Begin,
        found: Callable[[BuiltSystem], None],
        executor: Executor | None = None,
        *,
        asks: bool = True,
    ) -> None:
        self.inputs, self.store, self.begin, self.found = inputs, store, begin, found
        models: dict[str, Any] = {}
        self.shared = {
            name: StageResources(cache, cache / "outputs", account, executor, models=models, asks=asks)
            for name in inputs.collections
        }
        self.spending = CostModel(SweepPrices(PriceBook.read(), {}), next(iter(inputs.collections.values())).documents)
        self.placed: Mapping[str, PlacedSystem] = {}
        self.query_tokens: dict[str, float] = {}  # settings of an embedder and queries → mean tokens of a query
        self.left_out: list[Reason] = []
        self.failed: list[Reason] = []

    def make(self, systems: Mapping[str, System], also: System | None = None) -> None:
        """Build all systems; those that cannot be built are in `failed` and `left_out`.

        Args:
            systems: by key, as `distinct` gives them; of those in `placed` only what is left is done.
            also: a system whose candidates other work expects in the cache.
        """
        waiting: list[_Waiting] = []
        for key, system in systems.items():
            with self.record_failures(system):
                waiting += self._retrieve(system, key)
        if also is not None:
            try:
                work = self.work(also)
                waiting.append(_Waiting(also, "", work, self._stages(work), {}, silent=True))
            except Exception:  # noqa: BLE001 the work that needs its candidates reports the error
                _log.warning("%s: its candidates could not be made", also.name, exc_info=True)
        for group in _by_model(waiting):
            self._rerank(group)

    def embed(self, system: System) -> None:
        """Compute what only the models of a system give before it reranks: embeddings, and tokens of its queries."""
        work = self.work(system)
        work.check()
        if "embed" in work.settings:
            step = self.begin(f"{system.name}: embed")
            work.document_vectors(step)
            work.embed_queries(step)
            self._count_query_tokens(work)

    def retrieve(self, system: System, key: str) -> PlacedSystem:
        """Make a system up to its reranker, whose candidates stay in the cache."""
        if self.store.has(key):  # by a worker that was lost before it could tell
            return PlacedSystem({})
        finished: list[BuiltSystem] = []
        self.found = finished.append
        waiting = self._retrieve(system, key)
        for each in waiting:
            self._recall(each, each.stages[0])  # its exact search is read from the cache later
            return PlacedSystem(each.memory)
        (made,) = finished
        stored = self.store.folder is not None
        return PlacedSystem(made.about["memory"], *(() if stored else (made.about, made.run)))

    def work(self, system: System) -> StageRunner:
        """The stages of a system.

        Raises:
            TruevalError: a library is not there, or the collection is empty.
        """
        return self._work(system, system.settings, f"{system.name}: ")

    def distinct(self, systems: Sequence[System]) -> dict[str, System]:
        """Systems by key, each built once: a duplicate is dropped, and its values of K are merged.

        Args:
            systems: systems of the plan; those whose model or file is missing are added to `failed`.
        """
        found: dict[str, System] = {}
        keys: dict[str, str] = {}  # key of the results → key of the first system with these results
        for system in systems:
            with self.record_failures(system):
                key = self.work(system).last_key[:KEY_LENGTH]
                first = keys.setdefault(self._finds(system), key)
                if first not in found:
                    found[first] = system
                    continue
                other = found[first]
                more = [k for k in system.contexts if k not in other.contexts]
                known = other.generators
                generators = [each for each in system.generators if not any(map(each.asks_as, known))]
                contexts = tuple(sorted((*other.contexts, *more)))
                found[first] = replace(other, contexts=contexts, generators=(*other.generators, *generators))
                if generators:  # its answers are its own
                    continue
                looked = f" K={', '.join(map(str, more))} is looked at there." if more else ""
                told = f"it finds the same as {other.name}: what differs decides nothing here.{looked}"
                self.left_out.append(Reason(system.name, told, key))
        return found

    def _finds(self, system: System) -> str:
        """The key of a system's results: hnsw and hnsw(M=32) are equal, and so are depths that cut nothing."""
        settings = dict(system.settings)
        for table, (key, *_) in SPECS.items():
            if table in settings:
                settings[table] = {**settings[table], key: make_index(settings[table][key]).spec}
        given = sum(settings[name]["depth"] for name in ("index", "sparse") if name in settings)
        for name in ("fuse", "rerank"):
            if name in settings:
                given = min(settings[name]["depth"], given, self.inputs.documents)
                settings[name] = {**settings[name], "depth": given}
        return self._work(system, settings, "").last_key

    def _work(self, system: System, settings: Settings, told: str) -> StageRunner:
        shared = self.shared[system.rewrite]
        if sum(stage.run.documents.height for stage in shared.stages.values()) > MOST_ROWS:
            shared.stages.clear()
        scoring = settings.get("pipeline", {}).get("scoring", STAGES)
        collection = self.inputs.collections[system.rewrite]
        return StageRunner(
            collection, set_scoring(settings, scoring), shared, lambda stage: self.begin(f"{told}{stage}")
        )

    def _retrieve(self, system: System, key: str) -> list[_Waiting]:
        """Retrieve; a system that is stored already or has no reranker is finished here and not returned."""
        work = self.work(system)
        placed, kept = self.placed.get(key), self.store.read(key)
        if placed is not None and placed.about is not None and placed.run is not None:
            kept = dict(placed.about), placed.run
        if kept is not None:
            self.found(BuiltSystem(system, key, *kept, cached=placed is None))
            return []
        work.check()
        stages = self._stages(work)
        if placed is None:
            work.open()
            memory = memory_entry([each for each in work.indexes if isinstance(each, LocalIndex)])
            work.opened.clear()  # those of all systems together may not fit into memory
        else:
            memory = dict(placed.memory)
        waiting = _Waiting(system, key, work, stages, memory)
        if system.reranks:
            return [waiting]
        self._finish(waiting, waiting.stages)
        return []

    def _stages(self, work: StageRunner) -> tuple[Stage, ...]:
        """All stages before reranking."""
        stages = [work.stage(name, make) for name, make in work.retrievers().items()]
        for name in takewhile(lambda name: name != "rerank", work.refiners()):
            stages.append(work.refine(name, stages if name == "fuse" else stages[-1:], ()))
        return tuple(stages)

    def _rerank(self, group: Sequence[_Waiting]) -> None:
        """Score each pair of a group's systems once, and finish the systems."""
        ready = [each for each in group if each.is_cached]
        for each in ready:
            with self.record_failures(each.system, each.key):
                self._finish(each, each.with_reranker(_refuse_removed_candidates))
        rest = [each for each in group if each not in ready]
        if not rest:
            return
        try:
            scored = self._score(rest)
        except Exception:  # noqa: BLE001 one failing pair or format must not stop the others
            _log.warning("%s: one call for all failed; each is scored alone", names_of(rest), exc_info=True)
            scored = None
        for each in rest:
            with self.record_failures(each.system, each.key):
                own = scored or self._score([each])
                self._finish(each, each.with_reranker(_make_rescorer(each, own[each.settings["scoring"]])))

    def _score(self, group: Sequence[_Waiting]) -> dict[str, Run]:
        """The union of some pools with reranker scores, in each requested format."""
        first = group[0].work
        union = together([each.pool for each in group], None)
        step, model = self.begin(f"{names_of(group)}: rerank"), first.model("rerank")
        formats = dict.fromkeys(each.settings["scoring"] for each in group)
        return {
            scoring: rerank(
                union,
                first.collection,
                model,
                scoring=scoring,
                store=first.shared.outputs,
                step=step,
                forward=partial(reuse_outputs, executor=first.shared.executor),
            )
            for scoring in formats
        }

    def _finish(self, waiting: _Waiting, stages: Sequence[Stage]) -> None:
        """Store a system, and report it."""
        if waiting.silent:
            return
        system, work, run = waiting.system, waiting.work, stages[-1].run
        about = {
            "method": system.method,
            "rewrite": name_forms(system.rewrite),
            "settings": without_folders(work.settings),
            "collection": work.about(),
            "stages": [encode(stage.to_record()) for stage in stages],
            "seconds": sum(stage.made_seconds for stage in stages),
            "run": {"queries": len(run.query_ids), "documents": run.documents.height, "content": run_hash(run)},
            "recall": self._recall(waiting, stages[0]),
            "memory": waiting.memory,
            "tokens": self._tokens(work, run),
            **({"rewrite_cost": _rewrite_cost(work)} if work.written else {}),
        }
        told = self.store.write(waiting.key, about, run)
        self.found(BuiltSystem(system, waiting.key, told, run, cached=False))

    def _tokens(self, work: StageRunner, run: Run) -> dict[str, float | None]:
        """Mean tokens of a query and of a pair, by the models' tokenizers."""
        query = self._count_query_tokens(work) if "embed" in work.settings else None
        reranker = work.model("rerank") if "rerank" in work.settings else None
        queries, known = work.collection.queries, {"query": query}
        spent = self.spending.of(work.settings, queries, run, [1], reranker=reranker, known=known)
        return {name: spent.tokens[name] for name in ("query", "candidate")}

    def _count_query_tokens(self, work: StageRunner) -> float:
        """Mean tokens of a query in all forms that are embedded, counted once for all systems that embed the same."""
        searches = [each for each in work.searches.values() if each.kind == "dense"]
        key = key_of(work.settings["embed"], [each.form for each in searches], work.texts["queries"])
        if key not in self.query_tokens:
            forms = [list(each.collection.queries.values()) for each in searches]
            self.query_tokens[key] = sum(float(text_tokens(texts, work.model("embed")).read.mean()) for texts in forms)
        return self.query_tokens[key]

    def _recall(self, waiting: _Waiting, dense: Stage) -> dict[str, object] | None:
        """Recall of the dense stage against exact float32 search over the same embeddings; None without one."""
        settings = waiting.work.settings
        if dense.name != "dense":
            return None
        kind, chosen = read_spec(settings["index"]["spec"])
        if kind.takes_of(chosen) != "vectors":  # with term scores, there is no exact vector search to compare with
            return None
        depth = settings["index"]["depth"]
        # A few documents deeper, to detect a tie group cut by the depth.
        index = {"spec": EXACT, "depth": depth + BELOW, "scoring": "index"}
        work = self._work(waiting.system, with_search(settings, index), f"{waiting.system.name}: exact ")
        exact = work.stage("dense", work.dense)
        return {"of": EXACT, "depth": depth, "shares": recall(dense.run, exact.run, depth).tolist()}

    @contextmanager
    def record_failures(self, system: System, key: str = "") -> Iterator[None]:
        """Continue with the other systems when one fails, and record the reason.

        Args:
            key: key of the system, if known.
        """
        try:
            yield
        except Exception as error:  # noqa: BLE001  a model or an index may raise anything: one system is lost, not all
            _log.error("%s failed", system.name, exc_info=True)
            self.failed.append(Reason(system.name, one_line(error), key))


def _rewrite_cost(work: StageRunner) -> float | None:
    """Mean cost of the forms of a query that a language model writes; None if a price is not known."""
    return sum_costs(each.cost for each in work.written.values())


def names_of(group: Sequence[_Waiting]) -> str:
    """Display name of systems whose pairs are scored together."""
    return f"{len(group)} systems" if len(group) > 1 else group[0].system.name


def _by_model(waiting: Sequence[_Waiting]) -> list[list[_Waiting]]:
    """Systems grouped by the model that scores their pairs."""
    groups: dict[str, list[_Waiting]] = {}
    for each in waiting:
        model = {name: value for name, value in each.settings.items() if name not in OF_THE_STAGE}
        groups.setdefault(json.dumps([each.system.rewrite, model], sort_keys=True), []).append(each)
    return list(groups.values())


def _make_rescorer(waiting: _Waiting, scored: Run) -> Callable[[Step], Run]:
    return lambda step: replace_scores(waiting.stages[-1].run, scored, waiting.settings["depth"])


def _refuse_removed_candidates(step: Step) -> NoReturn:
    raise InputError("The candidates were removed from the cache meanwhile. Run the same command again.")


def one_line(error: Exception) -> str:
    """An error's message in one line; with the exception type where the message is not ours."""
    # Reasons are stored in results, which must not reveal local folders.
    said = " ".join(map(strip_folders, str(error).split()))
    return said if isinstance(error, TruevalError) and said else f"{type(error).__name__}: {said}".rstrip(": ")
