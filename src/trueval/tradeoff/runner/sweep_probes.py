"""Probes of a sweep: the sensitivity of each retrieval setting to names and query noise, as table columns.

    names    margins of stimuli by the scorer of a system: cosines of its embedder at its dimension, BM25, or both
    noise    the sweep's own queries with noise of a level, searched by the system: drop of the cosine, overlap

Rerankers are not involved: the probes concern the stages before. So systems that differ only in reranker, index or
contexts share the names probe; each probe is computed once, and stored in probes/ like other parts.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from trueval.collection import Collection, texts_in_order
from trueval.models.output_reuse import TEXT
from trueval.numerics import or_null
from trueval.probes.ablations import BASE
from trueval.probes.authors import sample_people
from trueval.probes.margin_summary import summarise
from trueval.probes.model_scorers import CosineScorer, ModelOutputs, part_of
from trueval.probes.names import NamesDesign, design_names, probe_scorer
from trueval.probes.noise import NoiseProbe, probe_pipelines, texts_to_embed
from trueval.probes.noise_settings import CLEAN, NONE, NoiseCondition, NoiseSettings
from trueval.probes.probe_estimate import texts_of_names
from trueval.probes.query_noise import KNOWN
from trueval.probes.scorer import Bm25Scorer, Hybrid, PairScorer
from trueval.report.json_fields import encode
from trueval.retrieval.pipeline.cache_keys import key_of
from trueval.retrieval.pipeline.config import Settings
from trueval.retrieval.pipeline.missing_outputs import MissingOutputs
from trueval.retrieval.pipeline.pipeline import Pipeline
from trueval.retrieval.pipeline.stage_resources import Begin
from trueval.tradeoff.config.grid import System
from trueval.tradeoff.config.plan import SweepPlan
from trueval.tradeoff.config.sweep_inputs import SweepInputs
from trueval.tradeoff.runner.analyses import FinishedSystem
from trueval.tradeoff.runner.system_builder import SystemBuilder, one_line
from trueval.tradeoff.runner.system_store import KEY_LENGTH, SystemStore, write_json
from trueval.version import __version__

_log = logging.getLogger(__name__)

FOLDER: Final = "probes"
OF_PROBES: Final = "probe texts"  # stage of a dry run
# Raised whenever the computation of a probe changes, so that stored results are recomputed. 1: first version.
FORMAT: Final = 1
Probed = dict[str, Any]


class SweepProbes:
    """Runs the probes, once per distinct setting.

    Args:
        plan: plan of the sweep, with [probes].
        maker: builder that has loaded the models.
        cache: folder of outputs and candidates.
    """

    def __init__(
        self, plan: SweepPlan, inputs: SweepInputs, maker: SystemBuilder, cache: Path, store: SystemStore, begin: Begin
    ) -> None:
        self.table: Mapping[str, Any] = plan.tables["probes"]
        self.plan, self.inputs, self.maker, self.cache = plan, inputs, maker, cache
        self.store, self.begin = store, begin
        self.known: dict[str, Probed | None] = {}
        self.notes: list[str] = []

    def probe(self, systems: Sequence[FinishedSystem]) -> dict[str, Probed]:
        """System key → its probe results."""
        found: dict[str, Probed] = {}
        for each in systems:
            names = self._names(each.system) if self.table["names"] else None
            noise = self._noise(each.system) if self.table["noise"] else None
            found[each.key] = {"names": names, "noise": noise}
        return found

    def count(self, system: System, counts: MissingOutputs) -> None:
        """Count the probe texts that are not in the cache of the system's embedder."""
        work = self.maker.work(system)
        model = work.embedder()
        if self.table["names"] and not self._is_cached(self._names_decides(system)):
            for texts in texts_of_names([self._design()]):
                for name, items in texts.items():
                    counts.add_part(model, part_of(model, name, items), TEXT, OF_PROBES)
        if self.table["noise"] and not self._is_cached(self._noise_decides(system)):
            asked = texts_to_embed(self._collection(system), self._noise_design())
            counts.add_part(model, part_of(model, "queries", texts_in_order(asked)), work.reuse("embed"), OF_PROBES)

    def _names(self, system: System) -> Probed | None:
        return self._cached_probe(f"names of {system.name}", self._names_decides(system), lambda: self._margins(system))

    def _names_decides(self, system: System) -> list[object]:
        """Everything that determines a system's names probe, its kind first."""
        embed = system.settings.get("embed")
        chosen = [self.table[name] for name in ("language", "queries", "runs", "ablations")]
        measuring, sparse = self.plan.measuring, "sparse" in system.settings
        about = None if embed is None else self.maker.work(system).candidate_settings("embed")
        return ["names", about, sparse, *chosen, measuring.level, measuring.resamples]

    def _design(self) -> NamesDesign:
        language = self.table["language"]
        return design_names(
            sample_people(language),
            language=language,
            queries=self.table["queries"],
            runs=self.table["runs"],
            seed=self.plan.measuring.seed,
            ablations=self.table["ablations"],
        )

    def _margins(self, system: System) -> Probed:
        """Margins of a system's scorer, averaged over stimuli."""
        measuring = self.plan.measuring
        found = probe_scorer(self._scorer(system), self._design())
        names = summarise([found], level=measuring.level, resamples=measuring.resamples, seed=measuring.seed)
        (scorer,) = names.result().scorers
        conditions = {each.name: each for each in scorer.conditions}
        base = conditions.pop(BASE)
        separation = ("delta_name", "delta_topic", "name_over_topic", "kept_apart")
        return {
            **{name: getattr(scorer, name) for name in ("name", "unit", "language", "queries", "runs")},
            **{name: encode(getattr(base, name)) for name in separation},
            "changes": {name: encode(each.change) for name, each in conditions.items()},
        }

    def _scorer(self, system: System) -> PairScorer:
        """The first-stage scorer of a system."""
        parts: list[PairScorer] = []
        if "embed" in system.settings:
            work = self.maker.work(system)
            step = self.begin(f"{system.name}: names")
            passed = ModelOutputs(work.embedder(), folder=self.cache / "outputs", step=step)
            parts.append(CosineScorer(passed, dimension=system.settings["embed"]["dimension"]))
        if "sparse" in system.settings:
            parts.append(Bm25Scorer(self.table["language"]))
        return parts[0] if len(parts) == 1 else Hybrid(" + ".join(each.name for each in parts), parts)

    def _noise(self, system: System) -> Probed | None:
        return self._cached_probe(
            f"noise of {system.name}", self._noise_decides(system), lambda: self._noise_effect(system)
        )

    def _noise_decides(self, system: System) -> list[object]:
        """Everything that determines a system's noise probe, its kind first."""
        asked = [self.table[name] for name in ("language", "queries", "level")]
        # The key of the results without a reranker: the models, the indexes and all texts.
        found = self.maker.work(replace(system, settings=_drop_reranker(system))).last_key
        measured = self.inputs.about["sha256"]["judgments"], self.plan.measuring.policy.to_dict()
        return ["noise", found, system.rewrite, *measured, *asked]

    def _noise_design(self) -> NoiseSettings:
        language, level = self.table["language"], self.table["level"]
        return NoiseSettings(
            language, (level,), (KNOWN,), (NONE,), (False,), self.table["queries"], self.plan.measuring.seed
        )

    def _collection(self, system: System) -> Collection:
        return replace(self.inputs.collections[system.rewrite], judgments=self.inputs.judgments)

    def _noise_effect(self, system: System) -> Probed:
        """Effect of noise on the queries of the sweep, averaged over queries."""
        begin: Begin = lambda stage: self.begin(f"{system.name}, noise: {stage}")  # noqa: E731  a name for each stage
        (found,) = probe_pipelines(
            [Pipeline(_drop_reranker(system), system.name)],
            self._collection(system),
            self._noise_design(),
            measures="R@10",
            cache=self.cache,
            begin=begin,
            account=self.maker.shared[system.rewrite].account,
            policy=self.plan.measuring.policy,
        )
        return noise_entry(found, self.table["level"])

    def _cached_probe(self, what: str, decides: Sequence[object], make: Callable[[], Probed]) -> Probed | None:
        """The stored probe result, or a new one; None, with a note, where the probe fails."""
        key = self._key(decides)
        if key in self.known:
            return self.known[key]
        file, found = self._file(decides), self._read(decides)
        try:
            if found is None:
                found = make()
                if file is not None:
                    file.parent.mkdir(parents=True, exist_ok=True)
                    write_json(file, found)
        except Exception as error:  # noqa: BLE001 a failed probe must not stop measured results
            _log.error("%s", what, exc_info=True)
            self.notes.append(f"{what}: {one_line(error)}")
        self.known[key] = found
        return found

    def _key(self, decides: Sequence[object]) -> str:
        return key_of("probe", FORMAT, __version__, self.plan.measuring.seed, decides)[:KEY_LENGTH]

    def _file(self, decides: Sequence[object]) -> Path | None:
        folder = self.store.folder
        return None if folder is None else folder / FOLDER / f"{decides[0]}-{self._key(decides)}.json"

    def _is_cached(self, decides: Sequence[object]) -> bool:
        return self._read(decides) is not None

    def _read(self, decides: Sequence[object]) -> Probed | None:
        """The stored result; None if missing or damaged: then it is recomputed."""
        file = self._file(decides)
        if file is None or not file.is_file():
            return None
        try:
            found = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) else None


def _drop_reranker(system: System) -> Settings:
    """The settings of a system without its reranker and what repairs scores."""
    return {name: each for name, each in system.settings.items() if name not in ("rerank", "repair")}


def noise_entry(found: NoiseProbe, level: int) -> Probed:
    """The noise-probe entry of one level in sweep.json."""
    row = found.row(NoiseCondition(level, KNOWN, NONE, False))
    overlap = found.lists.overlap[row]
    clean, noisy = (found.worth["R@10"][found.row(each)] for each in (CLEAN, found.conditions[row]))
    return {
        "language": found.design.language,
        "level": level,
        "queries": len(found.query_ids),
        "drop": None if found.cosines is None else or_null(float(np.mean(1 - found.cosines[row]))),
        "overlap": _mean(overlap),
        "change": {"R@10": _mean(noisy - clean)},
    }


def _mean(values: Any) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else None
