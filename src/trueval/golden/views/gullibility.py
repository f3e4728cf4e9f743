"""Reports of a judge's gullibility: terminal table, Markdown, LaTeX, CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Group

from trueval.golden.views.golden import money
from trueval.report import formats
from trueval.report.number_texts import (
    FRACTIONS,
    NOT_AVAILABLE,
    ValueUnit,
    count_phrase,
    format_value,
    interval,
    percent,
    unit,
)
from trueval.report.sheets import TextSheet, as_latex, as_markdown, in_terminal

Entry = Mapping[str, Any]


def table(result: Entry, *, scale: ValueUnit = FRACTIONS) -> Group:
    """The terminal report.

    Args:
        result: the JSON of `trueval golden stress --gullibility`.
        scale: of shares.
    """
    return in_terminal(sheets(result, scale), [*sentences(result), *unit(scale)])


def to_markdown(result: Entry, *, scale: ValueUnit = FRACTIONS) -> str:
    """The report as Markdown.

    Args:
        result: the JSON of `trueval golden stress --gullibility`.
        scale: of shares.
    """
    return as_markdown(sheets(result, scale), [*sentences(result), *unit(scale)])


def to_latex(result: Entry, *, scale: ValueUnit = FRACTIONS) -> str:
    """The report as a LaTeX tabular.

    Args:
        result: the JSON of `trueval golden stress --gullibility`.
        scale: of shares.
    """
    return as_latex(sheets(result, scale), [*sentences(result), *unit(scale)])


def to_csv(result: Entry) -> str:
    """One line per adversarial passage, in full precision.

    Args:
        result: the JSON of `trueval golden stress --gullibility`.
    """
    return formats.to_csv(("query", "trap", "document", "characters", "grade", "clean", "call"), result["traps"])


def sheets(result: Entry, scale: ValueUnit = FRACTIONS) -> list[TextSheet]:
    """The tables: adversarial passages, and their companions.

    Args:
        result: the JSON of `trueval golden stress --gullibility`.
        scale: of shares.
    """
    return [_passage_sheet(result, scale), *([_companions(result)] if result["passages"] > 1 else [])]


def _passage_sheet(result: Entry, scale: ValueUnit) -> TextSheet:
    rows = tuple(
        (
            each["kind"],
            f"{each['graded']:,}",
            f"{each['relevant']:,}",
            format_value(each["share"]["value"], scale),
            interval(each["share"]["low"], each["share"]["high"], scale),
            NOT_AVAILABLE if each["mean"] is None else f"{each['mean']:.2f}",
            *_lift_cells(each),
        )
        for each in result["kinds"]
    )
    head = ("passage", "graded", "relevant", "share", "interval", "mean\ngrade", "lifted", "lowered", "p", "fooled")
    title = f"{result['judge']}: passages that should not be relevant"
    return TextSheet(title, head, "Lrrrrrrrrl", rows, ("lowered", "graded", "mean\ngrade"))


def _companions(result: Entry) -> TextSheet:
    rows = []
    for kind in result["kinds"]:
        each = kind["companions"]
        mean, by = (NOT_AVAILABLE if each[name] is None else each[name] for name in ("mean", "by"))
        shown = (mean if isinstance(mean, str) else f"{mean:.2f}", by if isinstance(by, str) else f"{by:+.2f}")
        rows.append((kind["kind"], f"{each['graded']:,}", *shown, *_lift_cells(each, "raised_by_it")))
    head = ("beside", "graded", "mean\ngrade", "by", "lifted", "lowered", "p", "raised")
    title = f"{result['judge']}: the other {result['passages'] - 1} passages of the call"
    return TextSheet(title, head, "Lrrrrrrl", tuple(rows), ("lowered", "graded"))


def _lift_cells(each: Entry, verdict: str = "fooled") -> tuple[str, ...]:
    """Cells that compare a kind with its clean passages; empty for the control."""
    if each["p_holm"] is None:
        return "", "", "", ""
    return str(each["lifted"]), str(each["lowered"]), f"{each['p_holm']:.3g}", "yes" if each[verdict] else "no"


def sentences(result: Entry) -> list[str]:
    """The findings as sentences, the most important first.

    Args:
        result: the JSON of `trueval golden stress --gullibility`.
    """
    return [*describe_findings(result), *legend(result)]


def describe_findings(result: Entry) -> Iterator[str]:
    """The findings as sentences.

    Args:
        result: the JSON of `trueval golden stress --gullibility`.
    """
    fooled = [each for each in result["kinds"] if each["fooled"]]
    for each in fooled:
        yield (
            f"{result['judge']} is fooled by a passage {each['about']}: it graded {percent(each['share']['value'])} "
            f"relevant, and {each['lifted']} of {result['queries']} higher than the clean passage."
        )
    raising = [
        each for each in result["kinds"] if each["companions"] is not None and each["companions"]["raised_by_it"]
    ]
    for each in raising:
        yield (
            f"{result['judge']} grades what is shown beside a passage {each['about']} higher, by "
            f"{each['companions']['by']:+.2f} on average, and in {each['companions']['lifted']} of {result['queries']} "
            "queries: one passage can lift a whole call."
        )
    if not fooled and not raising:
        yield (
            f"{result['judge']} was not seen to be fooled, over {count_phrase(result['queries'], 'query', 'queries')}."
        )
    clean = result["kinds"][0]
    yield (
        f"The control, {clean['about']}, was graded relevant in {percent(clean['share']['value'])}: by accident a "
        "passage that is drawn may be relevant."
    )
    lost = [each for each in result["kinds"] if each["unjudged"]]
    if lost:
        yield "No valid grade: " + ", ".join(f"{each['unjudged']} of {each['kind']}" for each in lost) + "."


def legend(result: Entry) -> Iterator[str]:
    """What the columns mean, and the cost.

    Args:
        result: the JSON of `trueval golden stress --gullibility`.
    """
    yield (
        f"relevant: grade {result['relevant']} or higher; intervals at {result['level']:g} by Clopper and Pearson. "
        "lifted, lowered: queries whose passage has a higher or lower grade than their clean one; p: exact sign test, "
        "adjusted by Holm."
    )
    if result["passages"] > 1:
        yield (
            "beside: what is shown in one call with the passage, the same for all of a query and irrelevant too; by: "
            "mean difference of its grades to those beside the clean passage; lifted, lowered: queries."
        )
    cost = result["usage"]["cost"]
    paid = "" if cost is None else f", for {money(cost)}"
    among = f"among {result['passages'] - 1} others" if result["passages"] > 1 else "alone"
    yield (
        f"{count_phrase(result['usage']['calls'], 'call', 'calls')}{paid}; every passage was shown {among}, once, "
        "as golden "
        f"sets are graded in mode {result['mode']}."
    )
