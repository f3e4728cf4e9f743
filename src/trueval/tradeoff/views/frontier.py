"""The view of a frontier: what to ship and why, the configurations that may be worth it, and what steps gain."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Final, NamedTuple

from trueval.report.number_texts import NOT_AVAILABLE, count_phrase
from trueval.report.page_content import Figure
from trueval.report.units import COUNT, DIFFERENCE, FRACTION, INTERVAL, NAME, Unit, interval_of, number
from trueval.report.view import Column, Mark, PaperFigure, Section, Sheet, View, choices_section, columns_of
from trueval.tradeoff.diagnosis.diagnosis_results import FamilyAtRecall, MarginalGain, RecallMatch, SystemEfficiency
from trueval.tradeoff.frontier.frontier_result import (
    FrontierPoint,
    FrontierResult,
    LimitFrontier,
    PointGroup,
    RuleAnswer,
)
from trueval.tradeoff.frontier.rule_sentences import SEEKS
from trueval.tradeoff.quality.panels import is_comparable_across_k
from trueval.tradeoff.quality.result_parts import OmittedConfiguration
from trueval.tradeoff.views.frontier_answer import advice, answer, describe_rule, findings
from trueval.tradeoff.views.frontier_chart import CROWDED, PLAIN_SHAPES, SHAPES, frontier_chart
from trueval.tradeoff.views.growth_section import growth_findings, growth_section
from trueval.tradeoff.views.points import ConfigurationPoint, points_of_frontier
from trueval.tradeoff.views.precision_section import precision_findings, precision_section
from trueval.tradeoff.views.prediction_section import prediction_findings, prediction_section
from trueval.tradeoff.views.route_section import promise_of, router_section
from trueval.tradeoff.views.units import MILLISECONDS, MONEY, SETTING, SHARE, value_in

MOST: Final = 30  # rows of the texts
MOST_OPEN: Final = 60  # rows of a table that is open from the beginning
FEW: Final = 12  # rows of a table of details that is
ON_FRONTIER: Final = "*"
LEVEL: Final = 0.95  # share of resamples below which one is hardly better


class _PointRow(NamedTuple):
    """A configuration, its number in the chart, and its group."""

    point: FrontierPoint
    number: int
    group: PointGroup | None


class _RuleRow(NamedTuple):
    """A rule, its choice and its runner-up."""

    rule: RuleAnswer
    answer: FrontierPoint | None
    runner_up: FrontierPoint | None


class _LimitRow(NamedTuple):
    """The frontier inside a limit, and the best of it."""

    limit: LimitFrontier
    best: FrontierPoint | None


class _StepRow(NamedTuple):
    """A step, and the configuration that it begins at."""

    step: MarginalGain
    first: FrontierPoint


class _MatchRow(NamedTuple):
    """A family of systems at a recall."""

    match: RecallMatch
    family: FamilyAtRecall


class _CsvRow(NamedTuple):
    """A configuration, its group, and the one that removes it."""

    point: FrontierPoint
    group_probability: float | None
    dominated_by: str | None


def view(result: FrontierResult) -> View:
    """What `trueval frontier` shows.

    Args:
        result: of the command.
    """
    points = points_of_frontier(result)
    lead = chart_figure(points, result.quality, result.percentile, result.currency or "")
    draw = partial(frontier_chart, points, result.percentile, result.currency or "", live=False)
    choices = {name: getattr(result, name) for name in ("rule", "percentile", "level", "sure", "resamples", "seed")}
    return View(
        title="Frontier",
        answer=answer(result),
        lead=lead,
        sections=[
            Section("Configurations on the frontier", _points(result, points), chart_words(points, lead)),
            Section("The answer of each rule", [*_rules(result), *_limits(result)]),
            *growth_section(result.growth),
            *router_section(result.router),
            *_steps(result),
            *prediction_section(result.predictions),
            *precision_section(result.precision),
            *reasons(result.failed, result.left_out),
            choices_section("frontier", {**choices, "sweep": result.sweep.name, "SHA-256": result.sweep.sha256}),
        ],
        csv=_csv(result),
        findings=[
            *growth_findings(result.growth),
            *([] if result.router is None else [promise_of(result.router)]),
            *findings(result),
            *across_k(result),
            *advice(result),
            *prediction_findings(result.predictions),
            *precision_findings(result),
        ],
        marks=[Mark(ON_FRONTIER, _describe_frontier(result))],
        legend=list(_legend(result)),
        notes=result.notes,
        paper=[PaperFigure("frontier", draw)] if lead is not None else [],
    )


def chart_figure(points: Sequence[ConfigurationPoint], measure: str, percentile: str, currency: str) -> Figure | None:
    """The frontier chart; None if neither latency nor cost is known of two points.

    Args:
        points: best first.
        measure: the quality.
        percentile: of the latency.
        currency: of the cost.
    """
    known = {
        "latency": [each.seconds for each in points if each.seconds is not None],
        "cost": [each.cost for each in points if each.cost is not None],
    }
    there = [name for name, values in known.items() if len(values) > 1 and (name == "latency" or any(values))]
    if not there:
        return None
    description = (
        f"Each configuration by {measure}, latency and cost; the line is the best for at most so much. "
        f"{sum(point.on for point in points)} of {len(points)} are on the frontier."
    )
    key = SHAPES if any(point.chance is not None for point in points) else PLAIN_SHAPES
    draw = partial(frontier_chart, points, percentile, currency)
    title = f"{measure} against {' and '.join(there)}"
    return Figure("frontier-chart", title, description, lambda width: draw(width=width), interactive=True, key=key)


def chart_words(points: Sequence[ConfigurationPoint], chart: Figure | None) -> str:
    """How the frontier chart is read, or why there is none.

    Args:
        points: best first.
        chart: of these; None if there is none.
    """
    if chart is None:
        return (
            "Neither latencies nor prices are known of these configurations, so that quality is against nothing. Set "
            "queries in [latency], or names in [prices], of the sweep file."
        )
    crowded = sum(point.rank != "not" for point in points) > CROWDED
    sentences = (
        "In the chart the line is the best quality for at most so much.",
        "Drag over a plot to see the intervals of points." if crowded else "Thin lines are intervals.",
        "What is dragged over in one plot is near in the other too." if " and " in chart.title else "",
        "A number names the row of the table; some are left out where there is no room.",
        "A larger circle costs more." if any(point.cost for point in points) else "",
    )
    return " ".join(filter(None, sentences))


# ---- configurations ----


def _points(result: FrontierResult, points: Sequence[ConfigurationPoint]) -> list[Sheet[_PointRow]]:
    """Configurations that are on the frontier or may be: by share of resamples in texts, by quality on the page."""
    shown = [(each, _point_row(result, each)) for each in points if each.rank != "not"]
    by_share = sorted(shown, key=lambda pair: (-(pair[0].chance or 0), -pair[0].quality))
    on, total = sum(point.on_frontier for point in result.points), len(result.points)
    left = max(len(shown) - MOST, 0)
    title = f"{on} of {count_phrase(total, 'configuration', 'configurations')} on the frontier"
    title += f"; {left} more that may be are in --format csv" if left else ""
    notes = (
        f"Numbered: {_describe_frontier(result)}",
        "Share: of the resamples of queries, repeats and tie orders in which it is on the frontier. The number is that "
        "in the plot; who has none is not on the frontier of the measured values. Members of a group differ inside "
        "noise.",
    )
    page = Sheet(
        "Configurations that are on the frontier, or may be",
        [row for _, row in shown],
        _page_columns(result),
        notes=notes,
        folded=len(shown) > MOST_OPEN,
        only="page",
        id="frontier-points",
    )
    return [Sheet(title, [row for _, row in by_share[:MOST]], _text_columns(result), only="text"), page]


def _point_row(result: FrontierResult, point: ConfigurationPoint) -> _PointRow:
    found = result.points[point.place]
    return _PointRow(found, point.number, None if found.group is None else result.groups[found.group])


def _text_columns(result: FrontierResult) -> list[Column[_PointRow]]:
    percentile = result.percentile
    return [
        Column("configuration", lambda row: row.point.name, NAME),
        Column("", lambda row: ON_FRONTIER if row.point.on_frontier else ""),
        Column("K", lambda row: row.point.k, COUNT, leaves=3),
        Column("quality", lambda row: row.point.quality.value, FRACTION),
        Column("interval", lambda row: row.point.quality, INTERVAL, leaves=1),
        Column(f"ms {percentile}", lambda row: row.point.seconds(percentile), MILLISECONDS),
        Column("cost", lambda row: row.point.cost, MONEY),
        Column("share", lambda row: row.point.probability, SHARE),
        Column("group", _describe_group, leaves=2),
    ]


def _describe_group(row: _PointRow) -> str:
    """The share of a point's group, where it has several members."""
    if row.group is None or len(row.group.members) == 1:
        return ""
    return f"{SHARE.plain(row.group.probability)} of {len(row.group.members)}"


def _page_columns(result: FrontierResult) -> list[Column[_PointRow]]:
    percentile, currency = result.percentile, result.currency or ""
    latency = attrgetter("point.latency")
    times: list[Column[_PointRow]] = [
        Column(f"{percentile}, ms" if end == "value" else end, _of_latency(latency, percentile, end), MILLISECONDS)
        for end in ("value", "low", "high")
    ]
    timed = any(point.latency is not None for point in result.points)
    priced = any(point.cost is not None for point in result.points)
    costs: list[Column[_PointRow]] = [Column(f"{currency} per 1,000".strip(), lambda row: row.point.cost, MONEY)]
    return [
        Column("no.", lambda row: row.number or None, COUNT),
        Column("configuration", lambda row: row.point.name),
        Column("quality", lambda row: row.point.quality.value, FRACTION, strong=True),
        Column("interval", lambda row: row.point.quality, INTERVAL),
        *(times if timed else []),
        *(costs if priced else []),
        Column("prompt tokens", lambda row: row.point.prompt_tokens, COUNT),
        Column("share", lambda row: row.point.probability, SHARE, strong=True),
        Column("group", lambda row: row.point.group, COUNT),
    ]


def _of_latency(
    latency: Callable[[_PointRow], Mapping[str, object] | None], percentile: str, end: str
) -> Callable[[_PointRow], object]:
    """An end of the latency of a row, whose place in the JSON the page finds."""

    def value(row: _PointRow) -> object:
        found = latency(row)
        return None if found is None else getattr(found[percentile], end)

    return value


# ---- rules ----


SOUGHT: Final[Mapping[str, tuple[str, Unit]]] = {
    "quality": ("quality", FRACTION),
    "latency": ("ms", MILLISECONDS),
    "cost": ("cost", MONEY),
}


def _rules(result: FrontierResult) -> Iterator[Sheet[_RuleRow]]:
    """The rules, a table for each objective, whose values have one unit."""
    notes = (
        "Inside: the share of plain resamples of queries and times in which the answer is inside the limits; better: "
        "in which it is better than the runner-up, where that decides. Noise: how many tie with the best one.",
        "Cross-fitted: the quality on queries that had no part in the choice, because the best of many is flattered.",
    )
    for seeks, (name, unit) in SOUGHT.items():
        rules = [each for each in result.rules if each.seeks == seeks]
        rows = [_RuleRow(each, _at(result, each.answer), _at(result, each.runner_up)) for each in rules]
        fitted: list[Column[_RuleRow]] = [Column("cross-fitted", lambda row: value_in(row.rule.cross_fitted), FRACTION)]
        columns: list[Column[_RuleRow]] = [
            Column("rule", lambda row: describe_rule(row.rule)),
            Column("ship", lambda row: row.answer.name if row.answer else NOT_AVAILABLE),
            Column(name, lambda row: row.rule.value, unit),
            Column("inside", lambda row: row.rule.feasible_chance, SHARE),
            Column("runner-up", lambda row: row.runner_up.name if row.runner_up else NOT_AVAILABLE),
            Column(f"its {name}", lambda row: row.rule.runner_up_value, unit),
            Column("better", lambda row: row.rule.better, SHARE, strong=lambda value: (value or 1.0) < LEVEL),
            Column("noise", lambda row: row.rule.within_noise, COUNT),
            Column("decided by", lambda row: row.rule.decided_by or NOT_AVAILABLE),
            *(fitted if seeks == "quality" else []),
        ]
        if rows:
            yield Sheet(f"Rules that seek {SEEKS[seeks]}", rows, columns, notes=notes, only="page", id=f"rules-{seeks}")


def _limits(result: FrontierResult) -> list[Sheet[_LimitRow]]:
    rows = [_LimitRow(each, _at(result, each.best)) for each in result.slo]
    k: list[Column[_LimitRow]] = [Column("K", lambda row: row.limit.k, COUNT)]
    columns: list[Column[_LimitRow]] = [
        Column("at most, ms", lambda row: row.limit.latency_ms, SETTING),
        Column("of", lambda row: row.limit.percentile),
        *(k if any(each.k is not None for each in result.slo) else []),
        Column("inside", lambda row: row.limit.feasible, COUNT),
        Column("on the\nfrontier", lambda row: row.limit.points, COUNT),
        Column("best", lambda row: row.best.name if row.best else NOT_AVAILABLE, NAME),
    ]
    here, title = [row for row in rows if row.limit.percentile == result.percentile], "Inside each limit of latency"
    return (
        [Sheet(title, here, columns, only="text"), Sheet(title, rows, columns, only="page", id="slo")] if rows else []
    )


def _at(result: FrontierResult, place: int | None) -> FrontierPoint | None:
    return None if place is None else result.points[place]


# ---- details ----


def _steps(result: FrontierResult) -> list[Section]:
    """Marginal gains, systems at equal recall, and the efficiency score."""
    sheets: list[Sheet[_StepRow] | Sheet[_MatchRow] | Sheet[SystemEfficiency]] = []
    if result.marginals:
        sheets.append(_marginals(result))
    if result.matched_recall:
        sheets.append(_matched_sheet(result))
    if result.efficiency:
        sheets.append(_efficiency(result))
    return [Section("Steps, equal recall, efficiency", sheets)] if sheets else []


def _marginals(result: FrontierResult) -> Sheet[_StepRow]:
    rows = [_StepRow(each, result.points[each.points[0]]) for each in result.marginals]
    columns: list[Column[_StepRow]] = [
        Column("from", lambda row: row.first.system_name),
        Column("step", lambda row: row.step.axis),
        Column("from", lambda row: row.step.begin, SETTING),
        Column("to", lambda row: row.step.end, SETTING),
        Column("quality", lambda row: value_in(row.step.quality), DIFFERENCE, strong=True),
        Column("interval", lambda row: row.step.quality, interval_of(DIFFERENCE)),
        Column("ms", lambda row: value_in(row.step.milliseconds), SETTING),
        Column("cost", lambda row: row.step.cost, MONEY),
        Column("per ms", lambda row: value_in(row.step.per_millisecond), number(".3g")),
        Column(
            f"per {result.currency or 'currency'}",
            lambda row: value_in(row.step.per_currency),
            number(".3g"),
        ),
        Column("why no ratio", lambda row: row.step.reason or ""),
    ]
    folded = len(rows) > FEW
    return Sheet("What each step of a setting gains", rows, columns, folded=folded, only="page", id="marginals")


def _matched_sheet(result: FrontierResult) -> Sheet[_MatchRow]:
    rows = [_MatchRow(each, family) for each in result.matched_recall for family in each.families]
    columns: list[Column[_MatchRow]] = [
        Column("recall", lambda row: row.match.recall, SHARE),
        Column("system", lambda row: row.family.name),
        Column("reached", lambda row: row.family.reached, FRACTION),
        Column("ms", lambda row: row.family.latency, MILLISECONDS),
        Column("how", lambda row: row.family.how),
    ]
    title = f"Systems at the same recall of {result.recall_of or 'exact search'}"
    return Sheet(title, rows, columns, folded=len(rows) > FEW, only="page", id="matched")


def _efficiency(result: FrontierResult) -> Sheet[SystemEfficiency]:
    columns: list[Column[SystemEfficiency]] = [
        Column("system", lambda row: row.name),
        Column("performance", lambda row: row.performance, FRACTION),
        Column("ms", lambda row: row.latency, MILLISECONDS),
        Column("efficiency", lambda row: row.efficiency, SETTING, strong=True),
    ]
    notes = (
        "Mean quality for each second of latency. For a first look only: it knows no limit, and favors small pools.",
    )
    rows, folded = result.efficiency, len(result.efficiency) > MOST_OPEN
    return Sheet("Efficiency, best first", rows, columns, notes=notes, folded=folded, only="page", id="efficiency")


def reasons(failed: Sequence[OmittedConfiguration], left_out: Sequence[OmittedConfiguration]) -> Iterator[Section]:
    """Failed and excluded configurations, each with its reason.

    Args:
        failed: of a sweep.
        left_out: of it.
    """
    columns: list[Column[OmittedConfiguration]] = [
        Column("configuration", lambda row: row.name),
        Column("reason", lambda row: row.reason),
    ]
    captions = {
        "failed": ("Failed; the others went on. The same command tries these again", failed),
        "left-out": ("Left out", left_out),
    }
    sheets = [
        Sheet(title, rows, columns, folded=len(rows) > MOST_OPEN, only="page", id=name)
        for name, (title, rows) in captions.items()
        if rows
    ]
    if sheets:
        yield Section("Not there", sheets, id="reasons")


# ---- words ----


def _describe_frontier(result: FrontierResult) -> str:
    other = "no other" if len(result.panels) == 1 else "no other of the same K"
    rule = f"{other} is as good in all and better in one of" if result.rule == "pareto" else f"{other} is better in"
    return f"on the frontier of the measured values: {rule} {', '.join(result.objectives)}."


def _legend(result: FrontierResult) -> Iterator[str]:
    queries = count_phrase(result.queries, "query", "queries")
    yield f"quality: {result.quality}, {queries}."
    seconds, ratio = result.band.seconds, result.band.ratio
    if "latency" in result.objectives and seconds:
        yield f"Latencies that differ by {MILLISECONDS.plain(seconds)} ms or less tie."
    if "latency" in result.objectives and ratio:
        told = f"half of all pairs from a ratio of {ratio:.3g}"
        yield f"Latencies tie where the jitter between repeats does not separate them: it separates {told}."
    if any(point.probability is not None for point in result.points):
        yield (
            f"share: of {result.resamples:,} resamples of queries, tie orders and times, drawn toward what others "
            "tell, those in which it is on the frontier; group: in which one of several that differ inside noise is."
        )
    if "cost" in result.objectives:
        yield f"cost: {result.currency or 'currency'} for 1,000 queries."


def across_k(result: FrontierResult) -> Iterator[str]:
    """Whether configurations with different K are compared.

    Args:
        result: of the command.
    """
    qualities = [each.quality.measure for each in result.points]
    if len(result.panels) > 1:
        yield f"Configurations are compared at the same K: at another, {result.quality} is another measure."
    elif len(set(qualities)) > 1 and is_comparable_across_k(qualities):
        yield f"Configurations of different K are compared by {result.quality}, as P-B does (section 3.3)."


def _csv(result: FrontierResult) -> Sheet[_CsvRow]:
    rows = [
        _CsvRow(
            point,
            None if point.group is None else result.groups[point.group].probability,
            None if point.dominated_by is None else result.points[point.dominated_by].name,
        )
        for point in result.points
    ]
    measured = ("point.quality.low", "point.quality.high", "point.quality.lowest", "point.quality.highest")
    names = ("point.name", "point.system_name", "point.method")
    after = ("point.cost", "point.prompt_tokens", "point.recall", "point.on_frontier", "point.probability")
    columns: list[Column[_CsvRow]] = [
        *columns_of(*names),
        Column("K", lambda row: row.point.k),
        *columns_of("point.quality.measure"),
        Column("quality", lambda row: row.point.quality.value),
        *columns_of(*measured),
        *(Column[_CsvRow](name, _csv_latency(name)) for name in ("p50", "p95", "p99")),
        *columns_of(*after, "point.plain", "point.group", "group_probability", "dominated_by"),
    ]
    return Sheet("", rows, columns)


def _csv_latency(percentile: str) -> Callable[[_CsvRow], float | None]:
    return lambda row: row.point.seconds(percentile)
