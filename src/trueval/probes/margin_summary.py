"""Summaries of margins: means with spread between runs and intervals over queries, and changes under ablations.

The bootstrap resamples authors: the queries on one author, each averaged over its runs, share texts.

    ΔΔ  = Δname under the ablation − Δname, of the same run and query
    ΔΔ% = the mean of ΔΔ / Δname over those runs and queries whose Δname is not too small

"Too small" is below .02 for cosines, as in P-B. For scores on another scale it is the same fraction of the scorer's
mean Δboth: .02 is .0443 of the mean Δboth of P-B's Table 10, (.486 + .464 + .407 + .447) / 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from trueval.comparison.resampling.bootstrap_intervals import bootstrap_intervals
from trueval.comparison.resampling.clusters import QueryUnits
from trueval.comparison.resampling.resampled_sums import thread_count
from trueval.probes.ablations import BASE
from trueval.probes.names import MARGINS, NamesProbe
from trueval.probes.names_result import ConditionMargins, MarginChange, NamesSummary, ScorerMargins, Statistic
from trueval.report.result import ResultHolder
from trueval.standings.standings import Bools, Floats, Ints

LEAST_COSINE: Final = 0.02
LEAST_PART: Final = 0.02 / ((0.486 + 0.464 + 0.407 + 0.447) / 4)
RESAMPLES: Final = 10_000
LEVEL: Final = 0.95


class ResamplingSettings(NamedTuple):
    """The settings of the bootstrap.

    Attributes:
        threads: number of threads; affects only the running time.
    """

    level: float
    resamples: int
    seed: int
    threads: int


def statistics(values: Floats, kept: Bools, authors: Ints, how: ResamplingSettings) -> list[Statistic]:
    """Mean, spread between runs, and bootstrap interval over queries, for several values with the same resamples.

    Args:
        kept: [run, query] whether the value counts.
        authors: [query] index of the author; the queries of an author are drawn together.
        how: settings of the bootstrap.
    """
    if not kept.any():
        return [Statistic(*(np.nan,) * 4)] * len(values)
    counted = np.where(kept, values, 0.0)
    sizes = kept.sum(axis=1)
    runs = (counted.sum(axis=2)[:, sizes > 0] / sizes[sizes > 0]) if sizes.any() else np.zeros((len(values), 0))
    spread = runs.std(axis=1, ddof=1) if runs.shape[1] > 1 else np.full(len(values), np.nan)
    units = QueryUnits.of(authors)
    found = _ends(units.sums(counted.sum(axis=1).T), units.sums(kept.sum(axis=0).astype(np.float64)), how)
    means = [float(each[kept].mean()) for each in values]
    return [Statistic(*each) for each in zip(means, spread.tolist(), *found.T.tolist(), strict=True)]


def _ends(sums: Floats, sizes: Floats, how: ResamplingSettings) -> Floats:
    """[value, 2] interval limits.

    Args:
        sizes: [unit] number of values in each sum; units without any are left out.
        how: settings of the bootstrap.
    """
    sums, sizes, count = sums[sizes > 0], sizes[sizes > 0], sums.shape[1]
    if len(sums) < 2:
        return np.full((count, 2), np.nan)
    # Each against a column of 0, since the interval is of a mean, not of a difference.
    columns = np.concatenate([sums, np.zeros((len(sums), 1))], axis=1)
    return bootstrap_intervals(
        columns,
        np.zeros_like(columns),
        np.arange(count),
        np.full(count, count),
        level=how.level,
        resamples=how.resamples,
        seed=how.seed,
        threads=how.threads,
        sizes=sizes,
    ).expected


def least_margin(probe: NamesProbe) -> float:
    """Smallest Δname for which percentages are computed; infinite where the scorer separates nothing."""
    if probe.unit == "cosine":
        return LEAST_COSINE
    reach = float(probe.margins[BASE].values[..., 2].mean())
    return LEAST_PART * reach if reach > 0 else np.inf


@dataclass(frozen=True, repr=False)
class NamesResult(ResultHolder):
    """Results of the names probe, one per scorer and language.

    Attributes:
        probes: probes in the requested order.
        how: settings of the bootstrap.
    """

    probes: tuple[NamesProbe, ...]
    how: ResamplingSettings

    def result(self) -> NamesSummary:
        """The summary of all scorers."""
        scorers = tuple(_summarize_probe(each, self.how) for each in self.probes)
        return NamesSummary(self.how.level, self.how.resamples, scorers)


def summarise(
    probes: Iterable[NamesProbe],
    *,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = 0,
    threads: int | None = None,
) -> NamesResult:
    """Summarize probes for a report.

    Args:
        threads: number of threads; one per processor if None.
    """
    return NamesResult(tuple(probes), ResamplingSettings(level, resamples, seed, thread_count(threads)))


def _summarize_probe(probe: NamesProbe, how: ResamplingSettings) -> ScorerMargins:
    least = least_margin(probe)
    return ScorerMargins(
        probe.scorer,
        probe.language,
        probe.source,
        probe.queries,
        probe.runs,
        probe.seed,
        probe.texts,
        probe.unit,
        grain=float(np.median(probe.margins[BASE].grain)),
        least_margin=None if np.isinf(least) else least,
        conditions=tuple(_conditions(probe, least, how)),
    )


def _conditions(probe: NamesProbe, least: float, how: ResamplingSettings) -> Iterator[ConditionMargins]:
    """The entries of all conditions; conditions with the same queries share resamples."""
    values = np.stack([margins.values for margins in probe.margins.values()])  # [condition, run, query, 3]
    before = values[0, ..., 0]
    kept = before >= least
    difference = values[..., 0] - before
    part = np.divide(difference, before, out=np.zeros_like(difference), where=kept & (before != 0))
    everything = np.ones(kept.shape, dtype=bool)
    stacked = np.concatenate([np.moveaxis(values, 3, 1).reshape(-1, *kept.shape), difference])
    found = statistics(stacked, everything, probe.authors, how)
    relative = statistics(part, kept, probe.authors, how)
    for at, (name, margins) in enumerate(probe.margins.items()):
        of_name, topic, both = found[len(MARGINS) * at : len(MARGINS) * (at + 1)]
        change = MarginChange(
            found[len(MARGINS) * len(values) + at],
            relative[at],
            relative_bundles=int(kept.sum()),
            of_means=_ratio(float(difference[at].mean()), float(before.mean())),
        )
        delta = margins.values[..., 0]
        yield ConditionMargins(
            name,
            of_name,
            topic,
            both,
            # Where a scorer does not separate topics, a ratio with Δtopic is arbitrary.
            name_over_topic=_ratio(of_name.mean, topic.mean) if topic.mean > 0 else None,
            change=None if name == BASE else change,
            kept_apart=float((delta > margins.grain).mean()),
            within_grain=float((np.abs(delta) <= margins.grain).mean()),
            tied=float((delta == 0).mean()),
        )


def _ratio(one: float, other: float) -> float | None:
    return one / other if other else None
