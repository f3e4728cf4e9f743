"""What a rule chose, in one sentence."""

from __future__ import annotations

from collections.abc import Sequence

from trueval.report.text import counted
from trueval.tradeoff.rules import COST, LATENCY, QUALITY, Choice, Limits

SEEKS = {QUALITY: "best quality", LATENCY: "least latency", COST: "least cost"}


def of_limits(limits: Limits) -> str:
    """The limits as the end of a clause.

    >>> of_limits(Limits(latency=0.5, cost=2.5)), of_limits(Limits())
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


def of_rule(choice: Choice, names: Sequence[str], level: float, *, equal: bool = False) -> str:
    """What a rule chose, why, and how sure that is.

    Args:
        choice: of the rule.
        names: [configuration].
        level: chance from which one is separated from another.
        equal: whether the runner-up has the same value in every resample.
    """
    wanted = f"{SEEKS[choice.seeks]}{of_limits(choice.limits)}"
    if choice.answer is None:
        return f"The {wanted}: no configuration is inside the limits."
    told = f"The {wanted}: {names[choice.answer]}"
    if choice.runner_up is None:
        return f"{told}; nothing else is inside the limits." if choice.limits != Limits() else f"{told}."
    tied = len(choice.within_noise)
    if tied > 1:
        why = f"{choice.decided_by} decides" if choice.decided_by != "order" else "the order of the sweep decides"
        told += f"; {counted(tied, 'configuration is', 'configurations are')} inside the noise of the best, and {why}"
    if equal:
        return f"{told}; the runner-up is {names[choice.runner_up]}, which is as good."
    if choice.better is None:
        return f"{told}; the runner-up is {names[choice.runner_up]}."
    chance = f"{choice.better:.3f}"
    end = "" if choice.better >= level else ": not separated"
    return f"{told}; the runner-up is {names[choice.runner_up]}, and the chance to be better than it is {chance}{end}."
