"""Summaries of margins: means with the spread between runs and intervals over queries, and changes by an ablation.

A unit of the bootstrap is an author: the queries about him, each the mean of its runs, which are about the same texts.

    ΔΔ  = Δname under the ablation − Δname, of the same run and query
    ΔΔ% = the mean of ΔΔ / Δname over those runs and queries whose Δname is not too small

"Too small" is below .02 for cosines, as in P-B. For scores without that unit it is the same part of the scorer's own
reach, its mean Δboth: .02 is .0443 of the mean Δboth of P-B's Table 10, (.486 + .464 + .407 + .447) / 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from trueval.comparison.clusters import Units
from trueval.comparison.intervals import bootstrap_intervals
from trueval.comparison.resampling import thread_count
from trueval.numerics import or_null
from trueval.probes.ablations import BASE
from trueval.probes.names import MARGINS, Margins, NamesProbe
from trueval.standings.standings import Bools, Floats, Ints

KIND: Final = "probe-names"
# 1: the first.
FORMAT_VERSION: Final = 1
LEAST_COSINE: Final = 0.02
LEAST_PART: Final = 0.02 / ((0.486 + 0.464 + 0.407 + 0.447) / 4)
RESAMPLES: Final = 10_000
LEVEL: Final = 0.95


class Resampling(NamedTuple):
    """How intervals are made.

    Attributes:
        level: of the intervals.
        resamples: how many.
        seed: of the draws.
        threads: that share the work; they change nothing but the time.
    """

    level: float
    resamples: int
    seed: int
    threads: int


class Statistic(NamedTuple):
    """A mean over runs and queries.

    Attributes:
        mean: NaN where there is nothing to take it of.
        run_sd: standard deviation of the means of single runs; NaN of fewer than two.
        low: end of the interval over queries; NaN of fewer than two authors.
        high: likewise.
    """

    mean: float
    run_sd: float
    low: float
    high: float

    def to_dict(self) -> dict[str, float | None]:
        """The statistic in JSON; null where not available."""
        return {name: or_null(value) for name, value in self._asdict().items()}


def statistic(values: Floats, kept: Bools, authors: Ints, how: Resampling) -> Statistic:
    """Mean, spread between runs, and bootstrap interval over queries.

    Args:
        values: [run, query].
        kept: [run, query] which of them count.
        authors: [query] number of the author, whose queries are drawn together.
        how: intervals are made.
    """
    if not kept.any():
        return Statistic(*(np.nan,) * 4)
    counted = np.where(kept, values, 0.0)
    runs = [float(row[use].mean()) for row, use in zip(values, kept, strict=True) if use.any()]
    units = Units.of(authors)
    sums, sizes = units.sums(counted.sum(axis=0)), units.sums(kept.sum(axis=0).astype(np.float64))
    low, high = _ends(sums[sizes > 0], sizes[sizes > 0], how)
    spread = float(np.std(runs, ddof=1)) if len(runs) > 1 else np.nan
    return Statistic(float(values[kept].mean()), spread, low, high)


def _ends(sums: Floats, sizes: Floats, how: Resampling) -> tuple[float, float]:
    if len(sums) < 2:
        return np.nan, np.nan
    nothing = np.zeros(len(sums))
    columns = np.stack([sums, nothing], axis=1)
    found = bootstrap_intervals(
        columns,
        np.zeros_like(columns),
        np.array([0]),
        np.array([1]),
        level=how.level,
        resamples=how.resamples,
        seed=how.seed,
        threads=how.threads,
        sizes=sizes,
    )
    return float(found.expected[0, 0]), float(found.expected[0, 1])


def least_margin(probe: NamesProbe) -> float:
    """Δname below which a query is left out of percentages; infinite where the scorer keeps nothing apart."""
    if probe.unit == "cosine":
        return LEAST_COSINE
    reach = float(probe.margins[BASE].values[..., 2].mean())
    return LEAST_PART * reach if reach > 0 else np.inf


@dataclass(frozen=True)
class NamesResult:
    """What probes of names found, one for each scorer and language.

    Attributes:
        probes: in the order asked.
        how: intervals are made.
    """

    probes: tuple[NamesProbe, ...]
    how: Resampling

    def to_dict(self) -> dict[str, Any]:
        """The JSON of `trueval probe names`; null where not available."""
        from trueval.version import __version__

        return {
            "kind": KIND,
            "format": FORMAT_VERSION,
            "trueval": __version__,
            "level": self.how.level,
            "resamples": self.how.resamples,
            "scorers": [_probe_dict(each, self.how) for each in self.probes],
        }

    def __repr__(self) -> str:
        """The tables of `trueval probe names`."""
        from trueval.probes.views.names import printed  # late: only views know how results look

        return printed(self.to_dict())

    def rows(self) -> Iterator[dict[str, Any]]:
        """One flat row for each scorer and condition; see `rows`."""
        return rows(self.to_dict())


def summarise(
    probes: Iterable[NamesProbe],
    *,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = 0,
    threads: int | None = None,
) -> NamesResult:
    """Gather probes for a report.

    Args:
        probes: of scorers and languages.
        level: of intervals.
        resamples: of intervals.
        seed: of intervals.
        threads: that share the work; one for each processor if None.
    """
    return NamesResult(tuple(probes), Resampling(level, resamples, seed, thread_count(threads)))


def _probe_dict(probe: NamesProbe, how: Resampling) -> dict[str, Any]:
    least = least_margin(probe)
    named = ("language", "source", "queries", "runs", "seed", "texts", "unit")
    return {
        "name": probe.scorer,
        **{name: getattr(probe, name) for name in named},
        "grain": float(np.median(probe.margins[BASE].grain)),
        "least_margin": or_null(least if np.isfinite(least) else np.nan),
        "conditions": [_condition(probe, name, least, how) for name in probe.margins],
    }


def _condition(probe: NamesProbe, name: str, least: float, how: Resampling) -> dict[str, Any]:
    margins, base = probe.margins[name], probe.margins[BASE]
    everything = np.ones(margins.values.shape[:2], dtype=bool)
    found = [statistic(margins.values[..., at], everything, probe.authors, how) for at in range(len(MARGINS))]
    topic = found[1].mean
    return {
        "name": name,
        **{f"delta_{which}": each.to_dict() for which, each in zip(MARGINS, found, strict=True)},
        "name_over_topic": found[0].mean / topic if topic else None,
        "change": None if name == BASE else _change(margins, base, least, probe.authors, how),
        "kept_apart": float((margins.values[..., 0] > margins.grain).mean()),
        "within_grain": float((np.abs(margins.values[..., 0]) <= margins.grain).mean()),
        "tied": float((margins.values[..., 0] == 0).mean()),
    }


def _change(margins: Margins, base: Margins, least: float, authors: Ints, how: Resampling) -> Mapping[str, Any]:
    before, difference = base.values[..., 0], margins.values[..., 0] - base.values[..., 0]
    kept = before >= least
    part = np.divide(difference, before, out=np.zeros_like(difference), where=kept & (before != 0))
    everything = np.ones(kept.shape, dtype=bool)
    whole = float(before.mean())
    return {
        "absolute": statistic(difference, everything, authors, how).to_dict(),
        "relative": statistic(part, kept, authors, how).to_dict(),
        "relative_bundles": int(kept.sum()),
        "of_means": float(difference.mean()) / whole if whole else None,
    }


def rows(result: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """One flat row for each scorer, language and condition: the mean of each statistic under its name.

    Args:
        result: the JSON of `trueval probe names`.
    """
    for scorer in result["scorers"]:
        for condition in scorer["conditions"]:
            change = condition["change"] or {}
            statistics = {f"delta_{which}": condition[f"delta_{which}"] for which in MARGINS}
            statistics |= {"change": change.get("absolute", {}), "change_relative": change.get("relative", {})}
            yield {
                "scorer": scorer["name"],
                "language": scorer["language"],
                "condition": condition["name"],
                **{
                    key if end == "mean" else f"{key}_{end}": found.get(end)
                    for key, found in statistics.items()
                    for end in Statistic._fields
                },
                "relative_bundles": change.get("relative_bundles"),
                **{name: condition[name] for name in ("name_over_topic", "kept_apart", "within_grain", "tied")},
            }
