"""The answer of a frontier: what to ship and why, what it beats, how sure that is, and what would change it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

from trueval.answers.answer_measures import MEASURES as ANSWER_MEASURES
from trueval.errors import MeasureError
from trueval.measures import parse
from trueval.report.number_texts import count_phrase
from trueval.report.view import Answer, Quantity, Sentence
from trueval.tradeoff.diagnosis.advice import EITHER, MEND, NEITHER, WIDEN
from trueval.tradeoff.frontier.frontier_result import FrontierPoint, FrontierResult, RuleAnswer
from trueval.tradeoff.frontier.rule_sentences import DECIDES, SEEKS
from trueval.tradeoff.views.units import MILLISECONDS, MONEY, SHARE

Words = tuple[str | Quantity, ...]

LEADING: Final = ("all limits", "latency-bound", "cost-bound", "quality-bound", "best quality")
SURE: Final = 0.9  # share of resamples
SEEN: Final = 5e-5  # a difference that four decimals show
CHEAPER, FASTER = 0.99, 0.95  # shares of cost and latency from which a tied configuration is worth a word
HARDER: Final = "Only harder questions, on which some of them fail, can say which is better."
WORK: Final = {
    WIDEN: "Widen the pool of {}",
    MEND: "Mend the order of {}",
    EITHER: "Widen the pool of {} or mend its order, which leave about as much to gain",
    NEITHER: "Pool and order of {} leave little to gain",
}


def answer(result: FrontierResult) -> Answer:
    """What to ship, at each K where only equal K are compared.

    Args:
        result: of the command.
    """
    rules = leading_rules(result)
    parts = [(_ship(result, rule), _sure(result, rule), _change(result, rule)) for rule in rules]
    names = [f"At K = {rule.k}: " if len(rules) > 1 else "" for rule in rules]
    sentence, sure, change = (concatenate(names, each) for each in zip(*parts, strict=True)) if parts else ((), (), ())
    return Answer(
        sentence or "No configuration of this sweep has a value.",
        question="Which configuration should be shipped?",
        sure=sure,
        change=change,
        next=_next(result, rules[0]) if rules else "",
    )


def leading_rules(result: FrontierResult) -> list[RuleAnswer]:
    """The leading rule at each K: joint limits if several, else any limit, else quality."""
    first = min(result.rules, key=lambda rule: LEADING.index(rule.rule), default=None)
    return [each for each in result.rules if first and (each.rule, each.seeks) == (first.rule, first.seeks)]


def concatenate(names: Sequence[str], sentences: Sequence[Words]) -> Words:
    """Sentences one after another, each with its K where there are several.

    Args:
        names: "At K = 10: ", or empty.
        sentences: with their quantities.
    """
    known = [(name, *each) for name, each in zip(names, sentences, strict=True) if each]
    return tuple(part for at, each in enumerate(known) for part in ((" ", *each) if at else each) if part != "")


def describe_point(result: FrontierResult, point: FrontierPoint, *, ends: bool = False) -> Words:
    """Quality, latency and cost of a configuration, as far as known.

    Args:
        result: that it is in.
        point: the configuration.
        ends: whether to give the interval of the quality.
    """
    quality, words = point.quality, list[str | Quantity]()
    words += [f"{quality.measure} ", Quantity(quality, "value")]
    if ends and quality.low is not None and quality.high is not None:
        words += [" (", Quantity(quality, "low"), " to ", Quantity(quality, "high"), ")"]
    if point.latency is not None:
        at = f" ms at {result.percentile}" if ends else " ms"
        words += [", ", Quantity(point.latency[result.percentile], "value", MILLISECONDS), at]
    if point.cost is not None:
        words += [
            ", ",
            Quantity(point, "cost", MONEY),
            f" {result.currency or ''} per 1,000 queries".replace("  ", " "),
        ]
    return tuple(words)


def describe_rule(rule: RuleAnswer) -> str:
    """Objective and limits of a rule, in words.

    Args:
        rule: of a frontier.
    """
    limits = rule.limits
    told = [
        *([] if limits.latency_ms is None else [f"latency at most {limits.latency_ms:,g} ms"]),
        *([] if limits.cost is None else [f"cost at most {limits.cost:,g}"]),
        *([] if limits.quality is None else [f"{limits.measure or 'quality'} at least {limits.quality:g}"]),
    ]
    at = "" if rule.k is None else f" at K = {rule.k}"
    return f"{SEEKS[rule.seeks]}{at}{' with ' if told else ''}{' and '.join(told)}"


def _ship(result: FrontierResult, rule: RuleAnswer) -> Words:
    """The choice, why it was made, what it beats, and what it is not separated from."""
    if rule.answer is None:
        return _none(result, rule)
    if equal := _at_ceiling(result, rule):
        return _ship_at_ceiling(result, rule, equal)
    chosen = result.points[rule.answer]
    words = (f"Ship {chosen.name}, the {describe_rule(rule)}: ", *describe_point(result, chosen, ends=True))
    best = None if rule.best in (None, rule.answer) else result.points[rule.best or 0]
    if best is not None:
        decided = DECIDES.get(str(rule.decided_by), "the {} decides").format(rule.decided_by)
        words = (f"Ship {chosen.name}: ", *describe_point(result, chosen, ends=True))
        words += (f"; it is not separated from the {describe_rule(rule)}, {best.name} (", *_sought(result, best, rule))
        words += (f"), and {decided}",)
    cheaper = _cheaper_tie(result, rule)
    if cheaper is not None and cheaper[0] is not best:
        named, advantage = cheaper
        also = "nor" if best is not None else "it is not separated"
        return (*words, f"; {also} from {named.name}, which is ", *advantage, ".")
    if best is not None or rule.runner_up is None:
        return (*words, "." if best is not None else f"; {_alone(rule)}.")
    second = result.points[rule.runner_up]
    verb = "it is not separated from" if rule.runner_up in rule.within_noise else "it beats"
    return (*words, f"; {verb} {second.name} (", *_sought(result, second, rule), ").")


def ceiling_of(measure: str) -> float | None:
    """The best value that a measure can have; None where there is none, or the measure is of another version.

    Args:
        measure: its text form.

    >>> ceiling_of("RA-nWG@10"), ceiling_of("Harm@10"), ceiling_of("DCG@10")
    (1.0, 0.0, None)
    """
    try:
        found = ANSWER_MEASURES[measure].measure if measure in ANSWER_MEASURES else parse(measure)
    except MeasureError:
        return None
    best = found.span.low if found.better == "lower" else found.span.high
    return best if math.isfinite(best) else None


def describe_ceiling(reached: int, count: int, measure: str, inside: str) -> str:
    """How many configurations have the best value that there is, so that quality says nothing of which to ship.

    Args:
        reached: number of them.
        count: number of all that are compared.
        measure: name of the quality of the sweep.
        inside: " inside the limits", or empty.
    """
    best = ceiling_of(measure.replace("@K", "@1")) or 0.0
    many = f"all {count:,}" if reached == count else f"{reached:,} of {count:,}"
    return (
        f"; {many} configurations{inside} reach {best:g}, the ceiling of {measure}, so that quality "
        "cannot tell them apart on these queries, and "
    )


def describe_advantages(cheapest: bool, fastest: bool, smallest: bool) -> str:
    """What a configuration is among those with the best quality.

    Args:
        cheapest: whether it costs least.
        fastest: whether it takes least time.
        smallest: whether its prompt is the smallest.

    >>> describe_advantages(True, False, True), describe_advantages(False, False, False)
    ('it is the cheapest of them and has the smallest prompt', 'none of them is the best in cost, latency and prompt')
    """
    named = [word for word, holds in (("cheapest", cheapest), ("fastest", fastest)) if holds]
    told = f"it is the {' and the '.join(named)} of them" if named else ""
    if smallest:
        told = f"{told} and has the smallest prompt" if told else "it has the smallest prompt"
    return told or "none of them is the best in cost, latency and prompt"


def is_least(own: float | None, others: Sequence[float | None]) -> bool:
    """Whether a value is the least one and some other is greater; False where one is unknown.

    Args:
        own: among the others.
        others: all values.

    >>> is_least(1.0, [1.0, 2.0]), is_least(1.0, [1.0, 1.0]), is_least(1.0, [1.0, None])
    (True, False, False)
    """
    known = [each for each in others if each is not None]
    return own is not None and len(known) == len(others) and own <= min(known) < max(known)


def _at_ceiling(result: FrontierResult, rule: RuleAnswer) -> list[FrontierPoint]:
    """The points inside the limits that have the best value there is, if the choice is one of at least two of them."""
    if rule.answer is None or rule.seeks != "quality":
        return []
    found = [
        each
        for each in map(result.points.__getitem__, rule.feasible)
        if each.quality.value is not None and each.quality.value == ceiling_of(each.quality.measure)
    ]
    return found if len(found) > 1 and result.points[rule.answer] in found else []


def _ship_at_ceiling(result: FrontierResult, rule: RuleAnswer, equal: Sequence[FrontierPoint]) -> Words:
    """The choice where quality decides nothing: what it costs least."""
    chosen = result.points[rule.answer or 0]
    inside = " inside the limits" if any(vars(rule.limits).values()) else ""
    seconds = [each.seconds(result.percentile) for each in equal]
    advantages = describe_advantages(
        is_least(chosen.cost, [each.cost for each in equal]),
        is_least(chosen.seconds(result.percentile), seconds),
        is_least(
            chosen.prompt_tokens or float(chosen.k or 0), [each.prompt_tokens or float(each.k or 0) for each in equal]
        ),
    )
    words: Words = (f"Ship {chosen.name}: ", *describe_point(result, chosen, ends=True))
    words += (describe_ceiling(len(equal), len(rule.feasible), result.quality, inside), advantages)
    if (named := _cheaper_tie(result, rule)) is not None:
        return (*words, f"; {named[0].name} is ", *named[1], ".")
    if rule.runner_up is not None:
        words += (f"; the runner-up is {result.points[rule.runner_up].name}",)
    return (*words, ".")


def _none(result: FrontierResult, rule: RuleAnswer) -> Words:
    """Nothing to ship, and the configuration that is inside the limits most often."""
    none = f"Ship none of these: none keeps the limits of the {describe_rule(rule)}"
    if rule.surest is None:
        return (f"{none}.",)
    name = result.points[rule.surest].name
    often = f" in at least {result.sure:g} of the resamples; {name} is inside in "
    return (f"{none}{often}", Quantity(rule, "feasible_chance", SHARE), ".")


def _alone(rule: RuleAnswer) -> str:
    inside = " inside the limits" if any(vars(rule.limits).values()) else ""
    return f"nothing else is{inside or ' there'}" if len(rule.feasible) == 1 else f"no other{inside} is on the frontier"


def _sought(result: FrontierResult, point: FrontierPoint, rule: RuleAnswer) -> Words:
    """What a rule seeks, of a configuration."""
    if rule.seeks == "latency" and point.latency is not None:
        return Quantity(point.latency[result.percentile], "value", MILLISECONDS), " ms"
    if rule.seeks == "cost":
        return Quantity(point, "cost", MONEY), f" {result.currency or ''}".rstrip()
    return f"{point.quality.measure} ", Quantity(point.quality, "value")


def _cheaper_tie(result: FrontierResult, rule: RuleAnswer) -> tuple[FrontierPoint, Words] | None:
    """A configuration that ties with the choice and is cheaper, else one that is faster; None if there is neither."""
    if rule.answer is None:
        return None
    chosen, percentile = result.points[rule.answer], result.percentile
    others = [result.points[place] for place in rule.within_noise if place != rule.answer]
    cheaper = [each for each in others if is_less(each.cost, chosen.cost, CHEAPER)]
    if cheaper:
        named = min(cheaper, key=lambda each: each.cost or 0.0)
        return named, ("cheaper (", Quantity(named, "cost", MONEY), f" {result.currency or ''}".rstrip(), ")")
    own = chosen.seconds(percentile)
    faster = [each for each in others if is_less(each.seconds(percentile), own, FASTER)]
    if faster:
        named = min(faster, key=lambda each: each.seconds(percentile) or 0.0)
        latency = (named.latency or {})[percentile]
        return named, ("faster (", Quantity(latency, "value", MILLISECONDS), " ms)")
    return None


def is_less(one: float | None, other: float | None, share: float) -> bool:
    """Whether one is below a share of the other; False where one is unknown.

    Args:
        one: cost or latency.
        other: of another configuration.
        share: of it.
    """
    return one is not None and other is not None and one < share * other


def _sure(result: FrontierResult, rule: RuleAnswer) -> Words:
    """The shares of resamples that agree, how many tie, and by how much choosing flatters."""
    if rule.answer is None:
        return ()
    chosen, told = result.points[rule.answer], list[Words]()
    if rule.better is not None and rule.runner_up is not None:
        second = result.points[rule.runner_up].name
        told.append((f"better than {second} in ", Quantity(rule, "better", SHARE)))
    if rule.feasible_chance is not None and not (rule.limits.latency_ms is rule.limits.quality is None):
        told.append(("inside the limits in ", Quantity(rule, "feasible_chance", SHARE)))
    if chosen.probability is not None:
        told.append(("on the frontier in ", Quantity(chosen, "probability", SHARE)))
    between = [*[", "] * (len(told) - 2), " and "]
    words = tuple(part for at, each in enumerate(told) for part in ((between[at - 1], *each) if at else each))
    if words:
        words = ("It is ", *words, f" of {result.resamples:,} resamples of queries, tie orders and times.")
    else:
        words = ("One query says nothing of chances.",)
    if _at_ceiling(result, rule):
        return words
    if len(rule.within_noise) > 1:
        words += (f" {len(rule.within_noise)} configurations tie with the best.",)
    if rule.cross_fitted is not None:
        fitted = rule.cross_fitted
        what = "that choice" if rule.answer == rule.best else "the highest value"
        words += (f" Chosen and measured on different queries, {what} is worth ", Quantity(fitted, "value"))
        flattered = (": choosing flatters it by ", Quantity(fitted, "optimism"), ".")
        words += flattered if fitted.optimism >= SEEN else (".",)
    return words


def _change(result: FrontierResult, rule: RuleAnswer) -> Words:
    """What the answer would be without its limits, or with one, and whether more queries could change it."""
    if rule.answer is None:
        return ()
    words, other = tuple[str | Quantity, ...](), _unlimited_rule(result, rule)
    if other is None:
        found = _next_cheaper(result, rule)
        if found is not None:
            what, point = found
            words = (f"{what} on the frontier is {point.name}: ", *describe_point(result, point), ".")
    elif other.answer == rule.answer or other.answer is None:
        words = ("Without limits the answer is the same.",)
    else:
        point = result.points[other.answer]
        words = (f"Without limits it would be {point.name}: ", *describe_point(result, point), ".")
    if _at_ceiling(result, rule):
        words += (f"{' ' if words else ''}{HARDER}",)
    elif len(rule.within_noise) > 1:
        words += (f"{' ' if words else ''}More judged queries could separate those that tie.",)
    return words


def _unlimited_rule(result: FrontierResult, rule: RuleAnswer) -> RuleAnswer | None:
    """The best quality without limits, at the same K; None if the rule is that one."""
    return next((each for each in result.rules if each.rule == LEADING[-1] and each.k == rule.k and each != rule), None)


def _next_cheaper(result: FrontierResult, rule: RuleAnswer) -> tuple[str, FrontierPoint] | None:
    """The best configuration on the frontier that costs less, else that is faster; None if there is neither."""
    chosen, percentile = result.points[rule.answer or 0], result.percentile
    others = [result.points[place] for place in rule.feasible if result.points[place].on_frontier]
    others = [each for each in others if each.quality.value is not None]
    cheaper = [each for each in others if is_less(each.cost, chosen.cost, CHEAPER)]
    faster = [each for each in others if is_less(each.seconds(percentile), chosen.seconds(percentile), FASTER)]
    for what, some in (("cost could change it: the next cheaper", cheaper), ("latency could: the next faster", faster)):
        if some:
            return f"A limit on {what}", max(some, key=lambda each: each.quality.value or 0.0)
    return None


def _next(result: FrontierResult, rule: RuleAnswer) -> str:
    """The command to run next: with looser limits, to see how many queries are needed, or with a limit."""
    if rule.answer is None:
        other = _unlimited_rule(result, rule)
        point = None if other is None or other.answer is None else result.points[other.answer]
        return "" if point is None else f"trueval frontier SWEEP_DIR{_looser(result, rule, point)}"
    if len({result.points[place].system for place in rule.within_noise}) > 1 and not _at_ceiling(result, rule):
        measure = result.points[rule.answer].quality.measure
        asked = "answers compare LOG LOG" if measure in ANSWER_MEASURES else "power QRELS RUN RUN"
        return f'trueval {asked} -m "{measure}"'
    found = _next_cheaper(result, rule) if _unlimited_rule(result, rule) is None else None
    if found is not None and found[1].cost is not None and "cost" in found[0]:
        return f"trueval frontier SWEEP_DIR --max-cost {_above(found[1].cost)}"
    return "trueval report SWEEP_DIR"


def _looser(result: FrontierResult, rule: RuleAnswer, point: FrontierPoint) -> str:
    """Limits that a configuration keeps, in place of those of a rule."""
    limits, seconds, told = rule.limits, point.seconds(result.percentile), ""
    if limits.latency_ms is not None and seconds is not None:
        told += f" --max-latency-ms {max(limits.latency_ms, float(_above(1000 * seconds))):g}"
    if limits.cost is not None and point.cost is not None:
        told += f" --max-cost {max(limits.cost, float(_above(point.cost))):g}"
    return told


def _above(value: float) -> str:
    """A number of two digits that is not below a value, which a limit can be.

    >>> _above(0.0614), _above(412.3), _above(0.0)
    ('0.062', '420', '0')
    """
    if value <= 0:
        return "0"
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    return f"{math.ceil(round(value / step, 9)) * step:g}"


def findings(result: FrontierResult) -> Iterator[Sentence]:
    """The number of configurations on the frontier, and the rules that do not lead.

    Args:
        result: of the command.
    """
    on = sum(point.on_frontier for point in result.points)
    sure = sum((point.probability or 0) >= SURE for point in result.points)
    known = count_phrase(len(result.points), "configuration", "configurations")
    often = "" if result.groups == () else f"; {sure} are in at least .9 of the resamples"
    yield f"{on} of {known} are on the frontier of the measured values{often}."
    leading = leading_rules(result)
    yield from (rule.sentence for rule in result.rules if rule not in leading)


def advice(result: FrontierResult) -> Iterator[Sentence]:
    """Whether to widen the pool or to improve the order, with the headrooms behind it.

    Args:
        result: of the command.
    """
    found = result.advice
    if found is None:
        return
    head, pool, order = WORK.get(found.verdict), found.retrieval_headroom, found.ordering_headroom
    if head is None or pool is None or order is None:
        yield found.sentence
        return
    lacks = Quantity(pool, "value"), " of what there is to find, and their order loses ", Quantity(order, "value"), "."
    yield (f"{head.format(result.points[found.point].name)}: its candidates lack ", *lacks)
