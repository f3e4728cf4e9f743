"""Plots of a sweep other than the frontier: values with intervals, stacked parts, quality over K."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from trueval.report.figures import NARROW, RUN_TONES, Chart, ChartRow, axis_domain, tone
from trueval.report.formats import distinct
from trueval.report.plots import ROW, names_axis
from trueval.report.terminal import shorten_apart

HEIGHT: Final = 200  # CSS pixels of a plot over K
BESIDE: Final = 22  # characters of names beside a plot; where one is longer, names are above the rows
LONGEST: Final = 50  # characters of a name in a legend
BANDS: Final = 3  # systems whose intervals are drawn; more bands hide each other
DECIMALS: Final = 6


class PlotMark(NamedTuple):
    """A value in a row of a plot.

    Attributes:
        name: of the row.
        value: the mark.
        interval: over queries or repeats, the line; None where none is known.
        series: which of several marks of a row it is.
        ties: lowest and highest over tie orders, the bar; None where there is none.
        told: text description.
    """

    name: str
    value: float
    interval: tuple[float, float] | None
    series: str = ""
    ties: tuple[float, float] | None = None
    told: str = ""


class StackedPart(NamedTuple):
    """A part of a stacked bar.

    Attributes:
        name: of the row.
        part: name of the part.
        value: its length.
        told: text description.
    """

    name: str
    part: str
    value: float
    told: str


class QualityCurve(NamedTuple):
    """The quality of a system over K.

    Attributes:
        name: of the system.
        k: contexts.
        values: at each of them.
        intervals: over queries, None where none is known.
    """

    name: str
    k: tuple[int, ...]
    values: tuple[float, ...]
    intervals: tuple[tuple[float, float] | None, ...]


def at_width(plot: Callable[..., Chart], *arguments: object, **named: object) -> Callable[[int], Chart]:
    """A plot that is drawn when its width is known.

    Args:
        plot: one of the functions below.
        arguments: of it.
        named: of it.
    """
    return lambda width: plot(*arguments, width=width, **named)


def mark_plot(
    marks: Sequence[PlotMark], *, axis: str = "", log: bool = False, width: int = NARROW, zero: bool = False
) -> Chart:
    """Rows of values, each with its interval as a line and its tie range as a bar.

    Args:
        marks: from the top; those of one name share a row.
        axis: title of the axis.
        log: whether the axis is logarithmic.
        width: CSS pixels of the whole figure.
        zero: whether the axis begins at 0.
    """
    import altair as alt

    rows = PlotRows.of([mark.name for mark in marks], width)
    series = list(dict.fromkeys(mark.series for mark in marks))
    data = [
        {"name": rows.short[each.name], "value": _round_value(each.value), "series": each.series, "told": each.told}
        | _ends(each.interval, "low", "high")
        | _ends(each.ties, "lowest", "highest")
        for each in marks
    ]
    values = [value for mark in marks for value in (mark.value, *(mark.interval or ()), *(mark.ties or ()))]
    ends = {} if log else {"domain": axis_domain([*values, *([0.0] if zero else [])]), "zero": False}
    scale = alt.Scale(nice=False, **({"type": "log", "padding": 10} if log else {}), **ends)
    ticks = log_ticks(values) if log else alt.Axis(tickCount=4, labelOverlap=True, labelFlush=False)

    def x(field: str) -> alt.X:
        return alt.X(f"{field}:Q", title=axis or None, scale=scale, axis=ticks)

    base = alt.Chart(alt.Data(values=data)).encode(y=rows.axis())
    colors = [tone("expected")] if len(series) == 1 else [tone(each) for each in RUN_TONES[: len(series)]]
    legend = None if len(series) == 1 else alt.Legend(columns=len(series), symbolType="circle")
    color = alt.Color("series:N", title=None, scale=alt.Scale(domain=series, range=colors), legend=legend)
    lines = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=1.8, yOffset=rows.offset)
    dots = base.mark_point(filled=True, size=48, aria=True, yOffset=rows.offset)
    layers = [
        *rows.texts(),
        lines.encode(x=x("low"), x2="high:Q", color=color),
        dots.encode(x=x("value"), color=color, description="told:N"),
    ]
    if any(mark.ties for mark in marks):
        bars = base.transform_filter("isValid(datum.lowest)")
        bars = bars.mark_rule(strokeWidth=7, color=tone("range"), yOffset=rows.offset)
        layers.insert(-2, bars.encode(x=x("lowest"), x2="highest:Q"))
    return alt.layer(*layers).properties(width=rows.room, height=rows.height)


def sum_plot(
    pieces: Sequence[StackedPart],
    parts: Mapping[str, str],
    *,
    axis: str = "",
    width: int = NARROW,
    most: float | None = None,
) -> Chart:
    """Rows of stacked bars.

    Args:
        pieces: rows from the top.
        parts: name → color by `tone`, from the left.
        axis: title of the axis.
        width: CSS pixels of the whole figure.
        most: end of the axis; that of the longest bar by default.
    """
    import altair as alt

    rows, order = PlotRows.of([piece.name for piece in pieces], width), list(parts)
    data = [
        {"name": rows.short[each.name], "part": each.part, "value": _round_value(each.value), "told": each.told}
        | {"place": order.index(each.part)}
        for each in pieces
        if each.value
    ]
    scale = alt.Scale(domain=order, range=[tone(each) for each in parts.values()])
    legend = alt.Legend(columns=3, symbolType="square", symbolStrokeWidth=0)
    ends = alt.Scale(nice=False, **({} if most is None else {"domain": [0, most]}))
    bars = alt.Chart(alt.Data(values=data)).mark_bar(
        size=10, stroke=tone("quiet"), strokeWidth=0.4, aria=True, yOffset=rows.offset
    )
    plot = bars.encode(
        x=alt.X("value:Q", title=axis or None, stack="zero", scale=ends, axis=alt.Axis(tickCount=4, labelOverlap=True)),
        y=rows.axis(),
        color=alt.Color("part:N", title=None, scale=scale, legend=legend),
        order=alt.Order("place:Q"),
        description="told:N",
    )
    return alt.layer(*rows.texts(), plot).properties(width=rows.room, height=rows.height)


class PlotRows(NamedTuple):
    """The rows of a plot: labels beside them, or above them if long.

    Attributes:
        short: name → how it is written, different for different names.
        above: whether names are above the marks.
        room: CSS pixels for the marks.
    """

    short: Mapping[str, str]
    above: bool
    room: int

    @staticmethod
    def of(names: Sequence[str], width: int) -> PlotRows:
        """The rows for some labels, from the top, in a figure of a given width."""
        different = list(dict.fromkeys(names))
        above = max(map(len, different)) > BESIDE
        if not above:
            short = dict(zip(different, distinct(different), strict=True))
            return PlotRows(short, above, max(120, width - int(6.2 * max(map(len, different))) - 28))
        written = distinct(shorten_apart(different, (width - 24) // 6))
        return PlotRows(dict(zip(different, written, strict=True)), above, width - 24)

    @property
    def offset(self) -> int:
        """CSS pixels from the middle of a row down to its marks."""
        return 9 if self.above else 0

    @property
    def height(self) -> int:
        """CSS pixels of all rows."""
        return (ROW + 12 if self.above else ROW) * len(self.short)

    def axis(self) -> Chart:
        """The vertical axis."""
        import altair as alt

        names = list(self.short.values())
        if not self.above:
            return names_axis(names)
        return alt.Y("name:N", sort=None, title=None, scale=alt.Scale(domain=names), axis=None)

    def texts(self) -> list[Chart]:
        """The labels above their rows, drawn twice: the first drawing is a halo."""
        import altair as alt

        if not self.above:
            return []
        base = alt.Chart(alt.Data(values=[{"name": name} for name in self.short.values()]))
        written: ChartRow = {"align": "left", "baseline": "bottom", "yOffset": -2, "fontSize": 11}
        return [
            base.mark_text(**written, **halo).encode(x=alt.value(0), y=self.axis(), text="name:N")
            for halo in ({"stroke": tone("ground"), "strokeWidth": 4}, {})
        ]


def log_ticks(values: Iterable[float]) -> Chart:
    """A logarithmic axis with ticks at 1, 2 and 5 of each power of ten; the default draws nine.

    Args:
        values: along the axis, above 0.
    """
    import altair as alt

    known = list(values)
    powers = range(math.floor(math.log10(min(known))), math.ceil(math.log10(max(known))) + 1)
    ticks = [round(first * 10.0**power, 6) for power in powers for first in (1, 2, 5)]
    return alt.Axis(values=ticks, labelOverlap=True, format=",~g")


def curve_plot(curves: Sequence[QualityCurve], others: Sequence[QualityCurve] = (), *, width: int = NARROW) -> Chart:
    """Values over K: a colored line for each of a few systems, bands for the first, thin gray lines for the rest.

    Args:
        curves: best first.
        others: that have no color.
        width: CSS pixels of the whole figure.
    """
    import altair as alt

    names = list(dict.fromkeys(curve.name for curve in (*curves, *others)))
    short = dict(zip(names, distinct(shorten_apart(names, LONGEST)), strict=True))
    colored = [short[curve.name] for curve in curves]
    rows = [row for curve in curves for row in _over_k(short[curve.name], curve)]
    quiet = [row for curve in others for row in _over_k(short[curve.name], curve)]
    domain = axis_domain(value for row in (*rows, *quiet) for value in (row["value"], row.get("low"), row.get("high")))
    cutoffs = sorted({row["K"] for row in (*rows, *quiet)})
    # Cutoffs are apart by their place and not by their size: 5, 10 and 100 would leave the first two in one.
    x = alt.X("K:O", title="K", scale=alt.Scale(domain=cutoffs), axis=alt.Axis(labelAngle=0))
    y = alt.Y("value:Q", title=None, scale=alt.Scale(domain=domain, nice=False, zero=False), axis=alt.Axis(tickCount=5))
    colors = [tone(RUN_TONES[place % len(RUN_TONES)]) for place in range(len(colored))]
    legend = alt.Legend(columns=1, labelLimit=width - 40)
    color = alt.Color("name:N", title=None, scale=alt.Scale(domain=colored, range=colors), legend=legend)
    base = alt.Chart(alt.Data(values=rows)).encode(x=x, color=color)
    bands = base.transform_filter(alt.FieldOneOfPredicate(field="name", oneOf=colored[:BANDS]))
    layers = [
        alt.Chart(alt.Data(values=quiet))
        .mark_line(color=tone("line"), strokeWidth=1)
        .encode(x=x, y=y, detail="name:N"),
        bands.transform_filter("isValid(datum.low)").mark_area(opacity=0.15).encode(y="low:Q", y2="high:Q"),
        base.mark_line(strokeWidth=1.6).encode(y=y),
        base.mark_point(filled=True, size=34, aria=True).encode(y=y, description="told:N"),
    ]
    return alt.layer(*layers[0 if quiet else 1 :]).properties(width=width - 60, height=HEIGHT)


def _over_k(name: str, curve: QualityCurve) -> list[ChartRow]:
    rows = zip(curve.k, curve.values, curve.intervals, strict=True)
    return [
        {"name": name, "K": k, "value": _round_value(value), "told": f"{curve.name}, K = {k}: {value:.4f}"}
        | _ends(ends, "low", "high")
        for k, value, ends in rows
    ]


def _ends(ends: tuple[float, float] | None, low: str, high: str) -> dict[str, float]:
    return {} if ends is None else {low: _round_value(ends[0]), high: _round_value(ends[1])}


def _round_value(value: float) -> float:
    return round(value, DECIMALS)
