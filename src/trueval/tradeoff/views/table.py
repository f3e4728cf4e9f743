"""A sweep in a terminal: one line for each configuration, and what there is to be said beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Group
from rich.text import Text

from trueval.report.terminal import grid
from trueval.report.text import FRACTIONS, Scale, counted, fixed, interval, percent, unit

Entry = Mapping[str, Any]
SHOWN = 10  # reasons of what was left out


def table(result: Entry, *, scale: Scale = FRACTIONS) -> Group:
    """The configurations in a terminal.

    Args:
        result: the JSON of `trueval sweep`.
        scale: of measures.
    """
    head = ("configuration", result["quality"], f"{result['level']:.0%} interval", "ties", "%PROC", "judged", "recall")
    shown = grid(head, "Lrrrrrr", spare=("ties", "judged"))
    for each in result["configurations"]:
        value = each["measures"][each["quality"]]
        recall = result["systems"][each["system"]]["recall"]
        shown.add_row(
            each["name"],
            fixed(value["expected"], scale),
            interval(value["low"], value["high"], scale),
            fixed(value["range"], scale),
            fixed((each["ceiling"] or {}).get("share"), scale),
            fixed(each["judged"], scale),
            fixed((recall or {}).get("value"), scale),
        )
    return Group(shown, *map(Text, [*sentences(result), *unit(scale)]))


def sentences(result: Entry) -> Iterator[str]:
    """What failed, what was left out, and the remarks.

    Args:
        result: the JSON of `trueval sweep`.
    """
    for each in result["failed"]:
        yield f"failed: {each['name']}: {each['reason']}"
    left = result["left_out"]
    for each in left[:SHOWN]:
        yield f"left out: {each['name']}: {each['reason']}"
    if len(left) > SHOWN:
        yield f"left out: {counted(len(left) - SHOWN, 'configuration', 'configurations')} more, in sweep.json."
    judged = [each["judged"] for each in result["configurations"] if each["judged"] is not None]
    if judged and min(judged) < 1:
        yield (
            f"From {percent(min(judged))} to {percent(max(judged))} of the documents that are looked at were judged; "
            "what the others are worth nobody knows."
        )
    yield from result["notes"]
