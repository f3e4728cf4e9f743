"""The probes of a sweep: what each way to find documents makes of names and of chatter, as columns of its table.

    names    margins of bundles by the scorer of a system: cosines of its embedder at its dimension, BM25, or both
    noise    the sweep's own queries with chatter of a level, searched by the system: drop of the cosine, overlap

A reranker plays no part: what it gets is what was found before it. So systems that differ in it, in their index or in
their contexts share the probe of names, and each probe is computed once, and kept in probes/ like other parts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from trueval.collection import Collection
from trueval.numerics import or_null
from trueval.probes.ablations import BASE
from trueval.probes.chatter import KNOWN
from trueval.probes.model_scorers import CosineScorer, Passed
from trueval.probes.names import design_names, probe_names
from trueval.probes.noise import CLEAN, NONE, Condition, Design, NoiseProbe, probe_noise
from trueval.probes.people import sample_people
from trueval.probes.scorers import Bm25Scorer, Hybrid, PairScorer
from trueval.probes.summary import summarise
from trueval.retrieval.pipeline import Pipeline
from trueval.retrieval.stages.keys import key_of
from trueval.retrieval.stages.shared import Begin
from trueval.tradeoff.derived import Known
from trueval.tradeoff.grid import System
from trueval.tradeoff.inputs import Inputs
from trueval.tradeoff.making import Maker, one_line
from trueval.tradeoff.plan import Plan
from trueval.tradeoff.store import KEY_LENGTH, Store, write_json
from trueval.version import __version__

FOLDER: Final = "probes"
# Raised whenever a probe is computed in another way: what was kept is then computed again.
# 1: the first.
FORMAT: Final = 1
Probed = dict[str, Any]


class Prober:
    """Probes the systems of a sweep, each kind once.

    Args:
        plan: of the sweep, with [probes].
        inputs: of the sweep.
        maker: that has loaded the models.
        cache: where outputs and candidates are kept.
        store: the directory of the sweep.
        begin: as in sweep.
    """

    def __init__(self, plan: Plan, inputs: Inputs, maker: Maker, cache: Path, store: Store, begin: Begin) -> None:
        self.table: Mapping[str, Any] = plan.tables["probes"]
        self.plan, self.inputs, self.maker, self.cache = plan, inputs, maker, cache
        self.store, self.begin = store, begin
        self.known: dict[str, Probed | None] = {}
        self.notes: list[str] = []

    def probe(self, systems: Sequence[Known]) -> dict[str, Probed]:
        """Key of each system → what probes say of it.

        Args:
            systems: that are done.
        """
        found: dict[str, Probed] = {}
        for each in systems:
            names = self._names(each.system) if self.table["names"] else None
            noise = self._noise(each.system) if self.table["noise"] else None
            found[each.key] = {"names": names, "noise": noise}
        return found

    def _names(self, system: System) -> Probed | None:
        embed = system.settings.get("embed")
        chosen = [self.table[name] for name in ("language", "queries", "runs", "ablations")]
        sparse = "sparse" in system.settings
        return self._kept(f"names of {system.name}", ["names", embed, sparse, *chosen], lambda: self._margins(system))

    def _margins(self, system: System) -> Probed:
        """Margins of the scorer of a system, as means over bundles."""
        language = self.table["language"]
        design = design_names(
            sample_people(language),
            language=language,
            queries=self.table["queries"],
            runs=self.table["runs"],
            seed=self.plan.measuring.seed,
            ablations=self.table["ablations"],
        )
        measuring = self.plan.measuring
        found = probe_names(self._scorer(system), design)
        told = summarise([found], level=measuring.level, resamples=measuring.resamples, seed=measuring.seed).to_dict()
        (scorer,) = told["scorers"]
        conditions = {each["name"]: each for each in scorer["conditions"]}
        base = conditions.pop(BASE)
        return {
            **{name: scorer[name] for name in ("name", "unit", "language", "queries", "runs")},
            **{name: base[name] for name in ("delta_name", "delta_topic", "name_over_topic", "kept_apart")},
            "changes": {name: each["change"] for name, each in conditions.items()},
        }

    def _scorer(self, system: System) -> PairScorer:
        """What gives a query and a document their number before a reranker."""
        parts: list[PairScorer] = []
        if "embed" in system.settings:
            work = self.maker.work(system)
            step = self.begin(f"{system.name}: names")
            passed = Passed(work.embedder(), folder=self.cache / "outputs", step=step)
            parts.append(CosineScorer(passed, dimension=system.settings["embed"]["dimension"]))
        if "sparse" in system.settings:
            parts.append(Bm25Scorer(self.table["language"]))
        return parts[0] if len(parts) == 1 else Hybrid(" + ".join(each.name for each in parts), parts)

    def _noise(self, system: System) -> Probed | None:
        settings = {name: each for name, each in system.settings.items() if name != "rerank"}
        texts = self.inputs.about["sha256"]["judgments"], sorted(self.inputs.texts.items()), system.rewrite
        asked = [self.table[name] for name in ("language", "queries", "level")]
        decides = ["noise", settings, *texts, *asked, self._documents()]
        return self._kept(f"noise of {system.name}", decides, lambda: self._moved(system, settings))

    def _documents(self) -> Any:
        return self.maker.work(self.plan.systems[0]).about()["sha256"]["documents"]

    def _moved(self, system: System, settings: Mapping[str, Any]) -> Probed:
        """What chatter does to the queries of the sweep, as means over them."""
        language, level = self.table["language"], self.table["level"]
        design = Design(
            language, (level,), (KNOWN,), (NONE,), (False,), self.table["queries"], self.plan.measuring.seed
        )
        collection: Collection = self.inputs.collections[system.rewrite]
        collection = replace(collection, judgments=self.inputs.judgments)
        begin: Begin = lambda stage: self.begin(f"{system.name}, noise: {stage}")  # noqa: E731  a name for each stage
        found = probe_noise(
            Pipeline(settings, system.name),
            collection,
            design,
            measures="R@10",
            cache=self.cache,
            begin=begin,
            policy=self.plan.measuring.policy,
        )
        return noise_entry(found, level)

    def _kept(self, what: str, decides: list[Any], make: Callable[[], Probed]) -> Probed | None:
        """What was probed before, or is now; None where it cannot be, with a note."""
        key = key_of("probe", FORMAT, __version__, self.plan.measuring.seed, decides)[:KEY_LENGTH]
        if key in self.known:
            return self.known[key]
        file = None if self.store.folder is None else self.store.folder / FOLDER / f"{decides[0]}-{key}.json"
        found: Probed | None = None
        try:
            if file is not None and file.is_file():
                found = json.loads(file.read_text(encoding="utf-8"))
            else:
                found = make()
                if file is not None:
                    file.parent.mkdir(parents=True, exist_ok=True)
                    write_json(file, found)
        except Exception as error:  # noqa: BLE001  a probe that fails stops nothing that is measured
            self.notes.append(f"{what}: {one_line(error)}")
        self.known[key] = found
        return found


def noise_entry(found: NoiseProbe, level: int) -> Probed:
    """What a probe of noise says of one level, as sweep.json has it.

    Args:
        found: of a pipeline.
        level: of the chatter.
    """
    row = found.row(Condition(level, KNOWN, NONE, False))
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
