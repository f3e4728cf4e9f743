"""Results of noise probes: means over queries with bootstrap intervals, by condition, as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Final

import numpy as np

from trueval.collection import Collection
from trueval.comparison.resampling.bootstrap_intervals import bootstrap_intervals
from trueval.comparison.resampling.resampled_sums import thread_count
from trueval.comparison.resampling.reshuffle import DEPTH, PERSISTENCE, K
from trueval.probes.denoising_accuracy import count_changed_queries, measure_denoising_by_level
from trueval.probes.noise import NoiseProbe
from trueval.probes.noise_result import (
    BootstrapMean,
    Denoising,
    MeasureChange,
    NoiseLevel,
    NoiseSummary,
    NoisySystem,
    ReshuffleSettings,
)
from trueval.probes.noise_settings import RULES
from trueval.probes.query_noise import variety
from trueval.report.number_texts import NOISE
from trueval.report.result import ResultHolder
from trueval.standings.standings import Floats

RESAMPLES: Final = 10_000
LEVEL: Final = 0.95


@dataclass(frozen=True, eq=False, repr=False)
class NoiseResult(ResultHolder):
    """Noise probes of several pipelines over one collection.

    Attributes:
        denoiser: accuracy of the denoising rules and the number of clean queries they change; None where the rules are
            not used.
    """

    probes: tuple[NoiseProbe, ...]
    denoiser: Denoising | None

    def result(self) -> NoiseSummary:
        """Means over queries under each condition."""
        first = self.probes[0]
        return NoiseSummary(
            first.collection,
            len(first.query_ids),
            first.design.seed,
            first.policy.to_dict(),
            LEVEL,
            RESAMPLES,
            ReshuffleSettings(K, DEPTH, PERSISTENCE),
            tuple(map(_summarize_system, self.probes)),
            self.denoiser,
        )


def summarize_noise(probes: Sequence[NoiseProbe], collection: Collection) -> NoiseResult:
    """Summarize probes, and measure the denoising rules where used.

    Args:
        probes: probes of one design, in the order of the tables.
        collection: collection whose clean queries the rules should leave unchanged.
    """
    design = probes[0].design
    if RULES not in design.denoised:
        return NoiseResult(tuple(probes), None)
    asked = [collection.queries[query] for query in probes[0].query_ids]
    strips = measure_denoising_by_level(asked, design.language, design.levels, design.templates, design.seed)
    return NoiseResult(tuple(probes), Denoising(count_changed_queries(collection.queries.values()), tuple(strips)))


def _summarize_system(probe: NoiseProbe) -> NoisySystem:
    columns: dict[tuple[int, str], Floats] = {}
    for row in range(len(probe.conditions)):
        if probe.cosines is not None:
            columns[row, "cosine"], columns[row, "drop"] = probe.cosines[row], 1 - probe.cosines[row]
        columns |= {(row, name): values[row] for name, values in probe.lists._asdict().items()}
        columns |= {(row, name): values[row] - values[0] for name, values in probe.worth.items()}
    found = means(columns, probe.design.seed)
    levels = tuple(_level(probe, row, found) for row in range(len(probe.conditions)))
    return NoisySystem(probe.name, probe.design.language, len(probe.query_ids), levels, tuple(probe.notes))


def _level(probe: NoiseProbe, row: int, found: Mapping[tuple[int, str], BootstrapMean]) -> NoiseLevel:
    condition, language = probe.conditions[row], probe.design.language
    return NoiseLevel(
        condition.level,
        condition.templates or None,
        condition.denoised,
        condition.normalised,
        added=float(probe.added[row].mean()),
        variety=variety(condition.level, language, condition.templates) if condition.level else 1,
        cosine=found.get((row, "cosine")),
        drop=found.get((row, "drop")),
        overlap=found[row, "overlap"],
        tau=found[row, "tau"],
        rbo=found[row, "rbo"],
        measures={name: _change(values[0], values[row], found[row, name]) for name, values in probe.worth.items()},
    )


def _change(clean: Floats, noisy: Floats, ends: BootstrapMean) -> MeasureChange:
    """The change of a measure over the queries with both values: exactly the difference of their means."""
    both = ~np.isnan(clean - noisy)
    if not both.any():
        return MeasureChange(np.nan, np.nan, *astuple(ends))
    return MeasureChange(
        float(clean[both].mean()),
        float(noisy[both].mean()),
        ends.mean,
        ends.low,
        ends.high,
        queries=int(both.sum()),
        lost=int((noisy[both] - clean[both] < -NOISE).sum()),
    )


def means(columns: Mapping[tuple[int, str], Floats], seed: int) -> dict[tuple[int, str], BootstrapMean]:
    """Means over queries with intervals from the same resamples; queries without a value are skipped per column.

    Args:
        columns: name → [query] values.

    Returns:
        name → mean with its interval; NaN if not available.
    """
    by_mask: dict[bytes, list[tuple[int, str]]] = {}
    for name, values in columns.items():
        by_mask.setdefault((~np.isnan(values)).tobytes(), []).append(name)
    found = {}
    for mask, names in by_mask.items():
        kept = np.frombuffer(mask, dtype=bool)
        table = np.array([*(columns[name][kept] for name in names), np.zeros(int(kept.sum()))]).T
        count = len(names)
        ends = bootstrap_intervals(
            table,
            np.zeros_like(table),
            np.arange(count),
            np.full(count, count),
            level=LEVEL,
            resamples=RESAMPLES,
            seed=seed,
            threads=thread_count(None),
        ).expected
        for place, name in enumerate(names):
            mean = float(table[:, place].mean()) if len(table) else np.nan
            found[name] = BootstrapMean(mean, float(ends[place, 0]), float(ends[place, 1]))
    return found
