"""Page sections on the quality of configurations: quality over K, headroom, loss decomposition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from trueval.report.number_texts import format_difference, format_value, whole
from trueval.report.page_content import Block, Cell, Figure, PageColumn, Row, Table, row_of
from trueval.report.result_directory import ResultFile, pointer
from trueval.tradeoff.views.lists import MOST_OPEN
from trueval.tradeoff.views.plots import Mark, QualityCurve, StackedPart, curve_plot, mark_plot, sum_plot
from trueval.tradeoff.views.sweep_points import ConfigurationPoint, best_of_systems, currency_of, panels_of
from trueval.tradeoff.views.units import apart, milliseconds, money, share

LEAD: Final = 400  # CSS pixels of the plot of the first screen
COLORED: Final = 6  # systems with a color of their own
GRAY: Final = 60  # further ones that are drawn
SHOWN: Final = 14  # rows of a plot of systems
HEADROOMS: Final = {"realised": "expected", "ordering headroom": "range", "retrieval headroom": "line"}
MARK_KEY: Final = (("dot", "expected"), ("thin", "interval over queries"), ("bar", "lowest to highest over tie orders"))


def short_names(sweep: Mapping[str, Any]) -> list[str]:
    """Names of the systems without the words they share, in the order of the sweep."""
    return apart([system["name"] for system in sweep["systems"]])


def lead_figure(file: ResultFile, points: Sequence[ConfigurationPoint]) -> tuple[Figure, ...]:
    """The best configurations with their intervals, for the top of the page.

    Args:
        file: the sweep.
        points: its configurations, best first.
    """
    if len(points) < 2:
        return ()
    names = short_names(file.data)
    compared = panels_of(points)
    shown = [each for _, some in compared for each in some[: max(SHOWN // len(compared), 1)]]
    marks = [
        Mark(
            f"{names[each.system]} K={each.k}",
            each.quality,
            each.interval,
            ties=each.ties,
            told=f"{each.name}: {each.quality:.4f}",
        )
        for each in shown
    ]
    measure = file.data["quality"]
    title = (
        measure if len(shown) == len(points) else f"{measure}: the best {len(shown)} of {len(points)} configurations"
    )
    first = " and ".join(some[0].name for _, some in compared)
    description = f"{measure} of the best configurations with intervals over queries; best is {first}."
    return (Figure("best", title, description, mark_plot(marks, width=LEAD), key=MARK_KEY),)


def contexts_block(file: ResultFile, points: Sequence[ConfigurationPoint]) -> tuple[Block, ...]:
    """Quality over K for each system, and the gain of each step; empty if there is only one K.

    Args:
        file: the sweep.
        points: its configurations, best first.
    """
    curves = _curves(file, points)
    if not curves:
        return ()
    order = [curves[place] for place in _by_merit(points, curves)]
    colored, others = order[:COLORED], order[COLORED : COLORED + GRAY]
    measure = file.data["quality"]
    across = len(panels_of(points)) == 1
    best = f"; {order[0].name} is best" if across else ""
    description = f"{measure} of each system over the number of contexts{best}."
    rest = f" {len(others)} more systems are thin and gray." if others else ""
    words = (f"Bands are intervals over queries, of the best systems only.{rest}",)
    figures = [Figure("over-k", f"{measure} over K", description, curve_plot(colored, others))]
    if not across:  # at another K another measure has no gain
        return (Block("over-k-block", "Quality against K", (words,), tuple(figures)),)
    steps = [
        QualityCurve(each.name, each.k[1:], gains, (None,) * len(gains))
        for each in colored
        if (gains := _per_ten(each))
    ]
    if any(len(each.k) > 1 for each in steps):
        text = f"What ten more contexts add to {measure}, on the way to each K from the one before."
        figures.append(Figure("gains-over-k", "Gain of 10 more contexts, up to K", text, curve_plot(steps)))
    return (Block("over-k-block", "Quality against K", (words,), tuple(figures), (_gains(file, points),)),)


def _per_ten(curve: QualityCurve) -> tuple[float, ...]:
    values, k = curve.values, curve.k
    return tuple(10 * (values[at] - values[at - 1]) / (k[at] - k[at - 1]) for at in range(1, len(k)))


def _curves(file: ResultFile, points: Sequence[ConfigurationPoint]) -> dict[int, QualityCurve]:
    names, found = short_names(file.data), {}
    for system in dict.fromkeys(point.system for point in points):
        mine = sorted((point for point in points if point.system == system), key=lambda point: point.k)
        if len({point.k for point in mine}) > 1:
            found[system] = QualityCurve(
                names[system],
                tuple(each.k for each in mine),
                tuple(each.quality for each in mine),
                tuple(each.interval for each in mine),
            )
    return found


def _by_merit(points: Sequence[ConfigurationPoint], curves: Mapping[int, QualityCurve]) -> list[int]:
    best = [point.system for point in best_of_systems(points, len(points))]
    return [system for system in best if system in curves]


def _gains(file: ResultFile, points: Sequence[ConfigurationPoint]) -> Table:
    """The quality and the cost that each step to a larger K adds."""
    columns = (
        PageColumn("system"),
        PageColumn("from K", "", True, whole),
        PageColumn("to K", "", True, whole),
        PageColumn("quality gains", "", True, format_difference),
        PageColumn("for each 10 contexts", "", True, format_difference),
        PageColumn(f"{currency_of(file.data)} per 1,000 more".strip(), "", True, money),
    )
    rows = []
    for system in _by_merit(points, _curves(file, points)):
        mine = sorted((point for point in points if point.system == system), key=lambda point: point.k)
        rows += [_gain(file, first, second) for first, second in pairwise(mine)]
    caption = ("What more contexts gain, and what they cost.",)
    return Table("gains", caption, file.name, columns, tuple(rows), folded=len(rows) > 12)


def _gain(file: ResultFile, first: ConfigurationPoint, second: ConfigurationPoint) -> Row:
    gain = second.quality - first.quality
    costs = None if first.cost is None or second.cost is None else second.cost - first.cost
    name = file.data["systems"][first.system]["name"]
    cells = (
        Cell(name, name, source=pointer("systems", first.system, "name")),
        *(Cell(whole(each.k), each.k, source=pointer("configurations", each.place, "K")) for each in (first, second)),
        Cell(format_difference(gain), gain, source=f"{second.at['value']} - {first.at['value']}"),
        Cell(format_difference(per_ten := 10 * gain / (second.k - first.k)), per_ten),
        Cell(money(costs), costs, source="" if costs is None else f"{second.at['cost']} - {first.at['cost']}"),
    )
    return Row(pointer("configurations", second.place), cells)


# ---- ceilings ----


def headroom_block(file: ResultFile, points: Sequence[ConfigurationPoint]) -> tuple[Block, ...]:
    """The ceiling of the pool at the smallest and largest K, and at that of the best configuration.

    Args:
        file: the sweep.
        points: its configurations, best first.
    """
    configurations = file.data["configurations"]
    known = [point for point in points if configurations[point.place]["ceiling"] is not None]
    if not known:
        return ()
    cutoffs = sorted({point.k for point in known})
    figures = tuple(
        _headroom_figure(file, [point for point in known if point.k == k], k)
        for k in dict.fromkeys((cutoffs[0], known[0].k, cutoffs[-1]))
    )
    words = (
        "Where the retrieval headroom is the larger part, widen the pool: another retriever, fusion, more candidates. "
        "Where the ordering headroom is, mend the order: a better reranker, fewer near-duplicates.",
    )
    columns = (
        PageColumn("configuration", "/name"),
        *(PageColumn(title, f"/ceiling/{name}", True, format_value) for title, name in CEILING),
        *(
            PageColumn(title, f"/ceiling/{name}", True, share)
            for title, name in (("of totals", "share"), ("mean of shares", "mean_share"))
        ),
        PageColumn("queries", "/ceiling/queries", True, whole),
    )
    rows = tuple(row_of(pointer("configurations", each.place), columns, configurations[each.place]) for each in known)
    caption = ("Pool ceilings: PROC is the quality if the best documents of the pool came first.",)
    table = Table("ceilings", caption, file.name, columns, rows, folded=len(rows) > 12)
    return (Block("headroom-block", "Headrooms", (words,), figures, (table,)),)


def _headroom_figure(file: ResultFile, points: Sequence[ConfigurationPoint], k: int) -> Figure:
    names, configurations = short_names(file.data), file.data["configurations"]
    pieces = [
        piece
        for point in points[:SHOWN]
        for piece in _headroom(names[point.system], configurations[point.place]["ceiling"])
    ]
    measure = points[0].measure
    text = f"Of each system at K = {k}: {measure}, what a better order of the pool would add, and what the pool lacks."
    return Figure(f"headrooms-{k}", f"{measure}, and what is missing", text, sum_plot(pieces, HEADROOMS, most=1.0))


CEILING: Final = (
    ("actual", "actual"),
    ("PROC", "PROC"),
    ("ordering headroom", "ordering_headroom"),
    ("retrieval headroom", "retrieval_headroom"),
)


def _headroom(name: str, ceiling: Mapping[str, Any]) -> Iterator[StackedPart]:
    parts = zip(HEADROOMS, ("actual", "ordering_headroom", "retrieval_headroom"), strict=True)
    for part, field in parts:
        yield StackedPart(name, part, ceiling[field], f"{name}: {part} {format_value(ceiling[field])}")


# ---- loss decomposition ----


def ladder_block(file: ResultFile) -> tuple[Block, ...]:
    """The loss or gain of each step from exact float32 search, for each loss decomposition.

    Args:
        file: the sweep.
    """
    ladders = file.data.get("ladder") or []
    tuned = _tuning_tables(file)
    if not ladders and not tuned:
        return ()
    figures = tuple(
        Figure(
            f"ladder-{place}",
            ladder["name"],
            f"{file.data['quality']} after each step of {ladder['name']}.",
            mark_plot([mark for step in ladder["steps"] if (mark := _step(step))], axis=file.data["quality"]),
            key=MARK_KEY[:2],
        )
        for place, ladder in enumerate(ladders[:3])
        if any(step["quality"] is not None for step in ladder["steps"])
    )
    columns = (
        PageColumn("system"),
        PageColumn("step", "/name"),
        PageColumn("recall", "/recall/value", True, format_value),
        PageColumn("quality", "/quality", True, format_value, lambda _: True),
        PageColumn("low", "/low", True, format_value),
        PageColumn("high", "/high", True, format_value),
        PageColumn("change", "/change/value", True, format_difference),
    )
    rows = tuple(
        row_of(pointer("ladder", place, "steps", at), columns, step, ladder["name"])
        for place, ladder in enumerate(ladders)
        for at, step in enumerate(ladder["steps"])
    )
    caption = ("Each step with what it changes: recall of the documents of exact float32 search, and quality.",)
    table = Table("ladder", caption, file.name, columns, rows, folded=len(rows) > MOST_OPEN)
    tables = (*((table,) if rows else ()), *tuned)
    return (Block("ladder-block", "Losses step by step", figures=figures, tables=tables),)


def _step(step: Mapping[str, Any]) -> Mark | None:
    if step["quality"] is None:
        return None
    ends = None if step["low"] is None else (step["low"], step["high"])
    return Mark(step["name"], step["quality"], ends, told=f"{step['name']}: {format_value(step['quality'])}")


def _tuning_tables(file: ResultFile) -> tuple[Table, ...]:
    columns = (
        PageColumn("index"),
        PageColumn("efSearch", "/efSearch", True, whole),
        PageColumn("recall", "/recall/value", True, format_value),
        PageColumn("quality", "/quality/value", True, format_value),
        PageColumn("recall lost at most", "/loss/recall/high", True, format_value),
        PageColumn("ms", "/seconds", True, milliseconds),
        PageColumn("chosen"),
    )
    rows = tuple(
        row_of(
            pointer("tuned", place, "tried", at),
            columns,
            tried,
            each.get("name", each["spec"]),
            "chosen" if tried["efSearch"] == each["efSearch"] else "",
        )
        for place, each in enumerate(file.data.get("tuned") or ())
        for at, tried in enumerate(each["tried"])
    )
    caption = ("The least efSearch that loses little of exact search.",)
    return (Table("tuned", caption, file.name, columns, rows),) if rows else ()
