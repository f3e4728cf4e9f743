"""The answer of a sweep: what to ship by the measured values, what it beats, and the next command."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from trueval.report.number_texts import count_phrase
from trueval.report.view import Answer, Quantity, Sentence
from trueval.tradeoff.runner.sweep_result import SweepResult
from trueval.tradeoff.views.frontier_answer import (
    CHEAPER,
    FASTER,
    HARDER,
    Words,
    ceiling_of,
    concatenate,
    describe_advantages,
    describe_ceiling,
    is_least,
    is_less,
)
from trueval.tradeoff.views.points import ConfigurationPoint, currency_of, panels_of, percentile_of
from trueval.tradeoff.views.units import MILLISECONDS, MONEY

NOTHING: Final = 0.00005  # less shows as 0.0000
NONE: Final = "No configuration of this sweep has a value."


def answer(result: SweepResult, points: Sequence[ConfigurationPoint]) -> Answer:
    """What to ship, at each K where only equal K are compared; within the limits of the sweep file.

    Args:
        result: of the command.
        points: its configurations, best first.
    """
    panels = panels_of(points)
    parts = [(_ship(result, some), _sure(result, some), _change(result, some)) for _, some in panels]
    names = [f"At K = {k}: " if len(panels) > 1 else "" for k, _ in panels]
    sentence, sure, change = (concatenate(names, each) for each in zip(*parts, strict=True)) if parts else ((), (), ())
    return Answer(
        sentence or NONE,
        question="Which configuration should be shipped?",
        sure=sure,
        change=change,
        next="trueval frontier SWEEP_DIR" if points else "",
    )


def _limits(result: SweepResult) -> str:
    """The limits of the sweep file on latency and cost, in words."""
    latency, cost = result.limits.get("latency_ms"), result.limits.get("cost")
    told = [
        *([] if latency is None else [f"latency at most {latency:,g} ms"]),
        *([] if cost is None else [f"cost at most {cost:,g}"]),
    ]
    return f" with {' and '.join(told)}" if told else ""


def inside_limits(result: SweepResult, points: Sequence[ConfigurationPoint]) -> list[ConfigurationPoint]:
    """The configurations whose measured latency and cost keep the limits of the sweep file.

    Args:
        result: of the command.
        points: its configurations.
    """
    latency, cost = result.limits.get("latency_ms"), result.limits.get("cost")
    return [
        each
        for each in points
        if (latency is None or (each.seconds is not None and 1000 * each.seconds <= latency))
        and (cost is None or (each.cost is not None and each.cost <= cost))
    ]


def describe(result: SweepResult, point: ConfigurationPoint) -> Words:
    """Quality with its interval, latency and cost of a configuration, as far as known.

    Args:
        result: of the command.
        point: one of its configurations.
    """
    configuration, percentile = result.configurations[point.place], percentile_of(result)
    mean, words = configuration.measures[configuration.quality], list[str | Quantity]()
    words += [f"{point.measure} ", Quantity(mean, "expected")]
    if point.interval is not None:
        words += [" (", Quantity(mean, "low"), " to ", Quantity(mean, "high"), ")"]
    if point.latency is not None and point.seconds is not None:
        words += [", ", Quantity(point.latency, "value", MILLISECONDS), f" ms at {percentile}"]
    if configuration.cost is not None and point.cost is not None:
        per = f"{currency_of(result)} per 1,000 queries".strip()
        words += [", ", Quantity(configuration.cost, "total", MONEY), f" {per}"]
    return tuple(words)


def _ship(result: SweepResult, points: Sequence[ConfigurationPoint]) -> Words:
    """The best configuration within the limits, and what its interval is apart from, or overlaps."""
    inside = inside_limits(result, points)
    if not inside:
        return (f"Ship none of these: no configuration was measured{_limits(result)}.",)
    if equal := _at_ceiling(result, inside):
        return _ship_at_ceiling(result, inside, equal)
    best, *others = inside
    words: Words = (f"Ship {best.name}, the best quality{_limits(result)}: ", *describe(result, best))
    near = [each for each in others if _overlaps(best, each)]
    cheaper = [each for each in near if is_less(each.cost, best.cost, CHEAPER)]
    faster = [each for each in near if is_less(each.seconds, best.seconds, FASTER)]
    overlaps = "; it is not separated from "
    if cheaper:
        named = min(cheaper, key=lambda each: each.cost or 0.0)
        cost = Quantity(result.configurations[named.place].cost, "total", MONEY)
        return (*words, f"{overlaps}{named.name}, which is cheaper (", cost, f" {currency_of(result)}".rstrip(), ").")
    if faster:
        named = min(faster, key=lambda each: each.seconds or 0.0)
        milliseconds = Quantity(named.latency, "value", MILLISECONDS)
        return (*words, f"{overlaps}{named.name}, which is faster (", milliseconds, " ms).")
    if not others:
        return (*words, "; nothing else is there.")
    if best.interval is None or others[0].interval is None:
        return (*words, f"; no interval says how far it is from {others[0].name}, the next.")
    return (*words, f"{overlaps}{near[0].name}." if near else f"; it beats {others[0].name}, the next.")


def _at_ceiling(result: SweepResult, inside: Sequence[ConfigurationPoint]) -> list[ConfigurationPoint]:
    """The configurations with the best value there is, if at least two have it; the one to ship is the first.

    As in the rules of a frontier, cost decides where it counts prompts, else K; then cost and latency.
    """
    found = [each for each in inside if each.quality == ceiling_of(each.measure)]
    costs = [result.configurations[each.place].cost for each in found]
    paid = all(each is not None and each.generator is not None for each in costs)

    def key(point: ConfigurationPoint) -> tuple[float, ...]:
        infinity = float("inf")
        cost = infinity if point.cost is None else point.cost
        return cost if paid else 0.0, point.k or 0, cost, infinity if point.seconds is None else point.seconds

    return sorted(found, key=key) if len(found) > 1 else []


def _ship_at_ceiling(
    result: SweepResult, inside: Sequence[ConfigurationPoint], equal: Sequence[ConfigurationPoint]
) -> Words:
    """The configuration to ship where quality decides nothing."""
    chosen = equal[0]
    advantages = describe_advantages(
        is_least(chosen.cost, [each.cost for each in equal]),
        is_least(chosen.seconds, [each.seconds for each in equal]),
        is_least(chosen.k, [each.k for each in equal]),
    )
    limited = " inside the limits" if _limits(result) else ""
    ceiling = describe_ceiling(len(equal), len(inside), result.quality, limited)
    runner_up = f"; the runner-up is {equal[1].name}"
    return (f"Ship {chosen.name}: ", *describe(result, chosen), f"{ceiling}{advantages}{runner_up}.")


def _overlaps(best: ConfigurationPoint, other: ConfigurationPoint) -> bool:
    return best.interval is not None and other.interval is not None and other.interval[1] >= best.interval[0]


def _sure(result: SweepResult, points: Sequence[ConfigurationPoint]) -> Words:
    """How many intervals overlap that of the best one."""
    inside = inside_limits(result, points)
    if not inside or inside[0].interval is None or _at_ceiling(result, inside):
        return ()
    near = sum(_overlaps(inside[0], each) for each in inside[1:])
    known = count_phrase(len(points), "configuration", "configurations")
    if not near:
        return (f"No interval over queries of the others overlaps its own, of {known}.",)
    verb = "has an interval that overlaps" if near == 1 else "have intervals that overlap"
    return (f"Of {known} {near} {verb} its own; trueval frontier compares them query by query.",)


def _change(result: SweepResult, points: Sequence[ConfigurationPoint]) -> Words:
    """What it would be without the limits of the sweep file."""
    inside = inside_limits(result, points)
    if _at_ceiling(result, inside):
        return (HARDER,)
    if not _limits(result):
        return ("Limits on latency or cost could change it.",) if len(points) > 1 else ()
    if inside and inside[0] is points[0]:
        return ("Without limits the answer is the same.",)
    return (f"Without limits it would be {points[0].name}: ", *describe(result, points[0]), ".")


def headroom_advice(result: SweepResult, points: Sequence[ConfigurationPoint]) -> Iterator[Sentence]:
    """Whether pool or order leaves the larger headroom in the best configuration.

    Args:
        result: of the command.
        points: its configurations, best first.
    """
    first = next(iter(points), None)
    ceiling = None if first is None else result.configurations[first.place].ceiling
    if first is None or ceiling is None:
        return
    pool, order = ceiling.retrieval_headroom or 0.0, ceiling.ordering_headroom or 0.0
    if max(pool, order) < NOTHING:
        yield f"Neither the pool nor the order of {first.name} loses anything."
        return
    advice = "Widen the pool" if pool > order else "Mend the order"
    lacks = Quantity(ceiling, "retrieval_headroom"), ", and the order of the pool loses "
    yield (f"{advice} of {first.name}: its pool lacks ", *lacks, Quantity(ceiling, "ordering_headroom"), ".")
