"""Reports of label agreement: terminal table, Markdown, LaTeX, CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from rich.console import Group

from trueval.report import formats
from trueval.report.number_texts import (
    FRACTIONS,
    NOT_AVAILABLE,
    ValueUnit,
    count_phrase,
    format_difference,
    format_value,
    interval,
    percent,
    unit,
)
from trueval.report.sheets import TextSheet, as_latex, as_markdown, in_terminal

Entry = Mapping[str, Any]

TITLES: Final = {
    "kappa": "κ",
    "kappa_linear": "κ linear",
    "kappa_quadratic": "κ quadratic",
    "alpha_nominal": "α nominal",
    "alpha_ordinal": "α ordinal",
    "alpha_interval": "α interval",
}
FEW: Final = 3  # pairs up to which tables of grades and biases are printed too
ALL, SAMPLE = "all judged", "sample"


def table(result: Entry, *, scale: ValueUnit = FRACTIONS) -> Group:
    """The terminal report.

    Args:
        result: the JSON of `trueval golden agree`.
        scale: of the coefficients.
    """
    return in_terminal(sheets(result, scale), [*sentences(result), *unit(scale)])


def to_markdown(result: Entry, *, scale: ValueUnit = FRACTIONS) -> str:
    """The report as Markdown.

    Args:
        result: the JSON of `trueval golden agree`.
        scale: of the coefficients.
    """
    return as_markdown(sheets(result, scale), [*sentences(result), *unit(scale)])


def to_latex(result: Entry, *, scale: ValueUnit = FRACTIONS) -> str:
    """The report as LaTeX tabulars.

    Args:
        result: the JSON of `trueval golden agree`.
        scale: of the coefficients.
    """
    return as_latex(sheets(result, scale), [*sentences(result), *unit(scale)])


def to_csv(result: Entry) -> str:
    """One line per pair of raters and coefficient, in full precision.

    Args:
        result: the JSON of `trueval golden agree`.
    """
    names = ("between", "first", "second", "over", "items", "queries", "coefficient", "value", "low", "high", "reason")
    return formats.to_csv(names, _rows(result))


def _rows(result: Entry) -> Iterator[Entry]:
    for pair in result["pairs"]:
        about = {name: pair[name] for name in ("between", "first", "second", "items", "queries")}
        for over, found in _parts(pair):
            for name, value in found["coefficients"].items():
                yield {**about, "over": over, "coefficient": name, **value}


def _parts(pair: Entry) -> Iterator[tuple[str, Entry]]:
    if pair["population"] is not None:
        yield ALL, pair["population"]
    yield SAMPLE, pair["sample"]


def name_pair(pair: Entry) -> str:
    """Display name of a pair of raters: the judge's name alone where the other side is people."""
    return pair["second"] if pair["between"] == "judge and people" else f"{pair['first']} – {pair['second']}"


def sheets(result: Entry, scale: ValueUnit = FRACTIONS) -> list[TextSheet]:
    """The tables of the report.

    Args:
        result: the JSON of `trueval golden agree`.
        scale: of the coefficients.
    """
    designed = result["design"] is not None
    head = ("labels", *(("over",) if designed else ()), "items", "same", *TITLES.values(), "bias")
    rows = []
    for pair in result["pairs"]:
        for over, found in _parts(pair):
            numbers = (format_value(found["coefficients"][name]["value"], scale) for name in TITLES)
            bias = pair["bias"]["all"]["value"] if over == ALL or not designed else None
            same = format_value(pair["same"], scale) if over == SAMPLE else ""
            lead = (name_pair(pair), *((over,) if designed else ()), f"{pair['items']:,}", same)
            rows.append((*lead, *numbers, "" if designed and over == SAMPLE else format_difference(bias)))
    shown = "L" + "l" * designed + "r" * (len(head) - 1 - designed)
    spare = ("κ linear", "α nominal", "α interval", "same", "items")
    few = result["pairs"] if len(result["pairs"]) <= FEW else ()
    printed = [each for pair in few for each in (_grades(pair), _biases(pair))]
    return [TextSheet("Agreement of labels", head, shown, tuple(rows), spare), *printed]


def _grades(pair: Entry) -> TextSheet:
    over, part = next(_parts(pair))
    grades = [f"{grade:g}" for grade in pair["grades"]]
    rows = tuple((grade, *(f"{count:,.0f}" for count in row)) for grade, row in zip(grades, part["table"], strict=True))
    told = f"{pair['first']} (rows) and {pair['second']} (columns), {over} passages"
    return TextSheet(told, ("grade", *grades), "l" + "r" * len(grades), rows)


def groups(pair: Entry) -> Iterator[tuple[str, Entry]]:
    """Name and entry of each bias group.

    Args:
        pair: an entry of "pairs".
    """
    bias = pair["bias"]
    yield "all", bias["all"]
    for name, of in (("by_first", pair["first"]), ("by_second", pair["second"]), ("by_slot", "slot")):
        for each in bias[name]:
            yield f"{of} {each['group']:g}", each
    for each in bias["by_length"]:
        yield f"{each['from']:,}–{each['to']:,} characters", each


def _biases(pair: Entry) -> TextSheet:
    rows = [
        (
            name,
            str(each.get("items", pair["items"])),
            format_difference(each["value"]),
            interval(each["low"], each["high"]),
        )
        for name, each in groups(pair)
    ]
    told = f"{pair['second']} less {pair['first']}, in grades"
    return TextSheet(told, ("group", "items", "mean", "interval"), "Lrrr", tuple(rows), ("items",))


def sentences(result: Entry) -> list[str]:
    """The findings as sentences, the most important first.

    Args:
        result: the JSON of `trueval golden agree`.
    """
    return [*describe_findings(result), *legend(result)]


def describe_findings(result: Entry) -> Iterator[str]:
    """The findings as sentences.

    Args:
        result: the JSON of `trueval golden agree`.
    """
    yield from _pairs(result)
    yield from _order(result)
    yield from _answers(result)


def _pairs(result: Entry) -> Iterator[str]:
    pairs = result["pairs"]
    for pair in pairs if len(pairs) <= FEW else ():
        over, found = next(_parts(pair))
        kappa = found["coefficients"]["kappa_quadratic"]
        if kappa["value"] is None:
            yield f"{pair['first']} and {pair['second']}: no coefficient, because {kappa['reason']}."
            continue
        about = "" if over == SAMPLE else " over all judged passages, as the sample estimates them"
        yield (
            f"{pair['first']} and {pair['second']} gave the same grade to {percent(pair['same'])} of "
            f"{count_phrase(pair['items'], 'item', 'items')}{about and ' of the sample'}; quadratic κ is "
            f"{format_value(kappa['value'])} {interval(kappa['low'], kappa['high'])}{about}."
        )
    values = [(pair["sample"]["coefficients"]["kappa_quadratic"]["value"], name_pair(pair)) for pair in pairs]
    known = sorted(each for each in values if each[0] is not None)
    if len(pairs) > FEW and known:
        yield (
            f"Quadratic κ goes from {format_value(known[0][0])} ({known[0][1]}) to {format_value(known[-1][0])} "
            f"({known[-1][1]}), "
            f"over {len(pairs)} pairs."
        )
    for each in result["together"]:
        value = each["coefficients"]["alpha_ordinal"]
        yield f"{len(each['raters'])} {each['between']} together: ordinal α {format_value(value['value'])}."


def _order(result: Entry) -> Iterator[str]:
    found = result["order"]
    if found is not None:
        yield (
            f"Of {count_phrase(found['pairs'], 'pair', 'pairs')} of neighbors in the ranked lists people put "
            f"{percent(found['agree'])} in the same order, {percent(found['disagree'])} in the other, and call "
            f"{percent(found['equal'])} equal."
        )


def _answers(result: Entry) -> Iterator[str]:
    found = []
    for each in result.get("answers", ()):  # results of before have none
        span = "" if each["low"] is None else f" [{each['low']:.2f}, {each['high']:.2f}]"
        answers = count_phrase(each["answers"], "answer", "answers")
        found.append(f"{each['system'] or 'the system'} {each['value']:.2f}{span} of {answers}")
    if found:
        yield f"Answers that people rated from 1 to 5, means: {', '.join(found)}."


def legend(result: Entry) -> Iterator[str]:
    """What the columns mean.

    Args:
        result: the JSON of `trueval golden agree`.
    """
    yield f"Intervals at {result['level']:g} are over queries. bias: mean of the second less the first, in grades."
    design = result["design"]
    if design is not None:
        what = "queries" if design["name"] == "queries" else "passages"
        yield (
            f"{ALL}: each item weighs what it stands for in the sample of {design['answered']:,} of "
            f"{design['population']:,} {what}; {SAMPLE}: each item counts once."
        )
        lost = [pair for pair in result["pairs"] if pair["population"] and pair["population"]["covered"] < 1]
        if lost:
            share = min(pair["population"]["covered"] for pair in lost)
            yield f"Strata without an answer are not in it: at least {percent(share)} of the passages are."
    if any(value["value"] is None for pair in result["pairs"] for value in pair["sample"]["coefficients"].values()):
        yield f"{NOT_AVAILABLE}: nothing can be said; the JSON has the reason."
