"""Reports of judges under stress: terminal tables, Markdown, LaTeX, CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

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


def table(result: Entry, *, scale: ValueUnit = FRACTIONS) -> Group:
    """The terminal report.

    Args:
        result: the JSON of `trueval golden stress`.
        scale: of shares, coefficients and values of measures.
    """
    return in_terminal(sheets(result, scale), [*sentences(result), *unit(scale)])


def to_markdown(result: Entry, *, scale: ValueUnit = FRACTIONS) -> str:
    """The report as Markdown.

    Args:
        result: the JSON of `trueval golden stress`.
        scale: as in `table`.
    """
    return as_markdown(sheets(result, scale), [*sentences(result), *unit(scale)])


def to_latex(result: Entry, *, scale: ValueUnit = FRACTIONS) -> str:
    """The report as LaTeX tabulars.

    Args:
        result: the JSON of `trueval golden stress`.
        scale: as in `table`.
    """
    return as_latex(sheets(result, scale), [*sentences(result), *unit(scale)])


def to_csv(result: Entry) -> str:
    """One line per measure and judge, in full precision.

    Args:
        result: the JSON of `trueval golden stress`.
    """
    names = ["measure", "judge", *result["labels"][0]["coefficients"], "tau", "tau_low", "tau_high", "tau_top"]
    outcomes = ["pairs", "same", "reversed", "false", "missed", "neither", "false_rate", "missed_rate"]
    return formats.to_csv([*names, *outcomes], _rows(result))


def _rows(result: Entry) -> Iterator[Entry]:
    for measure in result["measures"]:
        for labels, judge in zip(result["labels"], measure["judges"], strict=True):
            coefficients = {name: value["value"] for name, value in labels["coefficients"].items()}
            tau = {"tau": judge["tau"]["value"], "tau_low": judge["tau"]["low"], "tau_high": judge["tau"]["high"]}
            about = {"measure": measure["measure"], "judge": judge["judge"], "tau_top": judge["tau_top"]["value"]}
            yield {**about, **coefficients, **tau, **judge["all"]}


def sheets(result: Entry, scale: ValueUnit = FRACTIONS) -> list[TextSheet]:
    """The tables of the report.

    Args:
        result: the JSON of `trueval golden stress`.
        scale: as in `table`.
    """
    found = []
    for measure in result["measures"]:
        found += [_judges(result, measure, scale), _systems(measure, scale)]
        if measure["families"]:
            found += [_families(measure, scale), _kin_values(measure, scale)]
    return found


def _judges(result: Entry, measure: Entry, scale: ValueUnit) -> TextSheet:
    head = ("judge", "κ quad-\nratic", "α\nordinal", "τ", "interval", "τ top", "false\nrate", "missed\nrate", "turned")
    rows = []
    for labels, judge in zip(result["labels"], measure["judges"], strict=True):
        of = [labels["coefficients"][name]["value"] for name in ("kappa_quadratic", "alpha_ordinal")]
        tau, all_pairs = judge["tau"], judge["all"]
        numbers = (format_value(value, scale) for value in (*of, tau["value"]))
        rates = (format_value(all_pairs[name], scale) for name in ("false_rate", "missed_rate"))
        last = (format_value(judge["tau_top"]["value"], scale), *rates, str(all_pairs["reversed"]))
        rows.append((judge["judge"], *numbers, interval(tau["low"], tau["high"], scale), *last))
    title = f"{measure['measure']}: judges against people, {count_phrase(len(result['runs']), 'run', 'runs')}"
    return TextSheet(title, head, "Lrrrrrrrr", tuple(rows), ("interval", "α\nordinal", "turned"))


def _systems(measure: Entry, scale: ValueUnit) -> TextSheet:
    rows = tuple(
        (
            each["run"],
            format_value(each["mean"], scale),
            interval(each["least_mean"], each["greatest_mean"], scale),
            f"{each['rank']:g}",
            f"{each['best_rank']:g}–{each['worst_rank']:g}",
        )
        for each in measure["systems"]
    )
    head = ("run", "by people", "by judges", "rank by\npeople", "ranks by\njudges")
    return TextSheet(f"{measure['measure']}: systems under all judges", head, "Lrrrr", rows)


def _families(measure: Entry, scale: ValueUnit) -> TextSheet:
    rows = []
    for each in measure["families"]:
        lifts = (each["lift"][name]["value"] for name in ("own", "others", "extra"))
        extra = each["lift"]["extra"]
        shown = map(format_lift, lifts)
        span = NOT_AVAILABLE if extra["low"] is None else f"[{format_lift(extra['low'])}, {format_lift(extra['high'])}]"
        taus = (format_value(each[name]["value"], scale) for name in ("tau", "tau_without"))
        rows.append((each["judge"], each["family"], str(len(each["runs"])), *shown, span, *taus))
    head = ("judge", "family", "runs", "lift", "by\nothers", "extra", "interval", "τ", "τ without\nthem")
    return TextSheet(f"{measure['measure']}: runs of the judge's own family", head, "LLrrrrrrr", tuple(rows), ("runs",))


def _kin_values(measure: Entry, scale: ValueUnit) -> TextSheet:
    rows = []
    for each in measure["families"]:
        found = each["lift_in_measure"]
        lifts = [format_difference(found[name]["value"], scale) for name in ("own", "others", "extra")]
        low, high = (format_difference(found["extra"][end], scale) for end in ("low", "high"))
        span = NOT_AVAILABLE if found["extra"]["low"] is None else f"[{low}, {high}]"
        rows.append((each["judge"], each["family"], *lifts, span))
    head = ("judge", "family", "lift", "by\nothers", "extra", "interval")
    return TextSheet(f"{measure['measure']}: what judges add to runs of their own family", head, "LLrrrr", tuple(rows))


def sentences(result: Entry) -> list[str]:
    """The findings as sentences, the most important first.

    Args:
        result: the JSON of `trueval golden stress`.
    """
    return [*describe_findings(result), *legend(result)]


def describe_findings(result: Entry) -> Iterator[str]:
    """The findings as sentences.

    Args:
        result: the JSON of `trueval golden stress`.
    """
    for measure in result["measures"]:
        yield from _of_measure(result, measure)


def _of_measure(result: Entry, measure: Entry) -> Iterator[str]:
    name, judges = measure["measure"], measure["judges"]
    known = [each for each in judges if each["tau"]["value"] is not None]
    if known:
        best = max(known, key=lambda each: each["tau"]["value"])
        least = min(known, key=lambda each: each["tau"]["value"])
        low, high = format_value(least["tau"]["value"]), format_value(best["tau"]["value"])
        up = f" to {high} ({best['judge']})" if low != high else ""
        lowest = least["judge"] if up or len(known) == 1 else f"{len(known)} judges alike"
        yield f"{name}: τ with people is {low} ({lowest}){up}."
    worst = [each for each in judges if each["all"]["false_rate"] is not None]
    if worst:
        each = max(worst, key=lambda judge: judge["all"]["false_rate"])
        of = each["all"]
        claims = of["same"] + of["reversed"] + of["false"]
        yield (
            f"{name}: people separate {measure['separated']} of {of['pairs']} pairs. Of {claims} that {each['judge']} "
            f"separates, {percent(of['false_rate'])} are not separated by people or are turned around."
        )
    blind = [each for each in judges if each["all"]["missed_rate"]]
    if blind:
        each = max(blind, key=lambda judge: judge["all"]["missed_rate"])
        yield (
            f"{name}: of {measure['separated']} pairs that people separate, {each['judge']} misses or turns around "
            f"{percent(each['all']['missed_rate'])}."
        )
    spread = measure["spread"]
    if len(judges) > 1:
        yield (
            f"{name}: {len(judges)} judges say the same of {spread['all_judges_agree']} of {spread['pairs']} pairs, "
            f"and separate {spread['judges_oppose']} in opposite directions."
        )
    unrelated = measure["spread_unrelated"]
    if unrelated is not None:
        yield (
            f"{name}: judges of other families than a pair's say the same of {unrelated['all_judges_agree']} of "
            f"{unrelated['pairs']} pairs, and separate {unrelated['judges_oppose']} in opposite directions."
        )
    lifts = [each for each in measure["families"] if (each["lift"]["extra"]["low"] or 0) > 0]
    if lifts:
        most = max(lifts, key=lambda each: each["lift"]["extra"]["value"])
        yield (
            f"{name}: {len(lifts)} of {count_phrase(len(measure['families']), 'judge', 'judges')} with runs of "
            "the same "
            f"family rank them higher than other judges do, {most['judge']} by "
            f"{most['lift']['extra']['value']:.1f} ranks."
        )
    added = [each for each in measure["families"] if (each["lift_in_measure"]["extra"]["low"] or 0) > 0]
    if added:
        most = max(added, key=lambda each: each["lift_in_measure"]["extra"]["value"])
        own, others = (format_difference(most["lift_in_measure"][of]["value"]) for of in ("own", "others"))
        yield (
            f"{name}: {len(added)} of {count_phrase(len(measure['families']), 'judge', 'judges')} with runs of "
            "the same "
            f"family add more to them than other judges do, {most['judge']} {own} against {others}."
        )


def legend(result: Entry) -> Iterator[str]:
    """What the columns mean.

    Args:
        result: the JSON of `trueval golden stress`.
    """
    first = (
        f"of the first {result['top']} by people" if result["top"] < len(result["runs"]) else "the same, of all runs"
    )
    yield (
        f"τ is Kendall's τ-b between the means of the systems by the judge and by people; top: {first}. Intervals at "
        f"{result['level']:g} are over queries."
    )
    yield (
        "false rate: of the pairs that the judge separates, those that people do not separate, or the other way round; "
        "missed rate: of those that people separate."
    )
    if any(measure["families"] for measure in result["measures"]):
        yield (
            "lift: mean ranks that runs of its family are higher under the judge than under people; by others: the "
            "same runs under judges of other families; extra: the difference. Ranks saturate: what judges add is in "
            "the measure, the value of such runs under the judge less that under people, beyond the same of all other "
            "runs."
        )
    yield (
        f"All labels are compared on the {result['shared']['pairs']:,} pairs of query and passage that everybody "
        "labelled. People's verdicts are tests too, and not the truth."
    )


def format_lift(value: float | None) -> str:
    """A lift in ranks.

    >>> format_lift(1.25), format_lift(None)
    ('+1.2', '–')
    """
    return NOT_AVAILABLE if value is None else f"{value:+.1f}"
