"""The frontier of a sweep: who is on it and how surely, what each rule chooses, and what to work on next.

found = frontier("results", max_latency_ms=500, max_cost=2.5)
found.points[3]["probability"], found.rules[0]["answer"]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from trueval.comparison.limits import rounding
from trueval.comparison.resampling.resampled_sums import thread_count
from trueval.errors import PolicyError, nearest
from trueval.latency.jitter import log_percentiles, separated
from trueval.standings.standings import Bools, Floats
from trueval.tradeoff.frontier.configuration_groups import Group, group
from trueval.tradeoff.frontier.rules import Choice, Known, Limits, Target, apply_rules
from trueval.tradeoff.quality.pareto import PARETO, Objectives, check_rule, on_frontier
from trueval.tradeoff.quality.resamples import Qualities, draw_latencies, draw_qualities, features_of, resample_means
from trueval.tradeoff.quality.sweep_loader import PERCENTILES, Measured, numbers, read_sweep

RESAMPLES: Final = 2000
LEVEL: Final = 0.95
SURE: Final = 0.5
WITHOUT_PRICES: Final = (
    'Add a name of the price book to the sweep file, such as [prices] generator = "gpt-5-mini", and sweep again.'
)
WITHOUT_TIMES: Final = "Add times to the sweep file, [latency] queries = 30, and sweep again."


@dataclass(frozen=True)
class Choices:
    """What is asked of a frontier.

    Attributes:
        limits: that rules keep.
        rule: "pareto" or "paper".
        percentile: of the latency: "p50", "p95" or "p99".
        band: seconds, latencies that differ by no more tie; None for the measured jitter.
        slo: seconds of latency, for each of which the frontier inside it is shown.
        level: of intervals, and the share of resamples from which one quality is separated from another.
        resamples: of queries and times.
        seed: of all that is random.
        threads: that share the work.
        sure: share of resamples in which what a rule chooses must be inside its limits.
    """

    limits: Limits
    rule: str
    percentile: str
    band: float | None
    slo: tuple[float, ...]
    level: float
    resamples: int
    seed: int
    threads: int
    sure: float

    def __post_init__(self) -> None:
        check_rule(self.rule)
        if self.percentile not in PERCENTILES:
            raise PolicyError(f"percentile must be {', '.join(PERCENTILES)}. Got {self.percentile!r}.")
        if not 0 < self.level < 1:
            raise PolicyError(f"level must be a number between 0 and 1. Got {self.level!r}.")
        if self.resamples < 1:
            raise PolicyError(f"resamples must be an integer >= 1. Got {self.resamples!r}.")
        if not 0 <= self.sure <= 1:
            raise PolicyError(f"sure must be a number from 0 to 1. Got {self.sure!r}.")


class Ties(NamedTuple):
    """Which latencies tie.

    Attributes:
        apart: [configuration, configuration] whether two do not.
        of: "jitter", "band_ms", or "none" where no jitter is known, so that all tie.
        seconds: of the band; None without one.
        ratio: of two latencies, from which their jitter separates them: the median over systems; None without jitter.
    """

    apart: Bools
    of: str
    seconds: float | None = None
    ratio: float | None = None


@dataclass(frozen=True, eq=False)
class Frontier:
    """The frontier of one sweep.

    Attributes:
        measured: the sweep.
        choices: what was asked.
        qualities: resamples.
        latencies: [configuration, resample] seconds, at the percentile.
        target: what a limit of quality looks at; None for the quality itself.
    """

    measured: Measured
    choices: Choices
    qualities: Qualities
    latencies: Floats
    target: Target | None

    @cached_property
    def ties(self) -> Ties:
        """Which latencies tie, at the percentile."""
        return self.ties_at(self.choices.percentile)

    @cached_property
    def known(self) -> Objectives:
        """The measured values."""
        return self.measured.points(self.choices.percentile)

    @cached_property
    def on(self) -> Bools:
        """[configuration] on the frontier of the measured values."""
        out = np.ones(len(self.known.cost), dtype=bool)
        for _, places in self.measured.panels:
            apart = self.ties.apart[np.ix_(places, places)]
            out[places] = on_frontier(self.known.select(places), rule=self.choices.rule, apart=apart)
        return out

    @cached_property
    def there(self) -> Bools:
        """[configuration, resample] on the frontier of resamples that are drawn toward what the others tell."""
        return self._frontier(self.qualities.values)

    @cached_property
    def plain(self) -> Floats:
        """[configuration] share of the resamples, taken as they are, in which it is on the frontier."""
        share: Floats = self._frontier(self.qualities.plain).mean(axis=1)
        return share

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """Configurations that differ inside noise."""
        points = self.known._replace(quality=self.qualities.values)
        found = []
        for _, places in self.measured.panels:
            apart = self.ties.apart[np.ix_(places, places)]
            own = group(points.select(places), self.there[places], apart, level=self.choices.level)
            found += [Group(int(places[one]), tuple(places[list(some)].tolist()), share) for one, some, share in own]
        return tuple(sorted(found))

    @property
    def has_chances(self) -> bool:
        """Whether there are two queries at least, without which nothing is known of chances."""
        return len(self.measured.query_ids) > 1

    @cached_property
    def rules(self) -> tuple[Choice, ...]:
        """What each rule chose."""
        choices = self.choices
        draws = Objectives(self.known.cost, self.latencies, self.qualities.plain) if self.has_chances else None
        asked = (choices.rule, choices.level, choices.sure)
        known = Known(self.known, draws, self.measured.prompt, self.ties.apart, self.target, *asked)
        return tuple(apply_rules(known, choices.limits, self.measured.panels))

    @property
    def leading(self) -> int | None:
        """The place that the advice is about: the answer inside all limits, else of the best quality."""
        answers = [each.answer for each in self.rules if each.seeks == "quality" and each.answer is not None]
        several = [each.answer for each in self.rules if each.rule == "all limits" and each.answer is not None]
        return next(iter([*several, *answers]), None)

    def ties_at(self, percentile: str) -> Ties:
        """Which latencies tie, by the band or by the measured jitter.

        Args:
            percentile: of the latency.
        """
        measured, band = self.measured, self.choices.band
        said = (measured.result.get("latency") or {}).get("band_ms")
        band = float(said) / 1000 if band is None and said is not None else band
        latency, system = measured.latency(percentile), measured.system
        if band is not None:
            return Ties(np.abs(latency[:, None] - latency) > band + rounding(band), "band_ms", band)
        own = np.full(len(measured.systems), np.nan)
        own[system] = latency
        logs = log_percentiles(measured.totals, PERCENTILES[percentile])
        apart, bounds = separated(logs, own, [str(each.get("method")) for each in measured.systems])
        pairs = bounds[np.triu_indices(len(bounds), 1)]
        known = pairs[np.isfinite(pairs)]
        ratio = float(np.exp(np.median(known))) if len(known) else None
        return Ties(apart[np.ix_(system, system)], "jitter" if np.isfinite(bounds).any() else "none", None, ratio)

    def _frontier(self, qualities: Floats) -> Bools:
        """[configuration, resample] by value: resamples hold the noise that ties of measured values allow for."""
        points, out = Objectives(self.known.cost, self.latencies, qualities), np.ones(qualities.shape, dtype=bool)
        for _, places in self.measured.panels:
            out[places] = on_frontier(points.select(places), rule=self.choices.rule)
        return out

    def to_dict(self) -> dict[str, Any]:
        """The JSON of `trueval frontier`, docs/design/tradeoff.md."""
        from trueval.tradeoff.frontier.frontier_dict import told

        return told(self)

    def __str__(self) -> str:
        """The table that the command prints."""
        from trueval.report.terminal import drawn
        from trueval.tradeoff.views.frontier import table

        return drawn(table(self.to_dict()))


def frontier(
    directory: str | Path,
    *,
    max_latency_ms: float | None = None,
    max_cost: float | None = None,
    min_quality: float | str | Mapping[str, float] | None = None,
    rule: str = PARETO,
    percentile: str | None = None,
    band_ms: float | None = None,
    slo_ms: tuple[float, ...] | list[float] | None = None,
    level: float | None = None,
    resamples: int | None = None,
    seed: int | None = None,
    threads: int | None = None,
    sure: float | None = None,
) -> Frontier:
    """Which configurations of a sweep are worth a look, and which one to ship.

    Args:
        directory: what --out of `trueval sweep` named.
        max_latency_ms: of a query, at the percentile; by default as [limits] of the sweep says, as all that follow.
        max_cost: of 1,000 queries.
        min_quality: a number for the quality of the sweep, or "nDCG@10=0.5" for a measure of it.
        rule: "pareto", or P-B's "paper": a configuration goes only if another is better in all three.
        percentile: "p50", "p95" or "p99".
        band_ms: latencies that differ by no more tie; by default those that the measured jitter does not separate.
        slo_ms: limits of latency for each of which the frontier inside it is shown.
        level: of intervals, and the share of resamples from which one quality is separated from another.
        resamples: of queries and times.
        seed: of all that is random.
        threads: that share the work; one for each processor by default.
        sure: share of resamples in which what a rule chooses must be inside its limits; .5 by default.

    Raises:
        InputError: there is no sweep, or its files are damaged.
        PolicyError: an option is not what it must be, or a limit is of what the sweep does not know.
    """
    measured = read_sweep(directory)
    said = measured.result.get("limits") or {}
    limit, measure = _target(measured, said.get("quality") if min_quality is None else min_quality)
    latency_ms = said.get("latency_ms") if max_latency_ms is None else max_latency_ms
    named = slo_ms if slo_ms is not None else said.get("slo_ms") or ()
    choices = Choices(
        Limits(
            None if latency_ms is None else _positive("max_latency_ms", latency_ms) / 1000,
            _positive("max_cost", said.get("cost") if max_cost is None else max_cost),
            limit,
            measure,
        ),
        rule,
        percentile or said.get("percentile") or "p50",
        None if band_ms is None else _positive("band_ms", band_ms) / 1000,
        tuple(sorted({_positive("slo_ms", each) / 1000 for each in named})),
        measured.result.get("level", LEVEL) if level is None else level,
        measured.result.get("resamples", RESAMPLES) if resamples is None else resamples,
        measured.result.get("seed", 0) if seed is None else seed,
        thread_count(threads),
        (SURE if said.get("sure") is None else said["sure"]) if sure is None else sure,
    )
    _check_limits(measured, choices.limits)
    return compute(measured, choices)


def compute(measured: Measured, choices: Choices) -> Frontier:
    """Resample a sweep.

    Args:
        measured: the sweep.
        choices: what is asked.
    """
    shared = {"resamples": choices.resamples, "seed": choices.seed, "threads": choices.threads}
    latency = measured.latency(choices.percentile)
    features = features_of(measured.cost, latency, measured.contexts)
    qualities = draw_qualities(measured.values, measured.variances, features, **shared)
    drawn = draw_latencies(measured.totals, [PERCENTILES[choices.percentile]], **shared)[0, measured.system]
    exact = latency[:, None]
    drawn = np.where(np.isnan(exact) | np.isnan(drawn), exact, drawn)
    limits = choices.limits
    target = None
    if limits.quality is not None and limits.measure is not None and limits.measure != measured.result["quality"]:
        values, variances = measured.of_measure(limits.measure)
        target = Target(_values_of(measured, limits.measure), resample_means(values, variances, **shared).plain)
    return Frontier(measured, choices, qualities, drawn, target)


def _check_limits(measured: Measured, limits: Limits) -> None:
    """Refuse a limit of cost or latency where no configuration has one.

    Raises:
        PolicyError: with what the sweep file lacks.
    """
    lacking = {
        "cost": (limits.cost, measured.cost, WITHOUT_PRICES),
        "latency": (limits.latency, measured.latency("p50"), WITHOUT_TIMES),
    }
    for name, (limit, values, cure) in lacking.items():
        if limit is not None and np.isnan(values).all():
            raise PolicyError(f"No configuration of this sweep has a {name}, so none can keep a limit of it. {cure}")


def _values_of(measured: Measured, measure: str) -> Floats:
    return numbers((each["measures"].get(measure) or {}).get("expected") for each in measured.configurations)


def _target(measured: Measured, given: float | str | Mapping[str, float] | None) -> tuple[float | None, str | None]:
    """The least quality, and the measure that it is of."""
    quality = str(measured.result["quality"])
    if given is None:
        return None, None
    if isinstance(given, Mapping):
        if len(given) != 1:
            raise PolicyError(f"min_quality must name one measure. Got {sorted(given)}.")
        name, value = next(iter(given.items()))
    else:
        name, _, text = str(given).rpartition("=")
        try:
            value = float(text)
        except ValueError:
            raise PolicyError(f"min_quality must be X or MEASURE=X, such as {quality}=0.8. Got {given!r}.") from None
    name = name.strip() or quality
    known = {quality, *(measure for each in measured.configurations for measure in each["measures"])}
    if name not in known:
        raise PolicyError(f"{name} is not a measure of this sweep.{nearest(name, known)}")
    try:
        least = float(value)
    except (TypeError, ValueError):
        least = np.nan
    if not np.isfinite(least):
        raise PolicyError(f"min_quality must be a number. Got {value!r}.")
    return least, name


def _positive(name: str, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < np.inf:
        raise PolicyError(f"{name} must be a number >= 0. Got {value!r}.")
    return float(value)
