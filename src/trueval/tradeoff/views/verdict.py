"""The conclusions of a sweep: which configuration to ship, how certain that is, and what to work on next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from trueval.report.number_texts import count_phrase, format_value
from trueval.report.page_content import Number, Words
from trueval.report.result_directory import ResultFile, pointer
from trueval.tradeoff.frontier.rule_sentences import DECIDES
from trueval.tradeoff.views.points import ConfigurationPoint, currency_of, panels_of, percentile_of
from trueval.tradeoff.views.units import milliseconds, money, share

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


# ---- of a frontier ----


def find_leading_rules(frontier: Entry) -> list[int]:
    """Indices of the leading rule at each K: joint limits if several, else any limit, else quality.

    Args:
        frontier: its JSON.
    """
    wanted = ("all limits", "latency-bound", "cost-bound", "quality-bound", "best quality")
    rules = frontier["rules"]
    first = min(rules, key=lambda rule: wanted.index(rule["rule"]), default=None)
    names = ("rule", "seeks")
    return [] if first is None else [at for at, rule in enumerate(rules) if all(rule[n] == first[n] for n in names)]


def frontier_verdict(file: ResultFile, points: Sequence[ConfigurationPoint]) -> Words:
    """The choice of the leading rule at each K, its runner-up, and whether they tie.

    Args:
        file: the frontier.
        points: its configurations.
    """
    words: list[str | Number] = []
    for place in find_leading_rules(file.data):
        words += [" " if words else "", *_describe_answer(file, place, {point.place: point for point in points})]
    return tuple(filter(None, words))


def _describe_answer(file: ResultFile, place: int, points: Mapping[int, ConfigurationPoint]) -> Iterator[str | Number]:
    """A sentence on the choice of a rule."""
    data, rule = file.data, file.data["rules"][place]
    if rule["answer"] is None:
        yield rule["sentence"]
        return
    answer, runner_up = points[rule["answer"]], points.get(rule["runner_up"])
    yield f"Ship {answer.name}, "
    yield from _why(file, rule, answer, points.get(rule["best"]))
    yield ": "
    yield from describe_point(answer, file, data["percentile"], data["currency"] or "")
    if rule["feasible_chance"] is not None and rule["limits"].keys() & {"quality", "latency_ms"}:
        at = pointer("rules", place, "feasible_chance")
        yield "; inside the limits in "
        yield number(file, share(rule["feasible_chance"]), rule["feasible_chance"], at)
        yield " of the resamples"
    if runner_up is None:
        yield "."
    else:
        yield from _runner_up(file, place, rule, runner_up)


def _why(
    file: ResultFile, rule: Entry, answer: ConfigurationPoint, best: ConfigurationPoint | None
) -> Iterator[str | Number]:
    """Why it was chosen: it is the best, or not separated from the best with another advantage."""
    if best is None or best is answer:
        yield f"the {describe_rule(rule)}"
        return
    yield f"which ties with the {describe_rule(rule)} ({best.name}, {best.measure} "
    yield number(file, format_value(best.quality), best.quality, best.at["value"])
    yield f"), where {DECIDES.get(rule['decided_by'], 'the {} decides').format(rule['decided_by'])}"


SOUGHT: Final = {"quality": "best quality", "latency": "least latency", "cost": "least cost"}


def describe_rule(rule: Entry) -> str:
    """Objective and limits of a rule, in words.

    Args:
        rule: of a frontier.

    Example:
        >>> limits = {"latency_ms": 500.0, "quality": 0.8, "measure": "nDCG@10"}
        >>> describe_rule({"seeks": "cost", "K": 10, "limits": limits})
        'least cost at K = 10 with latency at most 500 ms, nDCG@10 at least 0.8'
    """
    limits = rule["limits"] or {}
    forms = {
        "latency_ms": "latency at most {:,g} ms",
        "cost": "cost at most {:,g}",
        "quality": f"{limits.get('measure') or 'quality'} at least {{:g}}",
    }
    told = ", ".join(form.format(limits[name]) for name, form in forms.items() if limits.get(name) is not None)
    return f"{SOUGHT[rule['seeks']]}{at_k(rule['K'])}{f' with {told}' if told else ''}"


def _runner_up(file: ResultFile, place: int, rule: Entry, runner_up: ConfigurationPoint) -> Iterator[str | Number]:
    ties = runner_up.place in rule["within_noise"]
    yield f". Runner-up: {runner_up.name}, which {'ties' if ties else 'does not tie'}"
    if rule["better"] is not None:
        yield "; the answer is better in "
        yield number(file, share(rule["better"]), rule["better"], pointer("rules", place, "better"))
        yield " of the resamples"
    yield "."


def frontier_summary(file: ResultFile) -> Iterator[Words]:
    """The number of configurations on the frontier.

    Args:
        file: the frontier.
    """
    data = file.data
    on = [point for point in data["points"] if point["on_frontier"]]
    sure = sum(point["probability"] is not None and point["probability"] >= 0.9 for point in data["points"])
    known = count_phrase(len(data["points"]), "configuration", "configurations")
    yield (
        f"{len(on)} of {known} are on the frontier of the measured values; {sure} are in at least .9 of the resamples.",
    )


def other_rules(file: ResultFile) -> Iterator[Words]:
    """A sentence for each rule that does not lead.

    Args:
        file: the frontier.
    """
    leading = find_leading_rules(file.data)
    yield from ((rule["sentence"],) for place, rule in enumerate(file.data["rules"]) if place not in leading)


def frontier_advice(file: ResultFile) -> Iterator[Words]:
    """Advice to widen the pool or improve the order, with the headrooms behind it.

    Args:
        file: the frontier.
    """
    advice = file.data["advice"]
    if advice is None:
        return
    values: list[Any] = [(advice.get(name) or {}).get("value") for name in HEADROOMS]
    head = WORK.get(advice["verdict"])
    if head is None or advice["point"] is None or None in values:
        yield (advice["sentence"],)
        return
    pool, order = (
        number(file, format_value(value), value, pointer("advice", name, "value"))
        for name, value in zip(HEADROOMS, values, strict=True)
    )
    named = head.format(file.data["points"][advice["point"]]["name"])
    yield (f"{named}: its candidates lack ", pool, " of what there is to find, and their order loses ", order, ".")


HEADROOMS: Final = ("retrieval_headroom", "ordering_headroom")
WORK: Final = {
    "widen the pool": "Widen the pool of {}",
    "mend the order": "Mend the order of {}",
    "either": "Widen the pool of {} or mend its order, which leave about as much to gain",
    "neither": "Pool and order of {} leave little to gain",
}
