"""Sections on the quality of configurations: quality over K, headroom, loss decomposition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from trueval.report.number_texts import format_value
from trueval.report.page_content import Figure
from trueval.report.units import COUNT, DIFFERENCE, FRACTION, INTERVAL, NAME
from trueval.report.view import AnySheet, Column, Section, Sheet
from trueval.tradeoff.diagnosis.diagnosis_results import LadderStep, LossLadder, TriedGraph, TunedGraph
from trueval.tradeoff.quality.result_parts import PoolCeiling
from trueval.tradeoff.runner.sweep_result import SweepResult, SweptConfiguration, SweptSystem
from trueval.tradeoff.views.plots import PlotMark, QualityCurve, StackedPart, at_width, curve_plot, mark_plot, sum_plot
from trueval.tradeoff.views.points import ConfigurationPoint, best_of_systems, currency_of, panels_of
from trueval.tradeoff.views.units import MILLISECONDS, MONEY, SHARE, apart, value_in

COLORED: Final = 6  # systems with a color of their own
GRAY: Final = 60  # further ones that are drawn
SHOWN: Final = 14  # rows of a plot of systems
FEW, MOST_OPEN = 12, 60  # rows of tables that are open from the beginning
HEADROOMS: Final = {"realised": "expected", "ordering headroom": "range", "retrieval headroom": "line"}
MARK_KEY: Final = (("dot", "expected"), ("thin", "interval over queries"), ("bar", "lowest to highest over tie orders"))


def short_names(sweep: SweepResult) -> list[str]:
    """Names of the systems without K and the words they share, in the order of the sweep."""
    return apart([_without_k(system) for system in sweep.systems])


def _without_k(system: SweptSystem) -> str:
    return system.name if system.answers is None else system.name.removesuffix(f" K={system.answers.k}")


def first_alike(sweep: SweepResult) -> list[int]:
    """[system] the first that differs from it in K alone: answers to each K are a system of their own."""
    first: dict[object, int] = {}
    about = [each.answers for each in sweep.systems]
    same = [place if each is None else (each.retrieval, each.generator) for place, each in enumerate(about)]
    return [first.setdefault(key, place) for place, key in enumerate(same)]


# ---- quality over K ----


class _StepRow(NamedTuple):
    """A step to a larger K of one system."""

    system: SweptSystem
    first: SweptConfiguration
    second: SweptConfiguration
    gain: float
    cost: float | None


def contexts_section(sweep: SweepResult, points: Sequence[ConfigurationPoint]) -> list[Section]:
    """Quality over K for each system, and the gain of each step; empty if there is only one K.

    Args:
        sweep: of the command.
        points: its configurations, best first.
    """
    curves = _curves(sweep, points)
    if not curves:
        return []
    order = [curves[place] for place in _by_merit(sweep, points, curves)]
    colored, others = order[:COLORED], order[COLORED : COLORED + GRAY]
    measure, across = sweep.quality, len(panels_of(points)) == 1
    best = f"; {order[0].name} is best" if across else ""
    description = f"{measure} of each system over the number of contexts{best}."
    rest = f" {len(others)} more systems are thin and gray." if others else ""
    words = f"Bands are intervals over queries, of the best systems only.{rest}"
    figures = [Figure("over-k", f"{measure} over K", description, at_width(curve_plot, colored, others))]
    if not across:  # at another K another measure has no gain
        return [Section("Quality against K", [], words, figures, id="over-k-block")]
    steps = [
        QualityCurve(each.name, each.k[1:], gains, (None,) * len(gains))
        for each in colored
        if (gains := _per_ten(each))
    ]
    if any(len(each.k) > 1 for each in steps):
        text = f"What ten more contexts add to {measure}, on the way to each K from the one before."
        figures.append(Figure("gains-over-k", "Gain of 10 more contexts, up to K", text, at_width(curve_plot, steps)))
    return [Section("Quality against K", [_gains(sweep, points)], words, figures, id="over-k-block")]


def _per_ten(curve: QualityCurve) -> tuple[float, ...]:
    values, k = curve.values, curve.k
    return tuple(10 * (values[at] - values[at - 1]) / (k[at] - k[at - 1]) for at in range(1, len(k)))


def _of_system(sweep: SweepResult, points: Sequence[ConfigurationPoint], system: int) -> list[ConfigurationPoint]:
    alike = first_alike(sweep)
    return sorted((point for point in points if alike[point.system] == system), key=lambda point: point.k or 0)


def _curves(sweep: SweepResult, points: Sequence[ConfigurationPoint]) -> dict[int, QualityCurve]:
    names, alike, found = short_names(sweep), first_alike(sweep), {}
    for system in dict.fromkeys(alike[point.system] for point in points):
        mine = _of_system(sweep, points, system)
        if len({point.k for point in mine}) > 1:
            found[system] = QualityCurve(
                names[system],
                tuple(each.k or 0 for each in mine),
                tuple(each.quality for each in mine),
                tuple(each.interval for each in mine),
            )
    return found


def _by_merit(
    sweep: SweepResult, points: Sequence[ConfigurationPoint], curves: Mapping[int, QualityCurve]
) -> list[int]:
    alike = first_alike(sweep)
    best = dict.fromkeys(alike[point.system] for point in best_of_systems(points, len(points)))
    return [system for system in best if system in curves]


def _gains(sweep: SweepResult, points: Sequence[ConfigurationPoint]) -> Sheet[_StepRow]:
    """The quality and the cost that each step to a larger K adds."""
    rows = [
        _StepRow(
            sweep.systems[system],
            sweep.configurations[first.place],
            sweep.configurations[second.place],
            second.quality - first.quality,
            None if first.cost is None or second.cost is None else second.cost - first.cost,
        )
        for system in _by_merit(sweep, points, _curves(sweep, points))
        for first, second in pairwise(_of_system(sweep, points, system))
    ]
    answered = any(row.system.answers is not None for row in rows)
    name = (lambda row: _without_k(row.system)) if answered else (lambda row: row.system.name)
    columns: list[Column[_StepRow]] = [
        Column("system", name),
        Column("from K", lambda row: row.first.k, COUNT),
        Column("to K", lambda row: row.second.k, COUNT),
        Column("quality gains", lambda row: row.gain, DIFFERENCE),
        Column("for each 10 contexts", lambda row: 10 * row.gain / (row.second.k - row.first.k), DIFFERENCE),
        Column(f"{currency_of(sweep)} per 1,000 more".strip(), lambda row: row.cost, MONEY),
    ]
    title = "What more contexts gain, and what they cost"
    return Sheet(title, rows, columns, folded=len(rows) > FEW, only="page", id="gains")


# ---- ceilings ----


class _CeilingRow(NamedTuple):
    """A configuration with the ceiling of its pool."""

    configuration: SweptConfiguration
    ceiling: PoolCeiling


def headroom_section(sweep: SweepResult, points: Sequence[ConfigurationPoint]) -> list[Section]:
    """The ceiling of the pool at the smallest and largest K, and at that of the best configuration.

    Args:
        sweep: of the command.
        points: its configurations, best first.
    """
    known = [(point, ceiling) for point in points if (ceiling := sweep.configurations[point.place].ceiling) is not None]
    if not known:
        return []
    cutoffs = sorted({point.k for point, _ in known if point.k is not None})
    figures = [
        _headroom_figure(sweep, [(point, ceiling) for point, ceiling in known if point.k == k])
        for k in dict.fromkeys((cutoffs[0], known[0][0].k, cutoffs[-1]))
    ]
    words = (
        "Where the retrieval headroom is the larger part, widen the pool: another retriever, fusion, more candidates. "
        "Where the ordering headroom is, mend the order: a better reranker, fewer near-duplicates."
    )
    columns: list[Column[_CeilingRow]] = [
        Column("configuration", lambda row: row.configuration.name),
        Column("actual", lambda row: row.ceiling.actual, FRACTION),
        Column("PROC", lambda row: row.ceiling.proc, FRACTION),
        Column("ordering headroom", lambda row: row.ceiling.ordering_headroom, FRACTION),
        Column("retrieval headroom", lambda row: row.ceiling.retrieval_headroom, FRACTION),
        Column("of totals", lambda row: row.ceiling.share, SHARE),
        Column("mean of shares", lambda row: row.ceiling.mean_share, SHARE),
        Column("queries", lambda row: row.ceiling.queries, COUNT),
    ]
    rows = [_CeilingRow(sweep.configurations[point.place], ceiling) for point, ceiling in known]
    title = "Pool ceilings: PROC is the quality if the best documents of the pool came first"
    sheet = Sheet(title, rows, columns, folded=len(rows) > FEW, only="page", id="ceilings")
    return [Section("Headrooms", [sheet], words, figures, id="headroom-block")]


def _headroom_figure(sweep: SweepResult, known: Sequence[tuple[ConfigurationPoint, PoolCeiling]]) -> Figure:
    names, (first, _) = short_names(sweep), known[0]
    pieces = [piece for point, ceiling in known[:SHOWN] for piece in _headroom(names[point.system], ceiling)]
    text = f"Of each system at K = {first.k}: {first.measure}, what a better order of the pool would add, and what "
    text += "the pool lacks."
    title = f"{first.measure}, and what is missing"
    return Figure(f"headrooms-{first.k}", title, text, at_width(sum_plot, pieces, HEADROOMS, most=1.0))


def _headroom(name: str, ceiling: PoolCeiling) -> Iterator[StackedPart]:
    values = (ceiling.actual, ceiling.ordering_headroom, ceiling.retrieval_headroom)
    for part, value in zip(HEADROOMS, values, strict=True):
        yield StackedPart(name, part, value or 0.0, f"{name}: {part} {format_value(value)}")


# ---- loss decomposition ----


class _LadderRow(NamedTuple):
    """A step of a system."""

    ladder: LossLadder
    step: LadderStep


class _TriedRow(NamedTuple):
    """A value of efSearch that was tried."""

    graph: TunedGraph
    tried: TriedGraph


def ladder_section(sweep: SweepResult) -> list[Section]:
    """The loss or gain of each step from exact float32 search, for each loss decomposition, and tuned graphs.

    Args:
        sweep: of the command.
    """
    figures = [
        Figure(
            f"ladder-{place}",
            ladder.name,
            f"{sweep.quality} after each step of {ladder.name}.",
            at_width(mark_plot, marks, axis=sweep.quality),
            key=MARK_KEY[:2],
        )
        for place, ladder in enumerate(sweep.ladder[:3])
        if (marks := [mark for step in ladder.steps if (mark := _step(step))])
    ]
    columns: list[Column[_LadderRow]] = [
        Column("system", lambda row: row.ladder.name),
        Column("step", lambda row: row.step.name),
        Column("recall", lambda row: value_in(row.step.recall), FRACTION),
        Column("quality", lambda row: row.step.quality, FRACTION, strong=True),
        Column("interval", lambda row: row.step, INTERVAL),
        Column("change", lambda row: value_in(row.step.change), DIFFERENCE),
    ]
    rows = [_LadderRow(ladder, step) for ladder in sweep.ladder for step in ladder.steps]
    title = "Each step with what it changes: recall of the documents of exact float32 search, and quality"
    sheets: list[AnySheet] = []
    if rows:
        sheets.append(Sheet(title, rows, columns, folded=len(rows) > MOST_OPEN, only="page", id="ladder"))
    if sweep.tuned:
        sheets.append(_tuned_sheet(sweep))
    return [Section("Losses step by step", sheets, figures=figures, id="ladder-block")] if sheets else []


def _step(step: LadderStep) -> PlotMark | None:
    if step.quality is None:
        return None
    ends = None if step.low is None or step.high is None else (step.low, step.high)
    return PlotMark(step.name, step.quality, ends, told=f"{step.name}: {format_value(step.quality)}")


def _tuned_sheet(sweep: SweepResult) -> Sheet[_TriedRow]:
    columns: list[Column[_TriedRow]] = [
        Column("index", lambda row: row.graph.name, NAME),
        Column("efSearch", lambda row: row.tried.ef_search, COUNT),
        Column("recall", lambda row: row.tried.recall.value, FRACTION),
        Column("quality", lambda row: row.tried.quality.value, FRACTION),
        Column("recall lost at most", lambda row: row.tried.loss["recall"].high, FRACTION),
        Column("ms", lambda row: row.tried.seconds, MILLISECONDS),
        Column("chosen", lambda row: "chosen" if row.tried.ef_search == row.graph.ef_search else ""),
    ]
    rows = [_TriedRow(graph, tried) for graph in sweep.tuned for tried in graph.tried]
    return Sheet("The least efSearch that loses little of exact search", rows, columns, only="page", id="tuned")
