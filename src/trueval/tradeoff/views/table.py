"""The terminal report of a sweep: the best configurations first, their cost, and what was excluded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.text import Text

from trueval.printable import printable
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
from trueval.report.terminal import grid
from trueval.tradeoff.views.pipelines import cost_of
from trueval.tradeoff.views.probes import probe_columns, probe_legend
from trueval.tradeoff.views.units import apart, describe_shared_words, milliseconds, money

Entry = Mapping[str, Any]

MOST: Final = 20  # configurations that are shown
REASONS: Final = 5  # shown of what was left out or failed
LEAST: Final = 3  # of each K
HEAD: Final = ("configuration", "K", "quality", "interval", "%PROC", "cost", "p50 ms")
SPARE: Final = ("%PROC",)


def table(sweep: Entry, *, scale: ValueUnit = FRACTIONS) -> Group:
    """The best configurations of each K by expected quality, and remarks.

    Args:
        sweep: the JSON of `trueval sweep`.
        scale: of the quality.
    """
    return Group(*_grid(sweep, scale), *map(Text, map(printable, [*_remarks(sweep), *unit(scale)])))


def best(sweep: Entry, most: int = MOST) -> list[Entry]:
    """The best configurations of each K, by increasing K and decreasing quality; ties go to the cheaper ones.

    A measure at another K answers another question, so every K is listed.

    Args:
        sweep: the JSON.
        most: configurations in all, but some of each K.
    """
    ks = sorted({each["K"] for each in sweep["configurations"]})
    each_k = max(LEAST, most // max(len(ks), 1))
    found = []
    for k in ks:
        here = [each for each in sweep["configurations"] if each["K"] == k]
        found += sorted(here, key=lambda each: (-_value(each), _cost(each)))[:each_k]
    return found


def _grid(sweep: Entry, scale: ValueUnit) -> Iterator[RenderableType]:
    shown = best(sweep)
    if not shown:
        return
    probes = probe_columns(sweep)
    titles = [each.title.replace(" ", "\n", 1) for each in probes]
    grown = grid((*HEAD, *titles), "Lrrrrrr" + "r" * len(probes), (*reversed(titles), *SPARE))
    systems = [sweep["systems"][each["system"]] for each in shown]
    names = apart([system["name"] for system in systems])
    for configuration, system, name in zip(shown, systems, names, strict=True):
        told = configuration["measures"].get(configuration["quality"], {})
        grown.add_row(
            name,
            str(configuration["K"]),
            format_value(told.get("expected"), scale),
            interval(told.get("low"), told.get("high"), scale),
            _share(configuration),
            money(cost_of(configuration)),
            milliseconds((system["latency"] or {}).get("p50", {}).get("value")),
            *(each.text(system) for each in probes),
        )
    yield grown


def _share(configuration: Entry) -> str:
    share = (configuration["ceiling"] or {}).get("share")
    return NOT_AVAILABLE if share is None else f"{share:.1%}"


def _value(configuration: Entry) -> float:
    value = configuration["measures"].get(configuration["quality"], {}).get("expected")
    return float("-inf") if value is None else float(value)


def _cost(configuration: Entry) -> float:
    cost = cost_of(configuration)
    return float("inf") if cost is None else float(cost)


def _remarks(sweep: Entry) -> Iterator[str]:
    configurations, shown = len(sweep["configurations"]), len(best(sweep))
    if configurations > shown:
        yield f"{shown} of {configurations} configurations, the best of each K; --format csv has all."
    if configurations:
        yield from filter(
            None, [describe_shared_words([sweep["systems"][each["system"]]["name"] for each in best(sweep)])]
        )
        yield _legend(sweep)
    judged = [each["judged"] for each in sweep["configurations"] if each["judged"] is not None]
    if judged and min(judged) < 1:
        told = (
            percent(min(judged)) if min(judged) == max(judged) else f"{percent(min(judged))} to {percent(max(judged))}"
        )
        yield f"Judged are {told} of the documents in the contexts; sweep.json bounds what the others could change."
    yield from probe_legend(sweep)
    prices = sweep["prices"] or {}
    if prices.get("date"):
        told = f"prices of {prices['date']} ({prices['source']})"
        yield f"Costs are in {prices['currency']} for 1,000 queries, by {told}."
    for what, word in (("left_out", "left out"), ("failed", "failed")):
        yield from _reasons(sweep[what], word)


def _legend(sweep: Entry) -> str:
    widest = max(
        (each["measures"].get(each["quality"], {}).get("range") or 0.0 for each in sweep["configurations"]), default=0.0
    )
    level = f"{100 * sweep['level']:g}"
    ties = f"the order of ties moves it by up to {format_value(widest)}" if widest else "no tie changes it"
    queries = count_phrase(sweep["collection"]["queries"], "query", "queries")
    return f"quality is {sweep['quality']}, its interval {level} % over {queries}; {ties}."


def _reasons(several: Any, word: str) -> Iterator[str]:
    """Names by reason, most frequent reason first."""
    of: dict[str, list[str]] = {}
    for each in several:
        of.setdefault(each["reason"], []).append(each["name"])
    for reason, names in sorted(of.items(), key=lambda pair: -len(pair[1]))[:REASONS]:
        others = f" and {len(names) - 1} more" if len(names) > 1 else ""
        yield f"{word}: {names[0]}{others}: {reason}"
    if len(of) > REASONS:
        yield f"{word}: {count_phrase(len(of) - REASONS, 'further reason', 'further reasons')} in sweep.json."
