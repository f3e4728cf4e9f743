"""Reports of a frontier: terminal table, Markdown, LaTeX and CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from rich.console import Group
from rich.text import Text

from trueval.report import formats
from trueval.report.formats import latex, markdown, pipes, tabular
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
from trueval.tradeoff.diagnosis.advice import Headrooms, sentence
from trueval.tradeoff.quality.panels import is_comparable_across_k
from trueval.tradeoff.views.units import milliseconds, money, share

Entry = Mapping[str, Any]

HEAD: Final = ("configuration", "K", "quality", "interval", "ms", "cost", "share", "group")
COLUMNS: Final = "Lrrlrrrr"
SPARE: Final = ("interval", "group", "K")
POSSIBLE: Final = 0.1  # share of resamples from which one that is not on the measured frontier is shown too
MOST: Final = 30  # rows of a terminal


def select_points(result: Entry) -> list[int]:
    """The points to show: on the measured frontier or on that of some resamples, by descending share.

    Args:
        result: the JSON of `trueval frontier`.
    """
    points = result["points"]
    there = [at for at, each in enumerate(points) if each["on_frontier"] or (each["probability"] or 0) >= POSSIBLE]
    return sorted(there, key=lambda at: (-(points[at]["probability"] or 0), -(points[at]["quality"]["value"] or 0)))


def point_cells(result: Entry, at: int, scale: ValueUnit) -> list[str]:
    """Table cells of a point.

    Args:
        result: the JSON.
        at: place of the point.
        scale: of the quality.
    """
    point = result["points"][at]
    quality, latency = point["quality"], (point["latency"] or {}).get(result["percentile"]) or {}
    return [
        f"{point['name']} *" if point["on_frontier"] else point["name"],
        NOT_AVAILABLE if point["K"] is None else str(point["K"]),
        format_value(quality["value"], scale),
        interval(quality["low"], quality["high"], scale),
        milliseconds(latency.get("value")),
        money(point["cost"]),
        share(point["probability"]),
        _group(result, at),
    ]


def _group(result: Entry, at: int) -> str:
    """The share of a point's group, where it has several members."""
    number = result["points"][at]["group"]
    group = None if number is None else result["groups"][number]
    if group is None or len(group["members"]) == 1:
        return ""
    return f"{share(group['probability'])} of {len(group['members'])}"


def lines(result: Entry, scale: ValueUnit = FRACTIONS) -> Iterator[str]:
    """Notes below the table: rules, advice, frontiers under latency limits, and definitions.

    Args:
        result: the JSON of `trueval frontier`.
        scale: of the quality.
    """
    for rule in result["rules"]:
        yield rule["sentence"]
        if fitted := rule["cross_fitted"]:
            yield _describe_optimism(rule, fitted, scale)
    yield from _in_time(result)
    if result["advice"] is not None:
        yield _advice(result, scale)
    yield from _legend_lines(result)
    yield from result["notes"]


def _describe_optimism(rule: Entry, fitted: Entry, scale: ValueUnit) -> str:
    """Selection bias of the best quality; names the configuration where a tie-break chose another one."""
    worth, flattered = format_value(fitted["value"], scale), format_value(max(fitted["optimism"], 0.0), scale)
    chosen = "that choice" if rule["answer"] == rule["best"] else "the highest value"
    return f"Chosen and measured on different queries, {chosen} is worth {worth}: choosing flatters it by {flattered}."


def _advice(result: Entry, scale: ValueUnit) -> str:
    """The advice of the JSON, whose headrooms are fractions, on the scale of the report."""
    advice = result["advice"]
    if scale == FRACTIONS:
        return str(advice["sentence"])
    pool, order = advice["retrieval_headroom"]["value"], advice["ordering_headroom"]["value"]
    found = Headrooms(pool, order, advice["share"], advice["queries"], None, None)
    return sentence(found, advice["verdict"], result["points"][advice["point"]]["name"], scale)


def _in_time(result: Entry) -> Iterator[str]:
    """One line per latency limit, at the frontier's percentile."""
    for each in result["slo"]:
        if each["percentile"] == result["percentile"]:
            limit = f"Inside {each['latency_ms']:,g} ms at {each['percentile']}"
            inside = count_phrase(each["feasible"], "configuration", "configurations")
            best = "" if each["best"] is None else f", the best {result['points'][each['best']]['name']}"
            at = "" if each["K"] is None else f" at K = {each['K']}"
            yield f"{limit}{at}: {inside}, {len(each['points'])} on their frontier{best}."


def _legend_lines(result: Entry) -> Iterator[str]:
    band = result["band"]
    other = "no other" if len(result["panels"]) == 1 else "no other of the same K"
    rule = f"{other} is as good in all and better in one of" if result["rule"] == "pareto" else f"{other} is better in"
    names = ", ".join(result["objectives"])
    queries = count_phrase(result["queries"], "query", "queries")
    yield f"* on the frontier of the measured values: {rule} {names}. quality: {result['quality']}, {queries}."
    yield from across_k(result)
    if "latency" in result["objectives"] and band["seconds"]:
        yield f"Latencies that differ by {milliseconds(band['seconds'])} ms or less tie."
    if "latency" in result["objectives"] and band["ratio"]:
        told = f"half of all pairs from a ratio of {band['ratio']:.3g}"
        yield f"Latencies tie where the jitter between repeats does not separate them: it separates {told}."
    if any(point["probability"] is not None for point in result["points"]):
        yield (
            f"share: of {result['resamples']:,} resamples of queries, tie orders and times, drawn toward what others "
            "tell, those in which it is on the frontier; group: in which one of several that differ inside noise is."
        )
    if "cost" in result["objectives"]:
        yield f"cost: {result['currency'] or 'currency'} for 1,000 queries."


def across_k(result: Entry) -> Iterator[str]:
    """Whether configurations with different K are compared.

    Args:
        result: the JSON of `trueval frontier`.
    """
    qualities = [each["quality"]["measure"] for each in result["points"]]
    if len(result["panels"]) > 1:
        yield f"Configurations are compared at the same K: at another, {result['quality']} is another measure."
    elif len(set(qualities)) > 1 and is_comparable_across_k(qualities):
        yield f"Configurations of different K are compared by {result['quality']}, as P-B does (section 3.3)."


def _title(result: Entry) -> str:
    on, total = sum(point["on_frontier"] for point in result["points"]), len(result["points"])
    return f"{on} of {count_phrase(total, 'configuration', 'configurations')} on the frontier ({percent(on / total)})"


def table(result: Entry, *, scale: ValueUnit = FRACTIONS) -> Group:
    """The terminal report: the frontier, the choice of each rule, and advice.

    Args:
        result: the JSON of `trueval frontier`.
        scale: of the quality.
    """
    head = [each if each != "ms" else f"ms {result['percentile']}" for each in HEAD]
    places, rows = select_points(result), grid(head, COLUMNS, spare=SPARE)
    for at in places[:MOST]:
        style = "" if result["points"][at]["on_frontier"] else "dim"
        rows.add_row(*(Text(cell, style=style) for cell in point_cells(result, at, scale)))
    parts: list[Any] = [Text(_title(result), style="bold"), rows]
    if len(places) > MOST:
        parts.append(Text(f"{len(places) - MOST} more are in --format csv.", style="dim"))
    return Group(*parts, Text(), *map(Text, [*lines(result, scale), *unit(scale)]))


def to_csv(result: Entry) -> str:
    """One line per configuration, in full precision.

    Args:
        result: the JSON of `trueval frontier`.
    """
    names = ("quality", "low", "high", "lowest", "highest", "p50", "p95", "p99")
    columns = ("name", "system_name", "method", "K", "measure", *names, "cost", "prompt_tokens", "recall")
    chances = ("on_frontier", "probability", "plain", "group", "group_probability", "dominated_by")
    return formats.to_csv((*columns, *chances), (_row(result, point) for point in result["points"]))


def _row(result: Entry, point: Entry) -> dict[str, Any]:
    latency = {name: (each or {}).get("value") for name, each in (point["latency"] or {}).items()}
    quality = {"quality" if name == "value" else name: each for name, each in point["quality"].items()}
    group, removed = point["group"], point["dominated_by"]
    return {
        **point,
        **latency,
        **quality,
        "group_probability": None if group is None else result["groups"][group]["probability"],
        "dominated_by": None if removed is None else result["points"][removed]["name"],
    }


def to_markdown(result: Entry, *, scale: ValueUnit = FRACTIONS) -> str:
    """A table of the possible frontier members, and the notes.

    Args:
        result: the JSON of `trueval frontier`.
        scale: of the quality.
    """
    rows = (point_cells(result, at, scale) for at in select_points(result))
    head = [each if each != "ms" else f"ms {result['percentile']}" for each in HEAD]
    said = "".join(f"- {markdown(line)}\n" for line in [*lines(result, scale), *unit(scale)])
    return f"{markdown(_title(result))}\n\n{pipes(head, rows, words=1)}\n\n{said}"


def to_latex(result: Entry, *, scale: ValueUnit = FRACTIONS) -> str:
    """A tabular for a paper; it needs the package booktabs.

    Args:
        result: the JSON of `trueval frontier`.
        scale: of the quality.
    """
    rows = [list(map(latex, point_cells(result, at, scale))) for at in select_points(result)]
    head = [each if each != "ms" else f"ms {result['percentile']}" for each in HEAD]
    return tabular(head, rows, "l" + "r" * (len(HEAD) - 1), notes=[*lines(result, scale), *unit(scale)])
