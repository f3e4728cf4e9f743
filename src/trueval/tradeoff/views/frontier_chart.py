"""The frontier chart: quality against latency and against cost, with linked brushing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from trueval.report.figures import RUN_TONES, Chart, ChartRow, axis_domain, tone
from trueval.report.number_texts import format_value
from trueval.tradeoff.quality.result_parts import IntervalEstimate
from trueval.tradeoff.views.plots import log_ticks
from trueval.tradeoff.views.points import ConfigurationPoint, panels_of
from trueval.tradeoff.views.units import milliseconds, money, share

WIDTH: Final = 300  # CSS pixels of a panel from which two are beside each other
MARGIN: Final = 40  # CSS pixels of the labels of an axis
HEIGHT: Final = 300
DECIMALS: Final = 5  # of plotted values; far below a pixel
BRUSH: Final = "brush"
LEGEND: Final = {"columns": 4, "symbolType": "circle", "symbolOpacity": 1}
CROWDED: Final = 30  # points on the frontier
SPREAD: Final = 20.0  # times the least value from which an axis is no longer linear
SHAPES: Final = (
    ("dot", "on the frontier in .9 of the resamples or more"),
    ("ring", "may be on it"),
    ("speck", "others"),
)
PLAIN_SHAPES: Final = (("dot", "on the frontier of the measured values"), ("speck", "others"))


class ChartAxis(NamedTuple):
    """The horizontal axis of a panel.

    Attributes:
        field: of the rows; its interval is in `field_low` and `field_high` where there is one.
        title: under the axis.
        values: those that are known.
        interval: whether rows have one.
    """

    field: str
    title: str
    values: tuple[float, ...]
    interval: bool


class Shape(NamedTuple):
    """The shape of marks.

    Attributes:
        sized: whether their area is the cost.
        crowded: whether there are too many for each to have its interval.
        live: whether there is a brush.
    """

    sized: bool
    crowded: bool
    live: bool

    def opacity(self, near: float, far: float, *, empty: bool = True) -> Chart:
        """Opacity of brushed and other marks.

        Args:
            near: of those under it.
            far: of all others.
            empty: whether all are near while nothing is brushed.
        """
        import altair as alt

        if not self.live:
            return alt.value(near if empty else far)
        return alt.condition({"param": BRUSH, "empty": empty}, alt.value(near), alt.value(far))


def frontier_chart(
    points: Sequence[ConfigurationPoint],
    percentile: str,
    currency: str,
    *,
    width: int = 2 * WIDTH + 24,
    live: bool = True,
) -> Chart:
    """Quality against latency and against cost, as far as known.

    Each panel shows the points, the best quality at or below each value as a line, and for frontier members their
    numbers and intervals. Readers choose K and method, and drag over a panel to see the same points in the other one.

    Args:
        points: best first.
        percentile: of the latency.
        currency: of the cost; latency or cost is known of two points.
        width: CSS pixels of the whole figure; plots are one under another where two are too narrow.
        live: whether readers can drag over it; a paper has no brush.
    """
    import altair as alt

    rows = [_row(point) for point in points]
    axes = [axis for axis in _axes(points, percentile, currency) if len(axis.values) > 1]
    for axis in axes:
        _add_numbers(rows, axis)
    shape = Shape(axes[-1].field == "cost", sum(point.rank != "not" for point in points) > CROWDED, live)
    columns = min(len(axes), 2 if width >= 2 * WIDTH else 1)
    panels = [{**_panel(axis, rows, shape), "width": (width - 24) // columns - MARGIN} for axis in axes]
    whole = panels[0] if len(panels) == 1 else {"concat": panels, "columns": columns, "spacing": 24}
    brush: ChartRow = {
        "name": BRUSH,
        "select": {"type": "interval", "mark": {"fill": tone("quiet"), "fillOpacity": 0.15}},
    }
    brush["views"] = [f"points_{axis.field}" for axis in axes]
    params = [*([brush] if live else []), *_choices(points)]
    return {"$schema": alt.SCHEMA_URL, **whole, "params": params, "datasets": {"points": rows}}


def _row(point: ConfigurationPoint) -> ChartRow:
    low, high = point.interval or (None, None)
    row = {
        "name": point.name,
        "K": point.k,
        "method": point.method,
        "quality": point.quality,
        "quality_low": low,
        "quality_high": high,
        **({} if point.latency is None else _interval("ms", point.latency)),
        "cost": point.cost,
        "chance": point.chance,
        "rank": point.rank,
        "number": str(point.number or ""),
        "file": point.file,
        "told": _describe_point(point),
    }
    rounded = {name: round(value, DECIMALS) if isinstance(value, float) else value for name, value in row.items()}
    return {name: value for name, value in rounded.items() if value not in (None, "")}


def _interval(name: str, seconds: IntervalEstimate) -> dict[str, float | None]:
    ends = {name: seconds.value, f"{name}_low": seconds.low, f"{name}_high": seconds.high}
    return {each: None if value is None else 1000 * value for each, value in ends.items()}


def _describe_point(point: ConfigurationPoint) -> str:
    chance = "" if point.chance is None else f", on the frontier in {share(point.chance)} of the resamples"
    known = (
        f"{point.measure} {format_value(point.quality)}",
        f"{milliseconds(point.seconds)} ms",
        f"cost {money(point.cost)}",
    )
    return f"{point.name}: {', '.join(known)}{chance}"


def _axes(points: Sequence[ConfigurationPoint], percentile: str, currency: str) -> tuple[ChartAxis, ...]:
    seconds = tuple(1000 * value for point in points if (value := point.seconds) is not None)
    costs = tuple(point.cost for point in points if point.cost is not None)
    costs = costs if any(costs) else ()
    return (
        ChartAxis("ms", f"latency {percentile}, milliseconds", seconds, True),
        ChartAxis("cost", f"{currency} per 1,000 queries".strip(), costs, False),
    )


def _choices(points: Sequence[ConfigurationPoint]) -> list[ChartRow]:
    cutoffs, methods = (
        sorted({each.k for each in points if each.k is not None}),
        sorted({each.method for each in points}),
    )
    chosen = []
    for name, title, values, every in (("only_k", "K", cutoffs, 0), ("only_method", "Method", methods, "")):
        # Where only those of one K are compared, one K is shown.
        some = [] if name == "only_k" and len(panels_of(points)) > 1 else [(every, "all")]
        some += [(value, str(value)) for value in values]
        options, labels = map(list, zip(*some, strict=True))
        bind = {"input": "select", "options": options, "labels": labels, "name": f"{title} "}
        chosen.append({"name": name, "value": options[0], "bind": bind})
    return chosen


def _panel(axis: ChartAxis, rows: Sequence[ChartRow], shape: Shape) -> ChartRow:
    import altair as alt

    shown = "(only_k == 0 || datum.K == only_k) && (only_method == '' || datum.method == only_method)"
    base = alt.Chart(alt.NamedData("points")).transform_filter(f"isValid(datum.{axis.field}) && {shown}")
    ends = axis_domain(end for row in rows for end in (row["quality"], row.get("quality_low"), row.get("quality_high")))
    ticks = log_ticks(axis.values) if _kind(axis) == "log" else alt.Axis(tickCount=5, labelOverlap=True)
    x = alt.X(f"{axis.field}:Q", title=axis.title, scale=_scale(axis), axis=ticks)
    y = alt.Y(
        "quality:Q",
        title=None,
        scale=alt.Scale(domain=ends, nice=False, zero=False),
        axis=alt.Axis(tickCount=5),
    )
    methods = sorted({row["method"] for row in rows})
    scale = alt.Scale(domain=methods, range=[tone(RUN_TONES[place % len(RUN_TONES)]) for place in range(len(methods))])
    color = alt.Color("method:N", title=None, scale=scale, legend=LEGEND)
    on = base.transform_filter("datum.rank != 'not'").encode(opacity=shape.opacity(1, 0.15))
    others = (
        base.transform_filter("datum.rank == 'not'")
        .mark_circle(size=22, aria=True)
        .encode(
            x=x,
            y=y,
            color=color,
            description="told:N",
            tooltip=_tips(),
            opacity=shape.opacity(0.55, 0.1),
        )
    )
    layers = [
        _best_so_far(base, axis, x),
        *_whiskers(on, axis, x, y, shape),
        others.properties(name=f"points_{axis.field}"),
        _marks(on, x, y, color, scale, shape),
        *_numbers(on, axis, x, y),
    ]
    # As dicts from here on: Altair copies and compares the content of charts whenever they are nested.
    return {"layer": [_unit(each) for each in layers], "width": WIDTH, "height": HEIGHT}


def _unit(chart: Chart) -> ChartRow:
    spec: ChartRow = chart.to_dict(validate=False)
    return {name: value for name, value in spec.items() if name not in ("$schema", "config")}


def _scale(axis: ChartAxis) -> Chart:
    import altair as alt

    kind = _kind(axis)
    form = {"type": "log"} if kind == "log" else {"type": kind, "zero": False}
    return alt.Scale(**form, nice=False, padding=12)


def _kind(axis: ChartAxis) -> Literal["linear", "sqrt", "log"]:
    """The scale of an axis: logarithmic or square root where most values would crowd a corner of a linear one."""
    least, most = min(axis.values), max(axis.values)
    if least > 0:
        return "log" if most / least > SPREAD else "linear"
    return "sqrt" if most > SPREAD * sorted(axis.values)[len(axis.values) // 2] else "linear"


def _best_so_far(base: Chart, axis: ChartAxis, x: Chart) -> Chart:
    """The best quality at or below each value, as a step line."""
    import altair as alt

    best = alt.WindowFieldDef(op="max", field="quality", **{"as": "best"})
    line = base.transform_window([best], sort=[alt.SortField(axis.field)], frame=[None, 0])
    return line.mark_line(interpolate="step-after", color=tone("line"), strokeWidth=1.5).encode(x=x, y="best:Q")


def _whiskers(on: Chart, axis: ChartAxis, x: Chart, y: Chart, shape: Shape) -> list[Chart]:
    """Intervals; if there are many, only of brushed points."""
    thin = {"strokeWidth": 1, "color": tone("quiet")}
    if shape.crowded:
        on = on.encode(opacity=shape.opacity(1, 0, empty=False))
    high = on.transform_filter("isValid(datum.quality_low)").mark_rule(**thin)
    found = [high.encode(x=x, y="quality_low:Q", y2="quality_high:Q")]
    if axis.interval:
        wide = on.transform_filter(f"isValid(datum.{axis.field}_low)").mark_rule(**thin)
        found.append(wide.encode(x=f"{axis.field}_low:Q", x2=f"{axis.field}_high:Q", y=y))
    return found


def _marks(on: Chart, x: Chart, y: Chart, color: Chart, scale: Chart, shape: Shape) -> Chart:
    """A circle per possible frontier member, with area growing with cost."""
    import altair as alt

    areas = [20, 70] if shape.crowded else [30, 150]
    # Vega-Lite drops rows without a value, such as those with unknown cost.
    on = on.transform_calculate(area="isValid(datum.cost) ? datum.cost : 0")
    size = {"size": alt.Size("area:Q", scale=alt.Scale(range=areas), legend=None)} if shape.sized else {}
    return on.mark_point(filled=True, strokeWidth=1.5, aria=True, **({} if shape.sized else {"size": 60})).encode(
        x=x,
        y=y,
        color=color,
        stroke=alt.Stroke("method:N", title=None, legend=LEGEND, scale=scale),
        fillOpacity=alt.condition("datum.rank == 'sure'", alt.value(0.9), alt.value(0.12)),
        description="told:N",
        tooltip=_tips(),
        **size,
    )


def _tips() -> list[Chart]:
    import altair as alt

    fields: tuple[tuple[str, str, dict[str, str]], ...] = (
        ("name:N", "configuration", {}),
        ("quality:Q", "quality", {"format": ".4f"}),
        ("quality_low:Q", "interval from", {"format": ".4f"}),
        ("quality_high:Q", "to", {"format": ".4f"}),
        ("ms:Q", "milliseconds", {"format": ",.4~r"}),
        ("cost:Q", "cost", {"format": ",.4~f"}),
        ("chance:Q", "resamples on the frontier", {"format": ".3f"}),
        ("file:N", "file", {}),
    )
    return [alt.Tooltip(field, title=title, **form) for field, title, form in fields]


def _numbers(on: Chart, axis: ChartAxis, x: Chart, y: Chart) -> list[Chart]:
    """Numbers of the frontier members, drawn twice: the first drawing is a halo."""
    field = f"number_{axis.field}"
    numbered = on.transform_filter(f"isValid(datum.{field})")
    written = {"align": "left", "baseline": "bottom", "dx": 6, "dy": -5, "fontSize": 11}
    return [
        numbered.mark_text(**written, **halo).encode(x=x, y=y, text=f"{field}:N")
        for halo in ({"stroke": tone("ground"), "strokeWidth": 3}, {})
    ]


def _add_numbers(rows: Sequence[ChartRow], axis: ChartAxis) -> None:
    """Add the number of each frontier member to its row, unless a better one is too close to read both."""
    place = {"linear": float, "sqrt": math.sqrt, "log": math.log}[_kind(axis)]
    across = (place(max(axis.values)) - place(min(axis.values))) / WIDTH
    qualities = [row["quality"] for row in rows]
    up = (max(qualities) - min(qualities)) / HEIGHT
    shown: list[tuple[float, float]] = []
    for row in rows:
        if not row.get("number") or axis.field not in row:
            continue
        at = (place(row[axis.field]), row["quality"])
        if all(abs(at[0] - x) > 15 * across or abs(at[1] - y) > 12 * up for x, y in shown):
            row[f"number_{axis.field}"] = row["number"]
            shown.append(at)
