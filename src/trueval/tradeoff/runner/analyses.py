"""Analyses derived from selected systems of a sweep: loss decomposition, tuned graphs, and per-query routing.

One loss decomposition per dense search setting, for the system that continues with a reranker if there is one; one
tuned graph per hnsw setting; and one routing, for the first system with a reranker. All are evaluated at the smallest
K. Results are stored in derived/, so that a second run reads them.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from trueval.models.hosted.account import Account
from trueval.report.json_fields import encode
from trueval.retrieval.indexes.index import read_spec
from trueval.retrieval.pipeline.cache_keys import key_of
from trueval.retrieval.pipeline.stage_resources import Begin
from trueval.tradeoff.config.grid import System
from trueval.tradeoff.config.plan import SweepPlan
from trueval.tradeoff.config.sweep_inputs import SweepInputs
from trueval.tradeoff.diagnosis.corpus_growth import AFTER_SEARCH, measure_growth
from trueval.tradeoff.diagnosis.diagnosis_results import GrownSystem
from trueval.tradeoff.diagnosis.loss_decomposition import decompose_loss
from trueval.tradeoff.diagnosis.query_performance_predictors import QueryNoise, route_pipeline
from trueval.tradeoff.diagnosis.tune import tune
from trueval.tradeoff.quality.changes import Bootstrap
from trueval.tradeoff.quality.quality_settings import QualitySettings
from trueval.tradeoff.runner.system_builder import one_line
from trueval.tradeoff.runner.system_store import KEY_LENGTH, SystemStore, write_json
from trueval.version import __version__

_log = logging.getLogger(__name__)

DERIVED: Final = "derived"
# Raised whenever loss decomposition, tuning or routing change, so that stored results are recomputed. 1: first version.
# 2: routing keeps what a router is certified on.
FORMAT: Final = 2
# Preference among systems with the same dense search for the loss decomposition.
LADDERS: Final = ("dense+rerank", "dense", "hybrid+rerank", "hybrid")


class AnalysisResults(NamedTuple):
    """The results of the analyses.

    Attributes:
        ladder: loss decomposition of each dense search setting.
        tuned: one result per graph, where the plan requests tuning.
        route: routing result, where the plan requests it; None otherwise.
        notes: analyses that failed, and why.
        growth: searches of thinned corpora, where the plan requests them.
    """

    ladder: list[dict[str, Any]]
    tuned: list[dict[str, Any]]
    route: dict[str, Any] | None
    notes: tuple[str, ...]
    growth: tuple[dict[str, Any], ...] = ()


class FinishedSystem(NamedTuple):
    """A finished system."""

    system: System
    key: str


def find_routed_system(plan: SweepPlan) -> System | None:
    """The system whose candidates are reranked to more than one depth; None without [route].

    Its depth is the largest of [route], so that one reranker run serves all.
    """
    first = next((each for each in plan.systems if each.reranks), None)
    if "route" not in plan.tables or first is None:
        return None
    depth = max(*plan.tables["route"]["depths"], first.settings["rerank"]["depth"])
    settings = {**first.settings, "rerank": {**first.settings["rerank"], "depth": depth}}
    return System(f"{first.name}, routed", first.method, first.rewrite, settings, first.contexts, first.values)


def chatter_of(plan: SweepPlan) -> QueryNoise | None:
    """The query noise whose drop is a signal of [route]; None where not requested."""
    table = plan.tables.get("route", {"drop": False})
    return QueryNoise(table["level"], table["language"], plan.measuring.seed) if table["drop"] else None


class Analyses:
    """Runs the analyses that a plan requests.

    Args:
        cache: cache of candidates and embeddings.
    """

    def __init__(
        self,
        plan: SweepPlan,
        inputs: SweepInputs,
        cache: Path,
        store: SystemStore,
        begin: Begin,
        account: Account | None = None,
    ) -> None:
        self.plan, self.inputs, self.cache, self.store, self.begin = plan, inputs, cache, store, begin
        self.account = account
        self.notes: list[str] = []
        self.measures = [str(each) for each in plan.measuring.at(min(k for one in plan.systems for k in one.contexts))]
        measuring = plan.measuring
        self.bootstrap = Bootstrap(measuring.level, measuring.resamples, measuring.seed)

    def derive(self, systems: Sequence[FinishedSystem]) -> AnalysisResults:
        """Run loss decomposition, tuning and routing."""
        searched = _by_search(systems)
        ladder = [self._cached_analysis("ladder", each, self._decompose_loss) for each in searched]
        graphs = [each for each in searched if read_spec(each.system.settings["index"]["spec"])[0].name == "hnsw"]
        tuned = (
            [self._cached_analysis("tuned", each, self._tune) for each in graphs] if "tune" in self.plan.tables else []
        )
        routed = find_routed_system(self.plan)
        first = next((each for each in systems if each.system.reranks), None)
        route = None
        if routed is not None and first is not None:
            route = self._cached_analysis("route", FinishedSystem(routed, first.key), self._route)
        growing = _by_retrieval(systems) if "grow" in self.plan.tables else []
        growth = _drop_missing([self._cached_analysis("growth", each, self._grow) for each in growing])
        return AnalysisResults(_drop_missing(ladder), _drop_missing(tuned), route, tuple(self.notes), tuple(growth))

    def _decompose_loss(self, system: System) -> dict[str, object]:
        return decompose_loss(
            **self._common(system), measures=self.measures, bootstrap=self.bootstrap, name=system.name
        ).to_dict()

    def _tune(self, system: System) -> dict[str, object]:
        within = self.plan.tables["tune"]["within"]
        found = tune(**self._common(system), measures=self.measures, bootstrap=self.bootstrap, within=within)
        return {"name": system.name, **found.to_dict()}

    def _grow(self, system: System) -> dict[str, object]:
        replicates, seed = self.plan.tables["grow"]["replicates"], self.plan.measuring.seed
        k = min(system.contexts)
        measure = str(self.plan.measuring.at(k)[0])
        found = measure_growth(**self._common(system), measure=measure, k=k, replicates=replicates, seed=seed)
        told: dict[str, object] = encode(GrownSystem(system.name, measure, k, found))
        return told

    def _route(self, system: System) -> dict[str, object]:
        table, seed = self.plan.tables["route"], self.plan.measuring.seed
        depths = sorted(table["depths"])
        rng = np.random.default_rng(seed)
        found = route_pipeline(
            **self._common(system),
            measure=self.measures[:1],
            rng=rng,
            depths=(depths[0], depths[-1]),
            noise=chatter_of(self.plan),
            rewrite=system.rewrite,
            bootstrap=self.bootstrap,
            account=self.account,
        )
        return {"name": system.name, **found.to_dict()}

    def _common(self, system: System) -> dict[str, Any]:
        measuring: QualitySettings = self.plan.measuring
        return {
            "collection": self.inputs.collections[system.rewrite],
            "settings": system.settings,
            "judgments": self.inputs.judgments,
            "policy": measuring.policy,
            "unjudged": measuring.unjudged,
            "cache": self.cache,
            "begin": lambda stage: self.begin(f"{system.name}: {stage}"),
        }

    def _cached_analysis(
        self, what: str, known: FinishedSystem, make: Callable[[System], dict[str, object]]
    ) -> dict[str, object] | None:
        """The stored result of the same analysis, or a new one; None where it fails."""
        file = self._file(what, known)
        try:
            if file is not None and file.is_file():
                kept: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
                return kept
            found = make(known.system)
            if file is not None:
                file.parent.mkdir(parents=True, exist_ok=True)
                write_json(file, found)
        except Exception as error:  # noqa: BLE001 a failed analysis must not stop measured results
            _log.error("%s of %s", what, known.system.name, exc_info=True)
            self.notes.append(f"{what} of {known.system.name}: {one_line(error)}")
            return None
        return found

    def _file(self, what: str, known: FinishedSystem) -> Path | None:
        if self.store.folder is None:
            return None
        measuring = self.plan.measuring
        decides = [
            FORMAT,
            __version__,
            known.key,
            known.system.name,
            self.measures,
            measuring.policy.to_dict(),
            measuring.unjudged,
            self.inputs.about["sha256"]["judgments"],
            [measuring.level, measuring.resamples, measuring.seed],
            self.plan.tables.get({"tuned": "tune", "growth": "grow"}.get(what, what)),
        ]
        return self.store.folder / DERIVED / f"{what}-{key_of(what, decides)[:KEY_LENGTH]}.json"


def _by_search(systems: Sequence[FinishedSystem]) -> list[FinishedSystem]:
    """One system per dense search setting, in order of appearance."""
    found: dict[str, FinishedSystem] = {}
    for each in systems:
        settings = each.system.settings
        if "embed" not in settings:
            continue
        kind, chosen = read_spec(settings["index"]["spec"])
        if kind.takes_of(chosen) != "vectors":
            continue
        way = json.dumps([each.system.rewrite, settings["embed"], settings["index"]], sort_keys=True)
        before = found.get(way)
        if before is None or LADDERS.index(each.system.method) < LADDERS.index(before.system.method):
            found[way] = each
    return list(found.values())


def _by_retrieval(systems: Sequence[FinishedSystem]) -> list[FinishedSystem]:
    """One system for each way to retrieve, in order of appearance: rerankers are left out of growth."""
    found: dict[str, FinishedSystem] = {}
    for each in systems:
        settings = {name: table for name, table in each.system.settings.items() if name not in AFTER_SEARCH}
        found.setdefault(json.dumps([each.system.rewrite, settings], sort_keys=True), each)
    return list(found.values())


def _drop_missing(entries: Sequence[dict[str, object] | None]) -> list[dict[str, object]]:
    return [each for each in entries if each is not None]
