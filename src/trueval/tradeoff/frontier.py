"""The frontier of a sweep: who is on it and how surely, what each rule chooses, and what to work on next.

found = frontier("results", max_latency_ms=500, max_cost=2.5)
found.points[3]["probability"], found.rules[0]["answer"]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np

from trueval.comparison.resampling import thread_count
from trueval.errors import PolicyError, nearest
from trueval.standings.standings import Bools, Floats
from trueval.tradeoff.draws import Qualities, draw_latencies, draw_qualities, features_of
from trueval.tradeoff.groups import Group, group
from trueval.tradeoff.measured import PERCENTILES, Measured, numbers, read_sweep
from trueval.tradeoff.pareto import PARETO, Objectives, check_rule, on_frontier
from trueval.tradeoff.rules import Choice, Known, Limits, apply_rules

RESAMPLES: Final = 2000
LEVEL: Final = 0.95
NO_LIMITS: Final = Limits()


@dataclass(frozen=True)
class Choices:
    """What is asked of a frontier.

    Attributes:
        limits: that rules keep.
        rule: "pareto" or "paper".
        percentile: of the latency: "p50", "p95" or "p99".
        band: seconds, latencies that differ by no more are ties; None for the measured jitter.
        slo: seconds of latency, for each of which the frontier inside it is shown.
        level: of intervals, and the chance from which one configuration is separated from another.
        resamples: of queries and times.
        seed: of all that is random.
        threads: that share the work.
    """

    limits: Limits = NO_LIMITS
    rule: str = PARETO
    percentile: str = "p50"
    band: float | None = None
    slo: tuple[float, ...] = ()
    level: float = LEVEL
    resamples: int = RESAMPLES
    seed: int = 0
    threads: int = 1

    def __post_init__(self) -> None:
        check_rule(self.rule)
        if self.percentile not in PERCENTILES:
            raise PolicyError(f"percentile must be {', '.join(PERCENTILES)}. Got {self.percentile!r}.")
        if not 0 < self.level < 1:
            raise PolicyError(f"level must be a number between 0 and 1. Got {self.level!r}.")
        if self.resamples < 1:
            raise PolicyError(f"resamples must be an integer >= 1. Got {self.resamples!r}.")


@dataclass(frozen=True, eq=False)
class Frontier:
    """The frontier of one sweep.

    Attributes:
        measured: the sweep.
        choices: what was asked.
        band: latencies that differ by no more are ties: seconds, or [configuration] the jitter of each.
        band_of: "band_ms", "jitter" or "none".
        qualities: resamples.
        latencies: [percentile, configuration, resample] seconds, in the order of `PERCENTILES`.
        target: [configuration] what a limit of quality looks at; None for the quality itself.
    """

    measured: Measured
    choices: Choices
    band: float | Floats
    band_of: str
    qualities: Qualities
    latencies: Floats
    target: Floats | None

    @cached_property
    def known(self) -> Objectives:
        """The measured values."""
        return self.measured.points(self.choices.percentile)

    @cached_property
    def draws(self) -> Objectives:
        """Draws of the true values."""
        place = list(PERCENTILES).index(self.choices.percentile)
        return Objectives(self.measured.cost, self.latencies[place], self.qualities.values)

    @cached_property
    def on(self) -> Bools:
        """[configuration] on the frontier of the measured values."""
        return self._frontier(self.known)

    @cached_property
    def there(self) -> Bools:
        """[configuration, resample] on the frontier of drawn true values."""
        return self._frontier(self.draws)

    @cached_property
    def plain(self) -> Floats:
        """[configuration] share of the resamples, taken as they are, in which it is on the frontier."""
        share: Floats = self._frontier(self.draws._replace(quality=self.qualities.plain)).mean(axis=1)
        return share

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """Configurations that differ inside noise."""
        return group(self.draws, self.there, level=self.choices.level, band=self.band)

    @property
    def has_chances(self) -> bool:
        """Whether there are two queries at least, without which nothing is known of chances."""
        return len(self.measured.query_ids) > 1

    @cached_property
    def rules(self) -> tuple[Choice, ...]:
        """What each rule chose."""
        draws = self.draws if self.has_chances else None
        choices = self.choices
        known = Known(self.known, draws, self.measured.prompt, self.target, choices.level, self.band)
        return tuple(apply_rules(known, choices.limits))

    @property
    def leading(self) -> int | None:
        """The place that the advice is about: the answer inside all limits, else of the best quality."""
        answers = [each.answer for each in self.rules if each.seeks == "quality" and each.answer is not None]
        several = [each.answer for each in self.rules if each.rule == "all limits" and each.answer is not None]
        return next(iter([*several, *answers]), None)

    def _frontier(self, points: Objectives) -> Bools:
        return on_frontier(points, rule=self.choices.rule, band=self.band)

    def to_dict(self) -> dict[str, Any]:
        """The JSON of `trueval frontier`, docs/design/tradeoff.md."""
        from trueval.tradeoff.told import told

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
) -> Frontier:
    """Which configurations of a sweep are worth a look, and which one to ship.

    Args:
        directory: what --out of `trueval sweep` named.
        max_latency_ms: of a query, at the percentile; by default as [limits] of the sweep says, as all that follow.
        max_cost: of 1,000 queries.
        min_quality: a number for the quality of the sweep, or "nDCG@10=0.5" for a measure of it.
        rule: "pareto", or P-B's "paper": a configuration goes only if another is better in all three.
        percentile: "p50", "p95" or "p99".
        band_ms: latencies that differ by no more are ties; by default the jitter that was measured.
        slo_ms: limits of latency for each of which the frontier inside it is shown.
        level: of intervals, and the chance from which one configuration is separated from another.
        resamples: of queries and times.
        seed: of all that is random.
        threads: that share the work; one for each processor by default.

    Raises:
        InputError: there is no sweep, or its files are damaged.
        PolicyError: an option is not what it must be.
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
    )
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
    drawn = draw_latencies(measured.totals, list(PERCENTILES.values()), **shared)[:, measured.system]
    for place, percentile in enumerate(PERCENTILES):
        exact = measured.latency(percentile)[:, None]
        drawn[place] = np.where(np.isnan(exact) | np.isnan(drawn[place]), exact, drawn[place])
    band, band_of = _band(measured, choices)
    limits = choices.limits
    other = limits.measure if limits.quality is not None and limits.measure != measured.result["quality"] else None
    target = None if other is None else _values_of(measured, other)
    return Frontier(measured, choices, band, band_of, qualities, drawn, target)


def _band(measured: Measured, choices: Choices) -> tuple[float | Floats, str]:
    """Seconds inside which latencies are ties, and whence."""
    if choices.band is not None:
        return choices.band, "band_ms"
    said = (measured.result.get("latency") or {}).get("band_ms")
    if said is not None:
        return float(said) / 1000, "band_ms"
    jitters = numbers((each["latency"] or {}).get("jitter") for each in measured.systems)
    known = jitters[~np.isnan(jitters)]
    if not len(known):
        return 0.0, "none"
    # One system that was timed once has the jitter that the others have.
    return np.where(np.isnan(jitters), np.median(known), jitters)[measured.system], "jitter"


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
