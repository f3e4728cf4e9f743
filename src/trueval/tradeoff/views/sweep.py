"""The view of a sweep: the best configurations, what they cost, and where their quality and their time go."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

from trueval.report.figures import NARROW, Chart
from trueval.report.number_texts import count_phrase, format_value, percent
from trueval.report.page_content import Figure
from trueval.report.units import COUNT, FRACTION, INTERVAL, NAME, number
from trueval.report.view import (
    Column,
    PaperFigure,
    Section,
    Sentence,
    Sheet,
    View,
    choices_section,
    policy_section,
)
from trueval.tradeoff.quality.result_parts import MeasureMean, OmittedConfiguration
from trueval.tradeoff.runner.sweep_result import SweepResult, SweptConfiguration, SweptSystem
from trueval.tradeoff.views.answers_section import answers_section
from trueval.tradeoff.views.expense_sections import latency_section, memory_section, price_section
from trueval.tradeoff.views.frontier import MOST_OPEN, chart_figure, chart_words, reasons
from trueval.tradeoff.views.frontier_chart import frontier_chart
from trueval.tradeoff.views.paper_sections import paper_section
from trueval.tradeoff.views.plots import PlotMark, at_width, mark_plot
from trueval.tradeoff.views.points import ConfigurationPoint, best_first, currency_of, panels_of, percentile_of
from trueval.tradeoff.views.points import points_of_sweep as points_of
from trueval.tradeoff.views.probe_columns import probe_columns, probe_legend
from trueval.tradeoff.views.quality_sections import (
    MARK_KEY,
    SHOWN,
    contexts_section,
    headroom_section,
    ladder_section,
    short_names,
)
from trueval.tradeoff.views.route_section import route_finding, route_section
from trueval.tradeoff.views.sweep_answer import answer, headroom_advice, inside_limits
from trueval.tradeoff.views.sweep_csv import csv_sheet
from trueval.tradeoff.views.units import MILLISECONDS, MONEY, SHARE, apart, describe_shared_words, value_in

MOST: Final = 20  # configurations of the texts
LEAST: Final = 3  # of each K
REASONS: Final = 5  # kinds of reasons of the texts


class ConfigurationRow(NamedTuple):
    """A configuration with its system and its quality; its name lacks the words that all names share."""

    name: str
    configuration: SweptConfiguration
    system: SweptSystem
    quality: MeasureMean | None


class _ReasonRow(NamedTuple):
    """Configurations that are not there for the same reason."""

    what: str
    names: str
    reason: str


def view(result: SweepResult) -> View:
    """What `trueval sweep` shows.

    Args:
        result: of the command.
    """
    points = points_of(result)
    sections = [
        Section("Configurations", [*_best_sheet(result), *_reason_sheet(result), _every(result, points)]),
        *_frontier(result, points),
        *contexts_section(result, points),
        *answers_section(result),
        *headroom_section(result, points),
        *ladder_section(result),
        *route_section(result),
        *latency_section(result, points),
        *memory_section(result),
        *price_section(result, points),
        paper_section(result),
        *reasons(result.failed, result.left_out),
        policy_section(result.policy),
        choices_section("sweep", _about(result)),
    ]
    figures = [figure for section in sections for figure in section.figures if not figure.interactive]
    frontier = partial(frontier_chart, points, percentile_of(result), currency_of(result), live=False)
    charts = [figure for section in sections for figure in section.figures if figure.interactive]
    return View(
        title="Sweep",
        answer=answer(result, points),
        lead=_lead(result, points),
        sections=sections,
        csv=csv_sheet(result),
        findings=[
            *_omissions(result),
            *_judge_sentences(result),
            *headroom_advice(result, points),
            *route_finding(result),
        ],
        legend=list(_legend(result)),
        notes=list(dict.fromkeys([*result.notes, *(note for system in result.systems for note in system.notes)])),
        paper=[
            *(PaperFigure("sweep-frontier", frontier) for _ in charts),
            *(PaperFigure(f"sweep-{each.id}", partial(_on_paper, each)) for each in figures),
        ],
    )


def _on_paper(figure: Figure) -> Chart:
    return figure.draw(NARROW).properties(title=figure.title)


def _row(result: SweepResult, place: int, name: str = "") -> ConfigurationRow:
    found = result.configurations[place]
    return ConfigurationRow(name or found.name, found, result.systems[found.system], found.measures.get(found.quality))


# ---- configurations ----


def best_of_each_k(result: SweepResult, most: int = MOST) -> list[int]:
    """The best configurations of each K, by increasing K and decreasing quality; ties go to the cheaper ones.

    A measure at another K answers another question, so every K is listed.

    Args:
        result: of the command.
        most: configurations in all, but some of each K.
    """

    def key(place: int) -> tuple[float, float]:
        row = _row(result, place)
        value = None if row.quality is None else row.quality.expected
        cost = None if row.configuration.cost is None else row.configuration.cost.total
        infinity = float("inf")
        return infinity if value is None else -value, infinity if cost is None else cost

    ks = sorted({each.k for each in result.configurations})
    each_k = max(LEAST, most // max(len(ks), 1))
    here = ((place for place, each in enumerate(result.configurations) if each.k == k) for k in ks)
    return [place for places in here for place in sorted(places, key=key)[:each_k]]


def _best_sheet(result: SweepResult) -> list[Sheet[ConfigurationRow]]:
    """The best of each K, for texts."""
    places = best_of_each_k(result)
    full = [result.systems[result.configurations[place].system].name for place in places]
    rows = [_row(result, place, name) for place, name in zip(places, apart(full), strict=True)]
    probes = probe_columns(result)
    columns: list[Column[ConfigurationRow]] = [
        Column("configuration", lambda row: row.name, NAME),
        Column("K", lambda row: row.configuration.k, COUNT),
        Column("quality", _statistic("expected"), FRACTION),
        Column("interval", lambda row: row.quality, INTERVAL),
        Column("%PROC", _of_ceiling("share"), number(".1%"), leaves=len(probes) + 1),
        Column("cost", _cost, MONEY),
        Column("ms p50", latency_of("p50"), MILLISECONDS),
        *(
            Column(each.title.replace(" ", "\n", 1), each.value_of(_system), each.unit, len(probes) - at)
            for at, each in enumerate(probes)
        ),
    ]
    total = len(result.configurations)
    title = "Configurations" if len(rows) == total else f"The best {len(rows)} of {total} configurations, by K"
    more = "" if len(rows) == total else "--format csv has all."
    title = " ".join(filter(None, [f"{title}.", describe_shared_words(full), more])).removesuffix(".")
    return [Sheet(title, rows, columns, only="text")] if rows else []


def _reason_sheet(result: SweepResult) -> list[Sheet[_ReasonRow]]:
    """What was left out or failed by reason, the most frequent reason first, for texts."""
    rows = []
    for what, several in (("left out", result.left_out), ("failed", result.failed)):
        of: dict[str, list[OmittedConfiguration]] = {}
        for each in several:
            of.setdefault(each.reason, []).append(each)
        for reason, some in sorted(of.items(), key=lambda pair: -len(pair[1]))[:REASONS]:
            more = f" and {len(some) - 1} more" if len(some) > 1 else ""
            rows.append(_ReasonRow(what, f"{some[0].name}{more}", reason))
        if len(of) > REASONS:
            further = count_phrase(len(of) - REASONS, "further reason", "further reasons")
            rows.append(_ReasonRow(what, "others", f"{further} in sweep.json"))
    columns: list[Column[_ReasonRow]] = [
        Column("status", lambda row: row.what),
        Column("configuration", lambda row: row.names, NAME),
        Column("reason", lambda row: row.reason, NAME),
    ]
    return [Sheet("Left out or failed", rows, columns, only="text")] if rows else []


def _every(result: SweepResult, points: Sequence[ConfigurationPoint]) -> Sheet[ConfigurationRow]:
    """Every configuration with a quality, best first, for the page."""
    timed = any(point.latency is not None for point in points)
    names = tuple(dict.fromkeys((percentile_of(result), "p95"))) if timed else ()
    costs: list[Column[ConfigurationRow]] = [
        Column(f"{currency_of(result)} per 1,000".strip(), _cost, MONEY),
    ]
    columns: list[Column[ConfigurationRow]] = [
        Column("configuration", lambda row: row.configuration.name),
        Column("K", lambda row: row.configuration.k, COUNT),
        Column("quality", _statistic("expected"), FRACTION, strong=True),
        *(Column(name, _statistic(name), FRACTION) for name in ("low", "high", "lowest", "highest")),
        Column("Judged", lambda row: row.configuration.judged, SHARE),
        Column("PROC", _of_ceiling("proc"), FRACTION),
        Column("realised", _of_ceiling("share"), SHARE),
        *(Column(f"{name}, ms", latency_of(name), MILLISECONDS) for name in names),
        *(costs if any(point.cost is not None for point in points) else []),
        *(Column(each.title, each.value_of(_system), each.unit) for each in probe_columns(result)),
    ]
    notes = (
        "Low and high: bootstrap interval over queries. Lowest and highest: what the order of equal scores can make of "
        "the value. PROC: the quality if the best documents of the pool came first.",
        "The files of each system are in systems/, runs/ and samples/ of the same folder.",
        *probe_legend(result),
    )
    rows = [_row(result, point.place) for point in points]
    title = f"All {len(rows)} configurations, {best_first(points)}"
    return Sheet(title, rows, columns, notes=notes, folded=len(rows) > MOST_OPEN, only="page", id="configurations")


def _system(row: ConfigurationRow) -> SweptSystem:
    return row.system


def _cost(row: ConfigurationRow) -> float | None:
    cost = row.configuration.cost
    return None if cost is None else cost.total


def _statistic(name: str) -> Callable[[ConfigurationRow], float | None]:
    def value(row: ConfigurationRow) -> float | None:
        found: float | None = None if row.quality is None else getattr(row.quality, name)
        return found

    return value


def _of_ceiling(name: str) -> Callable[[ConfigurationRow], float | None]:
    def value(row: ConfigurationRow) -> float | None:
        ceiling = row.configuration.ceiling
        found: float | None = None if ceiling is None else getattr(ceiling, name)
        return found

    return value


def latency_of(percentile: str) -> Callable[[ConfigurationRow], float | None]:
    """The latency of the system of a row.

    Args:
        percentile: "p50", "p95" or "p99".
    """

    def value(row: ConfigurationRow) -> float | None:
        latency = row.system.latency
        return None if latency is None else value_in(getattr(latency, percentile))

    return value


def _frontier(result: SweepResult, points: Sequence[ConfigurationPoint]) -> list[Section]:
    """The frontier of the measured values; a page with the result of `trueval frontier` shows that one instead."""
    if not points:
        return []
    chart = chart_figure(points, result.quality, percentile_of(result), currency_of(result))
    figures = [] if chart is None else [chart]
    return [Section("Frontier of the measured values", [], chart_words(points, chart), figures, id="frontier")]


def _lead(result: SweepResult, points: Sequence[ConfigurationPoint]) -> Figure | None:
    """The best configurations with their intervals, of those inside the limits of the sweep file, if any is."""
    within = inside_limits(result, points) or points
    if len(within) < 2:
        return None
    names, compared = short_names(result), panels_of(within)
    shown = [each for _, some in compared for each in some[: max(SHOWN // len(compared), 1)]]
    marks = [
        PlotMark(
            f"{names[each.system]} K={each.k}",
            each.quality,
            each.interval,
            ties=each.ties,
            told=f"{each.name}: {each.quality:.4f}",
        )
        for each in shown
    ]
    measure, count = result.quality, len(within)
    limited = " inside the limits" if count < len(points) else ""
    best = f"{measure}: the best {len(shown)} of {count} configurations{limited}"
    title = measure if len(shown) == len(points) else best
    first = " and ".join(some[0].name for _, some in compared)
    description = f"{measure} of the best configurations with intervals over queries; best is {first}."
    return Figure("best", title, description, at_width(mark_plot, marks), key=MARK_KEY)


# ---- words ----


def _omissions(result: SweepResult) -> Iterator[Sentence]:
    found = {"failed": len(result.failed), "were left out": len(result.left_out)}
    told = [f"{count} {what}" for what, count in found.items() if count]
    if told:
        yield f"Of the configurations, {' and '.join(told)}."


def _judge_sentences(result: SweepResult) -> Iterator[Sentence]:
    judged = [each.judged for each in result.configurations if each.judged is not None]
    if judged and min(judged) < 1:
        ends = dict.fromkeys(map(percent, (min(judged), max(judged))))
        told = f"Judged are {' to '.join(ends)} of the documents in the contexts"
        yield f"{told}; sweep.json bounds what the others could change."


def _legend(result: SweepResult) -> Iterator[str]:
    ranges = [row.range for each in result.configurations if (row := each.measures.get(each.quality)) is not None]
    widest = max((each or 0.0 for each in ranges), default=0.0)
    ties = f"the order of ties moves it by up to {format_value(widest)}" if widest else "no tie changes it"
    queries = count_phrase(result.collection.queries, "query", "queries")
    yield f"quality is {result.quality}, its interval {100 * result.level:g} % over {queries}; {ties}."
    yield "%PROC: share of the quality that the best order of the pool would have."
    yield from probe_legend(result)
    if result.prices is not None and result.prices.date:
        told = f"prices of {result.prices.date} ({result.prices.source})"
        yield f"Costs are in {result.prices.currency} for 1,000 queries, by {told}."


def _about(result: SweepResult) -> dict[str, object]:
    collection = result.collection
    facts = {
        "collection": f"{collection.name}: {collection.documents:,} documents, {collection.queries:,} queries, "
        f"{collection.judged:,} judgments",
        "measures": ", ".join(result.measures),
        "judge": _judge(result),
        "intervals": f"level {result.level:g}, {result.resamples:,} resamples, seed {result.seed}",
        "machine": _format_values(result.machine),
        "times": _format_values(result.latency),
        "limits": _format_values(result.limits),
        "axes": "; ".join(f"{axis.key}: {', '.join(map(str, axis.values))}" for axis in result.axes),
    }
    return {name: text for name, text in facts.items() if text}


def _judge(result: SweepResult) -> str:
    """The judge of unjudged documents; "" without on-demand judging."""
    judge = result.judge
    if not judge:
        return ""
    cost = "" if judge.get("cost") is None else f", for {judge['cost']:.4g}"
    return f"{judge['name']} labelled {judge['new']:,} of {judge['unjudged']:,} documents that nobody judged{cost}"


def _format_values(values: object) -> str:
    """Names and values in one line, without unset ones.

    >>> _format_values({"queries": 30, "band_ms": None, "rates": [1.0, 2.0]})
    'queries 30, rates 1 and 2'
    """
    if isinstance(values, dict):
        kept = {name: value for name, value in values.items() if value not in (None, [], (), "")}
        return ", ".join(f"{name.replace('_', ' ')} {_format_values(value)}" for name, value in kept.items())
    if isinstance(values, list | tuple):
        return " and ".join(map(_format_values, values))
    return f"{values:.4g}" if isinstance(values, float) else str(values)
