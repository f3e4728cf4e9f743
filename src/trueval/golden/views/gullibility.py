"""Gullibility of a judge as people and papers read it: a terminal table, Markdown, LaTeX, CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Group

from trueval.golden.views.golden import money
from trueval.report import formats
from trueval.report.sheets import Sheet, as_latex, as_markdown, in_terminal
from trueval.report.text import FRACTIONS, NOT_AVAILABLE, Scale, counted, fixed, interval, percent, unit

Entry = Mapping[str, Any]


def table(result: Entry, *, scale: Scale = FRACTIONS) -> Group:
    """What a person reads.

    Args:
        result: the JSON of `trueval golden stress --gullibility`.
        scale: of shares.
    """
    return in_terminal([sheet(result, scale)], [*sentences(result), *unit(scale)])


def to_markdown(result: Entry, *, scale: Scale = FRACTIONS) -> str:
    """The same as Markdown.

    Args:
        result: the JSON of `trueval golden stress --gullibility`.
        scale: of shares.
    """
    return as_markdown([sheet(result, scale)], [*sentences(result), *unit(scale)])


def to_latex(result: Entry, *, scale: Scale = FRACTIONS) -> str:
    """The same as a tabular.

    Args:
        result: the JSON of `trueval golden stress --gullibility`.
        scale: of shares.
    """
    return as_latex([sheet(result, scale)], [*sentences(result), *unit(scale)])


def to_csv(result: Entry) -> str:
    """One line for each trap, in full precision.

    Args:
        result: the JSON of `trueval golden stress --gullibility`.
    """
    return formats.to_csv(("query", "trap", "document", "characters", "grade", "clean", "call"), result["traps"])


def sheet(result: Entry, scale: Scale = FRACTIONS) -> Sheet:
    """The table.

    Args:
        result: the JSON of `trueval golden stress --gullibility`.
        scale: of shares.
    """
    rows = tuple(
        (
            each["kind"],
            f"{each['graded']:,}",
            f"{each['relevant']:,}",
            fixed(each["share"]["value"], scale),
            interval(each["share"]["low"], each["share"]["high"], scale),
            NOT_AVAILABLE if each["mean"] is None else f"{each['mean']:.2f}",
            *_against(each),
        )
        for each in result["kinds"]
    )
    head = ("passage", "graded", "relevant", "share", "interval", "mean\ngrade", "lifted", "lowered", "p", "fooled")
    title = f"{result['judge']}: passages that should not be relevant"
    return Sheet(title, head, "Lrrrrrrrrl", rows, ("lowered", "graded", "mean\ngrade"))


def _against(each: Entry) -> tuple[str, ...]:
    """What a kind is against its clean passages; the control is against nothing."""
    if each["p_holm"] is None:
        return "", "", "", ""
    return str(each["lifted"]), str(each["lowered"]), f"{each['p_holm']:.3g}", "yes" if each["fooled"] else "no"


def sentences(result: Entry) -> list[str]:
    """What a reader should know, most important first.

    Args:
        result: the JSON of `trueval golden stress --gullibility`.
    """
    return [*told(result), *legend(result)]


def told(result: Entry) -> Iterator[str]:
    """What was found.

    Args:
        result: the JSON of `trueval golden stress --gullibility`.
    """
    fooled = [each for each in result["kinds"] if each["fooled"]]
    for each in fooled:
        yield (
            f"{result['judge']} is fooled by a passage {each['about']}: it graded {percent(each['share']['value'])} "
            f"relevant, and {each['lifted']} of {result['queries']} higher than the clean passage."
        )
    if not fooled:
        yield f"{result['judge']} was not seen to be fooled, over {counted(result['queries'], 'query', 'queries')}."
    clean = result["kinds"][0]
    yield (
        f"The control, {clean['about']}, was graded relevant in {percent(clean['share']['value'])}: by accident a "
        "passage that is drawn may be relevant."
    )
    lost = [each for each in result["kinds"] if each["unjudged"]]
    if lost:
        yield "No valid grade: " + ", ".join(f"{each['unjudged']} of {each['kind']}" for each in lost) + "."


def legend(result: Entry) -> Iterator[str]:
    """What the columns mean, and what it took.

    Args:
        result: the JSON of `trueval golden stress --gullibility`.
    """
    yield (
        f"relevant: grade {result['relevant']} or higher; intervals at {result['level']:g} by Clopper and Pearson. "
        "lifted, lowered: queries whose passage has a higher or lower grade than their clean one; p: exact sign test, "
        "adjusted by Holm."
    )
    cost = result["usage"]["cost"]
    paid = "" if cost is None else f", for {money(cost)}"
    yield f"{counted(result['usage']['calls'], 'call', 'calls')}{paid}; every passage was shown alone, once."
