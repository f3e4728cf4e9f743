"""Figures of precision audits: curves over the cutoff with tie ranges (P-A, Figures 2, 4, 5), and tie-group sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trueval.precision.audit_result import CutoffCurve, GroupSize, RegimeEntry
from trueval.report.figures import NARROW, RUN_TONES, Chart, ChartRow, axis_domain, tone
from trueval.report.plots import DIFFERS, HOLLOW_TICK

HEIGHT = 170  # CSS pixels of a plot


def curve_plot(regimes: Mapping[str, RegimeEntry], measure: str, width: int = NARROW, *, title: str = "") -> Chart:
    """A measure over its cutoff: lines expected, bands from lowest to highest, hollow ticks tie-broken.

    Args:
        regimes: name → regime, all of one model.
        measure: a key of their curves.
        width: CSS pixels of the whole plot.
        title: above the plot.
    """
    import altair as alt

    names = list(regimes)
    rows = [row for name, regime in regimes.items() for row in _points(name, regime.curves[measure])]
    ends = axis_domain(row[end] for row in rows for end in ("lowest", "highest", "tie"))
    # Cutoffs are apart by their place and not by their size: 1, 5 and 100 would leave the first two in one.
    x = alt.X("k:N", sort=None, title="k", axis=alt.Axis(labelAngle=0, grid=False))
    scale, axis = alt.Scale(domain=ends, nice=False, zero=False), alt.Axis(tickCount=4)
    colors = [tone(RUN_TONES[index % len(RUN_TONES)]) for index in range(len(names))]
    color = alt.Color("name:N", title=None, sort=None, scale=alt.Scale(domain=names, range=colors))
    base = alt.Chart(alt.Data(values=rows)).encode(x=x, color=color)
    layers = [
        base.mark_area(opacity=0.18).encode(y=alt.Y("lowest:Q", title=None, scale=scale, axis=axis), y2="highest:Q"),
        base.mark_line(point=alt.OverlayMarkDef(size=24, filled=True), strokeWidth=1.5).encode(
            y=alt.Y("expected:Q", title=None, scale=scale, axis=axis)
        ),
        base.mark_point(shape=HOLLOW_TICK, size=70, filled=False, strokeWidth=1.2)
        .transform_filter("isValid(datum.tie)")
        .encode(y="tie:Q"),
    ]
    plot = alt.layer(*layers).properties(width=width - 60, height=HEIGHT)
    return plot.properties(title=title) if title else plot


def reach_plot(regimes: Mapping[str, RegimeEntry], width: int, *, title: str = "") -> Chart:
    """For each size of tie group, the share of documents in groups of that size or larger.

    Args:
        regimes: name → regime, all of one model.
        width: CSS pixels of the whole plot.
        title: above the plot.
    """
    import altair as alt

    names = list(regimes)
    rows: list[ChartRow] = [
        {"name": name, "size": size, "share": share}
        for name, regime in regimes.items()
        for size, share in zip(*reach(regime.ties.group_sizes), strict=True)
    ]
    colors = [tone(RUN_TONES[index % len(RUN_TONES)]) for index in range(len(names))]
    plot = alt.Chart(alt.Data(values=rows), title=title or alt.Undefined)
    plot = plot.mark_line(interpolate="step", strokeWidth=1.4, point=True)
    doubled = [2**power for power in range(max(row["size"] for row in rows).bit_length())]
    scale, axis = alt.Scale(type="log", base=2, nice=False), alt.Axis(values=doubled)
    return plot.encode(
        x=alt.X("size:Q", title="documents in the tie group, at least", scale=scale, axis=axis),
        y=alt.Y("share:Q", title="share of documents", scale=alt.Scale(domain=[0, 1])),
        color=alt.Color("name:N", title=None, sort=None, scale=alt.Scale(domain=names, range=colors)),
    ).properties(width=width - 70, height=HEIGHT)


def reach(rows: Sequence[GroupSize]) -> tuple[list[int], list[float]]:
    """The share of documents in groups of at least each size.

    >>> from trueval.precision.audit_result import GroupSize
    >>> reach([GroupSize(1, 6), GroupSize(2, 2)])
    ([1, 2], [1.0, 0.4])
    """
    documents = [row.size * row.groups for row in rows]
    total = sum(documents)
    shares = [sum(documents[index:]) / total for index in range(len(documents))]
    return [row.size for row in rows], shares


def _points(name: str, curve: CutoffCurve) -> list[ChartRow]:
    columns = (curve.k, curve.expected, curve.lowest, curve.highest, curve.tie_broken)
    return [
        {"name": name, "k": str(k), "expected": middle, "lowest": low, "highest": high, "tie": _other(plain, middle)}
        for k, middle, low, high, plain in zip(*columns, strict=True)
        if middle == middle  # NaN is not available
    ]


def _other(tie_broken: float, expected: float) -> float | None:
    return tie_broken if abs(tie_broken - expected) > DIFFERS else None
