"""The analysis behind a frontier: its members, groups and rules, and the result that holds them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from trueval.answers.generation.brittle_result import BrittleAnswers
from trueval.comparison.budget.budget_result import Budget
from trueval.comparison.budget.shared_doubt import shared_doubt
from trueval.comparison.limits import ROUNDING, rounding_tolerance
from trueval.errors import PolicyError
from trueval.latency.jitter import compare_latencies, log_percentiles
from trueval.numerics import or_null
from trueval.report.result import ReprByKind
from trueval.retrieval.pipeline.router_file import router_toml
from trueval.standings.standings import Bools, Floats
from trueval.tradeoff.diagnosis.advice import advise
from trueval.tradeoff.diagnosis.answer_prediction import predict_answers
from trueval.tradeoff.diagnosis.cross_fit import cross_fit
from trueval.tradeoff.diagnosis.diagnosis_results import SystemGrowth
from trueval.tradeoff.diagnosis.marginals import efficiencies, marginals
from trueval.tradeoff.diagnosis.matched_recall import compare_at_recall
from trueval.tradeoff.frontier.configuration_groups import ConfigurationGroup, group
from trueval.tradeoff.frontier.frontier_result import (
    ComparedPoints,
    FrontierPoint,
    FrontierResult,
    LatencyBand,
    LimitFrontier,
    PointGroup,
    PointQuality,
    RuleAnswer,
    RuleBounds,
    ShrinkageModel,
    SweepSource,
    SystemPrecision,
)
from trueval.tradeoff.frontier.rule_sentences import of_rule
from trueval.tradeoff.frontier.rules import (
    COST,
    LATENCY,
    QUALITY,
    RuleChoice,
    RuleInputs,
    RuleLimits,
    Target,
    apply_rules,
)
from trueval.tradeoff.quality.changes import Bootstrap
from trueval.tradeoff.quality.pareto import PAPER, Objectives, check_rule, on_frontier, removers
from trueval.tradeoff.quality.quality import within_range
from trueval.tradeoff.quality.resamples import QualityResamples
from trueval.tradeoff.quality.result_parts import IntervalEstimate, OmittedConfiguration
from trueval.tradeoff.quality.sweep_loader import FILE, PERCENTILES, SweepArrays
from trueval.tradeoff.route.certificate import router_tables
from trueval.tradeoff.route.route_result import CertifiedRouter, RoutedSystem


@dataclass(frozen=True)
class FrontierChoices:
    """The options of a frontier.

    Attributes:
        rule: "pareto" or "paper".
        percentile: of the latency: "p50", "p95" or "p99".
        band: latency band in seconds; latencies that differ by no more are tied; None for the measured jitter.
        slo: latency limits in seconds, for each of which the frontier within it is shown.
        level: confidence level of intervals, and the share of resamples at which one quality is separated from another.
        seed: seed of all random numbers.
        sure: minimum share of resamples in which the choice of a rule is within its limits.
        budget: what repeats and labels vary by; None for resamples of queries and times alone.
        brittle: what distractors cost the generators; None where it was not measured.
    """

    limits: RuleLimits
    rule: str
    percentile: str
    band: float | None
    slo: tuple[float, ...]
    level: float
    resamples: int
    seed: int
    threads: int
    sure: float
    budget: Budget | None = None
    brittle: BrittleAnswers | None = None

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


class LatencyTies(NamedTuple):
    """Which latencies are tied.

    Attributes:
        apart: [configuration, configuration] whether two latencies differ.
        of: "jitter", "band_ms", or "none" where no jitter is known, so that all are tied.
        seconds: width of the band; None without one.
        ratio: ratio of two latencies at which their jitter separates them, median over systems; None without jitter.
    """

    apart: Bools
    of: str
    seconds: float | None = None
    ratio: float | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Frontier(ReprByKind):
    """The frontier of one sweep.

    Attributes:
        qualities: resampled qualities.
        latencies: [configuration, resample] latency in seconds, at the percentile.
        target: the measure of a quality limit; None for the quality itself.
        routing: routing of the sweep and its certified router, where one was asked for.
        growth: forecasts for a larger corpus, where they were asked for.
        precision: what number formats do to pipelines, where audits of these were given.
    """

    measured: SweepArrays
    choices: FrontierChoices
    qualities: QualityResamples
    latencies: Floats
    target: Target | None
    routing: tuple[RoutedSystem, CertifiedRouter] | None = None
    growth: tuple[SystemGrowth, ...] | None = None
    precision: tuple[SystemPrecision, ...] = ()

    @cached_property
    def ties(self) -> LatencyTies:
        """Which latencies tie, at the chosen percentile."""
        return self.ties_at(self.choices.percentile)

    @cached_property
    def known(self) -> Objectives:
        """The measured values."""
        return self.measured.points(self.choices.percentile)

    @cached_property
    def on(self) -> Bools:
        """[configuration] whether it is on the frontier of the measured values."""
        out = np.ones(len(self.known.cost), dtype=bool)
        for _, places in self.measured.panels:
            apart = self.ties.apart[np.ix_(places, places)]
            out[places] = on_frontier(self.known.select(places), rule=self.choices.rule, apart=apart)
        return out

    @cached_property
    def there(self) -> Bools:
        """[configuration, resample] whether it is on the frontier of the resample, with shrinkage."""
        return self._frontier(self.qualities.values)

    @cached_property
    def plain(self) -> Floats:
        """[configuration] share of the resamples, without shrinkage, in which it is on the frontier."""
        share: Floats = self._frontier(self.qualities.plain).mean(axis=1)
        return share

    @cached_property
    def groups(self) -> tuple[ConfigurationGroup, ...]:
        """Groups of configurations that do not differ significantly."""
        points = self.known._replace(quality=self.qualities.values)
        found = []
        for _, places in self.measured.panels:
            apart = self.ties.apart[np.ix_(places, places)]
            own = group(points.select(places), self.there[places], apart, level=self.choices.level)
            found += [
                ConfigurationGroup(int(places[one]), tuple(places[list(some)].tolist()), share)
                for one, some, share in own
            ]
        return tuple(sorted(found))

    @property
    def has_chances(self) -> bool:
        """Whether there are at least two queries, which probabilities require."""
        return len(self.measured.query_ids) > 1

    @cached_property
    def rules(self) -> tuple[RuleChoice, ...]:
        """The choice of each rule."""
        choices = self.choices
        draws = Objectives(self.known.cost, self.latencies, self.qualities.plain) if self.has_chances else None
        asked = (choices.rule, choices.level, choices.sure, self.measured.prompts_are_paid)
        known = RuleInputs(self.known, draws, self.measured.prompt, self.ties.apart, self.target, *asked)
        return tuple(apply_rules(known, choices.limits, self.measured.panels))

    @property
    def leading(self) -> int | None:
        """Index of the configuration that the advice is about: the choice within all limits, else the best quality."""
        answers = [each.answer for each in self.rules if each.seeks == "quality" and each.answer is not None]
        several = [each.answer for each in self.rules if each.rule == "all limits" and each.answer is not None]
        return next(iter([*several, *answers]), None)

    def ties_at(self, percentile: str) -> LatencyTies:
        """Which latencies are tied, by the given band or by the measured jitter."""
        measured, band = self.measured, self.choices.band
        said = (measured.result.get("latency") or {}).get("band_ms")
        band = float(said) / 1000 if band is None and said is not None else band
        latency, system = measured.latency(percentile), measured.system
        if band is not None:
            return LatencyTies(np.abs(latency[:, None] - latency) > band + rounding_tolerance(band), "band_ms", band)
        own = np.full(len(measured.systems), np.nan)
        own[system] = latency
        logs = log_percentiles(measured.totals, PERCENTILES[percentile])
        apart, bounds = compare_latencies(logs, own, [str(each.get("method")) for each in measured.systems])
        pairs = bounds[np.triu_indices(len(bounds), 1)]
        known = pairs[np.isfinite(pairs)]
        ratio = float(np.exp(np.median(known))) if len(known) else None
        return LatencyTies(
            apart[np.ix_(system, system)], "jitter" if np.isfinite(bounds).any() else "none", None, ratio
        )

    def _frontier(self, qualities: Floats) -> Bools:
        """[configuration, resample] on the frontier, by value: resamples contain the noise that ties allow for."""
        points, out = Objectives(self.known.cost, self.latencies, qualities), np.ones(qualities.shape, dtype=bool)
        for _, places in self.measured.panels:
            out[places] = on_frontier(points.select(places), rule=self.choices.rule)
        return out

    @cached_property
    def result(self) -> FrontierResult:
        """What `trueval frontier` writes."""
        measured, choices, sweep = self.measured, self.choices, self.measured.result
        shrunk, chances, percentile = self.qualities.shrunk, self.has_chances, choices.percentile
        deviations = (or_null(float(each)) for each in (shrunk.noise, shrunk.own, shrunk.surface))
        return FrontierResult(
            sweep=SweepSource(sweep.get("name"), FILE, measured.sha256, sweep.get("trueval")),
            quality=sweep["quality"],
            rule=choices.rule,
            percentile=percentile,
            level=choices.level,
            sure=choices.sure,
            resamples=choices.resamples,
            seed=choices.seed,
            currency=(sweep.get("prices") or {}).get("currency"),
            queries=len(measured.query_ids),
            panels=tuple(ComparedPoints(k, tuple(places.tolist())) for k, places in measured.panels),
            objectives=tuple(self.known.known),
            band=LatencyBand(self.ties.of, self.ties.seconds, self.ties.ratio),
            model=ShrinkageModel(not chances or bool(np.isnan(shrunk.own)), *deviations),
            points=tuple(_points(self)),
            groups=tuple(PointGroup(*each) for each in self.groups) if chances else (),
            rules=tuple(_rule(self, each) for each in self.rules),
            slo=tuple(_slo(self)),
            matched_recall=compare_at_recall(measured, percentile),
            recall_of=next((each["recall"]["of"] for each in measured.systems if each.get("recall")), None),
            efficiency=efficiencies(measured, percentile),
            marginals=marginals(measured, self.qualities, self.latencies, choices.level, percentile),
            advice=advise(measured, self.leading, level=choices.level, resamples=choices.resamples, seed=choices.seed),
            left_out=_read_omitted(sweep.get("left_out", ())),
            failed=_read_omitted(sweep.get("failed", ())),
            notes=tuple(_notes(self)),
            router=None if self.routing is None else self.routing[1],
            growth=self.growth,
            predictions=predict_answers(measured, choices.level, choices.resamples, choices.seed, choices.brittle)
            or None,
            precision=self.precision or None,
        )

    def router_toml(self) -> str:
        """The text of router.toml.

        Raises:
            PolicyError: no router was asked for.
        """
        if self.routing is None:
            raise PolicyError("No router was asked for. Call frontier(..., route=RouterChoice()).")
        route, found = self.routing
        sweep = {"name": self.measured.result.get("name"), "sha256": self.measured.sha256}
        return router_toml(router_tables(found, route, sweep))

    def to_dict(self) -> dict[str, object]:
        """The JSON of `trueval frontier`."""
        return self.result.to_dict()


def _read_omitted(entries: Sequence[Mapping[str, str]]) -> tuple[OmittedConfiguration, ...]:
    return tuple(OmittedConfiguration(each["name"], each["reason"], each.get("key", "")) for each in entries)


def _points(found: Frontier) -> Iterator[FrontierPoint]:
    measured, chances = found.measured, found.has_chances
    member = {place: number for number, each in enumerate(found.groups) for place in each.members} if chances else {}
    probability = found.there.mean(axis=1) if chances else found.on
    for place, each in enumerate(measured.configurations):
        system = measured.systems[each["system"]]
        latency = system["latency"]
        yield FrontierPoint(
            name=each["name"],
            system=each["system"],
            system_name=system["name"],
            method=system.get("method"),
            k=each["K"],
            values=system.get("values", {}),
            cost=or_null(float(measured.cost[place])),
            latency=None if latency is None else {name: IntervalEstimate(**latency[name]) for name in PERCENTILES},
            quality=_quality(found, place),
            prompt_tokens=each.get("prompt_tokens"),
            recall=(system.get("recall") or {}).get("value"),
            on_frontier=bool(found.on[place]),
            probability=float(probability[place]) if chances else None,
            plain=float(found.plain[place]) if chances else None,
            dominated_by=_find_remover(found, place),
            group=member.get(place),
        )


def _quality(found: Frontier, place: int) -> PointQuality:
    each = found.measured.configurations[place]
    value = each["measures"].get(each["quality"]) or {}
    low, high = value.get("low"), value.get("high")
    values, choices = found.measured.values[:, place], found.choices
    known = int((~np.isnan(values)).sum())
    if known > 1 and (low is None or choices.level != found.measured.result.get("level")):
        again = Bootstrap(choices.level, choices.resamples, choices.seed, choices.threads)
        _, low, high, _ = again.mean(values)
        low, high = within_range(each["quality"], (low, high))
    ties = value.get("lowest"), value.get("highest")
    return PointQuality(each["quality"], value.get("expected"), low, high, *ties, known)


def _find_remover(found: Frontier, place: int) -> int | None:
    """The best member of the measured frontier that dominates a configuration; any other where latencies tie."""
    if found.on[place]:
        return None
    places = next(panel.places for panel in found.measured.panels if place in panel.places)
    known, apart = found.known.select(places), found.ties.apart[np.ix_(places, places)]
    there = removers(known, int(np.flatnonzero(places == place)[0]), rule=found.choices.rule, apart=apart)
    those = places[there]
    return int(max(those, key=lambda each: (found.on[each], np.nan_to_num(found.known.quality[each], nan=-np.inf))))


def _rule(found: Frontier, choice: RuleChoice) -> RuleAnswer:
    values, names = getattr(found.known, choice.seeks), [each["name"] for each in found.measured.configurations]
    removed = None if choice.answer is None else _find_remover(found, choice.answer)
    fitted = None
    if choice.seeks == QUALITY and choice.answer is not None:
        measured = found.measured
        fitted = cross_fit(measured.values, choice.feasible, measured.prompt, seed=found.choices.seed)
    limits, asked = choice.limits, found.choices
    return RuleAnswer(
        rule=choice.rule,
        k=choice.k,
        seeks=choice.seeks,
        limits=RuleBounds(
            None if limits.latency is None else limits.latency * 1000,
            limits.cost,
            limits.quality,
            None if limits.quality is None else limits.measure,
        ),
        feasible=tuple(np.flatnonzero(choice.feasible).tolist()),
        answer=choice.answer,
        runner_up=choice.runner_up,
        value=None if choice.answer is None else float(values[choice.answer]),
        runner_up_value=None if choice.runner_up is None else float(values[choice.runner_up]),
        better=choice.better,
        feasible_chance=choice.feasible_chance,
        surest=choice.surest,
        within_noise=choice.within_noise,
        best=choice.best,
        decided_by=choice.decided_by,
        cross_fitted=fitted,
        sentence=of_rule(
            choice, names, level=asked.level, sure=asked.sure, removed_by=removed, equal=_equal(found, choice)
        ),
    )


def _equal(found: Frontier, choice: RuleChoice) -> bool:
    """Whether the choice and the runner-up are equal in the objective in every resample, as two equivalent indexes."""
    if choice.answer is None or choice.runner_up is None:
        return False
    draws = {QUALITY: found.qualities.plain, LATENCY: found.latencies, COST: found.known.cost}[choice.seeks]
    return bool(np.allclose(draws[choice.answer], draws[choice.runner_up], rtol=ROUNDING, atol=ROUNDING))


def _slo(found: Frontier) -> Iterator[LimitFrontier]:
    """The frontier under each latency limit and percentile."""
    own = found.choices.limits.latency
    for limit in sorted({*found.choices.slo, *(() if own is None else (own,))}):
        for percentile in PERCENTILES:
            points, ties = found.measured.points(percentile), found.ties_at(percentile)
            for k, places in found.measured.panels:
                inside = places[points.latency[places] <= limit + rounding_tolerance(limit)]
                apart = ties.apart[np.ix_(inside, inside)]
                there = inside[on_frontier(points.select(inside), rule=found.choices.rule, apart=apart)]
                quality = np.nan_to_num(points.quality[there], nan=-np.inf)
                best = int(there[quality.argmax()]) if len(there) else None
                yield LimitFrontier(limit * 1000, percentile, k, tuple(there.tolist()), best, len(inside))


def _notes(found: Frontier) -> Iterator[str]:
    measured, known = found.measured, found.known.known
    yield from measured.notes
    if not found.has_chances:
        yield "One query says nothing of chances: none are given."
    for name in ("cost", "latency", "quality"):
        # Without prices, costs are not mentioned.
        if name != "cost" or name in known or measured.result.get("prices"):
            yield from _of_objective(found, name)
    if found.choices.budget is not None:
        for name in dict.fromkeys(str(each["quality"]) for each in measured.configurations):
            shared = shared_doubt(found.choices.budget, name)
            yield (
                f"{name}: shares and choices hold for other repeats and judges too: ±"
                f"{shared.half_width(found.choices.level):.4f} of a difference of two systems, what the budget has for "
                f"{shared.first} and {shared.second}."
            )
    said = measured.result.get("level")
    if said is not None and said != found.choices.level and "latency" in known:
        yield f"The intervals of single latencies are those of the sweep, of {100 * said:g} %."
    if np.isnan(measured.variances[~np.isnan(measured.values)]).any():
        yield "The spread over tie orders is not known everywhere: there resamples hold queries alone."
    if found.has_chances and np.isnan(found.qualities.shrunk.own):
        yield "Too few different configurations to learn from each other: shares are those of plain resamples."
    if found.ties.of == "none" and "latency" in known:
        yield "With one repeat of each query nothing separates two latencies: set repeats of [latency], or --band-ms."


def _of_objective(found: Frontier, name: str) -> Iterator[str]:
    """The configurations for which an objective is unknown."""
    values = getattr(found.known, name)
    if name not in found.known.known:
        yield f"No configuration has a {name}: it decides nothing here."
    elif np.isnan(values).any():
        told = f"configurations have no {name}: they remove no other one, and no other one them."
        yield f"{int(np.isnan(values).sum())} {told}"
    elif found.choices.rule == PAPER and len(values) > 1 and np.ptp(values) == 0:
        yield f"All configurations have the same {name}, so by the rule of the paper nobody removes another."
