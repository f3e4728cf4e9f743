"""The frontier of a sweep: its members with their probability, the choice of each rule, and advice.

found = frontier("results", max_latency_ms=500, max_cost=2.5)
found.result.points[3].probability, found.rules[0].answer
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from trueval.answers.answer_measures import MEASURES as ANSWER_MEASURES
from trueval.comparison.budget.shared_doubt import doubt_of_means, read_budget, shared_doubt
from trueval.comparison.resampling.resampled_sums import thread_count
from trueval.errors import MeasureError, Place, PolicyError, nearest
from trueval.measures import parse
from trueval.report.json_fields import decode
from trueval.standings.standings import Floats
from trueval.tradeoff.diagnosis.diagnosis_results import GrownSystem, SystemGrowth
from trueval.tradeoff.diagnosis.growth_forecast import forecast_system
from trueval.tradeoff.frontier.rules import RuleLimits, Target
from trueval.tradeoff.quality.changes import Bootstrap
from trueval.tradeoff.quality.pareto import PARETO
from trueval.tradeoff.quality.resamples import draw_latencies, draw_qualities, features_of, resample_means
from trueval.tradeoff.quality.sweep_loader import FILE, PERCENTILES, SweepArrays, numbers, read_sweep
from trueval.tradeoff.route.certificate import RouterChoice, certify
from trueval.tradeoff.route.route_result import CertifiedRouter, RoutedSystem

if TYPE_CHECKING:
    from trueval.answers.generation.brittle_result import BrittleAnswers
    from trueval.comparison.budget.budget_result import Budget
    from trueval.precision.stages_result import PipelineAudit
    from trueval.tradeoff.frontier.frontier_analysis import Frontier, FrontierChoices

RESAMPLES: Final = 2000
SHARED_STREAM: Final = (1545,)  # of random numbers, for what repeats and judges change
COMMON_STREAM: Final = (1546,)  # for what they change in all systems alike
LEVEL: Final = 0.95
SURE: Final = 0.5
WITHOUT_PRICES: Final = (
    'Add a name of the price book to the sweep file, such as [prices] generator = "gpt-5-mini", and sweep again.'
)
WITHOUT_TIMES: Final = "Add times to the sweep file, [latency] queries = 30, and sweep again."


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
    route: RouterChoice | None = None,
    grow: float | None = None,
    budget: Budget | str | Path | None = None,
    brittle: BrittleAnswers | str | Path | None = None,
    precision: Sequence[PipelineAudit | str | Path] = (),
) -> Frontier:
    """Find the Pareto-optimal configurations of a sweep, and the one to ship.

    Args:
        directory: directory of the sweep, from --out of `trueval sweep`.
        max_latency_ms: milliseconds of a query; all limits are by default those of the sweep.
        max_cost: cost limit per 1,000 queries.
        min_quality: least value of the sweep's quality, or "nDCG@10=0.5" of another measure.
        rule: "pareto", or P-B's "paper": a configuration goes only if another is better in all.
        percentile: "p50", "p95" or "p99".
        band_ms: latencies that differ by no more are tied; by default by the measured jitter.
        slo_ms: latency limits, each with a frontier of its own.
        level: confidence level of intervals, and the share of resamples at which one quality is separated from another.
        resamples, seed, threads: number of resamples, seed of all, number of threads.
        sure: least share of resamples in which a choice is within its limits; .5 by default.
        route: promise of a router; `router_toml()` is its file.
        grow: forecast a corpus of so many times the documents; the sweep must have searched thinned ones ([grow]).
        budget: result of `trueval.budget`: choices then hold for other repeats and judges.
        brittle: result of `trueval.brittle_answers`: a UDCG with its utilities predicts answers.
        precision: results of `trueval.audit_pipeline`, to stand beside the systems they are of.

    Raises:
        InputError: the sweep is absent or damaged, or an audit is of something else.
        PolicyError: an option is not what it must be, or a limit is of what the sweep does not know.

    >>> frontier("results", max_latency_ms=200).to_dict()["points"]  # doctest: +SKIP
    """
    # Late, as in `compute`: `trueval` names this function, and all that it names is imported soon.
    from trueval.tradeoff.diagnosis.measured_utility import read_brittle
    from trueval.tradeoff.frontier.audited_systems import match_audits
    from trueval.tradeoff.frontier.frontier_analysis import FrontierChoices

    measured = read_sweep(directory)
    said = measured.result.get("limits") or {}
    limit, measure = _target(measured, said.get("quality") if min_quality is None else min_quality)
    latency_ms = said.get("latency_ms") if max_latency_ms is None else max_latency_ms
    named = slo_ms if slo_ms is not None else said.get("slo_ms") or ()
    choices = FrontierChoices(
        RuleLimits(
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
        None if budget is None else read_budget(budget, measured.result["policy"]),
        None if brittle is None else read_brittle(brittle),
    )
    _check_limits(measured, choices.limits)
    growth = None if grow is None else _forecast(measured, choices, grow)
    routing = None if route is None else _certify(measured, choices, route)
    found = replace(compute(measured, choices), routing=routing, growth=growth)
    return replace(found, precision=match_audits(measured, precision)) if precision else found


def _forecast(measured: SweepArrays, choices: FrontierChoices, factor: float) -> tuple[SystemGrowth, ...]:
    """What each pipeline of the sweep gives on a larger corpus.

    Raises:
        InputError: the sweep thinned no corpus.
        PolicyError: the factor is not above 1.
    """
    told = measured.result.get("growth")
    if not told:
        raise Place(str(measured.folder / FILE)).error(
            "the sweep searched no thinned corpora. Add the table [grow] to the sweep file, and sweep again."
        )
    known = [decode(GrownSystem, each, "sweep", str(measured.folder / FILE)) for each in told]
    return tuple(forecast_system(each, factor, level=choices.level) for each in known)


def _certify(
    measured: SweepArrays, choices: FrontierChoices, asked: RouterChoice
) -> tuple[RoutedSystem, CertifiedRouter]:
    """The routing of the sweep, and its certified router.

    Raises:
        InputError: the sweep routed nothing.
    """
    told = measured.result.get("route")
    if not isinstance(told, Mapping):
        cure = "Add [route] with depths = [50, 100] to the sweep file, and sweep again."
        raise Place(str(measured.folder / FILE)).error(f"the sweep routed no queries. {cure}")
    routed = decode(RoutedSystem, told, "sweep", str(measured.folder / FILE))
    bootstrap = Bootstrap(choices.level, choices.resamples, choices.seed, choices.threads)
    return routed, certify(routed, asked, seed=choices.seed, bootstrap=bootstrap)


def compute(measured: SweepArrays, choices: FrontierChoices) -> Frontier:
    """Resample a sweep."""
    from trueval.tradeoff.frontier.frontier_analysis import Frontier

    shared = {"resamples": choices.resamples, "seed": choices.seed, "threads": choices.threads}
    latency = measured.latency(choices.percentile)
    features = features_of(measured.cost, latency, measured.contexts)
    qualities = draw_qualities(measured.values, measured.variances, features, **shared)
    errors = _draw_shared_errors(measured, choices)[qualities.same]  # equal values stay equal
    qualities = qualities._replace(plain=qualities.plain + errors, values=qualities.values + errors)
    drawn = draw_latencies(measured.totals, [PERCENTILES[choices.percentile]], **shared)[0, measured.system]
    exact = latency[:, None]
    drawn = np.where(np.isnan(exact) | np.isnan(drawn), exact, drawn)
    limits = choices.limits
    target = None
    if limits.quality is not None and limits.measure is not None and limits.measure != measured.result["quality"]:
        values, variances = measured.of_measure(limits.measure)
        plain = resample_means(values, variances, **shared).plain
        plain = plain + _shared_errors_of(measured, choices, limits.measure)[measured.system]
        target = Target(_values_of(measured, limits.measure), plain + _common_error(choices, [limits.measure]))
    elif limits.quality is not None and choices.budget is not None:
        names = [str(each["quality"]) for each in measured.configurations]
        target = Target(measured.points(choices.percentile).quality, qualities.plain + _common_error(choices, names))
    return Frontier(measured, choices, qualities, drawn, target)


def _draw_shared_errors(measured: SweepArrays, choices: FrontierChoices) -> Floats:
    """[configuration, resample] what repeats and judges change; the same for all configurations of a system.

    Raises:
        InputError: the budget is of other measures.
    """
    found = np.zeros((len(measured.configurations), choices.resamples))
    for quality in dict.fromkeys(str(each["quality"]) for each in measured.configurations):
        own = np.flatnonzero([each["quality"] == quality for each in measured.configurations])
        found[own] = _shared_errors_of(measured, choices, quality)[measured.system[own]]
    return found


def _shared_errors_of(measured: SweepArrays, choices: FrontierChoices, measure: str) -> Floats:
    """[system, resample] what repeats and judges change in one measure; from the same numbers for all measures."""
    if choices.budget is None:
        return np.zeros((len(measured.systems), choices.resamples))
    rng = np.random.default_rng([choices.seed, *SHARED_STREAM])
    return shared_doubt(choices.budget, measure).draw(len(measured.systems), choices.resamples, rng)


def _common_error(choices: FrontierChoices, measures: Sequence[str]) -> Floats:
    """[resample] what repeats and judges change in the means of all systems alike, which no difference shows."""
    if choices.budget is None:
        return np.zeros(choices.resamples)
    found = []
    for measure in dict.fromkeys(measures):
        mean, pair = doubt_of_means(choices.budget, measure), shared_doubt(choices.budget, measure)
        found.append(mean._replace(variance=2 * max(mean.variance - pair.variance / 2, 0.0)))
    most = max(found, key=lambda each: each.variance)
    drawn = most.draw(1, choices.resamples, np.random.default_rng([choices.seed, *COMMON_STREAM]))
    return np.asarray(drawn[0])


def _check_limits(measured: SweepArrays, limits: RuleLimits) -> None:
    """Refuse a limit on a cost or latency that no configuration has.

    Raises:
        PolicyError: with what the sweep file lacks.
    """
    lacking = {
        "cost": (limits.cost, measured.cost, WITHOUT_PRICES),
        "latency": (limits.latency, measured.latency("p50"), WITHOUT_TIMES),
    }
    for name, (limit, values, cure) in lacking.items():
        if limit is not None and np.isnan(values).all():
            raise PolicyError(f"No configuration of this sweep has a {name}, so no limit on it can be checked. {cure}")


def _values_of(measured: SweepArrays, measure: str) -> Floats:
    return numbers((each["measures"].get(measure) or {}).get("expected") for each in measured.configurations)


def _target(measured: SweepArrays, given: float | str | Mapping[str, float] | None) -> tuple[float | None, str | None]:
    """The least acceptable quality, and its measure."""
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
    if _is_better_lower(name):
        raise PolicyError(
            f"min_quality is a least value, and lower values of {name} are better. Name a measure of which higher ones "
            "are, such as the quality of the sweep."
        )
    try:
        least = float(value)
    except (TypeError, ValueError):
        least = np.nan
    if not np.isfinite(least):
        raise PolicyError(f"min_quality must be a number. Got {value!r}.")
    return least, name


def _is_better_lower(name: str) -> bool:
    """Whether lower values of a measure, of lists or of answers, are better; False for one of another version."""
    try:
        measure = ANSWER_MEASURES[name].measure if name in ANSWER_MEASURES else parse(name)
    except MeasureError:
        return False
    return measure.better == "lower"


def _positive(name: str, value: object) -> Any:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < np.inf:
        raise PolicyError(f"{name} must be a number >= 0. Got {value!r}.")
    return float(value)
