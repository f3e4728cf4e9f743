"""Sections on the expense of configurations: latency by stage and under load, memory, cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import Final, NamedTuple

from trueval.report.page_content import Figure
from trueval.report.units import COUNT, number
from trueval.report.view import AnySheet, Column, Section, Sheet
from trueval.tradeoff.quality.result_parts import IntervalEstimate
from trueval.tradeoff.runner.sweep_result import (
    CostComponents,
    IndexBytes,
    LoadLatency,
    PriceSummary,
    StageLatency,
    SweepResult,
    SweptConfiguration,
    SweptSystem,
    SystemLatency,
)
from trueval.tradeoff.views.plots import PlotMark, StackedPart, at_width, mark_plot, sum_plot
from trueval.tradeoff.views.points import ConfigurationPoint, best_first, best_of_systems, currency_of
from trueval.tradeoff.views.quality_sections import FEW, SHOWN, short_names
from trueval.tradeoff.views.units import BYTES, MILLISECONDS, MONEY, SHARE, milliseconds, money, size

PERCENTILES: Final = ("p50", "p95", "p99")
# In the order in which a query goes through them.
STAGES: Final = {
    "rewrite": "range",
    "embed": "run-0",
    "retrieve": "run-4",
    "sparse": "run-2",
    "fuse": "run-3",
    "deduplicate": "run-5",
    "rerank": "run-1",
    "repair": "range",
    "first token": "run-5",
    "other tokens": "good",
    "answer": "good",
}
MEMORY: Final = {"vectors": "expected", "graph": "range", "words": "good"}
COSTS: Final = {"rerank": "run-1", "embed": "run-0", "generator": "run-5"}
REWRITE: Final = {"rewrite": "range"}  # where a language model writes queries
MIB: Final = 2**20
MANY: Final = 20  # systems from which a table of them begins closed


def _kind(stage: str) -> str:
    """A stage without the form of the queries that it searches with.

    >>> _kind("embed (denoise)"), _kind("first token")
    ('embed', 'first token')
    """
    return stage.partition(" (")[0]


class _TimedRow(NamedTuple):
    """A system with the latency of all its stages, or of one."""

    system: SweptSystem
    latency: SystemLatency | StageLatency


class _LoadRow(NamedTuple):
    """A system under load."""

    system: SweptSystem
    load: LoadLatency


class _MemoryRow(NamedTuple):
    """A system and the bytes of its indexes."""

    system: SweptSystem
    memory: IndexBytes


class _CostRow(NamedTuple):
    """A configuration and its cost."""

    configuration: SweptConfiguration
    cost: CostComponents


# ---- latency ----


def latency_section(sweep: SweepResult, points: Sequence[ConfigurationPoint]) -> list[Section]:
    """Percentiles of each system and its stages, and under load; empty where nothing was timed.

    Args:
        sweep: of the command.
        points: its configurations, best first.
    """
    timed = [(place, found) for place, each in enumerate(sweep.systems) if (found := each.latency) is not None]
    if not timed:
        return []
    of = dict(timed)
    best = [point.system for point in best_of_systems(points, len(points)) if point.system in of]
    shown = sorted(best[:SHOWN] or list(of)[:SHOWN], key=lambda place: of[place].p50.value or 0.0)
    answered = any(system.answers is not None for system in sweep.systems)
    last = "the end of the answer" if answered else "the last document; the generator is not in it"
    machines = sorted({each.timed_on for each in sweep.systems if each.timed_on is not None})
    words = f"Timed on {', '.join(machines)}. " * bool(machines)
    words += (
        f"One query at a time, from the text of the query to {last}. Jitter: "
        "the part by which two measurements of the same system differ at most, in 95 % of cases."
    )
    rows = [_TimedRow(sweep.systems[place], found) for place, found in timed]
    stages = [_TimedRow(system, stage) for system in sweep.systems if system.latency for stage in system.stages]
    loads = [_LoadRow(system, load) for system in sweep.systems for load in system.loads]
    sheets: list[AnySheet] = [_latencies(sorted(rows, key=lambda row: row.latency.p50.value or 0.0))]
    sheets += [_stages(stages)] if stages else []
    sheets += [_loads(loads)] if loads else []
    return [Section("Latency", sheets, words, list(_time_figures(sweep, shown)), id="latency-block")]


def _time_figures(sweep: SweepResult, shown: Sequence[int]) -> Iterator[Figure]:
    names = [
        name if system.answers is None else f"{name} K={system.answers.k}"
        for name, system in zip(short_names(sweep), sweep.systems, strict=True)
    ]
    marks = [
        PlotMark(
            names[place],
            1000 * found.value,
            _interval(found),
            name,
            told=f"{sweep.systems[place].name}: {name} {milliseconds(found.value)} ms",
        )
        for place in shown
        for name in PERCENTILES
        if (found := getattr(sweep.systems[place].latency, name)).value is not None
    ]
    log = max(mark.value for mark in marks) > 20 * min(mark.value for mark in marks) > 0
    text = "Median, 95th and 99th percentile of the latency, with intervals over queries and repeats."
    plot = at_width(mark_plot, marks, axis="milliseconds", log=log, zero=not log)
    yield Figure("percentiles", "Latency of a query", text, plot)
    pieces = [
        StackedPart(
            names[place],
            _kind(stage.name),
            1000 * (stage.p50.value or 0.0),
            f"{names[place]}: {stage.name} {milliseconds(stage.p50.value)} ms",
        )
        for place in shown
        for stage in sweep.systems[place].stages
        if _kind(stage.name) in STAGES
    ]
    if pieces:
        used = {piece.part for piece in pieces}
        parts = {name: color for name, color in STAGES.items() if name in used}
        text = "Medians of the stages beside each other; their sum is near the median of the whole, and not it."
        plot = at_width(sum_plot, pieces, parts, axis="milliseconds")
        yield Figure("stages", "Where the time goes: medians of the stages", text, plot)


def _interval(found: IntervalEstimate) -> tuple[float, float] | None:
    return None if found.low is None or found.high is None else (1000 * found.low, 1000 * found.high)


def _percentiles() -> list[Column[_TimedRow]]:
    return [
        Column(f"{name}, ms" if end == "value" else end, attrgetter(f"latency.{name}.{end}"), MILLISECONDS)
        for name in PERCENTILES
        for end in ("value", "low", "high")
    ]


def _latencies(rows: Sequence[_TimedRow]) -> Sheet[_TimedRow]:
    columns: list[Column[_TimedRow]] = [
        Column("system", lambda row: row.system.name),
        *_percentiles(),
        Column("jitter", attrgetter("latency.jitter"), SHARE),
        Column("samples", lambda row: row.latency.samples, COUNT),
    ]
    title = "Latency of each system, the fastest first"
    return Sheet(title, rows, columns, folded=len(rows) > MANY, only="page", id="latencies")


def _stages(rows: Sequence[_TimedRow]) -> Sheet[_TimedRow]:
    columns: list[Column[_TimedRow]] = [
        Column("system", lambda row: row.system.name),
        Column("stage", attrgetter("latency.name")),
        *_percentiles(),
        Column("samples", lambda row: row.latency.samples, COUNT),
    ]
    return Sheet("Latency of each stage", rows, columns, folded=True, only="page", id="stage-latencies")


def _loads(rows: Sequence[_LoadRow]) -> Sheet[_LoadRow]:
    columns: list[Column[_LoadRow]] = [
        Column("system", lambda row: row.system.name),
        Column("loop", lambda row: row.load.loop),
        Column("workers", lambda row: row.load.workers, COUNT),
        Column("queries a second", lambda row: row.load.rate, number(".2f")),
        Column("achieved", lambda row: row.load.achieved, number(".2f")),
        *(Column(f"{name}, ms", attrgetter(f"load.{name}"), MILLISECONDS) for name in PERCENTILES),
        Column("samples", lambda row: row.load.samples, COUNT),
    ]
    notes = (
        "Closed: so many workers, each of which asks again when it has an answer. Open: queries come at a rate whether "
        "or not the ones before are answered, and wait; their time begins when they come.",
    )
    return Sheet("Under load", rows, columns, notes=notes, folded=len(rows) > FEW, only="page", id="loads")


# ---- memory ----


def memory_section(sweep: SweepResult) -> list[Section]:
    """Bytes of vectors, graph and terms, for this corpus and for millions of passages.

    Args:
        sweep: of the command.
    """
    rows = [_MemoryRow(system, system.memory) for system in sweep.systems if system.memory is not None]
    if not rows:
        return []
    names, alike = short_names(sweep), dict[tuple[float, ...], dict[str, None]]()
    for name, system in zip(names, sweep.systems, strict=True):
        if system.memory is not None:
            alike.setdefault(tuple(getattr(system.memory, part) or 0 for part in MEMORY), {})[name] = None
    pieces = [
        StackedPart(_and_more(list(some)), part, value / MIB, f"{part} {size(value)}: {', '.join(some)}")
        for values, some in sorted(alike.items(), key=lambda each: sum(each[0]))[:SHOWN]
        for part, value in zip(MEMORY, values, strict=True)
    ]
    figure = Figure(
        "memory",
        "Memory of the index",
        "Bars of the bytes of vectors, graph and words of each different index, the smallest first.",
        at_width(sum_plot, pieces, MEMORY, axis="MiB"),
    )
    millions = list(dict.fromkeys(name for row in rows for name in row.memory.millions or ()))
    columns: list[Column[_MemoryRow]] = [
        Column("system", lambda row: row.system.name),
        *(Column(name, attrgetter(f"memory.{name}"), BYTES) for name in (*MEMORY, "measured")),
        *(Column[_MemoryRow](f"{name} million passages", _of_millions(name), BYTES) for name in millions),
    ]
    title = "Memory of each system: by formula, as measured, and by formula for more passages"
    sheet = Sheet(title, rows, columns, folded=len(rows) > MANY, only="page", id="memories")
    return [Section("Memory", [sheet], figures=[figure], id="memory-block")]


def _of_millions(name: str) -> Callable[[_MemoryRow], float | None]:
    def value(row: _MemoryRow) -> float | None:
        millions = row.memory.millions
        return None if millions is None else millions[name]

    return value


def _and_more(names: Sequence[str]) -> str:
    return names[0] + (f" (+{len(names) - 1} alike)" if len(names) > 1 else "")


# ---- money ----


def price_section(sweep: SweepResult, points: Sequence[ConfigurationPoint]) -> list[Section]:
    """The components of the cost, and the prices with their date.

    Args:
        sweep: of the command.
        points: its configurations, best first.
    """
    prices, currency = sweep.prices, currency_of(sweep)
    priced = [point for point in points if point.cost is not None]
    if prices is None and not priced:
        return []
    if not any(point.cost for point in priced):
        none = "No price is known of any configuration: name prices in the table [prices] of the sweep file."
        return [Section("Prices", [], none, id="price-block")]
    configurations = (sweep.configurations[point.place] for point in priced)
    rows = [_CostRow(each, each.cost) for each in configurations if each.cost is not None]
    columns: list[Column[_CostRow]] = [
        Column("configuration", lambda row: row.configuration.name),
        *(Column(name, attrgetter(f"cost.{name}"), MONEY) for name in (*_parts(sweep), "total")),
        Column("prompt tokens", lambda row: row.configuration.prompt_tokens, COUNT),
    ]
    day = "no date" if prices is None else prices.date or "no date"
    title = f"{currency} per 1,000 queries, prices of {day}; {best_first(priced)}".strip()
    sheet = Sheet(title, rows, columns, folded=len(rows) > FEW, only="page", id="costs")
    return [Section("Prices", [sheet], _describe_prices(prices), [_cost_figure(sweep, priced)], id="price-block")]


def _parts(sweep: SweepResult) -> dict[str, str]:
    """What is paid for, and its color."""
    costs = (each.cost for each in sweep.configurations if each.cost is not None)
    return COSTS | (REWRITE if any(each.rewrite is not None for each in costs) else {})


def _describe_prices(prices: PriceSummary | None) -> str:
    """What is priced by which name of the book."""
    if prices is None:
        return ""
    named = {"reranker": prices.rerank, "embedder": prices.embed, "generator": prices.generator}
    told = [f"{what} as {name}" for what, name in named.items() if name]
    told += [] if prices.candidate_tokens is None else [f"{prices.candidate_tokens:g} tokens a candidate"]
    told += [] if prices.answer_tokens is None else [f"{prices.answer_tokens:g} tokens an answer"]
    source = f"Prices of {prices.date or 'no date'} ({prices.source})"
    return f"{source}: {', '.join(told)}." if told else f"{source}."


def _cost_figure(sweep: SweepResult, priced: Sequence[ConfigurationPoint]) -> Figure:
    names, currency = short_names(sweep), currency_of(sweep)
    shown = sorted((point for point in priced if point.on), key=lambda point: point.cost or 0.0)[:SHOWN]
    shown = shown or list(priced[:SHOWN])
    pieces = [
        StackedPart(
            f"{names[point.system]} K={point.k}", part, value, f"{point.name}: {part} {money(value)} {currency}"
        )
        for point in shown
        for part in _parts(sweep)
        if (value := getattr(sweep.configurations[point.place].cost, part)) is not None
    ]
    which = "on the frontier" if any(point.on for point in shown) else "that are best"
    text = f"Cost of 1,000 queries of the configurations {which}, by what is paid for."
    plot = at_width(sum_plot, pieces, _parts(sweep), axis=f"{currency} per 1,000 queries".strip())
    return Figure("costs-of", f"Cost of the configurations {which}", text, plot)
