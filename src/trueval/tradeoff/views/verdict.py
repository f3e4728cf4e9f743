"""The conclusions of a sweep: which configuration to ship, how certain that is, and what to work on next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from trueval.report.number_texts import count_phrase, format_value
from trueval.report.page_content import Number, Words
from trueval.report.result_directory import ResultFile, pointer
from trueval.tradeoff.views.sweep_points import ConfigurationPoint, currency_of, panels_of, percentile_of
from trueval.tradeoff.views.units import milliseconds, money

Entry = Mapping[str, Any]


def number(file: ResultFile, text: str, value: float, at: str) -> Number:
    """A number formatted for a sentence.

    Args:
        file: that it is in.
        text: formatted text.
        value: in full precision.
        at: its JSON pointer.
    """
    return Number(text, value, f"{quote(file.name)}#{at}")


def describe_point(point: ConfigurationPoint, file: ResultFile, percentile: str, currency: str) -> Words:
    """Quality and costs of a configuration, as far as known.

    Args:
        point: of the file.
        file: a sweep or a frontier.
        percentile: of the latency.
        currency: of the cost.
    """
    words: list[str | Number] = [
        f"{point.measure} ",
        number(file, format_value(point.quality), point.quality, point.at["value"]),
    ]
    if point.interval is not None:
        ends = zip(point.interval, ("low", "high"), strict=True)
        low, high = (number(file, format_value(end), end, f"{point.at['quality']}/{name}") for end, name in ends)
        words += [" (", low, " to ", high, ")"]
    if (seconds := point.seconds(percentile)) is not None:
        at = f"{point.at['latency']}/{percentile}/value"
        words += [", ", number(file, milliseconds(seconds), seconds, at), f" ms at {percentile}"]
    if point.cost is not None:
        cost = number(file, money(point.cost), point.cost, point.at["cost"])
        words += [", ", cost, f" {currency} per 1,000 queries".replace("  ", " ")]
    return tuple(words)


# ---- of a sweep alone ----


def sweep_verdict(file: ResultFile, points: Sequence[ConfigurationPoint]) -> Words:
    """The best configuration and the runner-up, and whether their intervals overlap.

    Args:
        file: the sweep.
        points: its configurations, best first.
    """
    if not points:
        return ("No configuration of this sweep has a value.",)
    words: list[str | Number] = []
    for k, (best, *others) in panels_of(points):
        known = describe_point(best, file, percentile_of(file.data), currency_of(file.data))
        words += [" " if words else "", f"Best quality{at_k(k)}: ", best.name, ": ", *known]
        words.append(f". Next is {others[0].name}, {_overlap(best, others[0])}." if others else ".")
    return tuple(filter(None, words))


def at_k(k: int | None) -> str:
    """A phrase that names K; empty where configurations of all K are compared."""
    return "" if k is None else f" at K = {k}"


def _overlap(best: ConfigurationPoint, second: ConfigurationPoint) -> str:
    if best.interval is None or second.interval is None:
        return "and no interval says how far apart they are"
    if _overlaps(best, second):
        return "inside the noise of these queries: the two intervals overlap"
    return "and the two intervals do not overlap"


def _overlaps(best: ConfigurationPoint, other: ConfigurationPoint) -> bool:
    return best.interval is not None and other.interval is not None and other.interval[1] >= best.interval[0]


def sweep_summary(file: ResultFile, points: Sequence[ConfigurationPoint]) -> Iterator[Words]:
    """Faster or cheaper configurations within the interval of the best one.

    Args:
        file: the sweep.
        points: its configurations, best first.
    """
    for k, some in panels_of(points):
        yield from _near(file, some, k)


def _near(file: ResultFile, points: Sequence[ConfigurationPoint], k: int | None) -> Iterator[Words]:
    """Among comparable configurations, faster or cheaper ones within the interval of the best one."""
    percentile, currency = percentile_of(file.data), currency_of(file.data)
    near = [each for each in points if _overlaps(points[0], each)]
    timed = [each for each in near if each.seconds(percentile) is not None]
    priced = [each for each in near if each.cost is not None]
    fastest = min(timed, key=lambda each: each.seconds(percentile) or 0.0, default=None)
    cheapest = min(priced, key=lambda each: each.cost or 0.0, default=None)
    known = count_phrase(len(points), "configuration", "configurations")
    if len(near) > 1:
        yield (f"Of {known}{at_k(k)}, {len(near)} have intervals that overlap that of the best one, its own counted.",)
    for what, each in {"Fastest": fastest, "Cheapest": cheapest}.items():
        if each is not None and each is not points[0]:
            yield (
                f"{what} of these: {each.name}: ",
                *describe_point(each, file, percentile, currency),
                ".",
            )


def headroom_advice(file: ResultFile, points: Sequence[ConfigurationPoint]) -> Iterator[Words]:
    """Whether pool or order leaves the larger headroom in the best configuration.

    Args:
        file: the sweep.
        points: its configurations, best first.
    """
    first = next(iter(points), None)
    ceiling = None if first is None else file.data["configurations"][first.place]["ceiling"]
    if first is None or ceiling is None:
        return
    pool, order = (
        number(
            file, format_value(ceiling[name]), ceiling[name], pointer("configurations", first.place, "ceiling", name)
        )
        for name in ("retrieval_headroom", "ordering_headroom")
    )
    advice = "Widen the pool" if pool.value > order.value else "Mend the order"
    yield (f"{advice} of {first.name}: its pool lacks ", pool, ", and the order of the pool loses ", order, ".")
