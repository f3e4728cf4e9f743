"""Results of noise probes: means over queries with bootstrap intervals, by condition, as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from trueval.collection import Collection
from trueval.comparison.resampling.bootstrap_intervals import bootstrap_intervals
from trueval.comparison.resampling.resampled_sums import thread_count
from trueval.comparison.resampling.reshuffle import DEPTH, PERSISTENCE, K
from trueval.numerics import or_null
from trueval.probes.denoising_accuracy import count_changed_queries, measure_denoising_by_level
from trueval.probes.noise import NoiseProbe
from trueval.probes.noise_settings import CLEAN, RULES, NoiseCondition
from trueval.probes.query_noise import variety
from trueval.standings.standings import Floats
from trueval.version import __version__

KIND: Final = "probe-noise"
# 1: first version.
FORMAT_VERSION: Final = 1
RESAMPLES: Final = 10_000
LEVEL: Final = 0.95


@dataclass(frozen=True, eq=False)
class NoiseResult:
    """Noise probes of several pipelines over one collection.

    Attributes:
        denoiser: accuracy of the denoising rules and the number of clean queries they change; None where the rules are
            not used.
    """

    probes: tuple[NoiseProbe, ...]
    denoiser: Mapping[str, Any] | None

    def to_dict(self) -> dict[str, Any]:
        """The JSON of `trueval probe noise`; null if not available."""
        first = self.probes[0]
        return {
            "kind": KIND,
            "format": FORMAT_VERSION,
            "trueval": __version__,
            "collection": first.collection,
            "queries": len(first.query_ids),
            "seed": first.design.seed,
            "policy": first.policy.to_dict(),
            "level": LEVEL,
            "resamples": RESAMPLES,
            "reshuffle": {"k": K, "depth": DEPTH, "p": PERSISTENCE},
            "models": [_model(each) for each in self.probes],
            "denoiser": None if self.denoiser is None else dict(self.denoiser),
        }


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
    return NoiseResult(tuple(probes), {"clean": count_changed_queries(collection.queries.values()), "stripped": strips})


def _model(probe: NoiseProbe) -> dict[str, Any]:
    columns: dict[tuple[int, str], Floats] = {}
    for row in range(len(probe.conditions)):
        if probe.cosines is not None:
            columns[row, "cosine"], columns[row, "drop"] = probe.cosines[row], 1 - probe.cosines[row]
        columns |= {(row, name): values[row] for name, values in probe.lists._asdict().items()}
        columns |= {(row, name): values[row] - values[0] for name, values in probe.worth.items()}
    found = means(columns, probe.design.seed)
    return {
        "name": probe.name,
        "language": probe.design.language,
        "queries": len(probe.query_ids),
        "levels": [_level(probe, row, found) for row in range(len(probe.conditions))],
        "notes": list(probe.notes),
    }


def _level(probe: NoiseProbe, row: int, found: Mapping[tuple[int, str], Mapping[str, Any]]) -> dict[str, Any]:
    condition, language = probe.conditions[row], probe.design.language
    statistics = {name: found.get((row, name)) for name in ("cosine", "drop", "overlap", "tau", "rbo")}
    measures = {}
    for name, values in probe.worth.items():
        ends = found[row, name]
        both = ~np.isnan(values[0] - values[row])  # so that the change is exactly their difference
        clean, noisy = (or_null(float(values[at, both].mean())) if both.any() else None for at in (0, row))
        measures[name] = {
            "clean": clean,
            "noisy": noisy,
            "change": ends["mean"],
            "low": ends["low"],
            "high": ends["high"],
        }
    return {
        **condition._asdict(),
        "templates": condition.templates or None,
        "added": float(probe.added[row].mean()),
        "variety": variety(condition.level, language, condition.templates) if condition.level else 1,
        **statistics,
        "measures": measures,
    }


def means(columns: Mapping[tuple[int, str], Floats], seed: int) -> dict[tuple[int, str], dict[str, float | None]]:
    """Means over queries with intervals from the same resamples; queries without a value are skipped per column.

    Args:
        columns: name → [query] values.

    Returns:
        name → mean, low and high; null if not available.
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
            told = {"mean": mean, "low": float(ends[place, 0]), "high": float(ends[place, 1])}
            found[name] = {part: or_null(value) for part, value in told.items()}
    return found


def describe_condition(condition: Mapping[str, Any]) -> str:
    """A condition in words.

    Args:
        condition: an entry of "levels" in the result.

    >>> describe_condition({"level": 3, "templates": "known", "denoised": "rules", "normalised": True})
    'level 3, known templates, denoised by rules, normalised'
    """
    return NoiseCondition(
        **{name: condition[name] or getattr(CLEAN, name) for name in NoiseCondition._fields}
    ).description


def is_clean(condition: Mapping[str, Any]) -> bool:
    """Whether an entry of "levels" is the clean query."""
    names = NoiseCondition._fields
    return tuple(condition[name] or CLEAN._asdict()[name] for name in names) == CLEAN
