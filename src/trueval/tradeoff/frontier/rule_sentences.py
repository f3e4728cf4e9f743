"""The choice of a rule in one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from trueval.tradeoff.frontier.rules import COST, LATENCY, MOST_RESAMPLES, ORDER, QUALITY, RuleChoice, RuleLimits

# Tie-break criteria other than "the smaller prompt" and the like.
DECIDES: Final = {ORDER: "the order of the sweep decides", MOST_RESAMPLES: "most resamples decide"}
SEEKS: Final = {QUALITY: "best quality", LATENCY: "least latency", COST: "least cost"}


def of_limits(limits: RuleLimits) -> str:
    """The limits as the end of a clause.

    >>> of_limits(RuleLimits(latency=0.5, cost=2.5)), of_limits(RuleLimits())
    (' with latency at most 500 ms and cost at most 2.5', '')
    """
    told = []
    if limits.latency is not None:
        told.append(f"latency at most {limits.latency * 1000:,g} ms")
    if limits.cost is not None:
        told.append(f"cost at most {limits.cost:,g}")
    if limits.quality is not None:
        told.append(f"{limits.measure or 'quality'} at least {limits.quality:g}")
    return f" with {' and '.join(told)}" if told else ""


def of_rule(
    choice: RuleChoice,
    names: Sequence[str],
    *,
    level: float,
    sure: float,
    removed_by: int | None = None,
    equal: bool = False,
) -> str:
    """The choice of a rule, its reason, and the share of resamples that agree.

    Args:
        level: share of resamples at which one quality is separated from another.
        sure: minimum share of resamples in which the choice is within its limits.
        removed_by: a configuration outside the limits that dominates the answer.
        equal: whether the runner-up has the same value in every resample.
    """
    the = "The" if choice.k is None else f"At K = {choice.k} the"
    wanted = f"{the} {SEEKS[choice.seeks]}{of_limits(choice.limits)}"
    if choice.answer is None:
        return f"{wanted}: {_none(choice, names, sure)}"
    parts = [f"{wanted}: {names[choice.answer]}{_inside(choice)}"]
    if removed_by is not None:
        parts.append(f"{names[removed_by]}, outside the limits, removes it from the frontier of all")
    if len(choice.within_noise) > 1:
        parts.append(_tie(choice))
    return f"{'; '.join([*parts, _describe_runner_up(choice, names, level, equal=equal)])}."


def _none(choice: RuleChoice, names: Sequence[str], sure: float) -> str:
    if choice.surest is None or choice.feasible_chance is None:
        return "no configuration is inside the limits."
    share = f"{names[choice.surest]} is in {choice.feasible_chance:.3f}"
    return f"no configuration is inside the limits in at least {sure:g} of the resamples; {share}."


def _inside(choice: RuleChoice) -> str:
    """Share of resamples within the limits, where the limits concern resampled quantities."""
    if choice.feasible_chance is None or (choice.limits.latency is None and choice.limits.quality is None):
        return ""
    return f", inside in {choice.feasible_chance:.3f} of the resamples"


def _tie(choice: RuleChoice) -> str:
    decides = DECIDES.get(str(choice.decided_by), "the {} decides").format(choice.decided_by)
    return f"{len(choice.within_noise)} configurations tie, and {decides}"


def _describe_runner_up(choice: RuleChoice, names: Sequence[str], level: float, *, equal: bool) -> str:
    if choice.runner_up is None:
        alone = choice.feasible.sum() == 1
        inside = "" if choice.limits == RuleLimits() else " inside the limits"
        return f"nothing else is{inside or ' there'}" if alone else f"no other one{inside} is on the frontier"
    told = f"the runner-up is {names[choice.runner_up]}"
    if equal:
        return f"{told}, which is as good"
    if choice.better is None:
        return told
    end = "" if choice.better >= level else ": not separated"
    return f"{told}, and {names[choice.answer or 0]} is better in {choice.better:.3f} of the resamples{end}"
