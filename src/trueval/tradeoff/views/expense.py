"""Page sections on the expense of configurations: latency by stage and under load, memory, cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from trueval.report.number_texts import make_formatter, whole
from trueval.report.page_content import Block, Figure, PageColumn, Table, Words, row_of
from trueval.report.result_directory import ResultFile, pointer
from trueval.tradeoff.views.plots import Mark, StackedPart, mark_plot, sum_plot
from trueval.tradeoff.views.quality_blocks import SHOWN, short_names
from trueval.tradeoff.views.sweep_points import ConfigurationPoint, best_first, best_of_systems, currency_of
from trueval.tradeoff.views.units import milliseconds, money, share, size

PERCENTILES: Final = ("p50", "p95", "p99")
# In the order in which a query goes through them.
STAGES: Final = {
    "embed": "run-0",
    "retrieve": "run-4",
    "sparse": "run-2",
    "fuse": "run-3",
    "deduplicate": "run-5",
    "rerank": "run-1",
}
MEMORY: Final = {"vectors": "expected", "graph": "range", "words": "good"}
COSTS: Final = {"rerank": "run-1", "embed": "run-0", "generator": "run-5"}
MIB: Final = 2**20


def latency_block(file: ResultFile, points: Sequence[ConfigurationPoint]) -> tuple[Block, ...]:
    """Percentiles of each system and its stages, and under load; empty where nothing was timed.

    Args:
        file: the sweep.
        points: its configurations, best first.
    """
    systems = file.data["systems"]
    timed = [place for place, system in enumerate(systems) if system["latency"] is not None]
    if not timed:
        return ()
    best = [point.system for point in best_of_systems(points, len(points)) if systems[point.system]["latency"]]
    shown = sorted(best[:SHOWN] or timed[:SHOWN], key=lambda place: systems[place]["latency"]["p50"]["value"])
    words = (
        "One query at a time, from the text of the query to the last document; the generator is not in it. Jitter: "
        "the part by which two measurements of the same system differ at most, in 95 % of cases.",
    )
    tables = (_latencies(file, timed), *_stages(file, timed), *_loads(file))
    return (Block("latency-block", "Latency", (words,), tuple(_time_figures(file, shown)), tables, figures_last=False),)


def _time_figures(file: ResultFile, shown: Sequence[int]) -> Iterator[Figure]:
    systems, names = file.data["systems"], short_names(file.data)
    marks = [
        Mark(
            names[place],
            1000 * found["value"],
            _interval(found),
            name,
            told=_describe_latency(systems[place]["name"], name, found),
        )
        for place in shown
        for name in PERCENTILES
        if (found := systems[place]["latency"].get(name)) is not None
    ]
    log = max(mark.value for mark in marks) > 20 * min(mark.value for mark in marks) > 0
    text = "Median, 95th and 99th percentile of the latency, with intervals over queries and repeats."
    plot = mark_plot(marks, axis="milliseconds", log=log, zero=not log)
    yield Figure("percentiles", "Latency of a query", text, plot)
    pieces = [
        StackedPart(
            names[place],
            stage["name"],
            1000 * stage["p50"]["value"],
            _describe_latency(names[place], stage["name"], stage["p50"]),
        )
        for place in shown
        for stage in systems[place]["stages"]
        if stage["name"] in STAGES
    ]
    if pieces:
        used = {piece.part for piece in pieces}
        parts = {name: color for name, color in STAGES.items() if name in used}
        text = "Medians of the stages beside each other; their sum is near the median of the whole, and not it."
        plot = sum_plot(pieces, parts, axis="milliseconds")
        yield Figure("stages", "Where the time goes: medians of the stages", text, plot)


def _describe_latency(system: str, name: str, found: Mapping[str, Any]) -> str:
    return f"{system}: {name} {milliseconds(found['value'])} ms"


def _interval(found: Mapping[str, Any]) -> tuple[float, float] | None:
    low, high = found["low"], found["high"]
    return None if low is None or high is None else (1000 * low, 1000 * high)


def _percentiles(
    first: Sequence[PageColumn], before: str = "", after: Sequence[PageColumn] = ()
) -> tuple[PageColumn, ...]:
    return (
        *first,
        *(
            PageColumn(f"{name}, ms" if end == "value" else end, f"{before}/{name}/{end}", True, milliseconds)
            for name in PERCENTILES
            for end in ("value", "low", "high")
        ),
        *after,
    )


def _latencies(file: ResultFile, timed: Sequence[int]) -> Table:
    after = (
        PageColumn("jitter", "/latency/jitter", True, share),
        PageColumn("samples", "/latency/samples", True, whole),
    )
    columns = _percentiles((PageColumn("system", "/name"),), "/latency", after)
    systems = file.data["systems"]
    order = sorted(timed, key=lambda place: systems[place]["latency"]["p50"]["value"])
    rows = tuple(row_of(pointer("systems", place), columns, systems[place]) for place in order)
    caption = ("Latency of each system, the fastest first.",)
    return Table("latencies", caption, file.name, columns, rows, folded=len(rows) > 20)


def _stages(file: ResultFile, timed: Sequence[int]) -> tuple[Table, ...]:
    columns = _percentiles(
        (PageColumn("system"), PageColumn("stage", "/name")), after=(PageColumn("samples", "/samples", True, whole),)
    )
    rows = tuple(
        row_of(pointer("systems", place, "stages", at), columns, stage, file.data["systems"][place]["name"])
        for place in timed
        for at, stage in enumerate(file.data["systems"][place]["stages"])
    )
    caption = ("Latency of each stage.",)
    return (Table("stage-latencies", caption, file.name, columns, rows, folded=True),) if rows else ()


def _loads(file: ResultFile) -> tuple[Table, ...]:
    columns = (
        PageColumn("system"),
        PageColumn("loop", "/loop"),
        PageColumn("workers", "/workers", True, whole),
        PageColumn("queries a second", "/rate", True, make_formatter(".2f")),
        PageColumn("achieved", "/achieved", True, make_formatter(".2f")),
        *(PageColumn(f"{name}, ms", f"/{name}", True, milliseconds) for name in PERCENTILES),
        PageColumn("samples", "/samples", True, whole),
    )
    rows = tuple(
        row_of(pointer("systems", place, "loads", at), columns, load, system["name"])
        for place, system in enumerate(file.data["systems"])
        for at, load in enumerate(system["loads"] or ())
    )
    notes = (
        "Closed: so many workers, each of which asks again when it has an answer. Open: queries come at a rate whether "
        "or not the ones before are answered, and wait; their time begins when they come.",
    )
    caption = ("Under load.",)
    return (Table("loads", caption, file.name, columns, rows, notes, folded=len(rows) > 12),) if rows else ()


# ---- memory ----


def memory_block(file: ResultFile) -> tuple[Block, ...]:
    """Bytes of vectors, graph and terms, for this corpus and for millions of passages.

    Args:
        file: the sweep.
    """
    systems = file.data["systems"]
    known = [place for place, system in enumerate(systems) if system["memory"]]
    if not known:
        return ()
    alike: dict[tuple[float, ...], list[int]] = {}
    for place in known:
        alike.setdefault(tuple(systems[place]["memory"][part] or 0 for part in MEMORY), []).append(place)
    names = short_names(file.data)
    ordered = sorted(alike.items(), key=lambda each: sum(each[0]))
    pieces = [
        StackedPart(
            _and_more(names, places),
            part,
            value / MIB,
            f"{part} {size(value)}: {', '.join(names[each] for each in places)}",
        )
        for values, places in ordered[:SHOWN]
        for part, value in zip(MEMORY, values, strict=True)
    ]
    figure = Figure(
        "memory",
        "Memory of the index",
        "Bars of the bytes of vectors, graph and words of each different index, the smallest first.",
        sum_plot(pieces, MEMORY, axis="MiB"),
    )
    millions = list(dict.fromkeys(name for place in known for name in systems[place]["memory"].get("millions") or ()))
    columns = (
        PageColumn("system", "/name"),
        *(PageColumn(name, f"/memory/{name}", True, size) for name in (*MEMORY, "measured")),
        *(PageColumn(f"{name} million passages", f"/memory/millions/{name}", True, size) for name in millions),
    )
    rows = tuple(row_of(pointer("systems", place), columns, systems[place]) for place in known)
    caption = ("Memory of each system: by formula, as measured, and by formula for more passages.",)
    table = Table("memories", caption, file.name, columns, rows, folded=len(rows) > 20)
    return (Block("memory-block", "Memory", (), (figure,), (table,), place="details"),)


def _and_more(names: Sequence[str], places: Sequence[int]) -> str:
    return names[places[0]] + (f" (+{len(places) - 1} alike)" if len(places) > 1 else "")


# ---- money ----


def price_block(file: ResultFile, points: Sequence[ConfigurationPoint]) -> tuple[Block, ...]:
    """The components of the cost, and the price book with its date.

    Args:
        file: the sweep.
        points: its configurations, best first.
    """
    prices, currency = file.data["prices"] or {}, currency_of(file.data)
    facts: list[tuple[str, Words]] = [
        (name.replace("_", " "), (_format_price(value),))
        for name, value in prices.items()
        if value not in (None, "", {}, [])
    ]
    priced = [point for point in points if point.cost is not None]
    if not prices and not priced:  # without prices
        return ()
    if not any(point.cost for point in priced):
        none = (("No price is known of any configuration: name prices in the table [prices] of the sweep file.",),)
        return (Block("price-block", "Prices", none, facts=tuple(facts), place="details"),)
    figures = tuple(_cost_figures(file, priced, currency))
    columns = (
        PageColumn("configuration", "/name"),
        *(PageColumn(name, f"/cost/{name}", True, money) for name in (*COSTS, "total")),
        PageColumn("prompt tokens", "/prompt_tokens", True, whole),
    )
    rows = tuple(
        row_of(pointer("configurations", point.place), columns, file.data["configurations"][point.place])
        for point in priced
    )
    caption = (
        f"{currency} per 1,000 queries, prices of {prices.get('date') or 'no date'}; {best_first(priced)}.".strip(),
    )
    table = Table("costs", caption, file.name, columns, rows, folded=len(rows) > 12)
    return (Block("price-block", "Prices", (), figures, (table,), facts=tuple(facts), place="details"),)


def _cost_figures(file: ResultFile, priced: Sequence[ConfigurationPoint], currency: str) -> Iterator[Figure]:
    names, configurations = short_names(file.data), file.data["configurations"]
    shown = (
        sorted((point for point in priced if point.on), key=lambda point: point.cost or 0.0)[:SHOWN] or priced[:SHOWN]
    )
    pieces = [
        StackedPart(
            f"{names[point.system]} K={point.k}", part, value, f"{point.name}: {part} {money(value)} {currency}"
        )
        for point in shown
        for part in COSTS
        if (value := configurations[point.place]["cost"].get(part)) is not None
    ]
    which = (
        "of the configurations on the frontier" if any(point.on for point in shown) else "of the best configurations"
    )
    text = f"Cost of 1,000 queries {which}, by what is paid for."
    plot = sum_plot(pieces, COSTS, axis=f"{currency} per 1,000 queries".strip())
    yield Figure("costs-of", f"Cost {which}", text, plot)


def _format_price(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(
            f"{name.replace('_', ' ')} {_format_price(each)}" for name, each in value.items() if each is not None
        )
    return f"{value:g}" if isinstance(value, float) else str(value)
